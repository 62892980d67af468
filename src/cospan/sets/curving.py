"""Whether curved features are worth it: a choice like the others.

The leave-one-out log-loss decides, and the plain model stays unless the curved one is clearly
better. It is tried on the sampled rows; where those are not all rows, the rest is then read again,
through the map.
"""

from __future__ import annotations

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
from cospan.sets.judging import Judge
from cospan.sets.prepared import TrialRows, WorkingSets
from cospan.sets.settings import Settings
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.sets.costs import SetCosts

__all__ = ["Again", "as_curve", "fitted_curve"]

#: Reads the rows of all sets once more, through the map: one summary for each set.
Again = Callable[[RowMap], Sequence[Summary]]

# Fewer rows in a set than this cannot show a curve: features are several times the columns.
_FEWEST_ROWS = 40
#: Curved features that may be asked for: their covariance has the square of this many entries.
MOST_FEATURES = 4000


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
    settings: Settings,
    trial: TrialRows | None,
    squared: np.ndarray | None,
    plain: Plain,
    again: Again | None,
) -> CurvedSets | None:
    """The curved model of these sets; None where the plain one stays.

    Parameters
    ----------
    working : WorkingSets
        The plain sets.
    trial, squared
        Sampled rows, and their leave-one-out squared costs by the plain model.
    plain : Plain
        What the plain model says of them.
    again : callable, optional
        Needed where the summaries' samples do not hold all rows.
    """
    asked = as_curve(settings.curve)
    summaries = working.prepared.summaries
    held = all(len(part.sample) == part.count for part in summaries)
    if asked is None or not _possible(asked, working, settings, trial, held or again is not None):
        return None
    assert trial is not None
    mapping = _map_for(working, None if asked == "auto" else int(asked))
    sampled = [mapped_summary(part.sample.rows, part.sample.weights, mapping) for part in summaries]
    costs = _costs_of(sampled, summaries, mapping, settings)
    if asked == "auto":
        rows = _tried(summaries, trial)
        mapped = _mapped(mapping, rows)
        rival = costs.left_out_costs(mapped, trial.own, sample_weight=trial.removed)
        if not _better(trial, arrays.to_numpy(rival), squared, working):
            return None
    if not held:
        assert again is not None
        g = costs.geometry
        chosen = replace(settings, shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof)
        costs = _costs_of(again(mapping), summaries, mapping, chosen)
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


def _map_for(working: WorkingSets, size: int | None) -> RowMap:
    """The map of the sets' columns."""
    prepared = working.prepared
    center = np.asarray(arrays.to_numpy(prepared.center), dtype=np.float64)
    samples = [part.sample.rows for part in prepared.summaries]
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


def _costs_of(
    mapped: Sequence[Summary],
    summaries: Sequence[Summary],
    mapping: RowMap,
    settings: Settings,
) -> SetCosts:
    """Costs of mapped rows; the samples they are chosen and calibrated on are the plain ones'."""
    from cospan.sets.costs import SetCosts  # it is made of this module

    whole = []
    for part, known in zip(mapped, summaries, strict=True):
        rows = _mapped(mapping, known.sample.rows)
        whole.append(replace(part, sample=replace(known.sample, rows=rows)))
    options = settings.of_the_sets() | {"units": mapping.units, "curve": None}
    return SetCosts.from_summaries(whole, **options)


def _mapped(mapping: RowMap, rows: np.ndarray) -> np.ndarray:
    return arrays.to_numpy(mapping(rows)).astype(np.float64)


def _tried(summaries: Sequence[Summary], trial: TrialRows) -> np.ndarray:
    """The rows of the trial, as they are."""
    most = tried_rows(len(summaries))
    return np.concatenate([part.sample.rows[:most] for part in summaries])


def _better(
    trial: TrialRows, curved: np.ndarray, plain: np.ndarray | None, working: WorkingSets
) -> bool:
    if plain is None:
        return False
    judge = Judge(trial)
    rival, current = (judge.candidate(working, one.T, 0.0, 0.0, 0.0) for one in (curved, plain))
    return judge.better(rival, current, CLEARLY)
