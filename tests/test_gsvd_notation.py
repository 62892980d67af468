"""What follows from the factors: other notations, pseudo-inverse, null spaces, projectors."""

import array_api_strict
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from cospan import gsvd
from cospan.errors import InputError
from matrices import pair_with_angles, with_spectrum

ANGLES = [0.0, 0.0, 0.3, 0.8, 1.2, np.pi / 2]
FOUR = {np.float32: 1e-5, np.float64: 1e-12, np.complex64: 1e-5, np.complex128: 1e-12}


def known(seed=0, d=9, p=11, q=8):
    return pair_with_angles(np.random.default_rng(seed), ANGLES, p, q, d)


def test_values_are_infinite_finite_and_zero():
    A, B, theta = known()
    f = gsvd(A, B)
    assert np.isinf(f.values[:2]).all()
    assert_allclose(f.values[2:5], 1 / np.tan(theta[2:5]), rtol=1e-13)
    assert f.values[5] == 0.0


@pytest.mark.parametrize("d", [6, 9, 30])
def test_X_is_the_pseudo_inverse_of_H(d):
    A, B, _ = known(1, d)
    f = gsvd(A, B)
    assert_allclose(f.X, np.linalg.pinv(f.H), atol=1e-13)
    assert_allclose(A @ f.X[:, :5], f.U * f.c[:5], atol=1e-13)
    assert_allclose(B @ f.X[:, 2:], f.V * f.s[2:], atol=1e-13)


@pytest.mark.parametrize("complex_entries", [False, True])
def test_null_spaces(complex_entries):
    A, B, _ = known(2)
    if complex_entries:
        turn = np.exp(1j * np.arange(9))
        A, B = A * turn, B * turn
    f = gsvd(A, B)
    for of, columns, matrices in (("both", 3, (A, B)), ("A", 4, (A,)), ("B", 5, (B,))):
        basis = f.null_space(of)
        assert basis.shape == (9, columns)
        assert_allclose(basis.conj().T @ basis, np.eye(columns), atol=1e-14)
        for matrix in matrices:
            assert np.abs(matrix @ basis).max() < 1e-14
    with pytest.raises(InputError, match="of is 'C'"):
        f.null_space("C")


@pytest.mark.parametrize("xp", [np, torch, array_api_strict], ids=["numpy", "torch", "strict"])
def test_other_notations_multiply_back(xp):
    A, B, _ = known(4)
    f = gsvd(xp.asarray(A), xp.asarray(B))
    U, V, X, C, S = (np.asarray(x) for x in f.matlab())
    assert_allclose(U @ C @ X.T, A, atol=1e-14)
    assert_allclose(V @ S @ X.T, B, atol=1e-14)
    assert np.all(np.diff(C.max(axis=0)) >= 0)
    assert_allclose(C.T @ C + S.T @ S, np.eye(6), atol=1e-14)
    U, V, Q, D1, D2, R0 = (np.asarray(x) for x in f.julia())
    assert_allclose(U @ D1 @ R0 @ Q.T, A, atol=1e-14)
    assert_allclose(V @ D2 @ R0 @ Q.T, B, atol=1e-14)
    assert_allclose(Q.T @ Q, np.eye(9), atol=1e-14)
    assert not R0[:, :3].any()
    form = f.lapack()
    assert (form.k, form.l) == (2, 4)
    # As ggsvd3 has them: d entries, 0 in both for directions that neither matrix has.
    assert_allclose(form.alpha, [*f.c, 0, 0, 0])
    assert_allclose(form.beta, [*f.s, 0, 0, 0])
    assert np.abs(np.tril(np.asarray(form.R), -1)).max() < 1e-14


@pytest.mark.parametrize("dtype", FOUR)
@pytest.mark.parametrize("shape", [(5, 4, 6), (6, 3, 4), (2, 4, 9)], ids=str)
def test_notations_of_every_shape_and_dtype(shape, dtype):
    p, q, d = shape
    rng = np.random.default_rng([42, *shape])
    A, B = (rng.standard_normal((n, d)).astype(dtype) for n in (p, q))
    if np.dtype(dtype).kind == "c":
        A, B = (X * np.exp(1j * rng.standard_normal(X.shape)).astype(dtype) for X in (A, B))
    f, atol = gsvd(A, B), 10 * FOUR[dtype]
    U, V, X, C, S = f.matlab()
    (r, k, t), m = f.blocks, f.rank
    assert (U.shape, V.shape, X.shape) == ((p, r + k), (q, k + t), (d, m))
    assert (C.shape, S.shape) == ((r + k, m), (k + t, m))
    assert_allclose(U @ C @ X.conj().T, A, atol=atol)
    assert_allclose(V @ S @ X.conj().T, B, atol=atol)
    U, V, Q, R, alpha, beta, k, l = f.lapack()  # noqa: E741
    middle, m = np.hstack([np.zeros((k + l, d - k - l)), R]) @ Q.conj().T, np.count_nonzero(alpha)
    assert_allclose(U[:, :m] @ (alpha[:m, None] * middle[:m]), A, atol=atol)
    assert_allclose(V[:, :l] @ (beta[k : k + l, None] * middle[k:]), B, atol=atol)
    for factor in (U, V, Q):
        assert factor.dtype == dtype
        assert_allclose(factor.conj().T @ factor, np.eye(factor.shape[1]), atol=atol)


def rank_profile_pair(seed):
    """Full ranks, or one less than full in A or in B, of 100 columns."""
    rng = np.random.default_rng(seed)
    ranks = ((100, 100), (100, 99), (99, 100), (80, 90))[seed % 4]
    return [
        with_spectrum(rng, rows, 100, np.r_[rng.uniform(0.5, 2.0, rank), np.zeros(100 - rank)])
        for rows, rank in zip(rng.integers(100, 131, 2), ranks, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_X_makes_both_matrices_diagonal_and_splits_the_space(seed):
    A, L = rank_profile_pair(seed)
    f = gsvd(A, L)
    (r, k, t), X, H = f.blocks, f.X, f.H
    assert (r + k, k + t) == (np.linalg.matrix_rank(A), np.linalg.matrix_rank(L))
    assert_allclose(X.T @ A.T @ A @ X, np.diag(f.c**2), atol=1e-10)
    assert_allclose(X.T @ L.T @ L @ X, np.diag(f.s**2), atol=1e-10)
    assert_allclose(X @ H, np.eye(100), atol=1e-10)
    assert np.linalg.norm(A @ f.null_space("A")) < 1e-10
    assert np.linalg.norm(L @ f.null_space("B")) < 1e-10
    for part in (slice(0, r), slice(r, None), slice(r + k, None), slice(0, r + k)):
        oblique = X[:, part] @ H[part]  # a projector
        assert_allclose(oblique @ oblique, oblique, atol=1e-10)
