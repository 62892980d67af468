"""Dataframes in memory: Arrow tables as they are, every other kind through narwhals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cospan._packages import needed
from cospan._text import first_line
from cospan.errors import InputError

from .arrow_rows import has_gaps
from .base import Options, Reader, TableStream, listing
from .encoding.table import EncodableTable, table_reader

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

#: Rows looked at to find what columns of Python objects hold.
PROBE_ROWS = 1000
#: Rows in one step of a search for missing values.
SCAN_ROWS = 2**16
INDEX = "__index__"
MOST_BITS = 1023  # of whole numbers: there is no float above
#: What gives away a dataframe, before narwhals is loaded to make sure.
TABLE_ATTRIBUTES = (
    "__arrow_c_stream__",
    "__dataframe__",
    "__narwhals_dataframe__",
    "__narwhals_lazyframe__",
    "collect_schema",
    "columns",
)


def dataframe_reader(
    obj: Any, options: Options, name: str | None
) -> Reader | EncodableTable | None:
    """A reader for a dataframe, or None if `obj` is none."""
    # Asked of the type: asking a lazy dataframe itself for its columns would compute them.
    if not isinstance(obj, Mapping) and not any(hasattr(type(obj), x) for x in TABLE_ATTRIBUTES):
        return None
    with needed("Reading a table"):
        import pyarrow as pa

    if isinstance(obj, Mapping):
        obj = _table_of(obj)
    if isinstance(obj, pa.Table | pa.RecordBatch):
        table = obj if isinstance(obj, pa.Table) else pa.Table.from_batches([obj])
        return table_reader(ArrowStream(table, name or "Arrow table"), options)
    data = _in_narwhals(obj)
    if data is not None:
        library = type(obj).__module__.partition(".")[0]
        return table_reader(DataframeStream(data, name or f"{library} dataframe"), options)
    if hasattr(obj, "__arrow_c_stream__"):
        return table_reader(ArrowStream(_table_of(obj), name or type(obj).__name__), options)
    return None


def _table_of(obj: Any) -> pa.Table:
    """Columns under their names, or a stream of Arrow batches, as a table."""
    import pyarrow as pa

    try:
        return pa.table(dict(obj) if isinstance(obj, Mapping) else obj)
    except OverflowError as error:
        raise InputError(
            f"The {type(obj).__name__} holds whole numbers of more than 64 bits in column "
            f"{_too_large(obj)!r}; turn them into floats."
        ) from error
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"The {type(obj).__name__} is not a table ({first_line(error)}); give columns of one "
            "length by their names, or a dataframe (to_frame() makes one of a single column)."
        ) from error


def _too_large(columns: Any) -> str:
    import pyarrow as pa

    for name, values in dict(columns).items():
        try:
            pa.array(values)
        except OverflowError:
            return str(name)
        except (pa.ArrowException, TypeError, ValueError):
            continue
    return "?"


class _InMemory(TableStream):
    """Streams of tables in memory, whose values can be looked at."""

    def complete(self, columns: Sequence[str]) -> bool:
        return not any(map(has_gaps, self.batches(columns, SCAN_ROWS)))


class ArrowStream(_InMemory):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self.schema = table.schema
        self.n_rows = table.num_rows
        self._table = table

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(columns)).to_batches(max_chunksize=size)


class DataframeStream(_InMemory):
    """An eager dataframe, turned into Arrow one slice at a time."""

    def __init__(self, data: nw.DataFrame[Any], name: str) -> None:
        import narwhals as nw

        self.name = name
        self.n_rows = data.shape[0]
        self._data = data
        self._index = _own_index(nw.maybe_get_index(data))
        self._integer_index = getattr(self._index, "dtype", None) == "int64"
        self.index = INDEX if self._index is not None else None
        self._mixed: frozenset[str] = frozenset()
        self.schema = self._find_schema()

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        own = [column for column in columns if column != INDEX]
        for start in range(0, self.n_rows or 0, size):
            try:
                table = self._arrow(self._data[start : start + size], own)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
                raise InputError(self._complaint(start, size, own, error)) from error
            if self._index is not None and INDEX in columns:
                values = self._index[start : start + size]
                index = values if self._integer_index else [str(value) for value in values]
                table = table.append_column(INDEX, pa.array(index))
            yield from table.combine_chunks().select(list(columns)).to_batches()

    def _complaint(self, start: int, size: int, columns: list[str], error: Exception) -> str:
        """Which column cannot be read from a row on, and why."""
        part = self._data[start : start + size]
        wrong = next((c for c in columns if not self._fits(part, c)), columns[0])
        if isinstance(error, OverflowError):
            return (
                f"{self.name}: column {wrong!r} holds whole numbers of more than 64 bits; turn "
                "them into floats."
            )
        odd = "holds Python objects"
        if wrong not in self.unreadable:
            odd = f"changes its type after row {max(start, min(PROBE_ROWS, self.n_rows or 0)) - 1}"
        return (
            f"{self.name}: column {wrong!r} {odd} ({first_line(error)}); make its values of one "
            f"kind, or leave it out with drop=."
        )

    def _fits(self, part: nw.DataFrame[Any], column: str) -> bool:
        import pyarrow as pa

        try:
            self._arrow(part, [column])
        except (pa.ArrowException, OverflowError, TypeError):
            return False
        return True

    def _arrow(self, part: nw.DataFrame[Any], columns: list[str]) -> pa.Table:
        """Some rows as an Arrow table; what mixes numbers and texts becomes text."""
        import pyarrow as pa

        plain = [column for column in columns if column not in self._mixed]
        table = part.select(plain).to_arrow()
        if len(plain) == len(columns):
            return table
        arrays = {column: table.column(column) for column in plain}
        for column in self._mixed.intersection(columns):
            texts = _as_texts(part[column].to_list())
            if texts is None:
                raise pa.ArrowTypeError(f"column {column!r} holds Python objects")
            arrays[column] = pa.array(texts, pa.string())
        return pa.table(arrays)

    def _find_schema(self) -> pa.Schema:
        """Arrow types of the columns; one that Arrow cannot take counts as empty."""
        import pyarrow as pa

        head = self._data[: min(PROBE_ROWS, self._data.shape[0])]
        refused = (pa.ArrowException, OverflowError, TypeError)
        mixed = set()
        try:
            schema = head.to_arrow().schema  # pandas may add its index
            fields = [schema.field(column) for column in head.columns]
        except refused:
            fields = []
            for column in head.columns:
                try:
                    fields.append(head.select(column).to_arrow().schema.field(column))
                except refused:
                    texts = _as_texts(head[column].to_list())
                    fields.append(pa.field(column, pa.null() if texts is None else pa.string()))
                    mixed.add((column, texts is not None))
        self._mixed = frozenset(column for column, readable in mixed if readable)
        self.unreadable = frozenset(column for column, readable in mixed if not readable)
        if self._index is not None:
            fields.append(pa.field(INDEX, pa.string()))
        return pa.schema(fields)


def _in_narwhals(obj: Any) -> nw.DataFrame[Any] | None:
    with needed("Reading a dataframe"):
        import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(obj):
        obj = _plain_pandas(obj)
    try:
        data = nw.from_native(obj, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        times = Counter(map(str, getattr(obj, "columns", ())))
        twice = [column for column, n in times.items() if n > 1]
        raise InputError(
            f"The dataframe has more than one column called {listing(twice)}; rename them."
        ) from error
    if isinstance(data, nw.LazyFrame):
        return data.collect()
    return data if isinstance(data, nw.DataFrame) else None


def _plain_pandas(frame: Any) -> Any:
    """Names as texts, sparse columns as dense ones, and intervals as categories."""
    if any(type(column) is not str for column in frame.columns):
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    changed = {}
    for place, (column, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        values = frame.iloc[:, place]
        if hasattr(kind, "fill_value"):
            changed[column] = values.sparse.to_dense()
        elif hasattr(getattr(kind, "categories", kind), "closed"):
            changed[column] = values.astype("string").astype("category")
    return frame.assign(**changed) if changed else frame


def _own_index(index: Any) -> Any | None:
    """A dataframe's index unless it only counts the rows."""
    if index is None or (type(index).__name__ == "RangeIndex" and index.start == 0):
        return None
    return index


def _as_texts(values: list[Any]) -> list[str | None] | None:
    """Numbers and texts of one column as texts; None if there is anything else among them."""
    texts: list[str | None] = []
    for value in values:
        if value is None or value != value:
            texts.append(None)
        elif isinstance(value, float) and value.is_integer():
            texts.append(str(int(value)))
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            return None
        elif isinstance(value, str | bool | int | float | Decimal):
            texts.append(str(value))
        else:
            return None
    return texts
