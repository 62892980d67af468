"""The rows a frame was fitted to, as they enter the decomposition, and their factors U and V."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import rank_tolerance
from cospan._validate import as_option, as_rows, as_weights, check_names
from cospan.decomposition import decompose
from cospan.frame.fitting import compressed, pseudo_inverse
from cospan.frame.properties import in_feature_units

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame


def prepare_rows(frame: JointFrame, X: Any, side: str, sample_weight: Any) -> Array:
    """Rows of one side, centred, weighted and shrunk; see :meth:`JointFrame.prepared`."""
    side = as_option(side, "side", ("A", "B"))
    check_names(X, frame.feature_names, side)
    rows = as_rows(X, side, d=frame.n_features)
    xp = arrays.namespace(rows)
    rows = xp.astype(rows, xp.float64, copy=False)
    k = 0 if side == "A" else 1
    alpha = frame.shrinkage
    root = math.sqrt((1 - alpha) * frame.geometry.weights[k])
    rows = root * (rows - arrays.like((frame.center_a, frame.center_b)[k], rows))
    if sample_weight is not None:
        roots = np.sqrt(as_weights(sample_weight, rows.shape[0]))
        rows = arrays.like(roots, rows)[:, None] * rows
    if alpha == 0:
        return rows
    ridge = arrays.identity(frame.core.shape[1], rows)
    if frame.basis is None:
        ridge = ridge * arrays.like(arrays.to_numpy(frame.geometry.unit) > 0, rows)[None, :]
    ridge = in_feature_units(ridge, frame.basis, frame.geometry)
    return xp.concat((rows, math.sqrt(alpha) * arrays.like(ridge, rows)), axis=0)


def with_left_factors(
    frame: JointFrame, A: Any, B: Any, weight_a: Any, weight_b: Any
) -> JointFrame:
    """The frame decomposed once more, from the prepared rows themselves, keeping U and V."""
    left = frame.prepared(A, "A", sample_weight=weight_a)
    right = frame.prepared(B, "B", sample_weight=weight_b)
    tol, basis = frame.tol, frame.basis
    per_unit = arrays.like(frame.geometry.per_unit(), left)[None, :]
    left, right = left * per_unit, right * per_unit
    if frame.shrinkage > 0 and basis is not None:
        left, right = arrays.matmul(left, basis), arrays.matmul(right, basis)
    elif frame.shrinkage == 0:
        eps = max(arrays.eps(as_rows(X, name)) for X, name in ((A, "A"), (B, "B")))
        tol = rank_tolerance(frame.n_features, frame.n_features, eps) if tol is None else tol
        basis = None
    factors = decompose(left, right, tol=tol, compute_uv=True)
    U, V = factors.U, factors.V
    if frame.shrinkage == 0 or basis is not None:
        factors, basis = compressed(factors, basis)
    return replace(
        frame,
        c=factors.c,
        s=factors.s,
        blocks=factors.blocks,
        core=factors.H,
        inverse=pseudo_inverse(factors.H),
        basis=basis,
        U=U,
        V=V,
    )
