"""Content of a report of K sets → HTML page, Markdown, and a static piece for notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from cospan.errors import MissingDependencyError

from ._text import count, percent
from .html import _environment, _file, _missing, _policy, _script
from .many import ManyContent
from .markdown import MOST_ROWS, _table, escaped
from .serialise import json_for_script

__all__ = ["many_fragment", "many_markdown", "many_page"]

SCRIPTS = ("base", "charts", "theming", "many")


def many_page(content: ManyContent) -> str:
    """The whole report as one HTML page."""
    from markupsafe import Markup

    try:
        from .charts import javascript
        from .many_charts import many_specifications

        charts, library = many_specifications(content), javascript()
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
        f"Directions common to all sets: {kinds.common}; to some: {kinds.partial}; "
        f"to one: {kinds.isolated}."
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
    yield f"Rows that another set clearly claims: {count(content.n_misplaced)}."
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
