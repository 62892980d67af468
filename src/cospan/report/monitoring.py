"""A monitoring as one page: the line over time, episodes, every window.

No script runs and nothing is loaded: charts are static SVG, and a click on a window leads to its
section, which the style sheet shows where it is the target. Everything from the data is escaped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from cospan.base.files import write_text
from cospan.wording import monitoring_sentences, promise_sentence, size_interval, window_sentences

from .html import rendered, safe
from .svg import framed

if TYPE_CHECKING:
    from cospan.monitoring import Monitoring, Window

__all__ = ["monitoring_page", "save_monitoring_page"]

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 960, 150, 910, 12, 200
#: Windows with a section of their own, at most: the last ones, and all in alarm.
MOST_SECTIONS = 500


def save_monitoring_page(path: str | os.PathLike[str], found: Monitoring) -> Path:
    """Write the page, whole or not at all."""
    return write_text(path, monitoring_page(found))


def monitoring_page(found: Monitoring) -> str:
    """The whole page."""
    latest = {id(window) for window in found.windows[-MOST_SECTIONS:]}
    return rendered(
        "monitoring",
        ["base", "monitoring"],
        found=found,
        sentences=monitoring_sentences(found),
        promise=promise_sentence(found),
        windows=[w for w in found.windows if w.alarm or id(w) in latest],
        key=lambda window: f"w{window.code}",
        said=lambda window: window_sentences(window, found),
        interval=size_interval,
        line=safe(_levels(found.windows)),
    )


def _levels(windows: Sequence[Window]) -> str:
    """Each window's largest sum over its threshold."""
    values = [0.0 if math.isnan(window.level) else window.level for window in windows]
    highest = max(1.5, min(4.0, max(values, default=0.0) * 1.05))

    def x(i: float) -> float:
        return LEFT + (i + 0.5) * (RIGHT - LEFT) / max(1, len(windows))

    def y(value: float) -> float:
        return BOTTOM - min(value, highest) / highest * (BOTTOM - TOP)

    line = f'<line class="level" x1="{LEFT}" x2="{RIGHT}" y1="{y(1):.1f}" y2="{y(1):.1f}"/>'
    body = [
        line,
        f'<text class="tick" x="{LEFT - 8}" y="{y(0) + 4:.1f}">0</text>',
        f'<text class="tick" x="{LEFT - 8}" y="{y(1) + 4:.1f}">alarm</text>',
        '<path class="line" d="M'
        + "L".join(f"{x(i):.1f} {y(value):.1f}" for i, value in enumerate(values))
        + '"/>',
    ]
    for i, (window, value) in enumerate(zip(windows, values, strict=True)):
        state = "alarm" if window.alarm else "quiet" if window.status == "judged" else "unjudged"
        tip = escape(f"{window.label}: {window.rows:,} rows, {window.status}")
        body.append(
            f'<a href="#w{window.code}"><circle class="{state}" cx="{x(i):.1f}" '
            f'cy="{y(value):.1f}" r="{3 + window.alarm:g}"><title>{tip}</title></circle></a>'
        )
    shown = sorted({round(k * (len(windows) - 1) / 5) for k in range(6)}) if windows else []
    body += [
        f'<text class="time" x="{x(i):.1f}" y="{BOTTOM + 18}">{escape(windows[i].label)}</text>'
        for i in shown
    ]
    return framed(WIDTH, 230, "Each window's largest deviation; 1 = alarm", "".join(body))
