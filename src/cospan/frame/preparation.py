"""Two summaries, centred, weighed, shrunk and decomposed: what a frame is made of."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE, rank_tolerance
from cospan._validate import as_option
from cospan.decomposition import GSVD, decompose
from cospan.errors import InputError
from cospan.shrinkage import choose_shrinkage
from cospan.summary import Summary

__all__ = [
    "Pair",
    "Prepared",
    "automatic_shrinkage",
    "compressed",
    "decomposed",
    "paired",
    "prepare",
    "pseudo_inverse",
]

_CENTERS = ("pooled", "each", "none")


class Prepared(NamedTuple):
    """What is settled before the decomposition."""

    center: Array  # taken off new samples
    center_a: Array  # taken off A's rows
    center_b: Array
    center_mode: str
    weight_a: float  # what a row's square counts: 1/n when balanced
    weight_b: float
    lam: float


class Pair(NamedTuple):
    """S_A and S_B of the prepared rows: as factors, or, from fast summaries, as matrices.

    With few rows, the factors stand in the coordinates of an orthonormal basis of their span.
    """

    left: Array
    right: Array
    factors: bool
    basis: Array | None  # (d, e)

    @property
    def matrices(self) -> tuple[Array, Array]:
        if self.factors:
            return arrays.gram(self.left), arrays.gram(self.right)
        return self.left, self.right


def prepare(a: Summary, b: Summary, center: Any, balance: bool) -> Prepared:
    """Centres, weights and λ."""
    weight_a, weight_b = (1 / a.n, 1 / b.n) if balance else (1.0, 1.0)
    zero = 0 * a.mean
    if not isinstance(center, str):
        vector = arrays.like(_as_center(center, a.n_features), a.mean)
        mode, centers = "given", (vector, vector, vector)
    else:
        mode = as_option(center, "center", _CENTERS)
        if mode == "pooled":
            part = 0.5 if balance else b.n / (a.n + b.n)
            middle = a.mean + part * (b.mean - a.mean)
            centers = (middle, middle, middle)
        else:
            centers = (zero, a.mean, b.mean) if mode == "each" else (zero, zero, zero)
    traces = a.trace_about(centers[1], weight_a) + b.trace_about(centers[2], weight_b)
    return Prepared(*centers, mode, weight_a, weight_b, traces / (2 * a.n_features))


def _as_center(center: Any, d: int) -> np.ndarray:
    """A vector of d finite numbers."""
    wanted = f"it must be a vector of {d} numbers, or 'pooled', 'each' or 'none'."
    try:
        vector = np.asarray(arrays.to_numpy(center), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"center is {center!r}; {wanted}") from None
    if vector.shape != (d,):
        raise InputError(f"center has shape {vector.shape}; {wanted}")
    if not np.isfinite(vector).all():
        raise InputError(f"center is not finite at feature {np.argmin(np.isfinite(vector))}.")
    return vector


def paired(a: Summary, b: Summary, prepared: Prepared) -> Pair:
    """Both summaries about their centres and with their weights."""
    if not (a.is_factored and b.is_factored):
        return Pair(
            a.scatter_about(prepared.center_a, prepared.weight_a),
            b.scatter_about(prepared.center_b, prepared.weight_b),
            factors=False,
            basis=None,
        )
    left, right = a.factor_parts(prepared.center_a), b.factor_parts(prepared.center_b)
    rows_a, rows_b = (sum(part.shape[0] for part in parts) for parts in (left, right))
    if rows_a + rows_b >= a.n_features:
        return Pair(
            a.factor_about(prepared.center_a, prepared.weight_a),
            b.factor_about(prepared.center_b, prepared.weight_b),
            factors=True,
            basis=None,
        )
    # Wide data: one copy of all the rows, which becomes the basis in its own memory.
    stack = arrays.stacked([*left, *right])
    roots = np.repeat(np.sqrt([prepared.weight_a, prepared.weight_b]), [rows_a, rows_b])
    stack *= arrays.like(roots, stack)[:, None]
    basis, R = arrays.orthonormal_columns(stack.T)
    inside = R.T
    return Pair(inside[:rows_a, :], inside[rows_a:, :], factors=True, basis=basis)


def decomposed(
    pair: Pair, alpha: float, lam: float, tol: float | None, eps: float
) -> tuple[GSVD, Array | None]:
    """GSVD of the prepared pair in the coordinates of a basis, and that basis (None: all)."""
    left, right, factors, basis = pair
    if alpha > 0:
        shrunk = _shrunk_factor if factors else _shrunk_matrix
        left, right = (shrunk(x, alpha, lam) for x in (left, right))
    elif tol is None:
        d = left.shape[1] if basis is None else basis.shape[0]
        tol = rank_tolerance(d, d, eps)
    return compressed(decompose(left, right, tol=tol, compute_uv=False), basis)


def compressed(factors: GSVD, basis: Array | None) -> tuple[GSVD, Array | None]:
    """A frame that does not fill its space, in an orthonormal basis of its own span."""
    if factors.rank == factors.H.shape[1]:
        return factors, basis
    orthogonal = arrays.qr(factors.H.T)
    inner = orthogonal.apply(arrays.identity(factors.rank, factors.H))
    inside = GSVD(factors.c, factors.s, orthogonal.R.T, None, None, factors.blocks)
    return inside, inner if basis is None else arrays.matmul(basis, inner)


def _shrunk_factor(factor: Array, alpha: float, lam: float) -> Array:
    """Triangular factor of (1-α) S + αλ I, from a factor of S."""
    xp = arrays.namespace(factor)
    ridge = math.sqrt(alpha * lam) * arrays.identity(factor.shape[1], factor)
    return arrays.triangular_factor(xp.concat((math.sqrt(1 - alpha) * factor, ridge), axis=0))


def _shrunk_matrix(matrix: Array, alpha: float, lam: float) -> Array:
    """The same from S itself."""
    ridge = alpha * lam * arrays.identity(matrix.shape[0], matrix)
    return arrays.cholesky((1 - alpha) * matrix + ridge)


def pseudo_inverse(core: Array) -> Array:
    """Inverse of the square frame, refined by nothing: a triangular solve behind a QR."""
    orthogonal = arrays.qr(core.T)
    eye = arrays.identity(core.shape[0], core)
    # core = Rᵀ Qᵀ, hence core⁻¹ = Q R⁻ᵀ
    return orthogonal.apply(arrays.solve_triangular_transposed(orthogonal.R, eye))


# ---- the choice of α --------------------------------------------------------------------------


class _Trial(NamedTuple):
    """Rows of one set to try α on, centred, in the coordinates of the pair."""

    rows: np.ndarray
    removed: np.ndarray  # the weight that leaves S together with the row
    counts: np.ndarray
    off_space: np.ndarray  # squared norm outside the coordinates


def automatic_shrinkage(a: Summary, b: Summary, prepared: Prepared, pair: Pair) -> float:
    """α by leave-one-out over rows of both sets, on the host: it is a matter of small matrices."""
    if prepared.lam == 0:
        return FAST_SHRINKAGE
    basis = None if pair.basis is None else arrays.to_numpy(pair.basis)
    sides = (
        (a, pair.left, prepared.center_a, prepared.weight_a),
        (b, pair.right, prepared.center_b, prepared.weight_b),
    )
    x, y = (_trial(*side, basis) for side in sides)
    matrices = tuple(arrays.to_numpy(matrix) for matrix in pair.matrices)
    return choose_shrinkage(
        (x.rows, y.rows),
        (matrices[0], matrices[1]),
        (x.removed, y.removed),
        (x.counts, y.counts),
        prepared.lam,
        None if basis is None else (x.off_space, y.off_space),
    )


def _trial(
    part: Summary, factor: Array, center: Array, weight: float, basis: np.ndarray | None
) -> _Trial:
    if basis is not None and part._holds_rows:
        return _trial_of_all(part, arrays.to_numpy(factor) / math.sqrt(weight), weight)
    sample = part.sample
    if len(sample) == 0:
        raise InputError(
            "shrinkage='auto' needs rows to try on and these summaries keep none; "
            "give a number, or make them with sample_size > 0."
        )
    rows = sample.rows - arrays.to_numpy(center)
    off_space = np.zeros(len(rows))
    if basis is not None:
        whole = np.einsum("ij,ij->i", rows, rows)
        rows = arrays.matmul(rows, basis)
        off_space = np.clip(whole - np.einsum("ij,ij->i", rows, rows), 0.0, None)
    return _Trial(rows, np.minimum(sample.weights, 1.0) * weight, sample.weights, off_space)


def _trial_of_all(part: Summary, factor: np.ndarray, weight: float) -> _Trial:
    """Every row, from a factor that holds them less the mean, and √n (mean - center) below."""
    rows = factor[: part.count]
    if len(factor) > part.count:
        rows = rows + factor[part.count] / math.sqrt(part.n)
    one = np.ones(part.count)
    return _Trial(rows, weight * one, one, 0 * one)
