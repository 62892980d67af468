"""A source: rows of numbers from anywhere, in chunks.

Behind it is a reader, or a table whose columns are encoded first: by a plan that several sources
share, or by one of its own where nobody gave one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan._warnings import Remark, warn
from cospan.errors import InputError

from .base import Chunk, Encodable, Options, Reader, only_in_one

if TYPE_CHECKING:
    from .encoding import EncodingPlan, SetProfile


class Source:
    """Rows of numbers from anywhere, in chunks.

    Made by :func:`cospan.sources.open_source`.

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
    reiterable : bool
        Whether :meth:`chunks` can be called again. True for everything that
        :func:`open_source` opens: what can be read only once is kept in a temporary file.
    dtype : numpy.dtype
        float32 or float64, of every chunk's rows.
    notes : tuple of str
        What a user should know about how the rows are read, as sentences.
    plan : EncodingPlan or None
        How the columns of a table become features; None for arrays, images and embeddings.
    profiles : tuple of SetProfile
        What the columns of the set (or of each class) hold, where a plan was learned.
    table : Encodable or None
        The table before it is encoded.
    bound : bool
        Whether the plan was given by :meth:`encoded`, and not found for this source alone.
    """

    def __init__(
        self, reader: Reader | Encodable, options: Options, *, name: str | None = None
    ) -> None:
        self.name = name or reader.name
        self.table: Encodable | None = None if isinstance(reader, Reader) else reader
        self._given: Reader | None = reader if isinstance(reader, Reader) else None
        self.bound = False
        self.profiles: tuple[SetProfile, ...] = ()
        self.reiterable = True
        self._plan: EncodingPlan | None = None
        self._options = options
        self._order: NDArray[Any] | None = None
        self._n_rows: int | None = None
        self._dropped = 0
        if self.table is None and options.missing == "indicator":
            raise InputError(
                f'{self.name}: missing="indicator" is for tables with columns of '
                f"their own; "
                f'missing="mean" or missing="drop" deals with missing '
                f"values here."
            )

    @property
    def _reader(self) -> Reader:
        """What gives the rows; a table that was not encoded with others gets a plan of its own."""
        if self._given is None:
            from .encoding import encode_together

            alone = encode_together([self])[0]
            self._given, self._plan, self._options = alone._given, alone._plan, alone._options
            self.profiles = alone.profiles
            if self._given is None:
                raise RuntimeError("an encoded source has a reader")
        return self._given

    @property
    def plan(self) -> EncodingPlan | None:
        return None if self.table is None or self._reader is None else self._plan

    @property
    def n_features(self) -> int:
        return self._reader.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        names = self._reader.feature_names
        if names is None or self._order is None:
            return names
        return tuple(names[i] for i in self._order.tolist())

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        return None if self.table is not None else self._reader.image_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._reader.dtype

    @property
    def notes(self) -> tuple[str, ...]:
        plan = self.plan
        dropped = [self._of_dropped()] if self._dropped else []
        return (*self._reader.notes, *dropped, *(plan.notes() if plan is not None else ()))

    def read_and_tell(self) -> Chunk:
        """All rows as one chunk, with a warning of what was found in them and not known before."""
        known = dict.fromkeys(self.notes)
        found = self.read()
        for note in self.notes:
            if note not in known:
                warn(note)
        return found

    def _of_dropped(self) -> Remark:
        whole = (self._n_rows or 0) + self._dropped
        text = (
            "{name}: {n:,} of {whole:,} rows have a missing value and were left out."
            if self._dropped > 1
            else "{name}: {n:,} of {whole:,} rows has a missing value and was left out."
        )
        return Remark("rows left out", text.format(name=self.name, n=self._dropped, whole=whole))

    @property
    def n_rows(self) -> int | None:
        keeps_all = self._options.label_value is None and self._options.missing != "drop"
        whole = (self.table or self._reader).n_rows
        return whole if self._n_rows is None and keeps_all else self._n_rows

    @property
    def lazy(self) -> Any:
        """The Dask collection behind this source, where its rows are taken as they are; or None."""
        plain = self._order is None and self._options.missing in (None, "error")
        return self._reader.collection if plain else None

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over the rows, from the first one."""
        from .cleaning import clean, even

        reader = self._reader
        size = self._options.rows_per_chunk(reader.n_features, reader.dtype)
        seen, dropped = 0, [0]
        for chunk in even(clean(reader, self._options, size, self.name, dropped), size):
            seen += len(chunk.rows)
            rows = chunk.rows if self._order is None else chunk.rows[:, self._order]
            yield chunk._replace(rows=np.ascontiguousarray(rows))
        self._n_rows, self._dropped = seen, sum(dropped)

    def read(self) -> Chunk:
        """All rows in one chunk; for data known to fit in memory."""
        from .cleaning import joined

        return joined(list(self.chunks()))

    def classes(self) -> list[Any]:
        """The different labels, sorted as text; of a table only the label is read."""
        if self.table is not None:
            return self.table.classes()
        from .cleaning import classes_in

        return classes_in(self.chunks())

    def encoded(self, plan: EncodingPlan, *, profiles: tuple[SetProfile, ...] = ()) -> Source:
        """The same rows with the columns encoded by a plan that was learned elsewhere.

        The table may have its columns in another order, and further ones.
        """
        if self.table is None:
            raise InputError(f"{self.name}: is not a table, so there is no column to encode.")
        view = copy.copy(self)
        view._order, view._n_rows, view._plan, view.bound = None, None, plan, True
        view._given = self.table.encoded(plan, self.name)
        view.profiles = profiles
        # What the plan fills is filled; the rest is dealt with as in any other source.
        filled = any(column.fill for column in plan.used)
        kept = plan.missing if plan.missing == "drop" or not filled else "error"
        view._options = replace(self._options, missing=None if kept == "indicator" else kept)
        return view

    def reordered(self, feature_names: Sequence[str]) -> Source:
        """The same rows with the columns in the order of `feature_names`."""
        own = self._reader.feature_names
        if own is None or set(own) != set(feature_names):
            raise InputError(f"{self.name}: its features are not those of the order asked for.")
        place = {name: i for i, name in enumerate(own)}
        view = copy.copy(self)
        view._order = np.array([place[name] for name in feature_names], dtype=np.intp)
        return view

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        if self.table is not None and self._given is None:
            return f"Source({self.name!r}, {rows} rows × {len(self.table.columns):,} columns)"
        return f"Source({self.name!r}, {rows} rows × {self.n_features:,} features)"


def check_same_features(a: Source, b: Source) -> Source:
    """Make sure that two sources have the same features; give `b` in the order of `a`.

    Where one of them has no names, or neither, the number of features and the image shape decide.
    Where the features differ, the error lists those only in `a` and only in `b`.

    >>> import pandas as pd
    >>> from cospan.sources import open_source
    >>> a = open_source(pd.DataFrame({"x": [1.0], "y": [2.0]}))
    >>> b = open_source(pd.DataFrame({"y": [4.0], "x": [3.0]}))
    >>> check_same_features(a, b).read().rows
    array([[3., 4.]])
    """
    if a.feature_names is not None and b.feature_names is not None:
        return _by_name(a, b)
    if a.n_features != b.n_features:
        raise InputError(
            f"{a.name} has {a.n_features:,} features{_shape(a)} and {b.name} has "
            f"{b.n_features:,}{_shape(b)}; both must describe their rows by the same features."
        )
    if a.image_shape and b.image_shape and a.image_shape != b.image_shape:
        raise InputError(
            f"The images of {a.name} are {_by(a.image_shape)} and those of {b.name} are "
            f"{_by(b.image_shape)}; bring them to one shape first."
        )
    return b


def _by_name(a: Source, b: Source) -> Source:
    names_a, names_b = a.feature_names or (), b.feature_names or ()
    if names_a == names_b:
        return b
    apart = only_in_one(a.name, names_a, b.name, names_b)
    if not apart:
        return b.reordered(names_a)
    raise InputError(
        f"{a.name} and {b.name} have different features: {apart}. "
        f"Name the common ones with columns=."
    )


def _shape(source: Source) -> str:
    return f" ({_by(source.image_shape)})" if source.image_shape else ""


def _by(shape: tuple[int, ...]) -> str:
    return "×".join(str(length) for length in shape)
