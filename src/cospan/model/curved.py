"""Sets of mapped rows that answer for a plain model: what samples cost them, and whether to.

A curved model is an ordinary one, of rows that went through a :class:`~cospan.model.RowMap`
first. All sets are scored by one matrix product: with M the sets' maps side by side,

    y = x M        cost_k² = ν + Σ w_kj (y_j - a_kj)²

For two sets one map serves both: with M_A⁻¹ M_B = U S Vᵀ it is M_A U, with the weights 1 and S².

Whether curved features are worth it is a choice like the others: the leave-one-out log-loss
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
from cospan.model.curves import MOST_COLUMNS, RowMap, curve_map, landmark_map
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
        center, across, at, weights = self._table
        y = (np.asarray(self.map(rows, fine=True)) - center) @ across
        away = y[:, None, :] - at
        squared = np.sum(weights * away**2, axis=2) + self.costs.geometry.dof
        uphill = 2 * (weights * away) @ across.T
        a, b = (self.map.pulled_back(rows, uphill[:, k, :]) / squared[:, k, None] for k in (0, 1))
        return self.log_odds_of(squared), self.calibration.gain * (a - b)

    def log_odds_of(self, squared: Floats) -> Floats:
        """log tan²θ from the squared costs (n, 2) of two sets."""
        gain, zero = self.calibration.gain, self.calibration.zero
        return np.asarray(gain * (np.log(squared[:, 0] / squared[:, 1]) - zero))

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats, Floats]:
        """A centre (D,), what mapped rows less it are multiplied with, a and w (K, m)."""
        g = self.costs.geometry
        maps = [arrays.to_numpy(one) for one in self.costs.scoring_maps]
        K, m = g.n_sets, maps[0].shape[1]
        if K == 2:
            turn, values, _ = np.linalg.svd(np.linalg.solve(*maps))
            across = maps[0] @ turn
            weights = np.stack([np.ones(m), values**2])
        else:
            across = np.concatenate(maps, axis=1)
            weights = np.repeat(np.eye(K), m, axis=1)
        if self.costs.basis is not None:
            # Off the span of few rows every set has the variance α.
            inside = arrays.to_numpy(self.costs.basis)
            outside = scipy.linalg.null_space(inside.T)
            across = np.concatenate([inside @ across, outside], axis=1)
            constant = np.full((K, outside.shape[1]), 1 / g.shrinkage)
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
    if size is None or not _possible(size, tried, settings, again):
        return model
    if mapping is None:
        mapping = _map_for(tried, None if size == "auto" else int(size))
    costs = _Trials(tried, mapping).fitted(settings, again, by_choice=size == "auto")
    if costs is None:
        return model
    return replace(model, curve=CurvedSets(mapping, costs))


def _possible(size: int | str, tried: Tried, settings: Settings, again: Again | None) -> bool:
    """Can the sets have a curved model? What was given by number and cannot be is an error."""
    prepared, alpha = tried.working.prepared, settings.shrinkage
    inside = all(len(part.sample) == part.count for part in _with_rows(tried))
    wrong = None
    if not prepared.affine:
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
    free = all(x == "auto" for x in (settings.shrinkage, settings.pooling, settings.dof))
    few = min(part.count for part in prepared.summaries) < _FEWEST_ROWS
    return free and not few and settings.calibrate is not False and tried.squared is not None


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


def _map_for(tried: Tried, size: int | None) -> RowMap:
    """The map of the sets' columns."""
    working, prepared = tried.working, tried.working.prepared
    samples = [part.sample.rows for part in _with_rows(tried)]
    center = np.asarray(arrays.to_numpy(prepared.center), dtype=np.float64)
    if working.n_varying > MOST_COLUMNS:
        most = tried_rows(working.n_sets)
        per_unit = np.asarray(arrays.to_numpy(working.per_unit), dtype=np.float64)
        return landmark_map(center, per_unit, [rows[:most] for rows in samples], size)
    # The deviation of every column over all sets; 0 for a constant.
    unit = prepared.unit("own")
    means = np.asarray(arrays.to_numpy(prepared.means), dtype=np.float64)
    within = unit / np.where(unit > 0, unit, 1.0)
    apart = (means - center) / np.where(unit > 0, unit, 1.0)
    scale = np.asarray(unit * np.sqrt(within + np.mean(apart**2, axis=0)))
    return curve_map(center, scale, np.concatenate(samples), size)


class _Trials:
    """Costs of mapped rows, beside those of the plain model."""

    def __init__(self, tried: Tried, mapping: RowMap) -> None:
        assert tried.trial is not None  # it is possible
        self.tried, self.mapping, self.judge = tried, mapping, Judge(tried.trial)
        self.summaries = _with_rows(tried)

    def fitted(self, settings: Settings, again: Again | None, by_choice: bool) -> SetCosts | None:
        """The costs of mapped rows; None where there is a choice and the plain model is better."""
        samples = [part.sample for part in self.summaries]
        sampled, rows = sum(map(len, samples)), sum(part.count for part in self.summaries)
        # Are all rows so few more than the sampled ones that a trial can map them?
        few_more = rows <= _MAPPED_AT_ONCE * sampled
        at_hand = few_more and again is not None and getattr(again, "at_hand", False)
        if again is not None and at_hand:
            mapped = list(again(self.mapping))
        else:
            mapped = [mapped_summary(x.rows, x.weights, self.mapping) for x in samples]
        if by_choice and not self._promising(mapped, settings):
            return None
        costs, squared = self._costs(mapped, settings)
        if by_choice and not self._better(squared):
            return None
        if at_hand or rows == sampled:
            return costs
        assert again is not None  # it is possible
        g = costs.geometry
        chosen = replace(settings, shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof)
        return self._costs(again(self.mapping), chosen)[0]

    def _costs(
        self, mapped: Sequence[Summary], settings: Settings
    ) -> tuple[SetCosts, Floats | None]:
        """Costs of mapped rows, chosen and calibrated on the samples of the plain ones.

        And the leave-one-out squared costs of those.
        """
        whole = []
        for part, known in zip(mapped, self.summaries, strict=True):
            rows = np.asarray(arrays.to_numpy(self.mapping(known.sample.rows)), dtype=np.float64)
            whole.append(replace(part, sample=replace(known.sample, rows=rows)))
        settings = replace(settings, units=self.mapping.units, curve=None)
        costs, tried = SetCosts.of_chosen(chosen_sets(whole, settings), settings)
        return costs, tried.squared

    def _promising(self, mapped: Sequence[Summary], settings: Settings) -> bool:
        """Is it worth it to look for a pooling, which takes a factor for every two sets?

        Where curves without one are clearly worse than the plain model, many sets are spared it.
        """
        if len(self.summaries) == 2 or self.mapping.n_features < _FEW_FEATURES:
            return True
        squared = self._costs(mapped, replace(settings, pooling=0.0))[1]
        return not self.judge.better(self._plain, self._candidate(squared), CLEARLY)

    def _better(self, squared: Floats | None) -> bool:
        return self.judge.better(self._candidate(squared), self._plain, CLEARLY)

    @cached_property
    def _plain(self) -> Candidate:
        return self._candidate(self.tried.squared)

    def _candidate(self, squared: Floats | None) -> Candidate:
        assert squared is not None  # rows could be left out of the plain sets, and so of these
        return self.judge.candidate(self.tried.working, squared.T, 0.0, 0.0, 0.0)
