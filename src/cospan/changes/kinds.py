"""In what two sets differ: location, scale, shape, levels or missing values.

D itself is split exactly: what falls to the features of categories and booleans counts as levels,
what falls to indicators of missing values as missing, and the rest as in ``frame.parts``.

To say in what the sets differ *mostly*, two things must be allowed for. Part of D is there without
any difference, since means and covariances of samples stray: so much is taken off. And D takes
every feature as normal, which is far off for a level or a gap that one set hardly has: for these
the distance of the two shares themselves is taken, in the same currency (Bhattacharyya's).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan import _arrays as arrays

from .columns import LEVEL, FeatureTable
from .grouping import Column
from .parts import FeatureParts

if TYPE_CHECKING:
    from cospan.frame import JointFrame
    from cospan.significance import ShiftTest

__all__ = ["Kinds", "difference_by_kind"]

#: Shares that have nothing in common are infinitely far apart: this overlap is the least.
_LEAST_OVERLAP = 1e-3
_PART_OF = {"mean": "location", "spread": "shape", "relation": "shape"}


class Kinds(NamedTuple):
    """D by kind, exactly; what share of the difference each kind is; and the largest one.

    `shares` has the significant kinds only, and is empty where there is none.
    """

    parts: dict[str, float]
    shares: dict[str, float]
    mostly: str


def difference_by_kind(
    frame: JointFrame,
    columns: Sequence[Column],
    parts: FeatureParts,
    features: FeatureTable,
    shift: ShiftTest | None,
) -> Kinds:
    """Split D, and find the kinds of difference that are more than chance."""
    levels = [p for c in columns if c.kind in ("category", "boolean") for p in c.features]
    missing = [c.indicator for c in columns if c.indicator is not None]
    numbers = np.ones(frame.n_features, dtype=bool)
    numbers[levels + missing] = False
    split = _split(frame, parts, numbers)
    split |= {
        "levels": float(parts.total[levels].sum()),
        "missing": float(parts.total[missing].sum()),
    }
    stray = _by_chance(frame, float(numbers.mean()))
    sizes = {key: max(0.0, split[key] - stray[key]) for key in stray}
    sizes |= {key: _shares_apart(features, key) for key in ("levels", "missing")}
    found = {k: x for k, x in sizes.items() if x > 0 and _is_significant(k, features, shift)}
    total = sum(found.values())
    if not found:
        return Kinds(split, {}, _of_first_column(features))
    mostly = max(found, key=lambda key: found[key])
    if not math.isfinite(total):
        return Kinds(split, {}, mostly)
    return Kinds(split, {key: x / total for key, x in found.items()}, mostly)


def _split(frame: JointFrame, parts: FeatureParts, numbers: np.ndarray) -> dict[str, float]:
    """Location, scale and shape of the features that are numbers."""
    whole = frame.parts
    spread, in_all = float(parts.spread[numbers].sum()), whole.scale + whole.shape
    scale = spread * whole.scale / in_all if 0 < in_all < math.inf else 0.0
    location = float(parts.location[numbers].sum())
    return {"location": location, "scale": scale, "shape": spread - scale}


def _by_chance(frame: JointFrame, numbers: float) -> dict[str, float]:
    """About what location, scale and shape are on average if the sets do not differ.

    Along direction i the rows have the variance v_i, what the shrinkage added taken off. Means
    then stray by v_i/n, and the entries of covariances by v_i v_k/n (twice on the diagonal).
    `numbers` is the share of the features that are numbers.
    """
    alpha, noise = frame.shrinkage, 1 / frame.n_a + 1 / frame.n_b
    added = alpha * np.sum(arrays.to_numpy(frame.inverse) ** 2, axis=0)
    own = [
        np.maximum(0.0, arrays.to_numpy(x) ** 2 - added) / (1 - alpha) for x in (frame.c, frame.s)
    ]
    v = (own[0] + own[1]) / 2
    location = 0.25 * float(np.sum(own[0] / frame.n_a + own[1] / frame.n_b))
    shape = 0.25 * (1 - alpha) ** 2 * float(v.sum() ** 2 + np.sum(v**2)) * noise
    return {"location": location * numbers, "scale": noise / 8 * numbers, "shape": shape * numbers}


def _shares_apart(features: FeatureTable, kind: str) -> float:
    """Sum over the changed columns of the distance of their shares in A and in B."""
    found = 0.0
    for one in features.changed:
        if one.tests.get(kind, 1.0) > LEVEL:
            continue
        if kind == "missing":
            found += _apart([one.a.missing], [one.b.missing])
        elif one.kind == "boolean":
            found += _apart([one.a.mean], [one.b.mean])
        else:
            levels = one.a.levels.keys() | one.b.levels.keys()
            found += _apart(*_pick(levels, one.a.levels, one.b.levels))
    return found


def _pick(levels: Iterable[str], *held: Mapping[str, float]) -> list[list[float]]:
    ordered = sorted(levels)
    return [[one.get(level, 0.0) for level in ordered] for one in held]


def _apart(p: Sequence[float], q: Sequence[float]) -> float:
    """Bhattacharyya's distance of two distributions; the last share is what is left to 1."""
    sides = [np.clip([*x, 1 - sum(x)], 0.0, 1.0) for x in (p, q)]
    overlap = float(np.sum(np.sqrt(sides[0] * sides[1])))
    return -math.log(min(1.0, max(overlap, _LEAST_OVERLAP)))


def _is_significant(kind: str, features: FeatureTable, shift: ShiftTest | None) -> bool:
    """By the shift test's p-values of its three parts; else by what changed in columns."""
    if kind in ("levels", "missing"):
        return True
    if shift is not None:
        return shift.parts.get(kind, 1.0) <= LEVEL
    words = {one.change for one in features.changed}
    return kind in {_PART_OF.get(word, word) for word in words} or (
        kind == "scale" and "spread" in words
    )


def _of_first_column(features: FeatureTable) -> str:
    if not features.changed:
        return ""
    word = features.changed[0].change
    return _PART_OF.get(word, word)
