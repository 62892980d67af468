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

from cospan.base.keys import Keys, mixed, row_keys, text_keys
from cospan.base.types import Index
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


@dataclass
class ReadSets:
    """The sets of a comparison after one pass; their rows can be gone through again."""

    opened: Opened
    sets: list[ReadSet]
    n_folds: int
    progress: Progress | None
    dealt_by: str = "number"  # or "group", or "values"
    salt: int = 0
    _mapped: tuple[RowMap, list[FoldedSummary]] | None = None

    @property
    def complete(self) -> bool:
        return all(one.complete for one in self.sets)

    def rows(self, every: bool) -> Iterator[tuple[int, Chunk, Index]]:
        """The rows once more, with the number of their set and the fold of each.

        `every` one, by a second pass where only a sample was kept.
        """
        for number, source in enumerate(self.opened.sources):
            mine = range(len(self.sets)) if self.opened.by_class else [number]
            if not every or all(self.sets[k].complete for k in mine):
                yield from ((k, self.sets[k].sample, self.of_sample(self.sets[k])) for k in mine)
                continue
            done = [0] * len(self.sets)
            for chunk in watched(source, f"scoring {source.name}", self.progress):
                for k, part in self.opened.parts_of(number, chunk):
                    numbers = done[k] + np.arange(len(part.rows))
                    yield k, part, self._folds_of(part, numbers)
                    done[k] += len(part.rows)

    def of_sample(self, one: ReadSet) -> Index:
        """The folds of a set's sample."""
        return self._folds_of(one.sample, np.sort(one.folds.sample.index))

    def _folds_of(self, chunk: Chunk, numbers: Index) -> Index:
        if self.dealt_by == "number":
            return dealt_by_number(numbers, self.n_folds)
        return dealt_by_key(self._keys_of(chunk), self.n_folds, self.salt)

    def _keys_of(self, chunk: Chunk) -> Keys:
        """What rows share that must share a fold."""
        if self.dealt_by == "group" and chunk.groups is not None:
            return text_keys(chunk.groups)
        return value_keys(chunk)

    def _by_fold(
        self, summarise: Callable[[np.ndarray], Summary], every: bool = True
    ) -> list[list[Summary | None]]:
        """Summaries of each set's folds, made of `every` row or of those kept."""
        found: list[list[Summary | None]] = [[None] * self.n_folds for _ in self.sets]
        for k, chunk, dealt in self.rows(every):
            for fold in np.unique(dealt).tolist():
                one, known = summarise(chunk.rows[dealt == fold]), found[k][fold]
                found[k][fold] = one if known is None else known + one
        return found

    def mapped(self, mapping: RowMap) -> list[FoldedSummary]:
        """Summaries of kept rows seen through a map: these are enough for some hundred features."""
        if self._mapped is None or self._mapped[0] is not mapping:
            none, nowhere = RowSample.empty(mapping.n_features), np.zeros(0, dtype=np.intp)
            found = self._by_fold(lambda rows: mapped_summary(rows, None, mapping), every=False)
            folds = [FoldedSummary(tuple(parts), none, nowhere) for parts in found]
            self._mapped = (mapping, folds)
        return self._mapped[1]

    def dealt_together(self, exact: bool) -> ReadSets:
        """The same with rows that belong together in one fold, by another pass if need be."""
        samples = [one.sample for one in self.sets]
        grouped = any(chunk.groups is not None for chunk in samples)
        if not grouped and not self._repeat(samples):
            return self
        again = replace(self, dealt_by="group" if grouped else "values")
        salt = best_salt([again._keys_of(chunk) for chunk in samples], self.n_folds)
        if salt is None and grouped:
            raise InputError(
                "groups= has one group in a set, and a model of the other groups is to judge each; "
                "give groups of which every set has several."
            )
        if salt is None:
            return self
        again.salt = salt
        options, names = SummaryOptions(exact, sample_size=0), self.opened.first.feature_names
        made = again._by_fold(
            lambda rows: replace(of_rows(rows, None, options), feature_names=names)
        )
        for k, (one, parts) in enumerate(zip(self.sets, made, strict=True)):
            sample = one.folds.sample
            dealt = again.of_sample(one)[np.argsort(np.argsort(sample.index))]
            again.sets[k] = one._replace(folds=FoldedSummary(tuple(parts), sample, dealt))
        return again

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


@dataclass(frozen=True)
class Again:
    """Kept rows seen through a map: summaries of the sets, or of all folds but one."""

    sets: ReadSets
    fold: int | None = None

    @property
    def at_hand(self) -> bool:
        return self.sets.complete

    def __call__(self, mapping: RowMap) -> list[Summary]:
        folds = self.sets.mapped(mapping)
        return [one.whole if self.fold is None else one.without(self.fold) for one in folds]


def value_keys(chunk: Chunk) -> Keys:
    """Equal for rows of equal values, also in the levels that share a feature."""
    keys = row_keys(list(np.asarray(chunk.rows).T))
    return keys if chunk.merged is None else mixed(keys, chunk.merged)


def joined_keys(keys: Sequence[Keys | None]) -> Keys | None:
    """The keys of several sets' rows; None where one has none."""
    known = [one for one in keys if one is not None]
    return np.concatenate(known) if len(known) == len(keys) else None


# ---- the pass ----------------------------------------------------------------------------------


def read_sets(opened: Opened, exact: bool, progress: Progress | None) -> ReadSets:
    """One pass over each source; rows that belong together end up in one fold."""
    n_folds = min(fold_count(one.n_features, one.n_rows) for one in opened.sources)
    first, names = opened.first, opened.names
    size = rows_within(SAMPLE_BYTES, first.n_features, SAMPLE_ROWS)
    # Numbered rows: the sample is the same wherever the rows are read, and in whatever order.
    options = [SummaryOptions(exact, size, SAMPLE_SEED, name, first_row=0) for name in names]
    beside: list[Reservoir[Chunk]] = [Reservoir(size, SAMPLE_SEED) for _ in names]
    growing = [
        FoldBuilder(one, n_folds, feature_names=first.feature_names, small=opened.by_class)
        for one in options
    ]
    lazy: dict[int, FoldedSummary] = {}
    for number, source in enumerate(opened.sources):
        if source.lazy is not None:  # a Dask collection: its workers summarise, and that comes here
            lazy[number] = folded_summary_of(source.lazy, options[number], n_folds)
            continue
        stage = f"reading {source.name if opened.by_class else names[number]}"
        for chunk in watched(source, stage, progress):
            for k, part in opened.parts_of(number, chunk):
                beside[k].add(part._replace(rows=None))
                growing[k].take(part.rows)
    sets = []
    for k, name in enumerate(names):
        seen = lazy[k].whole.count if k in lazy else growing[k].count
        if seen < 2:
            advice = " Take another column as label=, or two classes by a= and b=."
            raise InputError(
                f"{name} has {'one row' if seen else 'no rows'}; a set needs at least 2, better "
                f"30.{advice if opened.by_class else ''}"
            )
        folds = lazy[k] if k in lazy else growing[k].finish()
        order = np.argsort(folds.sample.index)
        rows, places = folds.sample.rows[order], folds.sample.index[order]
        sample = Chunk(rows, places)
        if k not in lazy:
            # The folds drew the same numbers for their sample: its rows have the names kept here.
            kept = beside[k].result().take(np.searchsorted(beside[k].positions, places))
            sample = kept._replace(rows=rows.astype(first.dtype, copy=False))
        sets.append(ReadSet(name, folds, sample, int(seen)))
    return ReadSets(opened, sets, n_folds, progress).dealt_together(exact)


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
