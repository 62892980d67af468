"""The table of scores: one row per sample, the same columns in dataframes and in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.comparison.scorer import Scored


def score_columns(names: Sequence[str], sets: Any, scored: Scored) -> dict[str, NDArray[Any]]:
    """The columns of a table of scores, angles in degrees.

    `names` are those of the K sets; `sets` is what to write in the column "set", for all rows or
    one by one. Two sets with a joint frame have costs and shares, others a weight for each set.

    >>> scored = Scored(np.array([[0.75, 0.25]]), np.array([[1.0, 0.5]]), None, np.array([7]), None)
    >>> columns = score_columns(("x", "y"), "x", scored)
    >>> {name: column.tolist() for name, column in columns.items() if name != "entropy"}
    {'set': ['x'], 'id': [7], 'nearest': ['x'], 'second': ['y'], 'theta': [30.000000000000004], \
'typicality x': [1.0], 'typicality y': [0.5], 'weight x': [0.75], 'weight y': [0.25]}
    """
    found = {"set": np.broadcast_to(np.asarray(sets), scored.ids.shape), "id": scored.ids}
    theta = np.degrees(scored.theta)
    if scored.alignment is not None:
        of, shares = scored.alignment, np.asarray(scored.alignment.shares)
        return {
            **found,
            "theta": theta,
            **{key: np.asarray(getattr(of, key)) for key in ("cost_a", "cost_b")},
            **{f"share_{key}": shares[:, k] for k, key in enumerate(("a", "shared", "b"))},
            **{key: np.asarray(getattr(of, key)) for key in ("outside", "relational")},
            **{f"typicality_{key}": scored.typicality[:, k] for k, key in enumerate("ab")},
        }
    called = np.array(names)
    first, second = scored.nearest.T
    return {
        **found,
        "nearest": called[first],
        "second": called[second],
        "theta": theta,
        "entropy": ambiguity(scored.weights),
        **{f"typicality {name}": scored.typicality[:, k] for k, name in enumerate(names)},
        **{f"weight {name}": scored.weights[:, k] for k, name in enumerate(names)},
    }


def ambiguity(weights: Floats) -> Floats:
    """Entropy of each row of weights: 0 for one set alone, 1 for all sets alike.

    >>> ambiguity(np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])).round(9)
    array([0., 1.])
    """
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return np.asarray(np.abs((weights * logs).sum(axis=1)) / np.log(weights.shape[1]))


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate; identifiers of different kinds (row numbers, file names) become text.

    >>> joined([np.array([1, 2]), np.array(["x.png"])]).tolist()
    ['1', '2', 'x.png']
    """
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(str) for part in parts]
    return np.concatenate(parts)
