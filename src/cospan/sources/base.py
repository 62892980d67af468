"""What every source shares: chunks of rows, options, and what a reader must offer.

A *reader* knows one kind of input and yields raw blocks; a Source (``source``) puts the same
cleaning (class selection, missing values, finite check, float type) behind every reader. So a new
kind of input is one small reader and nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cospan._warnings import warn
from cospan.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from .encoding import EncodingPlan
    from .encoding.learn import SetLearner

__all__ = [
    "Chunk", "Encodable", "Options", "Reader", "TableStream", "listing", "only_in_one", "require",
    "warn",
]  # fmt: skip

#: A chunk of rows takes about this much memory unless ``chunk_rows`` says otherwise.
CHUNK_BYTES = 32 * 2**20
#: Narrow tables get no more rows than this in a chunk: identifiers and labels cost memory too.
MAX_CHUNK_ROWS = 2**18

#: An image_size above this would make rows of more than a million features.
MAX_PIXELS_SIZED = 2**20
MISSING = ("indicator", "mean", "drop", "error")
IMAGE_MODES = ("L", "RGB")


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
        Days since 1970 in columns that tell when a row is from and are no features (the plan's
        kind ``"time"``); NaN where a value is missing.
    merged : ndarray of shape (n,), uint64, or None
        A hash of each row's levels in the columns whose rare levels share a feature: rows that
        differ in these alone are equal as numbers. None where there is no such column.
    """

    rows: NDArray[Any]
    ids: NDArray[Any]
    labels: NDArray[Any] | None = None
    times: NDArray[np.float64] | None = None
    merged: NDArray[np.uint64] | None = None

    def take(self, index: slice | NDArray[Any]) -> Chunk:
        """The rows that `index` picks, with all that lies beside them."""
        picked: Any = (None if column is None else column[index] for column in self)
        return Chunk(*picked)


class Reader(ABC):
    """One kind of input. Blocks may hold NaN (missing); everything else is the Source's work."""

    name: str
    n_features: int
    dtype: np.dtype[Any]
    n_rows: int | None = None
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    owners: tuple[str, ...] | None = None  # for each feature the user's column it is made of
    finite: bool = False  # whether no gap is left, and infinite values are refused already
    encodable: bool = False  # whether an encoding plan could deal with its missing values
    embedded: bool = False  # whether a model made the rows
    #: A Dask collection that can be left to the workers; None where labels are wanted too
    collection: Any = None

    @abstractmethod
    def blocks(self, size: int) -> Iterator[Chunk]:
        """Raw blocks of at most about `size` rows, from the first row, each time anew."""


class Encodable(Protocol):
    """A table before its columns are encoded (``encoding.table``, ``encoding.lazy``)."""

    @property
    def name(self) -> str: ...
    @property
    def n_rows(self) -> int | None: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def all_columns(self) -> tuple[str, ...]: ...
    @property
    def unusable(self) -> dict[str, str]:
        """Columns that cannot be features, with the reason."""

    @property
    def kinds(self) -> dict[str, str]: ...
    @property
    def options(self) -> Options: ...

    @property
    def settled(self) -> bool:
        """Whether all columns are known to be numbers without gaps."""

    def learn(self, name: str, forced: Mapping[str, str]) -> list[SetLearner]:
        """One pass over the set, or over each of its classes."""

    def encoded(self, plan: EncodingPlan, name: str) -> Reader:
        """The reader that applies a plan."""

    def classes(self) -> list[Any]:
        """The different labels."""


class TableStream(ABC):
    """Arrow record batches with known columns, as often as asked."""

    name: str
    schema: pa.Schema
    n_rows: int | None = None
    index: str | None = None  # a column that identifies rows and is not a feature
    #: Columns that can serve as label or id but never as a feature (folder partitions)
    hidden: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()  # columns that no batch can hold (Python objects)
    #: Whether a column may be text in some batches, where the schema has another type for it
    lenient: bool = False
    notes: tuple[str, ...] = ()

    @abstractmethod
    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `size` rows with these columns, in this order."""

    def complete(self, columns: Sequence[str]) -> bool:
        """Whether it is known, without reading the rows of a file, that no value is missing."""
        return False


@dataclass(frozen=True)
class Options:
    """The keyword arguments of :func:`open_source`, checked."""

    label: Any = None
    label_value: Any = None
    columns: tuple[str | int, ...] | None = None
    id_column: str | None = None
    chunk_rows: int | None = None
    missing: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    strict: bool = False
    image_size: tuple[int, int] | None = None
    image_mode: str = "L"
    max_bad_images: int = 10
    text: str | None = None
    embed: Any = None

    def __post_init__(self) -> None:
        if self.missing is not None:
            _one_of("missing", self.missing, MISSING)
        _one_of("image_mode", self.image_mode, IMAGE_MODES)
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise InputError(f"chunk_rows must be 1 or more, not {self.chunk_rows}.")
        if self.max_bad_images < 0:
            raise InputError(f"max_bad_images must be 0 or more, not {self.max_bad_images}.")
        if self.image_size is not None and min(self.image_size) < 1:
            raise InputError(f"image_size must be positive, not {self.image_size}.")
        if self.image_size is not None and math.prod(self.image_size) > MAX_PIXELS_SIZED:
            raise InputError(
                f"image_size is {'x'.join(map(str, self.image_size))}, above {MAX_PIXELS_SIZED:,} "
                "pixels; every pixel is a feature, so take a smaller one, for example 64."
            )
        if self.columns is not None and not self.columns:
            raise InputError("columns is empty: name at least one feature to take.")
        times = Counter(self.columns or ())
        twice = [column for column, n in times.items() if n > 1]
        if twice:
            raise InputError(f"columns names {twice[0]!r} twice; name each feature once.")
        if self.label_value is not None and self.label is None:
            raise InputError(
                f"label_value={self.label_value!r} needs label= to say where the classes stand."
            )

    def leave_out(self, described: str) -> None:
        """Leave out columns that cannot be features, with a word; not those asked for by name."""
        if self.columns is not None:
            raise InputError(f"{described}; take it out of columns=, or turn it into numbers.")
        if self.strict:
            raise InputError(f"{described}; strict=True refuses the table as it is.")
        warn(f"{described} and left out.", code="columns left out")

    def rows_per_chunk(self, n_features: int, dtype: np.dtype[Any]) -> int:
        if self.chunk_rows is not None:
            return self.chunk_rows
        fitting = CHUNK_BYTES // max(1, n_features * dtype.itemsize)
        return int(min(max(fitting, 1), MAX_CHUNK_ROWS))


def listing(items: Sequence[object], limit: int = 8) -> str:
    """Name several things in a message.

    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def only_in_one(a: str, of_a: Sequence[str], b: str, of_b: Sequence[str]) -> str:
    """Which names one of two sources has and the other lacks, in words; empty if none."""
    alone = ((a, of_a, set(of_b)), (b, of_b, set(of_a)))
    lists = [(name, [x for x in own if x not in other]) for name, own, other in alone]
    return "; ".join(f"only {name} has {listing(names)}" for name, names in lists if names)


def require(there: Sequence[str], columns: Sequence[str], name: str, given: str = "") -> None:
    """A table called `name` has these columns, which the option `given` asked for."""
    absent = [column for column in columns if column not in set(there)]
    if absent:
        asked = f" (asked for by {given}=)" if given else ""
        raise InputError(
            f"{name}: has no column {listing(absent)}{asked}; its columns are {listing(there, 20)}."
        )


def _one_of(option: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{option} must be one of {listing(allowed)}, not {value!r}.")
