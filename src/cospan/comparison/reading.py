"""One pass over a set: a summary of each fold, and a uniform sample of its rows with their names.

A set comes as a source of its own, or as a summary that was made before; all classes of one source
are read at once. Either way the rows can be gone through again. Rows are dealt to folds by their
running number. Those of one group stay together, and so do equal rows where rows are repeated
beyond chance: what was dealt is then dealt again, by keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.keys import Keys, mixed, row_keys, text_keys
from cospan.data import Chunk, SchemaChange, Source, listing, read_ahead
from cospan.distributed import folded_summary_of
from cospan.errors import InputError
from cospan.evidence import columns_of, read_columns, repeated_rows
from cospan.model import RowMap, mapped_summary
from cospan.summary import (
    FoldBuilder,
    FoldedSummary,
    Reservoir,
    RowSample,
    Summary,
    SummaryOptions,
    best_salt,
    dealt_by_key,
    dealt_by_number,
    fold_count,
    of_rows,
    rows_within,
)

if TYPE_CHECKING:
    from cospan.data import EncodingPlan

#: Of every sample of rows that a comparison takes. The seed that a user gives is for what chance
#: must decide, relabellings and replicates; which rows stand for a large set it need not decide,
#: and another seed would give other distances for the same files, and flip a gate.
SAMPLE_SEED = 0
SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 3 * 2**24  # 48 MB a set
#: Whether rows are repeated at all is looked up in so many columns first, then against so many
#: relabellings.
QUICK_COLUMNS, FEWEST_REPEATED, REPEAT_LABELLINGS = 16, 3, 99
MOST_SETS = 100  # more are nearly always a column of numbers taken for labels

Progress = Callable[[str, int, int | None], None]  # what is being done, rows done, rows in all


class ReadSet(NamedTuple):
    """A set after one pass: `sample` holds all its rows where `complete`."""

    name: str
    folds: FoldedSummary
    sample: Chunk
    complete: bool
    rows: int
    weights: NDArray[np.float64] | None = None  # of the sample, where rows do not count 1 each

    @property
    def summary(self) -> Summary:
        return self.folds.whole

    @property
    def dealt(self) -> NDArray[np.intp]:
        """The fold of each row of the sample."""
        return self.folds.dealt[np.argsort(self.folds.sample.index)]

    def dealt_again(self, dealing: Dealing) -> ReadSet:
        """The same with its rows, all of which are at hand, in other folds."""
        dealt = dealing.folds_of(self.sample, 0)
        rows, whole = self.sample.rows, self.summary
        found = FoldedSummary.of_rows(rows, dealt, whole, dealing.n_folds, self.weights)
        return self._replace(folds=found)


class Dealing(NamedTuple):
    """How rows are dealt to folds: by their ``"number"``, ``"group"`` or ``"values"``."""

    n_folds: int
    by: str = "number"
    salt: int = 0

    def keys_of(self, chunk: Chunk) -> Keys:
        """What rows share that must share a fold."""
        if self.by == "group":
            assert chunk.groups is not None  # it was asked for
            return text_keys(chunk.groups)
        return value_keys(chunk)

    def folds_of(self, chunk: Chunk, first: int) -> NDArray[np.intp]:
        """The fold of each row; `first` is the running number of the first."""
        if self.by == "number":
            return dealt_by_number(first + np.arange(len(chunk.rows)), self.n_folds)
        return dealt_by_key(self.keys_of(chunk), self.n_folds, self.salt)


def value_keys(chunk: Chunk) -> Keys:
    """Equal for rows of equal values, also in the levels that share a feature."""
    keys = row_keys(list(np.asarray(chunk.rows).T))
    return keys if chunk.merged is None else mixed(keys, chunk.merged)


class OwnRows(NamedTuple):
    """Rows of one set, the set's number, and the fold of each row."""

    number: int
    chunk: Chunk
    dealt: NDArray[np.intp]
    weights: NDArray[np.float64] | None = None


class Sets:
    """K sets to compare, each opened as a source of its own, or summarised already."""

    def __init__(self, names: Sequence[str], parts: Sequence[Source | Summary]) -> None:
        self.names = tuple(names)
        self.parts = tuple(parts)
        self.dealing = Dealing(min(fold_count(p.n_features, _rows_of(p)) for p in parts))

    @property
    def sources(self) -> list[Source]:
        return [part for part in self.parts if isinstance(part, Source)]

    @property
    def first(self) -> Source | None:
        """The source whose features the others have, too."""
        return next(iter(self.sources), None)

    @property
    def schema_changes(self) -> tuple[SchemaChange, ...]:
        """Columns that are not the same in all sets."""
        return tuple(dict.fromkeys(one for source in self.sources for one in source.changes))

    @property
    def n_features(self) -> int:
        return self.parts[0].n_features

    @property
    def n_rows(self) -> int | None:
        """Rows in all, where that is known before reading."""
        known = [_rows_of(part) for part in self.parts]
        return None if None in known else sum(n or 0 for n in known)

    def read(self, *, exact: bool, seed: int, progress: Progress | None) -> list[ReadSet]:
        """One pass over each set. The seed is the same for all: their order does not matter."""
        n_folds = self.dealing.n_folds
        read = [
            _kept(name, part, n_folds)
            if isinstance(part, Summary)
            else _read_source(name, part, n_folds, exact=exact, seed=seed, progress=progress)
            for name, part in zip(self.names, self.parts, strict=True)
        ]
        return self._dealt(read, exact, progress)

    def _dealt(self, read: list[ReadSet], exact: bool, progress: Progress | None) -> list[ReadSet]:
        """The sets with rows that belong together in one fold, by another pass if need be."""
        samples = [one.sample for one in read]
        grouped = any(chunk.groups is not None for chunk in samples)
        plan = None if self.first is None else self.first.plan
        if not grouped and not (self.has_rows(read) and _rows_repeat(samples, plan)):
            return read
        dealing = self.dealing._replace(by="group" if grouped else "values")
        salt = best_salt([dealing.keys_of(chunk) for chunk in samples], dealing.n_folds)
        if salt is None and grouped:
            raise InputError(
                "groups= has one group in a set, and a model of the other groups is to judge each; "
                "give groups of which every set has several."
            )
        if salt is None:
            return read
        self.dealing = dealing._replace(salt=salt)
        found = [one.dealt_again(self.dealing) if one.complete else one for one in read]
        if all(one.complete for one in read):
            return found
        parts: dict[int, list[Summary | None]] = {}
        for own in self.rows(read, True, progress):
            one = read[own.number]
            if one.complete:
                continue
            options = SummaryOptions(exact, sample_size=0, name=one.name)
            mine = parts.setdefault(own.number, [None] * dealing.n_folds)
            for fold in np.unique(own.dealt).tolist():
                rows = own.chunk.rows[own.dealt == fold]
                made, kept = of_rows(rows, None, options), mine[fold]
                made = replace(made, feature_names=one.summary.feature_names)
                mine[fold] = made if kept is None else kept + made
        for k, mine in parts.items():
            sample = read[k].folds.sample
            dealt = self.dealing.folds_of(samples[k], 0)[np.argsort(np.argsort(sample.index))]
            found[k] = read[k]._replace(folds=FoldedSummary(tuple(mine), sample, dealt))
        return found

    def rows(
        self, read: Sequence[ReadSet], every: bool, progress: Progress | None
    ) -> Iterator[OwnRows]:
        """The rows once more: `every` one, by a second pass where only a sample was kept."""
        for number, (part, one) in enumerate(zip(self.parts, read, strict=True)):
            if isinstance(part, Source) and every and not one.complete:
                done = 0
                for chunk in watched(part, f"scoring {one.name}", progress):
                    yield OwnRows(number, chunk, self.dealing.folds_of(chunk, done))
                    done += len(chunk.rows)
            else:
                yield OwnRows(number, one.sample, one.dealt, one.weights)

    def has_rows(self, read: Sequence[ReadSet]) -> bool:
        """Can every row be had again? Not those of a summary that keeps some of them."""
        both = zip(self.parts, read, strict=False)  # classes come from one source
        return all(isinstance(part, Source) or one.complete for part, one in both)


def _rows_repeat(samples: Sequence[Chunk], plan: EncodingPlan | None) -> bool:
    """Are rows of any set repeated beyond chance, within it or in the others?"""
    rows = [np.asarray(chunk.rows, dtype=np.float64) for chunk in samples]
    some = np.concatenate([one[:, :QUICK_COLUMNS] for one in rows])
    if len(some) - len(np.unique(row_keys(list(some.T)))) < FEWEST_REPEATED:
        return False
    columns = columns_of(plan, [str(j) for j in range(rows[0].shape[1])])
    read = [read_columns(columns, one) for one in rows]
    keys = [chunk.merged for chunk in samples]
    for k in range(len(rows) if len(rows) > 2 else 1):
        others = [j for j in range(len(rows)) if j != k]
        rest = [
            first._replace(values=np.concatenate([read[j][i].values for j in others]))
            for i, first in enumerate(read[k])
        ]
        known = [one for j in (k, *others) if (one := keys[j]) is not None]
        apart = np.concatenate(known) if len(known) == len(rows) else None
        if repeated_rows(read[k], rest, apart, REPEAT_LABELLINGS, SAMPLE_SEED).findings:
            return True
    return False


class MappedFolds:
    """Reads the rows of all sets once more, through a map: summaries of each set's folds.

    What was read for a map is kept for the next who asks for the same one.
    """

    def __init__(self, sets: Sets, read: Sequence[ReadSet], progress: Progress | None) -> None:
        self.at_hand = all(one.complete for one in read)
        self._sets, self._read, self._progress = sets, read, progress
        self._known: tuple[RowMap, list[FoldedSummary]] | None = None

    def __call__(self, mapping: RowMap) -> list[Summary]:
        return [one.whole for one in self.folds(mapping)]

    def without(self, fold: int, order: Sequence[int]) -> OtherFolds:
        """The same for the rows of all other folds, of the sets in this order."""
        return OtherFolds(self, fold, order, self.at_hand)

    def folds(self, mapping: RowMap) -> list[FoldedSummary]:
        if self._known is None or self._known[0] is not mapping:
            self._known = (mapping, self._mapped(mapping))
        return self._known[1]

    def _mapped(self, mapping: RowMap) -> list[FoldedSummary]:
        n_folds = self._sets.dealing.n_folds
        found: list[list[Summary | None]] = [[None] * n_folds for _ in self._read]
        for part in self._sets.rows(self._read, True, self._progress):
            for fold in np.unique(part.dealt).tolist():
                place = np.flatnonzero(part.dealt == fold)
                weights = None if part.weights is None else part.weights[place]
                one = mapped_summary(part.chunk.rows[place], weights, mapping)
                known = found[part.number][fold]
                found[part.number][fold] = one if known is None else known + one
        none = RowSample.empty(mapping.n_features)
        nowhere = np.zeros(0, dtype=np.intp)
        return [FoldedSummary(tuple(parts), none, nowhere) for parts in found]


@dataclass(frozen=True)
class OtherFolds:
    """Summaries of mapped rows of all folds but one."""

    mapped: MappedFolds
    fold: int
    order: Sequence[int]
    at_hand: bool

    def __call__(self, mapping: RowMap) -> list[Summary]:
        folds = self.mapped.folds(mapping)
        return [folds[k].without(self.fold) for k in self.order]


def _rows_of(part: Source | Summary) -> int | None:
    return part.n_rows if isinstance(part, Source) else part.count


def sample_size(n_features: int) -> int:
    """How many rows of a set are kept while it is read."""
    return rows_within(SAMPLE_BYTES, n_features, SAMPLE_ROWS)


def _read_source(
    name: str, source: Source, n_folds: int, *, exact: bool, seed: int, progress: Progress | None
) -> ReadSet:
    """Summarise the folds of a source in one pass and keep a sample of its rows."""
    size = sample_size(source.n_features)
    # numbered rows: the sample is the same wherever the rows are read
    options = SummaryOptions(exact, size, seed, name, first_row=0)
    if source.lazy is not None:  # a Dask collection: its workers summarise, and that comes here
        folds = folded_summary_of(source.lazy, options, n_folds)
        if folds.whole.count < 2:
            raise InputError(f"{name} has one row; a set needs at least 2, better 30.")
        return _with_own_rows(name, folds, folds.whole.count)
    growing = _Growing(options, n_folds, source)
    for chunk in watched(source, f"reading {name}", progress):
        growing.add(chunk)
    if growing.seen < 2:
        found = "one row" if growing.seen else "no rows"
        raise InputError(f"{name} has {found}; a set needs at least 2, better 30.")
    return growing.finish(name)


def _with_own_rows(
    name: str, folds: FoldedSummary, rows: int, weights: NDArray[np.float64] | None = None
) -> ReadSet:
    """With the rows that a summary carries, in their own order."""
    kept = folds.sample
    order = np.argsort(kept.index)
    sample = Chunk(kept.rows[order], kept.index[order])
    return ReadSet(name, folds, sample, len(order) == rows, rows, weights)


def _kept(name: str, summary: Summary, n_folds: int) -> ReadSet:
    """A summary that was made before: its folds are those of the rows it carries."""
    kept = summary.sample
    if len(kept.index) < 2:
        raise InputError(f"The summary of {name} keeps no rows; make it with sample_size > 0.")
    order = np.argsort(kept.index)
    dealt = dealt_by_number(np.arange(len(order)), n_folds)
    weights = None if summary.n == summary.count else kept.weights[order]
    folds = FoldedSummary.of_rows(kept.rows[order], dealt, summary, n_folds, weights)
    object.__setattr__(folds, "whole", summary)  # it may know of more rows than it carries
    return _with_own_rows(name, folds, int(summary.count), weights)


def watched(source: Source, stage: str, progress: Progress | None) -> Iterator[Chunk]:
    """The chunks of a source, with a word to `progress` after each."""
    done = 0
    for chunk in read_ahead(source.chunks()):
        yield chunk
        done += len(chunk.rows)
        if progress is not None:
            progress(stage, done, source.n_rows)
    if progress is not None:
        progress(stage, done, done)  # now the number is known, also of a stream


# ---- all classes of one source -----------------------------------------------------------------


class ClassesOf(Sets):
    """All classes of one labelled source; their names are known once it is read."""

    def __init__(self, source: Source) -> None:
        super().__init__((), (source,))
        self._classes: list[Any] = []

    def read(self, *, exact: bool, seed: int, progress: Progress | None) -> list[ReadSet]:
        source = self.sources[0]
        options = SummaryOptions(
            exact, sample_size=sample_size(source.n_features), seed=seed, first_row=0
        )
        found: dict[Any, _Growing] = {}
        for chunk in watched(source, f"reading {source.name}", progress):
            for value, part in _by_label(chunk):
                if value not in found:
                    refuse_too_many(len(found) + 1, source.name)
                    found[value] = _Growing(options, self.dealing.n_folds, source, small=True)
                found[value].add(part)
        _refuse_too_few(found, source.name)
        self._classes = sorted(found, key=_natural)
        self.names = tuple(map(as_text, self._classes))
        read = [
            found[value].finish(name) for value, name in zip(self._classes, self.names, strict=True)
        ]
        return self._dealt(read, exact, progress)

    def rows(
        self, read: Sequence[ReadSet], every: bool, progress: Progress | None
    ) -> Iterator[OwnRows]:
        if not every or all(one.complete for one in read):
            yield from (OwnRows(k, one.sample, one.dealt) for k, one in enumerate(read))
            return
        number_of = {value: k for k, value in enumerate(self._classes)}
        done = [0] * len(read)
        for chunk in watched(self.sources[0], "scoring", progress):
            for value, part in _by_label(chunk):
                k = number_of[value]
                yield OwnRows(k, part, self.dealing.folds_of(part, done[k]))
                done[k] += len(part.rows)


class _Growing:
    """A set that is met chunk by chunk: what lies beside its sample, and folds that grow."""

    def __init__(
        self, options: SummaryOptions, n_folds: int, source: Source, *, small: bool = False
    ) -> None:
        self._source = source
        self._beside: Reservoir[Chunk] = Reservoir(options.sample_size, options.seed)
        self._folds = FoldBuilder(options, n_folds, feature_names=source.feature_names, small=small)

    @property
    def seen(self) -> int:
        return self._beside.seen

    def add(self, chunk: Chunk) -> None:
        self._beside.add(chunk._replace(rows=None))
        self._folds.take(chunk.rows)

    def finish(self, name: str) -> ReadSet:
        folds, beside = self._folds.finish(), self._beside.result()
        # The folds drew the same numbers for their sample: its rows have the names kept here.
        kept = folds.sample
        order = np.argsort(kept.index)
        place = np.searchsorted(self._beside.positions, kept.index[order])
        rows = kept.rows[order].astype(self._source.dtype, copy=False)
        sample = beside.take(place)._replace(rows=rows)
        return ReadSet(name, folds, sample, len(order) == self.seen, self.seen)


def _by_label(chunk: Chunk) -> Iterator[tuple[Any, Chunk]]:
    """The classes in a chunk, each with its rows."""
    if chunk.labels is None:
        raise InputError("the rows have no labels; label= must say where the classes are.")
    values, group = np.unique(chunk.labels, return_inverse=True)
    for k, value in enumerate(values.tolist()):
        index = np.flatnonzero(group == k)
        yield value, chunk.take(index)._replace(labels=None)


def _refuse_too_few(found: dict[Any, _Growing], name: str) -> None:
    if len(found) < 2:
        raise InputError(
            f"{name}: the labels hold {len(found)} class; two or more can be compared."
        )
    lonely = [as_text(value) for value, part in found.items() if part.seen < 2]
    if lonely:
        raise InputError(
            f"{name}: of {len(found)} classes {listing(lonely, limit=3)} "
            f"{'has' if len(lonely) == 1 else 'have'} one row; a set needs at least 2, better "
            f"30. Take another column as label=, or two classes by a= and "
            f"b=."
        )


def refuse_too_many(n: int, name: str) -> None:
    if n > MOST_SETS:
        raise InputError(
            f"{name}: there are more than {MOST_SETS} sets to compare; "
            f"choose fewer, or another column for label=."
        )


def _natural(value: Any) -> tuple[bool, Any]:
    """Numbers by size, before texts by letter."""
    return (False, value) if isinstance(value, (int, float)) else (True, str(value))


def as_text(value: Any) -> str:
    """3.0 and "3" are one class: labels often come as floats because one is missing.

    >>> as_text(3.0), as_text("3.5")
    ('3', '3.5')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
