"""Charts of more than two sets, as static SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .content import ReportContent
from .svg import framed, outline, shares_of, written

__all__ = ["dendrogram", "pair_chart", "triangle"]


def pair_chart(first: Sequence[int], second: Sequence[int], label: str) -> str:
    """Angles of the rows of two of many sets, between these two."""
    shares = [shares_of(first), shares_of(second)]
    top = max(*shares[0], *shares[1]) or 1.0
    body = "".join(
        f'<path class="{side} {how}" d="{outline([x / top for x in own], 4, 292, 82, 4)}"/>'
        for side, how, own in (("a", "fill", shares[0]), ("b", "line", shares[1]))
    )
    body += '<path class="axis" d="M4 82H296"/><path class="cut" d="M150 4V82"/>'
    body += "".join(
        written(x, 96, text, anchor)
        for x, anchor, text in ((4, "start", "0°"), (150, "middle", "45°"), (296, "end", "90°"))
    )
    return framed(300, 100, label, body, ' class="chart small"')


def dendrogram(content: ReportContent) -> str:
    """Which sets join first."""
    K, row = len(content.order), 22
    place = {k: row * (i + 0.5) for i, k in enumerate(content.order)}
    joins = [join[2] for join in content.linkage]
    most = max(joins, default=1.0) or 1.0
    least = max(0.0, 1.5 * min(joins, default=0.0) - 0.5 * most)
    span = max(most - least, 1e-9)
    left, reach, lines = 150, dict.fromkeys(place, least), []
    for step, join in enumerate(content.linkage):
        ends = int(join[0]), int(join[1])
        x = left + 240 * (join[2] - least) / span
        for end in ends:
            start = left + 240 * (reach[end] - least) / span
            lines.append(f"M{start:.1f} {place[end]:.1f}H{x:.1f}")
        lines.append(f"M{x:.1f} {place[ends[0]]:.1f}V{place[ends[1]]:.1f}")
        place[K + step] = (place[ends[0]] + place[ends[1]]) / 2
        reach[K + step] = join[2]
    names = "".join(
        written(144, f"{place[k] + 4:.0f}", _short(content.sets[k].name), "end")
        for k in content.order
    )
    scale = "".join(
        written(x, row * K + 14, f"{value:.2f}", anchor)
        for x, anchor, value in ((left, "start", least), (390, "end", most))
    )
    middle = written(270, row * K + 14, "Fisher-Rao distance", "middle")
    body = f'{names}<path class="axis" d="{"".join(lines)}"/>{scale}{middle}'
    label = "Which sets join first, from the left"
    return framed(400, row * K + 20, label, body, ' class="chart joins"')


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def triangle(content: ReportContent) -> str:
    """Rows of three sets in a triangle: near a corner where that set explains them alone."""
    corners = ((20.0, 300.0), (380.0, 300.0), (200.0, 20.0))
    groups: dict[int, list[str]] = {}
    for second, third, group in content.corners:
        weights = (1 - second - third, second, third)
        x, y = (
            sum(w * corner[i] for w, corner in zip(weights, corners, strict=True)) for i in (0, 1)
        )
        groups.setdefault(group, []).append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="2.4"/>')
    body = '<path class="frame" d="M20 300H380L200 20Z"/>'
    for group, dots in sorted(groups.items()):
        body += f'<g class="{"abcz"[group]} dots">{"".join(dots)}</g>'
    for k, (x, y, anchor) in enumerate(((4, 320, "start"), (396, 320, "end"), (200, 12, "middle"))):
        name = escape(_short(content.sets[k].name))
        body += f'<text class="t{"abc"[k]}" x="{x}" y="{y}" text-anchor="{anchor}">{name}</text>'
    label = "Rows between three sets: near a corner where that set explains them best"
    return framed(400, 328, label, body, ' class="chart"')
