"""Charts as static SVG: they are there without scripts, and scripts only mark them.

Sizes are in the units of each chart's viewBox. Colours are classes of the style sheet: ``a``,
``b``, ``z`` and ``c`` for sets, ``fill`` for soft areas, ``line`` for outlines. Names from the
data pass through :func:`escape`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from .content import ReportContent
from .pieces import Histogram, Part, Point

__all__ = [
    "angle_chart",
    "cost_map",
    "direction_dots",
    "scatter",
    "small_chart",
    "split_bar",
    "strip",
]

SHOWN_LEVELS = 4
ANGLE_BINS = 45
ANGLES = {"left": 34, "right": 604, "top": 26, "bottom": 190}
MAP = {"left": 46, "right": 408, "top": 12, "bottom": 330}


def framed(width: float, height: float, label: str, body: str, more: str = "") -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}"{more}>'
        f"{body}</svg>"
    )


def written(x: object, y: object, text: str, anchor: str = "") -> str:
    """Words in a chart."""
    more = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{more}>{escape(text)}</text>'


def outline(heights: Sequence[float], left: float, width: float, bottom: float, top: float) -> str:
    """The outline of a histogram; heights are parts of the whole."""
    step = width / max(1, len(heights))
    y = [bottom - (bottom - top) * float(h) for h in heights]
    path, at = f"M{left:g} {bottom:g}", bottom
    for value in y:
        if round(value - at, 1):
            path += f"v{value - at:.1f}"
            at += round(value - at, 1)
        path += f"h{step:.2f}"
    return f"{path}V{bottom:g}"


def shares_of(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [n / total for n in counts]


def small_chart(h: Histogram | None) -> str:
    """A and B over each other in one row of a table: outlines, or bars of levels."""
    if h is None:
        return ""
    if h.labels:
        return _level_bars(h)
    a, b = shares_of(h.a), shares_of(h.b)
    top = max(*a, *b) or 1.0
    label = "Histograms of A and B histogram"
    if h.ends[0]:
        label = f"Histograms of A and B from {h.ends[0]} to {h.ends[1]}"
    body = "".join(
        f'<path class="{side} {"fill" if side == "a" else "line"}" '
        f'd="{outline([x / top for x in shares], 1, 158, 36, 2)}"/>'
        for side, shares in (("a", a), ("b", b))
    )
    ends = written(1, 46, h.ends[0]) + written(159, 46, h.ends[1], "end")
    return framed(160, 48, label, body + ends, ' class="spark"')


def _level_bars(h: Histogram) -> str:
    """The levels that changed most, each with a bar for A over one for B."""
    order = sorted(range(len(h.labels)), key=lambda i: -abs(h.a[i] - h.b[i]))[:SHOWN_LEVELS]
    order.sort(key=lambda i: -max(h.a[i], h.b[i]))
    parts = []
    for place, i in enumerate(order):
        y = 13 * place
        name = _fitting(h.labels[i], 6.2)  # 60 units in letters of 9.5
        parts.append(written(0, y + 9, name))
        for side, n, offset in (("a", h.a[i], 1), ("b", h.b[i], 6)):
            parts.append(
                f'<rect class="{side} solid" x="62" y="{y + offset}" width="{0.096 * n:.1f}" '
                'height="4.5"/>'
            )
    shares = ", ".join(f"{h.labels[i]} {h.a[i] / 10:.0f} % and {h.b[i] / 10:.0f} %" for i in order)
    label, height = f"Shares in A and B: {shares}", 13 * len(order) + 1
    return framed(160, height, label, "".join(parts), ' class="spark"')


def _fitting(name: str, room: float) -> str:
    """A name cut to so many ems, so that it does not run under what is drawn beside it."""
    short, whole = name, sum(map(_em, name)) <= room
    while not whole and short and sum(map(_em, short)) > room - 1:
        short = short[:-1]
    return name if whole else f"{short.rstrip()}…"


def _em(letter: str) -> float:
    """About how wide a letter is, in ems of a usual font."""
    if unicodedata.east_asian_width(letter) in "WF" or letter in "MW@%mw":
        return 1.0
    if letter in "ijlft.,:;'|! ()[]":
        return 0.4
    return 0.72 if letter.isupper() else 0.62


def split_bar(parts: Sequence[Part]) -> str:
    """One bar from 0 to 100 %, split."""
    at, body = 0.0, ""
    for part in parts:
        width = 600 * part.share
        body += f'<rect class="part-{part.name}" x="{at:.1f}" width="{width:.1f}" height="16"/>'
        at += width
    label = ", ".join(f"{part.name} {part.share:.0%}" for part in parts)
    return framed(600, 16, label, body, ' class="split" preserveAspectRatio="none"')


def scatter(points: Iterable[tuple[int, int]], side: str, label: str) -> str:
    """A small scatter of one set; both axes from 0 to 100."""
    dots = "".join(
        f'<circle cx="{5 + 0.9 * x:.0f}" cy="{95 - 0.9 * y:.0f}" r="1.6"/>' for x, y in points
    )
    body = (
        f'<rect class="frame" x="1" y="1" width="98" height="98"/><g class="{side} dots">{dots}</g>'
    )
    return framed(100, 100, label, body, ' class="scatter"')


def strip(mean: float, most: float) -> str:
    """How far angles move, from 0° to 45°: a bar for 95 % of the rows, a line for the mean."""
    label = f"{mean:.1f} degrees on average, 95 % of the rows less than {most:.1f}"
    body = (
        f'<rect class="track" width="160" height="10"/><rect class="part-shape" '
        f'width="{160 * min(most, 45) / 45:.1f}" height="10"/>'
        f'<path class="axis" d="M{160 * min(mean, 45) / 45:.1f} 0v10"/>'
    )
    return framed(160, 10, label, body, ' class="spark"')


def _angle_axis(box: Mapping[str, int]) -> str:
    width = box["right"] - box["left"]
    parts = [f'<path class="axis" d="M{box["left"]} {box["bottom"]}H{box["right"]}"/>']
    for degrees in range(0, 91, 15):
        x = box["left"] + width * degrees / 90
        parts.append(
            f'<path class="tick" d="M{x:.1f} {box["bottom"]}v4"/>'
            + written(f"{x:.1f}", box["bottom"] + 17, f"{degrees}°", "middle")
        )
    return "".join(parts)


def _axis_words(box: Mapping[str, int], up: str, low: str, middle: str, high: str) -> str:
    """What is upwards, and what the ends and the middle of an axis of angles mean."""
    left, right = box["left"], box["right"]
    ends = written(left, 226, low) + written((left + right) // 2, 226, middle, "middle")
    return ends + written(right, 226, high, "end") + written(left - 8, 17, up)


def angle_chart(content: ReportContent) -> str:
    """Histograms of the angles of all sets, as shares of each."""
    if content.angles is None:
        return ""
    box = ANGLES
    shares = {
        key: np.asarray(shares_of(counts)).reshape(ANGLE_BINS, -1).sum(axis=1)
        for key, counts in content.angles.counts.items()
    }
    top = max(float(s.max()) for s in shares.values()) or 1.0
    width = box["right"] - box["left"]
    body = _angle_axis(box)
    for key, share in shares.items():
        path = outline((share / top).tolist(), box["left"], width, box["bottom"], box["top"])
        body += f'<path class="{key.lower()} {"fill" if key == "A" else "line"}" d="{path}"/>'
    middle = (box["left"] + box["right"]) / 2
    body += (
        f'<path id="cut-line" class="cut" d="M{middle} {box["top"]}V{box["bottom"]}"/>'
        f'<g id="angle-marks"></g><rect id="angle-brush" class="brush" x="0" y="{box["top"]}" '
        f'width="0" height="{box["bottom"] - box["top"]}"/>'
    )
    up = f"↑ up to {100 * top:.0f} % of the rows of a set"
    body += _axis_words(box, up, "← like A", "like both", "like B →")
    counts = content.angles.counts.items()
    sets = "; ".join(f"{content.named[k]}: {f'{sum(v):,} rows'}" for k, v in counts)
    label = f"Histogram of the angles. {sets}"
    more = f' id="angle-chart" class="chart" data-left="{box["left"]}" data-right="{box["right"]}"'
    return framed(620, 232, label, body, more)


def map_scale(points: Sequence[Point]) -> tuple[float, float]:
    """The range of both axes of the map, in logarithms of cost."""
    values = np.array([v for p in points for v in (p.x, p.y) if math.isfinite(v)])
    if not len(values):
        return 0.0, 1.0
    low, least, most, high = (float(v) for v in np.quantile(values, [0.001, 0.1, 0.9, 0.999]))
    high = min(high, most + 1.5 * (most - least))  # a few rows far away must not squeeze the rest
    room = max(0.05 * (high - low), 0.02)
    return low - room, high + room


def map_place(x: float, y: float, scale: tuple[float, float]) -> tuple[float, float]:
    """Where a point of the map is drawn; what lies beyond is at the edge."""

    def part(value: float) -> float:
        return min(1.0, max(0.0, (value - scale[0]) / (scale[1] - scale[0])))

    box = MAP
    return (
        round(box["left"] + (box["right"] - box["left"]) * part(x), 1),
        round(box["bottom"] - (box["bottom"] - box["top"]) * part(y), 1),
    )


def cost_map(content: ReportContent) -> str:
    """What rows cost A, against what they cost B, on logarithmic scales."""
    scale, box = map_scale(content.points), MAP
    body = (
        f'<rect class="frame" x="{box["left"]}" y="{box["top"]}" '
        f'width="{box["right"] - box["left"]}" height="{box["bottom"] - box["top"]}"/>'
        f"{_cost_ticks(scale)}{_even_line(content, scale)}"
    )
    for key in (one.key for one in content.sets):
        dots = []
        for point in content.points:
            if point.group == key:
                x, y = map_place(point.x, point.y, scale)
                listed = f' data-row="{point.row}"' if point.row >= 0 else ""
                dots.append(
                    f'<circle cx="{x:g}" cy="{y:g}" r="2.6" data-t="{point.theta:g}"{listed}/>'
                )
        body += f'<g class="{key.lower()} dots">{"".join(dots)}</g>'
    body += (
        '<rect id="map-brush" class="brush" x="0" y="0" width="0" height="0"/>'
        + written((box["left"] + box["right"]) / 2, 364, "unusual for A →", "middle")
        + f'<text transform="translate(12 {(box["top"] + box["bottom"]) / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape("unusual for B →")}</text>'
    )
    label = f"Map of {len(content.points):,} rows: cost of A to the right, cost of B upwards"
    return framed(416, 372, label, body, ' id="cost-map" class="chart"')


def _even_line(content: ReportContent, scale: tuple[float, float]) -> str:
    """Where the angle is 45°: log(cost A / cost B) is half of the zero."""
    if content.angles is None:
        return ""
    step = content.angles.zero / (2 * math.log(10))
    low, high = max(scale[0], scale[0] + step), min(scale[1], scale[1] + step)
    if low >= high:
        return ""
    (x, y), (to_x, to_y) = (map_place(v, v - step, scale) for v in (low, high))
    return f'<path class="diagonal" d="M{x} {y}L{to_x} {to_y}"/>'


def _cost_ticks(scale: tuple[float, float]) -> str:
    """Round costs on both axes."""
    found = []
    candidates = [m * 10.0**e for e in range(-3, 7) for m in (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)]
    inside = [v for v in candidates if scale[0] <= math.log10(v) <= scale[1]]
    if len(inside) < 3:
        inner = np.linspace(0.9 * scale[0] + 0.1 * scale[1], 0.1 * scale[0] + 0.9 * scale[1], 3)
        inside = [float(f"{10**v:.2g}") for v in inner]
    for value in inside if len(inside) <= 6 else inside[:: -(-len(inside) // 6)]:
        x, y = map_place(math.log10(value), math.log10(value), scale)
        found.append(
            written(x, MAP["bottom"] + 16, f"{value:g}", "middle")
            + written(MAP["left"] - 5, y + 4, f"{value:g}", "end")
        )
    return "".join(found)


def direction_dots(content: ReportContent) -> str:
    """Directions by angle and shift, the dots sized by their part of the difference."""
    patterns, box = content.patterns, ANGLES
    if patterns is None:
        return ""
    most = max((shift for _, shift, _ in patterns.dots), default=0.0) or 1.0
    part = max((p for _, _, p in patterns.dots), default=0.0) or 1.0
    height = box["bottom"] - box["top"] - 8
    dots = "".join(
        f'<circle cx="{box["left"] + (box["right"] - box["left"]) * a / 90:.1f}" '
        f'cy="{box["bottom"] - height * s / most:.1f}" '
        f'r="{1.5 + 8 * math.sqrt(max(p, 0) / part):.1f}"/>'
        for a, s, p in sorted(patterns.dots, key=lambda dot: -dot[2])
    )
    up = f"↑ shift, up to {most:.2g} sd"
    ends = "← only A varies", "both alike", "only B varies →"
    label = f"{patterns.size} directions by their angle and the shift of the means along them"
    body = f'{_angle_axis(box)}<g class="z dots">{dots}</g>{_axis_words(box, up, *ends)}'
    return framed(620, 232, label, body, ' class="chart dots-chart"')
