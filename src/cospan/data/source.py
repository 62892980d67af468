"""A source: rows of numbers from anywhere, in chunks of bounded size.

Behind every reader is the same cleaning: take a class, deal with gaps and absurd numbers, block by
block, so that memory stays bounded whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.text import plural
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, joined, listing
from .matching import SchemaChange, absurd_values
from .values import absurd, all_usual

if TYPE_CHECKING:
    from .plan import EncodingPlan, SetProfile

Item = TypeVar("Item")


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
    """

    def __init__(
        self,
        reader: Reader,
        options: Options,
        *,
        name: str | None = None,
        plan: EncodingPlan | None = None,
        profiles: tuple[SetProfile, ...] = (),
        changes: tuple[SchemaChange, ...] = (),
        called: str = "",
    ) -> None:
        self.name = name or reader.name
        self.called = called or self.name
        self.plan = plan
        self.profiles = profiles
        self._changes = changes
        self._absurd: dict[str, int] = {}
        self.n_features = reader.n_features
        self.feature_names = reader.feature_names
        self.image_shape = reader.image_shape
        self.dtype = reader.dtype
        keeps_all = options.label_value is None and options.missing != "drop"
        self.n_rows = reader.n_rows if keeps_all else None
        self._reader = reader
        self._options = options
        self._found: list[Note] = []
        if plan is None and options.missing == "indicator":
            raise InputError(
                f'{self.name}: missing="indicator" is for tables with columns of their own; '
                'missing="mean" or missing="drop" deals with missing values here.'
            )

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know about how the rows are read; more after they were."""
        own = () if self.plan is None else self.plan.notes()
        return tuple(dict.fromkeys((*self._reader.notes, *self.met, *own)))

    @property
    def changes(self) -> tuple[SchemaChange, ...]:
        """Columns that are not the same in all sets or the plan, then absurd values.

        The latter are known before the first pass where a plan was learned from the rows.
        """
        absurd = self._absurd | dict(self._reader.absurd)
        return (*self._changes, *absurd_values(list(absurd), [self.called], [absurd]))

    @property
    def met(self) -> tuple[Note, ...]:
        """What was found in the last pass over the rows."""
        return (*self._reader.found, *self._found)

    @property
    def lazy(self) -> Any:
        """The Dask collection behind this source, where its rows are taken as they are; or None."""
        return self._reader.collection if self._options.missing in (None, "error") else None

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over the rows, from the first one."""
        size = self._options.rows_per_chunk(self.n_features, self.dtype)
        cleaning = _Cleaning(self._reader, self._options, size, self.name)
        seen = 0
        for chunk in even(cleaning.chunks(), size):
            seen += len(chunk.rows)
            yield chunk._replace(rows=np.ascontiguousarray(chunk.rows))
        self.n_rows = seen
        self._found, self._absurd = cleaning.notes(seen), cleaning.absurd()

    def read(self) -> Chunk:
        """All rows in one chunk; for data known to fit in memory."""
        return joined(list(self.chunks()))

    def classes(self) -> list[Any]:
        """The different labels, sorted as text."""
        return classes_in(self.chunks())

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        return f"Source({self.name!r}, {rows} rows × {self.n_features:,} features)"


class _Cleaning:
    """One pass over a reader: its blocks as finite float chunks, of uneven size."""

    def __init__(self, reader: Reader, options: Options, size: int, name: str) -> None:
        self._reader, self._options, self._size, self._name = reader, options, size, name
        self._unlabelled: list[Note] = []
        self._means: NDArray[Any] | None = None
        self._gaps = np.zeros(reader.n_features, dtype=np.int64)
        self._absurd = np.zeros(reader.n_features, dtype=np.int64)
        self._gapped = self._dropped = 0

    def chunks(self) -> Iterator[Chunk]:
        given = 0
        for chunk in self._floats(self._unlabelled):
            if not self._reader.clean and not all_usual(chunk.rows):
                chunk = self._cleaned(chunk)
            # After the first gap the rest is read only to count: the message names them all.
            if len(chunk.rows) and not self._gapped:
                given += len(chunk.rows)
                yield chunk
        if self._gapped:
            counts = self._counted(self._gaps)
            worst = sorted(counts, key=lambda name: -counts[name])[:8]
            raise InputError(
                f"{self._name}: values are missing in {self._gapped:,} rows, in column "
                f"{', '.join(f'{name!r} ({counts[name]:,})' for name in worst)}"
                f'{" and others" if len(counts) > 8 else ""}; missing="drop" leaves these rows '
                'out, missing="mean" puts in the mean, in tables missing="indicator" also says '
                "where."
            )
        if not given:
            raise SourceError(
                f'{self._name}: every row has a missing value, so missing="drop" leaves none.'
            )

    def _floats(self, notes: list[Note]) -> Iterator[Chunk]:
        for block in taken(self._reader.blocks(self._size), self._options, self._name, notes):
            yield block._replace(rows=block.rows.astype(self._reader.dtype, copy=False))

    def _cleaned(self, chunk: Chunk) -> Chunk:
        odd, absent = absurd(chunk.rows), np.isnan(chunk.rows)
        self._absurd += odd.sum(axis=0)
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

    def _column_means(self) -> NDArray[Any]:
        """Mean of each column's usual values among the rows taken: one pass."""
        total, count, known = np.zeros((3, self._reader.n_features))
        for chunk in self._floats([]):
            odd, absent = absurd(chunk.rows), np.isnan(chunk.rows)
            total += np.where(absent | odd, 0, chunk.rows).sum(axis=0, dtype=np.float64)
            count += (~(absent | odd)).sum(axis=0)
            known += (~absent).sum(axis=0)
        if not known.all():
            raise InputError(
                f"{self._name}: column {listing(list(self._counted(known == 0)))} has no value at "
                "all, so there is no mean to put in; leave it out with columns=."
            )
        return (total / np.maximum(count, 1)).astype(self._reader.dtype)

    def _counted(self, counts: NDArray[Any]) -> dict[str, int]:
        """How often it happens in each column, where it does; a category makes several features."""
        names = self._reader.owners or self._reader.feature_names
        found: dict[str, int] = {}
        for i in np.flatnonzero(counts).tolist():
            name = names[i] if names else str(i)
            found[name] = max(found.get(name, 0), int(counts[i]))
        return found

    def absurd(self) -> dict[str, int]:
        """How many absurd values each column had."""
        return self._counted(self._absurd)

    def notes(self, given: int) -> list[Note]:
        """What the pass met, of which `given` rows are left."""
        if not self._dropped:
            return self._unlabelled
        rows = f"{self._dropped:,} of {given + self._dropped:,} rows"
        text = f"{self._name}: {rows} have a missing value and were left out."
        return [*self._unlabelled, Note("rows left out", text)]


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
            unlabelled = _unlabelled(labels)
            if value is not None:
                mask = matches(labels, value)
                if not kept and not mask.any():
                    others.update(np.unique(labels[~unlabelled]).tolist())
                block = (block if mask.all() else block.take(mask))._replace(labels=None)
            elif unlabelled.any():
                if options.missing == "error":
                    raise InputError(
                        f"{name}: {plural(int(unlabelled.sum()), 'row')} without a label, the "
                        f"first of them {block.ids[unlabelled][0]}; label them, or leave out "
                        'missing="error".'
                    )
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
    if bare and options.missing != "drop" and notes is not None:
        said = "have no label and are" if bare > 1 else "has no label and is"
        notes.append(Note("no label", f"{name}: {plural(bare, 'row')} {said} left out.", loud=True))


def matches(labels: NDArray[Any], value: object) -> NDArray[np.bool_]:
    """Which labels are `value`, whether it was given as a number or as text.

    >>> matches(np.array([3, 4, 3]), "3")
    array([ True, False,  True])
    """
    if labels.dtype.kind == "b":
        truth = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
        return np.zeros(len(labels), bool) if truth is None else labels == truth
    if labels.dtype.kind in "iuf":
        try:
            number = float(str(value))
        except ValueError:
            return np.zeros(len(labels), bool)
        return np.asarray(labels == number)
    if labels.dtype.kind == "U":
        return np.asarray(labels == str(value))
    texts = [None if label is None else str(label) for label in labels.tolist()]
    return np.array([text == str(value) for text in texts], dtype=bool)


def _unlabelled(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind == "O":
        return np.array([x is None or x != x for x in labels.tolist()], dtype=bool)
    return np.zeros(len(labels), bool)


def even(
    blocks: Iterable[Chunk], size: int, share: Callable[[Chunk], float] = lambda block: 0.0
) -> Iterator[Chunk]:
    """The same rows in blocks of `size`, the last one shorter; fewer where a block's share is 1."""
    waiting: list[Chunk] = []
    rows, held = 0, 0.0
    for block in blocks:
        start = 0
        while start < len(block.ids):
            piece = block.take(slice(start, start + size - rows))
            start += len(piece.ids)
            rows += len(piece.ids)
            held += share(piece)
            waiting.append(piece)
            if rows == size or held > 1:
                yield joined(waiting)
                waiting, rows, held = [], 0, 0.0
    if waiting:
        yield joined(waiting)


def classes_in(blocks: Iterable[Chunk]) -> list[Any]:
    """The different labels of some blocks, sorted as text."""
    values: set[Any] = set()
    for block in blocks:
        if block.labels is not None:
            values.update(np.unique(block.labels).tolist())
    return sorted(values, key=str)


def notes_of(sources: Sequence[Source]) -> list[Note]:
    """What is worth a warning: columns that not all sets have, and what was found in the rows."""
    changes = (change for source in sources for change in source.changes)
    found = [Note("schema", str(change), loud=True) for change in changes]
    found += [note for source in sources for note in source.notes if note.loud]
    found += [note for source in sources for note in source.met]
    return list(dict.fromkeys(found))


def read_ahead(blocks: Iterator[Item]) -> Iterator[Item]:
    """The same blocks, each made in a second thread while the one before is at work.

    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1, thread_name_prefix="cospan-reading") as reader:
        coming = reader.submit(_next, blocks)
        while (block := coming.result()) is not None:
            coming = reader.submit(_next, blocks)
            yield block


def _next(blocks: Iterator[Item]) -> Item | None:
    return next(blocks, None)
