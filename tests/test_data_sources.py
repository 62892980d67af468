"""Anything becomes the same rows: every kind of source, and what can be asked of it."""

import gzip
import io
import struct
import sys
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from scipy import sparse

from cospan.data.source import CHUNK_BYTES
from cospan.errors import CospanWarning, InputError, SourceError
from opened import opened as open_source

N, H, W = 23, 2, 3
# Whole numbers up to 255, so that images and IDX files can hold them too.
NUMBERS = np.random.default_rng(7).integers(0, 256, (N, H * W)).astype(float)
NAMES = [f"p{j}" for j in range(H * W)]
TABLE = pa.table({name: NUMBERS[:, j] for j, name in enumerate(NAMES)})


def pictures():
    return NUMBERS.astype(np.uint8).reshape(N, H, W)


def write_idx(path, array, opener=open):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    with opener(path, "wb") as stream:
        stream.write(header + array.astype(np.uint8).tobytes())
    return path


def write_stream(path, table, rows=None):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def written(name, write):
    """A file of this name, made in a folder by `write`."""

    def make(folder):
        write(folder / name)
        return folder / name

    return make


FRAME = pd.DataFrame(NUMBERS, columns=NAMES)
_npy = written("x.npy", lambda file: np.save(file, NUMBERS))
_csv = written("x.csv", lambda file: pa_csv.write_csv(TABLE, file))
_parquet = written("x.parquet", lambda file: pq.write_table(TABLE, file, row_group_size=10))
_arrow = written(
    "x.arrow", lambda f: feather.write_feather(TABLE, str(f), compression="lz4", chunksize=10)
)


def _npz_part(tmp):
    np.savez_compressed(tmp / "x.npz", x=np.asfortranarray(NUMBERS), other=NUMBERS + 1)
    return f"{tmp / 'x.npz'}::x"


def _csv_folder(tmp):
    for i in range(2):
        pa_csv.write_csv(TABLE.slice(12 * i, 12), tmp / f"{i}.csv")
    return tmp


def _parquet_folder(tmp):
    for i in range(2):
        (tmp / f"part={i}").mkdir()
        pq.write_table(TABLE.slice(12 * i, 12), tmp / f"part={i}" / "rows.parquet")
    return tmp


def _hdf5(tmp):
    import h5py

    file = h5py.File(tmp / "x.h5", "w")
    return file.create_dataset("train/x", data=NUMBERS, chunks=(5, 6), compression="gzip")


def _zarr(tmp):
    import zarr

    return zarr.create_array(str(tmp / "x.zarr"), data=NUMBERS, chunks=(5, 6))


def _images(tmp):
    for i, picture in enumerate(pictures()):
        Image.fromarray(picture).save(tmp / f"{i:03}.png")
    return tmp


def _idx(tmp):
    return write_idx(tmp / "x-images-idx3-ubyte", pictures())


SOURCES = {
    "numpy": lambda tmp: NUMBERS,
    "numpy integers": lambda tmp: NUMBERS.astype(np.uint8),
    "numpy images": lambda tmp: pictures(),
    "list": lambda tmp: NUMBERS.tolist(),
    "masked": lambda tmp: np.ma.masked_array(NUMBERS),
    "sparse": lambda tmp: sparse.csr_array(NUMBERS),
    "torch": lambda tmp: torch.tensor(NUMBERS, requires_grad=True),
    "torch bfloat16": lambda tmp: torch.tensor(NUMBERS).bfloat16(),
    "array-api-strict": lambda tmp: array_api_strict.asarray(NUMBERS),
    "pandas": lambda tmp: FRAME,
    "pandas, numbered columns": lambda tmp: pd.DataFrame(NUMBERS),
    "polars": lambda tmp: pl.DataFrame(NUMBERS, schema=NAMES),
    "polars lazy": lambda tmp: pl.DataFrame(NUMBERS, schema=NAMES).lazy(),
    "arrow table": lambda tmp: TABLE,
    "arrow batch": lambda tmp: TABLE.to_batches()[0],
    "arrow C stream": lambda tmp: SimpleStream(TABLE),
    "npy": _npy,
    "npy, Fortran order, big endian": written(
        "x.npy", lambda file: np.save(file, np.asfortranarray(NUMBERS.astype(">f8")))
    ),
    "npz": written("x.npz", lambda file: np.savez(file, x=NUMBERS)),
    "npz::part": _npz_part,
    "csv": _csv,
    "csv.gz with index and ;": written("x.csv.gz", lambda file: FRAME.to_csv(file, sep=";")),
    "csv without header": written("x.csv", lambda f: np.savetxt(f, NUMBERS, delimiter=",")),
    "tsv": written("x.tsv", lambda file: FRAME.to_csv(file, sep="\t", index=False)),
    "folder of csv": _csv_folder,
    "parquet": _parquet,
    "parquet without suffix": written("rows", lambda file: pq.write_table(TABLE, file)),
    "folder of parquet": _parquet_folder,
    "arrow file": _arrow,
    "arrow stream": written("x.arrow", lambda file: write_stream(file, TABLE, 10)),
    "hdf5": _hdf5,
    "zarr": _zarr,
    "folder of images": _images,
    "idx": _idx,
    "idx.gz": lambda tmp: write_idx(tmp / "x-images-idx3-ubyte.gz", pictures(), gzip.open),
}


class SimpleStream:
    """An object that only speaks Arrow's C stream interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("chunk_rows", [7, None])
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_rows_for_the_same_numbers(kind, chunk_rows, tmp_path):
    source = open_source(SOURCES[kind](tmp_path), chunk_rows=chunk_rows)
    assert source.n_features == H * W
    assert source.feature_names is None or len(source.feature_names) == H * W
    for _ in range(2):  # every source can be read again
        chunks = list(source.chunks())
        sizes = [len(chunk.rows) for chunk in chunks]
        assert sizes == ([7, 7, 7, 2] if chunk_rows else [N])
        assert all(chunk.rows.flags.c_contiguous for chunk in chunks)
        assert all(chunk.rows.dtype == source.dtype for chunk in chunks)
        np.testing.assert_array_equal(np.concatenate([chunk.rows for chunk in chunks]), NUMBERS)
        assert len(np.unique(np.concatenate([chunk.ids for chunk in chunks]))) == N
    assert source.n_rows == N


@pytest.mark.parametrize("payload", ["csv", "npy"])
def test_standard_input_gives_the_same_rows_and_can_be_read_twice(payload, tmp_path, monkeypatch):
    data = SOURCES[payload](tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    source = open_source("-", chunk_rows=7)
    for _ in range(2):
        np.testing.assert_array_equal(source.read().rows, NUMBERS)
    assert source.name == "standard input"


def test_two_classes_come_out_of_one_standard_input(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,y\n1,cat\n2,dog\n")))
        cats = open_source("-", label="y", label_value="cat")
        dogs = open_source("-", label="y", label_value="dog")
    assert len(list(tmp_path.iterdir())) == 1
    np.testing.assert_array_equal([cats.read().rows, dogs.read().rows], [[[1]], [[2]]])


# Types, names, identifiers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float32", "float32"),
        ("float16", "float32"),
        ("float64", "float64"),
        ("int8", "float64"),
        ("uint64", "float64"),
        ("bool", "float64"),
    ],
)
@pytest.mark.parametrize("kind", ["array", "table"])
def test_float32_stays_and_whole_numbers_become_float64(dtype, expected, kind):
    X = (NUMBERS % 2).astype(dtype)
    if kind == "table":
        X = pa.table({name: X[:, j] for j, name in enumerate(NAMES)})
    source = open_source(X)
    assert source.dtype == expected
    np.testing.assert_array_equal(source.read().rows, NUMBERS % 2)
    assert source.read().rows.dtype == expected


def test_a_chunk_takes_about_32_megabytes_by_default():
    X = np.zeros((9000, 1000))
    first = next(open_source(X).chunks())
    assert 0.9 * CHUNK_BYTES < first.rows.nbytes <= CHUNK_BYTES


def test_image_shapes_are_known(tmp_path):
    assert open_source(_idx(tmp_path)).image_shape == (H, W)
    assert open_source(pictures()).image_shape == (H, W)
    assert open_source(torch.zeros(4, 1, 5, 6)).image_shape == (5, 6)
    assert open_source(np.zeros((4, 5, 6, 3))).image_shape == (5, 6, 3)
    assert open_source(NUMBERS).image_shape is None


def test_identifiers_come_from_the_index_or_a_column(tmp_path):
    frame = pd.DataFrame(NUMBERS, columns=NAMES, index=[f"row {i}" for i in range(N)])
    frame["key"] = [f"k{i}" for i in range(N)]
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_csv(tmp_path / "x.csv")
    for obj in (frame, tmp_path / "x.parquet", tmp_path / "x.csv"):
        with pytest.warns(CospanWarning, match="'key' .identifiers: no value repeats"):
            assert open_source(obj).read().ids[1] == "row 1"
    with pytest.warns(CospanWarning, match="__index"):
        source = open_source(tmp_path / "x.parquet", id_column="key")
    assert source.read().ids[1] == "k1"
    assert open_source(frame[NAMES].set_axis(range(100, 100 + N))).read().ids[2] == 102


def test_images_are_named_by_file_and_labelled_by_folder(tmp_path):
    for i, picture in enumerate(pictures()):
        folder = tmp_path / ("cat" if i % 2 else "dog")
        folder.mkdir(exist_ok=True)
        Image.fromarray(picture).save(folder / f"{i:03}.png")
    chunk = open_source(tmp_path, label="folder").read()
    assert chunk.ids[0] == "cat/001.png"
    assert set(chunk.labels) == {"cat", "dog"}
    cats = open_source(tmp_path, label="folder", label_value="cat").read()
    np.testing.assert_array_equal(cats.rows, NUMBERS[1::2])


def test_images_are_resized_and_coloured_on_demand(tmp_path):
    Image.new("RGB", (40, 30), (10, 20, 30)).save(tmp_path / "a.jpg", quality=100)
    Image.new("RGBA", (400, 300), (10, 20, 30, 255)).save(tmp_path / "b.png")
    source = open_source(tmp_path, image_size=(3, 4), image_mode="RGB")
    assert source.image_shape == (3, 4, 3)
    rows = source.read().rows
    assert rows.shape == (2, 36)
    np.testing.assert_allclose(rows[:, :3], [[10, 20, 30], [10, 20, 30]], atol=2)


# Classes ---------------------------------------------------------------------------------------

CLASSES = np.where(np.arange(N) % 3 == 0, "cat", "dog")


def _labelled(kind, tmp):
    table = TABLE.append_column("kind", pa.array(CLASSES))
    if kind == "csv":
        pa_csv.write_csv(table, tmp / "x.csv")
        return tmp / "x.csv", "kind"
    if kind == "parquet":
        pq.write_table(table, tmp / "x.parquet")
        return tmp / "x.parquet", "kind"
    if kind == "npz":
        np.savez(tmp / "x.npz", x=NUMBERS, kind=CLASSES)
        return tmp / "x.npz", "kind"
    if kind == "npy":
        np.save(tmp / "kind.npy", CLASSES)
        return _npy(tmp), str(tmp / "kind.npy")
    return {"pandas": table.to_pandas(), "array": NUMBERS}[kind], (
        "kind" if kind == "pandas" else CLASSES
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "npy", "pandas", "array"])
def test_two_classes_come_out_of_one_table(kind, tmp_path):
    obj, label = _labelled(kind, tmp_path)
    cats = open_source(obj, label=label, label_value="cat", chunk_rows=4)
    assert cats.n_rows is None
    chunk = cats.read()
    assert chunk.labels is None
    np.testing.assert_array_equal(chunk.rows, NUMBERS[CLASSES == "cat"])
    assert cats.n_rows == (CLASSES == "cat").sum()
    both = open_source(obj, label=label)
    assert both.n_features == H * W
    chunk = both.read()
    np.testing.assert_array_equal(chunk.labels, CLASSES)
    np.testing.assert_array_equal(chunk.rows, NUMBERS)


@pytest.mark.parametrize("value", [3, "3", 3.0, "3.0", np.int64(3)])
@pytest.mark.parametrize("kind", ["array", "arrow", "csv"])
def test_a_class_is_found_as_text_or_number(value, kind, tmp_path):
    classes = np.arange(N) % 5
    obj, label = np.column_stack([classes, NUMBERS]), 0
    if kind != "array":
        obj, label = TABLE.append_column("y", pa.array(classes)), "y"
    if kind == "csv":
        pa_csv.write_csv(obj, tmp_path / "x.csv")
        obj = tmp_path / "x.csv"
    chunk = open_source(obj, label=label, label_value=value).read()
    np.testing.assert_array_equal(chunk.rows, NUMBERS[classes == 3])
    np.testing.assert_array_equal(chunk.ids, np.flatnonzero(classes == 3))


@pytest.mark.parametrize("opener", [open, gzip.open])
@pytest.mark.parametrize("label", ["labels", "path"])
def test_idx_labels_come_from_the_matching_file(opener, label, tmp_path):
    ending = ".gz" if opener is gzip.open else ""
    images = write_idx(tmp_path / f"t-images-idx3-ubyte{ending}", pictures(), opener)
    labels = write_idx(tmp_path / f"t-labels-idx1-ubyte{ending}", np.arange(N) % 10, opener)
    label = str(labels) if label == "path" else label
    np.testing.assert_array_equal(open_source(images, label=label).read().labels, np.arange(N) % 10)
    four = open_source(images, label=label, label_value="4").read()
    np.testing.assert_array_equal(four.rows, NUMBERS[4::10])


def test_rows_without_a_label_belong_to_no_class():
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": pa.array([1, None, 1])})
    np.testing.assert_array_equal(
        open_source(table, label="y", label_value=1).read().rows, [[1], [3]]
    )
    chunk = open_source(table, label="y").read()
    np.testing.assert_array_equal(chunk.labels, [1, 1])
    assert chunk.labels.dtype.kind == "i"


WRITINGS = {
    "semicolons in a line of names with commas": 'x;"y (m, km, mi)";kind\n1.5;2;"a, b, c"\n2;3;d\n',
    "bare commas in the names": 'x;y (m, km, mi);kind\n1.5;2;"a, b, c"\n2;3;d\n',
    "a mark of the order of bytes": '\ufeff"x","y (m, km, mi)",kind\n1.5,2,"a, b, c"\n2,3,d\n',
    "line ends of old": 'x|y (m, km, mi)|kind\r1.5|2|"a, b, c"\r2|3|d\r',
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_the_delimiter_is_what_divides_both_first_lines(writing, tmp_path):
    (tmp_path / "x.csv").write_text(WRITINGS[writing], newline="")
    source = open_source(tmp_path / "x.csv")
    assert source.feature_names == ("x", "y (m, km, mi)", "kind = a, b, c", "kind = d")
    np.testing.assert_array_equal(source.read().rows, [[1.5, 2, 1, 0], [2, 3, 0, 1]])


def test_each_file_of_a_folder_has_its_own_delimiter(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b;a\n4;3\n")
    np.testing.assert_array_equal(open_source(tmp_path).read().rows, [[1, 2], [3, 4]])


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_what_some_files_of_a_folder_lack_is_missing_there(kind, tmp_path):
    write = {"parquet": pq.write_table, "arrow": feather.write_feather, "csv": pa_csv.write_csv}
    write[kind](pa.table({"a": [1.5, 2], "town": ["Rome", "Oslo"]}), str(tmp_path / f"1.{kind}"))
    write[kind](pa.table({"b": [5], "a": [3]}), str(tmp_path / f"2.{kind}"))
    write[kind](pa.table({"c": [7]}), str(tmp_path / f"3.{kind}"))
    rows = pd.DataFrame(
        open_source(tmp_path).read().rows, columns=open_source(tmp_path).feature_names
    )
    for name, gaps in (("a", 1), ("town", 2), ("b", 3), ("c", 3)):
        assert rows[f"{name} is missing"].sum() == gaps
    np.testing.assert_array_equal(rows["a"][:3], [1.5, 2, 3])


def test_only_a_first_column_without_a_name_is_an_index(tmp_path):
    (tmp_path / "x.csv").write_text("a,,b\n1.5,7.5,2\n2.5,8,3\n")
    source = open_source(tmp_path / "x.csv")
    assert source.feature_names == ("a", "", "b")
    np.testing.assert_array_equal(source.read().ids, [0, 1])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
def test_sparse_arrays_of_every_form_are_read(form):
    matrix = sparse.csr_matrix(np.where(NUMBERS > 0, NUMBERS, 0)).asformat(form)
    np.testing.assert_array_equal(open_source(matrix).read().rows, matrix.toarray())


def test_what_cannot_be_sliced_is_one_sentence():
    with pytest.raises(SourceError, match=r"A: cannot be read as an array \(") as caught:
        open_source(torch.eye(3).to_sparse(), name="A")
    assert "\n" not in str(caught.value)


# Missing values --------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [5, None])
@pytest.mark.parametrize("masked", [False, True])
def test_arrays_with_missing_values_are_refused(masked, chunk_rows):
    X = NUMBERS.copy()
    X[20, 1] = X[20, 4] = np.nan
    source = open_source(np.ma.masked_invalid(X) if masked else X, chunk_rows=chunk_rows)
    with pytest.raises(InputError, match="missing, in column 'x1', 'x4';"):
        source.read()


# Columns ---------------------------------------------------------------------------------------


def test_a_column_that_mixes_numbers_and_texts_is_text():
    frame = pd.DataFrame({"grade": [1, "good", 1.0, None, "good"]})
    source = open_source(frame)
    assert source.feature_names == ("grade = 1", "grade = good", "grade is missing")
    np.testing.assert_array_equal(source.read().rows[:3], [[1, 0, 0], [0, 1, 0], [1, 0, 0]])


def test_columns_chosen_by_name_come_in_that_order(tmp_path):
    for obj in (TABLE, _parquet(tmp_path), _csv(tmp_path), _arrow(tmp_path)):
        source = open_source(obj, columns=["p4", "p0"])
        assert source.feature_names == ("p4", "p0")
        np.testing.assert_array_equal(source.read().rows, NUMBERS[:, [4, 0]])
    np.testing.assert_array_equal(
        open_source(NUMBERS, columns=[4, 0]).read().rows, NUMBERS[:, [4, 0]]
    )


def test_a_header_that_only_counts_is_a_header(tmp_path):
    pd.DataFrame(NUMBERS).to_csv(tmp_path / "x.csv", index=False)
    source = open_source(tmp_path / "x.csv")
    assert source.feature_names == tuple(str(j) for j in range(H * W))
    np.testing.assert_array_equal(source.read().rows, NUMBERS)


def test_a_folder_linked_into_itself_is_read_once(tmp_path):
    _csv(tmp_path)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    np.testing.assert_array_equal(open_source(tmp_path).read().rows, NUMBERS)


def test_a_large_row_group_is_not_read_whole(tmp_path):
    import subprocess

    n, d = 100_000, 100  # 40 MB in one row group
    columns = {f"c{j}": np.random.default_rng(j).random(n, dtype=np.float32) for j in range(d)}
    pages = {"data_page_size": 2**16}  # older writers made one page of a column
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", use_dictionary=False, **pages)
    code = (
        "import pyarrow as pa; from cospan.data import encode, learn, open_source, tables\n"
        "tables.BUFFER_BYTES = learn.SAMPLE_BYTES = 2**20\n"  # in proportion to the small file
        f"source = encode([open_source({str(tmp_path / 'x.parquet')!r}, chunk_rows=1000)])[0]\n"
        "print(sum(len(chunk.rows) for chunk in source.chunks()))\n"
        "print(pa.default_memory_pool().max_memory())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows, peak = map(int, out.stdout.split())
    assert rows == n
    assert peak < 25e6


def test_column_names_with_dots_and_prefixes_are_kept_apart(tmp_path):
    table = pa.table({"a": [1.0], "a.b": [2.0], "a.b.c": [3.0]})
    pq.write_table(table, tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet", columns=["a.b", "a"])
    np.testing.assert_array_equal(source.read().rows, [[2, 1]])


# Two sources -----------------------------------------------------------------------------------


def test_opening_a_path_loads_no_pyarrow_until_it_is_needed(tmp_path):
    import subprocess

    np.save(tmp_path / "x.npy", NUMBERS)
    code = (
        "import sys; from cospan.data import open_source; "
        f"open_source({str(tmp_path / 'x.npy')!r}).read(); "
        "print([m for m in ('pyarrow', 'narwhals', 'pandas', 'PIL', 'torch') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
