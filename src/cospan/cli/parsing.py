"""Values of options that typer has no type for; a wrong one is wrong usage, exit code 2."""

from __future__ import annotations

import re

import typer


def parse_shrinkage(text: str) -> float | str:
    """``auto``, or a number in [0, 1)."""
    value = text if text == "auto" else _number(text)
    if value is None or not (isinstance(value, str) or 0 <= value < 1):
        raise typer.BadParameter(f"{text!r} is neither 'auto' nor a number from 0 to below 1.")
    return value


def parse_curve(text: str) -> int | str:
    """``auto``, ``none``, or a number of features."""
    if text in ("auto", "none"):
        return text
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise typer.BadParameter(
            f"{text!r} is neither 'auto' nor 'none' nor a number of features of at least 1."
        )
    return int(text)


def parse_number_or_auto(text: str) -> float | str:
    """A number, or the word auto."""
    value = text if text == "auto" else _number(text)
    if value is None:
        raise typer.BadParameter(f"{text!r} is not a number; give one, or auto.")
    return value


def parse_shape(text: str) -> tuple[int, ...]:
    """``28``, ``28x28`` or ``32x32x3``."""
    match = re.fullmatch(r"(\d{1,5})(?:x(\d{1,5}))?(?:x(\d{1,2}))?", text.lower())
    shape = tuple(int(part) for part in match.groups() if part) if match else ()
    if not shape or min(shape) < 1:
        raise typer.BadParameter(f"{text!r} is not an image size; write HEIGHTxWIDTH, e.g. 28x28.")
    return shape


def parse_columns(text: str) -> list[str | int]:
    """Names or numbers of columns between commas."""
    return [int(name) if name.isdigit() else name for name in parse_names(text)]


def parse_names(text: str) -> list[str]:
    """Names of columns between commas."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise typer.BadParameter("no column is named; write names between commas.")
    return names


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
