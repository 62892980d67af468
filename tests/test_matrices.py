"""The helpers of the tests do what they say."""

import numpy as np
import pytest
from scipy.linalg import svdvals

from matrices import (
    LAPACK_KINDS,
    LAPACK_SHAPES,
    ULP,
    acceptance_ratios,
    geometric_spectrum,
    lapack_pair,
    pair_with_angles,
    with_spectrum,
)


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


def test_pair_with_angles_has_the_ranks_its_blocks_say():
    theta = [0.0, 0.0, 0.5, 1.0, np.pi / 2]
    A, B, _ = pair_with_angles(np.random.default_rng(4), theta, 7, 6, 9)
    ranks = [np.linalg.matrix_rank(M) for M in (A, B, np.vstack([A, B]))]
    assert ranks == [4, 3, 5]


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
