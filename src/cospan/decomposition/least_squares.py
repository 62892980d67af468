"""Generalized least squares by a GSVD: the best linear unbiased estimate, also where the
covariance of the errors is singular (Paige 1985).

The model is y = M β + e with errors e = L v and v of unit covariance, so that β is best where ‖v‖
is smallest. With ``Mᴴ = U diag(c) H`` and ``Lᴴ = V diag(s) H`` and w the coordinates of y,
``y = Hᴴ w``, it falls apart into equations of one unknown each::

    w_i = c_i (Uᴴβ)_i + s_i (Vᴴv)_i

Where only M reaches, β is fixed; where both do, β takes everything and v stays 0; where only L
does, v has to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.decomposition.forms import pseudo_inverse
from cospan.decomposition.regularization import as_vector

if TYPE_CHECKING:
    from cospan.decomposition.result import GSVD

__all__ = ["GlsSolution", "solve_gls"]


class GlsSolution(NamedTuple):
    """The estimate, the errors' source, and how far y is from what the model can make at all."""

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
