"""The null distribution of the shift test: relabel two halves, refit, combine every pair.

The rows of both sets are halved once. Each half gets its true labels and a few random ones, and
for each labelling the frame of that half is fitted. With labelling i of the first half and j of
the second, the statistic T[i, j] adds up how far the labels' angles lie apart

* on the second half, in the first half's frame, and the other way round;
* on each half in its own frame, every row left out of it once (exactly, without a refit).

If the labels mean nothing, the true labelling of a half and the random ones are exchangeable,
and so are the rows and the columns of the table T. Hence T[0, 0], the true labels, has every
rank in the table with the same chance: counting the entries that reach it gives an exact
p-value, with both directions in it, although only R + C frames stand behind R x C entries.
Nothing that happens before the labels are looked at (centre, scale, rotation) can spoil that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

__all__ = ["VIEWS", "Halves", "Rows", "Table", "View", "halve", "lay_out", "table"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Directions kept of wide rows. What lies beyond is weak: it enters both costs alike.
MAX_DIRECTIONS = 128
# Numbers in the largest temporary array, 4 MB: larger ones fall out of the cache and ran slower.
_BATCH = 500_000


class View(NamedTuple):
    """A way to fit the frame of a half, and to count its angles.

    A frame compares second moments about one point, which a shift of the mean alone leaves equal.
    With a constant column appended, the second moments hold the means: the cost becomes the
    distance from the set's own mean. A large constant lets the means speak, a small one the
    spread; strong shrinkage trusts the strong directions, weak shrinkage all of them.

    A row counts with -cos 2θ = (a² - b²)/(a² + b²), each row alike, whatever its length; or
    times a² + b², so that rows far out, such as those of a new kind, count more.
    """

    name: str
    constant: float
    shrinkage: float
    far_rows_count_more: bool


# No single view is good at everything; the test takes the best of these and its null does, too.
VIEWS = (
    View("mean", constant=10.0, shrinkage=0.9, far_rows_count_more=False),
    View("shape", constant=1.0, shrinkage=0.1, far_rows_count_more=False),
    View("spread", constant=1.0, shrinkage=0.9, far_rows_count_more=True),
)


class Rows(NamedTuple):
    """Rows as the test sees them: leading coordinates, full squared norms, full dimension."""

    leading: Floats
    squared_norm: Floats
    n_features: int

    def take(self, index: NDArray[np.intp]) -> Rows:
        return Rows(self.leading[index], self.squared_norm[index], self.n_features)


class Halves(NamedTuple):
    """Two halves of the rows, and the labellings of each (True = A), the true one first."""

    rows: tuple[Rows, Rows]
    labels: tuple[Bools, Bools]


@dataclass(frozen=True, eq=False)
class Table:
    """The statistic of one view for every pair of labellings.

    Attributes
    ----------
    total : array, (R, C)
        T: entry (0, 0) belongs to the true labels.
    own : two arrays, (R,) and (C,)
        The part of each half in its own frame.
    held_out : two arrays
        Scores of the second half's rows in the first half's true frame, and the other way round.
    """

    total: Floats
    own: tuple[Floats, Floats]
    held_out: tuple[Floats, Floats]


def lay_out(rows: Floats) -> Rows:
    """Centre, scale to a mean square of 1, and keep the leading directions. Sees no labels."""
    centred = rows - rows.mean(axis=0)
    # In two steps, so that squares of very large or very small numbers stay in range.
    centred /= np.max(np.abs(centred))
    centred /= np.sqrt(np.mean(centred**2))
    squared_norm = np.sum(centred**2, axis=1)
    n, d = centred.shape
    keep = min(MAX_DIRECTIONS, n - 1)
    if d > keep:
        tall = d <= n
        gram = centred.T @ centred if tall else centred @ centred.T
        size = len(gram)
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - keep, size - 1])
        scores = vectors * np.sqrt(np.maximum(values, 0))
        centred = centred @ vectors if tall else scores
    return Rows(centred, squared_norm, d)


def halve(rows: Rows, n_a: int, shape: tuple[int, int], rng: np.random.Generator) -> Halves:
    """Split A (the first `n_a` rows) and B at random, and draw the labellings of each half."""
    in_a, in_b = rng.permutation(n_a), n_a + rng.permutation(len(rows.leading) - n_a)
    a, b = (len(in_a) + 1) // 2, len(in_b) // 2  # an odd row of A goes left, one of B right
    index = (np.r_[in_a[:a], in_b[:b]], np.r_[in_a[a:], in_b[b:]])
    labels = tuple(
        np.array([truth, *(rng.permutation(truth) for _ in range(count - 1))])
        for truth, count in zip((index[0] < n_a, index[1] < n_a), shape, strict=True)
    )
    return Halves((rows.take(index[0]), rows.take(index[1])), (labels[0], labels[1]))


def table(halves: Halves, view: View) -> Table:
    """T of one view: all labellings of one half against all of the other."""
    first, second = halves.rows
    weights = tuple(_contrast(labels) for labels in halves.labels)
    own_1, other_2 = _scores(first, halves.labels[0], second, view)
    own_2, other_1 = _scores(second, halves.labels[1], first, view)
    within = (np.sum(own_1 * weights[0], axis=1), np.sum(own_2 * weights[1], axis=1))
    across = other_2 @ weights[1].T + (other_1 @ weights[0].T).T
    total = across + within[0][:, None] + within[1][None, :]
    return Table(total, within, (other_2[0], other_1[0]))


def _contrast(labels: Bools) -> Floats:
    """Weights that turn values into their mean over B minus their mean over A."""
    n_a = int(labels[0].sum())
    n_b = labels.shape[1] - n_a
    return np.asarray(np.where(labels, -1 / n_a, 1 / n_b))


def _scores(half: Rows, labels: Bools, other: Rows, view: View) -> tuple[Floats, Floats]:
    """What rows count for every labelling of `half`: its own, each left out once; the other's."""
    own, others = _with_constant(half, view), _with_constant(other, view)
    n_a = int(labels[0].sum())
    sizes = (n_a, labels.shape[1] - n_a)
    result = (np.empty(labels.shape), np.empty((len(labels), len(others.leading))))
    width = max(len(own.leading), len(others.leading)) * own.leading.shape[1]
    for part in _batches(len(labels), width):
        member = labels[part]
        (moment_a, trace_a), (moment_b, trace_b) = _moments(own, member), _moments(own, ~member)
        ridge = view.shrinkage * (trace_a + trace_b) / (2 * own.n_features)
        inverse_a, inverse_b = (_inverse(moment, ridge, view) for moment in (moment_a, moment_b))
        own_a, own_b = _costs(own, inverse_a), _costs(own, inverse_b)
        own_a = np.where(member, _without_itself(own_a, sizes[0], view), own_a)
        own_b = np.where(member, own_b, _without_itself(own_b, sizes[1], view))
        result[0][part] = _score(own_a, own_b, own, ridge, view)
        other_a, other_b = _costs(others, inverse_a), _costs(others, inverse_b)
        result[1][part] = _score(other_a, other_b, others, ridge, view)
    return result


def _batches(count: int, width: int) -> Iterator[slice]:
    step = max(1, _BATCH // width)
    return (slice(start, start + step) for start in range(0, count, step))


def _with_constant(rows: Rows, view: View) -> Rows:
    column = np.full((len(rows.leading), 1), view.constant)
    leading = np.ascontiguousarray(np.hstack([rows.leading, column]))
    return Rows(leading, rows.squared_norm + view.constant**2, rows.n_features + 1)


def _moments(rows: Rows, member: Bools) -> tuple[Floats, Floats]:
    """Second moments of a group and their traces (of full rows), for every labelling."""
    weight = member / np.sum(member, axis=1, keepdims=True)
    moment = (weight[:, None, :] * rows.leading.T) @ rows.leading
    return moment, np.asarray(weight @ rows.squared_norm)


def _inverse(moment: Floats, ridge: Floats, view: View) -> Floats:
    """Inverses of the shrunk second moments."""
    shrunk = (1 - view.shrinkage) * moment
    diagonal = np.arange(moment.shape[1])
    shrunk[:, diagonal, diagonal] += ridge[:, None]
    return np.asarray(np.linalg.inv(shrunk), dtype=np.float64)


def _costs(rows: Rows, inverse: Floats) -> Floats:
    """Squared costs of the rows' leading coordinates under each inverse."""
    return np.asarray(np.sum((rows.leading @ inverse) * rows.leading, axis=2))


def _score(cost_a: Floats, cost_b: Floats, rows: Rows, ridge: Floats, view: View) -> Floats:
    """-cos 2θ, or a² - b² where far rows count more: negative near A, positive near B."""
    if view.far_rows_count_more:
        return cost_a - cost_b
    # Outside the leading directions only the shrinkage is left: the same cost on both sides.
    # Rounding can leave the squared norm there a little below 0.
    outside = np.maximum(rows.squared_norm - np.sum(rows.leading**2, axis=1), 0)
    return np.asarray((cost_a - cost_b) / (cost_a + cost_b + 2 * outside / ridge[:, None]))


def _without_itself(cost: Floats, size: int, view: View) -> Floats:
    """The squared cost of a row in the frame that was fitted without it."""
    return np.asarray(cost / (1 - (1 - view.shrinkage) * cost / size))
