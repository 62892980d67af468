"""Directions and, where rows are pictures, what the sets look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

from ._pictures import PictureShape, grey_png, signed_png
from ._text import called, clean
from .pieces import Direction, Patterns, Picture

if TYPE_CHECKING:
    from cospan.comparison import Comparison

TOP = 8  # directions named one by one
TOP_FEATURES = 12  # they are made of
MOST_DOTS = 400
PROTOTYPES = 3
STEPS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # of a walk, in pooled standard deviations


def pictures_of(c: Comparison, shape: PictureShape | None) -> tuple[Picture, ...]:
    """Means, their difference, prototypes of both ends, and what pulls to either side."""
    if shape is None:
        return ()
    names = called(c.name_a, 40), called(c.name_b, 40)
    means = np.asarray(c.frame.geometry.means, dtype=np.float64)[:2]
    found = pictures_of_means(means, names, shape)
    pull = shape.shrink((c.effect_b - c.effect_a)[None])[0]
    found.append(Picture("which pixels separate the sets", signed_png(pull)))
    for side, name in zip("AB", names, strict=True):
        titles = f"the most {name}-like point there is", "the next"
        drawn = enumerate(_prototypes(c, side, shape))
        found += [Picture(titles[k > 0], one) for k, one in drawn]
    return tuple(found)


def pictures_of_means(
    means: NDArray[np.float64], names: Sequence[str], shape: PictureShape
) -> list[Picture]:
    """The means of two sets, and their difference."""
    drawn = shape.shrink(means, keep_colour=True)
    low, high = float(drawn.min()), float(drawn.max())
    found = [
        Picture(f"mean of {name}", grey_png(one, low, high))
        for name, one in zip(names, drawn, strict=True)
    ]
    step = signed_png(shape.shrink(means[1:] - means[:1])[0])
    title = f"where {names[1]} is higher (orange) and lower (blue)"
    return [*found, Picture(title, step)]


def _prototypes(c: Comparison, side: str, shape: PictureShape) -> list[str]:
    from cospan.model import prototypes

    try:
        points = np.asarray(prototypes(c.frame, side, min(PROTOTYPES, c.frame.rank)).points)
    except InputError:  # no shrinkage, or the linear span
        return []
    pictures = shape.shrink(points, keep_colour=True)
    return [grey_png(one, float(one.min()), float(one.max())) for one in pictures]


def patterns_of(c: Comparison, shape: PictureShape | None) -> Patterns | None:
    """The directions with the largest parts of the difference."""
    frame = c.frame
    angles = np.degrees(np.asarray(frame.angles, dtype=np.float64))
    affine = frame.geometry.affine
    shifts = np.asarray(frame.shifts if affine else np.zeros(len(angles)), dtype=np.float64)
    parts = np.asarray(frame.differences, dtype=np.float64) if affine else np.abs(angles - 45)
    r, k, t = (int(block) for block in frame.blocks)
    order = np.argsort(-np.nan_to_num(parts, posinf=np.inf), kind="stable")
    top = order[:TOP]
    H = np.asarray(frame.H, dtype=np.float64)
    # Metres and millimetres must not decide which features are named.
    spread = np.sqrt((H * H).sum(axis=0))
    weights = np.divide(H[top], spread, out=np.zeros_like(H[top]), where=spread > 0)
    named = np.sort(np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:TOP_FEATURES])
    walks = [()] * len(top) if shape is None else _walks(c, H[top], shape)
    dots = order[:MOST_DOTS]
    return Patterns(
        size=len(angles),
        blocks=(r, k, t),
        features=tuple(clean(c.feature_names[j]) for j in named) if shape is None else (),
        directions=tuple(
            Direction(
                number=int(i) + 1,
                angle=round(float(angles[i]), 2),
                shift=round(float(shifts[i]), 3),
                part=_finite(parts[i]),
                kind=("only A" if i < r else "shared" if i < r + k else "only B"),
                weights=tuple(round(float(w), 3) for w in weights[n][named])
                if shape is None
                else (),
                walk=walks[n],
            )
            for n, i in enumerate(top.tolist())
        ),
        dots=tuple(
            (round(float(angles[i]), 1), round(abs(float(shifts[i])), 3), _finite(parts[i]))
            for i in dots.tolist()
        ),
    )


def _finite(value: Any) -> float:
    return float(f"{min(float(value), 1e6):.4g}")


def _walks(
    c: Comparison, directions: NDArray[np.float64], shape: PictureShape
) -> list[tuple[str, ...]]:
    """From one end of each direction over the centre of both sets to the other."""
    center = np.asarray(c.frame.geometry.means, dtype=np.float64)[:2].mean(axis=0)
    found = []
    for h in directions:
        path = shape.shrink(center + np.outer(STEPS, h), keep_colour=True)
        low, high = float(path.min()), float(path.max())
        found.append(tuple(grey_png(one, low, high) for one in path))
    return found
