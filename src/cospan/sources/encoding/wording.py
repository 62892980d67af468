"""An encoding plan in words: a line for each column, or a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cospan._surface import option
from cospan._warnings import Remark

if TYPE_CHECKING:
    from .plan import ColumnPlan, EncodingPlan

#: The reason of a column that the user left out: nobody needs a note.
DROPPED = "as asked"
#: The reason of a column that no option could take.
EMPTY = "it has no values"
SHOWN_LEVELS = 6
SHOWN_COLUMNS = 8
PLURALS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "date": "dates",
    "duration": "durations",
    "vector": "vectors",
}
UNITS = {"date": "days since 1970", "duration": "days"}


def plan_lines(plan: EncodingPlan) -> list[str]:
    """One line for each of the user's columns, names aligned."""
    width = min(28, max((len(column.name) for column in plan.columns), default=0))
    return [f"{column.name:<{width}}  {_described(column, plan)}" for column in plan.columns]


def plan_notes(plan: EncodingPlan) -> list[str]:
    """What a reader of a result should know of the encoding, a sentence for each matter."""
    notes: list[str] = []
    counts = [
        f"{len(names)} {PLURALS[kind] if len(names) > 1 else kind}"
        + (f" ({_named(names)})" if kind not in ("number", "vector") else "")
        for kind in PLURALS
        if (names := [column.name for column in plan.used if column.kind == kind])
    ]
    if plan.n_features > len(plan.used) or any(column.kind != "number" for column in plan.used):
        text = f"{len(plan.used)} columns became {plan.n_features:,} features: {', '.join(counts)}."
        notes.append(Remark("encoding", text))
    gaps = [column.name for column in plan.used if column.indicator]
    if gaps:
        where = f"{gaps[0] + ' is missing'!r}{', …' if len(gaps) > 1 else ''} says where."
        filled = f"Missing values in {_named(gaps)} are filled by the mean of the sets' means"
        if len(gaps) == len(plan.used):  # as profiles have it, whether or not any is missing
            filled = "Where a value is missing, a mean stands in for it"
        notes.append(Remark("missing values", f"{filled}; {where}"))
    times = [column.name for column in plan.times]
    if times:
        are, they, them = ("are", "they", "them") if len(times) > 1 else ("is", "it", "it")
        text = (
            f"{_named(times)} {are} not compared: the sets are of different times, and {they} "
            "would separate them whatever else changed."
        )
        remedy = f"{option('numeric', times[0])} compares {them}, too."
        notes.append(Remark("times set aside", text, remedy))
    left = left_out_note(plan)
    return [*notes, left] if left else notes


def left_out_note(plan: EncodingPlan) -> Remark | None:
    """The columns that are not features, with the reasons; None if there are none."""
    reasons = [one for one in plan.columns if one.kind == "left out" and one.reason != DROPPED]
    left = [f"{column.name!r} ({column.reason})" for column in reasons]
    if not left:
        return None
    more = f" and {len(left) - SHOWN_COLUMNS:,} more" if len(left) > SHOWN_COLUMNS else ""
    remedy = f"{option('categorical')} or {option('numeric')} takes a column all the same."
    if {column.reason for column in reasons} <= {EMPTY}:
        remedy = ""
    return Remark("columns left out", f"Left out: {', '.join(left[:SHOWN_COLUMNS])}{more}.", remedy)


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
    more = len(names) - SHOWN_COLUMNS
    return ", ".join(names[:SHOWN_COLUMNS]) + (f" and {more:,} more" if more > 0 else "")
