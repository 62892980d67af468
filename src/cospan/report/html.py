"""Report content → one HTML page, and a short static piece of HTML for notebooks.

Jinja escapes everything that comes from the data; the page's own style and scripts are the only
text marked as safe, and its policy allows just these, by their hashes: no other script runs,
whatever a name contains, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import MissingDependencyError

from .content import ReportContent
from .serialise import json_for_script

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["notebook_fragment", "page"]

FOLDER = Path(__file__).parent / "page"
SCRIPTS = ("base", "charts", "theming", "angles", "samples", "directions", "conflicts", "main")


def page(content: ReportContent) -> str:
    """The whole report."""
    from markupsafe import Markup

    charts, library = _charts(content)
    style, theme, script = _file("report.css"), _file("theme.js"), _script()
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            content=content,
            policy=_policy(scripts=(theme, library, script), style=style),
            rays=[_ray(content, key) for key in "AB"],
            payload=Markup(json_for_script({"content": content.to_dict(), "charts": charts})),
            style=Markup(style),
            theme=Markup(theme),
            library=Markup(library),
            script=Markup(script),
        )
    )


def notebook_fragment(content: ReportContent) -> str:
    """Verdict, numbers and histograms as static HTML: no script, no style sheet, no link."""
    from .charts import drawn_shares

    shares = {group.key: drawn_shares(group, content.bins) for group in content.groups}
    top = max(float(share.max()) for share in shares.values()) or 1.0
    steps = {key: _outline(share / top) for key, share in shares.items()}
    return _environment().get_template("fragment.html.j2").render(content=content, steps=steps)


def _charts(content: ReportContent) -> tuple[dict[str, Any], str]:
    try:
        from .charts import javascript, specifications

        return specifications(content), javascript()
    except ImportError as error:
        raise MissingDependencyError(_missing(error)) from error


@lru_cache(maxsize=1)
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingDependencyError(_missing(error)) from error
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _missing(error: ImportError) -> str:
    return (
        f"a report needs the package {error.name}, which is not installed; "
        "install it with: pip install 'cospan[app]'."
    )


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _script(names: tuple[str, ...] = SCRIPTS) -> str:
    parts = "\n".join(_file(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(scripts: tuple[str, ...], style: str) -> str:
    """Nothing may load, connect or run but these scripts and this style."""
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _ray(content: ReportContent, key: str) -> dict[str, Any]:
    """Where the ray of a group's median angle ends on the dial of radius 148 about (20, 160)."""
    angle = math.radians(content.group(key).median)
    x, y = 20 + 148 * math.cos(angle), 160 - 148 * math.sin(angle)
    return {"key": key, "x": f"{x:.1f}", "y": f"{y:.1f}"}


def _outline(heights: NDArray[np.float64], width: float = 360, height: float = 80) -> str:
    """The points of a histogram's outline, for an SVG polygon; heights are parts of the whole."""
    step = width / len(heights)
    points = [(0.0, height)]
    for i, part in enumerate(heights):
        y = height * (1 - float(part))
        points += [(i * step, y), ((i + 1) * step, y)]
    points.append((width, height))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
