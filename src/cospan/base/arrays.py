"""Arrays of any library: namespaces, products and threads. Only `base` knows of backends.

The numerical modules are written once. They ask for a namespace, and for the few products (here)
and factorizations (`cospan.base.factorizations`) they need; each is the native call if there is
one, else the generic one. For NumPy arrays products go through SciPy's BLAS: NumPy and SciPy each
bring one with its own threads, and alternating between the two runs at half the speed.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeGuard, TypeVar, cast, overload

import array_api_compat
import numpy as np
import scipy.linalg
from threadpoolctl import ThreadpoolController

from cospan.base.types import Array, Namespace

# Bytes of rows that are shifted and multiplied at once.
BLOCK_BYTES = 3 * 2**23
# Entries below which no BLAS was seen to share the factorization of a matrix among threads.
BLAS_THREADS_FROM = 2**11
# Up to so many columns threads of BLAS wait for each other more than they work.
FEW_COLUMNS = 700

Made = TypeVar("Made")

# ---- namespaces ----------------------------------------------------------------------------------


_NUMPY: Namespace = array_api_compat.array_namespace(np.empty(0))


def namespace(first: Array, /, *others: Array) -> Namespace:
    """The array-API namespace of the arrays; NumPy for anything that is no array."""
    if is_numpy(first, *others):  # asked for hundreds of times in a small decomposition
        return _NUMPY
    known = [x for x in (first, *others) if array_api_compat.is_array_api_obj(x)]
    found: Namespace = array_api_compat.array_namespace(*known) if known else _NUMPY
    return found


def is_array(x: object) -> bool:
    """Is x an array of a namespace we know (and not a list or a dataframe)?"""
    return bool(array_api_compat.is_array_api_obj(x))


def is_numpy(first: object, /, *others: object) -> TypeGuard[np.ndarray]:
    """Do all of these live in NumPy, so that LAPACK can be called directly?"""
    for x in (first, *others):  # noqa: SIM110 - a generator for `all` takes three times as long
        if not isinstance(x, np.ndarray):
            return False
    return True


def is_lazy(x: object) -> bool:
    """Is x a Dask collection: blocks of rows that somebody else computes, later?"""
    return bool(array_api_compat.is_dask_array(x)) or hasattr(x, "__dask_graph__")


def on_accelerator(x: Array) -> bool:
    """Does x live elsewhere than in the host's memory?"""
    return not is_numpy(x) and "cpu" not in str(array_api_compat.device(x)).lower()


def to_numpy(x: Any) -> np.ndarray:
    """A NumPy view or copy of x on the host."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().resolve_conj().numpy())
    return np.asarray(x.get() if array_api_compat.is_cupy_array(x) else x)


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
    swapped: Any = x.T
    if is_complex(x):
        in_torch = array_api_compat.is_torch_array(x)
        swapped = swapped.conj().resolve_conj() if in_torch else namespace(x).conj(swapped)
    return cast("Array", swapped)


def squared_sizes(x: Array) -> Array:
    """|xᵢⱼ|², real."""
    if not is_complex(x):
        return x * x
    real, imaginary = namespace(x).real(x), namespace(x).imag(x)
    return real * real + imaginary * imaginary


def pick(x: Array, index: np.ndarray, axis: int = 0) -> Array:
    """x at places along an axis; the index, integers or a mask, lies on the host."""
    places = np.flatnonzero(index) if index.dtype == bool else index
    if is_numpy(x):
        return np.asarray(np.take(x, places, axis=axis))
    # torch knows no negative strides, hence the copy.
    there = namespace(x).asarray(places.copy(), device=array_api_compat.device(x))
    return namespace(x).take(x, there, axis=axis)


def identity(n: int, reference: Array) -> Array:
    """The unit matrix, in the library, on the device and in the dtype of `reference`."""
    xp = namespace(reference)
    return xp.eye(n, dtype=reference.dtype, device=array_api_compat.device(reference))


def zeros(shape: tuple[int, ...], reference: Array) -> Array:
    """Zeros in the library, on the device and in the dtype of `reference`."""
    xp = namespace(reference)
    return xp.zeros(shape, dtype=reference.dtype, device=array_api_compat.device(reference))


def real_zeros(shape: tuple[int, ...], reference: Array) -> Array:
    """Zeros of the real dtype that belongs to the dtype of `reference`."""
    if is_complex(reference):
        reference = namespace(reference).real(reference)
    return zeros(shape, reference)


# ---- settings of the whole process ---------------------------------------------------------------


class Held:
    """A setting of the process, changed as long as any thread holds it: the last one puts it back.

    `change` changes it and returns how to put it back.
    """

    def __init__(self, change: Callable[[], Callable[[], None]]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._holders = 0
        self._put_back: Callable[[], None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._put_back = self._change()
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders and self._put_back is not None:
                self._put_back()


@functools.cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process."""
    return ThreadpoolController().select(user_api="blas")


#: How many threads BLAS had before it was limited; None while it is not.
_unlimited: int | None = None


def _limit_blas() -> Callable[[], None]:
    """One thread for every library, set directly: threadpoolctl lets only who set it change it."""
    global _unlimited
    _unlimited = _counted()
    libraries = _blas().lib_controllers
    before = [library.get_num_threads() for library in libraries]

    def set_threads(numbers: Sequence[int]) -> None:
        for library, n in zip(libraries, numbers, strict=True):
            getattr(library, "_real_set_num_threads", library.set_num_threads)(n)

    def put_back() -> None:
        global _unlimited
        set_threads(before)
        _unlimited = None

    set_threads([1] * len(libraries))
    return put_back


def _counted() -> int:
    return max((int(pool["num_threads"]) for pool in _blas().info()), default=1)


_one_blas_thread = Held(_limit_blas)


def one_blas_thread() -> Held:
    """Inside a `with` of this BLAS works in the thread that calls it and in no other."""
    return _one_blas_thread


def threads_for(n_columns: int, few: int = FEW_COLUMNS) -> Held | nullcontext[None]:
    """Inside a `with` of this BLAS works in one thread, if matrices have so few columns."""
    return one_blas_thread() if n_columns <= few else nullcontext()


@contextmanager
def one_thread(x: Array) -> Iterator[None]:
    """Bits that do not depend on the number of threads; for small arrays BLAS takes one anyhow."""
    with one_blas_thread() if is_numpy(x) and x.size >= BLAS_THREADS_FROM else nullcontext():
        yield


def host_threads(*arrays: Array) -> int:
    """How many threads may work on these: as many as BLAS has, limited just now or not; or 1."""
    return (_unlimited or _counted()) if is_numpy(*arrays) else 1


def in_threads(work: Callable[[Any], Made], items: Sequence[Any], threads: int) -> list[Made]:
    """``[work(item) for item in items]`` in several threads, each with a BLAS of one thread."""
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(threads, thread_name_prefix="cospan") as pool:
        return list(pool.map(work, items))


def _torch_highest() -> Callable[[], None]:
    import torch

    before: Any = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    return lambda: torch.set_float32_matmul_precision(before)


_highest_precision = Held(_torch_highest)


@contextmanager
def full_precision(*arrays: Array) -> Iterator[None]:
    """Products of float32 matrices with all their digits: TF32 keeps ten bits of 23."""
    there = any(array_api_compat.is_torch_array(x) and on_accelerator(x) for x in arrays)
    with _highest_precision if there else nullcontext():
        yield


# ---- products and sums ---------------------------------------------------------------------------


def _operand(x: np.ndarray) -> tuple[np.ndarray, int]:
    """The array as BLAS wants it (column-major) and whether it is to be transposed."""
    if x.flags.f_contiguous:
        return x, 0
    if x.flags.c_contiguous:
        return x.T, 1
    return np.asfortranarray(x), 0


@overload
def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
@overload
def matmul(a: Array, b: Array) -> Array: ...
def matmul(a: Any, b: Any) -> Any:
    """``a @ b`` for matrices, in SciPy's BLAS when both are NumPy arrays."""
    if not is_numpy(a, b):
        with full_precision(a):
            return a @ b
    if 0 in (*a.shape, *b.shape):
        return a @ b
    (x, transposed_x), (y, transposed_y) = _operand(a), _operand(b)
    gemm = scipy.linalg.get_blas_funcs("gemm", (x, y))
    return np.asarray(gemm(1.0, x, y, trans_a=transposed_x, trans_b=transposed_y))


def gram(x: Array) -> Array:
    """``xᴴ x``, symmetric (Hermitian) to the bit."""
    if not is_numpy(x) or 0 in x.shape:
        return matmul(adjoint(x), x)
    if x.dtype.kind == "c":
        product = np.asarray(matmul(adjoint(x), x))
        return np.asarray((product + product.conj().T) / 2)
    matrix, transposed = _operand(x)
    syrk = scipy.linalg.get_blas_funcs("syrk", (matrix,))
    upper = np.asarray(syrk(1.0, matrix, trans=1 - transposed))  # below the diagonal it is 0
    product = np.asarray(upper + upper.T)
    product[np.diag_indices_from(product)] /= 2
    return product


def stacked(parts: Sequence[Array], *, columns_first: bool = False) -> Array:
    """The parts below each other as one float64 array in memory of its own.

    With `columns_first` NumPy arrays come out column by column, as LAPACK factors them.
    """
    xp = namespace(*parts)
    if len(parts) == 1 and not (columns_first and is_numpy(*parts)):
        return xp.astype(parts[0], xp.float64, copy=True)
    whole = xp.concat([xp.astype(part, xp.float64, copy=False) for part in parts], axis=0)
    return np.asfortranarray(whole) if columns_first and isinstance(whole, np.ndarray) else whole


def shifted_blocks(parts: list[Array], origin: Array) -> Iterator[Array]:
    """The rows of all parts less `origin`, in float64; NumPy's in blocks that stay small."""
    rows = parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=0)
    n = int(rows.shape[0])
    size = max(1, BLOCK_BYTES // (8 * origin.shape[0])) if is_numpy(rows) else n
    for start in range(0, n, size):
        # float32 less float64 is float64, in one pass
        yield rows[start : start + size, :] - origin[None, :]
