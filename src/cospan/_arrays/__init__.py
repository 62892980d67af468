"""Array namespaces and devices: the only module that knows of backends.

The numerical modules are written once. They ask this module for a namespace (`namespace`), and
for the few products and factorizations they need. Each of those is "the native call if there is
one, else the generic one": for NumPy arrays BLAS and LAPACK (`lapack`), for every other
namespace its ``linalg`` extension and, for tall matrices, Cholesky factors (`cholesky_qr`).

To add a backend, see CONTRIBUTING; as a rule nothing is needed beyond array-api-compat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
import scipy.linalg
from threadpoolctl import ThreadpoolController

from cospan._arrays import cholesky_qr, lapack

# Entries from which a pass over an array is worth the start of a thread.
_THREADED_SIZE = 2**22
# Entries below which no BLAS was seen to share the factorization of a matrix among threads.
_BLAS_THREADS_FROM = 2**11

# An array of any namespace. The standard has no static type for it yet.
Array = Any
Namespace = Any


# ---- namespaces and devices -------------------------------------------------------------------


@functools.cache
def _numpy_namespace() -> Namespace:
    return array_api_compat.array_namespace(np.empty(0))


def namespace(*arrays: Array) -> Namespace:
    """The array-API namespace of the arrays; NumPy for anything that is no array."""
    for x in arrays:
        if type(x) is not np.ndarray:
            break
    else:  # asked for hundreds of times in a small decomposition, so the common case is short
        return _numpy_namespace()
    known = [x for x in arrays if array_api_compat.is_array_api_obj(x)]
    if not known:
        return _numpy_namespace()
    return array_api_compat.array_namespace(*known)


def is_array(x: object) -> bool:
    """Is x an array of a namespace we know (and not a list or a dataframe)?"""
    return bool(array_api_compat.is_array_api_obj(x))


def is_numpy(*arrays: Array) -> bool:
    """Do all of these live in NumPy, so that LAPACK can be called directly?"""
    for x in arrays:  # noqa: SIM110 - a generator for `all` takes three times as long
        if not isinstance(x, np.ndarray):
            return False
    return True


def is_lazy(x: object) -> bool:
    """Is x a Dask collection: blocks of rows that somebody else computes, later?"""
    return bool(array_api_compat.is_dask_array(x)) or hasattr(x, "__dask_graph__")


def on_accelerator(x: Array) -> bool:
    """Does x live elsewhere than in the host's memory?"""
    return not is_numpy(x) and "cpu" not in str(array_api_compat.device(x)).lower()


def to_numpy(x: Array) -> np.ndarray:
    """A NumPy view or copy of x on the host."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().resolve_conj().numpy())
    if array_api_compat.is_cupy_array(x):
        return np.asarray(x.get())
    return np.asarray(x)


def like(x: Any, reference: Array) -> Array:
    """x in the namespace, on the device and in the dtype of `reference`."""
    if is_numpy(reference):
        return np.asarray(to_numpy(x) if is_array(x) else x, dtype=reference.dtype)
    xp, device = namespace(reference), array_api_compat.device(reference)
    if is_array(x) and namespace(x) is xp:
        return xp.astype(array_api_compat.to_device(x, device), reference.dtype, copy=False)
    host = np.array(to_numpy(x) if is_array(x) else x)
    return xp.asarray(host, dtype=reference.dtype, device=device)


def eps(x: Array) -> float:
    """Spacing of floating-point numbers at 1 in the dtype of x."""
    return float(namespace(x).finfo(x.dtype).eps)


def is_complex(x: Array) -> bool:
    """Does x hold complex numbers?"""
    if isinstance(x, np.ndarray):
        return bool(x.dtype.kind == "c")
    return bool(namespace(x).isdtype(x.dtype, "complex floating"))


def adjoint(x: Array) -> Array:
    """Rows and columns of a matrix exchanged and, where it is complex, conjugated."""
    if not is_complex(x):
        return x.T
    if array_api_compat.is_torch_array(x):
        return x.mH.resolve_conj()
    return namespace(x).conj(x).T


def squared_sizes(x: Array) -> Array:
    """|xᵢⱼ|², real."""
    if not is_complex(x):
        return x * x
    xp = namespace(x)
    re, im = xp.real(x), xp.imag(x)
    return re * re + im * im


def real_zeros(shape: tuple[int, ...], reference: Array) -> Array:
    """Zeros of the real dtype that belongs to the dtype of `reference`."""
    if is_complex(reference):
        reference = namespace(reference).real(reference)
    return zeros(shape, reference)


def any_nonzero_columns(*matrices: Array) -> Array:
    """Mask of the columns that hold a nonzero in at least one of the matrices."""
    if is_numpy(*matrices):
        return functools.reduce(np.logical_or, (x.any(axis=0) for x in matrices))
    xp = namespace(*matrices)
    found = None
    for matrix in matrices:
        here = xp.any(matrix != 0, axis=0)
        found = here if found is None else found | here
    return found


def columns(x: Array, index: Array) -> Array:
    """x[:, index] for an integer index."""
    return x[:, index] if is_numpy(x) else namespace(x).take(x, index, axis=1)


def rows_at(x: Array, index: np.ndarray) -> Array:
    """x[index, :] for an integer index that lies on the host."""
    if is_numpy(x):
        return x[index]
    xp = namespace(x)
    return xp.take(x, xp.asarray(index, device=array_api_compat.device(x)), axis=0)


def copied(x: Array) -> Array:
    """x in memory of its own."""
    return namespace(x).asarray(x, copy=True)


def identity(n: int, reference: Array) -> Array:
    xp = namespace(reference)
    return xp.eye(n, dtype=reference.dtype, device=array_api_compat.device(reference))


def zeros(shape: tuple[int, ...], reference: Array) -> Array:
    xp = namespace(reference)
    return xp.zeros(shape, dtype=reference.dtype, device=array_api_compat.device(reference))


def stacked(parts: list[Array], *, columns_first: bool = False) -> Array:
    """The parts below each other as one float64 array in memory of its own.

    With `columns_first` NumPy arrays come out column by column, as LAPACK factors them.
    """
    if is_numpy(*parts):
        return lapack.stacked(parts, np.dtype(np.float64), "F" if columns_first else "C")
    xp = namespace(*parts)
    if len(parts) == 1:
        return xp.astype(parts[0], xp.float64, copy=True)
    return xp.concat([xp.astype(part, xp.float64, copy=False) for part in parts], axis=0)


def shifted_blocks(parts: list[Array], origin: Array) -> Iterator[Array]:
    """The rows of all parts less `origin`, in float64, block by block.

    For NumPy each block lies in the same memory and is small enough for the processor's cache.
    """
    if is_numpy(*parts):
        yield from lapack.shifted_blocks(parts, origin)
    else:
        block = parts[0] if len(parts) == 1 else stacked(parts)
        yield block - origin[None, :]  # float32 less float64 is float64, in one pass


# ---- threads ----------------------------------------------------------------------------------


@functools.cache
def _blas_threads() -> ThreadpoolController:
    return ThreadpoolController()


def host_threads(*arrays: Array) -> int:
    """How many threads may work on these: as many as BLAS would, and 1 off the host's NumPy."""
    if not is_numpy(*arrays):
        return 1
    pools = _blas_threads().select(user_api="blas").info()
    return max((int(pool["num_threads"]) for pool in pools), default=1)


def in_threads(work: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """``[work(item) for item in items]`` in several threads, each with a BLAS of one thread.

    A BLAS of several threads leaves all but one idle in every pass that is no matrix product.
    """
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with (
        _blas_threads().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads, thread_name_prefix="cospan") as pool,
    ):
        return list(pool.map(work, items))


@contextmanager
def one_thread(x: Array) -> Iterator[None]:
    """Bits that do not depend on the number of threads: BLAS with one of them, meanwhile.

    For the few steps whose rounding errors later steps magnify. Small arrays are left alone:
    BLAS takes one thread for them anyhow.
    """
    if is_numpy(x) and x.size >= _BLAS_THREADS_FROM:
        with _blas_threads().limit(limits=1, user_api="blas"):
            yield
    else:
        yield


# ---- products ---------------------------------------------------------------------------------


@contextmanager
def full_precision(*arrays: Array) -> Iterator[None]:
    """Products of float32 matrices with all their digits: TF32 keeps ten bits of 23.

    Whatever the process has set is put back afterwards.
    """
    if not any(array_api_compat.is_torch_array(x) and on_accelerator(x) for x in arrays):
        yield
        return
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def matmul(a: Array, b: Array) -> Array:
    """``a @ b`` for matrices, in SciPy's BLAS when both are NumPy arrays."""
    if is_numpy(a, b):
        return a @ b if 0 in (*a.shape, *b.shape) else lapack.matmul(a, b)
    with full_precision(a):
        return a @ b


def gram(x: Array) -> Array:
    """``xᴴ x``, symmetric (Hermitian) to the bit."""
    if is_numpy(x):
        return adjoint(x) @ x if 0 in x.shape else lapack.gram(x)
    return matmul(adjoint(x), x)


def add_gram(total: Array, x: Array) -> Array:
    """``total + xᵀ x``, for NumPy in place and in the upper triangle only (see `mirrored`)."""
    return lapack.add_gram(total, x) if is_numpy(x) else total + matmul(x.T, x)


def shifted_gram(rows: Array, origin: Array) -> tuple[Array, Array]:
    """Sum and Gram matrix of NumPy rows less `origin`, to be called in several threads."""
    return lapack.shifted_gram(rows, origin)


def mirrored(total: Array) -> Array:
    """What `add_gram` summed, as a full symmetric matrix."""
    return lapack.mirrored(total) if is_numpy(total) else total


def grand_total(x: Array) -> float:
    """The sum of all entries; large NumPy arrays are summed by several threads."""
    if is_numpy(x) and x.size >= _THREADED_SIZE:
        threads = host_threads(x)
        return float(sum(in_threads(_quiet_sum, np.array_split(x, threads), threads)))
    return _quiet_sum(x)


def _quiet_sum(x: Array) -> float:
    # NumPy's settings hold for one thread, so they are made where the sum is.
    with np.errstate(over="ignore", invalid="ignore"):
        return float(namespace(x).sum(x))


def sum_of_squares(x: Array) -> float:
    """Σ xᵢⱼ², without a second array of the size of x where that can be had."""
    if is_numpy(x):
        flat = x.ravel(order="K")
        return float(flat @ flat)
    return float(namespace(x).sum(x * x))


# ---- factorizations ---------------------------------------------------------------------------


class Orthogonal(NamedTuple):
    """The triangular factor of a thin QR, and the orthogonal one as an operator."""

    R: Array
    apply: Callable[[Array], Array]  # Y -> Q @ Y


def qr(x: Array) -> Orthogonal:
    """Thin QR of x, with Q kept as Householder vectors where the namespace can."""
    if is_numpy(x):
        return Orthogonal(*lapack.qr(x))
    Q, R = _thin_qr(x)
    return Orthogonal(R, lambda Y: matmul(Q, Y))


def _thin_qr(x: Array) -> tuple[Array, Array]:
    with full_precision(x):
        found = cholesky_qr.thin_qr(x) if cholesky_qr.worth_it(*x.shape) else None
        if found is None:
            found = tuple(namespace(x).linalg.qr(x, mode="reduced"))
    return found[0], found[1]


def orthonormal_columns(x: Array) -> tuple[Array, Array]:
    """Q and R of a tall x. NumPy arrays in column-major order are overwritten: no second copy."""
    return lapack.orthonormal_columns(x) if is_numpy(x) else _thin_qr(x)


def triangular_factor(x: Array, *, overwrite: bool = False) -> Array:
    """R of a thin QR of x, (min(rows, columns), columns)."""
    if is_numpy(x):
        return lapack.triangular_factor(x, overwrite=overwrite)
    with full_precision(x):
        if cholesky_qr.worth_it(*x.shape):
            x = cholesky_qr.factor(x)
        return namespace(x).linalg.qr(x, mode="reduced")[1]


def merged_triangles(a: Array, b: Array, row: Array) -> Array:
    """R of two square upper triangular factors and a row below each other."""
    if is_numpy(a, b, row):
        return lapack.merged_triangles(a, b, row)
    return triangular_factor(namespace(a, b).concat((a, b, row), axis=0))


def eigh(x: Array) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors of a symmetric or Hermitian matrix."""
    if is_numpy(x):
        return lapack.eigh(x)
    values, vectors = namespace(x).linalg.eigh(x)
    return values, vectors


def svd(x: Array) -> tuple[Array, Array, Array]:
    """Thin SVD: U, values falling, Vᴴ."""
    if is_numpy(x):
        return lapack.svd(x)
    U, values, Vt = namespace(x).linalg.svd(x, full_matrices=False)
    return U, values, Vt


def cholesky(x: Array) -> Array:
    """Upper triangular R with RᵀR = x, for a symmetric positive definite x."""
    if is_numpy(x):
        return scipy.linalg.cholesky(x, lower=False, check_finite=False)
    return namespace(x).linalg.cholesky(x, upper=True)


def solve_triangular_transposed(R: Array, b: Array) -> Array:
    """x with Rᵀ x = b, for an upper triangular R."""
    if is_numpy(R):
        return scipy.linalg.solve_triangular(R, b, trans=1, check_finite=False)
    return cholesky_qr.divided(b.T, R).T
