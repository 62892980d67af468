"""Numbers, names and lists for people: the only place where they are formatted."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Names are cut in the middle where they are longer, and messages of other libraries at their end.
LONGEST, LONGEST_MESSAGE = 40, 160
# Numbers from 10^15 on, and below 10^-5, are shown with an exponent: nobody counts so many zeros.
EXPONENT_FROM, EXPONENT_BELOW = 15, -5
COMMAS_FROM = 10_000  # 2016 is a year
#: Names of sets that a sentence would swallow.
_WORDS = frozenset(
    ("yes", "no", "true", "false", "none", "null", "nan", "na", "other", "others", "rest", "all",
     "both", "neither", "either", "and", "or", "not", "on", "off", "in", "out", "of", "is", "it",
     "one", "two", "some", "any", "same", "more", "less", "")
)  # fmt: skip

#: What a terminal acts on: controls but for tabs and line breaks, and signs that turn the writing.
_ACTED_ON = [
    *(n for n in range(0xA0) if (n < 0x20 or n >= 0x7F) and chr(n) not in "\t\n"),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]
_NAMED = {n: repr(chr(n))[1:-1] for n in _ACTED_ON}
_NAMED_IN_JSON = {n: f"\\u{n:04x}" for n in _ACTED_ON}

#: As far off as float32 is off decimal numbers. (Here, since `cospan --help` loads no NumPy.)
AS_WRITTEN = 2.0**-24


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
    """The first line of another library's message, not too long, or else the error's kind."""
    lines = str(error).strip().splitlines()
    text = lines[0].rstrip(".") if lines else type(error).__name__
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 3] + "..."


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def plural(n: int, thing: str) -> str:
    """A count with its noun: 12,345 rows."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def quoted(name: str) -> str:
    """A name in a sentence: cut in the middle where it is long, quoted where it has spaces."""
    line = cut_middle(name)
    return f"'{line}'" if " " in line or not line else line


def cut_middle(name: str, most: int = LONGEST) -> str:
    """A name in one line, cut in the middle where it is long."""
    line = " ".join(name.split())
    half = most // 2
    return line if len(line) <= most else f"{line[: most - 1 - half]}…{line[-half:]}"


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


def number(value: float, digits: int = 3) -> str:
    """A few significant digits, with commas from 10,000 on and no exponent where it can be.

    >>> [number(v) for v in (0.5, 12.0, 1234567.0, 0.00001234, 1e-7, float("nan"))]
    ['0.5', '12', '1,234,567', '0.0000123', '1e-07', 'nan']
    """
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= EXPONENT_FROM or size < EXPONENT_BELOW:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - size)
    rounded = round(value, places)
    text = f"{rounded:,.{places}f}" if abs(rounded) >= COMMAS_FROM else f"{rounded:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_number(value: float) -> str:
    """A value that the data has, in full: with the digits that float32 keeps, or all of ten.

    >>> exact_number(-999.0), exact_number(603.7285), exact_number(0.699999988079071)
    ('-999', '603.7285', '0.7')
    """
    for digits in range(3, 10) if math.isfinite(value) else ():
        text = number(value, digits)
        if abs(float(text.replace(",", "")) - value) <= AS_WRITTEN * abs(value):
            return text
    return number(value, 10)


def pair_of(a: float, b: float, right: int = 2) -> tuple[str, str]:
    """Two numbers, with three digits or more, so that `right` digits of their difference are right.

    Both have as many decimals, unless one is zero or far larger.

    >>> pair_of(45.41, 49.0), pair_of(2016.837, 2017.508), pair_of(0.5, 250), pair_of(89078, 74297)
    (('45.4', '49.0'), ('2016.84', '2017.51'), ('0.5', '250'), ('89,100', '74,300'))
    """
    low, high = sorted((abs(a), abs(b)))
    size = math.floor(math.log10(high)) if 0 < high < math.inf else EXPONENT_FROM
    if not 10 * low > high or not EXPONENT_BELOW <= size < EXPONENT_FROM:
        return number(a, 2), number(b, 2)
    apart = abs(a - b)
    comma = "," if high >= COMMAS_FROM else ""
    needed = right - 1 - math.floor(math.log10(apart)) if right and apart else 2 - size
    places = min(max(2 - size, needed, -9 if comma else 0), 9 - size)
    x, y = (f"{round(value, places):{comma}.{max(0, places)}f}" for value in (a, b))
    while "." in x and x[-1] == y[-1] == "0":
        x, y = x[:-1].removesuffix("."), y[:-1].removesuffix(".")
    return x, y


def correlations(a: float, b: float) -> tuple[str, str]:
    """Two correlations: two digits, more where it takes them to tell them apart."""
    for digits in range(2, 6):
        x, y = (f"{round(r, digits) + 0.0:.{digits}f}" for r in (a, b))  # no minus before a zero
        if x != y:
            return x, y
    return f"{round(a, 2) + 0.0:.2f}", f"{round(b, 2) + 0.0:.2f}"


def share_text(share: float, places: int = 0) -> str:
    """A share in per cent, never rounded to 0% or 100% when it is neither.

    >>> share_text(0.123), share_text(0.004), share_text(0.998), share_text(1.0)
    ('12%', 'less than 1%', 'more than 99%', '100%')
    """
    share = max(share, 0.0)  # a difference of sums may be 0 less rounding
    half = 0.005 / 10**places  # of the last digit
    if 0 < share < half:
        return "less than 1%" if share >= 0.0005 else "less than 0.1%"
    if 1 - half <= share < 1:
        return "more than 99.9%" if places else "more than 99%"
    shown = 0 if share in (0, 1) else places
    return f"{100 * share:.{shown}f}%"


def shares_text(a: float, b: float) -> tuple[str, str]:
    """Two shares, with a decimal where it takes one to tell them apart: 2.4% and 1.9%."""
    rough, fine = ((share_text(a, places), share_text(b, places)) for places in (0, 1))
    return fine if rough[0] == rough[1] and fine[0] != fine[1] else rough


def p_sign(p: float, permutations: int = 999) -> str:
    """A p-value with its sign: relabellings cannot say less than one in all of them.

    >>> p_sign(0.001), p_sign(0.0342), p_sign(0.9), p_sign(0.998), p_sign(0.005, 199)
    ('≤ 0.001', '= 0.034', '= 0.90', '> 0.99', '≤ 0.005')
    """
    least = 1 / (1 + permutations)
    if p <= least * 1.0001:
        return f"≤ {number(least, 1)}"
    return "> 0.99" if p > 0.99 else f"= {p:.2f}" if p > 0.1 else f"= {p:.2g}"


def chance(p: float, permutations: int = 999) -> str:
    """A p-value for a sentence: p = 0.034."""
    return f"p {p_sign(p, permutations)}".replace("≤", "at most")
