"""Bad input to sources: the right error, one sentence that names the thing, nothing left behind."""

import gzip
import io
import os
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from PIL import Image

from cospan.data import check_same_features
from cospan.errors import (
    CospanError,
    InputError,
    SourceError,
)
from opened import opened as open_source

X = np.arange(12.0).reshape(4, 3)
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1], "y": ["cat", "dog", "cat", "cow"]})


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(tmp, table=TABLE, name="x.parquet", **options):
    pq.write_table(table, tmp / name, **options)
    return tmp / name


def truncated_parquet(tmp):
    path = parquet(tmp)
    return write(path, path.read_bytes()[:-30])


def parquet_with_a_damaged_page(tmp):
    path = parquet(
        tmp, pa.table({"a": np.random.default_rng(0).random(5000)}), use_dictionary=False
    )
    data = bytearray(path.read_bytes())
    data[40:4000] = bytes(3960)
    return write(path, bytes(data))


def truncated_arrow(tmp):
    feather.write_feather(TABLE, str(tmp / "x.arrow"))
    data = (tmp / "x.arrow").read_bytes()
    return write(tmp / "x.arrow", data[: len(data) // 2])


def npy(tmp, array=X, **options):
    np.save(tmp / "x.npy", array, **options)
    return tmp / "x.npy"


def pickled_npy(tmp):
    return npy(tmp, np.array([[1, "x"], [None, {}]], dtype=object), allow_pickle=True)


def truncated_npy(tmp):
    path = npy(tmp)
    return write(path, path.read_bytes()[:-8])


def forged_npy(tmp):
    path = npy(tmp)
    return write(path, path.read_bytes().replace(b"(4, 3)", b"(4, 9**9)"[:6]))


def negative_npy(tmp):
    path = npy(tmp)
    return write(path, path.read_bytes().replace(b"(4, 3), }", b"(-4, 3),}"))


def huge_npy(tmp):
    header = io.BytesIO()
    shape = (2**40, 2**30)
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return write(tmp / "x.npy", header.getvalue() + bytes(64))


def npz(tmp, **arrays):
    np.savez(tmp / "x.npz", **arrays)
    return tmp / "x.npz"


def pickled_npz(tmp):
    np.savez(tmp / "x.npz", x=np.array([[{}]], dtype=object))
    return tmp / "x.npz"


def damaged_npz(tmp):
    np.savez_compressed(tmp / "x.npz", x=np.random.default_rng(0).random((100, 10)))
    data = bytearray((tmp / "x.npz").read_bytes())
    data[1000:3000] = bytes(2000)
    return write(tmp / "x.npz", bytes(data))


def symlink_loop(tmp):
    (tmp / "a.csv").symlink_to(tmp / "b.csv")
    (tmp / "b.csv").symlink_to(tmp / "a.csv")
    return tmp / "a.csv"


def folder_that_links_to_itself(tmp):
    (tmp / "inner").symlink_to(tmp, target_is_directory=True)
    return tmp


def two_tables(tmp, second):
    parquet(tmp, name="0.parquet")
    parquet(tmp, second, name="1.parquet")
    return tmp


def images(tmp, n_good=2, n_bad=0, size=(4, 3)):
    for i in range(n_good):
        Image.new("L", size, i).save(tmp / f"good{i}.png")
    for i in range(n_bad):
        write(tmp / f"bad{i:02}.png", "no image")
    return tmp


def images_of_two_sizes(tmp):
    images(tmp)
    Image.new("L", (9, 9)).save(tmp / "other.png")
    return tmp


def bomb_image(tmp):
    """A PNG whose header claims 20000 × 20000 pixels."""
    import zlib

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 20000, 20000, 8, 0, 0, 0, 0)
    parts = (
        chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
    write(tmp / "bomb.png", b"\x89PNG\r\n\x1a\n" + parts)
    return tmp


def idx(tmp, content, name="x-images-idx3-ubyte"):
    return write(tmp / name, content)


IDX_HEADER = struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 2, 2)


def hdf5(tmp, **arrays):
    import h5py

    with h5py.File(tmp / "x.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return tmp / "x.h5"


def safetensors(tmp):
    from safetensors.numpy import save_file

    save_file({"x": X, "z": X}, tmp / "x.safetensors")
    return tmp / "x.safetensors"


def with_value(value, dtype=float):
    bad = X.astype(dtype)
    bad[2, 1] = value
    return bad


ragged = "a,b\n1,2\n3,4\n5\n6,7\n"
late_text = "a,b\n" + "1,2\n" * 5000 + "oops,2\n"

# what it is: (how to make it, options, error class, parts of the message)
BAD = {
    # paths
    "missing file": (lambda t: t / "no.csv", {}, SourceError, ["no.csv", "no such file"]),
    "misspelt file": (
        lambda t: (npy(t), t / "y.npy")[1],
        {},
        SourceError,
        ["y.npy", "Did you mean 'x.npy'"],
    ),
    "missing folder": (lambda t: t / "no" / "x.csv", {}, SourceError, ["there is no folder"]),
    "empty file": (lambda t: write(t / "x.csv", ""), {}, SourceError, ["x.csv", "is empty"]),
    "blank file": (lambda t: write(t / "x.csv", "\n \n"), {}, SourceError, ["x.csv", "blank"]),
    "header only": (lambda t: write(t / "x.csv", "a,b\n"), {}, SourceError, ["x.csv", "no rows"]),
    "symlink loop": (symlink_loop, {}, SourceError, ["a.csv", "circle"]),
    "folder linking to itself": (folder_that_links_to_itself, {}, SourceError, ["no images"]),
    "empty folder": (lambda t: t, {}, SourceError, ["holds no images and no CSV"]),
    "folder without usable files": (
        lambda t: (write(t / "notes.md", "hi"), t)[1],
        {},
        SourceError,
        ["notes.md"],
    ),
    "folder of two kinds": (
        lambda t: (parquet(t), write(t / "x.csv", "a\n1"), t)[2],
        {},
        SourceError,
        [".csv", ".parquet"],
    ),
    "unknown ending": (lambda t: write(t / "x.doc", "hi"), {}, SourceError, ["'.doc'", "Parquet"]),
    "a pickle": (lambda t: write(t / "x.pkl", b"\x80\x04K."), {}, SourceError, ["x.pkl", "pickle"]),
    "one image": (lambda t: images(t) / "good0.png", {}, SourceError, ["single image", "folder"]),
    "device": (lambda t: "/dev/null", {}, SourceError, ["/dev/null", "neither"]),
    "part of a file without parts": (lambda t: f"{npy(t)}::x", {}, InputError, ["no part 'x'"]),
    # text
    "ragged csv": (
        lambda t: write(t / "x.csv", ragged),
        {},
        SourceError,
        ["x.csv", "line 4 has 1 fields"],
    ),
    "csv in UTF-16": (
        lambda t: write(t / "x.csv", "a,b\n1,2".encode("utf-16")),
        {},
        SourceError,
        ["UTF-16"],
    ),
    "csv of bytes": (
        lambda t: write(t / "x.csv", b"a\0b\n\0"),
        {},
        SourceError,
        ["not a text file"],
    ),
    "csv header in Latin-1": (
        lambda t: write(t / "x.csv", "é,b\n1,2\n".encode("latin-1")),
        {},
        SourceError,
        ["UTF-8"],
    ),
    "csv.gz cut short": (
        lambda t: write(t / "x.csv.gz", gzip.compress(late_text.encode())[:-30]),
        {},
        SourceError,
        ["x.csv.gz"],
    ),
    "same column twice": (
        lambda t: write(t / "x.csv", "a,a\n1,2\n"),
        {},
        SourceError,
        ["'a'", "rename"],
    ),
    # columnar
    "truncated parquet": (truncated_parquet, {}, SourceError, ["x.parquet", "Parquet"]),
    "damaged page": (parquet_with_a_damaged_page, {}, SourceError, ["x.parquet", "Parquet"]),
    "csv called parquet": (
        lambda t: write(t / "x.parquet", "a,b\n1,2\n"),
        {},
        SourceError,
        ["x.parquet", "begins like text"],
    ),
    "npy called parquet": (
        lambda t: npy(t).rename(t / "x.parquet"),
        {},
        SourceError,
        ["begins like NPY"],
    ),
    "parquet called csv": (
        lambda t: parquet(t, name="x.csv"),
        {},
        SourceError,
        ["begins like Parquet"],
    ),
    "parquet without rows": (
        lambda t: parquet(t, TABLE.slice(0, 0)),
        {},
        SourceError,
        ["x.parquet", "no rows"],
    ),
    "truncated arrow": (truncated_arrow, {}, SourceError, ["x.arrow"]),
    "old feather": (
        lambda t: write(t / "x.feather", b"FEA1" + bytes(20)),
        {},
        SourceError,
        ["Feather version 1"],
    ),
    "files with different columns": (
        lambda t: two_tables(t, TABLE.drop_columns(["b"])),
        {},
        SourceError,
        ["1.parquet", "'b'"],
    ),
    "file with another type": (
        lambda t: two_tables(t, pa.table({"a": ["x"], "b": [1.0], "y": ["cat"]})),
        {"label": "y"},
        SourceError,
        ["'a'", "1.parquet"],
    ),
    "no column left": (
        lambda t: parquet(t, pa.table({"y": [f"name {i}" for i in range(20)]})),
        {},
        InputError,
        ["no column is left", "'y'", "identifiers"],
    ),
    "table without columns": (
        lambda t: pa.table({}),
        {},
        SourceError,
        ["the table has no columns"],
    ),
    "every column dropped": (
        lambda t: parquet(t, TABLE.select(["y"])),
        {"drop": ["y"]},
        SourceError,
        ["no column is left", "'y'"],
    ),
    "uneven lists": (
        lambda t: pa.table({"e": [[1.0, 2.0], [3.0, 4.0], [5.0]]}),
        {},
        InputError,
        ["'e'", "row 2", "1 numbers"],
    ),
    "fewer labels than lines": (
        lambda t: write(t / "x.csv", "a,b\n1,2\n3,4\n"),
        {"label": ["c"]},
        InputError,
        ["1 labels"],
    ),
    "frame with a column twice": (
        lambda t: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        {},
        SourceError,
        ["'a'", "rename"],
    ),
    "empty lists": (
        lambda t: pa.table({"e": pa.array([[], []], pa.list_(pa.float32()))}),
        {},
        SourceError,
        ["'e'", "empty lists"],
    ),
    # NumPy files
    "pickled npy": (pickled_npy, {}, SourceError, ["x.npy", "pickled"]),
    "truncated npy": (truncated_npy, {}, SourceError, ["x.npy"]),
    "forged npy": (forged_npy, {}, SourceError, ["x.npy"]),
    "npy with a negative length": (negative_npy, {}, SourceError, ["x.npy"]),
    "npy that claims a zettabyte": (huge_npy, {}, SourceError, ["x.npy"]),
    "npy of text": (lambda t: npy(t, X.astype(str)), {}, InputError, ["x.npy"]),
    "npy of records": (lambda t: npy(t, np.zeros((2, 2), "f4,f4")), {}, InputError, ["records"]),
    "npy with one dimension": (lambda t: npy(t, X[0]), {}, InputError, ["1 dimension"]),
    "npy without rows": (lambda t: npy(t, X[:0]), {}, InputError, ["empty"]),
    "npz with two arrays": (lambda t: npz(t, x=X, z=X), {}, SourceError, ["'x', 'z'", "x.npz::x"]),
    "npz without that array": (lambda t: f"{npz(t, x=X)}::q", {}, SourceError, ["'q'", "'x'"]),
    "pickled npz": (pickled_npz, {}, SourceError, ["x.npz", "pickled"]),
    "damaged npz": (damaged_npz, {}, SourceError, ["x.npz"]),
    "zip without arrays": (
        lambda t: write(t / "x.npz", b"PK\x05\x06" + bytes(18)),
        {},
        SourceError,
        ["no array"],
    ),
    # containers
    "safetensors of nonsense": (
        lambda t: write(t / "x.safetensors", b"nonsense" * 9),
        {},
        SourceError,
        ["x.safetensors"],
    ),
    "hdf5 of nonsense": (
        lambda t: write(t / "x.h5", b"\x89HDF\r\n\x1a\n" + bytes(99)),
        {},
        SourceError,
        ["x.h5"],
    ),
    # images and IDX
    "too many bad images": (
        lambda t: images(t, 2, 11),
        {},
        SourceError,
        ["'bad00.png'", "more than 10"],
    ),
    "only bad images": (lambda t: images(t, 0, 3), {}, SourceError, ["none of its 3"]),
    "images of two sizes": (
        images_of_two_sizes,
        {},
        InputError,
        ["other.png", "9×9", "image_size"],
    ),
    "large images": (
        lambda t: images(t, size=(600, 400)),
        {},
        InputError,
        ["600×400", "image_size"],
    ),
    "decompression bomb": (
        bomb_image,
        {"image_size": 8},
        SourceError,
        ["bomb.png", "decompression bomb"],
    ),
    "image label that is no folder": (images, {"label": "y"}, InputError, ["'folder'"]),
    "truncated idx": (lambda t: idx(t, IDX_HEADER + bytes(5)), {}, SourceError, ["cut short"]),
    "truncated idx.gz": (
        lambda t: idx(t, gzip.compress(IDX_HEADER + bytes(5)), "x.gz"),
        {},
        SourceError,
        ["cut short"],
    ),
    "idx without labels": (
        lambda t: idx(t, IDX_HEADER + bytes(8)),
        {"label": "labels"},
        InputError,
        ["x-labels-idx1-ubyte"],
    ),
    # objects in memory
    "vector": (lambda t: X[0], {}, InputError, ["1 dimension", "reshape"]),
    "no rows": (lambda t: X[:0], {}, InputError, ["empty"]),
    "complex": (lambda t: X + 1j, {}, InputError, ["complex"]),
    "text array": (lambda t: np.array([["a"]]), {}, InputError, ["real numbers"]),
    "ragged list": (lambda t: [[1, 2], [3]], {}, InputError, ["list"]),
    "object": (lambda t: object(), {}, InputError, ["type object"]),
    "NaN": (lambda t: with_value(np.nan), {}, InputError, ["'1' (1)", 'missing="drop"']),
    "all rows dropped": (lambda t: X * np.nan, {"missing": "drop"}, SourceError, ["leaves none"]),
    "no mean": (
        lambda t: np.array([[1.0, np.nan], [2.0, np.nan]]),
        {"missing": "mean"},
        InputError,
        ["'1'", "no value at all"],
    ),
    "frame without rows": (
        lambda t: pd.DataFrame({"a": np.zeros(0)}),
        {},
        SourceError,
        ["no rows"],
    ),
    "frame without columns": (
        lambda t: pd.DataFrame(index=range(3)),
        {},
        SourceError,
        ["no column"],
    ),
    # options
    "label column that is not there": (
        lambda t: parquet(t),
        {"label": "kind"},
        InputError,
        ["'kind'", "'a', 'b', 'y'"],
    ),
    "class that is not there": (
        lambda t: parquet(t),
        {"label": "y", "label_value": "bird"},
        InputError,
        ["'bird'", "'cat', 'cow', 'dog'"],
    ),
    "class number that is not there": (
        lambda t: X,
        {"label": 0, "label_value": 7},
        InputError,
        ["7", "'0.0', '3.0'"],
    ),
    "class without label": (lambda t: X, {"label_value": 1}, InputError, ["label="]),
    "too few labels": (lambda t: X, {"label": [1, 2]}, InputError, ["(2,) for 4 rows"]),
    "label name for an array": (lambda t: X, {"label": "y"}, InputError, ["'y'", "columns 0 to 2"]),
    "label column out of range": (lambda t: X, {"label": 3}, InputError, ["no column 3"]),
    "columns that are not there": (
        lambda t: TABLE,
        {"columns": ["a", "<script>"]},
        InputError,
        ["'<script>'"],
    ),
    "unknown category": (
        lambda t: TABLE,
        {"categorical": ["Y"]},
        InputError,
        ["'Y'", "categorical=", "Did you mean 'y'?"],
    ),
    "unknown number": (
        lambda t: TABLE,
        {"numeric": ["height"]},
        InputError,
        ["'height'", "numeric=", "'a', 'b', 'y'"],
    ),
    "category and number at once": (
        lambda t: TABLE,
        {"categorical": ["y"], "numeric": ["y"]},
        InputError,
        ["'y'", "two of"],
    ),
    "no numbers in a number column": (
        lambda t: TABLE,
        {"numeric": ["y"]},
        InputError,
        ["'y'", "no numbers", "'cat'"],
    ),
    "indicator for an array": (lambda t: X, {"missing": "indicator"}, InputError, ["for tables"]),
    "no columns": (lambda t: TABLE, {"columns": []}, InputError, ["columns is empty"]),
    "id column that is not there": (
        lambda t: TABLE,
        {"id_column": "key", "columns": ["a"]},
        InputError,
        ["'key'"],
    ),
    "missing option": (lambda t: X, {"missing": "zero"}, InputError, ["'zero'", "'drop'"]),
    "image mode": (lambda t: X, {"image_mode": "CMYK"}, InputError, ["'CMYK'", "'RGB'"]),
    "image size": (lambda t: X, {"image_size": 0}, InputError, ["image_size"]),
    "chunk of no rows": (lambda t: X, {"chunk_rows": 0}, InputError, ["chunk_rows"]),
}


def open_and_read(obj, options):
    open_source(obj, **options).read()


@pytest.mark.filterwarnings("ignore::cospan.errors.CospanWarning")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_leaves_nothing(case, tmp_path, monkeypatch):
    make, options, expected, parts = BAD[case]
    monkeypatch.setattr("cospan.data.text_files.BLOCK_BYTES", 2000)
    obj = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CospanError) as caught:
        open_and_read(obj, options)
    text = str(caught.value)
    assert type(caught.value) is expected, text
    assert [part for part in parts if part not in text] == [], text
    assert "\n" not in text
    assert text[-1] in ".?", text
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("payload", [b"", b"PAR1aaaa", b"a,b\n1\n"])
def test_bad_standard_input_leaves_no_temporary_file(payload, tmp_path):
    code = (
        "from cospan.data import encode, open_source; from cospan.errors import SourceError\n"
        "try: encode([open_source('-')])[0].read()\n"
        "except SourceError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=payload,
        capture_output=True,
        check=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert b"standard input: " in done.stdout
    assert str(tmp_path).encode() not in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["file", "folder"])
def test_no_permission(what, tmp_path, monkeypatch):
    path = npy(tmp_path) if what == "file" else tmp_path
    # The superuser may read everything, so the answer of the system is put in its mouth.
    monkeypatch.setattr(os, "access", lambda *arguments, **options: False)
    with pytest.raises(SourceError, match="no permission"):
        open_source(path)


def test_a_file_that_vanishes_is_named(tmp_path):
    path = parquet(tmp_path, TABLE.select(["a"]))
    source = open_source(path)
    path.unlink()
    with pytest.raises(SourceError, match=r"x\.parquet"):
        source.read()


def test_classes_of_a_dask_collection_are_left_to_dask():
    import dask.array

    with pytest.raises(InputError, match="with Dask itself"):
        open_source(dask.array.zeros((4, 3)), label=0)


def test_unlike_numbers_of_features_and_shapes_are_told():
    a, b = open_source(np.zeros((2, 4, 3))), open_source(np.zeros((2, 3, 4)))
    with pytest.raises(InputError, match=r"4×3.*3×4"):
        check_same_features(a, b)
    with pytest.raises(InputError, match=r"12 features \(4×3\) and array has 3"):
        check_same_features(a, open_source(X))
