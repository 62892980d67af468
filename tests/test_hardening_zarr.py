"""A Zarr folder is data: whatever its metadata asks for, reading it runs nothing."""

import json
import pickle

import numcodecs
import numpy as np
import pytest
import zarr

from cospan import compare
from cospan.errors import SourceError
from cospan.sources import open_source

X = np.arange(40.0).reshape(20, 2)


class Payload:
    """Harmless, but it leaves a trace when unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


def version_2(folder, **metadata):
    """A version 2 array written by hand, as an attacker would."""
    folder.mkdir(parents=True)
    described = {
        "zarr_format": 2,
        "shape": [20, 2],
        "chunks": [20, 2],
        "dtype": "<f8",
        "compressor": None,
        "filters": None,
        "fill_value": 0,
        "order": "C",
        **metadata,
    }
    (folder / ".zarray").write_text(json.dumps(described))
    (folder / "0.0").write_bytes(X.tobytes())
    return folder


def pickled(folder, trace, where):
    codec = {"id": "pickle", "protocol": 4}
    given = {"compressor": codec} if where == "compressor" else {"filters": [codec]}
    version_2(folder, **given)
    (folder / "0.0").write_bytes(pickle.dumps(Payload(trace)))
    return folder


@pytest.mark.parametrize("where", ["compressor", "filters"])
def test_a_pickle_codec_is_refused_before_a_chunk_is_read(where, tmp_path):
    store, trace = pickled(tmp_path / "a.zarr", tmp_path / "trace", where), tmp_path / "trace"
    with pytest.raises(SourceError, match="encoded with 'pickle', which is refused"):
        open_source(str(store)).read()
    with pytest.raises(SourceError, match="refused"):
        compare(str(store), X)
    assert not trace.exists()


def test_a_pickle_codec_of_the_labels_is_refused(tmp_path):
    store, trace = tmp_path / "a.zarr", tmp_path / "trace"
    zarr.create_group(store, zarr_format=2).create_array("x", data=X)
    codec = {"id": "pickle", "protocol": 4}
    version_2(store / "y", shape=[20], chunks=[20], dtype="|O", filters=[codec])
    (store / "y" / "0").write_bytes(pickle.dumps(Payload(trace)))
    with pytest.raises(SourceError, match="refused"):
        open_source(f"{store}::x", label="y").read()
    assert not trace.exists()


def test_consolidated_metadata_is_checked_too(tmp_path):
    """Metadata may be repeated in one file for the whole store; the library prefers that one."""
    store, trace = tmp_path / "a.zarr", tmp_path / "trace"
    zarr.create_group(store, zarr_format=2).create_array("x", data=X)
    array = json.loads((store / "x" / ".zarray").read_text())
    array["compressor"] = {"id": "pickle", "protocol": 4}
    (store / ".zmetadata").write_text(
        json.dumps(
            {
                "zarr_consolidated_format": 1,
                "metadata": {".zgroup": {"zarr_format": 2}, "x/.zarray": array},
            }
        )
    )
    for chunk in (store / "x").glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Payload(trace)))
    with pytest.raises(SourceError, match="refused"):
        open_source(f"{store}::x").read()
    assert not trace.exists()


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "numcodecs.pickle", "configuration": {}}],
        [{"name": "cast_value"}],
        ["bytes", "something.new"],
        [
            {
                "name": "sharding_indexed",
                "configuration": {"codecs": [{"name": "numcodecs.pickle"}], "index_codecs": []},
            }
        ],
    ],
)
def test_version_3_names_its_codecs_elsewhere(codecs, tmp_path):
    store = tmp_path / "a.zarr"
    zarr.create_array(store, data=X)
    described = json.loads((store / "zarr.json").read_text())
    described["codecs"] = codecs
    (store / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(SourceError, match="refused"):
        open_source(str(store))


def test_python_objects_are_refused_whatever_the_codec(tmp_path):
    store = version_2(tmp_path / "a.zarr", dtype="|O", filters=[{"id": "zlib", "level": 1}])
    with pytest.raises(SourceError, match="Python objects"):
        open_source(str(store))


def test_a_group_hidden_under_an_array_is_checked(tmp_path):
    """A folder can pose as an array of version 2 and be a group of version 3."""
    store, trace = tmp_path / "a.zarr", tmp_path / "trace"
    zarr.create_group(store)
    described = json.dumps({"zarr_format": 2, "shape": [1, 1], "dtype": "<f8"})
    (store / ".zarray").write_text(described)
    pickled(store / "x", trace, "compressor")
    with pytest.raises(SourceError, match="refused"):
        open_source(f"{store}::x").read()
    assert not trace.exists()


@pytest.mark.parametrize("text", ["[1, 2]", "{", "7", '{"codecs": 3}', "[" * 100_000])
def test_odd_metadata_gets_one_sentence(text, tmp_path):
    store = tmp_path / "a.zarr"
    store.mkdir()
    (store / "zarr.json").write_text(text)
    with pytest.raises(SourceError) as caught:
        open_source(str(store)).read()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", [2, 3])
def test_plain_codecs_are_read_as_before(version, tmp_path):
    store = tmp_path / "a.zarr"
    group = zarr.create_group(store, zarr_format=version)
    group.create_array("x", data=X, chunks=(7, 2))
    group.create_array("y", data=np.arange(20) % 3)
    chunk = open_source(f"{store}::x", label="y").read()
    np.testing.assert_array_equal(chunk.rows, X)
    np.testing.assert_array_equal(chunk.labels, np.arange(20) % 3)


@pytest.mark.parametrize(
    "compressor", [numcodecs.Zlib(), numcodecs.BZ2(), numcodecs.LZ4(), numcodecs.Zstd()]
)
def test_other_compressors_of_version_2_are_read(compressor, tmp_path):
    store = tmp_path / "a.zarr"
    zarr.create_array(store, data=X, zarr_format=2, compressors=compressor)
    np.testing.assert_array_equal(open_source(str(store)).read().rows, X)


def test_odd_metadata_of_one_array_in_a_group_gets_one_sentence(tmp_path):
    store = tmp_path / "a.zarr"
    zarr.create_group(store).create_array("x", data=X)
    described = json.loads((store / "x" / "zarr.json").read_text())
    (store / "x" / "zarr.json").write_text(json.dumps({**described, "surprise": 1}))
    with pytest.raises(SourceError) as caught:
        open_source(f"{store}::x")
    assert "\n" not in str(caught.value)
