"""What it costs each of K sets to represent a sample, and the weights that follow from it.

Two sets share one frame (`JointFrame`); for more there is no frame that diagonalises all of them
at once, but costs need none. The sets are prepared as a pair is: one centre, balanced, shrunk
towards one λ, the mean variance over all sets. Then, for a sample z off that centre,

    cost_k² = zᵀ S̃_k⁻¹ z        w_k ∝ 1 / cost_k²,  Σ w_k = 1

so that w_i / (w_i + w_j) is cos²θ of the pair. Each set becomes one matrix M_k with
cost_k = ‖z M_k‖: K sets cost K factorizations, and scoring is one matrix product a set.

Without shrinkage a set may lack directions that others have. As in a pair, they are given no
cost, and what belongs to them is read off in the metric of all sets together: with T = Σ S_k,
S_k is inverted within the coordinates in which T is the identity.

The frame weighting has its counterpart, too: w_k ∝ zᵀ T⁻¹ S̃_k T⁻¹ z, which for two sets is
‖c∘y‖² and ‖s∘y‖².
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._classes.preparation import PreparedSets, centers_of, check_digits, common_names
from cospan._tolerance import FAST_SHRINKAGE
from cospan._validate import as_option, as_rows, as_shrinkage, as_tol, as_weights
from cospan.shrinkage import left_out_cost
from cospan.summary import Summary

__all__ = ["ClassCosts", "simplex_weights"]

# Bytes of samples scored at once: enough for full BLAS speed, few enough to stay in the cache.
_SCORE_BYTES = 2**24


def simplex_weights(squared: Array) -> Array:
    """w_k ∝ 1/cost_k² from squared costs (n, K); each row sums to 1.

    Examples
    --------
    >>> simplex_weights(np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))
    array([[0.4       , 0.4       , 0.2       ],
           [0.33333333, 0.33333333, 0.33333333]])
    """
    xp = arrays.namespace(squared)
    # Relative to the smallest cost nothing overflows. At the centre every cost is 0 and no set
    # is nearer; a set that cannot represent a sample at all has an infinite cost and weight 0.
    least = xp.min(squared, axis=1)[:, None]
    tied = (squared == least) | (squared == 0)
    ratio = least / xp.where(tied, xp.ones_like(squared), squared)
    ratio = xp.where(tied, xp.ones_like(ratio), ratio)
    # Summed in order of size: the same sets in another order give the same bits.
    return ratio / xp.sum(xp.sort(ratio, axis=1), axis=1)[:, None]


@dataclass(frozen=True, eq=False)
class ClassCosts:
    """K sets, ready to say what a sample costs each of them.

    Make one with :meth:`from_summaries`.

    Attributes
    ----------
    center : array, (d,)
        Taken off every new sample. `centers` (K, d): off the rows of each set.
    center_mode : str
        ``"pooled"``, ``"each"``, ``"none"`` or ``"given"``.
    balance : bool
    shrinkage : float
        The α in use, also when it was chosen by ``"auto"``.
    lam : float
        λ, the mean variance that shrinkage pulls towards.
    weighting : str
        ``"cost"`` or ``"frame"``.
    tol : float or None
    sizes : ndarray, (K,)
        Sizes of the sets (sums of weights).
    feature_names : tuple of str or None
    maps : tuple of K arrays, (e, m_k)
        M_k: cost_k = ‖(z - center) M_k‖, inside `basis` where there is one.
    basis : array (d, e) or None
        Orthonormal basis of the rows' span where they are fewer than the features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import Summary
    >>> X, y = load_iris(return_X_y=True)
    >>> costs = ClassCosts.from_summaries([Summary.of(X[y == k]) for k in range(3)])
    >>> costs.weights(X[[0, 60, 120]]).round(2)
    array([[0.68, 0.05, 0.27],
           [0.34, 0.39, 0.28],
           [0.25, 0.07, 0.68]])
    """

    center: Array
    centers: Array
    center_mode: str
    balance: bool
    shrinkage: float
    lam: float
    weighting: str
    tol: float | None
    sizes: np.ndarray
    feature_names: tuple[str, ...] | None
    maps: tuple[Array, ...] = field(repr=False)
    basis: Array | None = field(repr=False, default=None)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def from_summaries(
        cls,
        summaries: Sequence[Summary],
        *,
        center: Any = "pooled",
        balance: bool = True,
        shrinkage: float | str = "auto",
        tol: float | None = None,
        weighting: str = "cost",
    ) -> ClassCosts:
        """Prepare K ≥ 2 sets; parameters as in :meth:`cospan.JointFrame.fit`."""
        alpha, tol = as_shrinkage(shrinkage), as_tol(tol)
        weighting = as_option(weighting, "weighting", ("cost", "frame"))
        names = common_names(summaries)
        mode, shared, centers = centers_of(summaries, center, balance)
        weights = [1 / part.n if balance else 1.0 for part in summaries]
        traces = [part.trace_about(centers[k, :], weights[k]) for k, part in enumerate(summaries)]
        lam = sum(traces) / (len(traces) * summaries[0].n_features)
        prepared = PreparedSets(summaries, centers, weights, lam)
        if alpha == "auto":
            alpha = prepared.automatic_shrinkage()
        alpha = float(alpha)
        check_digits(summaries, alpha, lam)
        maps = prepared.maps(alpha, tol, weighting)
        return cls(
            center=shared,
            centers=centers,
            center_mode=mode,
            balance=bool(balance),
            shrinkage=alpha,
            lam=lam,
            weighting=weighting,
            tol=tol,
            sizes=np.array([part.n for part in summaries]),
            feature_names=names,
            maps=tuple(maps),
            basis=prepared.basis,
        )

    # ---- scoring ------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return int(self.center.shape[0])

    def weights(self, Z: Any) -> Array:
        """Simplex weights (n, K) of samples: how much each set explains them."""
        return simplex_weights(self.squared_costs(Z))

    def squared_costs(self, Z: Any) -> Array:
        """Squared costs (n, K) of samples."""
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        return self._finished(self._in_chunks(rows, lambda part: self.center[None, :]))

    def left_out(self, X: Any, own: Any, *, sample_weight: Any = None) -> Array:
        """Squared costs (n, K) of the sets' own rows, each as if it had not been there.

        Exact, without refitting (centre, λ and divisor held).

        Parameters
        ----------
        X : array-like, (n, d)
            Rows the sets were made of, or some of them.
        own : array-like of int, (n,)
            The number of the set each row belongs to.
        sample_weight : array-like, optional
            The weights used in fitting; a row of weight 2 loses one of its two occurrences.
        """
        rows = as_rows(X, "X", d=self.n_features, allow_empty=True)
        own = np.asarray(own, dtype=np.intp)
        taken = np.ones(len(own))
        if sample_weight is not None:
            taken = np.minimum(as_weights(sample_weight, len(own)), 1.0)
        if self.balance:
            taken = taken / self.sizes[own]
        centers = arrays.to_numpy(self.centers)
        parts = self._in_chunks(rows, lambda part: centers[own[part], :])
        weight = arrays.like((1 - self.shrinkage) * taken, parts[:, 0])
        mine = arrays.like(own[:, None] == np.arange(len(self.maps))[None, :], parts) > 0
        xp = arrays.namespace(parts)
        if self.weighting == "cost":
            return xp.where(mine, left_out_cost(parts, weight[:, None]), parts)
        # With x leaving S_k and T, T⁻¹x is scaled for all sets alike, and S_k loses weight·xxᵀ:
        # what remains of its part is part_k - weight·(xᵀT⁻¹x)², and xᵀT⁻¹x is the parts' sum.
        whole = xp.sum(xp.sort(parts, axis=1), axis=1)
        left = xp.clip(parts - (weight * whole * whole)[:, None], 0.0, math.inf)
        return self._finished(xp.where(mine, left, parts))

    def _finished(self, parts: Array) -> Array:
        """Costs from the squared norms: the frame weighting's norms are inverse costs."""
        if self.weighting == "cost":
            return parts
        xp = arrays.namespace(parts)
        none = parts == 0
        inverse = 1 / xp.where(none, xp.ones_like(parts), parts)
        return xp.where(none, xp.full_like(parts, math.inf), inverse)

    def _in_chunks(self, rows: Array, center_of: Callable[[slice], Array]) -> Array:
        """‖z M_k‖² (n, K), with what `center_of` says taken off each slice of rows."""
        xp = arrays.namespace(rows)
        # Without shrinkage weak directions count as much as strong ones: float32 is too coarse.
        dtype = rows.dtype if self.shrinkage >= FAST_SHRINKAGE else xp.float64
        reference = xp.astype(rows[:0, :], dtype, copy=False)
        maps = [arrays.like(one, reference) for one in self.maps]
        basis = None if self.basis is None else arrays.like(self.basis, reference)
        step = max(1, _SCORE_BYTES // (8 * self.n_features))
        done = []
        for start in range(0, max(rows.shape[0], 1), step):
            part = slice(start, start + step)
            moved = xp.astype(rows[part, :], dtype, copy=False)
            moved = moved - arrays.like(center_of(part), reference)
            done.append(self._squared_norms(moved, maps, basis))
        return done[0] if len(done) == 1 else xp.concat(done, axis=0)

    def _squared_norms(self, moved: Array, maps: list[Array], basis: Array | None) -> Array:
        xp = arrays.namespace(moved)
        inside = moved if basis is None else arrays.matmul(moved, basis)
        columns = [xp.sum(arrays.matmul(inside, one) ** 2, axis=1) for one in maps]
        parts = xp.stack(columns, axis=1)
        if basis is None or self.shrinkage == 0:
            return parts
        whole = xp.sum(moved * moved, axis=1)
        off = xp.clip(whole - xp.sum(inside * inside, axis=1), 0.0, math.inf)
        # Off the span every set has the variance αλ, and T that of all K sets together.
        variance = self.shrinkage * self.lam
        if self.weighting == "frame":
            variance *= len(maps) ** 2
        return parts + (off / variance)[:, None]
