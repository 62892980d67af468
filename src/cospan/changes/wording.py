"""Numbers, dates and names as sentences have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cospan._numbers import exact_number, number, pair_of

if TYPE_CHECKING:
    from cospan.significance import Estimate

SHORT = 40
#: The levels of a category without a feature of their own, taken together.
OTHER = "other levels"
#: What shares are of, and two of them: with names that end in an apostrophe, and with no share.
ROWS, KNOWN = "rows", "known values"
_SHARES = {
    (False, False): "{one} of {here}'s {of} and {two} of {there}'s",
    (False, True): "{one} of {here}'s {of} and {two} in {there}'s",
    (True, False): "{one} of the {of} of {here} and {two} of those of {there}",
    (True, True): "{one} of the {of} of {here} and {two} in {there}",
}
Two = tuple[str, str]  # of the two sets
#: Names of sets that a sentence would swallow.
_WORDS = frozenset(
    ("yes", "no", "true", "false", "none", "null", "nan", "na", "other", "others", "rest", "all",
     "both", "neither", "either", "and", "or", "not", "on", "off", "in", "out", "is", "it", "one",
     "two", "some", "any", "same", "more", "less")
)  # fmt: skip


#: Of durations, and how many there are in a day.
_UNITS = (
    ("{n} days", 1),
    ("{n} hours", 24),
    ("{n} minutes", 1440),
    ("{n} seconds", 86_400),
)


def value_text(value: float, kind: str) -> str:
    """A value in the units of the user's: dates as dates.

    >>> value_text(17897.0, "date"), value_text(26.5, "time of day"), value_text(0.5, "duration")
    ('2019-01-01', '2:30', '12 hours')
    """
    if kind == "date" and math.isfinite(value) and abs(value) < 3e6:
        try:
            return (datetime(1970, 1, 1) + timedelta(days=value)).date().isoformat()
        except OverflowError:
            return number(value)
    if kind == "time of day" and math.isfinite(value):
        hours, minutes = divmod(round(60 * value), 60)
        return f"{hours % 24}:{minutes:02}"
    if kind == "duration":
        text, times = next((unit for unit in _UNITS if abs(value) * unit[1] >= 1), _UNITS[0])
        return text.format(n=number(value * times))
    return number(value)


def exact_text(value: float, kind: str) -> str:
    """The same in full."""
    text = exact_number(value) if kind == "number" else value_text(value, kind)
    seconds = round(3600 * value) % 60 if kind == "time of day" else 0
    return f"{value_text(math.floor(60 * value) / 60, kind)}:{seconds:02}" if seconds else text


def rows_of(name: str, what: str = ROWS) -> str:
    """What belongs to a set.

    >>> rows_of("A"), rows_of("'no'")
    ("A's rows", "the rows of 'no'")
    """
    text = "the {what} of {name}" if name[-1:] == "'" else "{name}'s {what}"
    return text.format(what=what, name=name)


def shares_of(shares: Two, names: Two, of: str = ROWS, first: int = 0, never: bool = False) -> str:
    """Two shares of the rows of two sets; a share of the set `first` comes first.

    `never`: the other one is no share but a word for none.

    >>> shares_of(("5 %", "12 %"), ("A", "B"))
    "5 % of A's rows and 12 % of B's"
    >>> shares_of(("never", "5 %"), ("A", "B"), first=1, never=True)
    "5 % of B's rows and never in A's"
    >>> shares_of(("5 %", "12 %"), ("'no'", "'yes'"))
    "5 % of the rows of 'no' and 12 % of those of 'yes'"
    """
    order = (first, 1 - first)
    (one, two), (here, there) = ([x[i] for i in order] for x in (shares, names))
    text = _SHARES["'" in (here[-1:], there[-1:]), never]
    return text.format(one=one, two=two, here=here, there=there, of=of)


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
    low, high = of_hundred(auc.low), of_hundred(auc.high)
    if low == high == f"{100 * auc.low:.0f}" and auc.low < auc.high:
        low, high = pair_of(100 * auc.low, 100 * auc.high, right=1)
    return f"{100 * auc.confidence:.0f} % interval {low} to {high}; by chance 50"


def quoted(name: str) -> str:
    """A name in a sentence: cut where it is long, quoted where it has spaces."""
    line = " ".join(name.split())
    line = line if len(line) <= SHORT else line[: SHORT - 1] + "…"
    return f"'{line}'" if " " in line or not line else line


def truth(word: str, value: bool = True) -> str:
    """A truth value: by the data's word for true, or by ours where it has none."""
    if word in ("", "true"):
        return "true" if value else "false"
    return quoted(word) if value else f"not {quoted(word)}"


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
        return "{names} and {n:,} more".format(names=", ".join(shown), n=len(names) - most)
    if len(shown) < 2:
        return "".join(shown)
    return "{names} and {last}".format(names=", ".join(shown[:-1]), last=shown[-1])
