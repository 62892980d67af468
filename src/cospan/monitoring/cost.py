"""What a row costs a set, and how far each of its values is from what the others let expect."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._tolerance import NOT_ZERO
from cospan._types import Floats, Index
from cospan.summary import Summary


class Cost(NamedTuple):
    """What a row costs a set: the squared distance (x - mean)ᵀ (shrunk covariance)⁻¹ (x - mean)."""

    mean: Floats
    map: Floats  # (live, live): the distance is the length of (x - mean) @ map

    @classmethod
    def of(cls, summary: Summary, live: Index, shrinkage: float) -> Cost:
        """Of the live features of a set, in their own units."""
        covariance = np.asarray(summary.scatter_about())[np.ix_(live, live)] / summary.n
        unit = np.sqrt(np.maximum(np.diag(covariance), NOT_ZERO))
        relation = covariance / unit[:, None] / unit[None, :]
        mixed = (1 - shrinkage) * relation + shrinkage * np.eye(len(live))
        root = arrays.cholesky(mixed)
        inverse = np.asarray(arrays.solve_triangular_transposed(root, np.eye(len(live)))).T
        return cls(np.asarray(summary.mean)[live], inverse / unit[:, None])

    def squared(self, rows: Floats) -> Floats:
        along = (rows - self.mean) @ self.map
        return np.asarray(np.einsum("ij,ij->i", along, along))

    def away(self, rows: Floats) -> tuple[Floats, Floats]:
        """The squared cost, and how far each feature is from what the others let expect.

        In standard deviations of that: with the precision P it is (P (x - mean))ⱼ / √Pⱼⱼ.
        """
        along = (rows - self.mean) @ self.map
        return (
            np.asarray(np.einsum("ij,ij->i", along, along)),
            np.asarray(along @ (self.map.T * self.unit)),
        )

    @property
    def unit(self) -> Floats:
        """The standard deviation of each feature given the others."""
        return np.asarray(1 / np.sqrt(np.einsum("ij,ij->i", self.map, self.map)))
