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
from cospan._class_shrinkage import choose_class_shrinkage
from cospan._tolerance import FAST_SHRINKAGE, rank_tolerance
from cospan._validate import as_option, as_rows, as_shrinkage, as_tol, as_weights
from cospan.errors import InputError
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
    return ratio / xp.sum(ratio, axis=1)[:, None]


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
        names = _common_names(summaries)
        mode, shared, centers = _centers(summaries, center, balance)
        weights = [1 / part.n if balance else 1.0 for part in summaries]
        traces = [part.trace_about(centers[k, :], weights[k]) for k, part in enumerate(summaries)]
        lam = sum(traces) / (len(traces) * summaries[0].n_features)
        prepared = _Prepared(summaries, centers, weights, lam)
        if alpha == "auto":
            alpha = prepared.automatic_shrinkage()
        alpha = float(alpha)
        _check_digits(summaries, alpha, lam)
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
        whole = xp.sum(parts, axis=1)
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


# ---- preparing --------------------------------------------------------------------------------


class _Prepared:
    """Sets with their centres and weights, in the coordinates they are worked on."""

    def __init__(
        self, summaries: Sequence[Summary], centers: Array, weights: list[float], lam: float
    ) -> None:
        self.summaries = summaries
        self.centers = centers
        self.weights = weights
        self.lam = lam
        self.eps = max(part.eps for part in summaries)
        self.factored = all(part.is_factored for part in summaries)
        self.basis: Array | None = None
        self.factors: list[Array] = []
        if self.factored:
            self.factors = [
                part.factor_about(centers[k, :], weights[k]) for k, part in enumerate(summaries)
            ]
            if sum(factor.shape[0] for factor in self.factors) < summaries[0].n_features:
                self.factors, self.basis = _in_span(self.factors)

    def scatters(self) -> list[Array]:
        if self.factored:
            return [arrays.gram(factor) for factor in self.factors]
        return [
            part.scatter_about(self.centers[k, :], self.weights[k])
            for k, part in enumerate(self.summaries)
        ]

    def automatic_shrinkage(self) -> float:
        """α by leave-one-out over the summaries' samples of rows."""
        if self.lam == 0:
            return FAST_SHRINKAGE
        samples = [part.sample for part in self.summaries]
        if any(len(sample) == 0 for sample in samples):
            raise InputError(
                "shrinkage='auto' needs rows to try on and these summaries keep none; "
                "give a number, or make them with sample_size > 0."
            )
        centers = arrays.to_numpy(self.centers)
        return choose_class_shrinkage(
            [sample.rows - centers[k] for k, sample in enumerate(samples)],
            [arrays.to_numpy(scatter) for scatter in self.scatters()],
            [sample.weights for sample in samples],
            self.weights,
            self.lam,
            None if self.basis is None else arrays.to_numpy(self.basis),
        )

    def maps(self, alpha: float, tol: float | None, weighting: str) -> list[Array]:
        """M_k of every set."""
        factors = self.factors
        if alpha > 0:
            factors = self._shrunk_factors(alpha)
            if weighting == "cost":
                return [_inverse(factor) for factor in factors]
        if tol is None:
            d = self.summaries[0].n_features
            tol = rank_tolerance(d, d, self.eps)
        whitening = _whitening(factors, tol)
        make = _cost_map if weighting == "cost" else _frame_map
        return [make(factor, whitening, tol) for factor in factors]

    def _shrunk_factors(self, alpha: float) -> list[Array]:
        """Triangular factors of (1-α) S_k + αλ I."""
        ridge = alpha * self.lam
        if self.factored:
            eye = math.sqrt(ridge) * arrays.identity(self.factors[0].shape[1], self.factors[0])
            xp = arrays.namespace(eye)
            scaled = (math.sqrt(1 - alpha) * factor for factor in self.factors)
            return [arrays.triangular_factor(xp.concat((one, eye), axis=0)) for one in scaled]
        scatters = self.scatters()
        eye = ridge * arrays.identity(scatters[0].shape[0], scatters[0])
        return [arrays.cholesky((1 - alpha) * scatter + eye) for scatter in scatters]


def _inverse(factor: Array) -> Array:
    """R⁻¹ of a triangular factor: ‖z R⁻¹‖² = zᵀ(RᵀR)⁻¹z."""
    eye = arrays.identity(factor.shape[0], factor)
    return arrays.solve_triangular_transposed(factor, eye).T


def _whitening(factors: list[Array], tol: float) -> tuple[Array, Array]:
    """L (e, m) with Lᵀ T L = I on the span of all sets, and the m square roots of T's spectrum."""
    xp = arrays.namespace(factors[0])
    _, values, Vt = arrays.svd(arrays.triangular_factor(xp.concat(factors, axis=0)))
    largest = float(values[0]) if values.shape[0] else 0.0
    rank = int(xp.sum(xp.astype(values > tol * largest, xp.int64)))
    return Vt[:rank, :].T / values[None, :rank], values[:rank]


def _cost_map(factor: Array, whitening: tuple[Array, Array], tol: float) -> Array:
    """M of a set that may lack directions: its inverse on those it has."""
    L, spectrum = whitening
    xp = arrays.namespace(factor)
    _, values, Bt = arrays.svd(arrays.triangular_factor(arrays.matmul(factor, L)))
    # A direction counts as the set's own if the set reaches along it farther than rounding: judged
    # in the units of the data, as `gsvd` does.
    reach = values * xp.sqrt(xp.sum((Bt * spectrum[None, :]) ** 2, axis=1))
    norm = float(xp.max(arrays.svd(factor)[1])) if 0 not in factor.shape else 0.0
    keep = arrays.to_numpy(reach > tol * norm)
    has = int(keep.sum()) if keep.all() else int(np.argmin(keep))
    return arrays.matmul(L, Bt[:has, :].T) / values[None, :has]


def _frame_map(factor: Array, whitening: tuple[Array, Array], tol: float) -> Array:
    """M with ‖z M‖² = zᵀ T⁻¹ S T⁻¹ z."""
    L, _ = whitening
    return arrays.matmul(L, arrays.triangular_factor(arrays.matmul(factor, L)).T)


def _in_span(factors: list[Array]) -> tuple[list[Array], Array]:
    """Factors in an orthonormal basis of their rows, which are fewer than the columns."""
    xp = arrays.namespace(factors[0])
    basis, R = arrays.orthonormal_columns(xp.concat(factors, axis=0).T)
    ends = np.cumsum([factor.shape[0] for factor in factors])
    starts = [0, *ends[:-1].tolist()]
    inside = R.T
    return [inside[i:j, :] for i, j in zip(starts, ends.tolist(), strict=True)], basis


def _centers(summaries: Sequence[Summary], center: Any, balance: bool) -> tuple[str, Array, Array]:
    """The kind of centre, what new samples lose, and what the rows of each set lose (K, d)."""
    first = summaries[0].mean
    xp = arrays.namespace(first)
    means = xp.stack([arrays.like(part.mean, first) for part in summaries], axis=0)
    every = xp.ones_like(means)
    if not isinstance(center, str):
        given = as_rows(np.atleast_2d(arrays.to_numpy(center)), "center", d=summaries[0].n_features)
        shared = arrays.like(given[0, :], first)
        return "given", shared, shared[None, :] * every
    mode = as_option(center, "center", ("pooled", "each", "none"))
    if mode == "pooled":
        sizes = np.ones(len(summaries)) if balance else np.array([part.n for part in summaries])
        # About the first mean, so that a large common offset costs no digits.
        steps = means - first[None, :]
        shared = first + arrays.like(sizes / sizes.sum(), first) @ steps
        return mode, shared, shared[None, :] * every
    return mode, 0 * first, means if mode == "each" else 0 * means


def _common_names(summaries: Sequence[Summary]) -> tuple[str, ...] | None:
    if len(summaries) < 2:
        raise InputError(f"There are {len(summaries)} sets; at least two are needed.")
    widths = sorted({part.n_features for part in summaries})
    if len(widths) > 1:
        raise InputError(
            f"The sets have {' and '.join(map(str, widths))} features; "
            "all need the same features in the same order."
        )
    names = {part.feature_names for part in summaries} - {None}
    if len(names) > 1:
        raise InputError(
            "The sets name their features unlike; bring the columns into the same order."
        )
    return names.pop() if names else None


def _check_digits(summaries: Sequence[Summary], alpha: float, lam: float) -> None:
    if alpha < FAST_SHRINKAGE and not all(part.exact for part in summaries):
        raise InputError(
            f"Only exact summaries have the digits for shrinkage {alpha:g}; use at least "
            f"{FAST_SHRINKAGE:g}, or make the summaries with exact=True."
        )
    if alpha > 0 and lam == 0:
        raise InputError(
            "Every row of every set equals the centre, so there is nothing to compare; "
            "check that the features vary."
        )
