"""From settings as users give them to sets that are prepared and chosen for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cospan._tolerance import FAST_SHRINKAGE
from cospan._validate import as_flag, as_option, as_shrinkage, as_tol, is_real
from cospan._warnings import warn
from cospan.errors import InputError
from cospan.sets.choice import AS_GOOD_AS_ONE, DEFAULT_SHRINKAGE, Asked, choose
from cospan.sets.geometry import Geometry
from cospan.sets.prepared import PreparedSets, WorkingSets
from cospan.sets.settings import Settings
from cospan.summary import Summary


def chosen_sets(
    summaries: Sequence[Summary],
    settings: Settings,
    labels: Sequence[str] | None = None,
    picture: bool = False,
) -> tuple[WorkingSets, Geometry, np.ndarray | None]:
    """Prepare the sets and settle what was left to the data.

    And leave-one-out squared costs (n, K) of the sampled rows, where the choice computed them.
    """
    prepared = PreparedSets(
        summaries,
        span=settings.span,
        center=settings.center,
        balance=settings.balance,
        tol=as_tol(settings.tol),
        labels=labels,
    )
    _say_if_rows_count_too_little(prepared)
    asked = _as_asked(prepared, settings, picture)
    _check_enough(prepared, asked.shrinkage)
    choice = choose(prepared, asked)
    geometry = choice.working.geometry(
        shrinkage=choice.shrinkage, pooling=choice.pooling, dof=choice.dof
    )
    squared = None if choice.squared is None else choice.squared.T
    return choice.working, geometry, squared


def _say_if_rows_count_too_little(prepared: PreparedSets) -> None:
    """About weights that sum to one row: there is none to leave out, and so no calibration."""
    for part in prepared.summaries:
        if part.count > 1 and part.n <= AS_GOOD_AS_ONE:
            remedy = "Multiply the weights so that they sum to the number of rows."
            said = (
                f"The weights of {part.count:,} rows sum to {part.n:.3g}. A weight counts how "
                "often a row occurs, so all of them count as one row, and nothing can be learned "
                "from leaving rows out: neither the calibration of angles nor the settings."
            )
            warn(said, code="weights sum to one row", remedy=remedy)
            return


def _as_asked(prepared: PreparedSets, settings: Settings, picture: bool) -> Asked:
    """What is fixed and what is left to the data; "auto" is left to it."""
    units = as_option(settings.units, "units", ("auto", "own", "common"))
    alpha = as_shrinkage(settings.shrinkage)
    fixed_pooling = _number(settings.pooling, "pooling", 0.0, 1.0)
    fixed_dof = _number(settings.dof, "dof", 0.0, math.inf, above=True)
    if not prepared.affine:
        if fixed_pooling or fixed_dof is not None or units == "own":
            name = "pooling" if fixed_pooling else "units" if units == "own" else "dof"
            raise InputError(f'{name} belongs to span="affine"; leave it out with span="linear".')
        units, fixed_pooling, fixed_dof = "common", 0.0, 0.0
    return Asked(
        units=None if units == "auto" else units,
        shrinkage=None if isinstance(alpha, str) else float(alpha),
        pooling=fixed_pooling,
        dof=fixed_dof,
        # Before any row is looked at: a table's columns have units of their own, pixels share one.
        prefer_units="own" if prepared.feature_names is not None and not picture else "common",
    )


def _number(
    value: float | str, name: str, low: float, high: float, *, above: bool = False
) -> float | None:
    """A number in a range, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    lowest = math.nextafter(low, math.inf) if above else low
    if is_real(value) and lowest <= float(value) <= high and float(value) < math.inf:
        return float(value)
    wanted = "a number above 0" if above else f"a number from {low:g} to {high:g}"
    raise InputError(f"{name} is {value!r}; it must be {wanted}, or 'auto'.")


def _check_enough(prepared: PreparedSets, asked: float | None) -> None:
    """Do the summaries have the digits for α, and do the rows vary at all?"""
    alpha = DEFAULT_SHRINKAGE if asked is None else asked
    summaries = prepared.summaries
    if alpha < FAST_SHRINKAGE and not all(part.exact for part in summaries):
        lacks = "directions" if any(part.rank is not None for part in summaries) else "digits"
        raise InputError(
            f"A fast summary has too few {lacks} for shrinkage {alpha:g}; use at least "
            f"{FAST_SHRINKAGE:g}, or make the summaries with exact=True and "
            "without a rank."
        )
    spread = prepared.unit("common") if prepared.affine else prepared.spreads.variances
    if alpha > 0 and not spread.any():
        raise InputError(
            "All rows of all sets are equal, so there is nothing to compare; check that the "
            "features vary."
        )


def resolved_calibration(calibrate: bool | None, geometry: Geometry) -> bool:
    """Whether to calibrate: by default in the affine span; the paper's angle is raw."""
    return geometry.affine if calibrate is None else as_flag(calibrate, "calibrate")
