"""Namespaces, devices and elements: what holds for every array library alike."""

from __future__ import annotations

import functools
from typing import Any, TypeGuard

import array_api_compat
import numpy as np

from cospan.base.arrays.types import AnyArray, Array, Namespace


@functools.cache
def _numpy_namespace() -> Namespace:
    found: Namespace = array_api_compat.array_namespace(np.empty(0))
    return found


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
    found: Namespace = array_api_compat.array_namespace(*known)
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


def adjoint(x: AnyArray) -> AnyArray:
    """Rows and columns of a matrix exchanged and, where it is complex, conjugated."""
    swapped: Any = x.T
    if is_complex(x):
        in_torch = array_api_compat.is_torch_array(x)
        swapped = swapped.conj().resolve_conj() if in_torch else namespace(x).conj(swapped)
    found: AnyArray = swapped
    return found


def squared_sizes(x: AnyArray) -> AnyArray:
    """|xᵢⱼ|², real."""
    squares: Any
    if is_complex(x):
        real, imaginary = namespace(x).real(x), namespace(x).imag(x)
        squares = real * real + imaginary * imaginary
    else:
        squares = x * x
    found: AnyArray = squares
    return found


def real_zeros(shape: tuple[int, ...], reference: Array) -> Array:
    """Zeros of the real dtype that belongs to the dtype of `reference`."""
    if is_complex(reference):
        reference = namespace(reference).real(reference)
    return zeros(shape, reference)


def any_nonzero_columns(*matrices: Array) -> Array:
    """Mask of the columns that hold a nonzero in at least one of the matrices."""
    if is_numpy(*matrices):
        return np.asarray(np.any([np.any(x, axis=0) for x in matrices], axis=0))
    xp = namespace(*matrices)
    return functools.reduce(xp.logical_or, [xp.any(x != 0, axis=0) for x in matrices])


def columns(x: Array, index: Array) -> Array:
    """x[:, index] for an integer index."""
    return x[:, index] if is_numpy(x) else namespace(x).take(x, index, axis=1)


def pick(x: Array, index: np.ndarray, axis: int = 0) -> Array:
    """x at places along an axis; the index, integers or a mask, lies on the host."""
    places = np.flatnonzero(index) if index.dtype == bool else index
    if is_numpy(x):
        return np.asarray(np.take(x, places, axis=axis))
    xp = namespace(x)
    # torch knows no negative strides, hence the copy.
    there = xp.asarray(places.copy(), device=array_api_compat.device(x))
    return xp.take(x, there, axis=axis)


def copied(x: Array) -> Array:
    """x in memory of its own."""
    return namespace(x).asarray(x, copy=True)


def identity(n: int, reference: Array) -> Array:
    xp = namespace(reference)
    return xp.eye(n, dtype=reference.dtype, device=array_api_compat.device(reference))


def zeros(shape: tuple[int, ...], reference: Array) -> Array:
    xp = namespace(reference)
    return xp.zeros(shape, dtype=reference.dtype, device=array_api_compat.device(reference))
