"""K summaries in common coordinates: centred, in units, and inside their span where rows are few.

:class:`PreparedSets` settles what needs no choice (means, centre, variances). Asked for units, it
gives :class:`WorkingSets`: each set's moments with every feature divided by its unit, so that
shrinkage pulls towards the identity. With fewer rows than features the working coordinates are
those of an orthonormal basis of the rows' span; off it, every set has the variance α.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import rank_tolerance
from cospan._validate import as_flag, as_option, check_same_library
from cospan.sets import span
from cospan.sets.geometry import Geometry, as_center, common_names
from cospan.sets.units import Spreads
from cospan.summary import Summary, as_factors

_CENTERS = ("pooled", "each", "none")


class TrialRows(NamedTuple):
    """Rows of all sets to try choices on, centred on their own set, in working coordinates."""

    rows: np.ndarray  # (n, e)
    off: np.ndarray  # (n,): squared norm outside the span
    own: np.ndarray  # (n,): the set each belongs to
    counts: np.ndarray  # (n,): how often it counts

    @property
    def removed(self) -> np.ndarray:
        """The weight that leaves together with a row: a row of weight 2 loses one occurrence."""
        return np.asarray(np.minimum(self.counts, 1.0))

    @property
    def equal_weights(self) -> bool:
        """Does the same weight leave with every row?"""
        return bool(np.all(self.removed == self.removed[:1]))


class PreparedSets:
    """Summaries of K sets with their means, centre and variances."""

    def __init__(
        self,
        summaries: Sequence[Summary],
        *,
        span: str = "affine",
        center: Any = "pooled",
        balance: bool = True,
        tol: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        labels = labels or [f"set {k + 1}" for k in range(len(summaries))]
        self.feature_names = common_names(summaries, labels)
        first = summaries[0].mean
        for part, label in zip(summaries[1:], labels[1:], strict=True):
            check_same_library(first, part.mean, labels[0], label)
        self.summaries = summaries
        self.span = as_option(span, "span", ("affine", "linear"))
        self.balance = True if self.affine else as_flag(balance, "balance")
        self.tol = tol
        self.sizes = np.array([float(part.n) for part in summaries])
        self.weights = (1 / self.sizes if self.balance else np.ones(len(summaries))).tolist()
        xp = arrays.namespace(first)
        self.means = xp.stack([arrays.like(part.mean, first) for part in summaries], axis=0)
        self.center_mode, self.center = self._centered(center)
        self.eps = max(part.eps for part in summaries)

    @property
    def affine(self) -> bool:
        return self.span == "affine"

    def _centered(self, center: Any) -> tuple[str, Array]:
        first = self.means[0, :]
        # About the first mean, so that a large common offset costs no digits.
        shares = self.sizes if not self.balance else np.ones(len(self.sizes))
        steps = self.means - first[None, :]
        middle = first + arrays.like(shares / shares.sum(), first) @ steps
        if self.affine:
            return "own", middle
        if not isinstance(center, str):
            return "given", arrays.like(as_center(center, int(first.shape[0])), first)
        mode = as_option(center, "center", _CENTERS)
        return mode, middle if mode == "pooled" else 0 * first

    def about(self, k: int) -> Array:
        """What the moments of set k are taken about."""
        return self.means[k, :] if self.center_mode in ("own", "each") else self.center

    @cached_property
    def spreads(self) -> Spreads:
        """How far the features of every set spread."""
        about = [self.about(k) for k in range(len(self.summaries))]
        return Spreads(self.summaries, about, self.weights, self.means)

    def unit(self, units: str) -> np.ndarray:
        """The unit of every feature: 0 where it is constant in all sets."""
        return self.spreads.unit(units) if self.affine else self.spreads.single()

    def working(self, units: str, *, outlined: bool = False) -> WorkingSets:
        """The sets' moments in these units; `outlined`: to try settings on, where that saves."""
        return WorkingSets(self, units, outlined=outlined)


class WorkingSets:
    """The sets' moments in working coordinates.

    Outlined ones have no basis of a span of few rows (see `span`): enough to try settings on.
    """

    def __init__(self, prepared: PreparedSets, units: str, *, outlined: bool = False) -> None:
        self.prepared = prepared
        held = all(part._holds_rows for part in prepared.summaries)
        self._may_outline = outlined and held and prepared.affine
        self._outlined_means: np.ndarray | None = None
        self.units = units
        self.unit = arrays.like(prepared.unit(units), prepared.center)
        host = arrays.to_numpy(self.unit)
        self.n_varying = int(np.count_nonzero(host))
        per_unit = np.where(host > 0, 1 / np.where(host > 0, host, 1.0), 0.0)
        self.per_unit = arrays.like(per_unit, prepared.center)
        self.basis: Array | None = None
        self.factored = as_factors(prepared.summaries)
        self._moments = self._factors() if self.factored else self._matrices()
        self._spectra: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    # ---- moments ------------------------------------------------------------------------------

    def _factors(self) -> list[Array]:
        p = self.prepared
        roots = [math.sqrt(weight) for weight in p.weights]
        parts = [part.factor_parts(p.about(k)) for k, part in enumerate(p.summaries)]
        rows = [sum(one.shape[0] for one in factor) for factor in parts]
        between = self._mean_steps()
        if sum(rows) + between.shape[0] >= p.center.shape[0]:
            xp = arrays.namespace(p.center)
            joined = [one[0] if len(one) == 1 else xp.concat(one, axis=0) for one in parts]
            return [
                (root * self.per_unit)[None, :] * one
                for root, one in zip(roots, joined, strict=True)
            ]
        stack = [one for factor in parts for one in factor] + [between]
        scale = np.repeat([*roots, 1.0], [*rows, between.shape[0]])
        ends = np.cumsum([0, *rows]).tolist()
        if self._may_outline:
            inside = span.outlined(stack, scale, self.per_unit)
            steps = arrays.to_numpy(inside[ends[-1] :, :])
            self._outlined_means = np.concatenate([0 * steps[:1, :], steps])
        else:
            self.basis, inside = span.based(stack, scale, self.per_unit)
        return [inside[i:j, :] for i, j in itertools.pairwise(ends)]

    def _mean_steps(self) -> Array:
        """The means relative to the first: with them in the span, every row lies in it."""
        means = self.prepared.means
        if self.prepared.center_mode not in ("own", "each"):
            return means[:0, :]  # moments about another point hold the step to the mean already
        return means[1:, :] - means[:1, :]

    def _matrices(self) -> list[Array]:
        p = self.prepared
        scale = self.per_unit[:, None] * self.per_unit[None, :]
        return [
            part.scatter_about(p.about(k), p.weights[k]) * scale
            for k, part in enumerate(p.summaries)
        ]

    @property
    def outlined(self) -> bool:
        """Is a basis missing that the sets need?"""
        return self._outlined_means is not None

    @property
    def n_sets(self) -> int:
        return len(self._moments)

    def matrix(self, k: int) -> Array:
        """The moments of set k in working coordinates."""
        return arrays.gram(self._moments[k]) if self.factored else self._moments[k]

    def shrunk(self, k: int, alpha: float) -> Array:
        """A factor of (1-α) S_k + α I; not triangular where α is 0."""
        one = self._moments[k]
        if alpha == 0 and self.factored:
            return one
        if self.factored:
            ridge = math.sqrt(alpha) * arrays.identity(one.shape[1], one)
            rows = arrays.namespace(one).concat((math.sqrt(1 - alpha) * one, ridge), axis=0)
            return arrays.triangular_factor(rows)
        return arrays.cholesky((1 - alpha) * one + alpha * arrays.identity(one.shape[0], one))

    def spectrum(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of set k's moments, on the host."""
        if k not in self._spectra:
            values, vectors = arrays.eigh(arrays.to_numpy(self.matrix(k)))
            self._spectra[k] = (np.clip(values, 0.0, None), vectors)
        return self._spectra[k]

    def tolerance(self) -> float:
        d = self.prepared.summaries[0].n_features
        tol = self.prepared.tol
        return rank_tolerance(d, d, self.prepared.eps) if tol is None else tol

    # ---- positions ----------------------------------------------------------------------------

    def means(self) -> np.ndarray:
        """(K, e): the sets' means less the centre, in working coordinates, on the host."""
        if self._outlined_means is not None:
            return np.asarray(self._outlined_means - self._outlined_means.mean(axis=0))
        moved = (self.prepared.means - self.prepared.center[None, :]) * self.per_unit[None, :]
        inside = moved if self.basis is None else arrays.matmul(moved, self.basis)
        return np.asarray(arrays.to_numpy(inside), dtype=np.float64)

    def trial(self, most: int) -> TrialRows | None:
        """Sampled rows of every set, at most so many of each; None where a set keeps none."""
        found = [self._trial_of(k, most) for k in range(self.n_sets)]
        if any(part is None or len(part[0]) == 0 for part in found):
            return None
        rows, off, count = zip(*[part for part in found if part is not None], strict=True)
        own = np.repeat(np.arange(self.n_sets), [len(part) for part in rows])
        return TrialRows(np.concatenate(rows), np.concatenate(off), own, np.concatenate(count))

    def _trial_of(self, k: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        part = self.prepared.summaries[k]
        if (self.basis is not None or self.outlined) and part._holds_rows:
            # The factor's rows are the rows themselves, less the mean.
            rows = arrays.to_numpy(self._moments[k])[: part.count][:most]
            one = np.ones(len(rows))
            return rows / math.sqrt(self.prepared.weights[k]), 0 * one, one
        sample = part.sample
        if len(sample) == 0:
            return None
        per_unit = arrays.to_numpy(self.per_unit)
        rows = (sample.rows[:most] - arrays.to_numpy(part.mean)) * per_unit
        off = np.zeros(len(rows))
        if self.basis is not None:
            whole = np.einsum("ij,ij->i", rows, rows)
            rows = arrays.matmul(rows, arrays.to_numpy(self.basis))
            off = np.clip(whole - np.einsum("ij,ij->i", rows, rows), 0.0, None)
        return rows, off, sample.weights[:most]

    def geometry(self, *, shrinkage: float, pooling: float, dof: float) -> Geometry:
        """What is settled, with the choices made."""
        p = self.prepared
        return Geometry(
            span=p.span,
            center=p.center,
            center_mode=p.center_mode,
            means=p.means,
            unit=self.unit,
            units=self.units,
            balance=p.balance,
            shrinkage=shrinkage,
            pooling=pooling,
            dof=dof if p.affine else 0.0,
            sizes=p.sizes,
            tol=p.tol,
            feature_names=p.feature_names,
        )
