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
from cospan.errors import CospanError, InputError, SourceError
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


def with_value(value, dtype=float):
    bad = X.astype(dtype)
    bad[2, 1] = value
    return bad


ragged = "a,b\n1,2\n3,4\n5\n6,7\n"
late_text = "a,b\n" + "1,2\n" * 5000 + "oops,2\n"


def bad(make, *words, error=SourceError, **options):
    """How to make it, the parts of the message, its class, and options of the reading."""
    return make, words, error, options


BAD = {
    # paths
    "missing file": bad(lambda t: t / "no.csv", "no.csv", "no such file"),
    "misspelt file": bad(lambda t: (npy(t), t / "y.npy")[1], "y.npy", "Did you mean 'x.npy'"),
    "missing folder": bad(lambda t: t / "no" / "x.csv", "there is no folder"),
    "empty file": bad(lambda t: write(t / "x.csv", ""), "x.csv", "is empty"),
    "blank file": bad(lambda t: write(t / "x.csv", "\n \n"), "x.csv", "blank"),
    "header only": bad(lambda t: write(t / "x.csv", "a,b\n"), "x.csv", "no rows"),
    "symlink loop": bad(symlink_loop, "a.csv", "circle"),
    "folder linking to itself": bad(folder_that_links_to_itself, "no images"),
    "empty folder": bad(lambda t: t, "holds no images and no CSV"),
    "folder without usable files": bad(lambda t: (write(t / "notes.md", "hi"), t)[1], "notes.md"),
    "folder of two kinds": bad(
        lambda t: (parquet(t), write(t / "x.csv", "a\n1"), t)[2], ".csv", ".parquet"
    ),
    "unknown ending": bad(lambda t: write(t / "x.doc", "hi"), "x.doc", "Parquet"),
    "one image": bad(lambda t: images(t) / "good0.png", "a folder"),
    "device": bad(lambda t: "/dev/null", "/dev/null", "neither"),
    "part of a file without parts": bad(lambda t: f"{npy(t)}::x", "no part 'x'", error=InputError),
    # text
    "ragged csv": bad(lambda t: write(t / "x.csv", ragged), "x.csv", "line 4 has 1 field "),
    "csv in UTF-16": bad(lambda t: write(t / "x.csv", "a,b\n1,2".encode("utf-16")), "UTF-16"),
    "csv of bytes": bad(lambda t: write(t / "x.csv", b"a\0b\n\0"), "not a text file"),
    "csv header in Latin-1": bad(
        lambda t: write(t / "x.csv", "é,b\n1,2\n".encode("latin-1")), "UTF-8"
    ),
    "csv.gz cut short": bad(
        lambda t: write(t / "x.csv.gz", gzip.compress(late_text.encode())[:-30]), "x.csv.gz"
    ),
    "same column twice": bad(lambda t: write(t / "x.csv", "a,a\n1,2\n"), "'a'", "rename"),
    # columnar
    "truncated parquet": bad(truncated_parquet, "x.parquet", "Parquet"),
    "damaged page": bad(parquet_with_a_damaged_page, "x.parquet", "Parquet"),
    "csv called parquet": bad(
        lambda t: write(t / "x.parquet", "a,b\n1,2\n"), "x.parquet", "not begin like Parquet"
    ),
    "npy called parquet": bad(lambda t: npy(t).rename(t / "x.parquet"), "not begin like Parquet"),
    "parquet called csv": bad(lambda t: parquet(t, name="x.csv"), "not begin like text"),
    "parquet without rows": bad(lambda t: parquet(t, TABLE.slice(0, 0)), "x.parquet", "no rows"),
    "truncated arrow": bad(truncated_arrow, "x.arrow"),
    "file with another type": bad(
        lambda t: two_tables(t, pa.table({"a": ["x"], "b": [1.0], "y": ["cat"]})),
        "Field a",
        "1.parquet",
        label="y",
    ),
    "file with another type of dates": bad(
        lambda t: (
            parquet(t, pa.table({"d": pa.array([1], pa.date32())}), "0.parquet"),
            parquet(t, pa.table({"d": pa.array([1], pa.timestamp("us"))}), "1.parquet"),
            t,
        )[2],
        "Field d",
        "1.parquet",
    ),
    "no column left": bad(
        lambda t: parquet(t, pa.table({"y": [f"name {i}" for i in range(20)]})),
        "no column is left",
        "'y'",
        "identifiers",
        error=InputError,
    ),
    "table without columns": bad(lambda t: pa.table({}), "the table has no columns"),
    "every column dropped": bad(
        lambda t: parquet(t, TABLE.select(["y"])), "no column is left", "'y'", drop=["y"]
    ),
    "fewer labels than lines": bad(
        lambda t: write(t / "x.csv", "a,b\n1,2\n3,4\n"), "1 labels", error=InputError, label=["c"]
    ),
    "frame with a column twice": bad(
        lambda t: pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a'", "rename"
    ),
    # NumPy files
    "pickled npy": bad(pickled_npy, "x.npy", "pickled"),
    "truncated npy": bad(truncated_npy, "x.npy"),
    "forged npy": bad(forged_npy, "x.npy"),
    "npy with a negative length": bad(negative_npy, "x.npy"),
    "npy that claims a zettabyte": bad(huge_npy, "x.npy"),
    "npy of text": bad(lambda t: npy(t, X.astype(str)), "x.npy", error=InputError),
    "npy of records": bad(lambda t: npy(t, np.zeros((2, 2), "f4,f4")), "records", error=InputError),
    "npy with one dimension": bad(lambda t: npy(t, X[0]), "2 dimensions or more", error=InputError),
    "npy without rows": bad(lambda t: npy(t, X[:0]), "empty", error=InputError),
    "npz with two arrays": bad(lambda t: npz(t, x=X, z=X), "'x', 'z'", "x.npz::x"),
    "npz without that array": bad(lambda t: f"{npz(t, x=X)}::q", "'q'", "'x'"),
    "pickled npz": bad(pickled_npz, "x.npz", "pickled"),
    "damaged npz": bad(damaged_npz, "x.npz"),
    "zip without arrays": bad(lambda t: write(t / "x.npz", b"PK\x05\x06" + bytes(18)), "no array"),
    # images and IDX
    "a bad image": bad(lambda t: images(t, 2, 1), "bad00.png cannot be read", "take it out"),
    "images of two sizes": bad(
        images_of_two_sizes, "other.png", "9×9", "image_size", error=InputError
    ),
    "large images": bad(
        lambda t: images(t, size=(600, 400)), "600×400", "image_size", error=InputError
    ),
    "decompression bomb": bad(bomb_image, "bomb.png", "decompression bomb", image_size=8),
    "image label that is no folder": bad(images, "'folder'", error=InputError, label="y"),
    "truncated idx": bad(lambda t: idx(t, IDX_HEADER + bytes(5)), "cut short"),
    "truncated idx.gz": bad(
        lambda t: idx(t, gzip.compress(IDX_HEADER + bytes(5)), "x.gz"), "cut short"
    ),
    "idx without labels": bad(
        lambda t: idx(t, IDX_HEADER + bytes(8)),
        "x-labels-idx1-ubyte",
        error=InputError,
        label="labels",
    ),
    # objects in memory
    "vector": bad(lambda t: X[0], "2 dimensions or more", "reshape", error=InputError),
    "no rows": bad(lambda t: X[:0], "empty", error=InputError),
    "complex": bad(lambda t: X + 1j, "complex", error=InputError),
    "text array": bad(lambda t: np.array([["a"]]), "real numbers", error=InputError),
    "ragged list": bad(lambda t: [[1, 2], [3]], "list", error=InputError),
    "object": bad(lambda t: object(), "type object", error=InputError),
    "NaN": bad(lambda t: with_value(np.nan), "in column 'x1'", "fill them in", error=InputError),
    "frame without rows": bad(lambda t: pd.DataFrame({"a": np.zeros(0)}), "no rows"),
    "frame without columns": bad(lambda t: pd.DataFrame(index=range(3)), "no column"),
    # options
    "label column that is not there": bad(
        lambda t: parquet(t), "'kind'", "'a', 'b', 'y'", error=InputError, label="kind"
    ),
    "class that is not there": bad(
        lambda t: parquet(t),
        "'bird'",
        "'cat', 'cow', 'dog'",
        error=InputError,
        label="y",
        label_value="bird",
    ),
    "class number that is not there": bad(
        lambda t: X, "7", "'0.0', '3.0'", error=InputError, label=0, label_value=7
    ),
    "class without label": bad(lambda t: X, "label=", error=InputError, label_value=1),
    "too few labels": bad(lambda t: X, "(2,) for 4 rows", error=InputError, label=[1, 2]),
    "label name for an array": bad(
        lambda t: X, "'y'", "columns 0 to 2", error=InputError, label="y"
    ),
    "label column out of range": bad(lambda t: X, "no column 3", error=InputError, label=3),
    "a column of an array by name": bad(lambda t: X, "not a table", error=InputError, drop=[1]),
    "columns that are not there": bad(
        lambda t: TABLE, "'<script>'", error=InputError, columns=["a", "<script>"]
    ),
    "unknown category": bad(
        lambda t: TABLE,
        "'Y'",
        "categorical=",
        "Did you mean 'y'?",
        error=InputError,
        categorical=["Y"],
    ),
    "unknown number": bad(
        lambda t: TABLE,
        "'height'",
        "numeric=",
        "'a', 'b', 'y'",
        error=InputError,
        numeric=["height"],
    ),
    "no columns": bad(lambda t: TABLE, "each once", error=InputError, columns=[]),
    "id column that is not there": bad(
        lambda t: TABLE, "'key'", error=InputError, id_column="key", columns=["a"]
    ),
    "image mode": bad(lambda t: X, "'CMYK'", "'RGB'", error=InputError, image_mode="CMYK"),
    "image size": bad(lambda t: X, "image_size", error=InputError, image_size=0),
    "chunk of no rows": bad(lambda t: X, "chunk_rows", error=InputError, chunk_rows=0),
}


@pytest.mark.filterwarnings("ignore::cospan.errors.CospanWarning")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_leaves_nothing(case, tmp_path, monkeypatch):
    make, parts, expected, options = BAD[case]
    monkeypatch.setattr("cospan.data.tables.BLOCK_BYTES", 2000)
    obj = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CospanError) as caught:
        open_source(obj, **options).read()
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


def test_unlike_numbers_of_features_and_shapes_are_told():
    a, b = open_source(np.zeros((2, 4, 3))), open_source(np.zeros((2, 3, 4)))
    with pytest.raises(InputError, match=r"4×3.*3×4"):
        check_same_features(a, b)
    with pytest.raises(InputError, match=r"12 features \(4×3\) and array has 3"):
        check_same_features(a, open_source(X))
