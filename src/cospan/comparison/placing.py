"""Sets as points of a plane whose distances are their sizes."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import ndtri

from cospan.base.types import Floats


def place_sets(sizes: Floats) -> tuple[Floats, list[tuple[int, int]]]:
    """(K, 2) places of K sets, the first one left of the last, and the pairs that join them all.

    Two normal sets of one spread that are d deviations apart have an AUC of Φ(d/√2): distances
    are those d, so that sets which differ in one thing lie on a line (classical scaling).
    """
    K = len(sizes)
    distance = np.sqrt(2) * ndtri(np.clip(sizes, 0.5 + 1e-3, 1 - 1e-4))
    np.fill_diagonal(distance, 0.0)
    centre = np.eye(K) - 1 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    if places[0, 0] > places[-1, 0]:
        places[:, 0] *= -1
    tree = minimum_spanning_tree(np.maximum(distance, 1e-9)).tocoo()
    return places, list(zip(tree.row.tolist(), tree.col.tolist(), strict=True))
