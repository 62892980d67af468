"""K summaries in common coordinates: centred, in units, and inside their span where rows are few.

A sample z costs the set k

    cost_k² = ν + (z - μ_k)ᵀ Σ̃_k⁻¹ (z - μ_k)        Σ̃_k = (1-α) Σ_k + α T      (span "affine")
    cost_k² =     (z - m)ᵀ  S̃_k⁻¹ (z - m)           S̃_k = (1-α) S_k + α T      (span "linear")

with Σ_k the covariance about the set's own mean and S_k the second moments about one centre m.
T is diagonal: its square roots are the `unit` of each feature, 0 for one that is constant in every
set and takes no part. Everything is computed on features divided by their unit, and with fewer
rows than features in an orthonormal basis of the rows' span, off which every set has variance α.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import as_flag, as_option, as_tol, check_same_library
from cospan.base.tolerance import (
    CONSTANT_SPREAD,
    FAST_SHRINKAGE,
    SQUARES_KEEP_DIGITS,
    rank_tolerance,
)
from cospan.base.types import Array, Floats, Index
from cospan.errors import InputError
from cospan.model.calibration import Calibration
from cospan.summary import Summary, as_factors


@dataclass(frozen=True, eq=False)
class Geometry:
    """Positions, units and settings of K sets."""

    span: str  # ``"affine"`` or ``"linear"``
    center: Array  # (d,): the origin of coordinates; taken off every sample
    #: ``"own"`` for the affine span; ``"pooled"``, ``"each"`` or ``"none"``
    center_mode: str
    means: Array  # (K, d)
    balance: bool  # whether a set's moments are divided by its size. Always, in the affine span.
    sizes: Floats  # (K,): sums of weights
    #: (d,): square roots of the diagonal of T; 0 for a feature that is constant in every set
    unit: Array = field(default_factory=lambda: np.zeros(0))
    units: str = "common"  # or ``"own"``
    shrinkage: float = 0.0  # α
    pooling: float = 0.0  # γ
    dof: float = 0.0  # ν
    tol: float | None = None
    feature_names: tuple[str, ...] | None = None
    #: How a table's columns became these features, as plain data, where they did
    encoding: Mapping[str, Any] | None = None
    #: The gain and the offsets that turn costs into probabilities
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def n_sets(self) -> int:
        return int(self.means.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.center.shape[0])

    @property
    def affine(self) -> bool:
        return self.span == "affine"

    @property
    def weights(self) -> Floats:
        """(K,): what the square of one row counts in its set's moments."""
        return 1 / self.sizes if self.balance else np.ones(self.n_sets)

    @property
    def constant_features(self) -> Index:
        """Numbers of the features that are constant in every set."""
        return np.flatnonzero(arrays.to_numpy(self.unit) == 0)

    @property
    def n_varying(self) -> int:
        """How many features vary."""
        return self.n_features - len(self.constant_features)

    @property
    def own_centers(self) -> bool:
        """Are every set's moments taken about its own mean?"""
        return self.center_mode in ("own", "each")

    def origin(self, k: int) -> Array:
        """What is taken off a sample before it is compared with set k."""
        return self.means[k, :] if self.affine else self.center

    def about(self, k: int) -> Array:
        """What the moments of set k are taken about."""
        return self.means[k, :] if self.own_centers else self.center

    def per_unit(self) -> Array:
        """1/unit, and 0 for constant features."""
        return arrays.like(inverses(arrays.to_numpy(self.unit)), self.unit)

    def mixing(self) -> Floats:
        """(K, K): what set j weighs in the pooled covariance of set k."""
        K = self.n_sets
        return (1 - self.pooling) * np.eye(K) + self.pooling / K


def inverses(x: Floats) -> Floats:
    """1/x, with 1/0 read as 0."""
    return np.where(x > 0, 1 / np.where(x > 0, x, 1.0), 0.0)


def working_rows(
    rows: Array, origin: Array, geometry: Geometry, basis: Array | None
) -> tuple[Array, Array | None]:
    """Rows less an origin, in units, inside the span; and their squared norms off it.

    In float64: a large offset of all rows must not cost digits.
    """
    xp = arrays.namespace(rows)
    rows = xp.astype(rows, xp.float64, copy=False)
    moved = (rows - arrays.like(origin, rows)) * arrays.like(geometry.per_unit(), rows)
    if basis is None:
        return moved, None
    inside = arrays.matmul(moved, arrays.like(basis, rows))
    off = xp.sum(moved * moved, axis=1) - xp.sum(inside * inside, axis=1)
    return inside, xp.clip(off, 0.0, math.inf)


def in_feature_units(core: Array, basis: Array | None, geometry: Geometry) -> Array:
    """Rows in working coordinates as rows of features; a constant feature has the unit 1."""
    inside = core if basis is None else arrays.matmul(core, basis.T)
    unit = arrays.to_numpy(geometry.unit)
    return inside * arrays.like(np.where(unit > 0, unit, 1.0), inside)[None, :]


class TrialRows(NamedTuple):
    """Rows of all sets to try choices on, in working coordinates."""

    rows: Floats  # (n, e): less what the moments of their set are taken about
    off: Floats  # (n,): squared norm outside the span
    own: Index  # (n,): the set each belongs to
    counts: Floats  # (n,): how often it counts

    @property
    def removed(self) -> Floats:
        """The weight that goes with a row: a row of weight 2 loses one occurrence."""
        return np.asarray(np.minimum(self.counts, 1.0))

    def inside(self, basis: Array) -> TrialRows:
        """The same rows in the coordinates of a basis (e, m)."""
        return self._replace(rows=arrays.matmul(self.rows, arrays.to_numpy(basis)))


class PreparedSets:
    """Summaries of K sets, and their positions: a geometry that has no units and choices yet."""

    def __init__(
        self,
        summaries: Sequence[Summary],
        span: str = "affine",
        center: str = "pooled",
        balance: bool = True,
        tol: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        names = _common_names(summaries, labels or [f"set {k + 1}" for k in range(len(summaries))])
        affine = as_option(span, "span", ("affine", "linear")) == "affine"
        balance = True if affine else as_flag(balance, "balance")
        sizes = np.array([float(part.n) for part in summaries])
        first = summaries[0].mean
        means = [arrays.like(part.mean, first) for part in summaries]
        stacked = arrays.namespace(first).stack(means, axis=0)
        # About the first mean, so that a large common offset costs no digits.
        shares = np.ones(len(sizes)) if balance else sizes
        middle = first + arrays.like(shares / shares.sum(), first) @ (stacked - first[None, :])
        mode, at = "own", middle
        if not affine:
            mode = as_option(center, "center", ("pooled", "each", "none"))
            at = middle if center == "pooled" else 0 * first
        self.summaries = summaries
        self.eps = max(part.eps for part in summaries)
        self.positions = Geometry(
            span=span,
            center=at,
            center_mode=mode,
            means=stacked,
            balance=balance,
            sizes=sizes,
            tol=as_tol(tol),
            feature_names=names,
        )

    @classmethod
    def like(
        cls, g: Geometry, summaries: Sequence[Summary], labels: Sequence[str] | None = None
    ) -> PreparedSets:
        """Sets prepared as those of a geometry were."""
        return cls(summaries, g.span, g.center_mode, g.balance, g.tol, labels)

    @cached_property
    def spreads(self) -> Floats:
        """(K, d): square roots of the diagonals of the sets' moments, as they are weighted."""
        g = self.positions
        found = np.zeros((g.n_sets, g.n_features))
        for k, part in enumerate(self.summaries):
            if part.moments.factored:
                for one in part.factor_parts(g.about(k)):
                    found[k] += arrays.to_numpy(arrays.namespace(one).sum(one * one, axis=0))
            else:
                found[k] = np.diagonal(arrays.to_numpy(part.scatter_about(g.about(k))))
        return np.sqrt(g.weights[:, None] * np.clip(found, 0.0, None))

    def unit(self, units: str) -> Floats:
        """The unit of every feature: 0 where it is constant in all sets.

        In the linear span one for all features, whether they vary or not: the paper has none.
        """
        within = _root_mean_square(self.spreads)
        if not self.positions.affine:
            return np.full(len(within), float(_root_mean_square(within)) or 1.0)
        means = arrays.to_numpy(self.positions.means)
        between = _root_mean_square(means - means.mean(axis=0))
        # What is so small that its square has no digits counts as constant, too.
        rounding = CONSTANT_SPREAD * np.abs(means).max(axis=0)
        rounding = np.maximum(rounding, SQUARES_KEEP_DIGITS)
        varies = within > rounding
        # Constant in every set, at different values: only the means separate the sets.
        apart = ~varies & (between > rounding)
        unit = np.where(varies, within, np.where(apart, between, 0.0))
        if units != "own" and unit.any():
            some = unit[varies] if varies.any() else unit[apart]
            unit = np.where(unit > 0, _root_mean_square(some), 0.0)
        return unit


def _root_mean_square(x: Floats) -> Floats:
    """Of every column."""
    return np.asarray(np.sqrt(np.mean(x**2, axis=0)))


class WorkingSets:
    """The sets' moments in working coordinates, features being divided by these units."""

    def __init__(self, prepared: PreparedSets, units: str) -> None:
        self.prepared, self.n_sets = prepared, len(prepared.summaries)
        unit = arrays.like(prepared.unit(units), prepared.positions.center)
        #: With units; what is chosen for the sets is not in it.
        self.geometry = replace(prepared.positions, unit=unit, units=units)
        self.per_unit = self.geometry.per_unit()
        self.basis: Array | None = None
        self.factored = as_factors(prepared.summaries)
        self._moments = self._factors() if self.factored else self._matrices()
        self._spectra: dict[int, tuple[Floats, Floats]] = {}
        self._trials: dict[int, TrialRows] = {}

    def _factors(self) -> list[Array]:
        g, xp = self.geometry, arrays.namespace(self.per_unit)
        roots = np.sqrt(g.weights).tolist()
        parts = [x.factor_parts(g.about(k)) for k, x in enumerate(self.prepared.summaries)]
        rows = [sum(one.shape[0] for one in factor) for factor in parts]
        # With the means relative to the first in the span, every row lies in it; moments about
        # another point hold the step to the mean already.
        between = g.means[1:, :] - g.means[:1, :] if g.own_centers else g.means[:0, :]
        if sum(rows) + between.shape[0] >= g.n_features:
            joined = [one[0] if len(one) == 1 else xp.concat(one, axis=0) for one in parts]
            weighted = zip(roots, joined, strict=True)
            return [(root * self.per_unit)[None, :] * one for root, one in weighted]
        stack = [one for factor in parts for one in factor] + [between]
        scale = np.repeat([*roots, 1.0], [*rows, between.shape[0]])
        ends = np.cumsum([0, *rows]).tolist()
        # One copy of all the rows, which becomes the basis in its own memory.
        stacked = arrays.stacked(stack)
        stacked *= arrays.like(scale, stacked)[:, None]
        stacked *= self.per_unit[None, :]
        self.basis, R = factorizations.orthonormal_columns(stacked.T)
        return [R.T[i:j, :] for i, j in itertools.pairwise(ends)]

    def _matrices(self) -> list[Array]:
        g, per_unit = self.geometry, self.per_unit
        summaries = enumerate(self.prepared.summaries)
        found = (x.scatter_about(g.about(k), float(g.weights[k])) for k, x in summaries)
        return [scatter * per_unit[:, None] * per_unit[None, :] for scatter in found]

    def matrix(self, k: int) -> Array:
        """The moments of set k in working coordinates."""
        return arrays.gram(self._moments[k]) if self.factored else self._moments[k]

    def shrunk(self, k: int, alpha: float) -> Array:
        """A factor of (1-α) S_k + α I; not triangular where α is 0."""
        one = self._moments[k]
        if alpha == 0 and self.factored:
            return one
        ridge = arrays.identity(one.shape[1], one)
        if not self.factored or alpha >= FAST_SHRINKAGE:
            return factorizations.cholesky((1 - alpha) * self.matrix(k) + alpha * ridge)
        parts = (math.sqrt(1 - alpha) * one, math.sqrt(alpha) * ridge)
        return factorizations.triangular_factor(arrays.namespace(one).concat(parts, axis=0))

    def spectrum(self, k: int) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of set k's moments, on the host."""
        if k not in self._spectra:
            values, vectors = factorizations.eigh(arrays.to_numpy(self.matrix(k)))
            self._spectra[k] = (np.clip(values, 0.0, None), vectors)
        return self._spectra[k]

    def tolerance(self) -> float:
        """Up to this share of the largest, a direction's strength counts as 0."""
        d, tol = self.geometry.n_features, self.geometry.tol
        return rank_tolerance(d, d, self.prepared.eps) if tol is None else tol

    def means(self) -> Floats:
        """(K, e): the sets' means less the centre, in working coordinates, on the host."""
        g = self.geometry
        return np.asarray(arrays.to_numpy(working_rows(g.means, g.center, g, self.basis)[0]))

    def trial(self, most: int) -> TrialRows | None:
        """Sampled rows of every set, at most so many of each; None where a set keeps none."""
        if most in self._trials:
            return self._trials[most]
        found = [self._trial_of(k, most) for k in range(self.n_sets)]
        if any(len(part[0]) == 0 for part in found):
            return None
        rows, off, count = (np.concatenate(part) for part in zip(*found, strict=True))
        own = np.repeat(np.arange(self.n_sets), [len(part[0]) for part in found])
        if not self.geometry.own_centers:
            rows = rows + self.means()[own]
        return self._trials.setdefault(most, TrialRows(rows, off, own, count))

    def _trial_of(self, k: int, most: int) -> tuple[Floats, Floats, Floats]:
        """Rows of one set less its mean, their squared norms off the span, and their weights."""
        part = self.prepared.summaries[k]
        if self.basis is not None and part._holds_rows:
            # The factor's rows are the rows themselves, less the mean.
            rows = arrays.to_numpy(self._moments[k])[: part.count][:most]
            one = np.ones(len(rows))
            return rows / math.sqrt(self.geometry.weights[k]), 0 * one, one
        rows = part.sample.rows[:most] - arrays.to_numpy(part.mean)
        rows, off = rows * arrays.to_numpy(self.per_unit), np.zeros(len(rows))
        if self.basis is not None:
            whole = np.einsum("ij,ij->i", rows, rows)
            rows = arrays.matmul(rows, arrays.to_numpy(self.basis))
            off = np.clip(whole - np.einsum("ij,ij->i", rows, rows), 0.0, None)
        return rows, off, part.sample.weights[:most]


def _common_names(summaries: Sequence[Summary], labels: Sequence[str]) -> tuple[str, ...] | None:
    """The features' names that all summaries agree on, or an error that says where they do not."""
    if len(summaries) < 2:
        raise InputError(f"There are {len(summaries)} sets; at least two are needed.")
    first = summaries[0]
    names, whose = None, labels[0]
    for part, label in zip(summaries, labels, strict=True):
        if part.n_features != first.n_features:
            raise InputError(
                f"{labels[0]} has {first.n_features} features and {label} has {part.n_features}; "
                "all sets need the same features in the same order."
            )
        check_same_library(first.mean, part.mean, labels[0], label)
        if names is None:
            names, whose = part.feature_names, label
        elif part.feature_names not in (None, names):
            pairs = zip(names, part.feature_names or (), strict=True)
            x, y = next(pair for pair in pairs if pair[0] != pair[1])
            raise InputError(
                f"{whose} and {label} have different feature names (first: {x!r} and {y!r}); "
                "bring the columns into the same order."
            )
    return names
