"""Content of a report of K sets → HTML page, Markdown, and a static piece for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cospan.errors import MissingDependencyError

from ._text import count, percent
from .html import _environment, _file, _missing, _policy, _script
from .many import ManyContent
from .markdown import MOST_ROWS, _table, escaped
from .serialise import json_for_script

__all__ = ["many_fragment", "many_markdown", "many_page"]

SCRIPTS = ("base", "charts", "theming", "many")
HEIGHT = 3**0.5 / 2  # of a triangle with sides of 1


def many_page(content: ManyContent) -> str:
    """The whole report as one HTML page."""
    from markupsafe import Markup

    try:
        from .charts import javascript

        charts, library = _specifications(content), javascript()
    except ImportError as error:
        raise MissingDependencyError(_missing(error)) from error
    style, theme = _file("report.css") + _file("many.css"), _file("theme.js")
    script = _script(SCRIPTS)
    return (
        _environment()
        .get_template("many.html.j2")
        .render(
            content=content,
            policy=_policy(scripts=(theme, library, script), style=style),
            payload=Markup(json_for_script({"content": content.to_dict(), "charts": charts})),
            style=Markup(style),
            theme=Markup(theme),
            library=Markup(library),
            script=Markup(script),
        )
    )


def many_fragment(content: ManyContent) -> str:
    """Verdict and matrix as static HTML: no script, no style sheet, no link."""
    return _environment().get_template("many_fragment.html.j2").render(content=content)


# ---- charts ------------------------------------------------------------------------------------


def _specifications(content: ManyContent) -> dict[str, dict[str, Any]]:
    from .charts import _finished

    found = {"chart-pair": _finished(_pair_chart(), height=240)}
    if content.corners:
        found["chart-ternary"] = _finished(_ternary(content), height=380)
    return found


def _pair_chart() -> Any:
    """Two histograms; the page's script puts in the counts of the pair that was chosen."""
    import altair as alt

    from .charts import A, B, _degrees

    base = alt.Chart(alt.NamedData(name="pair")).encode(
        x=_degrees("x", "angle θ between the two sets"),
        y=alt.Y(
            "share:Q",
            stack=None,
            axis=alt.Axis(format="%", tickCount=4, title="share of the set's rows"),
        ),
    )
    return alt.layer(
        *(
            base.transform_filter(f"datum.group === '{key}'").mark_area(
                interpolate="step-after",
                color=colour,
                fillOpacity=0.42,
                line={"color": colour, "strokeWidth": 1.8, "strokeDash": dash},
            )
            for key, colour, dash in (("A", A, [1, 0]), ("B", B, [6, 2]))
        )
    )


def _ternary(content: ManyContent) -> Any:
    """Rows of three sets in a triangle: a corner for each set, the middle for all alike."""
    import altair as alt

    from .charts import INK, SHARED, A, B, Z

    colours = {"0": A, "1": B, "2": "@high", "3": Z}
    shapes = {"0": "circle", "1": "triangle-up", "2": "square", "3": "cross"}
    points: list[dict[str, Any]] = [
        {"x": round(second + third / 2, 4), "y": round(third * HEIGHT, 4), "group": str(group)}
        for second, third, group in content.corners
    ]
    keys = sorted({point["group"] for point in points})
    x = alt.X("x:Q", scale=alt.Scale(domain=[-0.04, 1.04]), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-0.08, 0.95]), axis=None)
    edge = [(0, 0), (1, 0), (0.5, HEIGHT), (0, 0)]
    outline = (
        alt.Chart(
            alt.InlineData(values=[{"x": a, "y": b, "i": i} for i, (a, b) in enumerate(edge)])
        )
        .mark_line(color=INK, strokeWidth=1)
        .encode(x=x, y=y, order="i:O")
    )
    # From the middle to the middle of each side: where the nearest set changes.
    borders = [(0.5, 0), (0.75, HEIGHT / 2), (0.25, HEIGHT / 2)]
    lines = [
        {"x": a, "y": b, "line": i}
        for i, end in enumerate(borders)
        for a, b in ((0.5, HEIGHT / 3), end)
    ]
    border = (
        alt.Chart(alt.InlineData(values=lines))
        .mark_line(color=SHARED, strokeDash=[4, 4], strokeWidth=1)
        .encode(x=x, y=y, detail="line:N")
    )
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_point(filled=True, size=26, opacity=0.6)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "group:N",
                legend=None,
                scale=alt.Scale(domain=keys, range=[colours[key] for key in keys]),
            ),
            shape=alt.Shape(
                "group:N",
                legend=None,
                scale=alt.Scale(domain=keys, range=[shapes[key] for key in keys]),
            ),
        )
    )
    return alt.layer(border, outline, dots)


# ---- Markdown ----------------------------------------------------------------------------------


def many_markdown(content: ManyContent) -> str:
    """The whole report as Markdown."""
    return "\n".join(_lines(content)) + "\n"


def _lines(content: ManyContent) -> Iterator[str]:
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
    yield from _matrix(content)
    yield from _sets(content)
    yield from _rows(content)
    yield "## How this was made"
    yield ""
    yield from _table(("setting", "value"), content.settings)
    yield from (f"- {escaped(line)}" for line in content.sampling)


def _matrix(content: ManyContent) -> Iterator[str]:
    yield "## How far apart the sets lie"
    yield ""
    yield "Fisher-Rao distances, from 0 (alike) to π (apart); close sets stand side by side."
    yield ""
    names = [content.sets[k].name for k in content.order]
    rows = (
        (
            content.sets[i].name,
            *("" if i == j else f"{content.distance[i][j]:.3f}" for j in content.order),
        )
        for i in content.order
    )
    yield from _table(("set", *map(escaped, names)), rows)


def _sets(content: ManyContent) -> Iterator[str]:
    yield "## The sets"
    yield ""
    kinds = content.kinds
    yield (
        f"{kinds.common} directions are common to all sets, {kinds.partial} belong to some, "
        f"{kinds.isolated} to one."
    )
    yield ""
    yield from _table(
        ("set", "rows", "explained best by their own set", "directions of its own"),
        (
            (g.name, count(g.rows), "" if g.recall is None else percent(g.recall), g.own_directions)
            for g in content.groups
        ),
    )


def _rows(content: ManyContent) -> Iterator[str]:
    yield "## Rows in doubt"
    yield ""
    yield f"{count(content.n_misplaced)} rows are claimed by another set than their own."
    yield ""
    sets = content.sets
    yield from _table(
        ("row", "of", "nearest", "second", "θ", "ambiguity"),
        (
            (
                sample.id,
                content.groups[sample.group].name,
                f"{sets[sample.nearest].name} ({percent(sample.weights[sample.nearest])})",
                f"{sets[sample.second].name} ({percent(sample.weights[sample.second])})",
                f"{sample.theta:.1f}°",
                f"{sample.entropy:.3f}",
            )
            for sample in content.samples[:MOST_ROWS]
        ),
    )
