"""Words and numbers for people: one way to count, to round, and to show a name from the data."""

from __future__ import annotations

__all__ = ["first_line", "harmless", "is_number", "json_harmless", "plural", "printable"]

#: What a terminal acts on when it is shown: controls but for tabs and line breaks, and signs that
#: turn the direction of writing round.
_ACTED_ON = [
    *(n for n in range(0xA0) if (n < 0x20 or n >= 0x7F) and chr(n) not in "\t\n"),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]
_NAMED = {n: repr(chr(n))[1:-1] for n in _ACTED_ON}
_NAMED_IN_JSON = {n: f"\\u{n:04x}" for n in _ACTED_ON}


def harmless(text: str) -> str:
    r"""Text for a file that may be shown on a terminal: what that would act on is spelled out.

    >>> harmless("red \x1b[31m, \u202egpj.exe")
    'red \\x1b[31m, \\u202egpj.exe'
    """
    return text.translate(_NAMED)


def json_harmless(text: str) -> str:
    """The same JSON for every reader, with those characters escaped in its texts."""
    return text.translate(_NAMED_IN_JSON)


def printable(text: object, width: int | None = None) -> str:
    """Any name as one line of harmless text, cut to `width` characters.

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

    >>> plural(1, "row"), plural(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
