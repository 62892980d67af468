"""Charts of more than two sets: a map, a matrix of all sizes, and a column over the sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cospan.base.types import Floats

from .charts import LOOKS, Drawing, Words, short
from .document import Chart


def set_map(
    names: Sequence[str], sizes: Floats, places: Floats, tree: Sequence[tuple[int, int]]
) -> Chart:
    """Sets as dots, the farther apart the easier their rows are told apart."""
    title = "A map of the sets: the farther apart two dots, the easier their rows are told apart"
    K, xy = len(names), places.copy()
    span = np.maximum(np.ptp(xy, axis=0), 1e-9)
    scale = min(330 / span[0], 150 / max(span[1], 1e-9 * span[0]))
    height = max(120.0, 80 + scale * span[1])
    xy = (xy - (xy.max(axis=0) + xy.min(axis=0)) / 2) * scale + [220, height / 2]
    made = Drawing(440, height, title, scaled=True)
    for i, j in tree:
        (x, y), (u, v) = xy[i], xy[j]
        made.path(f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}", "ax2")
        if K <= 12:
            made.text((x + u) / 2 + 6, (y + v) / 2 + 14, f"{100 * sizes[i, j]:.0f}", "", "middle")
    for k, name in enumerate(names):
        x, y = xy[k]
        made.dot(x, y, 7, f"d{LOOKS[k % 5]}", name)
        above = y < height / 2 or K == 2
        anchor = "middle" if 60 < x < 380 else "start" if x <= 60 else "end"
        made.text(x, y - 14 if above else y + 22, short(name, 16), f"n x{LOOKS[k % 5]}", anchor)
    return made.chart()


def matrix(names: Sequence[str], sizes: Floats, link: Callable[[int, int], str]) -> Chart:
    """All sizes, names on the diagonal; every cell leads to its pair."""
    K = len(names)
    cell = 44.0 if K <= 7 else max(22.0, 320.0 / K)
    made = Drawing(cell * K + 110, cell * K + 4, "How often one row of each is told apart, of 100")
    for i in range(K):
        for j in range(i):
            size = float(sizes[i, j])
            level = round(9 * min(max((size - 0.5) / 0.5, 0.0), 1.0))
            href = link(j, i)
            if href:
                made.link(href)
            said = f"{names[j]} and {names[i]}: {100 * size:.0f} of 100"
            made.rect(j * cell + 1, i * cell + 1, cell - 2, cell - 2, f"h h{level}", said)
            look = f"n t{level}"
            made.text((j + 0.5) * cell, (i + 0.5) * cell + 4, f"{100 * size:.0f}", look, "middle")
            if href:
                made.end_link()
        made.text(i * cell + 6, (i + 0.5) * cell + 4, short(names[i], 15), f"n x{LOOKS[i % 5]}")
    return made.chart()


def over_sets(
    names: Sequence[str], rows: Sequence[tuple[float, ...]], words: Words, title: str
) -> Chart:
    """One column over the sets: (median, first, third quartile, 5%, 95%), or (share,)."""
    made = Drawing(352, 24 * len(names) + 4, title)
    values = [v for row in rows for v in row if v == v]
    share = all(len(row) == 1 for row in rows)
    low, high = (0.0, max(values, default=1.0)) if share else (
        min(values, default=0.0), max(values, default=1.0)
    )  # fmt: skip
    room = (high - low) or 1.0

    def at(v: float) -> float:
        return 104 + 184 * (v - low) / room

    for k, (name, row) in enumerate(zip(names, rows, strict=True)):
        y, look = 24 * k + 12, LOOKS[k % 5]
        made.text(0, y + 4, short(name, 14), "k")
        made.path(f"M104 {y}H288", "ax")
        said = f"{name} {words(row[0])}"
        if share:
            made.rect(104, y - 4, at(row[0]) - 104, 8, f"q{look}", said)
        elif row[0] == row[0]:
            made.path(f"M{at(row[3]):.1f} {y}H{at(row[4]):.1f}", f"l l{look} thin")
            made.rect(at(row[1]), y - 4, at(row[2]) - at(row[1]), 8, f"q{look}", said)
        if row[0] == row[0]:
            made.dot(at(row[0]), y, 4.5, f"d{look}", said)
        made.text(352, y + 4, words(row[0]) if row[0] == row[0] else "none", "n k", "end")
    return made.chart()
