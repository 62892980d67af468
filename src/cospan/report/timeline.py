"""Charts over time: a line with an alarm level and episodes below, and columns as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .charts import Drawing, ruler, short
from .document import Chart

#: Width, and room for names at the left: of a page, and of a phone.
WIDE, NARROW = (1008.0, 176.0), (344.0, 104.0)
#: Sums grow while an episode lasts: the line is clipped here.
HIGHEST = 3.0
#: Deviations from which on a cell of the heat map is one step darker.
STEPS = (1.0, 2.0, 3.5, 6.0)

Row = tuple[str, list[tuple[float, bool, str]]]  # name; deviation, arrow, words for each window
Lane = tuple[str, int, int, str]  # name, first and last window, words


def alarm_line(
    labels: Sequence[str],
    levels: Sequence[float],
    alarms: Sequence[bool],
    status: Sequence[str],
    lanes: Sequence[Lane],
) -> Chart:
    """The line from zero with its alarm level; broken, with the reason, where nothing is judged."""
    wide, narrow = (_line(labels, levels, alarms, status, lanes, *at) for at in (WIDE, NARROW))
    return replace(wide, narrow=narrow.svg)


def _line(
    labels: Sequence[str],
    levels: Sequence[float],
    alarms: Sequence[bool],
    status: Sequence[str],
    lanes: Sequence[Lane],
    width: float,
    left: float,
) -> Chart:
    names = list(dict.fromkeys(lane[0] for lane in lanes))[:8]
    n, bottom = max(1, len(labels)), 176.0
    made = Drawing(width, bottom + 32 + 28 * len(names), "Deviation over time; 1 is an alarm")
    step = (width - left) / n

    def x(k: float) -> float:
        return left + (k + 0.5) * step

    def y(level: float) -> float:
        return bottom - (bottom - 24) * min(max(level, 0.0), HIGHEST) / HIGHEST

    for first, last in _runs([bool(alarm) for alarm in alarms]):
        made.rect(x(first) - step / 2, y(HIGHEST), step * (last - first + 1), bottom - 24, "wb")
    for tick, word in ((0, "0"), (1, "alarm 1"), (2, "2"), (3, "3+")):
        made.path(f"M{left:g} {y(tick):.1f}H{width:g}", "dash" if tick == 1 else "ax")
        made.text(left - 10, y(tick) + 4, word, "n k" if tick == 1 else "", "end")
    for first, last in _runs([word != "judged" for word in status]):
        wide = step * (last - first + 1)
        reason = status[first]
        made.rect(x(first) - step / 2, y(HIGHEST), wide, bottom - 24, "gr", reason)
        if wide > 14:
            made.text(x((first + last) / 2) + 4, (bottom + 24) / 2, reason, "", "middle", True)
    for first, last in _runs([level == level for level in levels]):
        path = "L".join(f"{x(k):.1f} {y(levels[k]):.1f}" for k in range(first, last + 1))
        made.path(f"M{path}", "l lb")
    for k, level in enumerate(levels):
        if level == level:
            size = 4.5 if step > 9 else 2.5
            said = f"{labels[k]}: {level:.2f}{', alarm' if alarms[k] else ''}"
            made.dot(x(k), y(level), size, "db" if alarms[k] else "ring", said)
        else:
            made.rect(
                x(k) - step / 2, y(HIGHEST), step, bottom - 24, "sv", f"{labels[k]}: {status[k]}"
            )
    starts = [k for k, alarm in enumerate(alarms) if alarm]
    if starts:
        at = min(max(x(starts[0]), left + 60), width - 60)
        made.text(at, 14, f"first alarm, {labels[starts[0]]}", "n k", "middle")
        made.path(f"M{x(starts[0]):.1f} 18V{y(levels[starts[0]]) - 6:.1f}", "ax2")
    _dates(made, labels, left, bottom + 18)
    for row, name in enumerate(names):
        top = bottom + 32 + 28 * row
        made.text(left - 10, top + 13, short(name, int(left / 7.3)), "k", "end")
        made.path(f"M{left:g} {top + 9:g}H{width:g}", "ax")
        for lane, first, last, words in lanes:
            if lane == name:
                wide = step * (last - first + 1)
                said = f"{name}: {labels[first]} to {labels[last]}"
                made.rect(x(first) - step / 2, top, wide, 18, "ep", said)
                if words and wide > 7 * len(words):
                    made.text(x(first) - step / 2 + 8, top + 13, words, "k")
    return made.chart()


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last places of runs of true flags."""
    found: list[tuple[int, int]] = []
    for k, flag in enumerate(flags):
        if flag and found and found[-1][1] == k - 1:
            found[-1] = (found[-1][0], k)
        elif flag:
            found.append((k, k))
    return found


def _dates(made: Drawing, labels: Sequence[str], left: float, y: float) -> None:
    """A few labels below the line, so that they do not touch."""
    longest = max((len(label) for label in labels), default=1)
    room = made.width - left
    every = max(1, math.ceil(len(labels) * (7.5 * longest + 16) / room))
    for k in range(0, len(labels), every):
        at = left + (k + 0.5) * room / len(labels)
        anchor = "start" if k == 0 else "end" if at > made.width - 40 else "middle"
        made.text(at, y, labels[k], "", anchor)


def heat(labels: Sequence[str], rows: Sequence[Row]) -> Chart:
    """Columns over time: the further from usual the darker, with arrows in windows of an alarm."""
    return replace(_heat(labels, rows, *WIDE), narrow=_heat(labels, rows, *NARROW).svg)


def _heat(labels: Sequence[str], rows: Sequence[Row], width: float, left: float) -> Chart:
    made = Drawing(width, 28.0 * len(rows) + 28, "Columns over time")
    n = max(1, len(labels))
    step = (width - left) / n
    for row, (name, cells) in enumerate(rows):
        top = 28.0 * row
        made.text(left - 10, top + 17, short(name, int(left / 7.3)), "k", "end")
        for k, (far, arrow, words) in enumerate(cells):
            if far != far:
                made.rect(
                    left + k * step + 0.5, top + 0.5, step - 1.5, 25, "wx", f"{labels[k]}: none"
                )
                continue
            level = sum(abs(far) >= cut for cut in STEPS)
            look = f"w{level}"
            made.rect(left + k * step, top, step - 1, 26, look, f"{name}, {labels[k]}: {words}")
            if arrow and step > 9:
                made.text(left + (k + 0.5) * step, top + 17, "↑" if far > 0 else "↓", "k", "middle")
    _dates(made, labels, left, 28.0 * len(rows) + 18)
    return made.chart()


def with_usual(size: float, low: float, high: float, usual: tuple[float, float]) -> Chart:
    """The ruler of a window's size, with how far windows without an alarm differ anyway."""
    return ruler(size, low, high, usual, "windows without an alarm")
