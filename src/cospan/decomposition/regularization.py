"""Tikhonov regularization by a GSVD: one decomposition, then every λ for the price of a product.

In the coordinates y = H x the problem ‖A x - b‖² + λ²‖B x‖² is diagonal: with β = Uᴴb,

    y_i = f_i β_i / c_i        f_i = c_i² / (c_i² + λ² s_i²)

The f_i are the *filter factors*: near 1 where the data decide, near 0 where the penalty does.
Directions that only B has are 0 in every solution, and so is what neither has.

How to choose λ: generalized cross-validation takes the smallest ‖A x - b‖² / (p - Σ f_i)²
(Golub, Heath and Wahba 1979), the L-curve the sharpest corner of log ‖B x‖ against log ‖A x - b‖
(Hansen 1992).

Generalized least squares by a GSVD: the best linear unbiased estimate, also where the
covariance of the errors is singular (Paige 1985).

The model is y = M β + e with errors e = L v and v of unit covariance, so that β is best where ‖v‖
is smallest. With ``Mᴴ = U diag(c) H`` and ``Lᴴ = V diag(s) H`` and w the coordinates of y,
``y = Hᴴ w``, it falls apart into equations of one unknown each::

    w_i = c_i (Uᴴβ)_i + s_i (Vᴴv)_i

Where only M reaches, β is fixed; where both do, β takes everything and v stays 0; where only L
does, v has to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import NOT_ZERO
from cospan.decomposition.forms import pseudo_inverse
from cospan.errors import InputError

if TYPE_CHECKING:
    from cospan.decomposition.result import GSVD

_GRID = 200


@dataclass(frozen=True, eq=False)
class TikhonovPath:
    """Solutions along a path of λ, and what is needed to choose among them.

    >>> from cospan import gsvd
    >>> path = gsvd(np.diag([1.0, 0.1]), np.eye(2)).solve_tikhonov([1.0, 1.0], [0.1, 1.0])
    >>> path.x.round(2).tolist(), path.strength
    ([[0.99, 5.0], [0.5, 0.1]], 1.0)
    """

    strengths: np.ndarray  # (n,): the λ, rising
    x: Array  # (n, d): one solution a row
    #: (n,): ‖A x - b‖ and ‖B x‖
    residuals: np.ndarray
    penalties: np.ndarray
    degrees_of_freedom: np.ndarray  # (n,): Σ f_i, the trace of the matrix that takes b to A x
    gcv: np.ndarray  # (n,): generalized cross-validation: smallest is best
    curvature: np.ndarray  # (n,): of the L-curve: largest is the corner
    chosen: int  # the row that the criterion asked for picks (GCV's, if none was)

    @property
    def best(self) -> Array:
        """The solution for the chosen λ."""
        return self.x[self.chosen, :]

    @property
    def strength(self) -> float:
        """The chosen λ."""
        return float(self.strengths[self.chosen])


def solve_tikhonov(f: GSVD, b: Any, strength: Any) -> Array | TikhonovPath:
    if f.U is None:
        raise InputError("Tikhonov regularization needs U; use gsvd(..., compute_uv=True).")
    U = f.U
    b = as_vector(b, U.shape[0], f.H, "b")
    if isinstance(strength, str):
        if strength not in ("gcv", "l-curve"):
            raise InputError(
                f"strength is {strength!r}; it must be a number, several, 'gcv' or 'l-curve'."
            )
        return _path(f, U, b, _grid(f), strength)
    strengths = _as_strengths(strength)
    if strengths.ndim == 0:
        return _path(f, U, b, strengths[None], "gcv").best
    return _path(f, U, b, np.sort(strengths), "gcv")


def as_vector(b: Any, n: int, like: Array, name: str) -> Array:
    """A finite vector of n entries, in the namespace and dtype of `like`."""
    try:
        host = np.asarray(arrays.to_numpy(b) if arrays.is_array(b) else b)
        host = host.astype(complex if host.dtype.kind == "c" else float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a vector of numbers.") from None
    if host.shape != (n,):
        raise InputError(f"{name} has shape {host.shape} where ({n},) is expected.")
    if not np.isfinite(host).all():
        raise InputError(f"{name} contains NaN or Inf at entry {np.argmin(np.isfinite(host))}.")
    if host.dtype.kind == "c" and not arrays.is_complex(like):
        raise InputError(f"{name} is complex and A and B are real; solve for its two parts.")
    return arrays.like(host, like)


def _as_strengths(value: Any) -> np.ndarray:
    try:
        strengths = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        strengths = np.asarray(np.nan)
    valid = np.isfinite(strengths) & (strengths >= 0)
    if strengths.ndim > 1 or not strengths.size or not valid.all():
        raise InputError(
            f"strength is {value!r}; λ must be a finite number of at least 0, or a list of them."
        )
    return strengths


def _grid(f: GSVD) -> np.ndarray:
    """λ from where nothing is filtered to where everything is: the range of c/s."""
    r, k, _ = f.blocks
    ratios = arrays.to_numpy(f.c)[r : r + k] / np.maximum(arrays.to_numpy(f.s)[r : r + k], NOT_ZERO)
    if not k:
        return np.ones(1)
    low, high = max(float(ratios.min()), arrays.eps(f.c) * float(ratios.max())), float(ratios.max())
    return np.geomspace(low / 10, 10 * high, _GRID)


def _path(f: GSVD, full: Array, b: Array, strengths: np.ndarray, criterion: str) -> TikhonovPath:
    r, k, _ = f.blocks
    U = full[:, : r + k]
    c, s = (arrays.to_numpy(x)[: r + k].astype(float) for x in (f.c, f.s))
    beta = arrays.matmul(arrays.adjoint(U), b[:, None])
    # s/c·λ instead of c² + λ²s²: no square is taken of what may be small.
    with np.errstate(over="ignore"):
        filters = 1 / (1 + (strengths[:, None] * (s / c)[None, :]) ** 2)
    weights = arrays.like(filters / c[None, :], f.c)
    X = pseudo_inverse(f.H)[:, : r + k]
    x = arrays.matmul(weights * beta[:, 0][None, :], X.T)
    size = np.abs(arrays.to_numpy(beta)[:, 0])
    off = b[:, None] - arrays.matmul(U, beta)  # what no x can reach
    beyond = float(np.sum(np.abs(arrays.to_numpy(off)) ** 2))
    residuals = np.sqrt(np.sum(((1 - filters) * size) ** 2, axis=1) + beyond)
    penalties = np.sqrt(np.sum((filters * size * (s / c)) ** 2, axis=1))
    freedom = filters.sum(axis=1)
    left = U.shape[0] - freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        gcv = np.where(left > 0, (residuals / left) ** 2, np.inf)
    bend = _curvature(strengths, residuals, penalties)
    chosen = int(np.argmax(bend) if criterion == "l-curve" else np.argmin(gcv))
    return TikhonovPath(strengths, x, residuals, penalties, freedom, gcv, bend, chosen)


def _curvature(strengths: np.ndarray, residuals: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Curvature of (log residual, log penalty) along log λ; 0 where the curve is a point."""
    bend = np.zeros(len(strengths))
    sound = (strengths > 0) & (residuals > 0) & (penalties > 0)
    if np.count_nonzero(sound) < 3:
        return bend
    u, x, y = (np.log(values[sound]) for values in (strengths, residuals, penalties))
    if np.any(np.diff(u) == 0):
        return bend
    dx, dy = np.gradient(x, u), np.gradient(y, u)
    ddx, ddy = np.gradient(dx, u), np.gradient(dy, u)
    speed = (dx * dx + dy * dy) ** 1.5
    moving = speed > 0
    found = np.zeros(len(u))
    # As λ rises the residual grows and the penalty falls: the corner of the L turns left.
    found[moving] = (dx * ddy - ddx * dy)[moving] / speed[moving]
    bend[sound] = found
    return bend


class GlsSolution(NamedTuple):
    """The estimate, the errors' source, and how far y is from what the model can make at all.

    >>> from cospan import gsvd
    >>> M, L = np.ones((3, 1)), np.diag([1.0, 1.0, 1e-3])
    >>> found = gsvd(M.T, L.T).solve_gls([0.0, 0.0, 1.0])
    >>> found.beta.round(4), found.v.round(4), found.inconsistency < 1e-12
    (array([1.]), array([-1.   , -1.   ,  0.002]), True)
    """

    beta: Array  # (p,), the shortest one where the design leaves it open
    v: Array  # (q,), with y = M β + L v as nearly as possible
    inconsistency: float  # ‖y - M β - L v‖: 0 unless y leaves the range of [M, L]


def solve_gls(f: GSVD, y: Any) -> GlsSolution:
    U, V = f.left_factors()
    y = as_vector(y, f.H.shape[1], f.H, "y")
    r, k, t = f.blocks
    # y = Hᴴ w with H of full row rank: w = (Hᴴ)⁺ y = (H⁺)ᴴ y.
    w = arrays.matmul(arrays.adjoint(pseudo_inverse(f.H)), y[:, None])
    xp = arrays.namespace(f.H)
    off = y[:, None] - arrays.matmul(arrays.adjoint(f.H), w)
    beta = arrays.matmul(U[:, : r + k], w[: r + k, :] / f.c[: r + k, None])[:, 0]
    v = arrays.matmul(V[:, k : k + t], w[r + k :, :])[:, 0]
    return GlsSolution(beta, v, float(xp.sqrt(xp.sum(arrays.squared_sizes(off)))))
