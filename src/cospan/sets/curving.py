"""Whether curved features are worth it: a choice like the others.

The leave-one-out log-loss decides, and the plain model stays unless the curved one is clearly
better. Where the sampled rows are not all rows, the rest is read again, through the map: at once
if it is at hand and not much more, else once the sampled ones have shown that it is worth it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan import _arrays as arrays
from cospan._tolerance import FAST_SHRINKAGE
from cospan.curves import MOST_COLUMNS, RowMap, curve_map, landmark_map
from cospan.errors import InputError
from cospan.sets.choice import CLEARLY, tried_rows
from cospan.sets.curved import CurvedSets, Plain, mapped_summary
from cospan.sets.judging import Candidate, Judge
from cospan.sets.prepared import TrialRows, WorkingSets
from cospan.sets.settings import Settings
from cospan.summary import Summary
from cospan.summary.row_sample import RowSample

if TYPE_CHECKING:
    from cospan.sets.costs import SetCosts

#: Reads the rows of all sets once more, through the map: one summary for each set. Where it has an
#: attribute `at_hand` that is true, the rows are in memory, and reading them costs little.
Again = Callable[[RowMap], Sequence[Summary]]

# Fewer rows in a set than this cannot show a curve: features are several times the columns.
_FEWEST_ROWS = 40
#: Curved features that may be asked for: their covariance has the square of this many entries.
MOST_FEATURES = 4000
# Up to so many times the sampled rows all rows are mapped for the trial. A plain model of all rows
# has an advantage over a curved one of a few hundred; over one of some thousands it has none.
_MAPPED_AT_ONCE = 4
# With fewer features than this a pooling is looked for in no time.
_FEW_FEATURES = 100


#: The plain sets, sampled rows of theirs, and what those cost, each left out of its own.
Tried = tuple[WorkingSets, TrialRows | None, np.ndarray | None]


def as_curve(curve: Any) -> int | str | None:
    """None (or "none", as a command line has it), "auto", or a number of features."""
    if curve is None or (isinstance(curve, str) and curve == "none"):
        return None
    if isinstance(curve, str) and curve == "auto":
        return curve
    number = isinstance(curve, (int, np.integer)) and not isinstance(curve, bool)
    if number and 1 <= curve <= MOST_FEATURES:
        return int(curve)
    raise InputError(
        f"curve is {str(curve)[:40]}; it must be 'auto', None, or a number of curved features from "
        f"1 to {MOST_FEATURES:,}."
    )


def fitted_curve(
    working: WorkingSets,
    trial: TrialRows | None,
    squared: np.ndarray | None,
    settings: Settings,
    plain: Plain,
    again: Again | None,
) -> CurvedSets | None:
    """The curved model of these sets; None where the plain one stays.

    `trial` and `squared` are sampled rows and their leave-one-out squared costs by the plain model,
    `plain` what that says of them. `again` is needed where the summaries' samples are not all rows.
    """
    asked = as_curve(settings.curve)
    if asked is None:
        return None
    held = _held(working)
    if not _possible(asked, working, settings, trial, held or again is not None):
        return None
    assert trial is not None
    summaries = _with_samples(working)
    samples = [part.sample.rows for part in summaries]
    mapping = _map_for(working, samples, None if asked == "auto" else int(asked))
    # Are all rows so few more than the sampled ones that a trial can map them?
    sampled = sum(len(x.sample) for x in summaries)
    few_more = sum(x.count for x in summaries) <= _MAPPED_AT_ONCE * sampled
    whole = held or (getattr(again, "at_hand", False) and few_more)
    if held or not whole:
        mapped = [mapped_summary(x.sample.rows, x.sample.weights, mapping) for x in summaries]
    else:
        assert again is not None
        mapped = list(again(mapping))
    trials = _Trials(working, summaries, mapping, trial, squared)
    if asked == "auto" and not trials.promising(mapped, settings):
        return None
    costs, squared = trials.costs(mapped, settings)
    if asked == "auto" and not trials.better(costs, squared):
        return None
    if not whole:
        assert again is not None
        g = costs.geometry
        chosen = replace(settings, shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof)
        costs, _ = trials.costs(again(mapping), chosen)
    return CurvedSets(mapping, costs, plain)


def _possible(
    asked: int | str,
    working: WorkingSets,
    settings: Settings,
    trial: TrialRows | None,
    rows_at_hand: bool,
) -> bool:
    """Can the sets have a curved model? What was asked for by number and cannot be is an error."""
    alpha = settings.shrinkage
    wrong = None
    if not working.prepared.affine:
        wrong = 'curve belongs to span="affine"; leave it out with span="linear".'
    elif not isinstance(alpha, str) and alpha < FAST_SHRINKAGE:
        wrong = f"curve needs a shrinkage of at least {FAST_SHRINKAGE:g}, or 'auto'."
    elif trial is None or not rows_at_hand:
        wrong = (
            "curve needs the rows, and these summaries do not hold them; use fit, or give "
            "`again`, which reads them once more."
        )
    elif working.n_varying == 0:
        wrong = "curve needs features that vary."
    if wrong and asked != "auto":
        raise InputError(wrong)
    if wrong or asked != "auto":
        return wrong is None
    # Who settles α, γ or ν asks for the plain formula with that value.
    free = all(x == "auto" for x in (settings.shrinkage, settings.pooling, settings.dof))
    few = min(part.count for part in working.prepared.summaries) < _FEWEST_ROWS
    return free and not few and settings.calibrate is not False


def _held(working: WorkingSets) -> bool:
    """Do the summaries hold all rows, in their samples or by themselves?"""
    return all(
        len(part.sample) == part.count or (working.basis is not None and part._holds_rows)
        for part in working.prepared.summaries
    )


def _with_samples(working: WorkingSets) -> list[Summary]:
    """The summaries, with their rows as a sample where trials take those: of few long rows."""
    summaries = working.prepared.summaries
    if working.basis is None:
        return list(summaries)
    return [replace(x, sample=_all_rows(x)) if x._holds_rows else x for x in summaries]


def _all_rows(part: Summary) -> RowSample:
    n = part.count
    rows = arrays.to_numpy(part.factor_parts()[0][:n, :] + part.mean[None, :])
    return RowSample(rows.astype(np.float64), np.ones(n), np.arange(n), np.zeros(n), n, math.inf, n)


def _map_for(working: WorkingSets, samples: Sequence[np.ndarray], size: int | None) -> RowMap:
    """The map of the sets' columns."""
    center = np.asarray(arrays.to_numpy(working.prepared.center), dtype=np.float64)
    if working.n_varying > MOST_COLUMNS:
        most = tried_rows(working.n_sets)
        per_unit = np.asarray(arrays.to_numpy(working.per_unit), dtype=np.float64)
        return landmark_map(center, per_unit, [rows[:most] for rows in samples], size)
    scale = _scale_over_all(working, center)
    return curve_map(center, scale, np.concatenate(samples), size)


def _scale_over_all(working: WorkingSets, center: np.ndarray) -> np.ndarray:
    """The deviation of every column over all sets; 0 for a constant."""
    unit = working.prepared.unit("own")
    means = np.asarray(arrays.to_numpy(working.prepared.means), dtype=np.float64)
    within = unit / np.where(unit > 0, unit, 1.0)
    apart = (means - center) / np.where(unit > 0, unit, 1.0)
    return np.asarray(unit * np.sqrt(within + np.mean(apart**2, axis=0)))


class _Trials:
    """Costs of mapped rows, beside those of the plain model."""

    def __init__(
        self,
        working: WorkingSets,
        summaries: Sequence[Summary],
        mapping: RowMap,
        trial: TrialRows,
        squared: np.ndarray | None,
    ) -> None:
        self.working, self.summaries, self.mapping = working, summaries, mapping
        self.trial = trial
        self.judge = Judge(trial)
        self.plain = None if squared is None else self._candidate(squared)

    def costs(
        self, mapped: Sequence[Summary], settings: Settings
    ) -> tuple[SetCosts, np.ndarray | None]:
        """Costs of mapped rows, chosen and calibrated on the samples of the plain ones.

        And the leave-one-out squared costs of those, where they are known.
        """
        from cospan.sets.costs import SetCosts  # it is made of this module

        whole = []
        for part, known in zip(mapped, self.summaries, strict=True):
            rows = _mapped(self.mapping, known.sample.rows)
            whole.append(replace(part, sample=replace(known.sample, rows=rows)))
        of_maps = replace(settings, units=self.mapping.units, curve=None)
        return SetCosts.without_curve(whole, of_maps)

    def promising(self, mapped: Sequence[Summary], settings: Settings) -> bool:
        """Is it worth it to look for a pooling?

        That takes a factor for every two sets. Where curves without one are clearly worse than the
        plain model, many sets are spared it.
        """
        quick = self.working.n_sets == 2 or self.mapping.n_features < _FEW_FEATURES
        if self.plain is None or quick:
            return self.plain is not None
        found = self.costs(mapped, replace(settings, pooling=0.0))
        return not self.judge.better(self.plain, self._left_out(*found), CLEARLY)

    def better(self, costs: SetCosts, squared: np.ndarray | None) -> bool:
        assert self.plain is not None  # it was promising
        return self.judge.better(self._left_out(costs, squared), self.plain, CLEARLY)

    def _left_out(self, costs: SetCosts, squared: np.ndarray | None) -> Candidate:
        if squared is None:
            most = tried_rows(len(self.summaries))
            rows = np.concatenate([part.sample.rows[:most] for part in self.summaries])
            mapped, removed = _mapped(self.mapping, rows), self.trial.removed
            found = costs.left_out_costs(mapped, self.trial.own, sample_weight=removed)
            squared = arrays.to_numpy(found)
        return self._candidate(squared)

    def _candidate(self, squared: np.ndarray) -> Candidate:
        return self.judge.candidate(self.working, squared.T, 0.0, 0.0, 0.0)


def _mapped(mapping: RowMap, rows: np.ndarray) -> np.ndarray:
    return arrays.to_numpy(mapping(rows)).astype(np.float64)
