"""An encoding plan in words: a line for each column, or a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cospan._language import either, later, say, translated
from cospan._surface import option
from cospan._warnings import Remark

if TYPE_CHECKING:
    from .plan import ColumnPlan, EncodingPlan

#: The reason of a column that the user left out: nobody needs a note.
DROPPED = "as asked"
#: The reason of a column that no option could take, and of one whose values cannot be read.
EMPTY, MIXED = later("it has no values"), later("Python objects of several kinds")
SHOWN_LEVELS = 6
SHOWN_COLUMNS = 8
#: The kinds of columns, one and several.
PLURALS = {
    later("number"): later("numbers"),
    later("boolean"): later("booleans"),
    later("category"): later("categories"),
    later("date"): later("dates"),
    later("duration"): later("durations"),
    later("vector"): later("vectors"),
}
UNITS = {"date": "days since 1970", "duration": "days"}


def plan_lines(plan: EncodingPlan) -> list[str]:
    """One line for each of the user's columns, names aligned."""
    width = min(28, max((len(column.name) for column in plan.columns), default=0))
    return [f"{column.name:<{width}}  {_described(column, plan)}" for column in plan.columns]


def plan_notes(plan: EncodingPlan) -> list[str]:
    """What a reader of a result should know of the encoding, a sentence for each matter."""
    notes: list[str] = []
    counts = []
    for kind, kinds in PLURALS.items():
        if names := [column.name for column in plan.used if column.kind == kind]:
            said = f"{len(names)} {say(kinds if len(names) > 1 else kind)}"
            counts.append(said if kind in ("number", "vector") else f"{said} ({_named(names)})")
    if plan.n_features > len(plan.used) or any(column.kind != "number" for column in plan.used):
        text = later("{n} columns became {features:,} features: {kinds}.")
        known = {"n": len(plan.used), "features": plan.n_features, "kinds": ", ".join(counts)}
        notes.append(Remark("encoding", say(text, **known)))
    gaps = [column for column in plan.used if column.indicator]
    if gaps:
        where = f"{gaps[0].indicator_name!r}{', …' if len(gaps) > 1 else ''}"
        text = either(
            len(gaps) == len(plan.used),  # as profiles have it, whether or not any is missing
            "Where a value is missing, a mean stands in for it; {where} says where.",
            "Missing values in {columns} are filled by the mean of the sets' means; {where} says "
            "where.",
        )
        said = say(text, columns=_named([column.name for column in gaps]), where=where)
        notes.append(Remark("missing values", said))
    times, many = [column.name for column in plan.times], len(plan.times) > 1
    if times:
        text = either(
            many,
            "{columns} are not compared: the sets are of different times, and they would separate "
            "them whatever else changed.",
            "{columns} is not compared: the sets are of different times, and it would separate "
            "them whatever else changed.",
        )
        more = either(many, "{option} compares them, too.", "{option} compares it, too.")
        remedy = say(more, option=option("numeric", times[0]))
        notes.append(Remark("times set aside", say(text, columns=_named(times)), remedy))
    left = left_out_note(plan)
    return [*notes, left] if left else notes


def left_out_note(plan: EncodingPlan) -> Remark | None:
    """The columns that are not features, with the reasons; None if there are none."""
    reasons = [one for one in plan.columns if one.kind == "left out" and one.reason != DROPPED]
    left = [f"{column.name!r} ({translated(column.reason)})" for column in reasons]
    if not left:
        return None
    remedy = ""
    if any(column.reason != EMPTY for column in reasons):
        text = later("{categorical} or {numeric} takes a column all the same.")
        remedy = say(text, categorical=option("categorical"), numeric=option("numeric"))
    return Remark("columns left out", say("Left out: {columns}.", columns=_named(left)), remedy)


def _described(column: ColumnPlan, plan: EncodingPlan) -> str:
    if not column.used:
        return f"{'time, ' if column.kind == 'time' else ''}left out: {column.reason}"
    text = column.kind
    if column.kind == "category":
        more = len(column.levels) - SHOWN_LEVELS
        text += ": " + ", ".join(column.levels[:SHOWN_LEVELS])
        text += f", … ({len(column.levels)} levels)" if more > 0 else ""
        text += " and other" if column.other else ""
    elif column.kind == "vector":
        text += f" of {len(column.features):,} numbers"
    elif column.kind == "boolean" and column.levels:
        text += f": {column.levels[1]} = 1, {column.levels[0]} = 0"
    elif column.kind in UNITS:
        text += f", in {UNITS[column.kind]}"
    if column.reading:
        text += f", read from text ({column.reading})"
    return text + _filled(column, plan)


def _filled(column: ColumnPlan, plan: EncodingPlan) -> str:
    if not (column.indicator or plan.missing == "mean"):
        return ""
    value = f"{column.fill[0]:.6g}" if len(column.fill) == 1 else "the sets' mean"
    return f"; missing: {value}" + (f", and {column.indicator_name!r}" if column.indicator else "")


def _named(names: Sequence[str]) -> str:
    more, shown = len(names) - SHOWN_COLUMNS, ", ".join(names[:SHOWN_COLUMNS])
    return say("{names} and {n:,} more", names=shown, n=more) if more > 0 else shown
