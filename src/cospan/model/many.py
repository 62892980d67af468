"""One frame for K sets: which directions all of them have, which some, which only one.

The sets, prepared as for their costs, are decomposed by the higher-order GSVD, in which
A_i = U_i diag(σ_i) H with one H for all and Σ_i σ_i² = 1 along every direction, in the form for
sets that may lack directions (Kempf, Goulart and Duncan 2021, arXiv:2102.09822):

1. The stacked rows are Q R with QᵀQ = I; Q_i are the rows of Q that belong to set i, and
   G_i = Q_iᵀQ_i, so that Σ G_i = I.
2. T = mean of (G_i + πI)⁻¹ with π = 1/K, which exists whatever a set lacks.
3. T = Z diag(τ) Zᵀ, and H = ZᵀR, σ_ij = ‖Q_i z_j‖.

τ is smallest along directions that all sets have alike, and largest along those of a single set.
Where eigenvalues coincide, or noise alone sets them apart, any basis of eigenvectors serves: the
G_i choose it, and within what all sets have, and what one set has to itself, H is turned to
orthogonal directions, strongest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cospan.base import arrays
from cospan.base.factorizations import eigh, joint_rotation
from cospan.base.tolerance import PRESENT_SHARE, SAME_EIGENVALUE
from cospan.base.types import Array, Bools, Floats, Index
from cospan.decomposition import gsvd
from cospan.model.leave_one_out import whitening_of
from cospan.model.prepared import PreparedSets, WorkingSets, in_feature_units
from cospan.model.set_model import SetCosts
from cospan.summary import Summary

KINDS = ("common", "partial", "isolated")
# K m³: larger groups of directions are turned by one mixture of the G_i, not by all of them.
JOINT_WORK = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class ManyFrame:
    """Directions of K sets, common, partial, isolated, and within a kind the strongest first.

    The `directions` of a comparison of more than two sets.

    Attributes
    ----------
    names : tuple of K str
    directions : array, (m, d)
        The rows of H, in the units of the features.
    strength : array, (m,)
        Their lengths, every feature divided by its unit: how far the sets reach along them.
    sigma : array, (K, m)
        How strongly each set has each direction; the squares sum to 1 along a direction.
    feature_names : tuple of str or None

    Examples
    --------
    Three sets that share two features; each has one more to itself.

    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> sets = {}
    >>> for own, name in enumerate("xyz", start=2):
    ...     sets[name] = np.zeros((100, 5))
    ...     sets[name][:, [0, 1, own]] = rng.normal(size=(100, 3))
    >>> compare(sets, shrinkage=0).directions
    ManyFrame(3 sets, 5 features, 5 directions: 2 common, 0 partial, 3 isolated)
    """

    names: tuple[str, ...]
    directions: Floats
    strength: Floats
    sigma: Floats
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def of_costs(
        cls, summaries: Sequence[Summary], costs: SetCosts, names: Sequence[str]
    ) -> ManyFrame:
        """The frame of sets prepared exactly as for their costs."""
        g = costs.geometry
        working = WorkingSets(PreparedSets.like(g, summaries, names), g.units)
        factors = [working.shrunk(k, g.shrinkage) for k in range(g.n_sets)]
        H, sigma = (_pair if g.n_sets == 2 else _many)(factors, working.tolerance())
        strength = np.linalg.norm(H, axis=1)
        order = np.lexsort((-strength, _kinds(_present(sigma))))
        directions = in_feature_units(arrays.like(H, g.center), working.basis, g)
        directions = arrays.to_numpy(directions)[order]
        largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
        directions = directions * np.where(largest < 0, -1.0, 1.0)[:, None]
        return cls(tuple(names), directions, strength[order], sigma[:, order], g.feature_names)

    @property
    def rank(self) -> int:
        """How many directions the sets have together."""
        return len(self.directions)

    @property
    def present(self) -> Bools:
        """(K, m): has a set at least a tenth of the strongest set's share σ² of a direction?"""
        return _present(self.sigma)

    @property
    def kind(self) -> np.ndarray:
        """``"common"``, ``"partial"`` or ``"isolated"``: all sets have it, some, or one."""
        return np.array(KINDS)[_kinds(self.present)]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{np.count_nonzero(self.kind == kind)} {kind}" for kind in KINDS)
        d = self.directions.shape[1]
        return f"ManyFrame({len(self.names)} sets, {d} features, {self.rank} directions: {kinds})"


# ---- the higher-order GSVD ----------------------------------------------------------------------


def _pair(factors: Sequence[Array], tol: float) -> tuple[Floats, Floats]:
    """H and σ of two sets: their GSVD. (T cannot tell c from s: it is the same for both orders.)"""
    pair = gsvd(*factors, tol=tol, compute_uv=False)
    return arrays.to_numpy(pair.H), np.stack([arrays.to_numpy(one) for one in (pair.c, pair.s)])


def _many(factors: Sequence[Array], tol: float) -> tuple[Floats, Floats]:
    """More than two sets, by the three steps above."""
    inverse, spectrum = whitening_of(factors, tol)
    # stacked = Q R: the SVD's L turns the stacked rows into Q, so R is the inverse of L.
    L, R = arrays.to_numpy(inverse), arrays.to_numpy(inverse * spectrum[None, :] ** 2).T
    Q = [arrays.to_numpy(factor) @ L for factor in factors]
    grams = np.stack([part.T @ part for part in Q])
    ridge = 1 / len(Q)
    T = np.mean(np.linalg.inv(grams + ridge * np.eye(L.shape[1])), axis=0)
    tau, Z = eigh((T + T.T) / 2)
    for group in _groups(tau, len(Q), ridge):
        # The G_i commute where sets share directions exactly, and nearly so where noise blurs
        # them. A first turn by a generic mixture does it for matrices that commute, at any size:
        # by multiples of the golden ratio in [0, 1), of which no two means of a few agree.
        inside = Z[:, group].T @ grams @ Z[:, group]
        shades = np.modf(np.arange(len(Q)) * (math.sqrt(5) - 1) / 2)[0]
        _, turn = np.linalg.eigh(np.tensordot(shades, inside, 1))
        if len(Q) * len(group) ** 3 <= JOINT_WORK:
            turn = turn @ joint_rotation(turn.T @ inside @ turn)
        Z[:, group] = Z[:, group] @ turn
    present = _present(_strengths(Q, Z))
    kinds, strongest = _kinds(present), present.argmax(axis=0)
    for same in [kinds == 0, *((kinds == 2) & (strongest == k) for k in range(len(Q)))]:
        # Any rotation within the group serves as well: take the one with orthogonal directions.
        turned, _, _ = np.linalg.svd(Z[:, same].T @ R, full_matrices=False)
        Z[:, same] = Z[:, same] @ turned
    return Z.T @ R, _strengths(Q, Z)


def _groups(tau: Floats, n_sets: int, ridge: float) -> list[Index]:
    """Directions of about equally many sets: of one, of two and so on, judged by their τ.

    Those of all sets stay the eigenvectors they are, except where eigenvalues are equal.
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


def _present(sigma: Floats) -> Bools:
    share = sigma**2
    return np.asarray(share >= PRESENT_SHARE * share.max(axis=0))


def _kinds(present: Bools) -> Index:
    """0 common, 1 partial, 2 isolated."""
    owners = present.sum(axis=0)
    return np.where(owners == len(present), 0, np.where(owners == 1, 2, 1)).astype(np.intp)
