"""Numbers, dates and names as sentences have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cospan._tolerance import AS_WRITTEN

if TYPE_CHECKING:
    from cospan.significance import Estimate

SHORT = 40
#: Names of sets that a sentence would swallow.
_WORDS = frozenset(
    ("yes", "no", "true", "false", "none", "null", "nan", "na", "other", "others", "rest", "all",
     "both", "neither", "either", "and", "or", "not", "on", "off", "in", "out", "is", "it", "one",
     "two", "some", "any", "same", "more", "less")
)  # fmt: skip


def number(value: float, digits: int = 3) -> str:
    """A few significant digits, with commas from 10,000 on and no exponent where it can be."""
    if not math.isfinite(value):
        return "infinity" if value > 0 else "minus infinity"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 15 or size < -5:
        return f"{value:.{digits - 1}e}"
    rounded = round(value, max(0, digits - 1 - size)) if size < digits else round(value)
    places = max(0, digits - 1 - size)
    text = f"{rounded:,.{places}f}" if abs(rounded) >= 10_000 else f"{rounded:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_number(value: float) -> str:
    """A value that the data has, in full: with the digits that float32 keeps, or all of ten.

    >>> exact_number(-999.0), exact_number(603.7285), exact_number(float(np.float32(0.7)))
    ('-999', '603.7285', '0.7')
    """
    for digits in range(3, 10):
        text = number(value, digits)
        if abs(float(text.replace(",", "")) - value) <= AS_WRITTEN * abs(value):
            return text
    return number(value, 10)


def pair_of(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 10):
        x, y = number(a, digits), number(b, digits)
        if x != y:
            return x, y
    return number(a), number(b)


def correlations(a: float, b: float) -> tuple[str, str]:
    """Two correlations: two digits, more where it takes them to tell them apart."""
    for digits in range(2, 6):
        x, y = (f"{round(r, digits) + 0.0:.{digits}f}" for r in (a, b))  # no minus before a zero
        if x != y:
            return x, y
    return f"{round(a, 2) + 0.0:.2f}", f"{round(b, 2) + 0.0:.2f}"


def value_text(value: float, kind: str) -> str:
    """A value in the units of the user's: dates as dates."""
    if kind == "date" and math.isfinite(value) and abs(value) < 3e6:
        try:
            return (datetime(1970, 1, 1) + timedelta(days=value)).date().isoformat()
        except OverflowError:
            return number(value)
    if kind == "duration":
        return f"{number(value)} days"
    return number(value)


def rows_of(name: str, what: str = "rows") -> str:
    """What belongs to a set.

    >>> rows_of("A"), rows_of("'no'")
    ("A's rows", "the rows of 'no'")
    """
    return f"the {what} of {name}" if name.endswith("'") else f"{name}'s {what}"


def shares_of(
    shares: tuple[str, str], names: tuple[str, str], of: str = "rows", *, first: int = 0
) -> str:
    """Two shares of the rows of two sets; a share of the set `first` comes first.

    >>> shares_of(("5 %", "12 %"), ("A", "B")), shares_of(("never", "5 %"), ("A", "B"), first=1)
    ("5 % of A's rows and 12 % of B's", "5 % of B's rows and never in A's")
    >>> shares_of(("5 %", "12 %"), ("'no'", "'yes'"))
    "5 % of the rows of 'no' and 12 % of those of 'yes'"
    """
    order = (first, 1 - first)
    (one, two), (here, there) = ([x[i] for i in order] for x in (shares, names))
    link = "of" if "%" in two else "in"
    if here.endswith("'") or there.endswith("'"):
        last = f"those of {there}" if "%" in two else there
        return f"{one} of the {of} of {here} and {two} {link} {last}"
    return f"{one} of {here}'s {of} and {two} {link} {there}'s"


def share_text(share: float) -> str:
    """A share in per cent, never rounded to 0 % or 100 % when it is neither."""
    share = max(share, 0.0)  # a difference of sums may be 0 less rounding
    if 0 < share < 0.005:
        return "less than 1 %" if share >= 0.0005 else "less than 0.1 %"
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def chance(p: float) -> str:
    """A p-value in words."""
    if p <= 0.001:
        return "p at most 0.001"
    return f"p = {p:.2g}" if p < 0.995 else "p = 1"


def of_hundred(auc: float) -> str:
    """An AUC as a count of 100, never rounded to certainty.

    >>> of_hundred(0.812), of_hundred(0.998), of_hundred(1.0)
    ('81', 'over 99', '100')
    """
    if 0 < auc < 0.005:
        return "under 1"
    return "over 99" if 0.995 <= auc < 1 else f"{100 * auc:.0f}"


def auc_interval(auc: Estimate) -> str:
    """The interval of an AUC in the same words."""
    level = f"{100 * auc.confidence:.0f} %"
    low, high = of_hundred(auc.low), of_hundred(auc.high)
    if low == high and auc.low < auc.high and low.isdigit():
        low, high = pair_of(100 * auc.low, 100 * auc.high)
    return f"{level} interval {low} to {high}; by chance 50"


def quoted(name: str) -> str:
    """A name in a sentence: cut where it is long, quoted where it has spaces."""
    line = " ".join(name.split())
    line = line if len(line) <= SHORT else line[: SHORT - 1] + "…"
    return f"'{line}'" if " " in line or not line else line


def set_name(name: str) -> str:
    """A set's name in a sentence: quoted where it would be read as a word or a number of it.

    >>> set_name("train.csv"), set_name("yes"), set_name("2019")
    ('train.csv', "'yes'", "'2019'")
    """
    plain = name.strip().lower()
    is_number = bool(plain) and not set(plain) - set("0123456789.,+-")
    return f"'{name}'" if plain in _WORDS or is_number else name


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names with commas and an "and"; how many more there are."""
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
