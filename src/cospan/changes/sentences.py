"""What changed in one column, or in one pair, as a sentence with numbers in the user's units."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from cospan._numbers import correlations, exact_number, number, pair_of, share_text, shares_text

from . import wording
from .columns import FeatureChange
from .measuring import step_of
from .pairs import PairChange
from .repeats import Frequency
from .wording import KNOWN, ROWS, quoted, shares_of
from .writing import in_other_case

__all__ = ["feature_sentence", "pair_sentence"]


GONE_LEVELS = 3
#: Values of which so many are multiples of a unit look rounded to it.
SURELY_ROUNDED = 0.9
#: Values that spread so many times as wide have another unit, and other digits by that, if their
#: mean moved by more than rounding could.
OTHER_SCALE = 2.0


class Clause(NamedTuple):
    """One thing that changed: what the column did, or in words of its own (not `of_column`)."""

    text: str
    of_column: bool = True
    further: str = ""  # the same after another clause, where that is put differently
    asks: bool = False

    def whole(self, name: str) -> str:
        """With its subject."""
        return f"{name} {self.text}" if self.of_column else self.text


def feature_sentence(one: FeatureChange, names: tuple[str, str]) -> str:
    """One sentence on a column that changed.

    >>> from cospan.changes import FeatureChange, feature_sentence
    >>> from cospan.changes.measuring import Held
    >>> a, b = Held(mean=32.4, deviation=24.6), Held(mean=45.1, deviation=24.4)
    >>> ways = ("mean",)
    >>> one = FeatureChange("tenure", "number", ways, True, 1e-9, 1e-8, 0.52, 0.2, a, b, 0.1, 0.9)
    >>> feature_sentence(one, ("A", "B"))
    'tenure rose from 32.4 to 45.1, 0.52 sd.'
    """
    name = quoted(one.name)
    if one.kind == "vector":
        text = "{name} changed, most of all at {at}."
        return (text if one.level else "{name} changed.").format(name=name, at=quoted(one.level))
    first, *more = (_WRITERS.get(way, _mean)(_meant(one, way), names) for way in _ordered(one))
    said, otherwise = first.whole(name), one.others is not None
    for clause in (part._replace(text=part.further or part.text) for part in more):
        if first.of_column and clause.of_column:  # one subject for both
            link = "{said}; otherwise it {did}" if otherwise else "{said}, and {did}"
            said, otherwise = link.format(said=said, did=clause.text), False
        else:
            said = f"{said}; {clause.whole(name)}"
    return said if [first, *more][-1].asks else f"{said}."


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


def pair_sentence(pair: PairChange, names: tuple[str, str]) -> str:
    """One sentence on a relation that changed."""
    return f"{_pair(pair, names)}."


def _pair(pair: PairChange, names: tuple[str, str]) -> str:
    r_a, r_b = correlations(pair.r_a, pair.r_b)
    x, y, related = quoted(pair.first), quoted(pair.second), _relation(pair)
    return f"{x} and {y} {related}: rank correlation {r_a} in {names[0]}, {r_b} in {names[1]}"


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


def _mean(one: FeatureChange, names: tuple[str, str]) -> Clause:
    a, b = one.a.mean, one.b.mean
    before, after = pair_of(a, b)
    if one.kind in ("date", "time of day", "duration"):
        before, after = (wording.value_text(x, one.kind) for x in (a, b))
    known = {"x": before, "y": after, "a": names[0], "b": names[1]}
    if one.kind == "date":
        text = "is later on average: {x} in {a}, {y} in {b}"
        return Clause(
            (text if b > a else "is earlier on average: {x} in {a}, {y} in {b}").format(**known)
        )
    if one.kind == "time of day":
        step = step_of(one.kind, a, b)
        text = (
            "is {step} later on average: {x} in {a}, {y} in {b}"
            if step > 0
            else "is {step} earlier on average: {x} in {a}, {y} in {b}"
        )
        return Clause(text.format(step=wording.value_text(abs(step) / 24, "duration"), **known))
    moved = ("rose from {x} to {y}" if b > a else "fell from {x} to {y}").format(**known)
    if math.isfinite(one.difference):
        moved = f"{moved}, {number(abs(one.difference), 2)} sd"
    return Clause(moved)


def _spread(one: FeatureChange, names: tuple[str, str]) -> Clause:
    a, b = one.a.deviation, one.b.deviation
    if a == 0 or b == 0:
        where, held = (names[0], one.a) if a == 0 else (names[1], one.b)
        if not math.isfinite(held.low):
            return Clause(f"does not vary in {where}")
        value = wording.exact_text(held.low, one.kind)
        return Clause(f"does not vary in {where} (always {value})")
    before, after = pair_of(a, b)
    times = number(b / a, 2 if abs(b / a - 1) >= 0.1 else 3)
    known = {"times": times, "before": before, "after": after, "a": names[0], "b": names[1]}
    # From A to B was said by then.
    further = "spreads {times} times as wide (sd {before} and {after})"
    return Clause(
        "spreads {times} times as wide in {b} as in {a} (sd {before} and {after})".format(**known),
        further=further.format(**known),
    )


def _shape(one: FeatureChange, names: tuple[str, str]) -> Clause:
    at, a, b = one.farthest
    if not math.isfinite(at):
        return Clause("is distributed differently")
    rows = shares_of(shares_text(a, b), names, _rows(one))
    return Clause(
        f"is distributed differently: it is at most {wording.value_text(at, one.kind)} in {rows}"
    )


def _spike(one: FeatureChange, names: tuple[str, str]) -> Clause:
    found = one.spike
    assert found is not None
    value = wording.exact_text(found.value, one.kind)
    first, rows = int(found.a == 0), _rows(one)
    shares, other = list(shares_text(found.a, found.b)), 1 - first
    if never := (found.a, found.b)[other] == 0:
        shares[other] = "never" if found.counted[other] else "hardly ever"
    both = (shares[0], shares[1])
    return _is(value, shares_of(both, names, rows, first=first, never=never))


def _is(value: str, rows: str) -> Clause:
    return Clause(f"is {value} in {rows}")


def _grain(one: FeatureChange, names: tuple[str, str]) -> Clause:
    found, of = one.grain, _rows(one)
    assert found is not None
    more = int(found.b > found.a)
    shares = (_grain_share(found, 0), _grain_share(found, 1))
    unit = exact_number(found.value)
    what = ("a multiple of {unit}" if found.value != 1 else "a whole number").format(unit=unit)
    if max(found.a, found.b) < SURELY_ROUNDED:
        return _is(what, shares_of(shares, names, of))
    rows = shares_of(shares, names, of, first=more)
    if (found.a, found.b)[more] == 1 and found.counted[more]:
        text = "every row of {here}, in {share} of {others}"
        text = text if of == ROWS else "every known value of {here}, in {share} of {others}"
        others = wording.rows_of(names[1 - more], of)
        rows = text.format(here=names[more], share=shares[1 - more], others=others)
    sizes = sorted((one.a.deviation, one.b.deviation))
    scaled = sizes[1] > OTHER_SCALE * sizes[0] and abs(one.b.mean - one.a.mean) > found.value
    if not more or scaled:
        return _is(what, rows)
    return Clause(f"is {what} in {rows}: rounded?", asks=True)


def _grain_share(found: Frequency, side: int) -> str:
    """Of a sample nothing is said to be in all rows or in none."""
    share = (found.a, found.b)[side]
    if share in (0, 1) and not found.counted[side]:
        return "less than 1 %" if share == 0 else "more than 99 %"
    return share_text(share)


def _rows(one: FeatureChange) -> str:
    """What shares are of: rows with a value."""
    return KNOWN if max(one.a.missing, one.b.missing) > 0 else ROWS


def _levels(one: FeatureChange, names: tuple[str, str]) -> Clause:
    name, level, a, b = quoted(one.name), one.level, one.a.levels, one.b.levels
    if one.kind == "boolean":
        rows = shares_of(shares_text(one.a.mean, one.b.mean), names, _rows(one))
        return _is(wording.truth(level), rows)
    if one.kind != "category":  # numbers, of which there are two
        rows = shares_of(shares_text(a[level], b[level]), names, _rows(one))
        return _is(level, rows)
    starts = f"In {name}", f"in {name}"
    first, further = (_levels_moved(one, names, where) for where in starts)
    return Clause(first, False, further)


def _levels_moved(one: FeatureChange, names: tuple[str, str], where: str) -> str:
    a, b, level = one.a.levels, one.b.levels, one.level
    gone, new = (
        sorted((x for x in own if own[x] > 0 and not other.get(x)), key=lambda x: -own[x])
        for own, other in ((a, b), (b, a))
    )
    if same := in_other_case(one.a.counts or a, one.b.counts or b):
        text = "{where} the levels are in another case: {x} in {a}, {y} in {b}"
        x, y = (wording.listed(levels, GONE_LEVELS) for levels in zip(*same, strict=True))
        return text.format(where=where, x=x, y=y, a=names[0], b=names[1])
    text = "{where} the share of {level} fell from {x} to {y}"
    if b.get(level, 0.0) > a[level]:
        text = "{where} the share of {level} rose from {x} to {y}"
    x, y = shares_text(a[level], b.get(level, 0.0))
    said = text.format(where=where, level=quoted(level), x=x, y=y)
    for levels, text, many in (
        (gone, "{said}; {levels} is gone", "{said}; {levels} are gone"),
        (new, "{said}; {levels} is new", "{said}; {levels} are new"),
    ):
        if found := [x for x in levels if x != level]:
            which = wording.listed(found, GONE_LEVELS)
            said = (many if len(found) > 1 else text).format(said=said, levels=which)
    return said


def _missing(one: FeatureChange, names: tuple[str, str]) -> Clause:
    shares = shares_text(one.a.missing, one.b.missing)
    return Clause(f"is missing in {shares_of(shares, names)}")


def _related(one: FeatureChange, names: tuple[str, str]) -> Clause:
    if one.broken is not None:
        return Clause(one.broken.sentence(names), one.broken.equal is not None)
    assert one.pair is not None
    return Clause(_pair(one.pair, names), False)


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
