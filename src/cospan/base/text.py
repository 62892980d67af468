"""Words and numbers for people: one way to count, to round, and to show a name from the data."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "cut_middle", "first_line", "harmless", "is_number", "json_harmless", "listed", "plural", "printable",
    "quoted", "set_name",
]  # fmt: skip

#: Names are cut in the middle where they are longer.
LONGEST = 40
#: Names of sets that a sentence would swallow.
_WORDS = frozenset(
    ("yes", "no", "true", "false", "none", "null", "nan", "na", "other", "others", "rest", "all",
     "both", "neither", "either", "and", "or", "not", "on", "off", "in", "out", "of", "is", "it",
     "one", "two", "some", "any", "same", "more", "less", "")
)  # fmt: skip

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


def quoted(name: str) -> str:
    """A name in a sentence: cut in the middle where it is long, quoted where it has spaces."""
    line = cut_middle(name)
    return f"'{line}'" if " " in line or not line else line


def cut_middle(name: str) -> str:
    """A name in one line, cut in the middle where it is long."""
    line = " ".join(name.split())
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[: half - 1]}…{line[-half:]}"


def set_name(name: str) -> str:
    """A set's name in a sentence: quoted where it would be read as a word or a number of it."""
    plain = name.strip().lower()
    return f"'{name}'" if plain in _WORDS or is_number(plain) else name


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names with commas and an "and"; how many more there are."""
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
