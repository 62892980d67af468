"""Distances between two samples of rows, and how far what they span is aligned.

The kernel and energy distances are quadratic forms of the labels, so that one matrix product
gives the statistic for every permutation at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.spatial.distance
import scipy.stats

from cospan.base.packages import needed
from cospan.base.tolerance import EQUAL_STATISTICS
from cospan.base.types import Floats


class Tested(NamedTuple):
    """A value, and the p-value of "both samples come from one distribution"."""

    value: float
    p_value: float


def frechet_distance(A: Floats, B: Floats) -> float:
    """Squared Fréchet distance of two Gaussian fits, as the FID of generative models.

    ``|mean difference|² + tr(S_A + S_B - 2 (S_A S_B)^½)``, covariances with divisor n - 1. The
    trace of the root is the sum of the singular values of R_A R_Bᵀ, with R the triangular factors
    of the centred rows: no root of a matrix is taken.
    """
    means = A.mean(axis=0), B.mean(axis=0)
    factors = [
        scipy.linalg.qr((rows - mean) / np.sqrt(len(rows) - 1), mode="r")[0][: rows.shape[1]]
        for rows, mean in zip((A, B), means, strict=True)
    ]
    traces = sum(float(np.sum(R * R)) for R in factors)
    cross = float(scipy.linalg.svdvals(factors[0] @ factors[1].T).sum())
    step = means[0] - means[1]
    return max(float(step @ step) + traces - 2 * cross, 0.0)


def mmd(A: Floats, B: Floats, *, permutations: int = 199, random_state: int = 0) -> Tested:
    """Squared maximum mean discrepancy, unbiased, with a Gaussian kernel.

    The bandwidth is the median distance between rows of both sets. Unbiased means that it can be
    a little below 0 where nothing differs.
    """
    distances = _distances(A, B)
    bandwidth = float(np.median(distances[np.triu_indices(len(distances), 1)]))
    # Where most rows are equal the median is 0: the mean distance serves, and 1 where all are.
    bandwidth = bandwidth or float(distances.mean()) or 1.0
    kernel = np.exp(-0.5 * (distances / bandwidth) ** 2)
    np.fill_diagonal(kernel, 0.0)  # a row is not compared with itself
    within = (len(A) * (len(A) - 1), len(B) * (len(B) - 1))
    values = _for_permutations(kernel, len(A), within, permutations, random_state)
    return Tested(float(values[0]), _upper_tail(values))


def energy_distance(
    A: Floats, B: Floats, *, permutations: int = 199, random_state: int = 0
) -> Tested:
    """Energy distance, √(2 E|a - b| - E|a - a'| - E|b - b'|), in any dimension.

    For one feature it is what `scipy.stats.energy_distance` returns.
    """
    within = (len(A) ** 2, len(B) ** 2)
    values = -_for_permutations(_distances(A, B), len(A), within, permutations, random_state)
    return Tested(float(np.sqrt(max(values[0], 0.0))), _upper_tail(values))


def sliced_wasserstein(
    A: Floats, B: Floats, *, projections: int = 200, random_state: int = 0
) -> float:
    """Sliced Wasserstein distance of order 2: the mean over random lines, by POT."""
    with needed("The sliced Wasserstein distance"):
        import ot
    found = ot.sliced_wasserstein_distance(
        A, B, n_projections=projections, p=2, seed=np.random.RandomState(random_state)
    )
    return float(found)


def largest_column_distance(A: Floats, B: Floats) -> tuple[int, Tested]:
    """The column with the largest Kolmogorov-Smirnov distance; p times the number of columns."""
    # "asymp" keeps time and memory small; with a few hundred rows it is the exact one.
    method = "auto" if max(len(A), len(B)) <= 500 else "asymp"
    found = [scipy.stats.ks_2samp(a, b, method=method) for a, b in zip(A.T, B.T, strict=True)]
    p_values = [float(one.pvalue) for one in found]
    column = int(np.argmax([float(one.statistic) for one in found]))
    value = float(found[column].statistic)
    return column, Tested(value, min(1.0, len(found) * min(p_values)))


def _distances(A: Floats, B: Floats) -> Floats:
    rows = np.vstack([A, B])
    return np.asarray(scipy.spatial.distance.cdist(rows, rows))


def _for_permutations(
    matrix: Floats, n_a: int, within: tuple[int, int], permutations: int, random_state: int
) -> Floats:
    """Mean within A + mean within B - 2 mean between, for the data and then the permutations."""
    n = len(matrix)
    rng = np.random.default_rng(random_state)
    in_a = np.zeros((n, permutations + 1))
    in_a[:n_a, 0] = 1
    for column in range(1, permutations + 1):
        in_a[rng.permutation(n)[:n_a], column] = 1
    towards_a = matrix @ in_a
    sums_a = np.einsum("ij,ij->j", in_a, towards_a)
    between = towards_a.sum(axis=0) - sums_a
    sums_b = float(matrix.sum()) - sums_a - 2 * between
    values = sums_a / within[0] + sums_b / within[1] - 2 * between / (n_a * (n - n_a))
    return np.asarray(values, dtype=np.float64)


def _upper_tail(values: Floats) -> float:
    """Share of the permutations, the data among them, that are at least as large as the data."""
    # Equal permutations (many equal rows) may differ by rounding; they count as equal.
    slack = EQUAL_STATISTICS * float(np.abs(values).max(initial=0.0))
    return float(np.mean(values >= values[0] - slack))


def covariance_cka(A: Floats, B: Floats) -> float:
    """CKA of two sets of different rows in one feature space: the cosine of their covariances.

    1 where one covariance is a multiple of the other; blind to the means.
    """
    S, T = (np.atleast_2d(np.cov(rows, rowvar=False)) for rows in (A, B))
    size = float(np.linalg.norm(S) * np.linalg.norm(T))
    return float(np.sum(S * T)) / size if size else 0.0


def principal_angles(A: Floats, B: Floats, *, share: float = 0.9) -> Floats:
    """Angles in degrees, falling, between the main principal subspaces of two sets.

    The subspaces have the dimension in which the first of the two reaches `share` of its
    variance. Blind to the means and to how much variance there is.
    """
    spectra = [np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[1:] for rows in (A, B)]
    if any(not values.any() for values, _ in spectra):
        return np.zeros(0)  # a set that does not vary spans nothing
    needed = [
        int(np.searchsorted(np.cumsum(values**2), share * np.sum(values**2))) + 1
        for values, _ in spectra
    ]
    k = min(*needed, *(len(values) for values, _ in spectra))
    angles = scipy.linalg.subspace_angles(*(vectors[:k].T for _, vectors in spectra))
    return np.asarray(np.degrees(angles))
