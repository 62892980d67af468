"""A source: rows of numbers from anywhere, in chunks of bounded size, and what can be asked of it.

Whatever rows come from, the same happens to them: a class is taken, gaps and absurd numbers are
dealt with, block by block, so that memory stays bounded whatever the size of the input.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import plural
from cospan.base.types import Bools, Data, Floats, Index, Values
from cospan.errors import InputError, Note, SourceError

from .columns import one_batch, pa, plain_batch, plain_schema, values_of

if TYPE_CHECKING:
    from .opening import Options
    from .plan import EncodingPlan, SchemaChange, SetProfile

Item = TypeVar("Item")

#: A chunk of rows takes about this much memory unless ``chunk_rows`` says otherwise.
CHUNK_BYTES = 32 * 2**20
#: Narrow tables get no more rows than this in a chunk: identifiers and labels cost memory too.
MAX_CHUNK_ROWS = 2**18
#: Rows read at a time to learn labels and what columns hold.
LEARN_ROWS = 2**16
#: Batches are joined to larger ones up to this much: each costs some microseconds for every column.
JOINED_BYTES = 2**25
#: The name under which pandas writes an index that has none; in text files it is first, with none.
INDEX = "__index_level_0__"
#: No measurement is larger, and no mean or square of larger numbers can be trusted.
LARGEST = 1e100
#: Numbers below the smallest normal one have lost digits; they come from bytes read wrongly.
SMALLEST = float(np.finfo(np.float64).tiny)


def listing(items: Sequence[object], limit: int = 8) -> str:
    """Name several things in a message.

    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


# ---- chunks ------------------------------------------------------------------------------------


class Chunk(NamedTuple):
    """Some consecutive rows of a source.

    Attributes
    ----------
    rows : ndarray of shape (n, d), float32 or float64, C-contiguous, finite
        Of a table that is not encoded yet, an Arrow batch.
    ids : ndarray of shape (n,)
        Row numbers (int64, from 0, counted before any row is left out), or the values of the
        dataframe's index or of ``id_column``, or file names.
    labels, groups, dealt : ndarray of shape (n,) or None
        Where ``label`` was given without ``label_value``, and where ``groups`` was given; the fold
        of each row, where rows are dealt to folds.
    times : ndarray of shape (n, columns) or None
        Days since 1970 in the plan's columns of times, which are no features.
    merged : ndarray of shape (n,), uint64, or None
        A hash of each row's levels in the columns whose rare levels share a feature: rows that
        differ in these alone are equal as numbers.
    watched : ndarray of shape (n, k) or None
        How the texts are written that make no feature: what the plan's `watched` names.
    """

    rows: Data
    ids: Values
    labels: Values | None = None
    times: Floats | None = None
    merged: NDArray[np.uint64] | None = None
    watched: Floats | None = None
    groups: Values | None = None
    dealt: Index | None = None

    def take(self, index: slice | Values) -> Chunk:
        """The rows that `index` picks, with all that lies beside them."""
        rows, *beside = self
        if isinstance(rows, np.ndarray):
            rows = rows[index]
        elif isinstance(index, slice):
            start, stop, _ = index.indices(rows.num_rows)
            rows = rows.slice(start, stop - start)
        else:
            rows = rows.filter(index)
        picked: Data = (None if one is None else one[index] for one in beside)
        return Chunk(rows, *picked)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Several chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    rows, *beside = zip(*chunks, strict=True)
    whole = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else one_batch(rows)
    below: Data = (None if one[0] is None else np.concatenate(one) for one in beside)
    return Chunk(whole, *below)


def even(blocks: Iterable[Chunk], size: int, room: float = math.inf) -> Iterator[Chunk]:
    """The same rows in blocks of `size`, or fewer where `room` bytes are full."""
    waiting: list[Chunk] = []
    rows = held = 0
    for block in blocks:
        start = 0
        while start < len(block.ids):
            piece = block.take(slice(start, start + size - rows))
            start += len(piece.ids)
            rows += len(piece.ids)
            held += piece.rows.nbytes
            waiting.append(piece)
            if rows == size or held > room:
                yield joined(waiting)
                waiting, rows, held = [], 0, 0
    if waiting:
        yield joined(waiting)


def read_ahead(blocks: Iterator[Item]) -> Iterator[Item]:
    """The same blocks, each made in a second thread while the one before is at work.

    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1, thread_name_prefix="cospan-reading") as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block


# ---- absurd numbers ----------------------------------------------------------------------------


def absurd(values: Values) -> Bools:
    """Which numbers no measurement can be: infinite, beyond 1e100, or denormal; NaN is none.

    >>> absurd(np.array([1.0, np.inf, 1e200, 5e-324, 0.0, np.nan]))
    array([False,  True,  True,  True, False, False])
    """
    size = np.abs(values)
    if values.dtype.itemsize < 8:  # every single precision number is a normal double one
        return np.asarray(np.isinf(size))
    return np.asarray((size > LARGEST) | ((size < SMALLEST) & (size > 0)))


def all_usual(values: Values) -> bool:
    """Whether no number is missing or absurd; a look at the ends is cheaper than a mask."""
    if values.size == 0:
        return True
    low, high = float(values.min()), float(values.max())  # NaN where one is
    if not (low >= -LARGEST and high <= LARGEST):
        return False
    return low >= SMALLEST or values.dtype.itemsize < 8 or not bool(absurd(values).any())


# ---- sources -----------------------------------------------------------------------------------


class Source:
    """Rows of numbers from anywhere, in chunks.

    Made by :func:`cospan.data.open_source` of arrays and images, and by
    :func:`cospan.data.encode` of tables. Nothing is read before a method is called.
    """

    #: (height, width) or (height, width, channels) when the features are pixels
    image_shape: tuple[int, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    #: How the columns of a table became features; None for arrays and images
    plan: EncodingPlan | None = None
    #: What the columns of the set (or of each class) hold, where the plan was learned from it
    profiles: tuple[SetProfile, ...] = ()
    met: tuple[Note, ...] = ()  # in the last pass over the rows
    _changes: tuple[SchemaChange, ...] = ()
    _clean = False  # whether its blocks hold usual numbers only

    def __init__(
        self, name: str, options: Options, shape: tuple[int | None, int], dtype: np.dtype
    ) -> None:
        self.name, self.n_features, self.dtype = name, shape[1], dtype
        # None while it takes a pass to find out: a class taken out of a table, CSV
        self.n_rows = shape[0] if options.label_value is None else None
        self._options = options
        self._absurd: dict[str, int] = {}  # of each column

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        """Raw blocks of about `size` rows, from the first one; gaps are NaN."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know about how the rows are read; more after they were."""
        own = () if self.plan is None else self.plan.notes()
        return tuple(dict.fromkeys((*self.met, *own)))

    @property
    def changes(self) -> tuple[SchemaChange, ...]:
        """Columns that are not the same in all sets or the plan; absurd values of the rows read."""
        from .plan import SchemaChange

        odd = self._absurd.items()
        found = (SchemaChange("absurd", name, (self.name,), counts=(n,)) for name, n in odd)
        return (*self._changes, *found)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over the rows, from the first one."""
        fitting = CHUNK_BYTES // max(1, self.n_features * self.dtype.itemsize)
        size = self._options.chunk_rows or min(max(fitting, 1), MAX_CHUNK_ROWS)
        met: list[Note] = []
        seen = 0
        for chunk in even(self._finite(size, met), size):
            seen += len(chunk.rows)
            yield chunk._replace(rows=np.ascontiguousarray(chunk.rows))
        self.n_rows, self.met = seen, tuple(met)

    def read(self) -> Chunk:
        """All rows in one chunk; for data known to fit in memory."""
        return joined(list(self.chunks()))

    def classes(self) -> list[object]:
        """The different labels, sorted as text."""
        return _classes_in(self.chunks())

    def _floats(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        for block in taken(self._blocks(size, met), self._options, self.name, met):
            yield block._replace(rows=block.rows.astype(self.dtype, copy=False))

    def _finite(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        """Chunks of uneven size: gaps are refused, absurd values become the column's mean."""
        means: Values | None = None
        counts = np.zeros(self.n_features, dtype=np.int64)
        for chunk in self._floats(size, met):
            if not self._clean and not all_usual(chunk.rows):
                if (gaps := np.isnan(chunk.rows).sum(axis=0)).any():
                    raise InputError(
                        f"{self.name}: values are missing, in column "
                        f"{listing(list(self._named(gaps)))}; fill them in or leave these rows "
                        "out, or give a dataframe, which is filled by the sets' mean."
                    )
                odd = absurd(chunk.rows)
                counts += odd.sum(axis=0)
                means = self._column_means(size) if means is None else means
                chunk = chunk._replace(rows=np.where(odd, means, chunk.rows))
            yield chunk
        self._absurd |= self._named(counts)

    def _column_means(self, size: int) -> Values:
        """Mean of each column's usual values among the rows taken: one pass."""
        total, count = np.zeros((2, self.n_features))
        for chunk in self._floats(size, []):
            usual = ~(np.isnan(chunk.rows) | absurd(chunk.rows))
            total += np.where(usual, chunk.rows, 0).sum(axis=0, dtype=np.float64)
            count += usual.sum(axis=0)
        return (total / np.maximum(count, 1)).astype(self.dtype)

    def _named(self, counts: Values) -> dict[str, int]:
        """How often it happens in each column, where it does; a category makes several features."""
        names = self.feature_names if self.plan is None else self.plan.owners
        found: dict[str, int] = {}
        for i in np.flatnonzero(counts).tolist():
            name = names[i] if names else f"x{i}"
            found[name] = max(found.get(name, 0), int(counts[i]))
        return found


# ---- tables ------------------------------------------------------------------------------------


class Table:
    """A table of columns of any kind, before it is known what to make of them.

    `schema` has the types of all columns, as far as they are known without reading; `columns` are
    those that can be features.
    """

    def __init__(
        self, name: str, schema: pa.Schema, options: Options, n_rows: int | None = None
    ) -> None:
        self.name, self.options, self.n_rows = name, options, n_rows
        self.schema, names = plain_schema(schema), schema.names
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise SourceError(
                f"{name}: more than one column is called {listing(twice)}; rename them."
            )
        index = [name for i, name in enumerate(names) if name == INDEX or (not name and i == 0)]
        self._beside = {"id": index[0]} if index else {}
        for one in ("label", "groups", "id_column"):
            asked = getattr(options, one)
            if isinstance(asked, str | int | np.integer):
                require(names, [str(asked)], name, one)
                self._beside[one.removesuffix("_column")] = str(asked)
        self._given = {one: options.beside(one, n_rows, name) for one in ("label", "groups")}
        columns = [column for column in names if column not in self._beside.values()]
        if options.columns is not None:
            columns = [str(column) for column in options.columns if str(column) in names]
        self.columns = tuple(column for column in columns if column not in options.drop)
        if not self.columns:
            require(names, map(str, options.columns or ()), name, "columns")
            why = f"no column is left to be a feature (it has {listing(names)})"
            raise SourceError(f"{name}: {why if names else 'the table has no columns'}.")

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """At least these columns as they come, best in batches of `size` rows."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """These columns in Arrow batches of plain types and at most `size` rows."""
        for batch in self._batches(columns, size):
            for start in range(0, batch.num_rows, size):
                yield plain_batch(batch.slice(start, size), columns)

    def blocks(
        self, columns: Sequence[str], size: int, met: list[Note] | None = None
    ) -> Iterator[Chunk]:
        """These columns of the rows asked for, with what lies beside them, in blocks of `size`."""
        rows = taken(self._all_blocks(columns, size), self.options, self.name, met)
        # Where texts are long, blocks are short.
        return even(rows, size, max(JOINED_BYTES, 8 * size * len(columns)))

    def _all_blocks(self, columns: Sequence[str], size: int) -> Iterator[Chunk]:
        """These columns of all rows, with identifiers, labels and groups."""
        wanted = list(dict.fromkeys([*columns, *self._beside.values()]))
        start = 0
        for batch in self.batches(wanted, size):
            own = slice(start, start + batch.num_rows)
            start = own.stop
            beside = {one: values_of(batch.column(c)) for one, c in self._beside.items()}
            for one, given in self._given.items():
                if given is not None and own.stop > len(given):
                    raise InputError(
                        f"{self.name}: has more rows than the {len(given):,} labels or groups "
                        "given."
                    )
                if given is not None:
                    beside[one] = given[own]
            ids = beside.get("id", np.arange(own.start, own.stop))
            rows = batch.select(list(columns))
            yield Chunk(rows, ids, beside.get("label"), groups=beside.get("groups"))

    def classes(self) -> list[object]:
        """The different labels, from a pass over the label alone."""
        return _classes_in(self.blocks(self.columns[:1], LEARN_ROWS))


def require(there: Sequence[str], columns: Iterable[str], name: str, given: str) -> None:
    """A table called `name` has these columns, which the option `given` asked for."""
    absent = next((column for column in columns if column not in there), None)
    if absent is None:
        return
    lower = {column.lower(): column for column in reversed(there)}
    close = get_close_matches(absent.lower(), lower, 1)
    hint = f"Did you mean {lower[close[0]]!r}? Its" if close else "Its"
    raise InputError(
        f"{name}: no column is called {absent!r} (asked for by {given}=). {hint} columns are "
        f"{listing(there, 20)}."
    )


def notes_of(sources: Sequence[Source]) -> list[Note]:
    """What is worth a warning: columns that not all sets have, and what was found in the rows."""
    changes = (change for source in sources for change in source.changes)
    found = [Note("schema", str(change), loud=True) for change in changes]
    found += [note for source in sources for note in source.notes if note.loud]
    found += [note for source in sources for note in source.met]
    return list(dict.fromkeys(found))


# ---- classes -----------------------------------------------------------------------------------


def taken(
    blocks: Iterable[Chunk], options: Options, name: str, met: list[Note] | None = None
) -> Iterator[Chunk]:
    """Blocks with only the rows of the class asked for, or with complete labels."""
    value = options.label_value
    others: set[object] = set()
    rows = kept = bare = 0
    for block in blocks:
        rows += len(block.ids)
        labels = block.labels
        if labels is not None:
            unlabelled = np.array([x is None or x != x for x in labels.tolist()], dtype=bool)
            if value is not None:
                mask = matches(labels, value)
                if not kept and not mask.any():
                    others.update(np.unique(labels[~unlabelled]).tolist())
                block = (block if mask.all() else block.take(mask))._replace(labels=None)
            elif unlabelled.any():
                bare += int(unlabelled.sum())
                whole = np.array(labels[~unlabelled].tolist())
                block = block.take(~unlabelled)._replace(labels=whole)
        kept += len(block.ids)
        if len(block.ids):
            yield block
    if not rows:
        raise SourceError(f"{name}: has no rows.")
    if not kept and value is not None:
        known = listing(sorted(others, key=str), 20)
        raise InputError(f"{name}: no row has the label {value!r}; the labels there are {known}.")
    if not kept:
        raise SourceError(f"{name}: no row has a label.")
    if bare and met is not None:
        said = "have no label and are" if bare > 1 else "has no label and is"
        met.append(Note("no label", f"{name}: {plural(bare, 'row')} {said} left out.", loud=True))


def matches(labels: Values, value: object) -> Bools:
    """Which labels are `value`, whether it was given as a number or as text.

    >>> matches(np.array([3, 4, 3]), "3"), matches(np.array(["3", "4"]), 3.0)
    (array([ True, False,  True]), array([ True, False]))
    """
    text = str(value)
    number = float(text) if text.lstrip("+-").replace(".", "", 1).isdigit() else math.nan
    if labels.dtype.kind in "biuf":
        truth = {"true": 1.0, "false": 0.0} if labels.dtype.kind == "b" else {}
        return np.asarray(labels == truth.get(text.lower(), number))
    wanted = {text, str(int(number))} if number.is_integer() else {text}
    return np.array([x is not None and str(x) in wanted for x in labels.tolist()], dtype=bool)


def _classes_in(blocks: Iterable[Chunk]) -> list[object]:
    """The different labels of some blocks, sorted as text."""
    labels = (np.unique(block.labels).tolist() for block in blocks if block.labels is not None)
    return sorted(set().union(*labels), key=str)
