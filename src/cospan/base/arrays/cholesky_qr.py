"""QR of tall matrices by Cholesky factors: matrix products instead of Householder vectors.

An accelerator multiplies matrices tens of times faster than it makes Householder vectors. The
Cholesky factor R of G = XᵀX gives Q = X R⁻¹, which is orthonormal only up to eps·κ(X)²; a second
pass over Q repairs that. Where κ(X) is too large for the first Cholesky factor to exist, G gets
a small multiple of the identity added and one more pass is made. Every step solves for Q row by
row, so Q R reproduces X to rounding whatever κ is; only the orthogonality has to be earned, and
it is checked at the end.

Written in terms of the array-API standard alone.
"""

from __future__ import annotations

import math

import array_api_compat
import numpy as np

from cospan.base.arrays.namespaces import namespace
from cospan.base.arrays.types import Array
from cospan.base.tolerance import SQUARES_KEEP_DIGITS

# ‖QᵀQ - I‖ from which one more Cholesky step brings orthogonality to rounding: the error is
# squared, and a factor of a half is left for the estimate.
_NEARLY_ORTHONORMAL = 0.5
# Attempts at a shift large enough for a Cholesky factor, each 100 times the one before.
_SHIFTS = 4


def worth_it(rows: int, columns: int) -> bool:
    """Is the matrix tall enough that products beat Householder vectors?"""
    return columns > 0 and rows >= 2 * columns


def thin_qr(x: Array) -> tuple[Array, Array] | None:
    """Q and R of a tall matrix, or None where its columns are too nearly dependent."""
    Q, G, R = _passes(x)
    if not _orthonormal(G):
        return None
    last = _cholesky(G)
    return None if last is None else (divided(Q, last), last @ R)


def factor(x: Array) -> Array:
    """A square F with FᵀF = xᵀx, to rounding relative to ‖x‖ whatever the rank of x is."""
    xp = namespace(x)
    largest = xp.max(xp.abs(x), axis=0)
    vanishing = (largest > 0) & (largest < SQUARES_KEEP_DIGITS)
    if bool(xp.any(vanishing)):
        # Squares of such columns are no numbers any more; in units of their own they are.
        size = xp.where(vanishing, largest, xp.ones_like(largest))[None, :]
        return factor(x / size) * size
    _, G, R = _passes(x)
    last = _cholesky(G) if _orthonormal(G) else None
    if last is None:
        # Directions that x does not have stay near 0 in G; the passes before have brought all
        # others near 1, so the halved digits of an eigenvalue do no harm here.
        values, vectors = xp.linalg.eigh(G)
        last = xp.sqrt(xp.clip(values, 0.0, math.inf))[:, None] * _adjoint(vectors)
    # A column of zeros stays one, as it does under Householder vectors: a feature that does not
    # vary is known by it, however small its rounding would be.
    return xp.where((largest > 0)[None, :], last @ R, xp.zeros_like(R))


def divided(x: Array, R: Array) -> Array:
    """``x R⁻¹`` for an upper triangular R, solved row by row: stable, unlike the inverse."""
    xp = namespace(x)
    native = getattr(xp.linalg, "solve_triangular", None)
    if native is not None:
        found: Array = native(R, x, upper=True, left=False)
        return found
    return xp.linalg.solve(R.T, x.T).T  # the plain transpose, for complex numbers too


def _adjoint(x: Array) -> Array:
    xp = namespace(x)
    return xp.conj(x).T if xp.isdtype(x.dtype, "complex floating") else x.T


def _passes(x: Array) -> tuple[Array, Array, Array]:
    """Q, its Gram matrix and R with x = Q R, after one pass or, if need be, two."""
    G = _adjoint(x) @ x
    step = _cholesky(G)
    if step is None:
        step = _shifted(G)
    Q, R = divided(x, step), step
    G = _adjoint(Q) @ Q
    if _orthonormal(G):
        return Q, G, R
    step = _shifted(G)
    Q, R = divided(Q, step), step @ R
    return Q, _adjoint(Q) @ Q, R


def _orthonormal(G: Array) -> bool:
    xp = namespace(G)
    eye = xp.eye(G.shape[0], dtype=G.dtype, device=array_api_compat.device(G))
    off = G - eye
    return bool(xp.sum(xp.abs(off) ** 2) < _NEARLY_ORTHONORMAL**2)


def _shifted(G: Array) -> Array:
    """Cholesky factor of G plus a multiple of the identity near its rounding error."""
    xp = namespace(G)
    n = G.shape[0]
    eye = xp.eye(n, dtype=G.dtype, device=array_api_compat.device(G))
    trace = float(xp.sum(xp.abs(xp.linalg.diagonal(G))))
    shift = n * float(xp.finfo(G.dtype).eps) * trace if trace > 0 else 1.0
    for _ in range(_SHIFTS):
        found = _cholesky(G + shift * eye)
        if found is not None:
            return found
        shift *= 100
    return math.sqrt(shift) * eye  # any regular matrix keeps x = Q R true


def _cholesky(G: Array) -> Array | None:
    """Upper triangular factor of G, or None where rounding has made G indefinite."""
    xp = namespace(G)
    try:
        R = xp.linalg.cholesky(G, upper=True)
    except (np.linalg.LinAlgError, RuntimeError):  # torch raises a RuntimeError of its own
        return None
    return R if bool(xp.all(xp.isfinite(xp.linalg.diagonal(R)))) else None
