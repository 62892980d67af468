"""Rows are scored: weights on the simplex, what is counted of all rows, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.comparison.sampling import Reservoir
from cospan.comparison.scoring import KEPT_ROWS
from cospan.errors import InputError
from cospan.multiway.sets import Walked
from cospan.sets import SetCosts, calibrated_weights
from cospan.sources import Chunk

__all__ = [
    "DEGREE_BINS",
    "Kept",
    "Sink",
    "Tally",
    "ambiguity",
    "pair_angle",
    "score_columns",
    "score_others",
    "score_sets",
]

Floats = NDArray[np.float64]

DEGREE_BINS = 90  # of the histograms of pair angles that count every row

Sink = Callable[[dict[str, NDArray[Any]]], None]  # the columns of a table of weights


class Kept(NamedTuple):
    """Scored rows that are kept: a uniform sample where there are many."""

    weights: Floats
    ids: NDArray[Any]
    labels: NDArray[Any] | None


class Tally:
    """What is counted of every scored row of one set, and the rows kept of it."""

    def __init__(self, n_sets: int, own: int | None, seed: int) -> None:
        self.own = own
        self.n = 0
        self.nearest = np.zeros(n_sets, dtype=np.int64)
        self.counts = np.zeros((n_sets, DEGREE_BINS), dtype=np.int64)
        self.kept: Reservoir[Kept] = Reservoir(max(1000, KEPT_ROWS // n_sets), seed)

    def add(self, weights: Floats, chunk: Chunk) -> None:
        self.n += len(weights)
        self.nearest += np.bincount(weights.argmax(axis=1), minlength=len(self.nearest))
        self.kept.add(Kept(weights, chunk.ids, chunk.labels))
        if self.own is None:
            return
        for j in range(len(self.nearest)):
            if j != self.own:
                degrees = np.degrees(pair_angle(weights, self.own, j))
                self.counts[j] += np.histogram(degrees, bins=DEGREE_BINS, range=(0, 90))[0]


def score_sets(
    costs: SetCosts,
    walk: Iterable[Walked],
    names: Sequence[str],
    seed: int,
    sink: Sink | None,
) -> list[Tally]:
    """Weights of the sets' own rows, each left out of its set."""
    tallies = [Tally(len(names), k, seed) for k in range(len(names))]
    for own, chunk, row_weights in walk:
        squared = costs.left_out_costs(chunk.rows, own, sample_weight=row_weights)
        weights = calibrated_weights(squared, costs.geometry.calibration)
        weights = np.asarray(weights, dtype=np.float64)
        for k in np.unique(own):
            index = np.flatnonzero(own == k)
            part = Chunk(chunk.rows[index], chunk.ids[index])
            tallies[k].add(weights[index], part)
            if sink is not None:
                sink(score_columns(names, names[k], part.ids, weights[index]))
    return tallies


def score_others(
    costs: SetCosts,
    chunks: Iterable[Chunk],
    names: Sequence[str],
    name: str,
    seed: int,
    sink: Sink | None,
) -> Tally:
    """Weights of rows that belong to no set."""
    tally = Tally(len(names), None, seed)
    for chunk in chunks:
        weights = np.asarray(costs.weights(chunk.rows), dtype=np.float64)
        tally.add(weights, chunk)
        if sink is not None:
            sink(score_columns(names, name, chunk.ids, weights))
    if tally.n == 0:
        raise InputError(f"{name} has no rows to score; check the file and its filters.")
    return tally


def pair_angle(weights: Floats, i: Any, j: Any) -> Floats:
    """θ of the pair in radians: 0 for set i, π/2 for set j; cos²θ = w_i / (w_i + w_j).

    `i` and `j` are numbers of sets, or one number for each row.

    Examples
    --------
    >>> np.degrees(pair_angle(np.array([[0.5, 0.5, 0.0], [0.3, 0.1, 0.6]]), 0, 1)).round(9)
    array([45., 30.])
    """
    rows = np.arange(len(weights))
    first, second = weights[rows, i], weights[rows, j]
    theta = np.arctan2(np.sqrt(second), np.sqrt(first))
    # Both so far away that their weights vanish beside a third set's: as far from one as the other.
    return np.where((first == 0) & (second == 0), np.pi / 4, theta)


def ambiguity(weights: Floats) -> Floats:
    """Entropy of each row of weights: 0 for one set alone, 1 for all sets alike.

    Examples
    --------
    >>> ambiguity(np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])).round(9)
    array([0., 1.])
    """
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return np.asarray(np.abs((weights * logs).sum(axis=1)) / np.log(weights.shape[1]))


def score_columns(
    names: Sequence[str], sets: Any, ids: NDArray[Any], weights: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    """The columns of a table of weights: one row a sample, angles in degrees.

    Examples
    --------
    >>> columns = score_columns(("x", "y"), "x", np.array([7]), np.array([[0.75, 0.25]]))
    >>> {name: column.tolist() for name, column in columns.items() if name != "entropy"}
    {'set': ['x'], 'id': [7], 'nearest': ['x'], 'second': ['y'], 'theta': [30.000000000000004], \
'weight x': [0.75], 'weight y': [0.25]}
    """
    called = np.array(names)
    first, second = np.argsort(-weights, axis=1, kind="stable")[:, :2].T
    return {
        "set": np.broadcast_to(np.asarray(sets), ids.shape),
        "id": ids,
        "nearest": called[first],
        "second": called[second],
        "theta": np.degrees(pair_angle(weights, first, second)),
        "entropy": ambiguity(weights),
        **{f"weight {name}": weights[:, k] for k, name in enumerate(names)},
    }
