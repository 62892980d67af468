"""From angles to a verdict on a pair: how far apart, how sure, and could it be chance.

:func:`separation` measures how far two groups of angles lie apart, with intervals: an effect
size, which does not grow with the number of rows. :func:`shift_test` asks of two sets of rows
whether they come from one distribution, with an exact permutation p-value, which is never 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cospan._arrays import Array, to_numpy
from cospan._validate import (
    as_confidence,
    as_count,
    as_generator,
    as_option,
    as_rows,
    check_names,
    feature_names_of,
)
from cospan.distribution import (
    angle_auc,
    angle_histogram,
    as_angles,
    hellinger,
    overlap,
    rank_auc,
)
from cospan.errors import InputError
from cospan.significance.bootstrap import auc_spread, interval, spread
from cospan.significance.copies import drop_copies
from cospan.significance.relabelling import VIEWS, Halves, Table, halve, lay_out, table

__all__ = ["Estimate", "Separation", "ShiftTest", "separation", "shift_test"]

Floats = NDArray[np.float64]

# With fewer, a half would hold a single row of a set.
_FEWEST_ROWS = 4
# Replicates behind the interval of the effect: its ends are good to a hundredth of its width.
_EFFECT_REPLICATES = 400
# Statistics this close (in standard deviations) count as ties: the order of sums may differ.
_TIE = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A measured value with its confidence interval.

    Attributes
    ----------
    value : float
        As measured.
    low, high : float
        Ends of the interval.
    confidence : float
        How often such intervals hold the true value, 0.95 for instance.
    """

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Separation:
    """How far two groups of angles lie apart.

    Attributes
    ----------
    fisher_rao, hellinger : Estimate
        Distances of the two histograms: in radians up to π, and in [0, 1].
    auc : Estimate
        Chance that a random angle of B exceeds a random angle of A.
    overlap : Estimate
        Mass that both histograms have in common.
    n_a, n_b : int
        How many angles.
    bins : int
        Bins of the histograms.
    """

    fisher_rao: Estimate
    hellinger: Estimate
    auc: Estimate
    overlap: Estimate
    n_a: int
    n_b: int
    bins: int

    def __str__(self) -> str:
        names = ("fisher_rao", "hellinger", "auc", "overlap")
        found = ", ".join(f"{name} {getattr(self, name)}" for name in names)
        return f"{self.n_a:,} + {self.n_b:,} angles: {found}"


def separation(
    theta_a: ArrayLike,
    theta_b: ArrayLike,
    *,
    bins: int = 30,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    random_state: int | np.random.Generator = 0,
) -> Separation:
    """Measure how far two groups of angles lie apart, with bootstrap intervals.

    Parameters
    ----------
    theta_a, theta_b
        Angles in radians. For a fair measure they should come from rows that the frame was not
        fitted on, or be leave-one-out angles.
    bins
        Bins of the histograms behind Fisher-Rao, Hellinger and the overlap.
    confidence
        Confidence level of the intervals.
    n_bootstrap
        Replicates behind the intervals.
    random_state
        Seed; the same seed gives the same bits.

    Returns
    -------
    Separation

    Notes
    -----
    The values are those of :func:`~cospan.fisher_rao` and its siblings on the two histograms.
    Such distances lie too high for small samples; the intervals correct for that, so a value can
    stand at the upper end of its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> result = separation(rng.beta(3, 6, 200) * np.pi / 2, rng.beta(6, 3, 200) * np.pi / 2)
    >>> print(result.auc)
    0.937 [0.913, 0.964]
    """
    a, b = as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b")
    if np.ptp(np.concatenate([a, b])) == 0:
        raise InputError(
            f"All {a.size + b.size} angles equal {math.degrees(a[0]):.6g}°: constant angles have "
            "no separation to measure; check that the rows differ."
        )
    confidence = as_confidence(confidence)
    P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
    strays = spread(a, b, bins, as_count(n_bootstrap, "n_bootstrap"), as_generator(random_state))
    chord, auc, common = hellinger(P, Q), angle_auc(a, b), overlap(P, Q)
    low, high = interval(chord**2, strays.squared_hellinger, confidence)
    ends = (math.sqrt(low), chord, math.sqrt(high))
    shared_low, shared_high = interval(common, strays.overlap, confidence)
    if low == 0:  # the histograms may be equal, and equal ones overlap in full
        shared_high = 1.0
    arcs = [4 * math.asin(end / math.sqrt(2)) for end in ends]  # 2 arccos(1 - H²), with all digits
    return Separation(
        fisher_rao=Estimate(arcs[1], arcs[0], arcs[2], confidence),
        hellinger=Estimate(ends[1], ends[0], ends[2], confidence),
        auc=Estimate(auc, *interval(auc, strays.auc, confidence), confidence),
        overlap=Estimate(common, shared_low, shared_high, confidence),
        n_a=a.size,
        n_b=b.size,
        bins=int(bins),
    )


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """Whether two sets of rows can come from one distribution.

    Attributes
    ----------
    statistic : float
        How far the true labels' angles lie apart, in standard deviations of the relabelled ones,
        in the view that shows it best.
    pvalue : float
        (1 + k) / (1 + n_permutations), where k relabellings lie at least as far apart. Never 0.
    null : array, (n_permutations,)
        The statistic of the relabellings.
    effect : Estimate
        AUC on held-out rows: how well its angle (times its length, in the ``"spread"`` view) tells
        the set of a row, with the frame, and the view, from the other half of the rows. 0.5 = not
        at all, 1 = perfectly.
    views : mapping
        The statistic by what the frame looked at: the ``"mean"``; the ``"shape"``, covariances in
        all directions; the ``"spread"`` in the strong directions, far rows counting more.
    n_permutations : int
        How many relabellings.
    n_a, n_b : int
        Rows compared, without copies.
    copies : int
        Rows left out because they repeat another row of their set.
    """

    statistic: float
    pvalue: float
    null: Floats = field(repr=False)
    effect: Estimate
    views: Mapping[str, float]
    n_permutations: int
    n_a: int
    n_b: int
    copies: int


def shift_test(
    A: Array,
    B: Array,
    *,
    n_permutations: int = 999,
    copies: str = "auto",
    confidence: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> ShiftTest:
    """Test whether the rows of A and of B come from one distribution.

    Frames are fitted on one half of the rows and angles taken on the other, and the other way
    round; the labels of both halves are permuted and the frames fitted again. The p-value is
    exact whatever the distribution, the sizes and the dimension: under "no shift" it falls below
    0.05 in 5 % of the cases.

    Parameters
    ----------
    A, B
        Two sets of rows with the same features, at least four rows each. Rows are taken as drawn
        independently of each other.
    n_permutations
        Relabellings behind the p-value; its smallest value is 1 / (1 + n_permutations).
    copies
        What to make of identical rows within a set. ``"drop"``: they are copies of one draw, keep
        one of each. ``"keep"``: they are draws of their own, as with categories or counts.
        ``"auto"``: copies, when almost no row of A also stands in B although rows repeat within
        A or B; else draws.
    confidence
        Confidence level of the effect's interval.
    random_state
        Seed of the split, the relabellings and the bootstrap; the same seed gives the same bits.

    Returns
    -------
    ShiftTest

    See Also
    --------
    separation : how far apart two groups of angles are.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import shift_test
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(80, 5))
    >>> B = rng.normal(size=(120, 5)) * [1, 1, 1, 1, 2]
    >>> shift_test(A, B).pvalue
    0.005
    >>> shift_test(A, rng.normal(size=(120, 5))).pvalue
    0.381
    """
    a, b = _rows(A, "A"), _rows(B, "B")
    if a.shape[1] == b.shape[1]:
        check_names(B, feature_names_of(A), "B", whose="A's")
    before = len(a) + len(b)
    a, b = _sets(a, b, copies)
    count = as_count(n_permutations, "n_permutations")
    confidence = as_confidence(confidence)
    rng = as_generator(random_state)
    side = math.isqrt(count) + 1  # side² > count: one entry for the true labels
    halves = halve(lay_out(np.concatenate([a, b])), len(a), (side, side), rng)
    tables = {view.name: table(halves, view) for view in VIEWS}
    scores = {name: _standardise(entry.total) for name, entry in tables.items()}
    combined = np.max(list(scores.values()), axis=0).ravel()
    null = _drawn(combined[1:], count, rng)
    reached = int(np.count_nonzero(null >= combined[0] - _TIE))
    return ShiftTest(
        statistic=float(combined[0]),
        pvalue=(1 + reached) / (1 + count),
        null=null,
        effect=_effect(halves, tables, confidence, rng),
        views={name: float(score[0, 0]) for name, score in scores.items()},
        n_permutations=count,
        n_a=len(a),
        n_b=len(b),
        copies=before - len(a) - len(b),
    )


def _sets(a: Floats, b: Floats, copies: str) -> tuple[Floats, Floats]:
    """Both sets, checked, without copies."""
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"A has {a.shape[1]} features and B has {b.shape[1]}; both sets need the same features."
        )
    a, b = drop_copies(a, b, as_option(copies, "copies", ("auto", "drop", "keep")))
    for rows, name in ((a, "A"), (b, "B")):
        if len(rows) < _FEWEST_ROWS:
            raise InputError(
                f"{name} has {len(rows)} different rows; the shift test needs at least "
                f"{_FEWEST_ROWS} in each set."
            )
    if np.all(a == a[0]) and np.all(b == a[0]):
        raise InputError("All rows of A and B are equal: constant rows have no angles to compare.")
    return a, b


def _drawn(entries: Floats, count: int, rng: np.random.Generator) -> Floats:
    """`count` of the entries, at random: chosen by place, the true labels' would be special."""
    return entries[np.sort(rng.choice(len(entries), count, replace=False))]


def _standardise(total: Floats) -> Floats:
    """In standard deviations of the whole table: all entries alike, so that ranks stay fair."""
    deviation = total.std()
    if deviation == 0:
        return np.zeros_like(total)
    return np.asarray((total - total.mean()) / deviation)


def _effect(
    halves: Halves, tables: Mapping[str, Table], confidence: float, rng: np.random.Generator
) -> Estimate:
    """AUC on held-out rows, each half's frame in the view that its own rows favour."""
    values, strays = [], []
    for half in (0, 1):
        best = max(tables.values(), key=lambda entry: _standardise(entry.own[half])[0])
        scores, in_a = best.held_out[half], halves.labels[1 - half][0]
        values.append(rank_auc(scores[in_a], scores[~in_a]))
        strays.append(auc_spread(scores[in_a], scores[~in_a], _EFFECT_REPLICATES, rng))
    value = (values[0] + values[1]) / 2
    return Estimate(value, *interval(value, (strays[0] + strays[1]) / 2, confidence), confidence)


def _rows(X: Array, name: str) -> Floats:
    return np.asarray(to_numpy(as_rows(X, name)), dtype=np.float64)
