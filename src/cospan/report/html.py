"""Report content → one HTML page, and a short static piece of HTML for notebooks.

Jinja escapes everything that comes from the data; the page's own style and scripts and the charts
of ``svg`` (which escapes names itself) are the only text marked as safe. The page's policy allows
just these scripts, by their hashes, and pictures that are part of the page: nothing else runs,
whatever a name contains, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan.base.packages import needed
from cospan.base.tables import json_text
from cospan.base.text import count, harmless, p_text, percent

from . import svg, svg_many
from ._words import of_hundred
from .content import ReportContent

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent / "page"
SHORT_NAME = 10
# Characters with a meaning to an HTML parser or, in older engines, to a script's line counting.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
SCRIPTS = ("base", "tables", "rows", "brush", "main")


def page(content: ReportContent) -> str:
    """The whole report."""
    parts = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
    return rendered(
        "report",
        ["report"],
        {"theme": _file("theme.js"), "script": f'(() => {{\n"use strict";\n{parts}}})();\n'},
        content=content,
        scale=svg.map_scale(content.points),
        payload=safe(_json_for_script(content.to_dict())),
    )


def rendered(
    name: str, styles: Sequence[str], scripts: Mapping[str, str] | None = None, **values: Any
) -> str:
    """A page by its template: its style sheets and scripts inside, and a policy for no others."""
    template = _environment().get_template(f"{name}.html.j2")
    style, own = "".join(_file(f"{one}.css") for one in styles), dict(scripts or {})
    given = {
        **{key: safe(script) for key, script in own.items()},
        "style": safe(style),
        "policy": _policy(tuple(own.values()), style),
    }
    return harmless(template.render(values | given))


def safe(text: str) -> Markup:
    """Text of ours, which a template takes as it is."""
    with needed("A report"):
        from markupsafe import Markup
    return Markup(text)


def notebook_fragment(content: ReportContent) -> str:
    """Verdict, tiles and first columns as static HTML: no script, no style sheet, no link."""
    return _environment().get_template("fragment.html.j2").render(content=content)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    with needed("A report"):
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    made = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

    def drawn(chart: Any) -> Any:
        return lambda *given, **numbers: safe(chart(*given, **numbers))

    modules = (svg, svg_many)
    drawings = {name: drawn(getattr(one, name)) for one in modules for name in one.__all__}
    made.globals.update(drawings)
    made.globals["draw"] = lambda content, one: drawings[one.drawing](content, **one.numbers)
    made.globals.update(map_place=svg.map_place, heat=_heat)
    made.globals.update(short_names=_short_names)
    made.filters.update(count=count, percent=percent, p=p_text, hundred=of_hundred, signed=_signed)
    made.filters.update(unbroken=_unbroken)
    return made


def _short_names(content: ReportContent) -> bool:
    """Whether names of sets fit over the columns of a matrix; else their keys are there."""
    return max(len(one.name) for one in content.sets) <= SHORT_NAME


def _heat(value: float, low: float, high: float) -> int:
    """A colour from 0 to 10 on an absolute scale."""
    return round(10 * min(1.0, max(0.0, (value - low) / (high - low))))


def _signed(value: float) -> str:
    """Two decimals with a sign, which nothing has not."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def _unbroken(text: str) -> str:
    """A number stays on one line with its sign."""
    return text.replace(" %", "\u00a0%").replace(" ±", "\u00a0±").replace("± ", "±\u00a0")


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _policy(scripts: tuple[str, ...], style: str) -> str:
    """Nothing may load, connect or run but these scripts, this style and the page's pictures."""
    allowed = " ".join(map(_hash, scripts)) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _json_for_script(value: Any) -> str:
    r"""JSON that may be inside a ``<script type="application/json">`` element.

    >>> _json_for_script({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    return json_text(value, indent=None).translate(_ESCAPES)
