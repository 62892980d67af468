"""One pass over the sets: a summary of each fold, and a uniform sample of rows with their names.

Rows are dealt to folds by their running number. Those of one group stay together, and so do equal
rows where rows are repeated beyond chance: what was dealt is then dealt again, by keys. The rows
can be gone through once more, as they are or through a map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.keys import Keys, mixed, row_keys, text_keys
from cospan.comparison.opening import Opened
from cospan.comparison.settings import Progress
from cospan.data import Chunk, Source, read_ahead
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

#: Of every sample of rows that a comparison takes. The seed that a user gives is for what chance
#: must decide, relabellings; which rows stand for a large set it need not decide, and another seed
#: would give other distances for the same files, and flip a gate.
SAMPLE_SEED = 0
SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 3 * 2**24  # 48 MB a set
#: Whether rows are repeated at all is looked up in so many columns first, then against so many
#: relabellings.
QUICK_COLUMNS, FEWEST_REPEATED, REPEAT_LABELLINGS = 16, 3, 99

Folds = NDArray[np.intp]


class ReadSet(NamedTuple):
    """A set after one pass: `sample` holds some of its rows, or all."""

    name: str
    folds: FoldedSummary
    sample: Chunk
    rows: int

    @property
    def complete(self) -> bool:
        return len(self.sample.rows) == self.rows

    @property
    def summary(self) -> Summary:
        return self.folds.whole


class OwnRows(NamedTuple):
    """Rows of one set, the set's number, and the fold of each row."""

    number: int
    chunk: Chunk
    dealt: Folds


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

    def folds_of(self, chunk: Chunk, numbers: NDArray[np.intp]) -> Folds:
        """The fold of each row, given their running numbers."""
        if self.by == "number":
            return dealt_by_number(numbers, self.n_folds)
        return dealt_by_key(self.keys_of(chunk), self.n_folds, self.salt)


def value_keys(chunk: Chunk) -> Keys:
    """Equal for rows of equal values, also in the levels that share a feature."""
    keys = row_keys(list(np.asarray(chunk.rows).T))
    return keys if chunk.merged is None else mixed(keys, chunk.merged)


@dataclass
class ReadSets:
    """The sets of a comparison after one pass; their rows can be gone through again."""

    opened: Opened
    sets: list[ReadSet]
    dealing: Dealing
    progress: Progress | None
    _mapped: tuple[RowMap, list[FoldedSummary]] | None = None

    @property
    def complete(self) -> bool:
        return all(one.complete for one in self.sets)

    @property
    def order(self) -> list[int]:
        """Numbers of more than two sets in an order that depends on their rows alone."""
        both = [one.summary for one in self.sets]
        if len(both) == 2:
            return [0, 1]
        keys = [(one.n, one.trace, *arrays.to_numpy(one.mean)) for one in both]
        return sorted(range(len(both)), key=keys.__getitem__)

    def rows(self, every: bool) -> Iterator[OwnRows]:
        """The rows once more: `every` one, by a second pass where only a sample was kept."""
        alone = len(self.opened.sources) == len(self.sets)
        for number, source in enumerate(self.opened.sources):
            mine = [number] if alone else range(len(self.sets))
            if not every or all(self.sets[k].complete for k in mine):
                for k in mine:
                    yield OwnRows(k, self.sets[k].sample, self.of_sample(self.sets[k]))
                continue
            done = [0] * len(self.sets)
            for chunk in watched(source, f"scoring {source.name}", self.progress):
                for k, part in parts_of(self.opened, number, chunk):
                    numbers = done[k] + np.arange(len(part.rows))
                    yield OwnRows(k, part, self.dealing.folds_of(part, numbers))
                    done[k] += len(part.rows)

    def of_sample(self, one: ReadSet) -> Folds:
        """The folds of a set's sample."""
        return self.dealing.folds_of(one.sample, np.sort(one.folds.sample.index))

    def by_fold(self, summarise: Callable[[NDArray[np.floating]], Summary]) -> list[Parts]:
        """Summaries of each set's folds, made of all rows."""
        found: list[Parts] = [[None] * self.dealing.n_folds for _ in self.sets]
        for part in self.rows(True):
            for fold in np.unique(part.dealt).tolist():
                one = summarise(part.chunk.rows[part.dealt == fold])
                known = found[part.number][fold]
                found[part.number][fold] = one if known is None else known + one
        return found

    def mapped(self, mapping: RowMap) -> list[FoldedSummary]:
        """Summaries of rows read through a map; kept for who asks for the same one."""
        if self._mapped is None or self._mapped[0] is not mapping:
            none, nowhere = RowSample.empty(mapping.n_features), np.zeros(0, dtype=np.intp)
            found = self.by_fold(lambda rows: mapped_summary(rows, None, mapping))
            folds = [FoldedSummary(tuple(parts), none, nowhere) for parts in found]
            self._mapped = (mapping, folds)
        return self._mapped[1]

    def dealt_together(self, exact: bool) -> ReadSets:
        """The same with rows that belong together in one fold, by another pass if need be."""
        samples = [one.sample for one in self.sets]
        grouped = any(chunk.groups is not None for chunk in samples)
        if not grouped and not self._repeat(samples):
            return self
        dealing = self.dealing._replace(by="group" if grouped else "values")
        salt = best_salt([dealing.keys_of(chunk) for chunk in samples], dealing.n_folds)
        if salt is None and grouped:
            raise InputError(
                "groups= has one group in a set, and a model of the other groups is to judge each; "
                "give groups of which every set has several."
            )
        if salt is None:
            return self
        again = replace(self, dealing=dealing._replace(salt=salt))
        options = SummaryOptions(exact, sample_size=0)
        names, found = self.opened.first.feature_names, []
        made = again.by_fold(
            lambda rows: replace(of_rows(rows, None, options), feature_names=names)
        )
        for one, parts in zip(self.sets, made, strict=True):
            sample = one.folds.sample
            dealt = again.of_sample(one)[np.argsort(np.argsort(sample.index))]
            found.append(one._replace(folds=FoldedSummary(tuple(parts), sample, dealt)))
        return replace(again, sets=found)

    def _repeat(self, samples: Sequence[Chunk]) -> bool:
        """Are rows of any set repeated beyond chance, within it or in the others?"""
        rows = [np.asarray(chunk.rows, dtype=np.float64) for chunk in samples]
        some = np.concatenate([one[:, :QUICK_COLUMNS] for one in rows])
        if len(some) - len(np.unique(row_keys(list(some.T)))) < FEWEST_REPEATED:
            return False
        columns = columns_of(self.opened.first.plan, [str(j) for j in range(rows[0].shape[1])])
        read = [read_columns(columns, one) for one in rows]
        for k in range(len(rows) if len(rows) > 2 else 1):
            others = [j for j in range(len(rows)) if j != k]
            rest = [
                first._replace(values=np.concatenate([read[j][i].values for j in others]))
                for i, first in enumerate(read[k])
            ]
            apart = joined_keys([samples[j].merged for j in (k, *others)])
            if repeated_rows(read[k], rest, apart, REPEAT_LABELLINGS, SAMPLE_SEED).findings:
                return True
        return False


Parts = list[Summary | None]


def joined_keys(keys: Sequence[Keys | None]) -> Keys | None:
    """The keys of several sets' rows; None where one has none."""
    known = [one for one in keys if one is not None]
    return np.concatenate(known) if len(known) == len(keys) else None


@dataclass(frozen=True)
class Again:
    """Reads all rows once more, through a map: summaries of the sets, or of all folds but one.

    In the order in which the sets are fitted.
    """

    sets: ReadSets
    fold: int | None = None

    @property
    def at_hand(self) -> bool:
        return self.sets.complete

    def __call__(self, mapping: RowMap) -> list[Summary]:
        folds = [self.sets.mapped(mapping)[k] for k in self.sets.order]
        return [one.whole if self.fold is None else one.without(self.fold) for one in folds]


# ---- the pass ----------------------------------------------------------------------------------


def read_sets(opened: Opened, exact: bool, progress: Progress | None) -> ReadSets:
    """One pass over each source; rows that belong together end up in one fold."""
    n_folds = min(fold_count(one.n_features, one.n_rows) for one in opened.sources)
    source, alone = opened.first, len(opened.sources) == len(opened.names)
    size = sample_size(source.n_features)
    # Numbered rows: the sample is the same wherever the rows are read, and in whatever order.
    options = [SummaryOptions(exact, size, SAMPLE_SEED, x, first_row=0) for x in opened.names]
    growing = [_Growing(one, n_folds, source, small=not alone) for one in options]
    found: dict[int, ReadSet] = {}
    for number, source in enumerate(opened.sources):
        if source.lazy is not None:  # a Dask collection: its workers summarise, and that comes here
            folds = folded_summary_of(source.lazy, options[number], n_folds)
            found[number] = _with_own_rows(opened.names[number], folds)
            continue
        stage = f"reading {opened.names[number] if alone else source.name}"
        for chunk in watched(source, stage, progress):
            for k, part in parts_of(opened, number, chunk):
                growing[k].add(part)
    for k, name in enumerate(opened.names):
        seen = found[k].rows if k in found else growing[k].seen
        if seen < 2:
            advice = "" if alone else " Take another column as label=, or two classes by a= and b=."
            how_many = "one row" if seen else "no rows"
            raise InputError(f"{name} has {how_many}; a set needs at least 2, better 30.{advice}")
    sets = [found.get(k) or growing[k].finish(name) for k, name in enumerate(opened.names)]
    return ReadSets(opened, sets, Dealing(n_folds), progress).dealt_together(exact)


def sample_size(n_features: int) -> int:
    """How many rows of a set are kept while it is read."""
    return rows_within(SAMPLE_BYTES, n_features, SAMPLE_ROWS)


def parts_of(opened: Opened, number: int, chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
    """The numbers of the sets in a chunk of one source, each with its rows."""
    if len(opened.sources) == len(opened.names):
        yield number, chunk
        return
    assert chunk.labels is not None  # the source was opened with them
    labels = chunk.labels.tolist()
    place = {value: k for k, value in enumerate(opened.classes)}
    own = np.array([place[value] for value in labels], dtype=np.intp)
    for k in np.unique(own).tolist():
        yield k, chunk.take(np.flatnonzero(own == k))._replace(labels=None)


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


def _with_own_rows(name: str, folds: FoldedSummary) -> ReadSet:
    """With the rows that a summary carries, in their own order."""
    order = np.argsort(folds.sample.index)
    sample = Chunk(folds.sample.rows[order], folds.sample.index[order])
    return ReadSet(name, folds, sample, int(folds.whole.count))


class _Growing:
    """A set that is met chunk by chunk: what lies beside its sample, and folds that grow."""

    def __init__(
        self, options: SummaryOptions, n_folds: int, source: Source, *, small: bool
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
        return ReadSet(name, folds, beside.take(place)._replace(rows=rows), self.seen)
