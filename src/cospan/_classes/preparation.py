"""K sets, prepared alike: one centre, balanced, shrunk towards one λ.

What costs, weights and the frame of K sets start from: :class:`PreparedSets` holds the factor of
each set's prepared rows, and gives it with any shrinkage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._classes.shrinkage import choose_class_shrinkage
from cospan._tolerance import FAST_SHRINKAGE, rank_tolerance
from cospan._validate import as_option, as_rows
from cospan.errors import InputError
from cospan.summary import Summary

__all__ = ["PreparedSets", "centers_of", "check_digits", "common_names", "whitening_of"]


class PreparedSets:
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
            factors = self.shrunk_factors(alpha)
            if weighting == "cost":
                return [_inverse(factor) for factor in factors]
        tol = self.tolerance(tol)
        whitening = whitening_of(factors, tol)
        make = _cost_map if weighting == "cost" else _frame_map
        return [make(factor, whitening, tol) for factor in factors]

    def tolerance(self, tol: float | None) -> float:
        """The relative tolerance given, or that of matrices of this size and precision."""
        d = self.summaries[0].n_features
        return rank_tolerance(d, d, self.eps) if tol is None else tol

    def shrunk_factors(self, alpha: float) -> list[Array]:
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


def whitening_of(factors: list[Array], tol: float) -> tuple[Array, Array]:
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


def centers_of(
    summaries: Sequence[Summary], center: Any, balance: bool
) -> tuple[str, Array, Array]:
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


def common_names(summaries: Sequence[Summary]) -> tuple[str, ...] | None:
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


def check_digits(summaries: Sequence[Summary], alpha: float, lam: float) -> None:
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
