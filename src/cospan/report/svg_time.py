"""Angles over time as static SVG: for each set the median, and a band between the quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from cospan.comparison.timelines import Moment

from .content import ReportContent
from .pieces import TimeChart
from .svg import framed, written

__all__ = ["time_chart"]

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 40, 748, 12, 196
MOST_LABELS = 6
LONGEST_LABEL = 16  # a longer one is told by its beginning


def time_chart(content: ReportContent, one: TimeChart) -> str:
    """All sets of a timeline over the same windows."""
    n = len(one.windows)
    body = _axes(one.windows)
    lines = [(key, [(k, m) for k, m in enumerate(row) if m]) for key, row in one.moments.items()]
    for key, known in lines:
        body += "".join(_band(key, run, n) for run in _runs(known))
    for key, known in lines:
        body += "".join(_line(key, run, n) for run in _runs(known))
    label = "Median angles over {over}, with a band between the quartiles: {named}".format(
        over=one.column or "the order of the rows",
        named=", ".join(content.named[key] for key, _ in lines),
    )
    return framed(WIDTH, 232, label, body, ' class="chart time"')


def _x(k: float, n: int) -> float:
    return LEFT + (k + 0.5) * (RIGHT - LEFT) / n


def _y(degrees: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * degrees / 90


def _axes(windows: Sequence[str]) -> str:
    found = f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>'
    for degrees, word in ((0, "0°"), (45, "45°"), (90, "90°")):
        y = _y(degrees)
        if degrees == 45:
            found += f'<path class="diagonal" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        found += written(LEFT - 6, f"{y + 4:.1f}", word, "end")
    n = len(windows)
    for k in range(0, n, -(-n // MOST_LABELS)):
        x = _x(k, n)
        short = windows[k] if len(windows[k]) <= LONGEST_LABEL else windows[k].split(" ")[0]
        found += f'<path class="tick" d="M{x:.1f} {BOTTOM}v4"/>'
        found += written(f"{x:.1f}", BOTTOM + 18, short, "middle")
    return found


Known = list[tuple[int, Moment]]


def _runs(known: Known) -> list[Known]:
    """Windows that follow each other: a line must not bridge one without rows."""
    found: list[Known] = [known[:1]] if known else []
    for before, item in pairwise(known):
        if item[0] == before[0] + 1:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _band(key: str, run: Known, n: int) -> str:
    if len(run) == 1:
        k, one = run[0]
        path = f"M{_x(k, n) - 3:.1f} {_y(one.low):.1f}h6V{_y(one.high):.1f}h-6z"
    else:
        upper = [f"{_x(k, n):.1f} {_y(one.high):.1f}" for k, one in run]
        lower = [f"{_x(k, n):.1f} {_y(one.low):.1f}" for k, one in reversed(run)]
        path = f"M{'L'.join([*upper, *lower])}z"
    return f'<path class="{key.lower()} band" d="{path}"/>'


def _line(key: str, run: Known, n: int) -> str:
    places = [(_x(k, n), _y(one.median)) for k, one in run]
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>' for x, y in places)
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return (
        f'<path class="{key.lower()} line" d="{path}"/><g class="{key.lower()} medians">{dots}</g>'
    )
