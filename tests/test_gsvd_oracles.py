"""The GSVD against answers that come from somewhere else."""

import itertools

import gsvd4py
import mpmath
import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles, svdvals

from cospan import gsvd, gsvdvals
from matrices import ULP, hadamard_pair, orthonormal, pair_with_angles


def test_hadamard_pairs_without_rounding_are_right_to_1e_14():
    """c/s from 2**-40 to 2**40: a tiny c has an absolute error of eps, as every backward
    stable way, so its ratio is right to eps times 2**40."""
    for seed in range(5):
        A, B, theta = hadamard_pair(seed)
        result = gsvd(A, B)
        assert result.blocks == (0, 64, 0)
        assert np.abs(result.angles - theta).max() < 1e-14
        small = np.minimum(np.sin(theta), np.cos(theta))
        assert np.abs(np.minimum(result.c, result.s) - small).max() < 64 * ULP
        assert np.abs(np.tan(result.angles) / np.tan(theta) - 1).max() < 1e-2


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_error_follows_the_condition_of_the_frame(condition):
    rng = np.random.default_rng(11)
    known = pair_with_angles(rng, np.linspace(0.01, 1.56, 30), 40, 50, 30, condition=condition)
    error = np.abs(gsvd(known.A, known.B).angles - known.theta).max()
    assert error < 20 * ULP * condition


def small_pairs():
    """Pairs of integers, so that mpmath sees exactly what we see; every fifth lacks rank."""
    rng = np.random.default_rng(2024)
    for case in itertools.count():
        d = int(rng.integers(1, 6))
        p, q = int(rng.integers(1, 8)), int(rng.integers(1, 8))
        if p + q < d:
            p = d
        A = rng.integers(-9, 10, (p, d)).astype(float)
        B = rng.integers(-9, 10, (q, d)).astype(float)
        if case % 5 == 0 and min(p, d) > 1:
            A[-1] = A[0] - 2 * A[1 % len(A)]
        if np.linalg.matrix_rank(np.vstack([A, B])) == d:
            yield A, B


def exact_angles(A, B):
    """Angles from the eigenvalues c² of AᵀA relative to AᵀA + BᵀB, with 60 digits."""
    with mpmath.workdps(60):
        A, B = mpmath.matrix(A.tolist()), mpmath.matrix(B.tolist())
        gram_a = A.T * A
        L = mpmath.cholesky(gram_a + B.T * B)
        inverse = L**-1
        c2 = mpmath.eigsy(inverse * gram_a * inverse.T, eigvals_only=True)
        c2 = [min(max(x, mpmath.mpf(0)), mpmath.mpf(1)) for x in c2]
        return np.sort([float(mpmath.atan2(mpmath.sqrt(1 - x), mpmath.sqrt(x))) for x in c2])


def test_small_pairs_agree_with_sixty_digits():
    pairs = list(itertools.islice(small_pairs(), 100))
    assert len(pairs) == 100
    worst = 0.0
    for A, B in pairs:
        error = np.abs(gsvd(A, B).angles - exact_angles(A, B)).max()
        worst = max(worst, error / np.linalg.cond(np.vstack([A, B])))
    assert worst < 50 * ULP


# Pairs of the test suites and manuals of others, and the cosines that they print.
PRINTED = {
    "MATLAB's manual": (
        [[1, 6, 11], [2, 7, 12], [3, 8, 13], [4, 9, 14], [5, 10, 15]],
        [[8, 1, 6], [3, 5, 7], [4, 9, 2]],
        np.cos(np.arctan2(1, [5.0123, 0.3325, 0.0])),
    ),
    "pygsvd, square": (
        [[4, 8, 1], [7, 1, 1], [2, 3, 9]],
        [[7, 1, 8], [4, 5, 8], [10, 4, 2]],
        [0.89024453, 0.74405777, 0.50010785],
    ),
    "pygsvd, rank-deficient": (
        [[4, 1, 8, 5], [7, 1, 0, 8], [3, 0, 5, 4], [9, 6, 6, 6]],
        [[0, 0, 0, 0], [9, 6, 5, 6], [7, 0, 2, 0], [8, 5, 2, 9]],
        [1.0, 0.90854017, 0.60533208, 0.034184068],
    ),
}


@pytest.mark.parametrize("case", PRINTED)
def test_the_values_that_others_print(case):
    A, B, c = PRINTED[case]
    for dtype in (np.int16, np.complex128):
        found = gsvd(np.array(A, dtype), np.array(B, dtype))
        assert found.c.dtype == np.float64
        assert np.abs(found.c - c).max() < (2e-5 if "MATLAB" in case else 1e-7)


def test_orthonormal_stack_gives_the_singular_values_of_its_parts():
    """For a stack with orthonormal columns the GSVD is the CS decomposition."""
    Q = orthonormal(np.random.default_rng(1), 30, 8)
    c, s = gsvdvals(Q[:18], Q[18:])
    assert np.abs(c - svdvals(Q[:18])).max() < 30 * ULP
    assert np.abs(s[::-1] - svdvals(Q[18:])).max() < 30 * ULP


def test_angles_are_the_principal_angles_to_the_coordinate_space_of_A():
    stack = np.random.default_rng(2).standard_normal((25, 6))
    axes_of_A = np.eye(25)[:, :14]
    expected = np.sort(subspace_angles(stack, axes_of_A))
    assert np.abs(gsvd(stack[:14], stack[14:]).angles - expected).max() < 1e-13


def test_squared_ratios_are_generalized_eigenvalues():
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((20, 7)), rng.standard_normal((15, 7))
    c, s = gsvdvals(A, B)
    expected = eigh(A.T @ A, B.T @ B, eigvals_only=True)[::-1]
    assert np.allclose((c / s) ** 2, expected, rtol=1e-11)


@pytest.mark.parametrize("shape", [(9, 12, 15), (20, 10, 8), (12, 10, 20), (40, 15, 20), (3, 4, 9)])
@pytest.mark.parametrize("complex_entries", [False, True])
def test_lapack_finds_the_same_cosines(shape, complex_entries):
    p, q, d = shape
    rng = np.random.default_rng([4, *shape])
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    if complex_entries:
        A = A + 1j * rng.standard_normal((p, d))
    c, s = gsvdvals(A, B)
    expected_c, expected_s = gsvd4py.gsvdvals(A, B.astype(A.dtype))
    assert np.abs(c - expected_c).max() < 1e-12
    assert np.abs(s - expected_s).max() < 1e-12


def test_an_identity_gives_singular_values_and_a_square_B_those_of_the_quotient():
    rng = np.random.default_rng(5)
    for A in (rng.standard_normal((110, 100)), rng.standard_normal((80, 100))):
        assert np.allclose(gsvd(A, np.eye(100)).values[: len(A)], svdvals(A), rtol=1e-10)
    A, B = np.arange(1.0, 16).reshape(3, 5, order="F"), rng.standard_normal((5, 5))
    assert np.allclose(gsvd(A, B).values[:3], svdvals(A @ np.linalg.inv(B)), rtol=0, atol=1e-12)
