"""The GSVD against answers that come from somewhere else."""

import itertools

import gsvd4py
import mpmath
import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles, svdvals

from cospan import gsvd, gsvdvals
from matrices import ULP, hadamard_pair, orthonormal, pair_with_angles


@pytest.mark.parametrize("seed", range(5))
def test_hadamard_pairs_without_rounding_are_right_to_1e_14(seed):
    A, B, theta = hadamard_pair(seed)
    result = gsvd(A, B)
    assert result.blocks == (0, 64, 0)
    assert np.abs(result.angles - theta).max() < 1e-14
    # both ends are right relative to themselves, not only next to 1
    assert np.abs(np.tan(result.angles) / np.tan(theta) - 1).max() < 1e-2


def test_hadamard_ratios_keep_their_digits():
    """c/s from 2**-40 to 2**40: a tiny c has an absolute error of eps, as every backward
    stable way, so its ratio is right to eps times 2**40."""
    A, B, theta = hadamard_pair()
    c, s = gsvdvals(A, B)
    small = np.minimum(np.sin(theta), np.cos(theta))
    assert np.abs(np.minimum(c, s) - small).max() < 64 * ULP


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
    pairs = list(itertools.islice(small_pairs(), 200))
    assert len(pairs) == 200
    worst = 0.0
    for A, B in pairs:
        error = np.abs(gsvd(A, B).angles - exact_angles(A, B)).max()
        worst = max(worst, error / np.linalg.cond(np.vstack([A, B])))
    assert worst < 50 * ULP


def test_the_small_case_of_matlabs_manual():
    A = np.arange(1.0, 16.0).reshape(5, 3, order="F")
    magic = np.array([[8.0, 1.0, 6.0], [3.0, 5.0, 7.0], [4.0, 9.0, 2.0]])
    result = gsvd(A, magic)
    assert result.blocks == (0, 2, 1)
    assert np.round(result.c / result.s, 4).tolist() == [5.0123, 0.3325, 0.0]


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
def test_lapack_finds_the_same_cosines(shape):
    p, q, d = shape
    rng = np.random.default_rng([4, *shape])
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    c, s = gsvdvals(A, B)
    expected_c, expected_s = gsvd4py.gsvdvals(A, B)
    assert np.abs(c - expected_c).max() < 1e-12
    assert np.abs(s - expected_s).max() < 1e-12
