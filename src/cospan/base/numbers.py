"""Numbers for people: one way to round each kind, for sentences, tables and the terminal alike."""

from __future__ import annotations

import math

from cospan.base.tolerance import AS_WRITTEN

__all__ = [
    "chance", "correlations", "count", "exact_number", "number", "p_text", "pair_of", "percent",
    "share_text", "shares_text",
]  # fmt: skip


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
    if size >= 15 or size < -5:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - size)
    rounded = round(value, places)
    text = f"{rounded:,.{places}f}" if abs(rounded) >= 10_000 else f"{rounded:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_number(value: float) -> str:
    """A value that the data has, in full: with the digits that float32 keeps, or all of ten.

    >>> exact_number(-999.0), exact_number(603.7285), exact_number(float(np.float32(0.7)))
    ('-999', '603.7285', '0.7')
    """
    for digits in range(3, 10) if math.isfinite(value) else ():
        text = number(value, digits)
        if abs(float(text.replace(",", "")) - value) <= AS_WRITTEN * abs(value):
            return text
    return number(value, 10)


def pair_of(a: float, b: float, right: int = 2) -> tuple[str, str]:
    """Two numbers, with three digits or more, so that `right` digits of their difference are right.

    >>> pair_of(2016.837, 2017.508), pair_of(12.04, 3.0), pair_of(5.0, 5.0)
    (('2016.84', '2017.51'), ('12', '3'), ('5', '5'))
    """
    apart = abs(a - b)
    places = right - 1 - math.floor(math.log10(apart)) if 0 < apart < math.inf else 0
    sizes = (math.floor(math.log10(abs(x))) if 0 < abs(x) < math.inf else 0 for x in (a, b))
    x, y = (min(max(3, places + size + 1), 10) for size in sizes)
    return number(a, x), number(b, y)


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
        return "more than {share}%".format(share="99.9" if places else "99")
    shown = 0 if share in (0, 1) else places
    return "{share}%".format(share=f"{100 * share:.{shown}f}")


def shares_text(a: float, b: float) -> tuple[str, str]:
    """Two shares, with a decimal where it takes one to tell them apart.

    >>> shares_text(0.12, 0.31), shares_text(0.024, 0.019), shares_text(0.02, 0.02)
    (('12%', '31%'), ('2.4%', '1.9%'), ('2%', '2%'))
    """
    rough, fine = ((share_text(a, places), share_text(b, places)) for places in (0, 1))
    return fine if rough[0] == rough[1] and fine[0] != fine[1] else rough


def percent(share: float) -> str:
    """The same with a decimal, for tables.

    >>> percent(0.98372), percent(0.99999), percent(0.0), percent(0.0001)
    ('98.4%', 'more than 99.9%', '0%', 'less than 0.1%')
    """
    return share_text(share, 1)


def count(n: int) -> str:
    """A whole number.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{n:,}"


def p_text(p: float, least: float = 1e-4) -> str:
    """A p-value; below the least that means anything, or can be found, it is a bound.

    >>> p_text(0.0342), p_text(0.9999), p_text(1e-40), p_text(0.001, least=0.001)
    ('0.034', '1', 'at most 0.0001', 'at most 0.001')
    """
    if p < least or math.isclose(p, least):
        return f"at most {number(least, 1)}"
    return f"{p:.2g}" if p < 0.995 else "1"


def chance(p: float) -> str:
    """A p-value for a sentence.

    >>> chance(0.0342), chance(1e-9)
    ('p = 0.034', 'p at most 0.001')
    """
    text = p_text(p, 0.001)
    return ("p {p}" if p <= 0.001 else "p = {p}").format(p=text)
