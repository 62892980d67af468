"""LAPACK's own acceptance test of a GSVD (dgsvts3), with half of LAPACK's bound.

The GSVD is written once: every dtype and every array namespace passes it.
"""

import array_api_strict
import numpy as np
import pytest
import torch

from cospan import gsvd, gsvdvals
from cospan.errors import InputError
from matrices import (
    LAPACK_KINDS,
    LAPACK_SHAPES,
    ULP,
    acceptance_ratios,
    hadamard_pair,
    lapack_pair,
    orthonormal,
)

BOUND = 10  # LAPACK accepts 20
NAMESPACES = {"torch": torch, "strict": array_api_strict}
DTYPES = (np.float64, np.float32, np.complex128, np.complex64)
SHAPES = pytest.mark.parametrize("shape", LAPACK_SHAPES, ids=str)


@pytest.fixture(params=NAMESPACES)
def xp(request):
    return NAMESPACES[request.param]


def drawn_pair(shape, kind, dtype, seed):
    rng = np.random.default_rng([seed, kind, *shape])
    pair = lapack_pair(rng, shape, LAPACK_KINDS[kind], np.dtype(dtype).kind == "c")
    return [x.astype(dtype) for x in pair]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", range(8))
@SHAPES
def test_every_ratio_stays_below_half_of_lapacks_bound(shape, kind, dtype):
    for seed in range(2):
        A, B = drawn_pair(shape, kind, dtype, seed)
        result = gsvd(A, B)
        ratios = acceptance_ratios(A, B, result, ulp=np.finfo(dtype).eps)
        assert max(ratios) < BOUND, f"seed {seed}: {ratios}"
        check_values(result, float(np.finfo(dtype).eps))
        assert result.c.dtype == result.s.dtype == A.real.dtype
        assert result.H.dtype == result.U.dtype == result.V.dtype == dtype


def check_values(result, eps=ULP):
    """c falls, s rises, c² + s² = 1 to 2 ulp, and what the blocks say is exact."""
    (r, k, t), c, s = result.blocks, *(x.astype(float) for x in (result.c, result.s))
    assert r + k + t == len(c) == len(s) == result.rank == len(result.H)
    assert np.all(np.diff(c) <= 0)
    assert np.all(np.diff(s) >= 0)
    assert np.abs(c**2 + s**2 - 1).max(initial=0) <= 2 * eps
    assert np.all(c[:r] == 1)
    assert np.all(s[:r] == 0)
    assert np.all(c[r + k :] == 0)
    assert np.all(s[r + k :] == 1)
    assert np.all(c[r : r + k] > 0)
    assert np.all(s[r : r + k] > 0)


@pytest.mark.parametrize("shape", [(90, 80, 60), (200, 30, 60), (30, 20, 60), (400, 300, 40)])
@pytest.mark.parametrize("kind", [3, 5, 6])
def test_larger_pairs_pass_as_well(shape, kind):
    for dtype in (np.float64, np.complex128):
        A, B = drawn_pair(shape, kind, dtype, seed=7)
        result = gsvd(A, B)
        assert max(acceptance_ratios(A, B, result)) < BOUND
        check_values(result)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("kind", [0, 3, 6])
@SHAPES
def test_every_namespace_passes(xp, shape, kind, dtype):
    A, B = drawn_pair(shape, kind, dtype, seed=1)
    result = gsvd(xp.asarray(A), xp.asarray(B))
    assert type(result.H) is type(xp.asarray(A))
    if kind < 6:  # the others' smallest singular values sit on the tolerance itself
        assert result.blocks == gsvd(A, B).blocks
    assert max(acceptance_ratios(A, B, result)) < BOUND


def test_hadamard_pair_is_exact_in_every_namespace_and_not_written_to(xp):
    A, B, theta = hadamard_pair()
    given = xp.asarray(A.copy()), xp.asarray(B.copy())
    assert np.abs(np.asarray(gsvd(*given).angles) - theta).max() < 1e-14
    assert np.array_equal(np.asarray(given[0]), A)
    assert np.array_equal(np.asarray(given[1]), B)
    c, s = gsvdvals(*(xp.asarray(x.astype(np.float32)) for x in (A, B)))
    assert c.dtype == s.dtype == xp.float32


def test_bad_entries_are_found_in_every_namespace(xp):
    A, B = np.ones((3, 2)), np.ones((4, 2))
    B[2, 1] = np.nan
    with pytest.raises(InputError, match="B contains NaN at row 2, column 1"):
        gsvd(xp.asarray(A), xp.asarray(B))


# ---- complex pairs: adjoints where real ones have transposes, phases where those have signs ---


def complex_pair(seed, p=12, q=9, d=6):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, d)) + 1j * rng.standard_normal((n, d)) for n in (p, q)]


def test_a_real_pair_declared_complex_gives_the_real_answer():
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((11, 6)), rng.standard_normal((4, 6))
    real, declared = gsvd(A, B), gsvd(A.astype(complex), B)
    assert declared.blocks == real.blocks == (2, 4, 0)
    assert declared.H.dtype == np.complex128
    assert np.abs(declared.c - real.c).max() < 1e-14
    assert np.abs(declared.H - real.H).max() < 1e-12
    assert np.abs(declared.U - real.U).max() < 1e-12


def test_phases_turn_U_and_V_and_conjugation_conjugates():
    A, B = complex_pair(5)
    f, turned, conjugate = (
        gsvd(A, B),
        gsvd(A * np.exp(1j), B * np.exp(1j)),
        gsvd(A.conj(), B.conj()),
    )
    largest = np.take_along_axis(f.H, np.abs(f.H).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest.real > 0)
    assert np.abs(largest.imag).max() < 1e-14
    assert np.abs(turned.H - f.H).max() < 1e-12
    assert np.abs(turned.U - f.U * np.exp(1j)).max() < 1e-12
    assert np.abs(conjugate.c - f.c).max() < 1e-14
    assert np.abs(conjugate.H - f.H.conj()).max() < 1e-12


def test_ranks_of_complex_pairs():
    rng = np.random.default_rng(7)
    basis = orthonormal(rng, 12, 9, complex_entries=True).conj().T
    A = complex_pair(8, 20, 20, 4)[0] @ basis[:4]
    B = complex_pair(9, 20, 20, 5)[0] @ basis[4:]
    assert gsvd(A, B).blocks == (4, 0, 5)
    assert gsvd(A, np.vstack([A, B])).blocks == (0, 4, 5)
