"""How far the features of K sets spread, and the units that follow.

Spreads are held as a power of two (`scale`) and what remains: squares of values near 1e-160 would
have no digits left, and those of one feature say nothing about the size of another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import constant_variance
from cospan.summary import Summary

# The smallest power of two in use: its inverse is still a number.
_SMALLEST_POWER = -1000


class Spreads:
    """Variances of the features of every set.

    `about` is what each set's moments are taken about, `weights` what the square of one row counts
    in them.
    """

    def __init__(
        self,
        summaries: Sequence[Summary],
        about: Sequence[Array],
        weights: Sequence[float],
        means: Array,
    ) -> None:
        self.summaries = summaries
        self.about = about
        self.weights = weights
        self.means = arrays.to_numpy(means)

    @cached_property
    def scale(self) -> np.ndarray:
        """(d,): powers of two of the size of each feature's deviations."""
        largest = np.abs(self.means - self.means[0]).max(axis=0)
        for k in range(len(self.summaries)):
            largest = np.maximum(largest, self._largest(k))
        power = np.maximum(np.frexp(largest)[1], _SMALLEST_POWER)
        return np.where(largest > 0, np.ldexp(1.0, power), 1.0)

    def _largest(self, k: int) -> np.ndarray:
        """(d,): the largest entries of a factor of set k's moments."""
        part = self.summaries[k]
        if not part.is_factored:
            return np.asarray(np.sqrt(self._squares(k)))
        xp = arrays.namespace(part.mean)
        found = np.zeros(part.n_features)
        for one in part.factor_parts(self.about[k]):
            if one.shape[0]:
                found = np.maximum(found, arrays.to_numpy(xp.max(xp.abs(one), axis=0)))
        return found

    def _squares(self, k: int) -> np.ndarray:
        scatter = arrays.to_numpy(self.summaries[k].scatter_about(self.about[k]))
        return np.asarray(np.clip(np.diagonal(scatter), 0.0, None))

    @cached_property
    def variances(self) -> np.ndarray:
        """(K, d): the diagonals of the sets' moments, as they are weighted, over scale²."""
        return np.stack([self._diagonal(k) for k in range(len(self.summaries))])

    def _diagonal(self, k: int) -> np.ndarray:
        part = self.summaries[k]
        if not part.is_factored:
            return np.asarray(self.weights[k] * self._squares(k) / self.scale**2)
        xp = arrays.namespace(part.mean)
        per_scale = arrays.like(1 / self.scale, part.mean)[None, :]
        sums = np.zeros(part.n_features)
        for one in part.factor_parts(self.about[k]):
            scaled = one * per_scale
            scaled *= scaled
            sums += arrays.to_numpy(xp.sum(scaled, axis=0))
        return np.asarray(self.weights[k] * sums)

    def single(self) -> np.ndarray:
        """One unit for all features, whether they vary or not: the paper has none."""
        within = self.variances.mean(axis=0)
        return np.full(len(within), self._common(within, within >= 0) or 1.0)

    def unit(self, units: str) -> np.ndarray:
        """The unit of every feature: 0 where it is constant in all sets."""
        within = self.variances.mean(axis=0)
        between = np.square((self.means - self.means.mean(axis=0)) / self.scale).mean(axis=0)
        with np.errstate(over="ignore"):
            rounding = constant_variance(np.abs(self.means).max(axis=0) / self.scale)
        varies = within > rounding
        # Constant in every set, at different values: only the means separate the sets.
        apart = ~varies & (between > rounding)
        if units == "own":
            own = np.where(varies, within, np.where(apart, between, 0.0))
            return np.asarray(self.scale * np.sqrt(own))
        level = self._common(within, varies) if varies.any() else self._common(between, apart)
        return np.where(varies | apart, level, 0.0)

    def _common(self, variances: np.ndarray, which: np.ndarray) -> float:
        """The root of the mean variance over some of the features."""
        if not which.any():
            return 0.0
        largest = self.scale[which].max()
        mean = np.mean(variances[which] * (self.scale[which] / largest) ** 2)
        return float(largest * math.sqrt(mean))
