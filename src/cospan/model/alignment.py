"""Alignment: the angle θ of scored samples, and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.tolerance import RELATIONAL_SHARE
from cospan.base.types import Array, Bools, Values
from cospan.errors import InputError
from cospan.model.calibration import Calibration, angles_of
from cospan.model.typicality import Typicality, below_rate

# What has an entry per sample.
_COLUMNS = ("theta", "cost_a", "cost_b", "shares", "outside", "relational")
#: Of the rows called like neither set, those that may be so by mistake.
NEITHER_RATE = 0.05


@dataclass(frozen=True, eq=False)
class Alignment:
    """Scored samples, one entry per sample.

    Attributes
    ----------
    theta : array, (n,)
        The alignment angle in radians: 0 = explained by A, π/2 = by B, π/4 = by both alike.
        Calibrated, unless the frame is not: cos²θ is the probability of A.
    cost_a, cost_b : array, (n,)
        What it costs to explain the sample with A's rows and with B's. With
        ``weighting="frame"`` these are ‖s∘y‖ and ‖c∘y‖.
    shares : array, (n, 3)
        How much of ‖y‖² lies in the directions only A has, those shared, those only B has. With
        shrinkage every direction is shared.
    outside : array, (n,)
        The share of the sample's squared norm that lies outside both sets: ``‖z - Hᵀy‖²/‖z‖²``.
    relational : array of bool, (n,)
        Whether both sets can represent the sample. Where this is false, read θ with care: the
        unshrunk formula gives missing directions no cost.
    weighting : str
        ``"cost"`` or ``"frame"``.
    typicality : Typicality or None
        What the sets' own rows cost: behind `typicality_a` and `typicality_b`.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> frame = JointFrame.fit(
    ...     [[2.0, 0], [0, 1]], [[1.0, 0], [0, 2]], span="linear", center="none", shrinkage=0
    ... )
    >>> frame.align([[1.0, 0], [0, 1], [2, 1]]).degrees.round(2)
    array([26.57, 63.43, 34.45])
    """

    theta: Array
    cost_a: Array
    cost_b: Array
    shares: Array
    outside: Array
    relational: Array
    weighting: str
    typicality: Typicality | None = field(default=None, repr=False)

    @classmethod
    def from_costs(
        cls,
        squared_a: Array,
        squared_b: Array,
        weighting: str,
        calibration: Calibration,
        typicality: Typicality | None = None,
        shares: Array | None = None,
        outside: Array | None = None,
    ) -> Alignment:
        """From squared costs. No shares: all of it shared; no `outside`: none of it."""
        xp = arrays.namespace(squared_a)
        theta = angles_of(squared_a, squared_b, calibration)
        none, relational = xp.zeros_like(theta), xp.ones_like(theta, dtype=xp.bool)
        if shares is not None:
            relational = (shares[:, 0] <= RELATIONAL_SHARE) & (shares[:, 2] <= RELATIONAL_SHARE)
        else:
            shares = xp.stack((none, xp.ones_like(theta), none), axis=1)
        if outside is not None:
            relational = relational & (outside <= RELATIONAL_SHARE)
        return cls(
            theta=theta,
            cost_a=xp.sqrt(squared_a),
            cost_b=xp.sqrt(squared_b),
            shares=shares,
            outside=none if outside is None else outside,
            relational=relational,
            weighting=weighting,
            typicality=typicality if weighting == "cost" else None,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Alignment]) -> Alignment:
        """Several alignments of one weighting, one after the other, as one."""
        if len({part.weighting for part in parts}) != 1:
            raise InputError(
                "There is no alignment, or there are different weightings; concatenate alignments "
                "of one weighting, at least one."
            )
        xp, first = arrays.namespace(parts[0].theta), parts[0]
        joined = {name: xp.concat([getattr(part, name) for part in parts]) for name in _COLUMNS}
        # Scored by different frames, rows have no common scale of what is usual.
        same = all(part.typicality is first.typicality for part in parts)
        return cls(
            **joined, weighting=first.weighting, typicality=first.typicality if same else None
        )

    @property
    def degrees(self) -> Array:
        """θ in degrees."""
        return self.theta * (180 / math.pi)

    @property
    def raw_theta(self) -> Array:
        """arctan2(cost_a, cost_b): the paper's angle, before any calibration."""
        return arrays.namespace(self.theta).atan2(self.cost_a, self.cost_b)

    @property
    def log_ratio(self) -> Array:
        """ℓ = log(cost_a²/cost_b²), raw."""
        xp = arrays.namespace(self.theta)
        return 2 * (xp.log(self.cost_a) - xp.log(self.cost_b))

    @property
    def probability(self) -> Array:
        """sin²θ: the probability of B, both sets being equally likely beforehand."""
        return arrays.namespace(self.theta).sin(self.theta) ** 2

    @property
    def posterior(self) -> Array:
        """(n, 2): the probabilities of A and B, ``(cos²θ, sin²θ)``."""
        xp = arrays.namespace(self.theta)
        theta = self.theta[:, None]  # no `stack`: Dask refuses it where a length is not yet known
        first = arrays.like([True, False], self.relational)[None, :]
        return xp.where(first, xp.cos(theta) ** 2, xp.sin(theta) ** 2)

    @property
    def typicality_a(self) -> Array | None:
        """(n,): how usual each cost is among those of A's own rows, a conformal p-value.

        Uniform for new rows of A; small for rows that are not like A's. None where the frame had
        no rows to leave out. See :attr:`neither`.
        """
        return None if self.typicality is None else self.typicality.p_value(self.cost_a, 0)

    @property
    def typicality_b(self) -> Array | None:
        """The same for B."""
        return None if self.typicality is None else self.typicality.p_value(self.cost_b, 1)

    @property
    def neither(self) -> Bools:
        """(n,): which samples belong to neither set, at most one in twenty of them by mistake.

        A sample's p-value is that of the set which finds it more usual: its typicality, continued
        beyond the largest cost of the set's own rows by the tail of these (with fewer than 15 rows
        there are ranks only). Benjamini and Hochberg's step-up rule on the whole batch bounds the
        share of rows of A or B among those named.
        """
        if self.typicality is None:
            raise InputError(
                "This alignment has no typicality: the frame had no rows to compare with (a bare "
                'summary, a truncated frame or weighting="frame"); fit the frame to rows.'
            )
        costs = [arrays.to_numpy(cost) for cost in (self.cost_a, self.cost_b)]
        squared = np.stack(costs, axis=1).astype(np.float64) ** 2
        return below_rate(self.typicality.strange(squared), NEITHER_RATE)

    def columns(self) -> dict[str, Values]:
        """What tables of scores hold of it, angles in degrees."""
        theta, cost_a, cost_b, shares, outside, relational = (
            arrays.to_numpy(getattr(self, name)) for name in _COLUMNS
        )
        return {
            "theta": np.degrees(theta),
            "cost_a": cost_a,
            "cost_b": cost_b,
            "share_a": shares[:, 0],
            "share_shared": shares[:, 1],
            "share_b": shares[:, 2],
            "outside": outside,
            "relational": relational,
        }

    def predict(self, threshold: float = math.pi / 4) -> Array:
        """0 for A where θ ≤ `threshold` (radians), else 1 for B."""
        if not 0 <= threshold <= math.pi / 2:
            raise InputError(f"threshold is {threshold}; it must lie in [0, π/2] radians.")
        xp = arrays.namespace(self.theta)
        return xp.astype(self.theta > threshold, xp.int64)

    def __len__(self) -> int:
        n = self.theta.shape[0]
        if n != n:  # NaN: Dask does not know yet
            raise InputError(
                "How many samples this lazy alignment has is not known before it is computed; "
                "take theta.compute()."
            )
        return int(n)

    def __getitem__(self, index: Any) -> Alignment:
        if isinstance(index, (int, np.integer)):
            index = [range(len(self))[index]]  # out of range: an IndexError, which ends a loop
        if isinstance(index, slice):
            chosen = {name: getattr(self, name)[index] for name in _COLUMNS}
        else:
            index = np.asarray(index) if len(index) else np.zeros(0, dtype=np.int64)
            chosen = {name: arrays.pick(getattr(self, name), index) for name in _COLUMNS}
        return Alignment(**chosen, weighting=self.weighting, typicality=self.typicality)

    def __repr__(self) -> str:
        if arrays.is_lazy(self.theta):
            return f"Alignment(lazy, {self.weighting!r})"
        if not len(self):
            return "Alignment(no samples)"
        degrees = arrays.to_numpy(self.degrees)
        return (
            f"Alignment({len(self):,} samples, θ from {degrees.min():.1f}° to "
            f"{degrees.max():.1f}°, median {np.median(degrees):.1f}°, {self.weighting!r})"
        )


class LeaveOneOut(NamedTuple):
    """The training rows' own angles, by costs as if the row had not been there."""

    a: Alignment
    b: Alignment
