"""Names from the data, made safe to print: no control characters, no endless lines.

Escaping is the writers' business (HTML, Markdown and JSON differ); what happens here holds for
all of them. Letters of any script and emoji pass unchanged.
"""

from __future__ import annotations

import unicodedata

from cospan.base.text import set_name

LONGEST_NAME = 120
_TAIL = 24  # file names and identifiers often differ at their end only
# Marks that turn the reading direction of the text after them; letters themselves need none.
_BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def clean(value: object, longest: int = LONGEST_NAME) -> str:
    r"""Text of a name, one line, at most `longest` characters, with invisible controls spelled out.

    >>> clean("a\nb"), clean("x\u202etxt.exe"), clean("ab" * 100, longest=30)
    ('a b', 'x\\u202etxt.exe', 'ababa…abababababababababababab')
    """
    text = str(value)
    if len(text) > longest:
        text = text[: longest - _TAIL - 1] + "…" + text[-_TAIL:]
    return "".join(map(_visible, text)).strip() or "(no name)"


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    # Cc: controls; Cs: halves of surrogate pairs, which UTF-8 cannot carry
    if character in _BIDI_CONTROLS or unicodedata.category(character) in ("Cc", "Cs"):
        return f"\\u{ord(character):04x}"
    return character


def called(name: str, width: int) -> str:
    """A set's name for a sentence."""
    return set_name(clean(name, width))
