"""Complex pairs: adjoints where real ones have transposes, phases where those have signs."""

import array_api_strict
import gsvd4py
import numpy as np
import pytest
import torch

from cospan import gsvd, gsvdvals
from matrices import (
    LAPACK_KINDS,
    LAPACK_SHAPES,
    acceptance_ratios,
    lapack_pair,
    orthonormal,
)

DTYPES = {np.complex64: 2.0**-23, np.complex128: 2.0**-52}


def complex_pair(seed, p=12, q=9, d=6, dtype=np.complex128):
    rng = np.random.default_rng(seed)
    return tuple(
        (rng.standard_normal((n, d)) + 1j * rng.standard_normal((n, d))).astype(dtype)
        for n in (p, q)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", range(8))
@pytest.mark.parametrize("shape", LAPACK_SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_lapacks_test_passes_with_half_its_bound(shape, kind, dtype):
    for seed in range(3):
        rng = np.random.default_rng([seed, kind, *shape])
        pair = lapack_pair(rng, shape, LAPACK_KINDS[kind], complex_entries=True)
        A, B = (x.astype(dtype) for x in pair)
        result = gsvd(A, B)
        assert max(acceptance_ratios(A, B, result, ulp=DTYPES[dtype])) < 10
        assert result.c.dtype == result.s.dtype == A.real.dtype
        assert result.H.dtype == result.U.dtype == result.V.dtype == A.dtype


@pytest.mark.parametrize("shape", [(60, 50, 20), (100, 3, 8), (4, 5, 30), (90, 80, 60)])
def test_tall_wide_and_larger_pairs(shape):
    A, B = complex_pair([1, *shape], *shape)
    result = gsvd(A, B)
    assert max(acceptance_ratios(A, B, result)) < 10


@pytest.mark.parametrize("shape", [(9, 12, 15), (20, 10, 8), (12, 10, 20), (40, 15, 20), (3, 4, 9)])
def test_lapacks_zggsvd3_finds_the_same_cosines(shape):
    A, B = complex_pair([2, *shape], *shape)
    c, s = gsvdvals(A, B)
    expected_c, expected_s = gsvd4py.gsvdvals(A, B)
    assert np.abs(c - expected_c).max() < 1e-12
    assert np.abs(s - expected_s).max() < 1e-12


def test_a_real_pair_declared_complex_gives_the_real_answer():
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((11, 6)), rng.standard_normal((4, 6))
    real, declared = gsvd(A, B), gsvd(A.astype(complex), B)
    assert declared.blocks == real.blocks == (2, 4, 0)
    assert np.abs(declared.c - real.c).max() < 1e-14
    assert np.abs(declared.H - real.H).max() < 1e-12
    assert np.abs(declared.U - real.U).max() < 1e-12


def test_the_largest_entry_of_each_direction_is_positive():
    A, B = complex_pair(4)
    H = gsvd(A, B).H
    largest = np.take_along_axis(H, np.abs(H).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest.real > 0)
    assert np.abs(largest.imag).max() < 1e-14


def test_a_phase_common_to_all_rows_turns_U_and_V_only():
    A, B = complex_pair(5)
    before, after = gsvd(A, B), gsvd(A * np.exp(1j), B * np.exp(1j))
    assert np.abs(after.H - before.H).max() < 1e-12
    assert np.abs(after.U - before.U * np.exp(1j)).max() < 1e-12


def test_conjugate_pairs_have_conjugate_factors():
    A, B = complex_pair(6)
    f, g = gsvd(A, B), gsvd(A.conj(), B.conj())
    assert np.abs(f.c - g.c).max() < 1e-14
    assert np.abs(f.H.conj() - g.H).max() < 1e-12


def test_ranks_of_complex_pairs():
    rng = np.random.default_rng(7)
    basis = orthonormal(rng, 12, 9, complex_entries=True).conj().T
    A = complex_pair(8, 20, 20, 4)[0] @ basis[:4]
    B = complex_pair(9, 20, 20, 5)[0] @ basis[4:]
    assert gsvd(A, B).blocks == (4, 0, 5)
    assert gsvd(A, np.vstack([A, B])).blocks == (0, 4, 5)


@pytest.mark.parametrize("xp", [torch, array_api_strict], ids=["torch", "strict"])
@pytest.mark.parametrize("kind", [0, 3, 5, 6])
@pytest.mark.parametrize("shape", [(9, 12, 15), (20, 10, 8), (12, 10, 20), (100, 90, 20)])
def test_other_namespaces_agree(xp, shape, kind):
    rng = np.random.default_rng([10, kind, *shape])
    A, B = lapack_pair(rng, shape, LAPACK_KINDS[kind], complex_entries=True)
    result = gsvd(xp.asarray(A), xp.asarray(B))
    assert type(result.H) is type(xp.asarray(A))
    assert max(acceptance_ratios(A, B, result)) < 10
    if kind in (0, 3):  # the others' smallest singular values sit on the tolerance itself
        assert result.blocks == gsvd(A, B).blocks


def test_one_complex_matrix_makes_the_pair_complex():
    A, B = complex_pair(11)
    for f in (gsvd(A.real, B), gsvd(A, B.real)):
        assert f.H.dtype == np.complex128
        assert f.c.dtype == np.float64
    left, right = gsvd(A.real, B).reconstruct()
    assert np.abs(left - A.real).max() < 1e-13
    assert np.abs(right - B).max() < 1e-13
