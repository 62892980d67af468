"""The bad inputs of inputs_bad.py, as data."""

import gzip
import io
import os
import shutil
import struct

import numpy as np

from cospan.model_file import PROFILE, PROFILE_VERSION, Parts, packed, unpacked

ENDINGS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "npy", "npz", "json", "txt", "png", "h5")
# A number that no measurement gives counts as missing, and is a finding.
ABSURD = ("inf", "-inf", "1e999", "-1e400", "1e300", "-1e101")
CELLS = (
    *ABSURD,
    *("", " ", "nan", "NaN", "NA", "null", "None", "1e-400", "1e-310", "5e-324", "-0"),
    *("0x10", "1_000", "1,5", "1.2.3", "--1", "+-2", "١٢", "½", "true", "yes", "2020-13-45"),
    *("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\x1b[31mred", "\x07", "\u202e", "😀"),
    *("a" * 100_000, '"unclosed', 'a"b', "'", "\\", "\ufeff", "1\x002", "\udcff", "x\ry", "\t"),
    *("9" * 400, "1" + "0" * 100_000, "alpha", "bravo ", "10000-01-01", "1e17"),
)
OPTIONS = {
    "--preset": ("rock", ""),
    "--seed": ("-1", "1.5", "x", str(10**30)),
    "--columns": ("nothing", "", "alpha,bravo", "alpha bravo", "\x1b[0m", "0", "-1", "99"),
    "--drop": ("nothing", "", "alpha,bravo,when,kind,coded"),
    "--numeric": ("nothing", "kind", "when"),
    "--categorical": ("nothing", "alpha", "when"),
    "--label": ("nothing", "", "alpha", "0", "when"),
    "--a": ("cat", ""),
    "--b": ("dog", ""),
    "--id": ("nothing", "", "alpha"),
    "--image-size": ("0", "-4", "x", "100000", "8x"),
    "--image-shape": ("0", "2", "3x3", "x", "1x1x1x1"),
    "--scores": ("/nonexistent/folder/s.csv", "s.xyz", "/dev/full", "."),
    "--output": ("/nonexistent/r.html", "r.xyz", "/dev/full", ".", "x.parquet"),
    "--save": ("/nonexistent/m.cospan", ".", "/dev/full"),
    "--scheduler": ("nowhere", "tcp://256.0.0.1:1", ""),
    "--name-a": ("", "\x1b[31m", "a" * 100_000),
    "--fail-on": ("auc", "auc>", "p<x", "nothing>1", "", "auc>nan", "p<1e999"),
    "--score": ("/nonexistent.csv", "."),
    "--nothing": ("", "1"),
}
NAMES = ("", ".", "..", "/", "/dev/null", "/dev/zero", "*", "[", "~", "a\nb", "-", "::x", "x::y",
         "http://localhost:1/x.csv", "s3://nowhere/x.csv", "\udcff.csv", "a" * 5000)  # fmt: skip


# ---- tables whose columns differ ----------------------------------------------------------------

_rng = np.random.default_rng(1)
COLUMNS = ("alpha", "bravo", "charlie", "kind", "delta")
_NUMBERS = {name: [f"{x:.4f}" for x in _rng.normal(size=60)] for name in COLUMNS[:3]}
_TABLE = {**_NUMBERS, "kind": ["cat", "dog", "emu"] * 20}


def _renamed(table, name):
    return {name if key == "charlie" else key: values for key, values in table.items()}


_DAYS = [f"2020-01-{1 + i % 28:02}" for i in range(60)]
_CHANGES = {
    "dropped": ("charlie", lambda t: {k: v for k, v in t.items() if k != "charlie"}),
    "added": ("delta", lambda t: {**t, "delta": t["alpha"][::-1]}),
    "renamed": ("charlie", lambda t: _renamed(t, "delta")),
    "other case": ("charlie", lambda t: _renamed(t, "Charlie")),
    "number to text": ("charlie", lambda t: {**t, "charlie": [f"c{x[:2]}" for x in t["charlie"]]}),
    "text to number": ("kind", lambda t: {**t, "kind": t["alpha"]}),
    "number to date": ("charlie", lambda t: {**t, "charlie": _DAYS}),
    "all infinite": ("charlie", lambda t: {**t, "charlie": ["inf"] * 60}),
    "all missing": ("charlie", lambda t: {**t, "charlie": [""] * 60}),
    "one absurd cell": ("charlie", lambda t: {**t, "charlie": ["1e300", *t["charlie"][1:]]}),
}  # fmt: skip
# What: the first table, the second, the column to be named.
SCHEMAS = {
    **{name: (_TABLE, change(_TABLE), column) for name, (column, change) in _CHANGES.items()},
    **{f"{name}, first": (change(_TABLE), _TABLE, col) for name, (col, change) in _CHANGES.items()},
    "nothing in common": (_TABLE, {"x": _TABLE["alpha"]}, None),
    "twice the same name": (_TABLE, {**_TABLE, "alpha ": _TABLE["alpha"]}, None),
}


# ---- arrays -------------------------------------------------------------------------------------


def npy_bytes(header, data=bytes(96), version=(1, 0)):
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text + data


def header(descr="'<f8'", order="False", shape="(4, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def saved(array):
    np.save(stream := io.BytesIO(), array, allow_pickle=True)
    return stream.getvalue()


ARRAYS = {
    "objects": np.array([[1, "a"], [2, None]], dtype=object),
    "structured": np.zeros(4, dtype=[("a", "f8"), ("b", "i4")]),
    "dates": np.zeros((4, 3), dtype="M8[s]"),
    "spans": np.zeros((4, 3), dtype="m8[s]"),
    "complex": np.ones((4, 3)) * 1j,
    "text": np.full((4, 3), "x"),
    "bytes": np.full((4, 3), b"x"),
    "void": np.zeros((4, 3), dtype="V5"),
    "half": np.ones((4, 3), np.float16),
    "booleans": np.ones((4, 3), bool),
    "one number": np.array(3.0),
    "one row of numbers": np.arange(3.0),
    "no rows": np.ones((0, 3)),
    "no columns": np.ones((3, 0)),
    "one value": np.ones((5, 3)),
    "only NaN": np.full((5, 3), np.nan),
    "infinite": np.full((5, 3), np.inf),
    "huge numbers": np.full((5, 3), 1e308) * [[1], [-1], [1], [-1], [0.5]],
    "tiny numbers": np.full((5, 3), 5e-324),
    "32 dimensions": np.ones((2, 3) + (1,) * 30),
}
HEADERS = {
    "72 dimensions": header(shape=str((2, 3) + (1,) * 70)),
    "negative shape": header(shape="(-4, 3)"),
    "endless": header(shape=f"({10**15}, 3)"),
    "wide": header(shape=f"(2, {2**40})"),
    "overflow": header(shape=f"({2**62}, {2**62})"),
    "floats as shape": header(shape="(4.0, 3)"),
    "no tuple": header(shape="12"),
    "odd order": header(order="'maybe'"),
    "unknown type": header(descr="'<q9'"),
    "code": "__import__('os').system('true')",
    "deep": "(" * 3000 + ")" * 3000,
    "empty header": "",
    "no dictionary": "[1, 2]",
}


def arrays():
    """Bytes of NPY files with odd types, shapes and headers."""
    found = {name: saved(array) for name, array in ARRAYS.items()}
    found |= {name: npy_bytes(text) for name, text in HEADERS.items()}
    return {**found, "version": npy_bytes(header(), version=(9, 9))}


# ---- profiles -----------------------------------------------------------------------------------

ODD_SETTINGS = (None, -1, 10**30, "x", "\x1b[31m", [], {}, [[]], True, 1e308, "../../etc/passwd")


def settings_of(data):
    """Names of the settings in a profile."""
    return sorted(unpacked(data, PROFILE, PROFILE_VERSION).settings)


def resealed(data, name, value):
    """A profile with one setting changed and its digest right."""
    settings, tensors = unpacked(data, PROFILE, PROFILE_VERSION)
    return packed(Parts(settings | {name: value}, tensors), PROFILE, PROFILE_VERSION)


# ---- what is not a file -------------------------------------------------------------------------

SPECIAL = {
    "a pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
ROLES = (
    *(("data", ending) for ending in ("csv", "csv.gz", "parquet", "arrow", "npy", "npz")),
    *(("profile", "cospan"), ("output", "html"), ("scores", "csv")),
)


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put(special, path):
    """Something that is not a file, in the place of what was there."""
    remove(path)
    special(path)


def copy(folder, path):
    remove(path)
    shutil.copytree(folder, path)


# ---- small files of much text -------------------------------------------------------------------


def packed_texts(path, texts, places=None):
    """Texts in Parquet; with `places`, rows that refer to them, as many as one likes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pa.array(texts)
    if places is not None:
        column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), column)
    table = pa.table({"s": column, "x": np.arange(float(len(column)))})
    pq.write_table(
        table, path, compression="zstd", store_schema=False, dictionary_pagesize_limit=2**30
    )


def gzipped(path, front, letter, millions, end):
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(front)
        for _ in range(millions):
            stream.write(letter * 10**6)
        stream.write(end)


def wide_table(path, columns, rows):
    lines = [[f"c{j}" for j in range(columns)], *[["1.5"] * columns] * rows]
    path.write_text("\n".join(map(",".join, lines)))


TEXTS = {
    "one long text.parquet": lambda path: packed_texts(path, ["a" * 200_000_000]),
    "two texts.parquet": lambda path: packed_texts(path, ["a" * 20_000_000, "b" * 20_000_000]),
    "many texts.parquet": lambda path: packed_texts(path, [f"{i:0>999999}" for i in range(200)]),
    "words.parquet": lambda path: packed_texts(path, ["a " * 25_000_000, *["b"] * 99]),
    "shared text.parquet": lambda path: packed_texts(path, ["a" * 20_000_000], [0] * 200),
    "shared short text.parquet": lambda path: packed_texts(path, ["a" * 900_000], [0] * 20_000),
    "latin.csv": lambda path: path.write_bytes(b"a,b,c\n" + b"1,2,caf\xe9\n" * 20),
    "open quote.csv": lambda path: path.write_text('a,b\n1,2\n1,"2\n' + "1,2\n" * 10**6),
    "long line.csv.gz": lambda path: gzipped(path, b"a,b\n1,", b"7", 1000, b"\n"),
    "long name.csv.gz": lambda path: gzipped(path, b"", b"a", 1000, b",b\n1,2\n"),
    "wide.csv": lambda path: wide_table(path, 6000, 2),
    "too wide.csv": lambda path: wide_table(path, 60_000, 2),
}  # fmt: skip
