"""What each column adds to a function along the way to a sample: integrated gradients.

Along the straight line from a base point x₀ to a sample x, the change of any smooth function f is
a sum over columns, exactly:

    f(x) - f(x₀) = Σ_j (x - x₀)_j ∫₀¹ ∂_j f(x₀ + t (x - x₀)) dt

The integral is taken by Gauss's rule, with as many points as the sum needs to come out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cospan import _arrays as arrays
from cospan._tolerance import SUMS_TO_TOTAL
from cospan._types import Floats

# Points on the way: doubled until the sum is right, for the rows where it is not yet.
_FEWEST_POINTS = 16
_MOST_POINTS = 2048
# Numbers held at once, in gradients.
_BLOCK = 2**20


def integrated(
    function: Callable[[Floats], tuple[Floats, Floats]], base: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """The parts of every column (n, d), and their sums f(x) - f(x₀) (n,).

    `function` takes rows (n, d) and gives its values (n,) and its gradients (n, d).

    >>> def product(x):
    ...     return x[:, 0] * x[:, 1], x[:, ::-1]
    >>> integrated(product, np.zeros(2), np.array([[2.0, 3.0]]))
    (array([[3., 3.]]), array([6.]))
    """
    total = function(rows)[0] - function(base[None, :])[0]
    parts = np.zeros_like(rows)
    open_rows = np.arange(len(rows))
    points = _FEWEST_POINTS
    while len(open_rows):
        found = _by_gauss(function, base, rows[open_rows], points)
        parts[open_rows] = found
        missing = np.abs(found.sum(axis=1) - total[open_rows])
        size = np.maximum(np.abs(total[open_rows]), 1.0)
        if points >= _MOST_POINTS:
            break
        open_rows = open_rows[missing > SUMS_TO_TOTAL * size]
        points *= 2
    return np.asarray(arrays.summing_to(total, parts)), total


def _by_gauss(
    function: Callable[[Floats], tuple[Floats, Floats]], base: Floats, rows: Floats, points: int
) -> Floats:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    steps, weights = (nodes + 1) / 2, weights / 2
    n, d = rows.shape
    at_once = max(1, _BLOCK // (points * max(d, 1)))
    slopes = np.empty_like(rows)
    for start in range(0, n, at_once):
        away = rows[start : start + at_once] - base
        along = base + steps[None, :, None] * away[:, None, :]
        gradients = function(along.reshape(-1, d))[1].reshape(along.shape)
        slopes[start : start + at_once] = np.einsum("p,npd->nd", weights, gradients)
    return np.asarray(slopes * (rows - base))
