"""One frame for K sets: which directions all of them have, which some, which only one.

For K sets, prepared alike and stacked, the higher-order GSVD writes

    A_i = U_i diag(σ_i) H,   i = 1 … K        Σ_i σ_i² = 1 along every direction

with one H for all sets. Here it is computed in the form for sets that may lack directions
(Kempf, Goulart and Duncan 2021, arXiv:2102.09822):

1. The stacked rows are Q R with QᵀQ = I; Q_i are the rows of Q that belong to set i, and
   G_i = Q_iᵀQ_i, so that Σ G_i = I.
2. T = mean of (G_i + πI)⁻¹ with π = 1/K, which exists whatever a set lacks.
3. T = Z diag(τ) Zᵀ, and H = ZᵀR, σ_ij = ‖Q_i z_j‖.

τ is smallest, 1/(1/K + π), along directions that all sets have alike, and largest along those of
a single set. The U_i have unit columns; other than for two sets, they are in general not
orthogonal to each other.

Where eigenvalues coincide, or noise alone sets them apart, their eigenvectors are any basis: those
of five sets that have five directions each to themselves come out mixed, and so do directions of
{a, b} and of {b, c}. So among directions of equally many sets the G_i themselves choose the basis,
and within what all sets have, and what one set has to itself, H is turned to orthogonal directions,
strongest first. Two sets need none of this: theirs is the GSVD of the pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._classes.costs import ClassCosts
from cospan._classes.preparation import PreparedSets, whitening_of
from cospan._joint_diagonal import joint_rotation
from cospan._tolerance import PRESENT_SHARE, SAME_EIGENVALUE
from cospan.decomposition import gsvd
from cospan.errors import InputError
from cospan.summary import Summary

__all__ = ["KINDS", "ManyFrame"]

Floats = NDArray[np.float64]

KINDS = ("common", "partial", "isolated")
JOINT_WORK = 2**20  # K m³: larger groups of directions take one mixture of the G_i, not all


@dataclass(frozen=True, eq=False, repr=False)
class ManyFrame:
    """Directions of K sets and how strongly each set has them.

    Make one with :meth:`fit` or :meth:`from_summaries`. Directions stand in the order common,
    partial, isolated, and within a kind the strongest first.

    Attributes
    ----------
    names : tuple of K str
        What the sets are called.
    directions : array, (m, d)
        The rows of H. A direction's length says how much the sets reach along it.
    sigma : array, (K, m)
        How strongly each set has each direction; the squares sum to 1 along a direction.
    tau : array, (m,)
        zᵀTz: from ``1/(1/K + π)``, all sets alike, up to one set alone.
    present : array of bool, (K, m)
        Whether a set has a direction: its share σ² is at least a tenth of the strongest set's.
    feature_names : tuple of str or None

    Examples
    --------
    Three sets that share two features; each has one more to itself.

    >>> import numpy as np
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
    sigma: Floats
    tau: Floats
    present: NDArray[np.bool_]
    feature_names: tuple[str, ...] | None = field(default=None)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def fit(cls, sets: Any, **options: Any) -> ManyFrame:
        """The frame of K sets of rows.

        Parameters
        ----------
        sets : mapping of names to arrays, or sequence of arrays
        **options
            As for :meth:`from_summaries`.
        """
        parts = dict(sets) if hasattr(sets, "keys") else dict(enumerate(sets, start=1))
        names = tuple(map(str, parts))
        summaries = [
            Summary.of(X, name=name) for name, X in zip(names, parts.values(), strict=True)
        ]
        return cls.from_summaries(summaries, names=names, **options)

    @classmethod
    def from_summaries(
        cls,
        summaries: Sequence[Summary],
        *,
        names: Sequence[str] | None = None,
        center: Any = "pooled",
        balance: bool = True,
        shrinkage: float | str = "auto",
        tol: float | None = None,
    ) -> ManyFrame:
        """The frame of K ≥ 2 summaries; options as in :meth:`cospan.JointFrame.fit`."""
        costs = ClassCosts.from_summaries(
            summaries, center=center, balance=balance, shrinkage=shrinkage, tol=tol
        )
        return cls.of_costs(summaries, costs, names)

    @classmethod
    def of_costs(
        cls, summaries: Sequence[Summary], costs: ClassCosts, names: Sequence[str] | None = None
    ) -> ManyFrame:
        """The frame of sets prepared exactly as for their costs."""
        names = tuple(names or map(str, range(1, len(summaries) + 1)))
        if len(names) != len(summaries):
            raise InputError(f"There are {len(names)} names for {len(summaries)} sets.")
        weights = [1 / part.n if costs.balance else 1.0 for part in summaries]
        prepared = PreparedSets(summaries, costs.centers, weights, costs.lam)
        alpha = costs.shrinkage
        factors = prepared.shrunk_factors(alpha) if alpha > 0 else prepared.factors
        tol = prepared.tolerance(costs.tol)
        found = _pair(factors, tol) if len(factors) == 2 else _many(factors, tol)
        directions = found.directions
        if prepared.basis is not None:
            directions = directions @ arrays.to_numpy(prepared.basis).T
        directions = directions * _signs(directions)[:, None]
        order = np.lexsort((-np.linalg.norm(directions, axis=1), _kind_numbers(found.present)))
        return cls(
            names=names,
            directions=directions[order],
            sigma=found.sigma[:, order],
            tau=found.tau[order],
            present=found.present[:, order],
            feature_names=costs.feature_names,
        )

    # ---- reading ------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """How many directions the sets have together."""
        return len(self.directions)

    @property
    def kind(self) -> NDArray[np.str_]:
        """``"common"``, ``"partial"`` or ``"isolated"``: all sets have it, some, or one."""
        return np.array(KINDS)[_kind_numbers(self.present)]

    @property
    def strength(self) -> Floats:
        """Length of each direction."""
        return np.asarray(np.linalg.norm(self.directions, axis=1))

    @property
    def common(self) -> NDArray[np.intp]:
        """Numbers of the directions that every set has, strongest first."""
        return np.flatnonzero(self.present.all(axis=0))

    @property
    def partial(self) -> NDArray[np.intp]:
        """Numbers of the directions that several sets have, but not all; strongest first."""
        return np.flatnonzero(_kind_numbers(self.present) == 1)

    def isolated(self, name: str | int) -> NDArray[np.intp]:
        """Numbers of the directions that only this set has, strongest first."""
        k = self._number(name)
        return np.flatnonzero((_kind_numbers(self.present) == 2) & self.present[k])

    def owners(self, direction: int) -> tuple[str, ...]:
        """Names of the sets that have a direction."""
        return tuple(self.names[k] for k in np.flatnonzero(self.present[:, direction]))

    def _number(self, name: str | int) -> int:
        if isinstance(name, (int, np.integer)) and 0 <= name < len(self.names):
            return int(name)
        if not isinstance(name, str) or name not in self.names:
            raise InputError(f"There is no set {name!r}; the sets are {', '.join(self.names)}.")
        return self.names.index(name)

    def __repr__(self) -> str:
        counts = np.bincount(_kind_numbers(self.present), minlength=3)
        kinds = ", ".join(f"{n} {kind}" for n, kind in zip(counts, KINDS, strict=True))
        return (
            f"ManyFrame({len(self.names)} sets, {self.directions.shape[1]} features, "
            f"{self.rank} directions: {kinds})"
        )


# ---- the decomposition ------------------------------------------------------------------------


class _Found(NamedTuple):
    directions: Floats  # (m, e)
    sigma: Floats  # (K, m)
    tau: Floats  # (m,)
    present: NDArray[np.bool_]  # (K, m)


def _pair(factors: Sequence[Any], tol: float) -> _Found:
    """Two sets: their GSVD. (T cannot tell c from s there: it is the same for both orders.)"""
    pair = gsvd(*factors, tol=tol, compute_uv=False)
    sigma = np.stack([arrays.to_numpy(pair.c), arrays.to_numpy(pair.s)])
    tau = np.mean(1 / (sigma**2 + 0.5), axis=0)
    return _Found(arrays.to_numpy(pair.H), sigma, tau, _present(sigma))


def _many(factors: Sequence[Any], tol: float) -> _Found:
    """More than two sets, by the three steps above."""
    inverse, spectrum = whitening_of(list(factors), tol)
    # stacked = Q R: the SVD's L turns the stacked rows into Q, so R is the inverse of L.
    L, R = arrays.to_numpy(inverse), arrays.to_numpy(inverse * spectrum[None, :] ** 2).T
    Q = [arrays.to_numpy(factor) @ L for factor in factors]
    grams = [part.T @ part for part in Q]
    ridge = 1 / len(grams)
    eye = np.eye(L.shape[1])
    T = np.zeros_like(eye)
    for gram in grams:
        T += np.linalg.inv(gram + ridge * eye) * ridge
    tau, Z = arrays.eigh((T + T.T) / 2)
    Z = _told_apart(Z, tau, grams, ridge)
    present = _present(_strengths(Q, Z))
    kinds, strongest = _kind_numbers(present), present.argmax(axis=0)
    for group in [kinds == 0, *((kinds == 2) & (strongest == k) for k in range(len(Q)))]:
        # Any rotation within the group serves as well: take the one with orthogonal directions.
        turned, _, _ = np.linalg.svd(Z[:, group].T @ R, full_matrices=False)
        Z[:, group] = Z[:, group] @ turned
    return _Found(Z.T @ R, _strengths(Q, Z), ((T @ Z) * Z).sum(axis=0), present)


def _told_apart(Z: Floats, tau: Floats, grams: list[Floats], ridge: float) -> Floats:
    """Eigenvectors of T, those of like eigenvalues so turned that they diagonalise every G_i.

    Directions of like τ belong to equally many sets, but not to the same ones. The G_i, which
    tell the sets apart, commute there where sets share directions exactly, and nearly so where
    noise blurs them.
    """
    Z = Z.copy()
    for group in _groups(tau, len(grams), ridge):
        inside = np.stack([Z[:, group].T @ gram @ Z[:, group] for gram in grams])
        # A first turn by a generic mixture does it for matrices that commute, at any size.
        _, turn = np.linalg.eigh(np.tensordot(_shades(len(grams)), inside, 1))
        if len(grams) * len(group) ** 3 <= JOINT_WORK:
            turn = turn @ joint_rotation(turn.T @ inside @ turn)
        Z[:, group] = Z[:, group] @ turn
    return Z


def _shades(n: int) -> Floats:
    """Multiples of the golden ratio, reduced to [0, 1): no two means of a few of them agree."""
    return np.modf(np.arange(n) * (math.sqrt(5) - 1) / 2)[0]


def _groups(tau: Floats, n_sets: int, ridge: float) -> list[NDArray[np.intp]]:
    """Directions of about as many sets as each other: of one, of two, …, told by their τ.

    Those of all sets are left as the eigenvectors they are, but for equal eigenvalues.
    """
    owners = np.arange(n_sets, 0, -1)
    of_owners = (owners / (1 / owners + ridge) + (n_sets - owners) / ridge) / n_sets  # it rises
    band = np.searchsorted((of_owners[1:] + of_owners[:-1]) / 2, tau)
    new_run = np.diff(band) > 0
    new_run |= (band[:-1] == 0) & (np.diff(tau) > SAME_EIGENVALUE * np.ptp(of_owners))
    runs = np.split(np.arange(len(tau)), np.flatnonzero(new_run) + 1)
    return [run for run in runs if len(run) > 1]


def _strengths(Q: list[Floats], Z: Floats) -> Floats:
    """σ: lengths of Q_i z, from the factors themselves, so that a small one has its digits."""
    return np.stack([np.linalg.norm(part @ Z, axis=0) for part in Q])


def _present(sigma: Floats) -> NDArray[np.bool_]:
    share = sigma**2
    return np.asarray(share >= PRESENT_SHARE * share.max(axis=0))


def _kind_numbers(present: NDArray[np.bool_]) -> NDArray[np.intp]:
    """0 common, 1 partial, 2 isolated."""
    owners = present.sum(axis=0)
    return np.where(owners == len(present), 0, np.where(owners == 1, 2, 1)).astype(np.intp)


def _signs(directions: Floats) -> Floats:
    """The sign that makes each direction's largest entry positive."""
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    return np.where(largest < 0, -1.0, 1.0)
