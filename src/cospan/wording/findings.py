"""Findings become sentences: one short sentence a finding.

A sentence is in the user's units and has the one number that matters, or what it was and what it
is. Sets are called by their names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from cospan.base.text import (
    correlations,
    cut_middle,
    exact_number,
    listed,
    number,
    pair_of,
    plural,
    quoted,
    set_name,
    share_text,
    shares_text,
)
from cospan.evidence import IN_BOTH, OTHER, SQUARE, Finding, Verdict

#: Findings on columns that are not the same in both sets.
SCHEMA = ("only in", "renamed", "retyped", "lacking", "absurd")

#: Kinds of columns that have shares, and those whose values are not plain numbers.
SHARED, TIMES = ("category", "boolean"), ("date", "time of day", "duration")
#: The share of values outside the other set's range from which on that is said.
PARTLY = 0.05
#: Endings of files, which nobody says.
_ENDING = re.compile(
    r"(\.(csv|tsv|txt|parquet|pq|arrow|feather|ipc|jsonl?|ndjson|xlsx?|npy|npz|zip|gz|bz2|xz|zst))+$",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Pair: TypeAlias = tuple[str, str]  # of sets' names


def set_names(sets: Sequence[str]) -> tuple[str, ...]:
    """What sets are called in sentences: as beside a chart, quoted where they read as a word."""
    return tuple(map(set_name, set_labels(sets)))


def set_labels(sets: Sequence[str]) -> tuple[str, ...]:
    """What sets are called: files without their endings, long names cut in the middle.

    >>> set_labels(("data/june.csv.gz", "july.parquet")), set_labels(("x.csv", "x.parquet"))
    (('june', 'july'), ('x.csv', 'x.parquet'))
    """
    plain = [name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name for name in sets]
    stems = [_ENDING.sub("", name) for name in plain]
    for shorter in (stems, plain):
        if len(set(shorter)) == len(sets) and all(shorter):
            return tuple(map(cut_middle, shorter))
    return tuple(sets)


def sentence(one: Finding, sets: Sequence[str]) -> str:
    """One sentence on a finding.

    >>> one = Finding("mean", "tenure", a=32.4, b=45.1, effect=0.5)
    >>> sentence(one, ("January", "July"))
    'tenure rose from 32.4 to 45.1.'
    """
    a, b = set_names(sets)
    writer = _WRITERS[one.kind]
    text = writer.format_map(_parts(one, (a, b))) if isinstance(writer, str) else (
        writer(one, (a, b), one.of)
    )  # fmt: skip
    if one.where is not None and one.kind != "inside":
        text += f", but only where {quoted(one.where[0])} = {quoted(one.where[1])}"
    first = text.startswith((f"{quoted(one.column)} ", f"{quoted(one.second)} "))
    return f"{text if first else text[:1].upper() + text[1:]}."


def finding_sentences(verdict: Verdict, findings: Iterable[Finding]) -> list[str]:
    """One sentence on each of some findings of a verdict."""
    return [sentence(one, verdict.sets) for one in findings]


def _parts(one: Finding, sets: Pair) -> dict[str, str]:
    """What the plainest sentences are made of."""
    up = one.b > one.a
    x, y = shares_text(one.a, one.b)
    second = quoted(one.second) if one.second else "the other columns"
    names = quoted(one.column), second
    return {
        "name": names[0], "second": second, "low": min(names), "high": max(names),
        "a": sets[0], "b": sets[1], "x": x, "y": y, "detail": one.detail,
        "more": sets[up], "most": y if up else x, "less": "less" if up else "more",
        "levels": listed(one.levels), "first": "".join(one.levels[:1]),
        "last": "".join(one.levels[-1:]), "rows": plural(one.rows, "row"),
        "are": "is" if one.rows == 1 else "are",
    }  # fmt: skip


def _moved(one: Finding) -> str:
    return "rose" if one.b > one.a else "fell"


def _moved_from(one: Finding, kind: str) -> str:
    """What the average was and is, in the units of the column."""
    x, y = pair_of(one.a, one.b)
    moved = "moved" if kind in ("date", "time of day") else _moved(one)
    if kind in TIMES:
        x, y = (value_text(v, kind) for v in (one.a, one.b))
    return f"{quoted(one.column)} {moved} from {x} to {y}"


def _share(one: Finding, what: str, sets: Pair) -> str:
    """What holds for a share of the rows of B, and what share it was in A."""
    x, y = shares_text(one.a, one.b)
    here, there, share = (*sets, x) if one.b == 0 else (sets[1], sets[0], y)
    text = f"{what} in {'all' if share == '100%' else share} of {here}"
    if one.a == 0 or one.b == 0:
        return f"{text}, never in {there}"
    return f"{text}, {'up' if one.b > one.a else 'down'} from {x}"


def _mean(one: Finding, sets: Pair, kind: str) -> str:
    if one.detail:
        factor = float(one.detail)
        times = number(max(factor, 1 / factor), 2)
        size = "large" if factor > 1 else "small"
        return f"{quoted(one.column)} is {times} times as {size} throughout in {sets[1]}"
    text = _moved_from(one, kind)
    if one.beyond < PARTLY or math.isnan(one.beyond):
        return text
    return f"{text}, {'mostly' if one.beyond > 0.5 else 'partly'} beyond the range of {sets[0]}"


def _spread(one: Finding, sets: Pair, kind: str) -> str:
    name = quoted(one.column)
    if one.a == 0 or one.b == 0:
        return f"{name} does not vary in {sets[0] if one.a == 0 else sets[1]}"
    if one.b >= 2 * one.a:
        return f"{name} varies {number(one.b / one.a, 2)} times as much in {sets[1]}"
    change, more = share_text(abs(one.b / one.a - 1)), "more" if one.b > one.a else "less"
    return f"{name} varies {change} {more} in {sets[1]}"


def _shape(one: Finding, sets: Pair, kind: str) -> str:
    if one.beyond > 0 and one.beyond >= abs(one.b - one.a) / 2:  # else the lesser part of it
        share = share_text(one.beyond)
        return f"{quoted(one.column)} is outside the range of {sets[0]} in {share} of {sets[1]}"
    side = "up to"
    if one.a + one.b > 1:  # the smaller part is easier to picture
        side = "after" if kind in ("date", "time of day") else "above"
        one = replace(one, a=1 - one.a, b=1 - one.b)
    x, y = shares_text(one.a, one.b)
    value = value_text(float(one.detail), kind)
    return f"rows with {quoted(one.column)} {side} {value} {_moved(one)} from {x} to {y}"


def _level(one: Finding, sets: Pair, kind: str) -> str:
    name, level = quoted(one.column), quoted(one.detail)
    if one.detail != OTHER and (one.a == 0 or one.b == 0):
        return _share(one, f"{name} is {'a ' if one.part else ''}{level}", sets)
    x, y = shares_text(one.a, one.b)
    what = f"{level}s in {name}" if one.part else f"{name} = {level}"
    what = f"rare values of {name}" if one.detail == OTHER else what
    return f"{what} {_moved(one)} from {x} to {y}"


def _value(one: Finding, sets: Pair, kind: str) -> str:
    value = float(one.detail)
    named = value_text(value, kind) if kind != "number" else exact_number(value)
    return _share(one, f"{quoted(one.column)} is exactly {named}", sets)


def _rounding(one: Finding, sets: Pair, kind: str) -> str:
    what = f"is a multiple of {one.detail}"
    if one.detail == "1":
        what = "has no time of day" if kind == "date" else "is a whole number"
    return _share(one, f"{quoted(one.column)} {what}", sets)


def _text(one: Finding, sets: Pair, kind: str) -> str:
    name, (x, y) = quoted(one.column), pair_of(one.a, one.b)
    if x == y:
        return f"{name} is written differently in {sets[1]} ({one.part})"
    more = "more" if one.b > one.a else "fewer"
    what = "characters" if one.part == "length" else one.part
    return f"{name} has {more} {what} in {sets[1]}: {y} on average, {x} in {sets[0]}"


def _given(one: Finding, sets: Pair, kind: str) -> str:
    given = f"for the same {quoted(one.second)}" if one.second else "given the other columns"
    if kind in ("category", "boolean"):
        return f"{given}, {quoted(one.column)} has other values in {sets[1]}"
    apart, up = abs(one.b - one.a), one.b > one.a
    step = step_text(apart, kind)
    words = ("later", "earlier") if kind in ("date", "time of day") else ("higher", "lower")
    return f"{given}, {quoted(one.column)} is {step} {words[0] if up else words[1]} in {sets[1]}"


def _relation(one: Finding, sets: Pair, kind: str) -> str:
    pair = f"{quoted(one.column)} and {quoted(one.second)}"
    if one.detail == SQUARE:
        more = "stronger" if abs(one.b) > abs(one.a) else "weaker"
        return f"the curved relation of {pair} is {more} in {sets[1]}"
    if one.detail == "equal":
        return _share(one, f"{quoted(one.column)} equals {quoted(one.second)}", sets)
    x, y = correlations(one.a, one.b)
    ends = ((one.column, one.part), (one.second, one.detail))
    words = {"": "{}", "missing": "gaps in {}"}
    first, second = (words.get(x, "{} = {}").format(quoted(c), quoted(x)) for c, x in ends)
    if x == y:
        return f"the relation of {first} and {second} changed"
    moved = _moved(one) if min(one.a, one.b) > -0.005 else "went"  # -0.00 is 0.00
    return f"the correlation of {first} and {second} {moved} from {x} to {y}"


def _inside(one: Finding, sets: Pair, kind: str) -> str:
    where = f"where {quoted(one.second)} = {quoted(one.detail)}"
    if one.part == "spread":
        return f"{where}, {_spread(one, sets, kind)}"
    return f"{where}, {_moved_from(one, kind)}"


def _repeated(one: Finding, sets: Pair, kind: str) -> str:
    where = {"within A": sets[0], "within B": sets[1]}.get(one.detail)
    rows = plural(round(one.a), "row")
    are, repeat = ("is", "repeats") if one.a == 1 else ("are", "repeat")
    if where is None:
        return f"{rows} of {sets[1]} {are} also in {sets[0]}"
    return f"{rows} of {where} {repeat} an earlier row"


def _absurd(one: Finding, sets: Pair, kind: str) -> str:
    if one.detail:  # what reading found says it already, and counts nothing here
        return one.detail
    values = plural(round(one.b), "infinite or absurd value")
    return f"{quoted(one.column)} has {values} in {sets[1]}, counted as missing"


def _constant(one: Finding, sets: Pair, kind: str) -> str:
    if one.detail == IN_BOTH:
        return f"{quoted(one.column)} is {exact_number(one.a)} in every row"
    return f"{quoted(one.column)} does not vary in {sets[one.detail == 'in B']}"


def _outlying(one: Finding, sets: Pair, kind: str) -> str:
    own, other = sets if one.detail == "in A" else sets[::-1]
    end = f"in {other} it is at {'least' if one.a < one.b else 'most'} {value_text(one.b, kind)}"
    return f"{quoted(one.column)} is {value_text(one.a, kind)} in {one.rows:,} rows of {own}; {end}"


def _times(one: Finding, sets: Pair, kind: str) -> str:
    x, y = (value_text(day, "date") for day in sorted((one.a, one.b)))
    first, second = sets if one.a <= one.b else sets[::-1]
    ends = f"ends on {x} in {first} and begins on {y} in {second}"
    return f"{quoted(one.column)} {ends}: it is not compared"


_OWN_LEVELS = "{name} has values in {%s} that {%s} does not have: {levels} ({%s} of the rows)"
_WRITERS: dict[str, str | Callable[[Finding, Pair, str], str]] = {
    **dict.fromkeys(SCHEMA, "{detail}"),  # the data room says how
    "mean": _mean,
    "spread": _spread,
    "shape": _shape,
    "level": _level,
    "value": _value,
    "missing": lambda one, sets, kind: _share(one, f"{quoted(one.column)} is missing", sets),
    "rounding": _rounding,
    "text": _text,
    "absurd": _absurd,
    "given": _given,
    "scatter": "{name} follows {second} {less} closely in {b}",
    "identity": "{name} follows from the other columns, but not in {most} of {more}",
    "relation": _relation,
    "inside": _inside,
    "copy": "{name} is a copy of {second} in {more}",
    "swap": "{low} and {high} look swapped in {b}",
    "repeated rows": _repeated,
    "new levels": _OWN_LEVELS % ("b", "a", "y"),
    "vanished levels": _OWN_LEVELS % ("a", "b", "x"),
    "constant": _constant,
    "outlying": _outlying,
    "writing": "{name} is written as {first} in {a} and as {last} in {b}",
    "times": _times,
    "no data": "there is no data in {b}, where data was due",
    "far": "{rows} of {b} {are} far outside all other times",
    "repeated window": "{b} has the same rows as {detail}",
}


def step_text(step: float, kind: str) -> str:
    """How far a column moved, in its units: of times a duration.

    >>> step_text(1.5, "time of day"), step_text(1.5, "date"), step_text(1.5, "number")
    ('1.5 h', '1.5 d', '1.5')
    """
    if kind in TIMES:
        return value_text(step / (24 if kind == "time of day" else 1), "duration")
    return number(float(f"{step:.2g}"))


def value_text(value: float, kind: str) -> str:
    """A value of a column: days as dates, hours as times of day, numbers in few digits.

    >>> value_text(19723.0, "date"), value_text(13.5, "time of day"), value_text(0.25, "duration")
    ('2024-01-01', '13:30', '6 h')
    """
    if not math.isfinite(value):
        return number(value)
    if kind == "date":
        try:
            moment = _EPOCH + timedelta(days=value)
        except OverflowError:
            return number(value)
        return f"{moment:%Y-%m-%d}" if abs(value) >= 1 else f"{moment:%Y-%m-%d %H:%M}"
    if kind == "time of day":
        minutes = round(60 * value) % 1440
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if kind == "duration":
        for unit, days in (("d", 1.0), ("h", 1 / 24), ("min", 1 / 1440)):
            if abs(value) >= days:
                return f"{number(value / days, 2)} {unit}"
        return f"{number(86400 * value, 2)} s"
    return number(value)
