"""One frame for K sets: which directions all of them have, which some, which only one.

The sets are prepared as for their costs: about their own means, in units, and shrunk (in the
linear span about one centre). `higher_order` decomposes them; pooling is a choice for scoring and
has no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._types import Floats
from cospan.errors import InputError
from cospan.frame.higher_order import decompose_many, kind_numbers
from cospan.frame.properties import in_feature_units
from cospan.sets import PreparedSets, SetCosts
from cospan.sets.settings import CostSettings
from cospan.summary import Summary

KINDS = ("common", "partial", "isolated")


@dataclass(frozen=True, eq=False, repr=False)
class ManyFrame:
    """Directions of K sets and how strongly each set has them.

    Make one with :meth:`fit` or :meth:`from_summaries`. Directions are in the order common,
    partial, isolated, and within a kind the strongest first.

    Attributes
    ----------
    names : tuple of K str
        What the sets are called.
    directions : array, (m, d)
        The rows of H, in the units of the features.
    strength : array, (m,)
        The length of each direction, every feature divided by its unit: how far the sets reach
        along it.
    sigma : array, (K, m)
        How strongly each set has each direction; the squares sum to 1 along a direction.
    tau : array, (m,)
        zᵀTz: from ``1/(1/K + π)``, the same in all sets, up to one set alone.
    present : array of bool, (K, m)
        Whether a set has a direction: its share σ² is at least a tenth of the strongest set's.
    feature_names : tuple of str or None

    Examples
    --------
    Three sets that share two features; each has one more to itself.

    >>> rng = np.random.default_rng(0)
    >>> sets = {}
    >>> for own, name in enumerate("xyz", start=2):
    ...     sets[name] = np.zeros((100, 5))
    ...     sets[name][:, [0, 1, own]] = rng.normal(size=(100, 3))
    >>> frame = ManyFrame.fit(sets, shrinkage=0)
    >>> frame
    ManyFrame(3 sets, 5 features, 5 directions: 2 common, 0 partial, 3 isolated)
    >>> [int(np.abs(frame.directions[j]).argmax()) for j in frame.isolated("y")]
    [3]
    """

    names: tuple[str, ...]
    directions: Floats
    strength: Floats
    sigma: Floats
    tau: Floats
    present: NDArray[np.bool_]
    feature_names: tuple[str, ...] | None = field(default=None)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def fit(cls, sets: Any, **settings: Unpack[CostSettings]) -> ManyFrame:
        """The frame of K sets of rows.

        Parameters
        ----------
        sets : mapping of names to arrays, or sequence of arrays
        **settings
            As for :meth:`cospan.JointFrame.fit`; `weighting` as for :func:`cospan.compare_many`.
        """
        parts = dict(sets) if hasattr(sets, "keys") else dict(enumerate(sets, start=1))
        names = tuple(map(str, parts))
        summaries = [
            Summary.of(X, name=name) for name, X in zip(names, parts.values(), strict=True)
        ]
        return cls.from_summaries(summaries, names, **settings)

    @classmethod
    def from_summaries(
        cls,
        summaries: Sequence[Summary],
        names: Sequence[str] | None = None,
        **settings: Unpack[CostSettings],
    ) -> ManyFrame:
        """The frame of K ≥ 2 summaries; settings as in :meth:`fit`."""
        names = _names(names, len(summaries))
        settings["curve"] = None  # directions are those of the rows as they are
        costs = SetCosts.from_summaries(summaries, labels=names, **settings)
        return cls.of_costs(summaries, costs, names)

    @classmethod
    def of_costs(
        cls, summaries: Sequence[Summary], costs: SetCosts, names: Sequence[str] | None = None
    ) -> ManyFrame:
        """The frame of sets prepared exactly as for their costs."""
        names = _names(names, len(summaries))
        g = costs.geometry
        prepared = PreparedSets(
            summaries,
            span=g.span,
            # The affine span has a centre for each set; "pooled" is what was asked for.
            center=g.center if g.center_mode == "given" else g.center_mode.replace("own", "pooled"),
            balance=g.balance,
            tol=g.tol,
            labels=names,
        )
        working = prepared.working(g.units)
        factors = [working.shrunk(k, g.shrinkage) for k in range(g.n_sets)]
        found = decompose_many(factors, working.tolerance())
        strength = np.linalg.norm(found.directions, axis=1)
        order = np.lexsort((-strength, kind_numbers(found.present)))
        directions = arrays.to_numpy(
            in_feature_units(arrays.like(found.directions, g.center), working.basis, g)
        )
        largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
        directions = directions * np.where(largest < 0, -1.0, 1.0)[:, None]
        return cls(
            names=names,
            directions=directions[order],
            strength=strength[order],
            sigma=found.sigma[:, order],
            tau=found.tau[order],
            present=found.present[:, order],
            feature_names=g.feature_names,
        )

    # ---- reading ------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """How many directions the sets have together."""
        return len(self.directions)

    @property
    def kind(self) -> NDArray[np.str_]:
        """``"common"``, ``"partial"`` or ``"isolated"``: all sets have it, some, or one."""
        return np.array(KINDS)[kind_numbers(self.present)]

    @property
    def common(self) -> NDArray[np.intp]:
        """Numbers of the directions that every set has, strongest first."""
        return np.flatnonzero(self.present.all(axis=0))

    @property
    def partial(self) -> NDArray[np.intp]:
        """Numbers of the directions that several sets have, but not all; strongest first."""
        return np.flatnonzero(kind_numbers(self.present) == 1)

    def isolated(self, name: str | int) -> NDArray[np.intp]:
        """Numbers of the directions that only this set has, strongest first."""
        k = set_number(name, self.names)
        return np.flatnonzero((kind_numbers(self.present) == 2) & self.present[k])

    def owners(self, direction: int) -> tuple[str, ...]:
        """Names of the sets that have a direction."""
        return tuple(self.names[k] for k in np.flatnonzero(self.present[:, direction]))

    def __repr__(self) -> str:
        counts = np.bincount(kind_numbers(self.present), minlength=3)
        kinds = ", ".join(f"{n} {kind}" for n, kind in zip(counts, KINDS, strict=True))
        return (
            f"ManyFrame({len(self.names)} sets, {self.directions.shape[1]} features, "
            f"{self.rank} directions: {kinds})"
        )


def set_number(name: str | int, names: Sequence[str]) -> int:
    """The number of a set that is given by its name or its number."""
    if isinstance(name, (int, np.integer)) and 0 <= name < len(names):
        return int(name)
    if not isinstance(name, str) or name not in names:
        raise InputError(f"There is no set {name!r}; the sets are {', '.join(names)}.")
    return names.index(name)


def _names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    found = tuple(names or map(str, range(1, count + 1)))
    if len(found) != count:
        raise InputError(f"There are {len(found)} names for {count} sets.")
    return found
