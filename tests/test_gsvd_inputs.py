"""What may go into the GSVD, what may not, and the object that comes out."""

import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from cospan import gsvd, gsvdvals
from cospan.errors import CospanError, InputError
from matrices import acceptance_ratios


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.standard_normal((12, 5)), rng.standard_normal((9, 5))


FACTORS = ("c", "s", "H", "U", "V")


def same_bits(first, second):
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in FACTORS)


# ---- inputs that are all right ----------------------------------------------------------------


def test_same_input_same_bits(pair):
    rng = np.random.default_rng(1)
    large = rng.standard_normal((300, 200)), rng.standard_normal((250, 200))
    for given in (pair, large):
        assert same_bits(gsvd(*given), gsvd(*given))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(12, 9, 5), (60, 50, 5), (3, 4, 15), (70, 3, 8)])
def test_layout_does_not_matter_and_nothing_is_written_to(shape, dtype, tmp_path):
    """Fortran order, strided views, read-only and memory-mapped rows stay byte-identical."""
    p, q, d = shape
    rng = np.random.default_rng([2, *shape])
    A, B = (rng.standard_normal((n, d)).astype(dtype) for n in (p, q))
    expected = gsvd(A, B)
    strided = np.zeros((2 * p, 3 * d), dtype)[::2, ::3]
    strided[:] = A
    frozen = A.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "rows.npy", A)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for given in (np.asfortranarray(A), strided, frozen, mapped, A[::-1][::-1]):
        before, other = given.tobytes(), B.tobytes()
        result = gsvd(given, B)
        assert given.tobytes() == before
        assert B.tobytes() == other
        assert np.abs(result.angles - expected.angles).max() < 100 * np.finfo(dtype).eps
        assert not any(
            np.shares_memory(given, x) for x in (result.c, result.s, result.H, result.U, result.V)
        )


def test_zeros_are_not_written_to_either():
    zeros = np.zeros((40, 3), order="F")
    result = gsvd(zeros, np.ones((5, 3)))
    assert result.blocks == (0, 0, 1)
    assert not np.shares_memory(zeros, result.V)
    assert not zeros.any()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_integers_are_raised_to_float64(dtype):
    rng = np.random.default_rng(3)
    A, B = (rng.integers(0, 2, (n, 4)).astype(dtype) for n in (9, 8))
    result = gsvd(A, B)
    assert result.H.dtype == np.float64
    assert same_bits(result, gsvd(A.astype(float), B.astype(float)))


def test_float16_is_raised_to_float32_and_float32_kept(pair):
    A, B = (x.astype(np.float16) for x in pair)
    for result in (gsvd(A, B), gsvd(A.astype(np.float32), B.astype(np.float32))):
        assert {getattr(result, name).dtype for name in FACTORS} == {np.dtype(np.float32)}


def test_the_wider_one_of_two_dtypes_wins(pair):
    A, B = pair
    assert gsvd(A.astype(np.float32), B).c.dtype == np.float64
    assert gsvd(A.astype(np.int32), B.astype(np.float32)).c.dtype == np.float64


def test_lists_are_fine():
    assert gsvd([[3.0, 0.0]], [[4.0, 0.0], [0.0, 1.0]]).blocks == (0, 1, 1)
    assert np.allclose(gsvdvals([[3, 0]], [[4, 0], [0, 1]])[0], [0.6, 0.0], rtol=1e-15, atol=0)


@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (0, 2, 5), (1, 0, 1), (0, 30, 4)])
def test_one_set_may_be_empty(shape):
    p, q, d = shape
    rng = np.random.default_rng([4, *shape])
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    result = gsvd(A, B)
    rank = min(max(p, q), d)
    assert result.blocks == ((rank, 0, 0) if p else (0, 0, rank))
    assert result.U.shape == (p, rank if p else 0)
    assert result.V.shape == (q, rank if q else 0)
    assert max(acceptance_ratios(A, B, result)) < 10


def test_one_row_one_column():
    result = gsvd([[-3.0]], [[4.0]])
    assert np.allclose([result.c[0], result.s[0], result.H[0, 0]], [0.6, 0.8, 5.0], rtol=1e-15)
    assert (result.U.tolist(), result.V.tolist()) == ([[-1.0]], [[1.0]])


def test_no_warning_is_given_on_hard_but_legal_input():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gsvd(np.zeros((3, 2)), np.zeros((2, 2)))
        gsvd(np.full((3, 2), 1e300), np.full((2, 2), 1e-300))
        gsvd(np.full((3, 2), 7e307), np.full((2, 2), 7e307))
        gsvd(np.full((3, 2), 5e-324), np.eye(2))


def test_a_frame_beyond_the_range_of_the_dtype_is_told():
    """Each column of H is as long as that of A and B stacked, 2.2e308 here."""
    with pytest.raises(InputError, match=r"beyond the range of float64; divide both"):
        gsvd(np.full((3, 2), 1e308), np.full((2, 2), 1e308))


# ---- inputs that are wrong --------------------------------------------------------------------


def spoiled(x, row, column, value):
    x = x.copy()
    x[row, column] = value
    return x


BAD = {
    "complex with a NaN": (lambda x: spoiled(x + 1j, 1, 2, 1j * np.nan), ("NaN", "row 1")),
    "operator": (aslinearoperator, ("LinearOperator", "gsvds")),
    "object": (lambda x: x.astype(object), ("object",)),
    "text": (lambda x: x.astype(str), ("not numeric",)),
    "one dimension": (lambda x: x[0], ("two dimensions",)),
    "three dimensions": (lambda x: x[None], ("two dimensions", "got 3")),
    "NaN": (lambda x: spoiled(x, 7, 3, np.nan), ("NaN", "row 7", "column 3")),
    "Inf": (lambda x: spoiled(x, 2, 4, np.inf), ("Inf", "row 2", "column 4")),
    "-Inf": (lambda x: spoiled(x, 0, 1, -np.inf), ("Inf", "row 0", "column 1")),
    "sparse": (csr_array, ("sparse", "toarray")),
    "ragged": (lambda x: [[1.0, 2.0], [3.0]], ("different lengths",)),
    "None": (lambda x: None, ()),
}


@pytest.mark.parametrize("which", ["A", "B"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_named_with_its_place(pair, which, kind):
    spoil, words = BAD[kind]
    A, B = (spoil(x) if name == which else x for name, x in zip("AB", pair, strict=True))
    with pytest.raises(InputError) as caught:
        gsvd(A, B)
    message = str(caught.value)
    assert message.startswith(f"{which} ")
    for word in words:
        assert word in message
    assert "\n" not in message
    with pytest.raises(InputError):
        gsvdvals(A, B)


def test_unlike_columns_name_both_counts(pair):
    A, B = pair
    with pytest.raises(InputError, match=r"A has 5 columns and B has 4"):
        gsvd(A, B[:, :4])


@pytest.mark.parametrize("shape", [(0, 0, 3), (4, 5, 0), (0, 5, 0), (0, 0, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_no_rows_or_no_columns_give_no_directions(shape, dtype):
    p, q, d = shape
    A, B = np.zeros((p, d), dtype), np.zeros((q, d), dtype)
    f = gsvd(A, B)
    assert f.blocks == (0, 0, 0)
    assert (f.U.shape, f.V.shape, f.H.shape) == ((p, 0), (q, 0), (0, d))
    assert f.null_space().shape == (d, d)
    assert f.X.shape == (d, 0)
    for given, back in zip((A, B), f.reconstruct(), strict=True):
        assert np.array_equal(given, back)
    assert gsvd(A, B, full_matrices=True).U.shape == (p, p)


def test_columns_must_agree_even_if_there_are_none(pair):
    with pytest.raises(InputError, match="A has 5 columns and B has 0"):
        gsvd(pair[0], pair[1][:, :0])


@pytest.mark.parametrize("tol", [-1e-3, 1.0, np.nan, "small", True, [1e-3]])
def test_a_tolerance_is_a_number_from_0_to_1(pair, tol):
    with pytest.raises(InputError, match="tol is"):
        gsvd(*pair, tol=tol)


def test_our_errors_are_value_errors_too(pair):
    with pytest.raises(ValueError, match="A has dtype"):
        gsvd(pair[0].astype(str), pair[1])
    assert issubclass(InputError, CospanError)


# ---- options ----------------------------------------------------------------------------------


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
    for given, back in zip((A, B), f.reconstruct(), strict=True):
        assert np.abs(given - back).max() < 1e-12


def test_one_left_factor_or_none(pair):
    both = gsvd(*pair)
    u, v, none = (gsvd(*pair, compute_uv=sides) for sides in ("U", "V", False))
    assert u.V is v.U is none.U is none.V is None
    assert np.abs(u.U - both.U).max() < 1e-14
    assert np.abs(v.V - both.V).max() < 1e-14
    for f in (u, v, none):
        assert np.abs(f.H - both.H).max() < 1e-13
    with pytest.raises(InputError, match="compute_uv is 'W'"):
        gsvd(*pair, compute_uv="W")
    with pytest.raises(InputError, match="compute_uv=True"):
        none.reconstruct()


# ---- the object that comes out ----------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"full_matrices": True}])
def test_factors_are_frozen_and_share_no_memory_with_the_input(pair, options):
    f = gsvd(*pair, **options)
    with pytest.raises(FrozenInstanceError):
        f.c = None
    for factor in (f.c, f.s, f.H, f.U, f.V):
        assert not factor.flags.writeable
        assert not any(np.shares_memory(factor, given) for given in pair)
    pair[0][...] = pair[1][...] = -1  # and the input can be written to
    with pytest.raises(TypeError, match=r"f\.matlab\(\)"):
        _, _, _, _, _ = f


def test_blocks_angles_and_the_printed_line(pair):
    A, B = pair[0], pair[1][:3]
    f = gsvd(A, B)
    assert (f.blocks.r, f.blocks.k, f.blocks.t) == tuple(f.blocks) == (2, 3, 0)
    assert repr(f) == "GSVD(rank=5, only A: 2, shared: 3, only B: 0)"
    assert f.angles[0] == 0.0
    assert np.array_equal(f.angles, np.arctan2(f.s, f.c))
    assert gsvd(B, A).angles[-1] == np.pi / 2
    with pytest.raises(TypeError):
        gsvd(A, B, 1e-3)  # arguments after the two sets are keywords


@pytest.mark.parametrize("compute_uv", [True, False])
@pytest.mark.parametrize("shape", [(12, 4, 6), (3, 4, 20), (90, 80, 7), (0, 5, 4)])
def test_largest_entry_of_each_direction_is_positive(shape, compute_uv):
    p, q, d = shape
    rng = np.random.default_rng([1, *shape])
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    H = gsvd(A, B, compute_uv=compute_uv).H
    largest = np.take_along_axis(H, np.abs(H).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)
    # turning every row of the data round turns U and V, not the frame
    assert np.abs(gsvd(-A, -B, compute_uv=compute_uv).H - H).max() < 1e-12


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_large_matrix_with_one_bad_entry_is_refused(value):
    rng = np.random.default_rng(5)
    A, B = rng.standard_normal((3000, 784)), rng.standard_normal((2000, 784))
    B[1999, 783] = value
    with pytest.raises(InputError, match=r"B .*row 1999, column 783"):
        gsvd(A, B)
