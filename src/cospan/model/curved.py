"""Sets of mapped rows that answer for a plain model: what samples cost them, and whether to.

A curved model is an ordinary one, of rows that went through a :class:`~cospan.model.RowMap`
first. Whether curved features are worth it is a choice like the others: the leave-one-out log-loss
decides, and the plain model stays unless the curved one is clearly better. Where the sampled rows
are not all rows, the rest is read again, through the map: at once where few are sampled and the
rest is in memory, else once the sampled ones have shown that it is worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_rows, as_weights
from cospan.base.tolerance import expansion_keeps_digits
from cospan.base.types import Array, Floats, Index
from cospan.errors import InputError
from cospan.model.choice import CLEARLY, MOST_OF_A_SET, Chosen, Judge, tried_rows
from cospan.model.curves import RowMap, are_of_a_table, landmark_map, score_map
from cospan.model.scoring import Squares, pieces_of
from cospan.model.set_model import Model, SetCosts, chosen_sets
from cospan.model.settings import Settings
from cospan.summary import RowSample, Summary

#: Reads the rows of all sets once more, through the map: one summary for each set. Where it has an
#: attribute `at_hand` that is true, the rows are in memory, and reading them costs little.
Again = Callable[[RowMap], Sequence[Summary]]

# Entries of mapped rows computed at once: they stay in the cache between the passes. Where rows
# are mapped once, to be summarised, no second pass wants them.
_AT_ONCE, _ONCE = 2**18, 2**22
# Fewer rows at once would keep matrix products waiting.
_FEWEST_AT_ONCE = 512
# From this many parts on, threads share them.
_THREADED_PARTS = 32
# Fewer rows in a set than this cannot show a curve: features are several times the columns.
_FEWEST_ROWS = 40
# A curve is tried on sampled rows; where it is worth it, all there are are mapped. Of few sampled
# ones all are mapped for the trial, up to so many times as many: a plain model of all rows has an
# advantage over a curved one of a few hundred.
_ENOUGH, _MAPPED_AT_ONCE = 1000, 4
# With fewer features than this a pooling is looked for in no time.
_FEW_FEATURES = 100


@dataclass(frozen=True, eq=False)
class CurvedSets:
    """K sets of mapped rows, ready to say what a sample costs each of them."""

    map: RowMap
    costs: SetCosts = field(repr=False)  # of the mapped rows, with a calibration of their own

    def refitted(self, mapped: Sequence[Summary]) -> CurvedSets:
        """The same for other rows that went through the map; all that was chosen stays."""
        return replace(self, costs=SetCosts.settled(self.costs.geometry, mapped))

    def squared_costs(self, rows: Array) -> Array:
        """(n, K) squared costs of samples, in the dtype of the rows."""
        xp, dof = arrays.namespace(rows), self.costs.geometry.dof
        across, weights, at = self._laid_out
        far = float(np.sum(weights * at**2, axis=1).max()) + dof
        coarse = expansion_keeps_digits(far, float(np.finfo(np.float32).eps))
        dtype = xp.float32 if coarse else xp.float64
        like = xp.astype(rows[:0, :], dtype, copy=False)
        multiplier, sums = arrays.like(across, like), Squares(weights, at, like, ())

        def scored(piece: slice) -> Array:
            features = xp.astype(self.map.features(rows[piece, :]), dtype, copy=False)
            with arrays.full_precision(features):
                return xp.stack(sums(features @ multiplier), axis=1) + dof

        pieces = pieces_of(rows, self.map.n_features, _AT_ONCE, _FEWEST_AT_ONCE)
        threads = arrays.host_threads(rows) if len(pieces) >= _THREADED_PARTS else 1
        parts = arrays.in_threads(scored, pieces, threads)
        return xp.astype(xp.concat(parts, axis=0), rows.dtype, copy=False)

    def left_out_costs(self, rows: Array, own: Index, removed: Floats) -> Array:
        """(n, K) squared costs of the sets' own rows, each as if it had never been there."""
        xp, parts = arrays.namespace(rows), []
        for piece in pieces_of(rows, self.map.n_features, _ONCE, _FEWEST_AT_ONCE):
            mapped = xp.astype(self.map(rows[piece, :]), xp.float64)
            weight = removed[piece]
            parts.append(self.costs.left_out_costs(mapped, own[piece], sample_weight=weight))
        return xp.astype(xp.concat(parts, axis=0), rows.dtype, copy=False)

    @cached_property
    def _laid_out(self) -> tuple[Floats, Floats, Floats]:
        """What features are multiplied with (D, m), w and a (K, m): about the origin."""
        g = self.costs.geometry
        joined, weights = self.costs.form()
        across = arrays.to_numpy(joined)
        if g.n_sets == 2:
            # With M_A⁻¹ M_B = U S Vᵀ one map serves both: M_A U, with the weights 1 and S².
            first, second = (arrays.to_numpy(one) for one in self.costs.scoring_maps)
            values, turn = np.linalg.eigh(arrays.gram(np.linalg.solve(first, second).T))
            across, weights = first @ turn, np.stack([np.ones(len(values)), np.maximum(values, 0)])
        across = arrays.to_numpy(g.per_unit())[:, None] * across
        return self.map.through(across), weights, arrays.to_numpy(g.means) @ across


# ---- mapped rows, summarised ------------------------------------------------------------------


def mapped_summary(rows: Array, weights: Floats | None, mapping: RowMap) -> Summary:
    """Summary of mapped rows in memory, a piece at a time; it keeps no sample."""
    found = None
    for piece in pieces_of(rows, mapping.n_features, _ONCE, _FEWEST_AT_ONCE):
        weight = None if weights is None else weights[piece]
        if weight is None or weight.any():
            part = Summary.of(mapping(rows[piece, :]), weight, exact=False, sample_size=0)
            found = part if found is None else found + part
    if found is None:
        raise InputError("There are no rows to summarise; at least one sample is needed.")
    return found


class RowsAgain:
    """Reads rows in memory (and their weights) once more, through a map."""

    at_hand = True

    def __init__(self, sets: Sequence[tuple[Any, Any]]) -> None:
        self.sets = sets

    def __call__(self, mapping: RowMap) -> list[Summary]:
        found = []
        for X, weights in self.sets:
            rows = as_rows(X, "X", d=mapping.n_columns)
            counted = None if weights is None else as_weights(weights, rows.shape[0])
            found.append(mapped_summary(rows, counted, mapping))
        return found


# ---- whether curved features are worth it -----------------------------------------------------


def with_curve(
    model: Model,
    tried: Chosen,
    settings: Settings,
    again: Again | None,
    mapping: RowMap | None = None,
) -> Model:
    """The model with a curve that answers for it, where that is clearly better.

    Without `again` the curve is of the rows in the summaries' samples, whatever else the plain
    model has seen; `mapping` is a map that serves these sets, too.
    """
    if not (settings.curves() and _can_show_a_curve(tried, settings)):
        return model
    summaries = tried.working.prepared.summaries
    if mapping is None:
        g, most = tried.working.geometry, tried_rows(len(summaries))
        some = [part.sample.rows[:most] for part in summaries]
        if are_of_a_table(some, g.units):
            with arrays.one_blas_thread():  # all its matrices are small
                mapping = score_map(some)
        else:
            center = np.asarray(arrays.to_numpy(g.center), dtype=np.float64)
            per_unit = np.asarray(arrays.to_numpy(tried.working.per_unit), dtype=np.float64)
            mapping = landmark_map(center, per_unit, some)
    samples = few = [part.sample for part in summaries]
    if again is not None:
        few = [x.taken(np.arange(len(x)) < MOST_OF_A_SET) for x in samples]
    known, sampled = sum(part.count for part in summaries), sum(map(len, few))
    if (sampled if again is None else known) < mapping.n_features:
        return model
    settings = replace(settings, units="common")
    at_once = known <= _MAPPED_AT_ONCE * sampled and getattr(again, "at_hand", False)
    at_once &= any(len(x) < min(_ENOUGH, one.count) for x, one in zip(few, summaries, strict=True))
    mapped = again(mapping) if again is not None and at_once else None
    costs = _better_costs(_with_samples(mapped, few, mapping), settings, tried)
    if costs is None:
        return model
    if again is not None and mapped is None and sampled < known:  # all rows, as chosen for some
        g = costs.geometry
        settings = replace(settings, shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof)
        mapped = _with_samples(again(mapping), samples, mapping)
        costs, _ = SetCosts.of_chosen(chosen_sets(mapped, settings), settings)
    return replace(model, curve=CurvedSets(mapping, costs))


def _can_show_a_curve(tried: Chosen, settings: Settings) -> bool:
    """Are there more rows than columns, and is all else left to the data?

    Who settles α, γ or ν wants the plain formula with that value. Of fewer rows than columns (150
    pictures of each class, say) a curve is hardly ever better, and gains next to nothing.
    """
    working = tried.working
    summaries = working.prepared.summaries
    free = all(x == "auto" for x in (settings.shrinkage, settings.pooling, settings.dof))
    free = free and settings.span == "affine" and settings.calibrate is not False
    many = working.basis is None and min(len(part.sample) for part in summaries) >= _FEWEST_ROWS
    return free and many and tried.squared is not None and working.geometry.n_varying > 0


def _with_samples(
    mapped: Sequence[Summary] | None, samples: Sequence[RowSample], mapping: RowMap
) -> list[Summary]:
    """Summaries of mapped rows, by default of the samples' alone, with samples of them."""
    found = []
    for k, sample in enumerate(samples):
        rows = arrays.to_numpy(mapping(sample.rows))
        part = mapped[k] if mapped else Summary.of(rows, sample.weights, False, sample_size=0)
        found.append(replace(part, sample=replace(sample, rows=rows.astype(np.float64))))
    return found


def _better_costs(mapped: Sequence[Summary], settings: Settings, plain: Chosen) -> SetCosts | None:
    """The costs of mapped rows, if they are clearly better than the plain model's."""
    assert plain.trial is not None
    assert plain.squared is not None
    judge = Judge(plain.trial)
    before = judge.calibrated(plain.squared.T)[1]
    d, trials = mapped[0].n_features, [settings]
    if len(mapped) > 2 and d >= _FEW_FEATURES:
        # A pooling takes a factor for every two sets: many are spared the search for one where
        # curves without it are clearly worse than the plain model.
        trials = [replace(settings, pooling=0.0), settings]
    for trial in trials:
        found = chosen_sets(mapped, trial)
        if found.squared is None:  # not computed yet: rows are weighted
            found = SetCosts.of_chosen(found, trial)[1]
        assert found.squared is not None  # as in the plain sets, rows can be left out
        losses = judge.calibrated(found.squared.T)[1]
        if judge.better(before, losses, CLEARLY):
            return None
    return SetCosts.of_chosen(found, trial)[0] if judge.better(losses, before, CLEARLY) else None
