"""Report content → Markdown: the verdict, the numbers and the tables, readable as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ._text import count, percent
from .charts import drawn_shares
from .content import ReportContent

__all__ = ["escaped", "markdown"]

_BAR = 24  # characters of the longest bar
MOST_ROWS = 50
# What could become a tag, a link, emphasis, code, a formula, a mention or a table cell.
_SPECIAL = re.compile(r"://|[\\`*_\[\]|~<>&#$@]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "://": "&#58;//"}
# What would turn a line into an item of a list.
_ITEM = re.compile(r"^(\s*\d*)([-+.)])(?=\s)")


def escaped(text: object) -> str:
    r"""Text that Markdown shows as it is.

    >>> print(escaped("<b>*x*|y"), escaped("1. one"))
    &lt;b&gt;\*x\*\|y 1\. one
    """
    safe = _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), str(text))
    return _ITEM.sub(r"\1\\\2", safe)


def markdown(content: ReportContent) -> str:
    """The whole report."""
    return "\n".join(_lines(content)) + "\n"


def _lines(content: ReportContent) -> Iterator[str]:
    yield f"# {escaped(content.title)}"
    yield ""
    yield escaped(" ".join(content.verdict))
    yield ""
    yield from _table(
        ("measure", "value", "interval", "meaning"),
        ((n.label, n.text, n.interval, n.meaning) for n in content.numbers),
    )
    if content.warnings:
        yield "## Before you believe the numbers"
        yield ""
        yield from (f"- {escaped(warning)}" for warning in content.warnings)
        yield ""
    yield from _angles(content)
    yield from _directions(content)
    yield from _features(content)
    yield from _conflicts(content)
    yield from _details(content)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(escaped(str(cell)) for cell in row)} |"
    yield ""


def _angles(content: ReportContent) -> Iterator[str]:
    yield "## Where the rows fall"
    yield ""
    yield (
        "θ is an angle for every row: 0° where only A explains it, 90° where only B does, 45° "
        "where both do alike."
    )
    yield ""
    a, b = (sum(content.group(key).counts[:450]) for key in "AB")
    n_a, n_b = (content.group(key).scored for key in "AB")
    yield from _table(
        ("group", "name", "rows", "median θ", "below 45°"),
        (
            (
                group.key,
                group.name,
                count(group.rows),
                f"{group.median:.1f}°",
                percent(sum(group.counts[:450]) / max(group.scored, 1)),
            )
            for group in content.groups
        ),
    )
    own_side = percent((a + n_b - b) / max(n_a + n_b, 1))
    yield f"Cut at 45°, {own_side} of the rows of A and B fall on their own side."
    yield ""
    yield "```text"
    yield from _histogram(content)
    yield "```"
    yield ""


def _histogram(content: ReportContent) -> Iterator[str]:
    """Bars for A and B, bin by bin; empty stretches are left out."""
    shares = {key: drawn_shares(content.group(key), content.bins) for key in "AB"}
    top = max(float(share.max()) for share in shares.values()) or 1.0
    width = 90 / content.bins
    for i in range(content.bins):
        a, b = (float(shares[key][i]) for key in "AB")
        if a + b:
            left, right = ("█" * round(_BAR * share / top) or "·" * (share > 0) for share in (a, b))
            edges = f"{i * width:5.1f}°-{(i + 1) * width:4.1f}°"
            yield f"{edges}  A {left:<{_BAR}}  B {right}".rstrip()


def _directions(content: ReportContent) -> Iterator[str]:
    spectrum = content.spectrum
    yield "## What they have apart, what they share"
    yield ""
    r, k, t = spectrum.blocks
    yield f"{spectrum.size} directions: {r} only A, {k} shared, {t} only B."
    yield ""
    ends = spectrum.directions
    if len(ends) > 10:
        ends = ends[:5] + ends[-5:]
    yield from _table(
        ("direction", "angle", "belongs to", "strongest features"),
        (
            (
                direction.index + 1,
                f"{direction.angle:.1f}°",
                direction.block,
                ", ".join(f"{w.feature} ({w.weight:+.2f})" for w in direction.features[:4]),
            )
            for direction in ends
        ),
    )


def _features(content: ReportContent) -> Iterator[str]:
    yield "## Which features separate them"
    yield ""
    yield "Mean pull on the angle: negative towards A, positive towards B."
    yield ""
    yield from _table(
        ("feature", "in rows of A", "in rows of B"),
        ((e.feature, f"{e.in_a:+.3g}", f"{e.in_b:+.3g}") for e in content.effects),
    )


def _conflicts(content: ReportContent) -> Iterator[str]:
    if content.n_conflicts is None:
        return
    kind = "Labelled rows" if content.labelled else "Rows"
    yield f"## {kind} that look like the other set"
    yield ""
    if not content.conflicts:
        yield "None."
        yield ""
        return
    shown = content.conflicts[:MOST_ROWS]
    yield f"{count(content.n_conflicts)} in all; the {len(shown)} most suspicious:"
    yield ""
    samples = content.samples
    yield from _table(
        ("row", "label" if content.labelled else "set", "looks like", "θ", "suspicion"),
        (
            (
                samples[c.sample].id,
                c.label,
                c.suggested,
                f"{samples[c.sample].theta:.1f}°",
                f"{c.suspicion:.3f}",
            )
            for c in shown
        ),
    )


def _details(content: ReportContent) -> Iterator[str]:
    yield "## How this was made"
    yield ""
    yield from _table(("setting", "value"), content.settings)
    yield from (f"- {escaped(line)}" for line in content.sampling)
