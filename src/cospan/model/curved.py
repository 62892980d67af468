"""Sets of mapped rows that answer for a plain model: what samples cost them, and whether to.

A curved model is an ordinary one, of rows that went through a :class:`~cospan.model.RowMap`
first. Whether curved features are worth it is a choice like the others: the leave-one-out log-loss
decides, and the plain model stays unless the curved one is clearly better. Where the sampled rows
are not all rows, the rest is read again, through the map: at once if it is in memory and not much
more, else once the sampled ones have shown that it is worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from cospan.base import arrays
from cospan.base.checks import as_rows, as_weights
from cospan.base.tolerance import FAST_SHRINKAGE, expansion_keeps_digits
from cospan.base.types import Array, Floats, Index
from cospan.errors import InputError
from cospan.model.calibration import Calibration
from cospan.model.choice import CLEARLY, Candidate, Judge, tried_rows
from cospan.model.curves import RowMap, are_of_a_table, landmark_map, score_map
from cospan.model.prepared import WorkingSets
from cospan.model.scoring import Squares
from cospan.model.set_model import Model, SetCosts, Tried, chosen_sets
from cospan.model.settings import Settings
from cospan.summary import RowSample, Summary

#: Reads the rows of all sets once more, through the map: one summary for each set. Where it has an
#: attribute `at_hand` that is true, the rows are in memory, and reading them costs little.
Again = Callable[[RowMap], Sequence[Summary]]

# Bytes of mapped rows computed at once. On the host they stay in the cache between the passes;
# where rows are mapped once, to be summarised, no second pass wants it.
_HOST_BYTES, _ONCE_BYTES, _DEVICE_BYTES = 2**20, 2**24, 2**28
# Fewer rows at once would keep matrix products waiting.
_FEWEST_AT_ONCE = 512
# From this many parts on, threads share them.
_THREADED_PARTS = 32
# Fewer rows in a set than this cannot show a curve: features are several times the columns.
_FEWEST_ROWS = 40
# Up to so many times the sampled rows all rows are mapped for the trial. A plain model of all rows
# has an advantage over a curved one of a few hundred; over one of some thousands it has none.
_MAPPED_AT_ONCE = 4
# Rows of a set that a curve is tried on; where it is worth it, all there are are mapped.
TRIED_AT_MOST = 2000
# With fewer features than this a pooling is looked for in no time.
_FEW_FEATURES = 100


@dataclass(frozen=True, eq=False)
class CurvedSets:
    """K sets of mapped rows, ready to say what a sample costs each of them."""

    map: RowMap
    costs: SetCosts = field(repr=False)  # of the mapped rows, with a calibration of their own

    @property
    def calibration(self) -> Calibration:
        return self.costs.geometry.calibration

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

        pieces = _pieces(rows, self.map, _HOST_BYTES)
        threads = arrays.host_threads(rows) if len(pieces) >= _THREADED_PARTS else 1
        parts = arrays.in_threads(scored, pieces, threads)
        return xp.astype(xp.concat(parts, axis=0), rows.dtype, copy=False)

    def left_out_costs(self, rows: Array, own: Index, removed: Floats) -> Array:
        """(n, K) squared costs of the sets' own rows, each as if it had never been there."""
        xp, parts = arrays.namespace(rows), []
        for piece in _pieces(rows, self.map, _ONCE_BYTES):
            mapped = xp.astype(self.map(rows[piece, :]), xp.float64)
            weight = removed[piece]
            parts.append(self.costs.left_out_costs(mapped, own[piece], sample_weight=weight))
        return xp.astype(xp.concat(parts, axis=0), rows.dtype, copy=False)

    def log_odds(self, rows: Floats) -> tuple[Floats, Floats]:
        """log tan²θ of rows of two sets (n,), and its gradients in the columns (n, d)."""
        across, weights, at = self._laid_out
        features = np.asarray(self.map.features(rows, fine=True))
        away = (features @ across)[:, None, :] - at
        squared = np.sum(weights * away**2, axis=2) + self.costs.geometry.dof
        a, b = np.moveaxis(weights * away / squared[:, :, None], 1, 0)
        slopes = 2 * self.calibration.gain * (a - b) @ across.T
        return self.log_odds_of(squared), self.map.pulled_back(rows, features, slopes)

    def log_odds_of(self, squared: Floats) -> Floats:
        """log tan²θ from the squared costs (n, 2) of two sets."""
        gain, zero = self.calibration.gain, self.calibration.zero
        return np.asarray(gain * (np.log(squared[:, 0] / squared[:, 1]) - zero))

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats, Floats]:
        """A centre (D,), what mapped rows less it are multiplied with, a and w (K, m)."""
        g = self.costs.geometry
        joined, weights = self.costs.form()
        across = arrays.to_numpy(joined)
        if g.n_sets == 2:
            # With M_A⁻¹ M_B = U S Vᵀ one map serves both: M_A U, with the weights 1 and S².
            first, second = (arrays.to_numpy(one) for one in self.costs.scoring_maps)
            turn, values, _ = np.linalg.svd(np.linalg.solve(first, second))
            across, weights = first @ turn, np.stack([np.ones(len(values)), values**2])
        if self.costs.basis is not None:
            # Off the span of few rows every set has the variance α.
            inside = arrays.to_numpy(self.costs.basis)
            outside = scipy.linalg.null_space(inside.T)
            across = np.concatenate([inside @ across, outside], axis=1)
            constant = np.full((g.n_sets, outside.shape[1]), 1 / g.shrinkage)
            weights = np.concatenate([weights, constant], axis=1)
        across = arrays.to_numpy(g.per_unit())[:, None] * across
        center = arrays.to_numpy(g.center)
        return center, across, (arrays.to_numpy(g.means) - center) @ across, weights

    @cached_property
    def _laid_out(self) -> tuple[Floats, Floats, Floats]:
        """What features are multiplied with, w and a: about the origin, where rows are small."""
        center, across, at, weights = self._table
        return self.map.through(across), weights, at + center @ across


def _pieces(rows: Array, mapping: RowMap, size: int) -> list[slice]:
    """Parts of the rows to be mapped one after the other."""
    size = _DEVICE_BYTES if arrays.on_accelerator(rows) else size
    step = max(_FEWEST_AT_ONCE, size // (4 * mapping.n_features))
    n = rows.shape[0]
    return [slice(start, min(start + step, n)) for start in range(0, max(n, 1), step)]


# ---- mapped rows, summarised ------------------------------------------------------------------


def mapped_summary(rows: Array, weights: Floats | None, mapping: RowMap) -> Summary:
    """Summary of mapped rows in memory, a piece at a time; it keeps no sample."""
    found = None
    for piece in _pieces(rows, mapping, _ONCE_BYTES):
        weight = None if weights is None else weights[piece]
        if weight is None or weight.any():
            part = Summary.of(mapping(rows[piece, :]), weight, exact=False, sample_size=0)
            found = part if found is None else found + part
    if found is None:
        raise InputError("There are no rows to summarise; at least one sample is needed.")
    return found


class RowsAgain:
    """Reads rows (and their weights) once more, through a map."""

    def __init__(self, sets: Sequence[tuple[Any, Any]]) -> None:
        self.sets = sets
        self.at_hand = not any(arrays.is_lazy(X) for X, _ in sets)

    def __call__(self, mapping: RowMap) -> list[Summary]:
        return [self._mapped(X, weights, mapping) for X, weights in self.sets]

    def _mapped(self, X: object, weights: object, mapping: RowMap) -> Summary:
        if arrays.is_lazy(X):
            from cospan.distributed import mapped_summary_of  # is above: its workers map rows

            return mapped_summary_of(X, weights, mapping)
        rows = as_rows(X, "X", d=mapping.n_columns)
        counted = None if weights is None else as_weights(weights, rows.shape[0])
        return mapped_summary(rows, counted, mapping)


# ---- whether curved features are worth it -----------------------------------------------------


def with_curve(
    model: Model,
    tried: Tried,
    settings: Settings,
    again: Again | None,
    mapping: RowMap | None = None,
) -> Model:
    """The model with a curve that answers for it, where that is better or asked for by number.

    `again` is needed where the summaries' samples are not all rows; `mapping` is a map that serves
    these sets, too.
    """
    size = settings.curved()
    if size is None:
        return model
    summaries = _with_rows(tried)
    if not _possible(size, tried, summaries, settings, again):
        return model
    if mapping is None:
        mapping = _map_for(tried.working, summaries, None if size == "auto" else int(size))
    costs = _fitted(tried, summaries, mapping, settings, again)
    return model if costs is None else replace(model, curve=CurvedSets(mapping, costs))


def _with_rows(tried: Tried) -> list[Summary]:
    """The sets' summaries; of few long rows, which trials take in their order, with all of them."""
    found = []
    for part in tried.working.prepared.summaries:
        if tried.working.basis is not None and part._holds_rows:
            n = part.count
            rows = arrays.to_numpy(part.factor_parts()[0][:n, :] + part.mean[None, :])
            drawn = (np.ones(n), np.arange(n), np.zeros(n), n, np.inf, n)
            part = replace(part, sample=RowSample(rows.astype(np.float64), *drawn))
        found.append(part)
    return found


def _possible(
    size: int | str,
    tried: Tried,
    summaries: Sequence[Summary],
    settings: Settings,
    again: Again | None,
) -> bool:
    """Can the sets have a curved model? What was given by number and cannot be is an error."""
    alpha = settings.shrinkage
    inside = all(len(part.sample) == part.count for part in summaries)
    wrong = None
    if not tried.working.prepared.affine:
        wrong = 'curve belongs to span="affine"; leave it out with span="linear".'
    elif not isinstance(alpha, str) and alpha < FAST_SHRINKAGE:
        wrong = f"curve needs a shrinkage of at least {FAST_SHRINKAGE:g}, or 'auto'."
    elif tried.trial is None or not (inside or again):
        wrong = (
            "curve needs the rows, and these summaries do not hold them; use fit, or give "
            "`again`, which reads them once more."
        )
    elif tried.working.n_varying == 0:
        wrong = "curve needs features that vary."
    if wrong and size != "auto":
        raise InputError(wrong)
    if wrong or size != "auto":
        return wrong is None
    # Who settles α, γ or ν wants the plain formula with that value.
    free = all(x == "auto" for x in (alpha, settings.pooling, settings.dof))
    few = min(part.count for part in summaries) < _FEWEST_ROWS
    return free and not few and settings.calibrate is not False and tried.squared is not None


def _map_for(working: WorkingSets, summaries: Sequence[Summary], size: int | None) -> RowMap:
    """The map of the sets' columns."""
    most = tried_rows(working.n_sets)
    samples = [part.sample.rows[:most] for part in summaries]
    if are_of_a_table(samples, working.units):
        return score_map(samples, size)
    center, per_unit = (
        np.asarray(arrays.to_numpy(one), dtype=np.float64)
        for one in (working.prepared.center, working.per_unit)
    )
    return landmark_map(center, per_unit, samples, size)


def _fitted(
    tried: Tried,
    summaries: Sequence[Summary],
    mapping: RowMap,
    settings: Settings,
    again: Again | None,
) -> SetCosts | None:
    """The costs of mapped rows; None where there is a choice and the plain model is better."""
    samples = [part.sample for part in summaries]
    most = max(TRIED_AT_MOST, tried_rows(len(samples)))
    few = [x.taken(np.arange(len(x)) < most) for x in samples]
    sampled, rows = sum(map(len, few)), sum(part.count for part in summaries)
    at_hand = rows <= _MAPPED_AT_ONCE * sampled and getattr(again, "at_hand", False)
    if again is not None and at_hand:
        mapped = again(mapping)
    else:
        mapped = [mapped_summary(x.rows, x.weights, mapping) for x in few]
    settings, by_choice = replace(settings, units=mapping.units), settings.curve == "auto"
    costs, better = _tried(mapped, few, mapping, settings, tried if by_choice else None)
    if not better:
        return None
    if sampled == sum(map(len, samples)) and (at_hand or rows == sampled or again is None):
        return costs
    g = costs.geometry
    chosen = replace(settings, shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof)
    if again is None:
        mapped = [mapped_summary(x.rows, x.weights, mapping) for x in samples]
    elif not at_hand:
        mapped = again(mapping)
    return _tried(mapped, samples, mapping, chosen, None)[0]


def _tried(
    mapped: Sequence[Summary],
    samples: Sequence[RowSample],
    mapping: RowMap,
    settings: Settings,
    plain: Tried | None,
) -> tuple[SetCosts, bool]:
    """Costs of mapped rows, chosen and calibrated on the samples of the plain ones.

    And whether they are clearly better than a plain model, where there is one to compare with.
    """
    rows = [np.asarray(arrays.to_numpy(mapping(x.rows)), dtype=np.float64) for x in samples]
    parts = zip(mapped, samples, rows, strict=True)
    whole = [replace(part, sample=replace(known, rows=own)) for part, known, own in parts]

    def costs_by(settings: Settings) -> tuple[SetCosts, Floats | None]:
        costs, found = SetCosts.of_chosen(chosen_sets(whole, settings), settings)
        return costs, found.squared

    if plain is None or plain.trial is None:
        return costs_by(settings)[0], True
    judge = Judge(plain.trial)

    def judged(squared: Floats | None) -> Candidate:
        assert squared is not None  # rows could be left out of the plain sets, and so of these
        return judge.candidate(plain.working, squared.T, 0.0, 0.0, 0.0)

    without = judged(plain.squared)
    if len(samples) > 2 and mapping.n_features >= _FEW_FEATURES:
        # A pooling takes a factor for every two sets: many are spared the search for one where
        # curves without it are clearly worse than the plain model.
        costs, squared = costs_by(replace(settings, pooling=0.0))
        if judge.better(without, judged(squared), CLEARLY):
            return costs, False
    costs, squared = costs_by(settings)
    return costs, judge.better(judged(squared), without, CLEARLY)
