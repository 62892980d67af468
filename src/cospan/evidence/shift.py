"""Two questions without a model: do two sets of rows differ; how far apart are groups of angles?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cospan.base.arrays import one_blas_thread, to_numpy
from cospan.base.checks import as_count, as_rows, as_seed, check_names, feature_names_of
from cospan.base.types import Array
from cospan.errors import InputError

from .distances import (
    angle_histogram,
    as_angles,
    fisher_rao,
    hellinger,
    overlap,
    smooth_distances,
)
from .engine import FEWEST_LABELLINGS, FEWEST_ROWS, find
from .findings import Finding
from .functions import Reading
from .size import Fold, Size, size_of


@dataclass(frozen=True)
class ShiftTest:
    """Whether two sets of rows can come from one distribution."""

    pvalue: float  # (1 + k) / (1 + n_permutations), where k relabellings stand out as far
    findings: tuple[Finding, ...]  # the columns that differ, the clearest first
    n_permutations: int  # how many relabellings
    n_a: int  # rows compared, without copies
    n_b: int


def shift_test(
    A: Array,
    B: Array,
    *,
    n_permutations: int = 999,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> ShiftTest:
    """Test whether the rows of A and of B come from one distribution.

    The means of many functions of a row are compared with those of relabelled rows. The p-value
    is exact whatever the distribution, the sizes and the dimension: under "no shift" it falls
    below 0.05 in 5 % of the cases. The units of the columns do not matter.

    Parameters
    ----------
    A, B
        Two sets of rows with the same features, at least four rows each, without missing values.
    n_permutations
        Relabellings behind the p-value, at least 19; it is at least 1 / (1 + n_permutations).
        Where the first 199 give more than 0.1, they are all that is drawn.
    groups
        One label for each row, A's first: rows of one group belong together (a patient, a day),
        and whole groups are relabelled. Without it rows are taken as drawn independently.
    random_state
        Seed of the relabellings; the same seed gives the same bits.

    Examples
    --------
    >>> from cospan import shift_test
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(80, 5)), rng.normal(size=(120, 5)) * [1, 1, 1, 1, 3]
    >>> found = shift_test(A, B)
    >>> found.pvalue, found.findings[0].column, found.findings[0].kind
    (0.001, 'x4', 'spread')
    >>> shift_test(A, rng.normal(size=(120, 5))).pvalue > 0.05
    True
    """
    a, b = (
        np.asarray(to_numpy(as_rows(rows, name)), dtype=np.float64)
        for rows, name in ((A, "A"), (B, "B"))
    )
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"A has {a.shape[1]} features and B has {b.shape[1]}; both sets need the same features."
        )
    names = feature_names_of(A)
    check_names(B, names, "B", whose="A's")
    for rows, name in ((a, "A"), (b, "B")):
        if len(rows) < FEWEST_ROWS:
            raise InputError(
                f"{name} has {len(rows)} rows; the shift test needs at least {FEWEST_ROWS} in "
                "each set."
            )
    if np.all(a == a[0]) and np.all(b == a[0]):
        raise InputError("All rows of A and B are equal: constant rows cannot be compared.")
    belongs = None if groups is None else np.asarray(groups)
    if belongs is not None and belongs.shape != (len(a) + len(b),):
        raise InputError(
            f"groups has shape {belongs.shape}; give one label for each of the "
            f"{len(a) + len(b)} rows, A's first."
        )
    read = [[Reading(j, "", values) for j, values in enumerate(rows.T)] for rows in (a, b)]
    count = as_count(n_permutations, "n_permutations", least=FEWEST_LABELLINGS)
    with one_blas_thread():
        found = find(
            names or [f"x{j}" for j in range(a.shape[1])], *read,
            permutations=count, seed=as_seed(random_state), groups=belongs,
        )  # fmt: skip
    return ShiftTest(found.p, found.findings, found.n_permutations, *found.rows)


@dataclass(frozen=True)
class Separation:
    """How far two groups of angles are apart."""

    auc: Size  # chance that a random angle of B exceeds a random angle of A
    fisher_rao: float  # in radians, up to π
    hellinger: float  # in [0, 1]
    overlap: float  # mass that both groups have in common
    n_a: int  # how many angles
    n_b: int


def separation(theta_a: ArrayLike, theta_b: ArrayLike, *, bins: int | None = None) -> Separation:
    """Measure how far two groups of angles lie apart.

    Parameters
    ----------
    theta_a, theta_b
        Angles in radians, of rows that the frame was not fitted to.
    bins
        By default the angles are read as calibrated ones: sin²θ is the probability of B, and
        Fisher-Rao, Hellinger and the overlap follow from it without any binning. With a number,
        they are those of the two histograms of so many bins, as the paper has them.

    Examples
    --------
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> found = separation(rng.uniform(0.0, 0.9, 200), rng.uniform(0.6, 1.5, 200))
    >>> round(float(found.auc), 2), found.auc.low < found.auc < found.auc.high
    (0.93, True)
    """
    a, b = as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b")
    auc = size_of([Fold(a, b)])
    if bins is None:
        smooth = smooth_distances(a, b)
        apart = smooth.fisher_rao, smooth.hellinger, smooth.overlap
    else:
        P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
        apart = fisher_rao(P, Q), hellinger(P, Q), overlap(P, Q)
    return Separation(auc, *apart, a.size, b.size)
