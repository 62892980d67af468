"""Matrices whose generalized angles, ranks and spectra are known beforehand.

Every test of the decomposition builds its pairs here; ``test_matrices.py`` tests the builders.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import hadamard, qr

ULP = 2.0**-52

LAPACK_SHAPES = (
    (0, 4, 3),
    (5, 0, 10),
    (9, 12, 15),
    (10, 14, 12),
    (20, 10, 8),
    (12, 10, 20),
    (12, 20, 8),
    (40, 15, 20),
)

_BAD = np.sqrt(0.1 / ULP)
_WORSE = 0.1 / ULP
# form of A, form of B, condition number of A, condition number of B
LAPACK_KINDS = (
    ("diagonal", "upper", 100.0, 10.0),
    ("upper", "upper", 100.0, 10.0),
    ("lower", "upper", 100.0, 10.0),
    ("dense", "dense", 100.0, 10.0),
    ("dense", "dense", _BAD, _BAD),
    ("dense", "dense", _WORSE, _WORSE),
    ("dense", "dense", _BAD, _WORSE),
    ("dense", "dense", _WORSE, _BAD),
)


class KnownPair(NamedTuple):
    """A pair and the angles of its directions, in radians and rising."""

    A: np.ndarray
    B: np.ndarray
    theta: np.ndarray


def orthonormal(rng, n, k, complex_entries=False):
    """n x k with orthonormal columns."""
    if k > n:
        raise ValueError(f"{k} orthonormal columns do not fit into {n} dimensions")
    rows = rng.standard_normal((n, k))
    if complex_entries:
        rows = rows + 1j * rng.standard_normal((n, k))
    Q, R = np.linalg.qr(rows)
    diagonal = np.diag(R)
    return Q * (diagonal / np.where(diagonal == 0, 1, np.abs(diagonal)))


def geometric_spectrum(n, condition, norm):
    """n values falling from norm to norm / condition by a constant factor."""
    return norm * condition ** (-np.linspace(0.0, 1.0, n)) if n > 1 else np.full(n, norm)


def arithmetic_spectrum(n, condition, norm):
    """n values falling from norm to norm / condition by a constant difference."""
    return norm * np.linspace(1.0, 1.0 / condition, n) if n > 1 else np.full(n, norm)


def with_spectrum(rng, p, d, values, form="dense", complex_entries=False):
    """p x d matrix with the given min(p, d) singular values: diagonal, triangular or dense."""
    k = min(p, d)
    core = np.zeros((p, d), complex if complex_entries else float)
    core[np.arange(k), np.arange(k)] = values
    if form == "diagonal" or k == 0:
        return core
    left, right = (orthonormal(rng, n, n, complex_entries) for n in (p, d))
    dense = left @ core @ right
    if form == "upper":
        return np.triu(qr(dense, mode="r")[0])
    if form == "lower":
        return np.tril(qr(dense.T, mode="r")[0].T)
    return dense


def lapack_pair(rng, shape, kind, complex_entries=False):
    """One pair of LAPACK's own GSVD test: A geometric with norm 10, B arithmetic with norm 1000."""
    (p, q, d), (form_a, form_b, cond_a, cond_b) = shape, kind
    values_a = geometric_spectrum(min(p, d), cond_a, 10.0)
    values_b = arithmetic_spectrum(min(q, d), cond_b, 1000.0)
    A = with_spectrum(rng, p, d, values_a, form_a, complex_entries)
    B = with_spectrum(rng, q, d, values_b, form_b, complex_entries)
    return A, B


def pair_with_angles(rng, theta, p, q, d, condition=1.0):
    """A pair whose directions have exactly these angles: 0 is A alone, pi/2 is B alone.

    H has len(theta) rows and the given condition number.
    """
    theta = np.sort(np.asarray(theta, dtype=float))
    m = len(theta)
    c, s = np.cos(theta), np.sin(theta)
    c[theta == np.pi / 2] = 0.0
    in_a, in_b = np.count_nonzero(c), np.count_nonzero(s)
    H = with_spectrum(rng, m, d, geometric_spectrum(m, condition, 1.0))
    A = orthonormal(rng, p, in_a) @ (c[:in_a, None] * H[:in_a])
    B = orthonormal(rng, q, in_b) @ (s[m - in_b :, None] * H[m - in_b :])
    return KnownPair(A, B, theta)


def hadamard_pair(seed=0):
    """64 x 64 pair without any rounding: ratios c/s are powers of two from 2**40 to 2**-40.

    All three orthogonal factors hold +-1/8 only and every product is a sum of 64 terms that span
    fewer than 53 bits, so A and B are exact in double precision.
    """
    rng = np.random.default_rng(seed)
    base = hadamard(64) / 8.0

    def shuffled():
        signs = rng.choice([-1.0, 1.0], 64)
        return base[rng.permutation(64)][:, rng.permutation(64)] * signs

    exponent = np.round(np.linspace(40, -40, 64)).astype(int)
    c = np.ldexp(1.0, np.minimum(exponent, 0))
    s = np.ldexp(1.0, np.minimum(-exponent, 0))
    H = shuffled()
    return KnownPair((shuffled() * c) @ H, (shuffled() * s) @ H, np.arctan2(s, c))


def kahan(n, angle=1.2):
    """Kahan's triangular matrix: no diagonal entry of R is small, the last singular value is."""
    upper = np.triu(-np.cos(angle) * np.ones((n, n)), 1) + np.eye(n)
    # the factor makes the columns' norms strictly fall, so that pivoting keeps their order
    return np.sin(angle) ** np.arange(n)[:, None] * upper * (1 - 25 * ULP) ** np.arange(n)


def low_rank_images(rng, n, rank, d=784, dead=70):
    """Rows like centred MNIST images of one class: low rank, falling spectrum, dead columns."""
    live = d - dead
    basis = orthonormal(rng, live, rank) * geometric_spectrum(rank, 1e3, 100.0)
    rows = np.zeros((n, d))
    rows[:, dead // 2 : dead // 2 + live] = rng.standard_normal((n, rank)) @ basis.T
    return rows


class Ratios(NamedTuple):
    """What LAPACK's test measures, in units of its error bound."""

    A: float
    B: float
    U: float
    V: float


def acceptance_ratios(A, B, result, ulp=ULP):
    """Residuals and losses of orthogonality over size times norm times ulp, in 1-norms."""
    r, k, _ = result.blocks
    A, B, c, s, H, U, V = (
        _doubled(x) for x in (A, B, result.c, result.s, result.H, result.U, result.V)
    )
    return Ratios(
        _residual(A, U @ (c[: r + k, None] * H[: r + k]), ulp),
        _residual(B, V @ (s[r:, None] * H[r:]), ulp),
        _orthogonality(U, ulp),
        _orthogonality(V, ulp),
    )


def _doubled(x):
    """As NumPy's double precision, real or complex."""
    x = np.asarray(x)
    return x.astype(complex if x.dtype.kind == "c" else float)


def _norm1(M):
    # entries are scaled first: column sums of entries near 1e300 would overflow
    top = np.abs(M).max(initial=0.0)
    return top * np.abs(M / top).sum(axis=0).max(initial=0.0) if top > 0 else 0.0


def _residual(M, product, ulp):
    error, norm = _norm1(M - product), _norm1(M)
    if norm == 0.0:
        return 0.0 if error == 0.0 else np.inf
    return error / norm / (max(M.shape) * ulp)


def _orthogonality(Q, ulp):
    n, k = Q.shape
    return _norm1(np.eye(k) - Q.conj().T @ Q) / (max(n, 1) * ulp)


def sets_of(sizes, d, seed=0):
    """Sets with different means and scales along their own oblique directions."""
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)) @ rng.normal(size=(d, d))
        + 0.3 * rng.normal(size=d)
        for n in sizes
    ]
