"""What a study found: one row for the reference, then one for each changed setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from cospan.base.tables import make_dataframe
from cospan.base.types import Floats
from cospan.distribution import angle_auc, angle_histogram, fisher_rao


@dataclass(frozen=True)
class SettingChange:
    """What one changed setting does to the angles of the samples.

    Attributes
    ----------
    parameter, value : str
        What was changed, and to what.
    shrinkage : float
        The α in use (the mean over repeats).
    mean_degrees, q95_degrees : float
        Mean and 95 % quantile of the change of θ, in degrees.
    flips : float
        Share of samples that change sides of 45°.
    rank_correlation : float
        Spearman's correlation with the reference angles; NaN if all angles are equal.
    fisher_rao_change : float
        Fisher-Rao distance between the histograms of all samples, reference against changed.
    fisher_rao : float
        Fisher-Rao distance between the two groups of samples; NaN without labels.
    auc : float
        Chance that a sample of B lies above one of A; NaN without labels.

    Examples
    --------
    >>> from cospan import sensitivity
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(80, 3)), rng.normal(size=(80, 3)) + 1
    >>> change = sensitivity(A, B, A, over={"shrinkage": [0.5]}).rows[1]
    >>> change.parameter, change.value, bool(change.rank_correlation > 0.9)
    ('shrinkage', '0.5', True)
    """

    parameter: str
    value: str
    shrinkage: float
    mean_degrees: float
    q95_degrees: float
    flips: float
    rank_correlation: float
    fisher_rao_change: float
    fisher_rao: float
    auc: float


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A study of settings: one row for the reference, then one for each changed setting.

    Attributes
    ----------
    rows : tuple of SettingChange
        The first is the reference, compared with itself.
    theta : array, (n,)
        Reference angles of the samples, in radians.
    reference : mapping
        The reference's settings; its shrinkage is the number in use.
    bins : int
        Bins of the histograms.
    repeats : int
        Draws behind the rows of random settings, which hold means.

    Examples
    --------
    >>> from cospan import sensitivity
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(80, 3)), rng.normal(size=(80, 3)) + 1
    >>> study = sensitivity(A, B, A, over={"shrinkage": [0.1, 0.5]})
    >>> [row.value for row in study.rows[1:]]
    ['0.1', '0.5']
    """

    rows: tuple[SettingChange, ...]
    theta: Floats
    reference: Mapping[str, Any]
    bins: int
    repeats: int

    def to_frame(self, backend: str | None = None) -> Any:
        """The rows as a dataframe: pandas, polars or pyarrow."""
        columns = [field.name for field in fields(SettingChange)]
        return make_dataframe(
            {name: [getattr(row, name) for row in self.rows] for name in columns}, backend
        )

    def __repr__(self) -> str:
        changed = len(self.rows) - 1
        return f"Sensitivity({len(self.theta):,} samples, {changed} changed settings; print it)"

    def __str__(self) -> str:
        head = ("setting", "α", "mean", "95 %", "flips", "rank corr.", "F-R change", "F-R", "AUC")
        cells = [head, *(_cells(row) for row in self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
        return "\n".join(
            row[0].ljust(widths[0])
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in cells
        )


def change_of(
    parameter: str,
    value: str,
    runs: list[tuple[Floats, float]],
    reference: Floats,
    groups: NDArray[np.bool_] | None,
    bins: int,
) -> SettingChange:
    """The measures of one setting, averaged over its runs."""
    measured = [(alpha, *_measures(theta, reference, groups, bins)) for theta, alpha in runs]
    return SettingChange(parameter, value, *(float(x) for x in np.mean(measured, axis=0)))


def _measures(
    theta: Floats, reference: Floats, groups: NDArray[np.bool_] | None, bins: int
) -> tuple[float, ...]:
    change = np.degrees(np.abs(theta - reference))
    flips = np.mean((theta > np.pi / 4) != (reference > np.pi / 4))
    moved = fisher_rao(angle_histogram(reference, bins), angle_histogram(theta, bins))
    apart, auc = np.nan, np.nan
    if groups is not None:
        a, b = theta[~groups], theta[groups]
        apart = fisher_rao(angle_histogram(a, bins), angle_histogram(b, bins))
        auc = angle_auc(a, b)
    return (
        float(change.mean()),
        float(np.quantile(change, 0.95)),
        float(flips),
        _rank_correlation(theta, reference),
        moved,
        apart,
        auc,
    )


def _rank_correlation(first: Floats, second: Floats) -> float:
    ranks = [rankdata(values) for values in (first, second)]
    centred = [rank - rank.mean() for rank in ranks]
    norms = [float(np.sqrt(np.sum(rank**2))) for rank in centred]
    if 0.0 in norms:
        return float("nan")
    return min(1.0, float(np.sum(centred[0] * centred[1]) / (norms[0] * norms[1])))


def _cells(row: SettingChange) -> tuple[str, ...]:
    name = f"{row.parameter} {row.value}".strip()
    groups = ("-", "-") if np.isnan(row.auc) else (f"{row.fisher_rao:.3f}", f"{row.auc:.4f}")
    return (
        name,
        f"{row.shrinkage:.3g}",
        f"{row.mean_degrees:.2f}°",
        f"{row.q95_degrees:.2f}°",
        f"{100 * row.flips:.1f} %",
        f"{row.rank_correlation:.3f}",
        f"{row.fisher_rao_change:.3f}",
        *groups,
    )
