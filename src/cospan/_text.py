"""Words and numbers for people: one way to count, to round, and to show a name from the data."""

from __future__ import annotations

__all__ = ["first_line", "is_number", "number", "plural", "printable"]


def printable(text: object, width: int | None = None) -> str:
    """Any name as one line of harmless text, cut to `width` characters.

    Examples
    --------
    >>> printable("tab\\there, bell\\x07")
    'tab\\\\there, bell\\\\x07'
    >>> printable("a very long name indeed", 12)
    'a very long…'
    """
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    if width is not None and len(shown) > width:
        return shown[: width - 1].rstrip() + "…"
    return shown


def first_line(error: BaseException) -> str:
    """The first line of another library's message, not too long, or else the error's kind.

    Examples
    --------
    >>> first_line(ValueError("Bad magic.\\nSee the manual.")), first_line(EOFError())
    ('Bad magic', 'EOFError')
    """
    lines = str(error).strip().splitlines()
    text = lines[0].rstrip(".") if lines else type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def plural(n: int, thing: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def number(value: float) -> str:
    """A number in a few characters.

    Examples
    --------
    >>> [number(v) for v in (0.5, 12.0, 1234567.0, 0.00001234, float("nan"))]
    ['0.5', '12', '1.23e+06', '1.23e-05', 'nan']
    """
    return f"{value:.3g}"
