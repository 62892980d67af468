"""Pages by templates of their own."""

from __future__ import annotations

from html import escape
from typing import Any

from markupsafe import Markup

from cospan.base.text import harmless

from .html import _environment, _file, _hash


def rendered(name: str, styles: list[str], **values: Any) -> str:
    """A page by its template, with its style sheets inside."""
    style = "".join(_file(f"{one}.css") for one in styles)
    policy = f"default-src 'none'; style-src {_hash(style)}; img-src data:"
    template = _environment().get_template(f"{name}.html.j2")
    return harmless(str(template.render(style=safe(style), policy=policy, **values)))


def safe(text: str) -> Markup:
    """Text of ours, which a template takes as it is."""
    return Markup(text)


def framed(width: float, height: float, label: str, body: str, more: str = "") -> str:
    """An SVG."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}"{more}>'
        f"{body}</svg>"
    )
