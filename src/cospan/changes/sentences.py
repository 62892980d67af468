"""What changed in one column, or in one pair, as a sentence with numbers in the user's units."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from cospan._language import later, say
from cospan._numbers import correlations, exact_number, number, pair_of, share_text, shares_text

from . import wording
from .columns import FeatureChange
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
        return say("{name} {did}", name=name, did=self.text) if self.of_column else self.text


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
        text = later("{name} changed, most of all at {at}.")
        return say(text if one.level else "{name} changed.", name=name, at=quoted(one.level))
    first, *more = (_WRITERS.get(way, _mean)(_meant(one, way), names) for way in _ordered(one))
    said, otherwise = first.whole(name), one.others is not None
    for clause in (part._replace(text=part.further or part.text) for part in more):
        if first.of_column and clause.of_column:  # one subject for both
            link = later("{said}; otherwise it {did}") if otherwise else later("{said}, and {did}")
            said, otherwise = say(link, said=said, did=clause.text), False
        else:
            said = say("{said}; {more}", said=said, more=clause.whole(name))
    return said if [first, *more][-1].asks else say("{said}.", said=said)


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
    return say("{said}.", said=_pair(pair, names))


def _pair(pair: PairChange, names: tuple[str, str]) -> str:
    r_a, r_b = correlations(pair.r_a, pair.r_b)
    x, y, related = quoted(pair.first), quoted(pair.second), _relation(pair)
    text = later("{x} and {y} {related}: rank correlation {r_a} in {a}, {r_b} in {b}")
    return say(text, x=x, y=y, related=related, r_a=r_a, r_b=r_b, a=names[0], b=names[1])


def _relation(pair: PairChange) -> str:
    a, b = pair.r_a, pair.r_b
    if max(abs(a), abs(b)) < 0.1:
        return say("hardly go together, and differently")
    if a * b < 0 and min(abs(a), abs(b)) >= 0.1:
        return say("are related the other way round")
    if abs(b) < 0.1:
        return say("no longer go together")
    if abs(a) < 0.1:
        return say("now go together")
    return say("go together less closely" if abs(b) < abs(a) else "go together more closely")


def _mean(one: FeatureChange, names: tuple[str, str]) -> Clause:
    a, b = one.a.mean, one.b.mean
    before, after = pair_of(a, b)
    if one.kind in ("date", "duration"):
        before, after = (wording.value_text(x, one.kind) for x in (a, b))
    known = {"x": before, "y": after, "a": names[0], "b": names[1]}
    if one.kind == "date":
        text = later("is later on average: {x} in {a}, {y} in {b}")
        return Clause(
            say(text if b > a else "is earlier on average: {x} in {a}, {y} in {b}", **known)
        )
    moved = say("rose from {x} to {y}" if b > a else "fell from {x} to {y}", **known)
    if math.isfinite(one.difference):
        moved = say("{moved}, {sd} sd", moved=moved, sd=number(abs(one.difference), 2))
    return Clause(moved)


def _spread(one: FeatureChange, names: tuple[str, str]) -> Clause:
    a, b = one.a.deviation, one.b.deviation
    if a == 0 or b == 0:
        where, held = (names[0], one.a) if a == 0 else (names[1], one.b)
        if not math.isfinite(held.low):
            return Clause(say("does not vary in {where}", where=where))
        value = wording.exact_text(held.low, one.kind)
        return Clause(say("does not vary in {where} (always {value})", where=where, value=value))
    before, after = pair_of(a, b)
    times = number(b / a, 2 if abs(b / a - 1) >= 0.1 else 3)
    known = {"times": times, "before": before, "after": after, "a": names[0], "b": names[1]}
    text = later("spreads {times} times as wide in {b} as in {a} (sd {before} and {after})")
    # From A to B was said by then.
    further = later("spreads {times} times as wide (sd {before} and {after})")
    return Clause(say(text, **known), further=say(further, **known))


def _shape(one: FeatureChange, names: tuple[str, str]) -> Clause:
    at, a, b = one.farthest
    if not math.isfinite(at):
        return Clause(say("is distributed differently"))
    text = later("is distributed differently: it is at most {value} in {rows}")
    rows = shares_of(shares_text(a, b), names, _rows(one))
    return Clause(say(text, value=wording.value_text(at, one.kind), rows=rows))


def _spike(one: FeatureChange, names: tuple[str, str]) -> Clause:
    found = one.spike
    assert found is not None
    value = wording.exact_text(found.value, one.kind)
    first, rows = int(found.a == 0), _rows(one)
    shares, other = list(shares_text(found.a, found.b)), 1 - first
    if never := (found.a, found.b)[other] == 0:
        shares[other] = say("never" if found.counted[other] else "hardly ever")
    both = (shares[0], shares[1])
    return _is(value, shares_of(both, names, rows, first=first, never=never))


def _is(value: str, rows: str) -> Clause:
    return Clause(say("is {value} in {rows}", value=value, rows=rows))


def _grain(one: FeatureChange, names: tuple[str, str]) -> Clause:
    found, of = one.grain, _rows(one)
    assert found is not None
    more = int(found.b > found.a)
    shares = (_grain_share(found, 0), _grain_share(found, 1))
    unit = exact_number(found.value)
    what = say("a multiple of {unit}" if found.value != 1 else "a whole number", unit=unit)
    if max(found.a, found.b) < SURELY_ROUNDED:
        return _is(what, shares_of(shares, names, of))
    rows = shares_of(shares, names, of, first=more)
    if (found.a, found.b)[more] == 1 and found.counted[more]:
        text = later("every row of {here}, in {share} of {others}")
        text = text if of == ROWS else later("every known value of {here}, in {share} of {others}")
        others = wording.rows_of(names[1 - more], of)
        rows = say(text, here=names[more], share=shares[1 - more], others=others)
    sizes = sorted((one.a.deviation, one.b.deviation))
    scaled = sizes[1] > OTHER_SCALE * sizes[0] and abs(one.b.mean - one.a.mean) > found.value
    if not more or scaled:
        return _is(what, rows)
    return Clause(say("is {value} in {rows}: rounded?", value=what, rows=rows), asks=True)


def _grain_share(found: Frequency, side: int) -> str:
    """Of a sample nothing is said to be in all rows or in none."""
    share = (found.a, found.b)[side]
    if share in (0, 1) and not found.counted[side]:
        return say("less than 1 %" if share == 0 else "more than 99 %")
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
    starts = say("In {name}", name=name), say("in {name}", name=name)
    first, further = (_levels_moved(one, names, where) for where in starts)
    return Clause(first, False, further)


def _levels_moved(one: FeatureChange, names: tuple[str, str], where: str) -> str:
    a, b, level = one.a.levels, one.b.levels, one.level
    gone, new = (
        sorted((x for x in own if own[x] > 0 and not other.get(x)), key=lambda x: -own[x])
        for own, other in ((a, b), (b, a))
    )
    if same := in_other_case(one.a.counts or a, one.b.counts or b):
        text = later("{where} the levels are in another case: {x} in {a}, {y} in {b}")
        x, y = (wording.listed(levels, GONE_LEVELS) for levels in zip(*same, strict=True))
        return say(text, where=where, x=x, y=y, a=names[0], b=names[1])
    text = later("{where} the share of {level} fell from {x} to {y}")
    if b.get(level, 0.0) > a[level]:
        text = later("{where} the share of {level} rose from {x} to {y}")
    x, y = shares_text(a[level], b.get(level, 0.0))
    said = say(text, where=where, level=quoted(level), x=x, y=y)
    for levels, text, many in (
        (gone, later("{said}; {levels} is gone"), later("{said}; {levels} are gone")),
        (new, later("{said}; {levels} is new"), later("{said}; {levels} are new")),
    ):
        if found := [x for x in levels if x != level]:
            which = wording.listed(found, GONE_LEVELS)
            said = say(many if len(found) > 1 else text, said=said, levels=which)
    return said


def _missing(one: FeatureChange, names: tuple[str, str]) -> Clause:
    shares = shares_text(one.a.missing, one.b.missing)
    return Clause(say("is missing in {rows}", rows=shares_of(shares, names)))


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
