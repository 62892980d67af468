"""What is done to a pair before it is decomposed, and undone afterwards: dead columns, scales.

Powers of two bring both matrices to norm about 1, so that neither drowns in the other and no
square overflows or vanishes. Multiplying by them is exact.
"""

from __future__ import annotations

import math

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import SQUARES_ARE_SAFE
from cospan.decomposition.cosine_sine import other
from cospan.decomposition.ranks import norm
from cospan.decomposition.result import Blocks
from cospan.errors import InputError

# Exponents of scales that no product with a frame of norm about 1 can overflow, in any dtype.
_HARMLESS = 60


def living_columns(A: Array, B: Array) -> Array | None:
    """Mask of the columns that are not zero in both, or None where that is all of them."""
    if arrays.is_numpy(A) and A.shape[0] and bool(A[0].all()):
        return None  # one row without a zero is enough to know
    alive = arrays.any_nonzero_columns(A, B)
    return None if bool(arrays.namespace(alive).all(alive)) else alive


def keep_columns(X: Array, alive: Array | None) -> Array:
    """The columns where `alive` is true."""
    return X if alive is None else arrays.columns(X, arrays.namespace(X).nonzero(alive)[0])


def with_columns(H: Array, alive: Array | None) -> Array:
    """H with zero columns put back where `alive` is false."""
    if alive is None:
        return H
    xp = arrays.namespace(H)
    position = xp.cumulative_sum(xp.astype(alive, xp.int64)) - 1
    padded = xp.concat((H, arrays.zeros((H.shape[0], 1), H)), axis=1)
    return arrays.columns(padded, xp.where(alive, position, H.shape[1]))


def scaled(X: Array, *, overwrite: bool = False) -> tuple[Array, int]:
    """X divided by a power of two near its norm, and the exponent of that power.

    A copy, unless `overwrite` allows to write into X and X is laid out in LAPACK's order.
    """
    length = norm(X)
    if 1 / SQUARES_ARE_SAFE < length < SQUARES_ARE_SAFE:  # no square was lost, then
        exponent = math.frexp(length)[1]
        return _quotient(X, exponent, overwrite), exponent
    largest = _largest(X)
    if largest == 0:
        return _quotient(X, 0, overwrite), 0
    # Kept inside the normal range of the dtype: neither the power nor its inverse overflows.
    smallest = float(arrays.namespace(X).finfo(X.dtype).smallest_normal)
    limit = 1 - math.frexp(smallest)[1]
    first = min(max(math.frexp(largest)[1], -limit), limit)
    X = _quotient(X, first, overwrite)
    second = math.frexp(norm(X))[1]
    return _quotient(X, second, overwrite=True), first + second


def _largest(X: Array) -> float:
    """The largest entry in size, of a complex matrix its largest part."""
    if not math.prod(X.shape):
        return 0.0
    xp = arrays.namespace(X)
    parts = (xp.real(X), xp.imag(X)) if arrays.is_complex(X) else (X,)
    return max(max(float(xp.max(part)), -float(xp.min(part))) for part in parts)


def _quotient(X: Array, exponent: int, overwrite: bool) -> Array:
    """X over a power of two; NumPy's in LAPACK's column order."""
    divisor = math.ldexp(1.0, exponent)
    if not arrays.is_numpy(X):
        return X / divisor
    divisor = X.real.dtype.type(divisor)
    if X.shape[0] <= 512 and not overwrite:
        return np.asarray(np.divide(X, divisor, order="F"))
    if overwrite and X.flags.f_contiguous and X.flags.writeable:
        return np.asarray(np.divide(X, divisor, out=X))
    out = np.empty(X.shape, X.dtype, order="F")
    # A few rows at a time, which fit the cache: turning rows into columns is slow otherwise.
    for first in range(0, X.shape[0], 512):
        rows = slice(first, first + 512)
        np.divide(X[rows], divisor, out=out[rows])
    return out


def _product(X: Array, exponent: int) -> Array:
    """X times a power of two, which itself need not be a number of X's dtype."""
    if abs(exponent) < _HARMLESS:
        return X * math.ldexp(1.0, exponent)
    half = exponent // 2
    with np.errstate(over="ignore"):  # reported by `unscaled`
        return (X * math.ldexp(1.0, half)) * math.ldexp(1.0, exponent - half)


def unscaled(
    c: Array, s: Array, H: Array, blocks: Blocks, a: int, b: int
) -> tuple[Array, Array, Array]:
    """Undo the scaling by 2ᵃ and 2ᵇ: 2ᵃ U c H is U (2ᵃ c / h) (h H) with h that makes 1.

    Directions of one set take that set's scale as it is. Where the scales of a shared one are
    further apart than the dtype reaches, the smaller of c and s comes out as 0.
    """
    xp = arrays.namespace(c)
    r, k, _ = blocks
    top = max(a, b)
    if a == b:  # nothing to weigh against each other
        (c, s), H = _in_order(c, s), _product(H, top)
    else:
        shared = slice(r, r + k)
        x, y, h = _rescaled(c[shared], s[shared], a - top, b - top)
        c = xp.concat((c[:r], x, c[r + k :]))
        s = xp.concat((s[:r], y, s[r + k :]))
        only_a, only_b = _product(H[:r, :], a), _product(H[r + k :, :], b)
        H = xp.concat((only_a, _product(H[shared, :] * h[:, None], top), only_b), axis=0)
    if top >= _HARMLESS and not bool(xp.all(xp.isfinite(H))):
        raise InputError(
            f"A and B have norms up to 2**{top}, beyond the range of {H.dtype}; "
            "divide both by a large number."
        )
    return c, s, H


def _rescaled(c: Array, s: Array, a: int, b: int) -> tuple[Array, Array, Array]:
    """2ᵃc and 2ᵇs over h, brought back to c² + s² = 1. (One of a and b is 0, the other below.)"""
    xp = arrays.namespace(c)
    x, y = math.ldexp(1.0, a) * c, math.ldexp(1.0, b) * s
    h = xp.hypot(x, y)
    x, y = x / h, y / h
    # The smaller one keeps its relative accuracy, the larger one follows from it.
    first = x > y
    x, y = xp.where(first, other(xp.where(first, y, 0 * y)), x), xp.where(first, y, other(x))
    return *_in_order(x, y), h


def _in_order(c: Array, s: Array) -> tuple[Array, Array]:
    """Rounding may have swapped neighbours by one unit: c falls and s rises, as promised."""
    if arrays.is_numpy(c, s):
        return np.sort(c)[::-1], np.sort(s)
    xp = arrays.namespace(c, s)
    return xp.flip(xp.sort(c)), xp.sort(s)


def signed(H: Array) -> tuple[Array, Array]:
    """The largest entry of each row of H made positive, and the factors that U and V take.

    For complex rows these are phases: H is multiplied by their conjugates.
    """
    xp = arrays.namespace(H)
    if H.shape[0] == 0:
        return H, arrays.zeros((0,), H)
    if arrays.is_numpy(H):
        picked = H[np.arange(H.shape[0]), np.abs(H).argmax(axis=1)]
        if H.dtype.kind == "f":
            signs = np.copysign(H.dtype.type(1), picked)
            return H * signs[:, None], signs
    else:
        largest = xp.argmax(xp.abs(H), axis=1)
        picked = xp.take_along_axis(H, largest[:, None], axis=1)[:, 0]
    if not arrays.is_complex(H):
        signs = xp.where(picked < 0, -xp.ones_like(picked), xp.ones_like(picked))
        return H * signs[:, None], signs
    size = xp.abs(picked)
    phases = xp.where(size == 0, xp.ones_like(picked), picked / xp.where(size == 0, 1.0, size))
    return H * xp.conj(phases)[:, None], phases
