"""What changed in one column, or in one pair, as a sentence with numbers in the user's units."""

from __future__ import annotations

import math
from dataclasses import replace

from .columns import FeatureChange
from .pairs import PairChange
from .repeats import Frequency
from .wording import (
    correlations,
    exact_number,
    listed,
    number,
    pair_of,
    quoted,
    rows_of,
    share_text,
    shares_of,
    value_text,
)
from .writing import same_but_case

__all__ = ["feature_sentence", "pair_sentence"]


GONE_LEVELS = 3
#: Values of which so many are multiples of a unit look rounded to it.
SURELY_ROUNDED = 0.9


def feature_sentence(one: FeatureChange, names: tuple[str, str]) -> str:
    """One sentence on a column that changed.

    >>> from cospan.changes import FeatureChange, feature_sentence
    >>> from cospan.changes.measuring import Held
    >>> a, b = Held(mean=32.4, deviation=24.6), Held(mean=45.1, deviation=24.4)
    >>> one = FeatureChange("tenure", "number", "mean", True, 1e-9, 1e-8, 0.52, 0.2, a, b, 0.1, 0.9)
    >>> feature_sentence(one, ("A", "B"))
    'tenure rose from 32.4 to 45.1, 0.52 sd.'
    """
    if one.kind == "vector":
        where = f", most of all at {quoted(one.level)}" if one.level else ""
        return f"{quoted(one.name)} changed{where}."
    first, *more = (_WRITERS.get(way, _mean)(_meant(one, way), names) for way in _ordered(one))
    name = f"{quoted(one.name)} "
    # One subject for both, unless the first clause is about something else or has a list.
    joined = first.startswith(name) and one.ways[0] != "relation"
    # From A to B was said by then.
    more = [clause.replace(f" in {names[1]} as in {names[0]} (sd", " (sd") for clause in more]
    else_where = "otherwise it " if one.others is not None else ""
    for clause in more:
        link = f"; {else_where}" if else_where else ", and "
        first += f"{link}{clause.removeprefix(name)}" if joined else f"; {_within(clause)}"
        else_where = ""
    return f"{first}" if first.endswith("?") else f"{first}."


def _ordered(one: FeatureChange) -> list[str]:
    """The ways in the order of the sentence: the question at its end."""
    return sorted(one.ways, key=lambda way: way == "rounding")


def _meant(one: FeatureChange, way: str) -> FeatureChange:
    """Beside a spike the mean and the spread are those of the other rows."""
    if one.others is None or way not in ("mean", "spread"):
        return one
    a, b = one.others
    size = math.sqrt((a.deviation**2 + b.deviation**2) / 2)
    return replace(one, a=a, b=b, difference=(b.mean - a.mean) / size if size else math.nan)


def _within(clause: str) -> str:
    """A clause that goes on with a sentence: without the capital of its first word."""
    starts = ("In ", "The ", "Given ")
    return clause[0].lower() + clause[1:] if clause.startswith(starts) else clause


def pair_sentence(pair: PairChange, names: tuple[str, str]) -> str:
    """One sentence on a relation that changed."""
    r_a, r_b = correlations(pair.r_a, pair.r_b)
    return (
        f"{quoted(pair.first)} and {quoted(pair.second)} {_relation(pair)}: rank correlation "
        f"{r_a} in {names[0]}, {r_b} in {names[1]}."
    )


def _relation(pair: PairChange) -> str:
    a, b = pair.r_a, pair.r_b
    if max(abs(a), abs(b)) < 0.1:
        return "hardly go together, and differently"
    if a * b < 0 and min(abs(a), abs(b)) >= 0.1:
        return "are related the other way round"
    if abs(b) < 0.1:
        return "no longer go together"
    if abs(a) < 0.1:
        return "now go together"
    return "go together less closely" if abs(b) < abs(a) else "go together more closely"


def _mean(one: FeatureChange, names: tuple[str, str]) -> str:
    a, b = one.a.mean, one.b.mean
    if one.kind in ("date", "duration"):
        before, after = value_text(a, one.kind), value_text(b, one.kind)
    else:
        before, after = pair_of(a, b)
    if one.kind == "date":
        when = "later" if b > a else "earlier"
        dates = f"{before} in {names[0]}, {after} in {names[1]}"
        return f"{quoted(one.name)} is {when} on average: {dates}"
    moved = "rose" if b > a else "fell"
    step = f", {number(abs(one.difference), 2)} sd" if math.isfinite(one.difference) else ""
    return f"{quoted(one.name)} {moved} from {before} to {after}{step}"


def _spread(one: FeatureChange, names: tuple[str, str]) -> str:
    a, b = one.a.deviation, one.b.deviation
    if a == 0 or b == 0:
        where, held = (names[0], one.a) if a == 0 else (names[1], one.b)
        always = exact_number(held.low) if one.kind == "number" else value_text(held.low, one.kind)
        said = f" (always {always})" if math.isfinite(held.low) else ""
        return f"{quoted(one.name)} does not vary in {where}{said}"
    before, after = pair_of(a, b)
    times = number(b / a, 2 if abs(b / a - 1) >= 0.1 else 3)
    return (
        f"{quoted(one.name)} spreads {times} times as wide in {names[1]} as in {names[0]} "
        f"(sd {before} and {after})"
    )


def _shape(one: FeatureChange, names: tuple[str, str]) -> str:
    at, a, b = one.farthest
    if not math.isfinite(at):
        return f"{quoted(one.name)} is distributed differently"
    return (
        f"{quoted(one.name)} is distributed differently: it is at most {value_text(at, one.kind)} "
        f"in {shares_of((share_text(a), share_text(b)), names, _rows(one))}"
    )


def _spike(one: FeatureChange, names: tuple[str, str]) -> str:
    found = one.spike
    if found is None:
        return f"Single values of {quoted(one.name)} changed"
    value = value_text(found.value, one.kind) if one.kind != "number" else exact_number(found.value)
    shares = [share_text(share) for share in (found.a, found.b)]
    for i, share in enumerate((found.a, found.b)):
        if share == 0:
            shares[i] = "never" if found.counted[i] else "hardly ever"
    rows = shares_of((shares[0], shares[1]), names, _rows(one), first=int(found.a == 0))
    return f"{quoted(one.name)} is {value} in {rows}"


def _grain(one: FeatureChange, names: tuple[str, str]) -> str:
    found = one.grain
    if found is None:
        return f"{quoted(one.name)} is rounded differently"
    more = int(found.b > found.a)
    shares = [_grain_share(found, i) for i in (0, 1)]
    unit = exact_number(found.value)
    what = "a whole number" if unit == "1" else f"a multiple of {unit}"
    text = f"{quoted(one.name)} is {what} in "
    if max(found.a, found.b) < SURELY_ROUNDED:
        return text + shares_of((shares[0], shares[1]), names, _rows(one))
    asked = ": rounded?" if more else ""
    if shares[more] != "100 %":
        rows = shares_of((shares[0], shares[1]), names, _rows(one), first=more)
        return f"{text}{rows}{asked}"
    row = _rows(one).removesuffix("s")
    others = f"{shares[1 - more]} of {rows_of(names[1 - more], _rows(one))}"
    return f"{text}every {row} of {names[more]}, in {others}{asked}"


def _grain_share(found: Frequency, side: int) -> str:
    """Of a sample nothing is said to be in all rows or in none."""
    share = (found.a, found.b)[side]
    if share in (0, 1) and not found.counted[side]:
        return "less than 1 %" if share == 0 else "more than 99 %"
    return share_text(share)


def _rows(one: FeatureChange) -> str:
    """What shares are of: rows with a value."""
    return "known values" if max(one.a.missing, one.b.missing) > 0 else "rows"


def _levels(one: FeatureChange, names: tuple[str, str]) -> str:
    if one.kind == "boolean":
        before, after = share_text(one.a.mean), share_text(one.b.mean)
        rows = shares_of((before, after), names, _rows(one))
        return f"{quoted(one.name)} is {quoted(one.level or 'true')} in {rows}"
    a, b = one.a.levels, one.b.levels
    level = one.level
    if one.kind != "category" and level in a:  # numbers, of which there are two
        rows = shares_of((share_text(a[level]), share_text(b[level])), names, _rows(one))
        return f"{quoted(one.name)} is {level} in {rows}"
    if level not in a:
        return f"The levels of {quoted(one.name)} changed"
    gone, new = (
        sorted((x for x in own if own[x] > 0 and not other.get(x)), key=lambda x: -own[x])
        for own, other in ((a, b), (b, a))
    )
    if gone and same_but_case(gone, new):
        shown = [f"{listed(x, GONE_LEVELS)} in {names[i]}" for i, x in enumerate((gone, new))]
        return f"In {quoted(one.name)} the levels are in another case: {shown[0]}, {shown[1]}"
    moved = "rose" if b.get(level, 0.0) > a[level] else "fell"
    text = (
        f"In {quoted(one.name)} the share of {quoted(level)} {moved} from {share_text(a[level])} "
        f"to {share_text(b.get(level, 0.0))}"
    )
    for levels, word in ((gone, "gone"), (new, "new")):
        found = [x for x in levels if x != level]
        if found:
            text += f"; {listed(found, GONE_LEVELS)} {'are' if len(found) > 1 else 'is'} {word}"
    return text


def _missing(one: FeatureChange, names: tuple[str, str]) -> str:
    shares = share_text(one.a.missing), share_text(one.b.missing)
    return f"{quoted(one.name)} is missing in {shares_of(shares, names)}"


def _related(one: FeatureChange, names: tuple[str, str]) -> str:
    if one.broken is not None:
        return one.broken.sentence(names)
    if one.pair is None:
        return f"The relation of {quoted(one.name)} to other columns changed"
    return pair_sentence(one.pair, names)[:-1]


_WRITERS = {
    "mean": _mean,
    "spread": _spread,
    "shape": _shape,
    "value": _spike,
    "rounding": _grain,
    "levels": _levels,
    "missing": _missing,
    "relation": _related,
}
