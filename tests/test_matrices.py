"""The helpers of the tests do what they say."""

import numpy as np
import pytest
from scipy.linalg import eigh, qr, svdvals

from matrices import (
    LAPACK_KINDS,
    LAPACK_SHAPES,
    ULP,
    acceptance_ratios,
    arithmetic_spectrum,
    geometric_spectrum,
    hadamard_pair,
    kahan,
    lapack_pair,
    low_rank_images,
    orthonormal,
    pair_with_angles,
    with_spectrum,
)


def test_orthonormal_columns_are_orthonormal():
    Q = orthonormal(np.random.default_rng(0), 9, 4)
    assert np.abs(Q.T @ Q - np.eye(4)).max() < 9 * ULP


def test_orthonormal_says_when_the_columns_do_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        orthonormal(np.random.default_rng(0), 3, 4)


def test_spectra_have_norm_and_condition_number_asked_for():
    geometric, arithmetic = geometric_spectrum(5, 81.0, 10.0), arithmetic_spectrum(5, 5.0, 1000.0)
    assert np.allclose(geometric, 10.0 / 3.0 ** np.arange(5), rtol=1e-15)
    assert np.allclose(arithmetic, [1000, 800, 600, 400, 200], rtol=1e-15)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (0, 3)])
@pytest.mark.parametrize("form", ["diagonal", "upper", "lower", "dense"])
def test_with_spectrum_has_the_singular_values_and_the_form(shape, form):
    values = geometric_spectrum(min(shape), 100.0, 10.0)
    M = with_spectrum(np.random.default_rng(1), *shape, values, form)
    assert M.shape == shape
    if min(shape):
        assert np.abs(svdvals(M) - values).max() < 50 * ULP * 10.0
    if form in ("upper", "diagonal"):
        assert np.array_equal(M, np.triu(M))
    if form in ("lower", "diagonal"):
        assert np.array_equal(M, np.tril(M))


def test_lapack_pairs_are_eight_kinds_of_eight_shapes_with_norms_10_and_1000():
    assert len(LAPACK_SHAPES) == len(LAPACK_KINDS) == 8
    for shape in LAPACK_SHAPES:
        for kind in LAPACK_KINDS:
            A, B = lapack_pair(np.random.default_rng(2), shape, kind)
            assert A.shape == (shape[0], shape[2])
            assert B.shape == (shape[1], shape[2])
            if A.size:
                assert np.isclose(np.linalg.norm(A, 2), 10.0)
            if B.size:
                assert np.isclose(np.linalg.norm(B, 2), 1000.0)


def test_pair_with_angles_has_them_as_generalized_eigenvalues():
    theta = np.array([0.2, 0.7, 1.1, 1.4])
    A, B, known = pair_with_angles(np.random.default_rng(3), theta, 9, 8, 4, condition=10.0)
    eigenvalues = eigh(B.T @ B, A.T @ A, eigvals_only=True)
    assert np.abs(np.arctan(np.sqrt(eigenvalues)) - known).max() < 1e-12


def test_pair_with_angles_has_the_ranks_its_blocks_say():
    theta = [0.0, 0.0, 0.5, 1.0, np.pi / 2]
    A, B, _ = pair_with_angles(np.random.default_rng(4), theta, 7, 6, 9)
    ranks = [np.linalg.matrix_rank(M) for M in (A, B, np.vstack([A, B]))]
    assert ranks == [4, 3, 5]


def test_hadamard_pair_is_exact():
    A, B, theta = hadamard_pair()
    longer = [M.astype(np.longdouble) for M in (A, B)]
    c2, s2 = np.cos(theta) ** 2, np.sin(theta) ** 2
    # AᵀA + BᵀB = Hᵀ diag(c² + s²) H and both have entries of a few bits: nothing may round
    total = longer[0].T @ longer[0] + longer[1].T @ longer[1]
    assert np.isclose(float(np.trace(total)), np.sum(np.maximum(c2, s2) ** -1 * (c2 + s2)))
    for M in longer:
        assert np.array_equal(M * 2.0**46, np.round(M * 2.0**46))
    assert np.tan(theta).max() >= 1e12
    assert np.tan(theta).min() <= 1e-12


def test_kahan_matrix_hides_its_rank_from_pivoting():
    K = kahan(90)
    R = np.abs(np.diag(qr(K, mode="r", pivoting=True)[0]))
    assert svdvals(K)[-1] / svdvals(K)[0] < 90 * ULP < R.min() / R.max()


def test_low_rank_images_have_their_rank_and_dead_columns():
    X = low_rank_images(np.random.default_rng(5), 60, 20, d=80, dead=10)
    assert np.linalg.matrix_rank(X) == 20
    assert np.count_nonzero(~X.any(axis=0)) == 10


def test_acceptance_ratios_see_a_wrong_digit_in_each_factor():
    class Result:
        blocks = (0, 2, 0)
        c, s = np.full(2, 0.6), np.full(2, 0.8)
        U = V = H = np.eye(2)

    A, B = 0.6 * np.eye(2), 0.8 * np.eye(2)
    assert max(acceptance_ratios(A, B, Result)) == 0.0
    assert acceptance_ratios(A * (1 + 100 * ULP), B, Result).A > 10
    assert acceptance_ratios(A, B * (1 + 100 * ULP), Result).B > 10
    Result.U = np.eye(2) * (1 + 100 * ULP)
    assert acceptance_ratios(A, B, Result).U > 10
    assert acceptance_ratios(A, B, Result).V == 0.0
