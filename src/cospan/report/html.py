"""A document as one HTML page, and its card as a static piece of HTML for notebooks.

Jinja escapes everything that comes from the data; the page's own style and script and the charts
(which escape names themselves) are the only text marked as safe. The page's policy allows just
these, by their hashes, and pictures that are part of the page: nothing else runs, whatever a name
contains, and nothing is loaded from anywhere. Without the script everything can be read.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from cospan.base.text import harmless
from cospan.errors import needed

from .document import Document

FOLDER = Path(__file__).parent / "page"


def page(document: Document) -> str:
    """The whole report."""
    from markupsafe import Markup

    style, script = ((FOLDER / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {"style": Markup(style), "script": Markup(script), "policy": policy}
    return _rendered("report.html.j2", document=document, **own)


def notebook(document: Document) -> str:
    """The card and the columns as static HTML: no script, no link, a style for itself alone."""
    return _rendered("notebook.html.j2", document=document)


def _rendered(name: str, **values: object) -> str:
    with needed("A report"):
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return harmless(environment.get_template(name).render(values))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
