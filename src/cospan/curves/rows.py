"""What every map of rows has in common: standardised columns, and features of them.

A map takes a row x to [c, f] M: columns c that are linear in x, features f that are not, and a
fixed matrix M. Scoring multiplies what it wants from the right, so that M costs nothing there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import SQUARES_ARE_SAFE
from cospan._types import Floats

# Units from the origin up to which taking the centre off in float32 costs a feature 1e-5 at most.
_NEAR = 64.0


class RowMap(ABC):
    """A fixed map of rows to columns and features."""

    #: Every column loses its centre and is multiplied by `per_unit`, which is 0 for a constant
    center: Floats
    per_unit: Floats
    units: ClassVar[str]  # of mapped rows: every feature's own, or one for all

    @property
    def n_columns(self) -> int:
        """How many columns rows have before the map."""
        return len(self.center)

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many they have after it."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is curved, and how many of it, for people."""

    @abstractmethod
    def features(self, rows: Array) -> Array:
        """[c, f] of rows, in float32, in the namespace and on the device of the rows."""

    @abstractmethod
    def through(self, across: Floats) -> Floats:
        """M times `across`: what [c, f] is multiplied with for mapped rows times `across`."""

    @abstractmethod
    def exact(self, rows: Floats) -> Floats:
        """Mapped rows in float64, on the host: for gradients."""

    @abstractmethod
    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        """Gradients in columns (n, d) of a function whose gradients in features are `slopes`."""

    @abstractmethod
    def __call__(self, rows: Array) -> Array:
        """Mapped rows in float32, in the namespace and on the device of the rows."""

    def standardised(self, rows: Array) -> Array:
        """Rows less their centre and in units.

        In float64 unless float32 rows are so near to the origin that they lose no digits.
        """
        xp = arrays.namespace(rows)
        if rows.dtype != xp.float32 or self._farthest > _NEAR:
            rows = xp.astype(rows, xp.float64, copy=False)
        z = rows - arrays.like(self.center, rows)[None, :]
        z *= arrays.like(self.per_unit, rows)[None, :]
        # Its squares stay numbers in float32, and so do its features.
        return xp.clip(z, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)

    @cached_property
    def _farthest(self) -> float:
        """How far the centre is from the origin, in units."""
        return float(np.max(np.abs(self.center) * self.per_unit, initial=0.0))
