"""An encoding plan in words: a line for each column, or a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cospan._warnings import Remark

if TYPE_CHECKING:
    from .plan import ColumnPlan, EncodingPlan

#: The reason of a column that the user left out: nobody needs a note.
DROPPED = "as asked"
#: The reason of a column that no option could take, and of one whose values cannot be read.
EMPTY, MIXED = "it has no values", "Python objects of several kinds"
SHOWN_LEVELS = 6
SHOWN_COLUMNS = 8
#: The kinds of columns, one and several.
PLURALS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "date": "dates",
    "time of day": "times of day",
    "duration": "durations",
    "vector": "vectors",
}
UNITS = {"date": "days since 1970", "time of day": "hours", "duration": "days"}


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
            said = f"{len(names)} {kinds if len(names) > 1 else kind}"
            counts.append(said if kind in ("number", "vector") else f"{said} ({_named(names)})")
    if plan.n_features > len(plan.used) or any(column.kind != "number" for column in plan.used):
        text = "{n} columns became {features:,} features: {kinds}."
        known = {"n": len(plan.inputs), "features": plan.n_features, "kinds": ", ".join(counts)}
        notes.append(Remark("encoding", text.format(**known)))
    gaps = [column for column in plan.used if column.indicator]
    if gaps:
        where = f"{gaps[0].indicator_name!r}{', …' if len(gaps) > 1 else ''}"
        text = (
            "Where a value is missing, a mean stands in for it; {where} says where."
            if len(gaps) == len(plan.used)
            else (
                "Missing values in {columns} are filled by the mean of the sets' means; {where} "
                "says where."
            )
        )
        said = text.format(columns=_named([column.name for column in gaps]), where=where)
        notes.append(Remark("missing values", said))
    for reason in dict.fromkeys(column.reason for column in plan.times):
        times = [column.name for column in plan.times if column.reason == reason]
        text = (
            (
                "{columns} are not compared: {reason}, and they would separate the sets whatever "
                "else changed."
            )
            if len(times) > 1
            else (
                "{columns} is not compared: {reason}, and it would separate the sets whatever "
                "else changed."
            )
        )
        remedy = f'numeric="{times[0]}" compares {"them" if len(times) > 1 else "it"}, too.'
        said = text.format(columns=_named(times), reason=reason)
        notes.append(Remark("times set aside", said, remedy))
    left = left_out_note(plan)
    return [*notes, left] if left else notes


def left_out_note(plan: EncodingPlan) -> Remark | None:
    """The columns that are not features, with the reasons; None if there are none."""
    reasons = [one for one in plan.columns if one.kind == "left out" and one.reason != DROPPED]
    left = [f"{column.name!r} ({column.reason})" for column in reasons]
    if not left:
        return None
    remedy = ""
    if any(column.reason != EMPTY for column in reasons):
        remedy = "categorical= or numeric= takes a column all the same."
    return Remark("columns left out", f"Left out: {_named(left)}.", remedy)


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
    return f"{shown} and {more:,} more" if more > 0 else shown
