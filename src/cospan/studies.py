"""How much the angles depend on the choices behind them.

The paper recommends to report how θ reacts to preprocessing, rank, regularisation and noise, and
leaves the study to future work. :func:`sensitivity` makes it for any pair of sets: one choice at
a time is changed, everything else stays as in the reference, and the angles of the same samples
are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from cospan.base.arrays import to_numpy
from cospan.base.checks import as_count, as_rows, as_seed, check_names, feature_names_of, is_real
from cospan.base.tables import make_dataframe
from cospan.base.types import Array, Bools, DataFrame, Floats, Option, Record
from cospan.errors import InputError
from cospan.evidence import angle_histogram, fisher_rao, rank_auc
from cospan.model import Given, JointFrame, Settings
from cospan.summary import Summary

# The study made when the caller names no settings: of either span, and of both.
STUDY: Mapping[str, Mapping[str, Iterable[Option]]] = {
    "affine": {
        "units": ("own", "common"),
        "dof": (1.0, 10.0, 100.0),
        "pooling": (0.0, 0.5, 1.0),
        "calibrate": (False,),
        "span": ("linear",),
    },
    "linear": {"center": ("each", "none"), "balance": (False,), "weighting": ("frame",)},
    "both": {
        "shrinkage": (0.001, 0.01, 0.1, 0.5, 0.9),
        "rank": (0.75, 0.5, 0.25),
        "rows": (0.8, 0.5, 0.25),
        "noise": (0.1, 0.3, 1.0),
    },
}

# Settings that no fit has, and the largest value of each. All but the first draw at random.
_OF_STUDY: Mapping[str, float] = {"rank": 1, "rows": 1, "noise": 1e9}
_RANDOM = ("rows", "noise")
#: Bins of the histograms, as in the paper.
BINS = 30


@dataclass(frozen=True)
class SettingChange:
    """What one changed setting does to the angles of the samples; means over random draws."""

    parameter: str
    value: str
    shrinkage: float  # the α in use
    mean_degrees: float  # of the changes of θ, and their 95 % quantile
    q95_degrees: float
    flips: float  # share of samples that change sides of 45°
    rank_correlation: float  # Spearman's, with the reference; NaN if all angles are equal
    fisher_rao_change: float  # between the histograms of all samples, reference and changed
    fisher_rao: float  # between the two groups of samples; NaN without labels
    auc: float  # of the two groups; NaN without labels


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A study of settings. Print it."""

    rows: tuple[SettingChange, ...]  # the first is the reference, compared with itself
    theta: Floats  # (n,): reference angles of the samples, in radians

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """The rows as a dataframe: pandas, polars or pyarrow."""
        rows = [asdict(row) for row in self.rows]
        return make_dataframe({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def __repr__(self) -> str:
        changed = len(self.rows) - 1
        return f"Sensitivity({len(self.theta):,} samples, {changed} changed settings; print it)"

    def __str__(self) -> str:
        head = ("setting", "α", "mean", "95%", "flips", "rank corr.", "F-R change", "F-R", "AUC")
        cells: list[tuple[str, ...]] = [head]
        for one in self.rows:
            groups = f"{one.fisher_rao:.3f}", f"{one.auc:.4f}"
            groups = ("-", "-") if np.isnan(one.auc) else groups
            moved = f"{one.mean_degrees:.2f}°", f"{one.q95_degrees:.2f}°", f"{one.flips:.1%}"
            compared = f"{one.rank_correlation:.3f}", f"{one.fisher_rao_change:.3f}"
            setting = f"{one.parameter} {one.value}".strip(), f"{one.shrinkage:.3g}"
            cells.append((*setting, *moved, *compared, *groups))
        width, *widths = (max(len(row[k]) for row in cells) for k in range(len(head)))
        lines = []
        for name, *row in cells:
            numbers = (f"  {cell:>{w}}" for cell, w in zip(row, widths, strict=True))
            lines.append(name.ljust(width) + "".join(numbers))
        return "\n".join(lines)


def sensitivity(
    A: Array,
    B: Array,
    Z: Array,
    *,
    over: Mapping[str, Iterable[Option]] | None = None,
    labels: ArrayLike | None = None,
    repeats: int = 3,
    random_state: int = 0,
    **settings: Unpack[Given],
) -> Sensitivity:
    """Study how the angles of Z react when one setting at a time is changed.

    Parameters
    ----------
    A, B
        The two sets.
    Z
        Samples to score. Rows that are in neither A nor B make the fairest study.
    over
        Values to try, by setting; by default a study of all that matter:

        - any setting of :meth:`~cospan.JointFrame.fit`, and the `weighting` of
          :meth:`~cospan.JointFrame.align`;
        - ``"rank"``: share of the directions kept, those with the largest part in the difference
          of the sets (in the linear span: furthest from 45°);
        - ``"rows"``: share of the rows drawn from each set;
        - ``"noise"``: normal noise on the samples, its deviation relative to that of the features
          within the sets (root mean square).
    labels
        0 where a row of Z belongs to A, 1 where to B. With them the study also says how well
        the angles separate the two.
    repeats
        Draws for ``"rows"`` and noise; their rows hold means.
    random_state
        Seed; the same seed gives the same bits.
    **settings
        The reference, as in :meth:`~cospan.JointFrame.fit`. What is ``"auto"`` is chosen anew for
        every changed setting, as a user would; the result says which α.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import sensitivity
    >>> X, y = load_digits(return_X_y=True)
    >>> fours, nines = X[y == 4], X[y == 9]
    >>> study = sensitivity(
    ...     fours[:120], nines[:120], fours[120:], over={"shrinkage": [0.1], "rows": [0.5]}
    ... )
    >>> print(study)
    setting          α   mean    95%  flips  rank corr.  F-R change  F-R  AUC
    reference      0.2  0.00°  0.00°   0.0%       1.000       0.000    -    -
    shrinkage 0.1  0.1  0.37°  1.02°   0.0%       0.993       0.666    -    -
    rows 0.5       0.3  2.83°  7.54°   0.5%       0.747       1.250    -    -
    """
    seed, draws = as_seed(random_state), as_count(repeats, "repeats")
    sets = tuple(_as_rows(X, name, A) for X, name in ((A, "A"), (B, "B"), (Z, "Z")))
    whole = Summary.of(sets[0]), Summary.of(sets[1])
    is_b: Bools | None = None
    if labels is not None:
        values, n = np.asarray(labels), len(sets[2])
        if values.shape != (n,) or not set(np.unique(values)) == {0, 1}:
            raise InputError(
                f"labels must hold 0 (A) or 1 (B) for each of the {n} rows of Z, and both of them."
            )
        is_b = np.asarray(values == 1)
    given: Record = {**Settings.of(**settings).of_the_sets(), "weighting": "cost"}
    given["curve"] = None  # fewer directions, say, mean nothing to curved features
    usual = {**STUDY["linear" if given["span"] == "linear" else "affine"], **STUDY["both"]}
    plan = _plan_of(
        usual if over is None else over, [name for name in (*given, *_OF_STUDY) if name != "curve"]
    )
    theta, alpha = _angles(sets, whole, given, [seed])
    rows = [_change("reference", "", [(theta, alpha)], theta, is_b)]
    for parameter, value in plan:
        seeds = [[seed]]
        if parameter in _RANDOM:
            # By its place, so that the outcome of one does not depend on which others are studied.
            seeds = [[seed, _RANDOM.index(parameter), k] for k in range(draws)]
        runs = [_angles(sets, whole, given | {parameter: value}, one) for one in seeds]
        rows.append(_change(parameter, _text(value), runs, theta, is_b))
    return Sensitivity(tuple(rows), theta)


def _as_rows(X: Array, name: str, A: Array) -> Floats:
    check_names(X, feature_names_of(A), name, whose="A's")
    return np.asarray(to_numpy(as_rows(X, name, d=np.shape(A)[-1])), dtype=np.float64)


def _plan_of(over: Mapping[str, Iterable[Option]], known: list[str]) -> list[tuple[str, Option]]:
    """Pairs of a setting and a value, checked as far as the frame will not do it."""
    if not isinstance(over, Mapping):
        raise InputError('over must name settings and values, such as {"shrinkage": [0.01, 0.1]}.')
    plan = []
    for parameter, values in over.items():
        if parameter not in known:
            raise InputError(
                f"over names the setting {parameter!r}; it must be one of {', '.join(known)}."
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"over[{parameter!r}] must be a list of values, not {values!r}.")
        plan += [(parameter, value) for value in values]
    for parameter, value in plan:
        most = _OF_STUDY.get(parameter)
        if most is not None and not (is_real(value) and 0 <= value <= most):
            raise InputError(f"{parameter} is {value!r}; it must be a number from 0 to {most:g}.")
    return plan


# ---- one changed setting ------------------------------------------------------------------------


def _angles(
    sets: tuple[Floats, ...], whole: tuple[Summary, Summary], run: Record, seed: list[int]
) -> tuple[Floats, float]:
    """θ of the samples, and the shrinkage in use; `whole` are the summaries of all rows."""
    A, B, Z = sets
    rank, share, noise = map(run.get, _OF_STUDY)
    of_frame = {name: value for name, value in run.items() if name not in (*_OF_STUDY, "weighting")}
    rng = np.random.default_rng(seed)
    a, b = whole
    if share is not None:
        counts = [max(1, round(share * len(X))) for X in (A, B)]
        a, b = (
            Summary.of(X[np.sort(rng.choice(len(X), count, replace=False))])
            for X, count in zip((A, B), counts, strict=True)
        )
    if noise is not None:
        unit = np.sqrt(np.mean(np.concatenate([X - X.mean(axis=0) for X in (A, B)]) ** 2))
        Z = Z + noise * unit * rng.standard_normal(Z.shape)
    frame = JointFrame.from_summaries(a, b, **of_frame)
    if rank is not None:
        frame = frame.truncate(n=max(1, round(rank * frame.rank)))
    return to_numpy(frame.align(Z, weighting=run["weighting"]).theta), frame.shrinkage


def _change(
    parameter: str,
    value: str,
    runs: list[tuple[Floats, float]],
    reference: Floats,
    is_b: Bools | None,
) -> SettingChange:
    """The measures of one setting, averaged over its runs."""
    measured = []
    for theta, alpha in runs:
        change = np.degrees(np.abs(theta - reference))
        flips = np.mean((theta > np.pi / 4) != (reference > np.pi / 4))
        together, groups = np.nan, (np.nan, np.nan)
        if np.ptp(theta) and np.ptp(reference):
            together = np.corrcoef(rankdata(theta), rankdata(reference))[0, 1]
        if is_b is not None:
            a, b = theta[~is_b], theta[is_b]
            groups = _fisher_rao(a, b), rank_auc(a, b)
        moved = alpha, change.mean(), np.quantile(change, 0.95), flips, together
        measured.append((*moved, _fisher_rao(reference, theta), *groups))
    return SettingChange(parameter, value, *(float(x) for x in np.mean(measured, axis=0)))


def _fisher_rao(a: Floats, b: Floats) -> float:
    return fisher_rao(angle_histogram(a, BINS), angle_histogram(b, BINS))


def _text(value: Option) -> str:
    if value is None or isinstance(value, str | bool):
        return "default" if value is None else str(value)
    return f"{value:g}" if np.ndim(value) == 0 else "given"
