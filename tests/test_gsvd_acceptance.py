"""LAPACK's own acceptance test of a GSVD (its routine dgsvts3), with half of LAPACK's bound."""

import numpy as np
import pytest

from cospan import gsvd
from matrices import LAPACK_KINDS, LAPACK_SHAPES, ULP, acceptance_ratios, lapack_pair

BOUND = 10  # LAPACK accepts 20


@pytest.mark.parametrize("kind", range(8))
@pytest.mark.parametrize("shape", LAPACK_SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_every_ratio_stays_below_half_of_lapacks_bound(shape, kind):
    for seed in range(5):
        rng = np.random.default_rng([seed, kind, *shape])
        A, B = lapack_pair(rng, shape, LAPACK_KINDS[kind])
        result = gsvd(A, B)
        ratios = acceptance_ratios(A, B, result)
        assert max(ratios) < BOUND, f"seed {seed}: {ratios}"
        check_values(result)


def check_values(result):
    """c falls, s rises, c² + s² = 1 to 2 ulp, and what the blocks say is exact."""
    (r, k, t), c, s = result.blocks, result.c, result.s
    assert r + k + t == len(c) == len(s) == result.rank == len(result.H)
    assert np.all(np.diff(c) <= 0)
    assert np.all(np.diff(s) >= 0)
    assert np.abs(c**2 + s**2 - 1).max(initial=0) <= 2 * ULP
    assert np.array_equal(c[:r], np.ones(r))
    assert np.array_equal(s[:r], np.zeros(r))
    assert np.array_equal(c[r + k :], np.zeros(t))
    assert np.array_equal(s[r + k :], np.ones(t))
    assert np.all(c[r : r + k] > 0)
    assert np.all(s[r : r + k] > 0)


@pytest.mark.parametrize("kind", range(8))
@pytest.mark.parametrize("shape", LAPACK_SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_float32_passes_with_its_own_ulp(shape, kind):
    rng = np.random.default_rng([99, kind, *shape])
    A, B = (M.astype(np.float32) for M in lapack_pair(rng, shape, LAPACK_KINDS[kind]))
    result = gsvd(A, B)
    assert {x.dtype for x in (result.c, result.s, result.H, result.U, result.V)} == {A.dtype}
    assert max(acceptance_ratios(A, B, result, ulp=2.0**-23)) < BOUND


@pytest.mark.parametrize("shape", [(90, 80, 60), (200, 30, 60), (30, 20, 60), (400, 300, 40)])
@pytest.mark.parametrize("kind", [3, 4, 5, 6, 7])
def test_larger_pairs_pass_as_well(shape, kind):
    rng = np.random.default_rng([7, kind, *shape])
    A, B = lapack_pair(rng, shape, LAPACK_KINDS[kind])
    result = gsvd(A, B)
    assert max(acceptance_ratios(A, B, result)) < BOUND
    check_values(result)
