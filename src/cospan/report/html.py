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
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan.base.packages import needed
from cospan.base.text import harmless

from .document import Document

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent / "page"


def page(document: Document) -> str:
    """Stand-in."""
    return f"<!doctype html><title>{escape(document.title)}</title><p>{escape(document.title)}</p>"


def notebook(document: Document) -> str:
    """Stand-in."""
    return f"<p>{escape(document.title)}</p>"


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


@lru_cache(maxsize=1)
def _environment() -> Environment:
    with needed("A report"):
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    return Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


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
