"""Few rows of many features, in coordinates of their own span.

`based` gives an orthonormal basis of the span and the rows' coordinates in it. `outlined` gives
coordinates without a basis, from the rows' inner products: the same rows up to a rotation, at the
cost of half the digits and of next to no memory. That is enough to try settings on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array

# Entries of the rows that are multiplied at once.
_BLOCK = 2**17


def based(parts: Sequence[Array], weights: np.ndarray, per_unit: Array) -> tuple[Array, Array]:
    """Basis (d, n) and coordinates (n, n) of weighted rows, every feature over its unit."""
    # One copy of all the rows, which becomes the basis in its own memory.
    stack = arrays.stacked(list(parts))
    stack *= arrays.like(weights, stack)[:, None]
    stack *= per_unit[None, :]
    basis, R = arrays.orthonormal_columns(stack.T)
    return basis, R.T


def outlined(parts: Sequence[Array], weights: np.ndarray, per_unit: Array) -> Array:
    """Coordinates (n, n) of the same rows in some orthonormal basis."""
    xp = arrays.namespace(per_unit)
    n, d = sum(one.shape[0] for one in parts), int(per_unit.shape[0])
    column = arrays.like(weights, per_unit)[:, None]
    step = max(1, _BLOCK // max(n, 1))
    total = np.zeros((n, n))
    for start in range(0, d, step):
        end = min(start + step, d)
        block = xp.concat([one[:, start:end] for one in parts], axis=0)
        block *= column
        block *= per_unit[None, start:end]
        total += arrays.to_numpy(arrays.matmul(block, block.T))
    values, vectors = arrays.eigh((total + total.T) / 2)
    return arrays.like(vectors * np.sqrt(np.clip(values, 0.0, None)), per_unit)
