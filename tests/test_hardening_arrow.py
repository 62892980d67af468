"""Arrow files: damaged ones end in one sentence, and the oldest pyarrow allowed can read them."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import feather

from cospan.errors import SourceError
from cospan.sources import open_source

N = 50
TABLE = pa.table({"a": np.arange(N) / 7, "y": ["cat", "dog"] * (N // 2)})
OFFSETS = np.arange(N + 1, dtype="<i4") * 3


def written(path, stream_format):
    if stream_format:
        with pa.ipc.new_stream(str(path), TABLE.schema) as writer:
            writer.write_table(TABLE)
    else:
        feather.write_feather(TABLE, str(path), compression="uncompressed")
    return path


def with_offsets_beyond_the_buffer(path, stream_format):
    """The text of row 25 begins 1.9 GB after the text that there is."""
    data = written(path, stream_format).read_bytes()
    assert data.count(OFFSETS.tobytes()) == 1
    forged = OFFSETS.copy()
    forged[25:] += 1_900_000_000
    path.write_bytes(data.replace(OFFSETS.tobytes(), forged.tobytes()))
    return path


READ = """
import sys
from cospan.errors import SourceError
from cospan.sources import open_source
try:
    open_source(sys.argv[1], label="y").read()
except SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("stream_format", [False, True])
def test_offsets_beyond_the_buffer_do_not_end_the_process(stream_format, tmp_path):
    path = with_offsets_beyond_the_buffer(tmp_path / "x.arrow", stream_format)
    found = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(f"{path}: cannot be read as Arrow (")
    assert found.stdout.count("\n") == 1


def test_text_that_is_none_is_refused_in_parquet_too(tmp_path):
    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    raw = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    table = pa.table({"a": [1.0, 2.0], "y": raw})
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(table, path)
    with pytest.raises(SourceError, match="UTF8"):
        open_source(str(path), label="y").read()


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_the_number_of_rows_is_known_with_every_pyarrow(compression, tmp_path, monkeypatch):
    """``count_rows`` of a reader came with pyarrow 26; the oldest allowed is older."""
    path = tmp_path / "x.arrow"
    feather.write_feather(TABLE, str(path), compression=compression, chunksize=20)
    opened = pa.ipc.open_file

    def of_an_older_pyarrow(*args, **options):
        reader = opened(*args, **options)
        names = ("schema", "num_record_batches", "get_batch")
        return SimpleNamespace(**{name: getattr(reader, name) for name in names})

    monkeypatch.setattr(pa.ipc, "open_file", of_an_older_pyarrow)
    source = open_source(str(path), label="y")
    assert source.n_rows == N
    np.testing.assert_array_equal(source.read().rows[:, 0], np.arange(N) / 7)


def test_a_column_name_that_is_no_text_is_refused(tmp_path):
    table = pa.table({"abcdefgh": [1.0, 2.0]})
    with pa.ipc.new_stream(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    data = (tmp_path / "x.arrow").read_bytes()
    (tmp_path / "x.arrow").write_bytes(data.replace(b"abcdefgh", b"\x80bcdefgh"))
    with pytest.raises(SourceError, match="cannot be read as Arrow"):
        open_source(str(tmp_path / "x.arrow"))
