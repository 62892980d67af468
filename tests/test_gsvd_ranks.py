"""Ranks and tolerances: pairs on which a rank, a tiny cosine or a scale is easily got wrong."""

import numpy as np
import pytest
from scipy.linalg import svdvals

from cospan import gsvd, gsvdvals
from cospan.decomposition.cosine_sine import norm2, reorthogonalized
from matrices import (
    ULP,
    acceptance_ratios,
    kahan,
    low_rank_images,
    orthonormal,
    pair_with_angles,
    with_spectrum,
)


def numerical_rank(M, eps=ULP):
    values = svdvals(M)
    return int(np.count_nonzero(values > max(M.shape) * eps * values[0]))


def test_blocks_follow_the_ranks_of_low_rank_images():
    rng = np.random.default_rng(0)
    A, B = low_rank_images(rng, 120, 70, d=150, dead=20), low_rank_images(rng, 110, 60, 150, 20)
    result = gsvd(A, B)
    assert result.blocks == (70, 0, 60) or sum(result.blocks) == result.rank
    r, k, t = result.blocks
    assert (r + k, k + t, r + k + t) == (70, 60, 130)
    assert max(acceptance_ratios(A, B, result)) < 10


def test_digits_0_and_7_have_no_spurious_cosines(mnist):
    """A tiny c (7e-13) that is only rounding must not become a shared direction."""
    A, B = (mnist.draw(digit, n, seed=0) for digit, n in ((0, 900), (7, 800)))
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    result = gsvd(A, B)
    r, k, t = result.blocks
    assert r + k == numerical_rank(A)
    assert k + t == numerical_rank(B)
    assert result.rank == numerical_rank(np.vstack([A / svdvals(A)[0], B / svdvals(B)[0]]))
    assert max(acceptance_ratios(A, B, result)) < 10
    assert min(result.c[r : r + k].min(), result.s[r : r + k].min()) > 1e-10


def test_rank_is_judged_by_the_eps_of_the_input():
    """Float32 rows held in float64 need a tolerance of float32."""
    rng = np.random.default_rng(2)
    A, B = (rng.standard_normal((60, 12)) @ rng.standard_normal((12, 40)) for _ in range(2))
    for dtype in (np.float32, np.float64):
        assert gsvd(A.astype(dtype), B.astype(dtype)).blocks == (12, 0, 12)
    A, B = (M.astype(np.float32).astype(np.float64) for M in (A, B))
    assert gsvd(A, B).rank > 24
    assert gsvd(A, B, tol=60 * 2.0**-23).blocks == (12, 0, 12)


def test_tol_is_relative_and_drops_what_lies_below_it():
    rng = np.random.default_rng(3)
    A = with_spectrum(rng, 20, 6, [1.0, 0.5, 1e-2, 1e-4, 1e-6, 1e-8])
    B = np.zeros((1, 6))
    for scale in (1.0, 1e-30, 1e30):
        ranks = [gsvd(scale * A, B, tol=tol).rank for tol in (None, 1e-7, 1e-5, 1e-3)]
        assert ranks == [6, 5, 4, 3]


def test_kahan_matrix_does_not_fool_the_rank_decision():
    K = kahan(90)
    B = np.zeros((1, 90))
    assert gsvd(K, B).rank == numerical_rank(K)
    assert gsvd(B, K).rank == numerical_rank(K)


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e-150, 1e150])
def test_norms_far_apart_leave_both_residuals_small(scale):
    rng = np.random.default_rng(4)
    A, B = scale * rng.standard_normal((50, 20)), rng.standard_normal((40, 20))
    result = gsvd(A, B)
    assert result.blocks == (0, 20, 0)
    assert max(acceptance_ratios(A, B, result)) < 10
    assert np.allclose(result.c / result.s / scale, gsvd(A / scale, B).c / gsvd(A / scale, B).s)


def test_many_directions_with_cosine_near_one_keep_the_residual_of_B_small():
    """An SVD of the top block alone mixes these, and B's residual grows like eps / s."""
    rng = np.random.default_rng(5)
    theta = np.concatenate([np.full(10, 1e-7), np.geomspace(1e-7, 1e-6, 10), [0.5, 1.0]])
    A, B, theta = pair_with_angles(rng, theta, 40, 30, 22)
    result = gsvd(A, B)
    assert max(acceptance_ratios(A, B, result)) < 10
    assert np.abs(result.angles - theta).max() < 1e-14


def test_values_on_both_sides_of_the_middle_are_right():
    theta = np.linspace(np.arccos(0.31), np.arccos(0.29), 9)
    theta = np.concatenate([np.pi / 2 - theta, [np.pi / 4] * 3, theta])
    A, B, theta = pair_with_angles(np.random.default_rng(6), theta, 40, 30, 21)
    result = gsvd(A, B)
    assert np.abs(result.angles - theta).max() < 1e-14
    assert max(acceptance_ratios(A, B, result)) < 10


def test_equal_sets_meet_at_45_degrees():
    A = np.random.default_rng(7).standard_normal((30, 8))
    result = gsvd(A, A[::-1])
    assert result.blocks == (0, 8, 0)
    assert np.abs(result.angles - np.pi / 4).max() < 1e-14


def test_sets_in_orthogonal_spaces_share_nothing():
    Q = orthonormal(np.random.default_rng(8), 12, 9)
    rng = np.random.default_rng(9)
    A, B = rng.standard_normal((20, 4)) @ Q[:, :4].T, rng.standard_normal((20, 5)) @ Q[:, 4:].T
    assert gsvd(A, B).blocks == (4, 0, 5)


def test_zero_matrices_and_zero_columns():
    A = np.zeros((4, 3))
    assert gsvd(A, A).blocks == (0, 0, 0)
    assert gsvd(A, A).H.shape == (0, 3)
    B = np.array([[0.0, 2.0, 0.0]])
    result = gsvd(A, B)
    assert result.blocks == (0, 0, 1)
    assert np.array_equal(np.abs(result.H), [[0.0, 2.0, 0.0]])
    assert gsvdvals(B, A)[0].tolist() == [1.0]


def test_duplicated_columns_count_once():
    X = np.random.default_rng(10).standard_normal((30, 4))
    Y = np.random.default_rng(11).standard_normal((20, 4))
    single, doubled = gsvd(X, Y), gsvd(np.hstack([X, X]), np.hstack([Y, Y]))
    assert doubled.blocks == single.blocks
    assert np.abs(doubled.angles - single.angles).max() < 1e-13


@pytest.mark.parametrize("exponent", [-290, -160, 160, 290])
def test_both_norms_near_the_ends_of_the_range(exponent):
    rng = np.random.default_rng(12)
    A, B = rng.standard_normal((9, 5)), rng.standard_normal((8, 5))
    expected = gsvd(A, B).angles
    result = gsvd(A * 10.0**exponent, B * 10.0**exponent)
    assert np.abs(result.angles - expected).max() < 1e-13
    assert np.isfinite(result.H).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers_of_the_dtype_are_not_lost(dtype):
    most = np.finfo(dtype).max
    A, B = np.diag(np.array([0.9, 0.3], dtype) * most), np.eye(2, dtype=dtype)
    result = gsvd(A, B)
    assert result.blocks == (0, 2, 0)
    left, right = result.reconstruct()
    assert np.allclose(left / most, A / most)
    assert np.allclose(right, B)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(np.float32, 1e-30, 1e30), (np.float64, 1e-200, 1e200)]
)
def test_scales_further_apart_than_the_dtype_reaches(dtype, low, high):
    """One direction each of A and of B, and a shared one whose c underflows."""
    A = np.array([[low, 0, 0], [0, low, 0]], dtype)
    B = np.array([[0, high, 0], [0, 0, high]], dtype)
    for result, c in ((gsvd(A, B), [1, 0, 0]), (gsvd(B, A), [1, 1, 0])):
        assert result.blocks == (1, 1, 1)
        assert result.c.tolist() == c
        assert np.abs(result.c**2 + result.s**2 - 1).max() == 0
    left, right = gsvd(A, B).reconstruct()
    assert np.allclose(left[0] / dtype(low), [1, 0, 0])
    assert np.allclose(right / dtype(high), B / dtype(high))


def test_the_norm_is_found_where_the_heaviest_row_is_orthogonal_to_its_direction():
    rows = np.vstack([[1.0, 0.0], np.tile([0.0, 0.9], (40, 1))])
    assert norm2(rows) == pytest.approx(0.9 * np.sqrt(40), rel=0.05)


def test_rounding_a_little_above_the_tolerance_is_no_direction():
    """In a few of these, a strength that is only rounding in the stack lies above A's tolerance."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 5))
        B = rng.standard_normal((6, 5)) @ rng.standard_normal((5, 5))
        assert gsvd(A, B).blocks == (0, 2, 3)


def test_a_singular_value_just_below_the_tolerance_is_dropped():
    """Estimates put it above: the norm comes out too low by a per cent or two."""
    values = np.r_[np.linspace(1, 0.9, 29), 0.99e-6]
    for seed in range(4):
        A = with_spectrum(np.random.default_rng(seed), 60, 30, values)
        assert gsvd(A, np.zeros((1, 30)), tol=1e-6).rank == 29


def test_many_entries_below_the_tolerance_make_a_direction_together():
    """Pivoted QR sees 0.9e-6 at a time; the nine have norm 2.7e-6."""
    A = np.zeros((12, 10))
    A[0, 0], A[1, 1:] = 1.0, 0.9e-6
    assert gsvd(A, np.zeros((1, 10)), tol=1e-6).rank == 2


def test_columns_that_nearly_lie_in_the_span_of_the_others_come_out_orthonormal():
    """Taking off that span once leaves rounding of it behind, which normalizing magnifies."""
    rng = np.random.default_rng(13)
    Q = orthonormal(rng, 40, 12)
    U = np.hstack([Q[:, :10], Q[:, :2] + 1e-13 * Q[:, 10:]])
    V, c, s = orthonormal(rng, 30, 3), np.r_[np.full(10, 0.9), 1e-16, 1e-16], np.full(3, 0.9)
    found, _ = reorthogonalized(U, V, c, s)
    assert np.abs(found.T @ found - np.eye(12)).max() < 50 * ULP
    _, found = reorthogonalized(V, U[:, ::-1], s, c[::-1])
    assert np.abs(found.T @ found - np.eye(12)).max() < 50 * ULP


def test_zero_tolerance_with_few_rows():
    rng = np.random.default_rng(6)
    for p, q, d in ((3, 3, 5), (8, 3, 5), (3, 8, 5), (2, 2, 9), (40, 3, 60)):
        f = gsvd(rng.standard_normal((p, d)), rng.standard_normal((q, d)), tol=0)
        for Q, rows in ((f.U, p), (f.V, q)):
            assert Q.shape == (rows, min(rows, d))
            assert np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < 1e-13
