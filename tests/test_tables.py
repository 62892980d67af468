"""Columns become a dataframe of the library asked for, or of the first one installed."""

import importlib.util

import numpy as np
import pytest

from cospan.base.tables import BACKENDS, make_dataframe
from cospan.errors import InputError, MissingDependencyError

COLUMNS = {
    "id": np.array(["a", "bc", "d"]),
    "theta": np.array([0.1, 0.2, np.nan]),
    "count": np.array([1, 2, 3]),
    "flagged": np.array([True, False, True]),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_keeps_names_order_and_values(backend):
    importlib.import_module(backend)
    table = make_dataframe(COLUMNS, backend=backend)
    assert type(table).__module__.split(".")[0] == backend
    names = table.column_names if backend == "pyarrow" else list(table.columns)
    assert names == list(COLUMNS)
    assert list(map(str, table["id"])) == ["a", "bc", "d"]
    np.testing.assert_array_equal(np.asarray(table["theta"]), COLUMNS["theta"])
    np.testing.assert_array_equal(np.asarray(table["count"]), COLUMNS["count"])
    np.testing.assert_array_equal(np.asarray(table["flagged"]), COLUMNS["flagged"])


def only(*installed):
    real = importlib.util.find_spec

    def find(name, package=None):
        if name in BACKENDS and name not in installed:
            return None
        return real(name, package)

    return find


def test_without_any_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", only())
    with pytest.raises(MissingDependencyError, match="pandas, polars or pyarrow"):
        make_dataframe({"x": [1.0]})
    with pytest.raises(MissingDependencyError, match="pip install polars"):
        make_dataframe({"x": [1.0]}, backend="polars")


def test_unknown_backends_are_refused():
    with pytest.raises(InputError, match="'excel'"):
        make_dataframe({"x": [1.0]}, backend="excel")
