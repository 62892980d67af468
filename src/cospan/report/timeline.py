"""Charts over time: a line with an alarm level, episodes below it, and columns as a heat map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cospan.monitoring import Window

from .document import Chart
from .drawing import Drawing, Mark, for_phones, lanes, line, short

#: The width that a card has inside.
WIDE = 1008.0
#: Sums grow while an episode lasts: the line is clipped here.
HIGHEST = 3.0
#: Deviations from which on a cell of the heat map is one step darker.
STEPS = (1.0, 2.0, 3.5, 6.0)
#: Between these heights the line is drawn.
TOP, BOTTOM = 24.0, 176.0


def alarm_line(labels: Sequence[str], windows: Sequence[Window]) -> Chart:
    """The line from zero with its alarm level; broken, with the reason, where nothing is judged."""
    return for_phones(lambda width: _alarm_line(labels, windows, width), WIDE)


def _alarm_line(labels: Sequence[str], windows: Sequence[Window], width: float) -> Chart:
    made, left = Drawing(width, BOTTOM + 24, "Deviation over time; 1 is an alarm"), _left(width)
    step = (width - left) / max(1, len(windows))
    at = [left + (k + 0.5) * step for k in range(len(windows))]

    def band(first: int, last: int, look: str, hover: str = "") -> float:
        wide = step * (last - first + 1)
        made.rect(left + first * step, TOP, wide, BOTTOM - TOP, look, hover)
        return wide

    for first, last in _runs([window.alarm for window in windows]):
        band(first, last, "wb")
    for tick, word in ((0, "0"), (1, "alarm 1"), (2, "2"), (3, "3+")):
        made.path(f"M{left:g} {_up(tick):.1f}H{width:g}", "dash" if tick == 1 else "ax")
        made.text(left - 10, _up(tick) + 4, word, "n k" if tick == 1 else "", "end")
    for first, last in _runs([window.status != "judged" for window in windows]):
        reason = windows[first].status
        if band(first, last, "gr", f"{labels[first]}: {reason}") > 14:
            made.text((at[first] + at[last]) / 2 + 4, 100, reason, "", "middle", True)
    for first, last in _runs([window.level == window.level for window in windows]):
        inside = slice(first, last + 1)
        made.path(line(at[inside], [_up(window.level) for window in windows[inside]]), "l lb")
    for x, label, window in zip(at, labels, windows, strict=True):
        if window.level == window.level:
            said = f"{label}: {window.level:.2f}{', alarm' if window.alarm else ''}"
            look, size = "db" if window.alarm else "ring", 4.5 if step > 9 else 2.5
            made.dot(x, _up(window.level), size, look, said)
    first = next((k for k, window in enumerate(windows) if window.alarm), -1)
    if first >= 0:
        x = min(max(at[first], left + 60), width - 60)
        made.text(x, 14, f"first alarm, {labels[first]}", "n k", "middle")
        made.path(f"M{at[first]:.1f} 18V{_up(windows[first].level) - 6:.1f}", "ax2")
    _dates(made, labels, left)
    return made.chart()


def _up(level: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * min(max(level, 0.0), HIGHEST) / HIGHEST


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last places of runs of true flags."""
    found: list[tuple[int, int]] = []
    for k, flag in enumerate(flags):
        if flag and found and found[-1][1] == k - 1:
            found[-1] = (found[-1][0], k)
        elif flag:
            found.append((k, k))
    return found


def _dates(made: Drawing, labels: Sequence[str], left: float) -> None:
    """A few labels at the bottom, so that they do not touch."""
    longest, step = max(map(len, labels), default=1), (made.width - left) / max(1, len(labels))
    for k in range(0, len(labels), math.ceil((7.5 * longest + 16) / step)):
        x = left + (k + 0.5) * step
        anchor = "start" if k == 0 else "end" if x > made.width - 40 else "middle"
        made.text(x, made.height - 6, labels[k], "", anchor)


def episode_lanes(labels: Sequence[str], episodes: Sequence[tuple[str, int, int, str]]) -> Chart:
    """When each column was different, from which window to which, and how."""
    rows: dict[str, list[Mark]] = {name: [Mark("gr", 0, 1, 1)] for name, *_ in episodes}
    for name, first, last, words in episodes:
        said = f"{labels[first]} to {labels[last]}: {name} {words}"
        place = first / len(labels), (last + 1) / len(labels)
        rows[name].append(Mark("ep", *place, 18, said, words))
    return _over_time("Episodes", rows, ())


def heat(labels: Sequence[str], rows: Mapping[str, list[tuple[float, bool, str]]]) -> Chart:
    """Columns over time: the further from usual the darker, with arrows in windows of an alarm."""
    n, found = len(labels), dict[str, list[Mark]]()
    for name, cells in rows.items():
        found[name] = marks = []
        for k, (far, arrow, words) in enumerate(cells):
            look = "wx" if far != far else f"w{sum(abs(far) >= cut for cut in STEPS)}"
            sign = ("↑" if far > 0 else "↓") if arrow else ""
            said = f"{name}, {labels[k]}: {words}"
            marks.append(Mark(look, k / n, (k + 0.92) / n, 26, said, sign))
    return _over_time("Columns over time", found, labels)


def _over_time(title: str, rows: Mapping[str, Sequence[Mark]], labels: Sequence[str]) -> Chart:
    """Lanes with dates below them."""

    def draw(width: float) -> Chart:
        left = _left(width)
        named = [(short(name, int(left / 7.3)), marks, "") for name, marks in rows.items()]
        made = lanes(title, named, width, 28, left=left, below=24 if labels else 0)
        _dates(made, labels, left)
        return made.chart()

    return for_phones(draw, WIDE)


def _left(width: float) -> float:
    """Room for names."""
    return 176.0 if width == WIDE else 104.0
