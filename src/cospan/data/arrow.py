"""pyarrow, imported when a table is first read: arrays need none of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["arrow_csv", "pa", "pc", "pq"]


class _Later:
    """A module that is imported when something in it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq
else:
    pa, pc, pq = map(_Later, ("pyarrow", "pyarrow.compute", "pyarrow.parquet"))
    arrow_csv = _Later("pyarrow.csv")
