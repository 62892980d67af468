"""What follows from the factors: other notations, null spaces, tolerances, solutions."""

import array_api_strict
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from cospan import gsvd, gsvdvals
from cospan.decomposition.forms import all_values
from cospan.errors import InputError
from matrices import pair_with_angles, with_spectrum

ANGLES = [0.0, 0.0, 0.3, 0.8, 1.2, np.pi / 2]


def known(seed=0, d=9, p=11, q=8):
    return pair_with_angles(np.random.default_rng(seed), ANGLES, p, q, d)


# ---- values and matrices ----------------------------------------------------------------------


def test_values_are_infinite_finite_and_zero():
    A, B, theta = known()
    f = gsvd(A, B)
    assert np.isinf(f.values[:2]).all()
    assert_allclose(f.values[2:5], 1 / np.tan(theta[2:5]), rtol=1e-13)
    assert f.values[5] == 0.0
    every = all_values(f)
    assert len(every) == 9
    assert np.isnan(every[6:]).all()
    assert_allclose(every[:6], f.values)


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


def test_full_matrices_complete_and_keep_the_first_columns():
    A, B, _ = known(3)
    thin, full = gsvd(A, B), gsvd(A, B, full_matrices=True)
    assert (full.U.shape, full.V.shape) == ((11, 11), (8, 8))
    assert np.array_equal(full.U[:, :5], thin.U)
    assert np.array_equal(full.V[:, :4], thin.V)
    for Q in (full.U, full.V):
        assert_allclose(Q.T @ Q, np.eye(len(Q)), atol=1e-14)
    for given, back in zip((A, B), full.reconstruct(), strict=True):
        assert_allclose(given, back, atol=1e-14)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("xp", [np, torch, array_api_strict], ids=["numpy", "torch", "strict"])
def test_other_notations_multiply_back(xp, full):
    A, B, _ = known(4)
    f = gsvd(xp.asarray(A), xp.asarray(B), full_matrices=full)
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


@pytest.mark.parametrize("options", [{}, {"full_matrices": True}, {"method": "tangent"}])
def test_factors_are_read_only(options):
    A, B = np.random.default_rng(0).normal(size=(2, 6, 3))
    f = gsvd(A, B, **options)
    for factor in (f.c, f.s, f.H, f.U, f.V):
        with pytest.raises(ValueError, match="read-only"):
            factor[0] = 1
    A[0], B[0] = 1, 1  # what was passed stays as it was


def test_unpacking_is_refused_with_a_reason():
    f = gsvd(*known()[:2])
    with pytest.raises(TypeError, match=r"f\.matlab\(\)"):
        _, _, _, _, _ = f


# ---- tolerances -------------------------------------------------------------------------------


def graded(seed=5):
    rng = np.random.default_rng(seed)
    A = with_spectrum(rng, 20, 6, [1.0, 0.5, 0.2, 1e-3, 1e-5, 1e-7])
    return A, rng.standard_normal((20, 6))


def test_each_matrix_can_have_a_tolerance_of_its_own():
    A, B = graded()
    assert gsvd(A, B, tol=(1e-4, None)).blocks == (0, 4, 2)
    assert gsvd(A, B, tol=(None, 1e-4)).blocks == (0, 6, 0)
    assert gsvd(B, A, tol=(None, 1e-4)).blocks == (2, 4, 0)
    assert gsvd(A, B, tol=(1e-6, 1e-6)).blocks == gsvd(A, B, tol=1e-6).blocks == (0, 5, 1)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_absolute_tolerances_are_in_the_units_of_the_data(scale):
    A, B = graded()
    assert gsvd(scale * A, B, atol=(scale * 1e-4, 0)).blocks == (0, 4, 2)
    assert gsvd(scale * A, scale * B, atol=scale * 1e-4).blocks == (0, 4, 2)
    assert gsvd(scale * A, B, atol=(scale * 2, 0)).blocks == (0, 0, 6)


def test_what_is_cut_off_is_all_that_is_lost():
    A, B = graded()
    f = gsvd(A, B, atol=(1e-4, 0.0))
    left, right = f.reconstruct()
    assert np.linalg.norm(left - A, 2) == pytest.approx(1e-5, rel=1e-6)
    assert_allclose(right, B, atol=1e-13)


def test_a_noisy_matrix_does_not_add_directions_of_its_noise():
    """B's one row is A's first up to noise of .005; with that tolerance they share it."""
    A, B = np.array([[1.0, 0.0]]), np.array([[0.1, 0.005]])
    assert gsvd(A, B).blocks == (1, 0, 1)
    assert gsvd(A, B, atol=(0.0, 0.01)).blocks == (0, 1, 0)


@pytest.mark.parametrize("atol", [-1.0, np.inf, np.nan, "small", (1.0,), (0, True)])
def test_absolute_tolerances_are_numbers(atol):
    with pytest.raises(InputError, match="atol is"):
        gsvd(np.eye(2), np.eye(2), atol=atol)


def test_zero_tolerance_with_few_rows():
    rng = np.random.default_rng(6)
    for p, q, d in ((3, 3, 5), (8, 3, 5), (3, 8, 5), (2, 2, 9), (40, 3, 60)):
        f = gsvd(rng.standard_normal((p, d)), rng.standard_normal((q, d)), tol=0)
        for Q, rows in ((f.U, p), (f.V, q)):
            assert Q.shape == (rows, min(rows, d))
            assert np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < 1e-13


@pytest.mark.parametrize("rows", [50, 1100, 5000])
def test_half_precision_keeps_its_directions(rows):
    rng = np.random.default_rng(7)
    A, B = (rng.standard_normal((n, 5)).astype(np.float16) for n in (rows, rows - 10))
    assert gsvd(A, B).blocks == (0, 5, 0)
    flat = (rng.standard_normal((rows, 3)) @ rng.standard_normal((3, 8))).astype(np.float16)
    assert gsvd(flat, flat[::-1]).blocks == (0, 3, 0)


def test_byte_order_and_nullable_columns_keep_their_digits():
    import pandas

    rng = np.random.default_rng(8)
    A = (rng.standard_normal((60, 12)) @ rng.standard_normal((12, 40))).astype(np.float32)
    for given in (A.astype(">f4"), pandas.DataFrame(A).astype("Float32"), pandas.DataFrame(A)):
        f = gsvd(given, A[:50])
        assert f.blocks == (0, 12, 0)
        assert f.c.dtype == np.float32
    for given in (A.astype(">f8"), A.astype(np.float64)):
        assert gsvd(given, given[:50]).c.dtype == np.float64


# ---- options ----------------------------------------------------------------------------------


def test_overwriting_changes_nothing_but_the_input():
    rng = np.random.default_rng(9)
    for order in "CF":
        A, B = (np.array(rng.standard_normal((n, 30)), order=order) for n in (80, 90))
        expected, first = gsvd(A, B), A.copy()
        f = gsvd(A, B, overwrite=True)
        assert np.array_equal(f.c, expected.c)
        assert np.array_equal(f.H, expected.H)
        assert np.array_equal(A, first) == (order == "C")


def test_read_only_arrays_are_never_written_to():
    rng = np.random.default_rng(10)
    A, B = (np.asfortranarray(rng.standard_normal((n, 30))) for n in (80, 90))
    before = A.copy(), B.copy()
    A.flags.writeable = B.flags.writeable = False
    gsvd(A, B, overwrite=True)
    assert np.array_equal(A, before[0])
    assert np.array_equal(B, before[1])


@pytest.mark.parametrize("name", ["full_matrices", "overwrite", "check_finite"])
def test_flags_are_true_or_false(name):
    with pytest.raises(InputError, match=f"{name} is 1"):
        gsvd(np.eye(2), np.eye(2), **{name: 1})


def test_a_failed_divide_and_conquer_is_tried_again(monkeypatch):
    """LAPACK's gesdd gives up on some pairs of images; gesvd does not."""
    import scipy.linalg

    rng = np.random.default_rng(11)
    A, B = (rng.standard_normal((n, 120)) for n in (150, 140))
    expected = gsvd(A, B)
    svd, eigh = scipy.linalg.svd, scipy.linalg.eigh

    def failing_svd(x, *args, lapack_driver="gesdd", **options):
        if lapack_driver == "gesdd":
            raise np.linalg.LinAlgError("SVD did not converge")
        return svd(x, *args, lapack_driver=lapack_driver, **options)

    def failing_eigh(x, *args, driver=None, **options):
        if driver == "evd":
            raise np.linalg.LinAlgError("did not converge")
        return eigh(x, *args, driver=driver, **options)

    monkeypatch.setattr(scipy.linalg, "svd", failing_svd)
    monkeypatch.setattr(scipy.linalg, "eigh", failing_eigh)
    assert np.abs(gsvd(A, B).c - expected.c).max() < 1e-14


def test_the_images_on_which_gesdd_gave_up(mnist):
    rng = np.random.default_rng([3, 0, 7, 1])
    A, B = (
        mnist.train_x[rng.permutation(np.flatnonzero(mnist.train_y == digit))[:n]] / 255
        for digit, n in ((0, 900), (7, 800))
    )
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    f = gsvd(A, B)
    assert f.rank == 563
    left, right = f.reconstruct()
    assert_allclose(left, A, atol=1e-12)
    assert_allclose(right, B, atol=1e-12)


# ---- solving ----------------------------------------------------------------------------------


def ill_posed(n=40, noise=1e-4, seed=0):
    """A smoothing kernel, its second differences as penalty, and noisy data of a known signal."""
    t = np.linspace(0, 1, n)
    A = np.exp(-((t[:, None] - t[None, :]) ** 2) / 0.01) / n
    L = np.diff(np.eye(n), 2, axis=0)
    x = np.sin(2 * np.pi * t) + t
    b = A @ x + noise * np.random.default_rng(seed).standard_normal(n)
    return A, L, x, b


@pytest.mark.parametrize("strength", [1e-3, 0.1, 1.0, 30.0])
def test_tikhonov_solves_the_stacked_least_squares(strength):
    A, L, _, b = ill_posed()
    expected = np.linalg.lstsq(
        np.vstack([A, strength * L]), np.concatenate([b, np.zeros(38)]), rcond=None
    )[0]
    assert_allclose(gsvd(A, L).solve_tikhonov(b, strength), expected, atol=1e-7)


def test_a_path_is_every_solution_at_once():
    A, L, _, b = ill_posed()
    f = gsvd(A, L)
    strengths = np.array([1e-3, 0.1, 1.0, 30.0])
    path = f.solve_tikhonov(b, strengths[::-1])
    assert np.array_equal(path.strengths, strengths)
    for x, strength, residual, penalty in zip(
        path.x, strengths, path.residuals, path.penalties, strict=True
    ):
        assert_allclose(x, f.solve_tikhonov(b, strength), rtol=1e-12)
        assert np.linalg.norm(A @ x - b) == pytest.approx(residual, rel=1e-8)
        assert np.linalg.norm(L @ x) == pytest.approx(penalty, rel=1e-6)
    assert np.all(np.diff(path.residuals) > 0)
    assert np.all(np.diff(path.penalties) < 0)


def test_degrees_of_freedom_are_the_trace_and_gcv_is_its_formula():
    A, L, _, b = ill_posed()
    path = gsvd(A, L).solve_tikhonov(b, [0.3])
    influence = A @ np.linalg.solve(A.T @ A + 0.09 * L.T @ L, A.T)
    assert path.degrees_of_freedom[0] == pytest.approx(np.trace(influence), rel=1e-8)
    residual = b - influence @ b
    gcv = residual @ residual / (len(b) - np.trace(influence)) ** 2
    assert path.gcv[0] == pytest.approx(gcv, rel=1e-7)


@pytest.mark.parametrize("criterion", ["gcv", "l-curve"])
def test_the_chosen_strength_is_near_the_best(criterion):
    A, L, x, b = ill_posed(noise=1e-3)
    path = gsvd(A, L).solve_tikhonov(b, criterion)
    errors = np.linalg.norm(path.x - x, axis=1)
    assert errors[path.chosen] < 2 * errors.min()
    assert_allclose(path.best, path.x[path.chosen])
    assert path.strength == path.strengths[path.chosen]


def test_complex_tikhonov():
    rng = np.random.default_rng(12)
    A, L = (rng.standard_normal((n, 5)) + 1j * rng.standard_normal((n, 5)) for n in (9, 6))
    b = rng.standard_normal(9) + 1j * rng.standard_normal(9)
    expected = np.linalg.solve(A.conj().T @ A + 0.25 * L.conj().T @ L, A.conj().T @ b)
    assert_allclose(gsvd(A, L).solve_tikhonov(b, 0.5), expected, atol=1e-12)


def test_bad_right_hand_sides_are_named():
    A, L, _, b = ill_posed()
    f = gsvd(A, L)
    for bad, words in (
        (b[:5], "shape"),
        (b * np.nan, "NaN"),
        ("text", "numbers"),
        (b + 1j, "compl"),
    ):
        with pytest.raises(InputError, match=words):
            f.solve_tikhonov(bad, 1.0)
    for bad in (-1.0, np.nan, "best", [[1.0]], []):
        with pytest.raises(InputError, match="strength is"):
            f.solve_tikhonov(b, bad)
    with pytest.raises(InputError, match="needs U"):
        gsvd(A, L, compute_uv=False).solve_tikhonov(b, 1.0)


def test_gls_with_a_regular_covariance_is_aitkens_estimate():
    rng = np.random.default_rng(13)
    M, L = rng.standard_normal((20, 3)), np.tril(rng.standard_normal((20, 20))) + 5 * np.eye(20)
    y = rng.standard_normal(20)
    weight = np.linalg.inv(L @ L.T)
    expected = np.linalg.solve(M.T @ weight @ M, M.T @ weight @ y)
    found = gsvd(M.T, L.T).solve_gls(y)
    assert_allclose(found.beta, expected, atol=1e-12)
    assert_allclose(M @ found.beta + L @ found.v, y, atol=1e-12)
    assert_allclose(found.v, np.linalg.solve(L, y - M @ expected), atol=1e-12)
    assert found.inconsistency < 1e-12


def test_gls_with_exact_observations():
    """Rows without error hold exactly; a contradiction between them is reported."""
    M = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    L = np.diag([0.0, 1.0, 1.0, 1.0])[:, 1:]
    found = gsvd(M.T, L.T).solve_gls([2.0, 0.0, 3.0, 1.0])
    assert found.beta[0] == pytest.approx(2.0)
    twice = gsvd(np.array([[1.0, 1.0]]), np.zeros((1, 2))).solve_gls([0.0, 2.0])
    assert twice.beta[0] == pytest.approx(1.0)
    assert twice.inconsistency == pytest.approx(np.sqrt(2.0))


def test_complex_gls():
    rng = np.random.default_rng(14)
    M, L = (rng.standard_normal((9, n)) + 1j * rng.standard_normal((9, n)) for n in (3, 9))
    y = rng.standard_normal(9) + 1j * rng.standard_normal(9)
    weight = np.linalg.inv(L @ L.conj().T)
    expected = np.linalg.solve(M.conj().T @ weight @ M, M.conj().T @ weight @ y)
    assert_allclose(gsvd(M.conj().T, L.conj().T).solve_gls(y).beta, expected, atol=1e-11)


def test_gsvdvals_take_the_same_options():
    A, B = graded()
    f = gsvd(A, B, tol=(1e-4, None))
    c, s = gsvdvals(A, B, tol=(1e-4, None), check_finite=False)
    assert_allclose(c, f.c, atol=1e-14)
    assert_allclose(s, f.s, atol=1e-14)


@pytest.mark.parametrize(
    "shape", [(9, 8, 5), (3, 4, 20), (150, 90, 40), (60, 50, 300), (80, 2, 70)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gsvdvals_are_those_of_the_whole_decomposition(shape, dtype):
    p, q, d = shape
    rng = np.random.default_rng([15, *shape])
    A, B = (rng.standard_normal((n, d)).astype(dtype) for n in (p, q))
    A[:, 0] *= 1e5
    f = gsvd(A, 1e-3 * B)
    c, s = gsvdvals(A, 1e-3 * B)
    assert_allclose(c, f.c, atol=1e-14)
    assert_allclose(s, f.s, atol=1e-14)
