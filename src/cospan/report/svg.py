"""Frames of charts."""

from __future__ import annotations

from html import escape


def framed(width: float, height: float, label: str, body: str, more: str = "") -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}"{more}>'
        f"{body}</svg>"
    )
