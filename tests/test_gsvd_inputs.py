"""What may go into the GSVD, what may not, and the object that comes out."""

import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from cospan import gsvd, gsvdvals
from cospan.errors import InputError
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
@pytest.mark.parametrize("shape", [(60, 50, 5), (3, 4, 15)])
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


def test_small_dtypes_are_raised_and_the_wider_one_of_two_wins(pair):
    A, B = (x.astype(np.float16) for x in pair)
    for result in (gsvd(A, B), gsvd(A.astype(np.float32), B.astype(np.float32))):
        assert {getattr(result, name).dtype for name in FACTORS} == {np.dtype(np.float32)}
    assert gsvd(A.astype(np.float32), pair[1]).c.dtype == np.float64
    for dtype in (np.int8, np.uint8, np.int64, bool):
        given = [np.abs(x).astype(dtype) for x in pair]
        assert same_bits(gsvd(*given), gsvd(*(x.astype(float) for x in given)))


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
    "operator": (aslinearoperator, ("LinearOperator", "multiply it out")),
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
    with pytest.raises(ValueError, match=f"^{which} ") as caught:
        gsvd(A, B)
    message = str(caught.value)
    assert isinstance(caught.value, InputError)
    for word in words:
        assert word in message
    assert "\n" not in message


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


@pytest.mark.parametrize("tol", [-1e-3, 1.0, np.nan, "small", True, [1e-3]])
def test_a_tolerance_is_a_number_from_0_to_1(pair, tol):
    with pytest.raises(InputError, match="tol is"):
        gsvd(*pair, tol=tol)


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


def test_flags_are_true_or_false():
    with pytest.raises(InputError, match="compute_uv is 1"):
        gsvd(np.eye(2), np.eye(2), compute_uv=1)


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


# ---- the object that comes out ----------------------------------------------------------------


def test_factors_are_frozen_and_share_no_memory_with_the_input(pair):
    f = gsvd(*pair)
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
    with pytest.raises(InputError, match="compute_uv=True"):
        gsvd(A, B, compute_uv=False).reconstruct()
    assert np.array_equal(f.angles, np.arctan2(f.s, f.c))
    assert gsvd(B, A).angles[-1] == np.pi / 2
    with pytest.raises(TypeError):
        gsvd(A, B, 1e-3)  # arguments after the two sets are keywords


@pytest.mark.parametrize("compute_uv", [True, False])
@pytest.mark.parametrize("shape", [(12, 4, 6), (3, 4, 20)])
def test_largest_entry_of_each_direction_is_positive(shape, compute_uv):
    p, q, d = shape
    rng = np.random.default_rng([1, *shape])
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    H = gsvd(A, B, compute_uv=compute_uv).H
    largest = np.take_along_axis(H, np.abs(H).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)
    # turning every row of the data round turns U and V, not the frame
    assert np.abs(gsvd(-A, -B, compute_uv=compute_uv).H - H).max() < 1e-12


def test_a_large_matrix_with_one_bad_entry_is_refused():
    A, B = np.ones((2, 2100)), np.ones((2000, 2100))  # above the size that several threads sum
    B[1999, 783] = np.inf
    with pytest.raises(InputError, match=r"B .*row 1999, column 783"):
        gsvd(A, B)
