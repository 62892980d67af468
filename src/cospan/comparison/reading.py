"""One pass over the sets: a summary of each fold, and one uniform sample of rows with their names.

Rows are dealt to folds by their running number. Those of one group stay together, and so do equal
rows where rows are repeated beyond chance: what is kept is then dealt again, by keys. The rows kept
are those that are scored; the first of them are studied, for what takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cospan.base.rows import Keys, mixed, row_keys, text_keys
from cospan.base.types import Index
from cospan.comparison.opening import Opened, Progress
from cospan.data import Chunk, Source, read_ahead
from cospan.errors import InputError
from cospan.evidence import columns_of, joined_keys, read_columns, repeated_rows
from cospan.model import RowMap, mapped_summary
from cospan.summary import (
    FoldedSummary,
    Reservoir,
    RowSample,
    Summary,
    SummaryBuilder,
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
#: Rows kept of each of two sets, and scored; of many sets fewer, but all that are studied.
SAMPLE_ROWS, SAMPLE_BYTES = 100_000, 3 * 2**25  # 96 MB
#: Rows of a set that settings are chosen on, that maps are fitted to and columns compared in.
STUDIED_ROWS, STUDIED_BYTES = 20_000, 3 * 2**24  # 48 MB
#: Whether rows are repeated at all is looked up in so many columns first, then against so many
#: relabellings.
QUICK_COLUMNS, FEWEST_REPEATED, REPEAT_LABELLINGS = 16, 3, 99


class ReadSet(NamedTuple):
    """A set after one pass."""

    summary: Summary  # of all rows
    folds: FoldedSummary  # of all rows, or of those kept where these were dealt by keys
    #: A uniform sample of rows in the order in which they came; all of them, of ordinary sets
    kept: Chunk
    sample: Index  # places of the rows of the summaries' sample among those kept

    @property
    def studied(self) -> Chunk:
        """The rows of the summaries' sample in the order in which they came."""
        few = len(self.sample) < len(self.kept.ids)
        return self.kept.take(np.sort(self.sample)) if few else self.kept


@dataclass
class ReadSets:
    """The sets of a comparison after one pass."""

    opened: Opened
    sets: list[ReadSet]
    n_folds: int
    copies: bool = True  # whether a row that is repeated counts as often
    _mapped: tuple[RowMap, list[FoldedSummary]] | None = None

    def again(self, mapping: RowMap, fold: int | None = None) -> list[Summary]:
        """Summaries of studied rows seen through a map, of all folds or of all but one.

        They are enough for some hundred features.
        """
        if self._mapped is None or self._mapped[0] is not mapping:
            folds = [
                _by_fold(one.studied, self.n_folds, lambda X: mapped_summary(X, None, mapping))
                for one in self.sets
            ]
            none, nowhere = RowSample.empty(mapping.n_features), np.zeros(0, dtype=np.intp)
            self._mapped = mapping, [FoldedSummary(parts, none, nowhere) for parts in folds]
        return [one.whole if fold is None else one.without(fold) for one in self._mapped[1]]


def _by_fold(
    kept: Chunk, n_folds: int, summarise: Callable[[np.ndarray], Summary]
) -> tuple[Summary | None, ...]:
    """The summaries of the folds of rows; None where a fold has none."""
    own = [np.flatnonzero(kept.dealt == fold) for fold in range(n_folds)]
    return tuple(summarise(kept.rows[place]) if len(place) else None for place in own)


# ---- the pass ----------------------------------------------------------------------------------


def read_sets(opened: Opened, exact: bool, progress: Progress | None) -> ReadSets:
    """One pass over each source; rows that belong together end up in one fold."""
    n_folds = min(fold_count(one.n_features, one.n_rows) for one in opened.sources)
    first, names = opened.first, opened.names
    # Builders draw the same numbers: the rows of their samples are among those kept.
    studied = rows_within(STUDIED_BYTES, first.n_features, STUDIED_ROWS)
    growing = [
        SummaryBuilder(
            SummaryOptions(exact, studied, SAMPLE_SEED, name, numbered=True),
            n_folds=n_folds,
            feature_names=first.feature_names,
            small=opened.by_class,
        )
        for name in names
    ]
    kept: list[Reservoir[Chunk]] = [Reservoir(_sample_size(opened), SAMPLE_SEED) for _ in names]
    for number, source in enumerate(opened.sources):
        stage = f"reading {source.name if opened.by_class else names[number]}"
        for chunk in watched(source, stage, progress):
            for k, part in opened.parts_of(number, chunk):
                growing[k].take(part.rows)
                kept[k].add(part)
    sets = []
    for name, builder, reservoir in zip(names, growing, kept, strict=True):
        if builder.count < 2:
            advice = " Take another column as label=, or two classes by a= and b=."
            raise InputError(
                f"{name} has {'one row' if builder.count else 'no rows'}; a set needs at least 2, "
                f"better 30.{advice if opened.by_class else ''}"
            )
        folds, rows = builder.folded(), _kept_rows(reservoir, n_folds)
        place = np.searchsorted(reservoir.positions, folds.sample.index)
        sets.append(ReadSet(folds.whole, folds, rows, place))
    return _dealt_together(ReadSets(opened, sets, n_folds), exact)


def read_further(opened: Opened, source: Source, n_folds: int, progress: Progress | None) -> Chunk:
    """A uniform sample of the rows that belong to no set."""
    kept: Reservoir[Chunk] = Reservoir(_sample_size(opened), SAMPLE_SEED)
    for chunk in watched(source, f"reading {opened.name_z}", progress):
        kept.add(chunk)
    if kept.seen == 0:
        raise InputError(f"{opened.name_z} has no rows to score; check the file and its filters.")
    return _kept_rows(kept, n_folds)


def _kept_rows(kept: Reservoir[Chunk], n_folds: int) -> Chunk:
    return kept.result()._replace(dealt=dealt_by_number(kept.positions, n_folds))


def _sample_size(opened: Opened) -> int:
    """How many rows to keep of each set."""
    share = 2 / len(opened.names)
    within = max(STUDIED_BYTES, int(share * SAMPLE_BYTES))
    most = max(STUDIED_ROWS, int(share * SAMPLE_ROWS))
    return rows_within(within, opened.first.n_features, most)


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


# ---- rows that belong together ------------------------------------------------------------------


def _dealt_together(read: ReadSets, exact: bool) -> ReadSets:
    """The same with rows that belong together in one fold; folds are then of the rows kept."""
    grouped = any(one.kept.groups is not None for one in read.sets)
    if not grouped and not _repeat(read):
        return read
    salt = best_salt([_keys_of(one.studied) for one in read.sets], read.n_folds)
    if salt is None:
        if not grouped:
            return read
        raise InputError(
            "groups= has one group in a set, and a model of the other groups is to judge each; "
            "give groups of which every set has several."
        )
    options, names = SummaryOptions(exact, sample_size=0), read.opened.first.feature_names
    sets = []
    for one in read.sets:
        dealt = dealt_by_key(_keys_of(one.kept), read.n_folds, salt)
        kept = one.kept._replace(dealt=dealt)
        parts = _by_fold(
            kept, read.n_folds, lambda X: replace(of_rows(X, None, options), feature_names=names)
        )
        folds = FoldedSummary(parts, one.folds.sample, dealt[one.sample])
        summary = folds.whole if len(dealt) == one.summary.count else one.summary
        sets.append(ReadSet(summary, folds, kept, one.sample))
    return replace(read, sets=sets, copies=grouped)


def _keys_of(chunk: Chunk) -> Keys:
    """What rows share that must share a fold: their group, or their values."""
    return value_keys(chunk) if chunk.groups is None else text_keys(chunk.groups)


def _repeat(read: ReadSets) -> bool:
    """Are rows of any set repeated beyond chance, within it or in the others?"""
    chunks = [one.studied for one in read.sets]
    rows = [np.asarray(chunk.rows, dtype=np.float64) for chunk in chunks]
    some = np.concatenate([one[:, :QUICK_COLUMNS] for one in rows])
    if len(some) - len(np.unique(row_keys(list(some.T)))) < FEWEST_REPEATED:
        return False
    columns = columns_of(read.opened.first.plan, [str(j) for j in range(rows[0].shape[1])])
    values = [read_columns(columns, one) for one in rows]
    for k in range(len(rows) if len(rows) > 2 else 1):
        others = [j for j in range(len(rows)) if j != k]
        rest = [
            first._replace(values=np.concatenate([values[j][i].values for j in others]))
            for i, first in enumerate(values[k])
        ]
        apart = joined_keys([chunks[j].merged for j in (k, *others)])
        if repeated_rows(values[k], rest, apart, REPEAT_LABELLINGS, SAMPLE_SEED)[0]:
            return True
    return False


def value_keys(chunk: Chunk) -> Keys:
    """Equal for rows of equal values, also in the levels that share a feature."""
    keys = row_keys(list(np.asarray(chunk.rows).T))
    return keys if chunk.merged is None else mixed(keys, chunk.merged)
