"""What the test suites of five other GSVDs ask for, asked of ours.

gsvd4py 0.4 (LAPACK through ctypes), easygsvd 0.0.4, pygsvd, Octave's ``gsvd`` and Julia's
``svd(A, B)``. Each test names the case it stands for; matrices and bounds are theirs, the code is
ours. Left out, because they are about wording and not about a GSVD:

- gsvd4py: which library was loaded, ``lwork``, ``mode="bad"``, the length of its tuples, the words
  "non-finite" and "2-D" (we raise an InputError, which is a ValueError, in other words).
- pygsvd: vectors taken as matrices of one row (we say how to reshape them), arrays of three
  dimensions refused (we take them as stacks), float32 raised to float64 (we keep it), the letters
  of its `extras`.
- Octave: the texts of its errors and warnings; a single with a double stays single there, and is
  raised to double here as everywhere in NumPy.
- Julia: equality and hashes of its objects, numbers in place of matrices, ``gsvd.Z``.
- easygsvd: operators in place of matrices, ``append_column`` (an update of the factors).
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cospan import gsvd, gsvdvals
from cospan.decomposition.forms import all_values
from cospan.errors import InputError

FOUR = {np.float32: 1e-5, np.float64: 1e-12, np.complex64: 1e-5, np.complex128: 1e-12}


def random_matrix(rng, rows, columns, dtype=np.float64):
    matrix = rng.standard_normal((rows, columns))
    if np.issubdtype(dtype, np.complexfloating):
        matrix = matrix + 1j * rng.standard_normal((rows, columns))
    return matrix.astype(dtype)


def check_products(f, A, B, rtol):
    left, right = f.reconstruct()
    assert_allclose(left, A, atol=rtol * np.linalg.norm(A), rtol=rtol)
    assert_allclose(right, B, atol=rtol * np.linalg.norm(B), rtol=rtol)


def check_orthonormal(X, atol):
    assert_allclose(X.conj().T @ X, np.eye(X.shape[1]), atol=atol)


# ---- gsvd4py ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FOUR)
@pytest.mark.parametrize("shape", [(5, 4, 6), (4, 4, 4), (3, 5, 6), (6, 3, 4)])
def test_gsvd4py_full_mode(shape, dtype):
    p, q, d = shape
    rng = np.random.default_rng(42)
    A, B = random_matrix(rng, p, d, dtype), random_matrix(rng, q, d, dtype)
    f = gsvd(A, B, full_matrices=True)
    U, V, X, C, S = f.matlab()
    assert (U.shape, V.shape, X.shape[0]) == ((p, p), (q, q), d)
    assert (C.shape, S.shape) == ((p, X.shape[1]), (q, X.shape[1]))
    for product, matrix in ((U @ C @ X.conj().T, A), (V @ S @ X.conj().T, B)):
        assert_allclose(product, matrix, atol=FOUR[dtype] * np.linalg.norm(matrix))
    check_orthonormal(U, 10 * FOUR[dtype])
    check_orthonormal(V, 10 * FOUR[dtype])
    assert {x.dtype for x in (U, V, X)} == {np.dtype(dtype)}


def test_gsvd4py_u_or_v_alone():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((4, 5)), rng.standard_normal((3, 5))
    both = gsvd(A, B)
    u, v, none = (gsvd(A, B, compute_uv=sides) for sides in ("U", "V", False))
    assert u.V is None
    assert v.U is None
    assert none.U is none.V is None
    assert_allclose(u.U, both.U, atol=1e-14)
    assert_allclose(v.V, both.V, atol=1e-14)
    for f in (u, v, none):
        assert_allclose(f.c, both.c, atol=1e-14)
        assert_allclose(f.H, both.H, atol=1e-13)


@pytest.mark.parametrize("shape", [(5, 4, 6), (4, 4, 4), (3, 5, 6), (6, 3, 4), (2, 4, 4)])
def test_gsvd4py_sorting(shape):
    p, q, d = shape
    rng = np.random.default_rng(42)
    f = gsvd(rng.standard_normal((p, d)), rng.standard_normal((q, d)))
    assert np.all(np.diff(f.c) <= 0)
    assert np.all(np.diff(f.s) >= 0)


def test_gsvd4py_sorting_where_cosines_cluster():
    rng = np.random.default_rng(43)
    c, s = gsvdvals(rng.standard_normal((200, 20)), rng.standard_normal((150, 20)))
    assert np.all(np.diff(c) <= 0)
    assert np.all(np.diff(s) >= 0)


def test_gsvd4py_two_infinite_values():
    A = np.random.default_rng(77).standard_normal((3, 3))
    f = gsvd(A, [[1.0, 0.0, 0.0]])
    assert f.blocks == (2, 1, 0)
    assert np.isinf(f.values).tolist() == [True, True, False]


def test_gsvd4py_identity_block():
    rng = np.random.default_rng(88)
    f = gsvd(rng.standard_normal((2, 4)), rng.standard_normal((4, 4)))
    assert f.blocks == (0, 2, 2)
    assert f.c[2:].tolist() == [0.0, 0.0]
    assert f.s[2:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gsvd4py_economy_mode(dtype):
    rng = np.random.default_rng(7)
    A, B = random_matrix(rng, 6, 5, dtype), random_matrix(rng, 4, 5, dtype)
    f = gsvd(A, B)
    assert (f.U.shape, f.V.shape, f.H.shape) == ((6, 5), (4, 4), (5, 5))
    check_products(f, A, B, 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gsvd4py_separate_mode(dtype):
    rng = np.random.default_rng(20)
    A, B = random_matrix(rng, 5, 6, dtype), random_matrix(rng, 4, 6, dtype)
    U, V, Q, R, alpha, beta, k, l = gsvd(A, B, full_matrices=True).lapack()  # noqa: E741
    m = k + l
    assert (Q.shape, R.shape) == ((6, 6), (m, m))
    assert np.allclose(np.tril(R, -1), 0)
    check_orthonormal(Q, 1e-13)
    middle = np.hstack([np.zeros((m, 6 - m)), R]) @ Q.conj().T
    rank = np.count_nonzero(alpha)
    assert_allclose(U[:, :rank] @ (alpha[:rank, None] * middle[:rank]), A, atol=1e-10)
    assert_allclose(V[:, :l] @ (beta[k:, None] * middle[k:]), B, atol=1e-10)


def test_gsvd4py_options():
    rng = np.random.default_rng(99)
    A, B = (np.asfortranarray(rng.standard_normal((n, 5))) for n in (4, 3))
    expected = gsvd(A, B)
    assert_allclose(gsvd(A, B, check_finite=False).c, expected.c)
    assert_allclose(gsvd(A.copy("F"), B.copy("F"), overwrite=True).c, expected.c)
    with pytest.raises(ValueError, match="NaN"):
        gsvd([[1.0, np.nan], [2.0, 3.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="columns"):
        gsvd(np.ones((3, 4)), np.ones((2, 5)))
    with pytest.raises(ValueError, match="two dimensions"):
        gsvd(np.ones(3), np.ones((2, 3)))
    assert gsvd([[1, 2, 3], [4, 5, 6]], [[1, 2, 3]]).U.dtype == np.float64


def test_gsvd4py_large():
    rng = np.random.default_rng(42)
    A, B = rng.standard_normal((200, 100)), rng.standard_normal((150, 100))
    check_products(gsvd(A, B), A, B, 1e-10)


def test_gsvd4py_rank_deficient_stack():
    rng = np.random.default_rng(42)
    span = np.linalg.qr(rng.standard_normal((10, 10)))[0][:, :4].T
    A, B = rng.standard_normal((8, 4)) @ span, rng.standard_normal((6, 4)) @ span
    f = gsvd(A, B)
    assert f.rank == 4
    check_products(f, A, B, 1e-10)


def test_gsvd4py_rank_deficient_A():
    rng = np.random.default_rng(43)
    A = rng.standard_normal((8, 3)) @ rng.standard_normal((3, 6))
    B = rng.standard_normal((5, 6))
    f = gsvd(A, B)
    assert f.blocks == (1, 2, 3)
    check_products(f, A, B, 1e-10)


def test_gsvd4py_infinite_values():
    rng = np.random.default_rng(101)
    A, B = rng.standard_normal((10, 8)), rng.standard_normal((4, 8))
    f = gsvd(A, B)
    assert f.lapack()[-2:] == (4, 4)
    assert f.c[:4].tolist() == [1.0] * 4
    assert f.s[:4].tolist() == [0.0] * 4
    check_products(f, A, B, 1e-10)


@pytest.mark.parametrize("dtype", FOUR)
def test_gsvd4py_tolerances(dtype):
    """Its tola and tolb are absolute, as our atol."""
    rng = np.random.default_rng(205)
    A, B = random_matrix(rng, 5, 4, dtype), random_matrix(rng, 3, 4, dtype)
    tiny = max(A.shape) * float(np.linalg.norm(A, 1)) * float(np.finfo(dtype).eps)
    check_products(gsvd(A, B, tol=0.0, atol=(tiny, 0.0)), A, B, FOUR[dtype])
    left, values, right = np.linalg.svd(A, full_matrices=False)
    values[-1] = 1e-3
    A = ((left * values) @ right).astype(dtype)
    assert gsvd(A, B).blocks == (1, 3, 0)
    assert gsvd(A, B, atol=(1e-2, 0.0)).blocks == (1, 2, 1)
    assert len(gsvdvals(A, B, atol=(float(values[0]) * 2, 0.0))[0]) == 3


# ---- easygsvd ---------------------------------------------------------------------------------


def full_column_rank_pair(seed, d=100):
    rng = np.random.default_rng(seed)
    p, q = (int(n) for n in rng.integers(80, 131, 2))
    return rng.standard_normal((p, d)), rng.standard_normal((q, d))


def of_rank(rng, rows, columns, rank):
    left = np.linalg.qr(rng.standard_normal((rows, rank)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, rank)))[0]
    return left @ (rng.uniform(0.5, 2.0, rank)[:, None] * right.T)


def test_easygsvd_extreme_rank_profiles():
    rng = np.random.default_rng(0)
    A, L = of_rank(rng, 105, 100, 100), of_rank(rng, 103, 100, 99)
    assert gsvd(A, L).blocks == (1, 99, 0)
    check_products(gsvd(A, L), A, L, 1e-12)
    A, L = of_rank(rng, 104, 100, 99), of_rank(rng, 102, 100, 100)
    f = gsvd(A, L, full_matrices=True)
    assert f.blocks == (0, 99, 1)
    assert np.isfinite(f.values).all()
    check_products(f, A, L, 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_easygsvd_block_forms_and_fundamental_subspaces(seed):
    A, L = full_column_rank_pair(seed)
    f = gsvd(A, L, full_matrices=True)
    (r, k, t), X = f.blocks, f.X
    middle = np.zeros((len(A), 100))
    middle[: r + k, : r + k] = np.diag(f.c[: r + k])
    assert_allclose(f.U.T @ A @ X, middle, atol=1e-8)
    middle = np.zeros((len(L), 100))
    middle[: k + t, r:] = np.diag(f.s[r:])
    assert_allclose(f.V.T @ L @ X, middle, atol=1e-8)
    assert_allclose(X @ f.H, np.eye(100), atol=1e-10)
    assert np.linalg.norm(A @ X[:, r + k :]) < 1e-10
    assert np.linalg.norm(L @ X[:, :r]) < 1e-10
    assert np.linalg.norm(A @ f.null_space("A")) < 1e-10
    assert np.linalg.norm(L @ f.null_space("B")) < 1e-10
    check_orthonormal(f.U, 1e-10)
    check_orthonormal(f.V, 1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_easygsvd_normal_equations_are_diagonal(seed):
    A, L = full_column_rank_pair(seed)
    f = gsvd(A, L)
    X = f.X
    assert_allclose(X.T @ A.T @ A @ X, np.diag(f.c**2), atol=1e-10)
    assert_allclose(X.T @ L.T @ L @ X, np.diag(f.s**2), atol=1e-10)
    r, k, _ = f.blocks
    for j in range(r, r + k, 7):
        left = A.T @ (A @ X[:, j])
        right = f.values[j] ** 2 * (L.T @ (L @ X[:, j]))
        assert np.linalg.norm(left - right) < 1e-10 * max(1, np.linalg.norm(left))


@pytest.mark.parametrize("seed", range(10))
def test_easygsvd_identity_gives_singular_values(seed):
    A, _ = full_column_rank_pair(seed)
    values = gsvd(A, np.eye(100)).values
    expected = np.linalg.svd(A, compute_uv=False)
    assert_allclose(values[: len(expected)], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_easygsvd_oblique_inverses(seed):
    """L's A-weighted pseudo-inverse X₂S⁻¹V₂ᵀ + X₃V₃ᵀ, and A times it."""
    A, L = full_column_rank_pair(seed)
    f = gsvd(A, L)
    (r, k, _), X = f.blocks, f.X
    inverse = X[:, r:] @ (f.V / f.s[r:]).T
    z = L @ np.random.default_rng(seed).standard_normal(100)
    assert np.linalg.norm(L @ (inverse @ z) - z) < 1e-10 * np.linalg.norm(z)
    U2, V2 = f.U[:, r:], f.V[:, :k]
    assert_allclose(A @ inverse, U2 * f.values[r : r + k] @ V2.T, atol=1e-10)
    back = X[:, : r + k] @ (f.U / f.c[: r + k]).T
    assert_allclose(L @ back, V2 / f.values[r : r + k] @ U2.T, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_easygsvd_oblique_projectors(seed):
    f = gsvd(*full_column_rank_pair(seed))
    (r, k, _), X, H = f.blocks, f.X, f.H
    for part in (slice(0, r), slice(r, None), slice(r + k, None), slice(0, r + k)):
        E = X[:, part] @ H[part]
        assert_allclose(E @ E, E, atol=1e-10)
        assert_allclose(E @ X[:, part], X[:, part], atol=1e-10)


def test_easygsvd_diagonal_pair():
    c = np.random.default_rng(0).uniform(0.2, 1.0, 100)
    f = gsvd(np.diag(c), np.diag(np.sqrt(1 - c**2)))
    assert_allclose(f.c, np.sort(c)[::-1], atol=1e-12)
    check_products(f, np.diag(c), np.diag(np.sqrt(1 - c**2)), 1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_easygsvd_scaling_and_rotations(seed):
    A, L = full_column_rank_pair(seed)
    f, scaled = gsvd(A, L), gsvd(1.7 * A, 0.6 * L)
    shared = slice(f.blocks.r, f.blocks.r + f.blocks.k)
    assert_allclose(scaled.values[shared], 1.7 / 0.6 * f.values[shared], rtol=1e-10)
    rng = np.random.default_rng(seed)
    QA, QL = (np.linalg.qr(rng.standard_normal((len(X), len(X))))[0] for X in (A, L))
    turned = gsvd(QA @ A, QL @ L)
    assert_allclose(turned.c, f.c, atol=1e-12)
    projector = turned.U @ turned.U.T
    assert_allclose(projector @ (QA @ f.U), QA @ f.U, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_easygsvd_tikhonov(seed):
    """Its λ is our λ²."""
    rng = np.random.default_rng(seed)
    A, L = full_column_rank_pair(seed)
    b, weight = rng.standard_normal(len(A)), 10 ** rng.uniform(-6, 6)
    expected = np.linalg.solve(A.T @ A + weight * L.T @ L, A.T @ b)
    assert_allclose(gsvd(A, L).solve_tikhonov(b, np.sqrt(weight)), expected, atol=1e-8, rtol=1e-8)


# ---- pygsvd -----------------------------------------------------------------------------------

SQUARE = (
    [[4, 8, 1], [7, 1, 1], [2, 3, 9]],
    [[7, 1, 8], [4, 5, 8], [10, 4, 2]],
    [0.89024453, 0.74405777, 0.50010785],
    [0.45548291, 0.66811529, 0.86596313],
)
RANK_DEFICIENT = (
    [[4, 1, 8, 5], [7, 1, 0, 8], [3, 0, 5, 4], [9, 6, 6, 6]],
    [[0, 0, 0, 0], [9, 6, 5, 6], [7, 0, 2, 0], [8, 5, 2, 9]],
    [1.0, 0.90854017, 0.60533208, 0.034184068],
    [0.0, 0.41779750, 0.79597304, 0.99941555],
)
NONSQUARE = (
    [
        *([4, 1, 8, 5], [7, 1, 0, 8], [3, 0, 5, 4], [9, 6, 6, 6]),
        *([6, 0, 2, 2], [1, 5, 2, 2], [5, 6, 9, 6], [6, 9, 2, 5]),
    ],
    [
        *([3, 5, 6, 2], [9, 6, 5, 6], [7, 0, 2, 0], [8, 5, 2, 9]),
        *([4, 5, 1, 0], [4, 1, 6, 3], [4, 2, 2, 9], [8, 6, 7, 9]),
    ],
    [0.85429362, 0.81272080, 0.66211784, 0.43898222],
    [0.51979074, 0.58265333, 0.74939974, 0.89849575],
)


@pytest.mark.parametrize("case", [SQUARE, RANK_DEFICIENT, NONSQUARE])
@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float64, np.complex128])
def test_pygsvd_matrices_and_their_values(case, dtype):
    A, B = (np.array(x, dtype) for x in case[:2])
    f = gsvd(A, B, full_matrices=True)
    assert_allclose(f.c, case[2], atol=1e-7)
    assert_allclose(f.s, case[3], atol=1e-7)
    assert (f.U.shape, f.V.shape) == ((len(A), len(A)), (len(B), len(B)))
    assert f.c.dtype == np.float64
    check_products(f, A, B, 1e-13)


def test_pygsvd_mismatch_and_stacks():
    with pytest.raises(ValueError, match="columns"):
        gsvd(np.ones((5, 2)), np.ones((2, 5)))
    with pytest.raises(InputError, match=r"reshape\(1, -1\)"):
        gsvd(np.arange(10), np.arange(10))


# ---- Octave -----------------------------------------------------------------------------------

EPS = 2.0**-52
MAGIC_5 = [
    *([17, 24, 1, 8, 15], [23, 5, 7, 14, 16], [4, 6, 13, 20, 22]),
    *([10, 12, 19, 21, 3], [11, 18, 25, 2, 9]),
]


def test_octave_reshape_and_magic():
    A, B = np.arange(1.0, 16).reshape(5, 3, order="F"), [[8, 1, 6], [3, 5, 7], [4, 9, 2]]
    f = gsvd(A, B, full_matrices=True)
    form = f.julia()  # Octave keeps LAPACK's order: c falling
    assert (form.U.shape, form.V.shape, form.D1.shape) == ((5, 5), (3, 3), (5, 3))
    assert not form.D1[3:].any()
    H = form.R0 @ form.Q.T
    assert_allclose(form.U @ form.D1 @ H, A, atol=50 * EPS)
    assert_allclose(form.V @ form.D2 @ H, B, atol=50 * EPS)
    expected = np.linalg.svd(A @ np.linalg.inv(B), compute_uv=False)
    assert_allclose(f.values, expected, atol=10 * EPS)


def test_octave_wide_A_and_magic_5():
    A, B = np.arange(1.0, 16).reshape(3, 5, order="F"), np.array(MAGIC_5, float)
    f = gsvd(A, B, full_matrices=True)
    form = f.julia()
    assert (form.U.shape, form.V.shape, form.D1.shape) == ((3, 3), (5, 5), (3, 5))
    assert not form.D1[:, 3:].any()
    left, right = f.reconstruct()
    assert_allclose(left, A, atol=120 * EPS)
    assert_allclose(right, B, atol=150 * EPS)
    expected = np.linalg.svd(A @ np.linalg.inv(B), compute_uv=False)
    assert_allclose(f.values[:3], expected, atol=20 * EPS)


def octave_pairs(complex_entries):
    """Octave's matrices, and the rank-deficient ones it leaves out because LAPACK fails there."""
    rng = np.random.default_rng(40)
    tall = random_matrix(rng, 5, 3, np.complex128 if complex_entries else np.float64)
    small, large = np.diag([1.0, 2, 4]), np.diag([1.0, 2, 4, 8, 16])
    if complex_entries:
        small, large = small + 1j * np.diag([4, -2, -1]), large + 1j * np.diag([-5, 4, -3, 2, -1])
    for A, B in ((tall, small), (tall.T, large)):
        without_row, repeated = B.copy(), B.copy()
        without_row[1, 1] = 0
        repeated[:, 2] = 2 * repeated[:, 0] - repeated[:, 1]
        dependent, columns = A.copy(), A.copy()
        columns[:, 2] = 2 * columns[:, 0] - columns[:, 1]
        dependent[-1] = 2 * dependent[0] - dependent[1]
        yield from ((A, B), (A, without_row), (dependent, B), (columns, B), (columns, repeated))


@pytest.mark.parametrize("complex_entries", [False, True])
def test_octave_all_ranks(complex_entries):
    for A, B in octave_pairs(complex_entries):
        f = gsvd(A, B)
        assert np.abs(f.c**2 + f.s**2 - 1).max() <= 5 * EPS
        left, right = f.reconstruct()
        assert_allclose(left, A, atol=25 * EPS)
        assert_allclose(right, B, atol=85 * EPS)
        assert f.rank == np.linalg.matrix_rank(np.vstack([A, B]))
        r, k, t = f.blocks
        assert (r + k, k + t) == (np.linalg.matrix_rank(A), np.linalg.matrix_rank(B))


def test_octave_single_precision():
    rng = np.random.default_rng(1)
    f = gsvd(np.eye(5, dtype=np.float32), rng.standard_normal((5, 5)).astype(np.float32))
    assert {x.dtype for x in (f.c, f.s, f.H, f.U, f.V)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("dtype", FOUR)
def test_octave_inf_and_nan(bad, dtype):
    with pytest.raises(InputError, match="A contains"):
        gsvd(np.array([[bad]], dtype), [[2.0]])
    with pytest.raises(InputError, match="B contains"):
        gsvd([[1.0]], np.array([[bad]], dtype))


# ---- Julia ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FOUR, np.int64])
def test_julia_both_layouts(dtype):
    rng = np.random.default_rng(1234321)

    def matrix(rows, columns):
        if dtype is np.int64:
            return rng.integers(1, 8, (rows, columns))
        return random_matrix(rng, rows, columns, dtype)

    A = matrix(10, 10)
    atol = 100 * (1e-5 if dtype in (np.float32, np.complex64) else 1e-13)
    for left, right in ((A, A[:5]), (matrix(10, 20), matrix(10, 20))):
        f = gsvd(left, right)
        U, V, Q, D1, D2, R0 = f.julia()
        assert_allclose(U @ D1 @ R0 @ Q.conj().T, left, atol=atol)
        assert_allclose(V @ D2 @ R0 @ Q.conj().T, right, atol=atol)
        assert_allclose(f.c**2 + f.s**2, np.ones(f.rank), rtol=1e-6)
        c, s = gsvdvals(left, right)
        assert_allclose(c, f.c, atol=atol)
        assert_allclose(s, f.s, atol=atol)
        assert len(all_values(f)) == left.shape[1]


def test_julia_one_number_each():
    f = gsvd([[-3.0]], [[4.0]])
    assert_allclose(f.values, [0.75])
