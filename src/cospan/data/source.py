"""A source: rows of numbers from anywhere, in chunks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cospan.base.notes import Note
from cospan.errors import InputError

from .base import Chunk, Options, Reader
from .cleaning import Cleaning, classes_in, even, joined
from .matching import SchemaChange, absurd_values

if TYPE_CHECKING:
    from .plan import EncodingPlan
    from .profiles import SetProfile

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
        cleaning = Cleaning(self._reader, self._options, size, self.name)
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
