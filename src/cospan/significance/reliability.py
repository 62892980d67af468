"""The fit's part in the error of leave-one-out angles.

A bootstrap of leave-one-out angles takes the frame as given. But the rows that are measured are
the rows that made it: with δ the difference of the sets that a score should follow, and δ + ε the
one it follows, ε of covariance Σ, the measured separation is off from that on new rows by
δ·ε + ‖ε‖² - tr Σ, of variance δᵀΣδ + 2 tr Σ², while rows new to the frame would give
δᵀΣδ + tr Σ², which is what the bootstrap finds. So its variance has to grow by the factor

    2 - reliability,        reliability = δᵀΣδ/(δᵀΣδ + tr Σ²)

The reliability is the correlation, within the sets, of two scores that were fitted to as many
rows each but to different ones. Fits to two halves of the rows give it at half the size, and the
Spearman-Brown formula takes it to the full one. With nothing to tell the sets apart it is 0, and
intervals are √2 times as long; with many rows and a clear difference it is 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan._arrays import to_numpy
from cospan._tolerance import FAST_SHRINKAGE
from cospan._types import Floats
from cospan._validate import as_generator, as_rows
from cospan.errors import InputError
from cospan.model import Geometry, SetCosts, as_fitted, log_odds_of
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.model import JointFrame

# With fewer rows a half has no spread to fit.
_FEWEST_ROWS = 4


def fit_reliability(
    frame: JointFrame, A: Any, B: Any, *, random_state: int | np.random.Generator = 0
) -> float:
    """How much of a frame's angles is the sets' difference and not the noise of its fit.

    Parameters
    ----------
    frame
        Fitted to A and B, or to rows like them and as many.
    A, B
        The rows, or a sample of them, at least four each.
    random_state
        Seed of the halves.

    Returns
    -------
    float
        From 0, nothing but noise, to 1. For :func:`separation` of leave-one-out angles.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> from cospan.significance import fit_reliability
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 100, 3))
    >>> [round(fit_reliability(JointFrame.fit(A, B + step), A, B + step), 2) for step in (0, 2)]
    [0.0, 0.97]
    """
    if frame.curve is not None:
        A, B = as_rows(A, "A", d=frame.n_features), as_rows(B, "B", d=frame.n_features)
    geometry, sets = as_fitted(frame, [A, B])
    return float(fit_reliabilities(geometry, sets, random_state=random_state)[0, 1])


def fit_reliabilities(
    geometry: Geometry, sets: Sequence[Any], *, random_state: int | np.random.Generator = 0
) -> Floats:
    """The same for every pair of K sets, (K, K), from two fits to halves of all of them.

    `geometry` says how the sets were fitted, every choice made; `sets` are the rows of each, or a
    sample of at least four. The halves of a set do not depend on the other sets.
    """
    names = "AB" if len(sets) == 2 else [f"set {k}" for k in range(1, len(sets) + 1)]
    rows = [np.asarray(to_numpy(as_rows(X, name))) for X, name in zip(sets, names, strict=True)]
    for X, name in zip(rows, names, strict=True):
        if len(X) < _FEWEST_ROWS:
            raise InputError(f"{name} has {len(X)} rows; halves need at least {_FEWEST_ROWS}.")
    seed = int(as_generator(random_state).integers(2**32))
    places = [np.random.default_rng(seed).permutation(len(X)) for X in rows]
    in_first = [place < len(X) // 2 for place, X in zip(places, rows, strict=True)]
    scores = [_scores(geometry, rows, [f == k for f in in_first]) for k in (True, False)]
    own = np.repeat(np.arange(len(rows)), [len(X) for X in rows])
    found = np.ones((len(rows), len(rows)))
    for i, j in itertools.combinations(range(len(rows)), 2):
        parts = [[s[own == k, i] - s[own == k, j] for k in (i, j)] for s in scores]
        found[i, j] = found[j, i] = _full_size(parts)
    return found


def _full_size(parts: list[list[Floats]]) -> float:
    """The correlation of the scores of two half fits within two sets, brought to the full size."""
    first, second = (np.concatenate([x - x.mean() for x in one]) for one in parts)
    length = math.sqrt(float(first @ first) * float(second @ second))
    if not length > 0:
        return 0.0
    half = max(0.0, float(first @ second) / length)
    return 2 * half / (1 + half)


def _scores(geometry: Geometry, rows: list[Floats], used: list[NDArray[np.bool_]]) -> Floats:
    """Log squared costs, (n, K), of all rows in a fit to some of them, those left out of it."""
    few = sum(map(len, rows)) < rows[0].shape[1]
    exact = few or geometry.shrinkage < FAST_SHRINKAGE
    taken = [
        Summary.of(X[part], exact=exact, sample_size=0) for X, part in zip(rows, used, strict=True)
    ]
    half = SetCosts.from_summaries(taken, calibrate=False, **_settings(geometry))
    result = []
    for k, (X, part) in enumerate(zip(rows, used, strict=True)):
        squared = np.empty((len(X), len(rows)))
        own = half.left_out_costs(X[part], np.full(np.count_nonzero(part), k))
        squared[part] = to_numpy(own)
        squared[~part] = to_numpy(half.squared_costs(X[~part]))
        result.append(-log_odds_of(squared))
    return np.concatenate(result)


def _settings(geometry: Geometry) -> dict[str, Any]:
    """How the sets were fitted, every choice made."""
    settings = {"span": geometry.span, "shrinkage": geometry.shrinkage}
    if geometry.affine:
        choices = {"units": geometry.units, "pooling": geometry.pooling, "dof": geometry.dof}
        return settings | choices
    mode = geometry.center_mode
    center = geometry.center if mode == "given" else mode
    return settings | {"center": center, "balance": geometry.balance}
