"""Drmač's tangent algorithm: small tangents right relative to themselves."""

import mpmath
import numpy as np
import pytest

from cospan import gsvd
from cospan.errors import InputError
from matrices import acceptance_ratios


def graded_pair(seed=0, p=12, q=10, d=6, spread=12):
    """Well-conditioned rows in columns of very different units, and units differing from A to B."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    return A * 10.0 ** np.linspace(-spread, 0, d), B * 10.0 ** np.linspace(0, spread / 4, d)


def exact_values(A, B):
    """c/s with 80 digits, from the pencil (AᵀA, BᵀB)."""
    with mpmath.workdps(80):
        A, B = mpmath.matrix(A.tolist()), mpmath.matrix(B.tolist())
        inverse = mpmath.cholesky(B.T * B) ** -1
        squares = mpmath.eigsy(inverse * (A.T * A) * inverse.T, eigvals_only=True)
        return np.sort([float(mpmath.sqrt(abs(x))) for x in squares])[::-1]


@pytest.mark.parametrize("seed", range(5))
def test_tangents_are_right_relative_to_themselves(seed):
    A, B = graded_pair(seed)
    expected = exact_values(A, B)
    found = gsvd(A, B, method="tangent").values
    assert expected.min() < 1e-11
    assert np.abs(found / expected - 1).max() < 1e-13
    # the general way is right as well, next to 1
    assert np.abs(np.arctan(gsvd(A, B).values[:3]) - np.arctan(expected[:3])).max() < 1e-14


@pytest.mark.parametrize("shape", [(12, 10, 6), (4, 10, 6), (6, 6, 6), (1, 9, 7), (50, 40, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_same_gsvd(shape, dtype):
    p, q, d = shape
    rng = np.random.default_rng([1, *shape])
    A, B = (rng.standard_normal((n, d)).astype(dtype) for n in (p, q))
    A[:, -1] = B[:, -1] = 0
    f, expected = gsvd(A, B, method="tangent"), gsvd(A, B)
    eps = float(np.finfo(dtype).eps)
    assert f.blocks == expected.blocks
    assert f.c.dtype == dtype
    assert np.abs(f.c - expected.c).max() < 1e3 * eps
    assert np.abs(f.H - expected.H).max() < 1e4 * eps
    assert max(acceptance_ratios(A, B, f, ulp=eps)) < 20
    full = gsvd(A, B, method="tangent", full_matrices=True)
    assert full.U.shape == (p, p)
    assert gsvd(A, B, method="tangent", compute_uv=False).U is None


def test_what_it_cannot_do_is_said():
    A, B = graded_pair()
    for call, words in (
        (lambda: gsvd(A, B[:3], method="tangent"), "full column rank"),
        (lambda: gsvd(A, np.hstack([B[:, :5], B[:, :1]]), method="tangent"), "full column rank"),
        (lambda: gsvd(A + 1j, B, method="tangent"), "real NumPy"),
        (lambda: gsvd(A, B, method="tangent", tol=1e-3), "no tolerances"),
        (lambda: gsvd(A, B, method="svd"), "method is 'svd'"),
        (lambda: gsvd(A[:0], B, method="tangent"), "with rows"),
    ):
        with pytest.raises(InputError, match=words):
            call()
