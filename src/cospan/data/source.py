"""A source: rows of numbers from anywhere, in chunks of bounded size.

Whatever rows come from, the same happens to them: a class is taken, gaps and absurd numbers are
dealt with, block by block, so that memory stays bounded whatever the size of the input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.text import plural
from cospan.base.types import Data, Values
from cospan.errors import InputError, SourceError

from .matching import SchemaChange, absurd_values
from .options import Options, listing
from .values import absurd, all_usual, one_batch

if TYPE_CHECKING:
    from .plan import EncodingPlan, SetProfile

Item = TypeVar("Item")

#: A chunk of rows takes about this much memory unless ``chunk_rows`` says otherwise.
CHUNK_BYTES = 32 * 2**20
#: Narrow tables get no more rows than this in a chunk: identifiers and labels cost memory too.
MAX_CHUNK_ROWS = 2**18


class Chunk(NamedTuple):
    """Some consecutive rows of a source.

    Attributes
    ----------
    rows : ndarray of shape (n, d), float32 or float64, C-contiguous, finite
    ids : ndarray of shape (n,)
        Row numbers (int64, from 0, counted before any row is left out), or the values of the
        dataframe's index or of ``id_column``, or file names.
    labels : ndarray of shape (n,) or None
        Present when ``label`` was given without ``label_value``.
    times : ndarray of shape (n, columns) or None
        Days since 1970 in columns that say when a row is from and are not features (the plan's
        kind ``"time"``); NaN where a value is missing.
    merged : ndarray of shape (n,), uint64, or None
        A hash of each row's levels in the columns whose rare levels share a feature: rows that
        differ in these alone are equal as numbers. None where there is no such column.
    watched : ndarray of shape (n, k) or None
        How the texts of identifiers and free text, which make no feature, are written: what the
        plan's `watched` names; NaN where a text is missing. None where there is no such column.
    groups : ndarray of shape (n,) or None
        What rows have in common that belong together, where ``groups`` was given.
    """

    rows: Data
    ids: Values
    labels: Values | None = None
    times: NDArray[np.float64] | None = None
    merged: NDArray[np.uint64] | None = None
    watched: NDArray[np.float64] | None = None
    groups: Values | None = None

    def take(self, index: slice | Values) -> Chunk:
        """The rows that `index` picks, with all that lies beside them."""
        picked: Any = (None if column is None else _picked(column, index) for column in self)
        return Chunk(*picked)


def _picked(values: Any, index: slice | Values) -> Any:
    if isinstance(values, np.ndarray):
        return values[index]
    if not isinstance(index, slice):  # an Arrow batch
        return values.filter(index)
    start, stop, _ = index.indices(values.num_rows)
    return values.slice(start, stop - start)


def joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    rows, *beside = zip(*chunks, strict=True)
    whole: Any = (None if column[0] is None else np.concatenate(column) for column in beside)
    arrays = isinstance(rows[0], np.ndarray)
    return Chunk(np.concatenate(rows) if arrays else one_batch(rows), *whole)


class Source:
    """Rows of numbers from anywhere, in chunks.

    Made by :func:`cospan.data.open_source` of arrays, images and embeddings, and by
    :func:`cospan.data.encode` of tables. Nothing is read before a method is called.

    Attributes
    ----------
    name : str
        What to call the data on screen: the file's name, or the kind of object.
    n_rows : int or None
        Rows that :meth:`chunks` will give; None while that takes a pass to find out
        (a class taken out of a table, rows dropped, CSV). Known after the first full pass.
    n_features : int
    feature_names : tuple of str, or None
    image_shape : tuple of int, or None
        (height, width) or (height, width, channels) when the features are pixels.
    dtype : numpy.dtype
        float32 or float64, of every chunk's rows.
    plan : EncodingPlan or None
        How the columns of a table became features; None for arrays, images and embeddings.
    profiles : tuple of SetProfile
        What the columns of the set (or of each class) hold, where the plan was learned from it.
    lazy : Dask collection or None
        The rows as workers have them, where nothing has to be done to them.
    """

    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    plan: EncodingPlan | None = None
    profiles: tuple[SetProfile, ...] = ()
    lazy: Any = None
    _owners: tuple[str, ...] | None = None  # for each feature the user's column it is made of
    _clean = False  # whether its blocks hold usual numbers only
    _changes: tuple[SchemaChange, ...] = ()
    _notes: tuple[Note, ...] = ()  # known when it was opened
    _read: tuple[Note, ...] = ()  # what the last pass over the blocks met
    _cleaned: tuple[Note, ...] = ()  # and what was done to them
    _absurd: dict[str, int]

    def __init__(
        self,
        name: str,
        options: Options,
        shape: tuple[int | None, int],
        dtype: np.dtype,
    ) -> None:
        self.name = self.called = name
        self.n_features, self.dtype = shape[1], dtype
        keeps_all = options.label_value is None and options.missing != "drop"
        self.n_rows = shape[0] if keeps_all else None
        self._options, self._absurd = options, {}
        if options.missing == "indicator":
            raise InputError(
                f'{name}: missing="indicator" is for tables with columns of their own; '
                'missing="mean" or missing="drop" deals with missing values here.'
            )

    def _blocks(self, size: int) -> Iterator[Chunk]:
        """Raw blocks of about `size` rows, from the first one; gaps are NaN."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know about how the rows are read; more after they were."""
        own = () if self.plan is None else self.plan.notes()
        return tuple(dict.fromkeys((*self._notes, *self.met, *own)))

    @property
    def met(self) -> tuple[Note, ...]:
        """What was found in the last pass over the rows."""
        return (*self._read, *self._cleaned)

    @property
    def changes(self) -> tuple[SchemaChange, ...]:
        """Columns that are not the same in all sets or the plan, then absurd values.

        The latter are known before the first pass where a plan was learned from the rows.
        """
        found = absurd_values(list(self._absurd), [self.called], [self._absurd])
        return (*self._changes, *found)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over the rows, from the first one."""
        fitting = CHUNK_BYTES // max(1, self.n_features * self.dtype.itemsize)
        size = self._options.chunk_rows or min(max(fitting, 1), MAX_CHUNK_ROWS)
        cleaning = _Cleaning(self, self._options, size)
        seen = 0
        for chunk in even(cleaning.chunks(), size):
            seen += len(chunk.rows)
            yield chunk._replace(rows=np.ascontiguousarray(chunk.rows))
        self.n_rows, self._cleaned = seen, cleaning.notes(seen)
        self._absurd = self._absurd | cleaning.named(cleaning.absurd)

    def read(self) -> Chunk:
        """All rows in one chunk; for data known to fit in memory."""
        return joined(list(self.chunks()))

    def classes(self) -> list[Any]:
        """The different labels, sorted as text."""
        return classes_in(self.chunks())


class _Cleaning:
    """One pass over a source: its blocks as finite float chunks, of uneven size."""

    def __init__(self, source: Source, options: Options, size: int) -> None:
        self._source, self._options, self._size = source, options, size
        self._unlabelled: list[Note] = []
        self._means: Values | None = None
        self._gaps, self.absurd = np.zeros((2, source.n_features), dtype=np.int64)
        self._gapped = self._dropped = 0

    def chunks(self) -> Iterator[Chunk]:
        given = 0
        for chunk in self._floats(self._unlabelled):
            if not self._source._clean and not all_usual(chunk.rows):
                chunk = self._cleaned(chunk)
            # After the first gap the rest is read only to count: the message names them all.
            if len(chunk.rows) and not self._gapped:
                given += len(chunk.rows)
                yield chunk
        if self._gapped:
            counts = self.named(self._gaps)
            worst = sorted(counts, key=lambda name: -counts[name])[:8]
            raise InputError(
                f"{self._source.name}: values are missing in {self._gapped:,} rows, in column "
                f"{', '.join(f'{name!r} ({counts[name]:,})' for name in worst)}"
                f'{" and others" if len(counts) > 8 else ""}; missing="drop" leaves these rows '
                'out, missing="mean" puts in the mean, in tables missing="indicator" also says '
                "where."
            )
        if not given:
            raise SourceError(
                f'{self._source.name}: every row has a missing value, so missing="drop" leaves '
                "none."
            )

    def _floats(self, notes: list[Note]) -> Iterator[Chunk]:
        blocks = self._source._blocks(self._size)
        for block in taken(blocks, self._options, self._source.name, notes):
            yield block._replace(rows=block.rows.astype(self._source.dtype, copy=False))

    def _cleaned(self, chunk: Chunk) -> Chunk:
        odd, absent = absurd(chunk.rows), np.isnan(chunk.rows)
        self.absurd += odd.sum(axis=0)
        if self._options.missing == "drop":
            whole = ~(absent | odd).any(axis=1)
            self._dropped += len(whole) - int(whole.sum())
            return chunk.take(whole)
        if absent.any() and self._options.missing != "mean":
            self._gaps += absent.sum(axis=0)
            self._gapped += int(absent.any(axis=1).sum())
            return chunk
        if self._means is None:
            self._means = self._column_means()
        return chunk._replace(rows=np.where(absent | odd, self._means, chunk.rows))

    def _column_means(self) -> Values:
        """Mean of each column's usual values among the rows taken: one pass."""
        total, count, known = np.zeros((3, self._source.n_features))
        for chunk in self._floats([]):
            odd, absent = absurd(chunk.rows), np.isnan(chunk.rows)
            total += np.where(absent | odd, 0, chunk.rows).sum(axis=0, dtype=np.float64)
            count += (~(absent | odd)).sum(axis=0)
            known += (~absent).sum(axis=0)
        if not known.all():
            raise InputError(
                f"{self._source.name}: column {listing(list(self.named(known == 0)))} has no value "
                "at all, so there is no mean to put in; leave it out with columns=."
            )
        return (total / np.maximum(count, 1)).astype(self._source.dtype)

    def named(self, counts: Values) -> dict[str, int]:
        """How often it happens in each column, where it does; a category makes several features."""
        names = self._source._owners or self._source.feature_names
        found: dict[str, int] = {}
        for i in np.flatnonzero(counts).tolist():
            name = names[i] if names else str(i)
            found[name] = max(found.get(name, 0), int(counts[i]))
        return found

    def notes(self, given: int) -> tuple[Note, ...]:
        """What the pass met, of which `given` rows are left."""
        if not self._dropped:
            return tuple(self._unlabelled)
        rows = f"{self._dropped:,} of {given + self._dropped:,} rows"
        text = f"{self._source.name}: {rows} have a missing value and were left out."
        return (*self._unlabelled, Note("rows left out", text))


# ---- classes and groups ------------------------------------------------------------------------


def taken(
    blocks: Iterable[Chunk], options: Options, name: str, notes: list[Note] | None = None
) -> Iterator[Chunk]:
    """Blocks with only the rows of the class asked for, or with complete labels."""
    value = options.label_value
    others: set[Any] = set()
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
    if bare and notes is not None:
        said = "have no label and are" if bare > 1 else "has no label and is"
        notes.append(Note("no label", f"{name}: {plural(bare, 'row')} {said} left out.", loud=True))


def matches(labels: Values, value: object) -> NDArray[np.bool_]:
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


def classes_in(blocks: Iterable[Chunk]) -> list[Any]:
    """The different labels of some blocks, sorted as text."""
    values: set[Any] = set()
    for block in blocks:
        if block.labels is not None:
            values.update(np.unique(block.labels).tolist())
    return sorted(values, key=str)


# ---- blocks ------------------------------------------------------------------------------------


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


def notes_of(sources: Sequence[Source]) -> list[Note]:
    """What is worth a warning: columns that not all sets have, and what was found in the rows."""
    changes = (change for source in sources for change in source.changes)
    found = [Note("schema", str(change), loud=True) for change in changes]
    found += [note for source in sources for note in source.notes if note.loud]
    found += [note for source in sources for note in source.met]
    return list(dict.fromkeys(found))
