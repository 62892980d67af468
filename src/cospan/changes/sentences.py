"""What changed in one column, or in one pair, as a sentence with numbers in the user's units."""

from __future__ import annotations

import math

from .columns import FeatureChange
from .pairs import PairChange
from .wording import correlations, listed, number, pair_of, quoted, share_text, value_text

__all__ = ["feature_sentence", "pair_sentence"]

GONE_LEVELS = 3


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
    first, *more = (_WRITERS.get(way, _mean)(one, names) for way in one.ways)
    name = f"{quoted(one.name)} "
    # One subject for both, unless the first clause is about something else or has a list.
    joined = first.startswith(name) and one.ways[0] != "relation"
    # From A to B was said by then.
    more = [clause.replace(f" in {names[1]} as in {names[0]} (sd", " (sd") for clause in more]
    for clause in more:
        first += f", and {clause.removeprefix(name)}" if joined else f"; {_within(clause)}"
    return f"{first}."


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
        where = names[0] if a == 0 else names[1]
        return f"{quoted(one.name)} does not vary in {where}"
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
        f"in {share_text(a)} of {names[0]}'s {_rows(one)} and {share_text(b)} of {names[1]}'s"
    )


def _rows(one: FeatureChange) -> str:
    """What shares are of: rows with a value."""
    return "known values" if max(one.a.missing, one.b.missing) > 0 else "rows"


def _levels(one: FeatureChange, names: tuple[str, str]) -> str:
    if one.kind == "boolean":
        before, after = share_text(one.a.mean), share_text(one.b.mean)
        rows = f"{before} of {names[0]}'s {_rows(one)} and {after} of {names[1]}'s"
        return f"{quoted(one.name)} is {quoted(one.level or 'true')} in {rows}"
    a, b = one.a.levels, one.b.levels
    level = one.level
    if level not in a:
        return f"The levels of {quoted(one.name)} changed"
    moved = "rose" if b.get(level, 0.0) > a[level] else "fell"
    text = (
        f"In {quoted(one.name)} the share of {quoted(level)} {moved} from {share_text(a[level])} "
        f"to {share_text(b.get(level, 0.0))}"
    )
    for left, right, word in ((a, b, "gone"), (b, a, "new")):
        found = [x for x, share in left.items() if share > 0 and not right.get(x) and x != level]
        found.sort(key=lambda x: -left[x])
        if found:
            text += f"; {listed(found, GONE_LEVELS)} {'are' if len(found) > 1 else 'is'} {word}"
    return text


def _missing(one: FeatureChange, names: tuple[str, str]) -> str:
    a, b = share_text(one.a.missing), share_text(one.b.missing)
    return f"{quoted(one.name)} is missing in {a} of {names[0]}'s rows and {b} of {names[1]}'s"


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
    "levels": _levels,
    "missing": _missing,
    "relation": _related,
}
