"""What may stand for rows: tables of mixed numbers, and what is no rows at all."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from cospan import JointFrame, Summary, gsvd, relative_procrustes
from cospan.base.checks import as_rows, check_names
from cospan.errors import InputError

pd = importlib.import_module("pandas")
pl = importlib.import_module("polars")
torch = importlib.import_module("torch")


@pytest.mark.parametrize("library", [pd, pl])
def test_truth_values_and_numbers_share_a_table(library):
    table = library.DataFrame({"old": [True, False], "size": [1.5, 2.0]})
    np.testing.assert_array_equal(as_rows(table, "A"), [[1.0, 1.5], [0.0, 2.0]])


def test_a_missing_value_of_pandas_is_told_with_its_place():
    table = pd.DataFrame({"x": pd.array([1, 2], "Int64"), "y": pd.array([1.0, None], "Float64")})
    with pytest.raises(InputError, match=r"A contains NaN at row 1, column 1 \(1 such entry\)"):
        as_rows(table, "A")
    filled = table.fillna(3.0)
    np.testing.assert_array_equal(as_rows(filled, "A"), [[1.0, 1.0], [2.0, 3.0]])


@pytest.mark.parametrize("library", [pd, pl])
def test_the_first_column_that_is_not_numeric_is_named(library):
    table = library.DataFrame({"x": [1.5, 2.0], "city": ["Ulm", "Bonn"], "name": ["a", "b"]})
    with pytest.raises(InputError, match=r"A has a column 'city' of dtype .*not numeric"):
        as_rows(table, "A")


def test_columns_of_a_pyarrow_table_too():
    pa = importlib.import_module("pyarrow")
    with pytest.raises(InputError, match="column 'city'"):
        as_rows(pa.table({"x": [1.5], "city": ["Ulm"]}), "A")
    np.testing.assert_array_equal(as_rows(pa.table({"x": [1.5], "y": [True]}), "A"), [[1.5, 1]])


def test_masked_entries_are_refused_and_a_mask_of_nothing_is_not():
    rows = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    with pytest.raises(InputError, match=r"A is a masked array and masks 1 .*filled"):
        as_rows(rows, "A")
    found = as_rows(np.ma.masked_array([[1.0, 2.0]]), "A")
    assert type(found) is np.ndarray
    assert found.tolist() == [[1.0, 2.0]]


def lazy():
    return importlib.import_module("dask.array").ones((4, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: "rows.csv", r"A is a str.*cospan\.compare reads files"),
        (lambda: Path("rows.csv"), r"A is a PosixPath.*cospan\.compare reads files"),
        (lambda: (row for row in ([1.0], [2.0])), r"A is a generator.*Summary\.of_chunks"),
        (lambda: None, "A is a NoneType; pass rows"),
        (lambda: {"x": [1.0]}, "A is a dict; pass rows"),
        (lambda: pl.LazyFrame({"x": [1.0]}), r"A is a LazyFrame; collect\(\)"),
        (lazy, r"A is a Dask collection; compute\(\) it first"),
        (lambda: torch.eye(2).to_sparse(), r"A is a sparse tensor; pass A\.to_dense\(\)"),
        (list, "A has no rows"),
        (lambda: [1.0, 2.0], r"wrap it in a list, \[A\]"),
        (lambda: np.ones(2), r"use A\.reshape\(1, -1\)"),
    ],
)
def test_what_is_no_rows_is_told_by_its_kind(make, message):
    with pytest.raises(InputError, match=message):
        gsvd(make(), np.eye(2))


def test_torch_and_numpy_do_not_mix():
    with pytest.raises(InputError, match="A is NumPy and B is torch; convert one"):
        gsvd(np.eye(2), torch.eye(2))
    with pytest.raises(InputError, match="first is torch and the second is NumPy; convert one"):
        Summary.of(torch.eye(2)) + Summary.of(np.eye(2))


# ---- feature names ----------------------------------------------------------------------------


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((30, 3)), columns=["x", "y", "z"])


def test_names_in_another_order_or_unknown(table):
    check_names(table, ("x", "y", "z"), "Z")
    check_names(table, None, "Z")
    check_names(table.to_numpy(), ("a", "b", "c"), "Z")
    with pytest.raises(InputError, match="Z has the frame's columns in another order"):
        check_names(table, ("z", "y", "x"), "Z")
    with pytest.raises(InputError, match=r"Z's columns are not B's \(missing: \['w'\]"):
        check_names(table, ("x", "y", "w"), "Z", whose="B's")


def test_tables_whose_columns_are_in_another_order_do_not_mix(table):
    turned = table[["z", "y", "x"]]
    with pytest.raises(InputError, match="B has A's columns in another order"):
        gsvd(table, turned)
    with pytest.raises(InputError, match="chunk 1 has the first chunk's columns in another order"):
        Summary.of_chunks([table, turned])
    frame = JointFrame.fit(table, table * 2)
    with pytest.raises(InputError, match="Y has the frame's columns in another order"):
        relative_procrustes(frame, table, turned)
    found = relative_procrustes(frame, table, table)
    for method in (found.transform, found.coordinates):
        with pytest.raises(InputError, match="Z has the frame's columns"):
            method(turned)
    unnamed = JointFrame.fit(table.to_numpy(), 2 * table.to_numpy())
    with pytest.raises(InputError, match="Y has X's columns in another order"):
        relative_procrustes(unnamed, table, turned)
