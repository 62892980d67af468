"""Gates: conditions under which a command ends with exit code 3, and what they are judged by.

A gate is one condition, or several joined by ``and``: it is crossed where all of them hold. Of
several gates any one is enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import typer

from cospan.base.text import number, printable
from cospan.comparison import Comparison, ManyComparison
from cospan.errors import InputError
from cospan.model import neither

if TYPE_CHECKING:
    from cospan.evidence import Changes
    from cospan.monitoring import Monitoring, Window

#: What a condition may be about, and on which side of the bound it is crossed.
SIDES = {
    "auc": ">",
    "fisher-rao": ">",
    "p": "<",
    "column-p": "<",
    "features": ">",
    "missing": ">",
    "neither": ">",
    "alarm": "",
}
#: Those that a window of a monitoring has. Its p-value is one of columns, relations and whole rows
#: together, so that it has none of columns.
OF_WINDOWS = ("auc", "p", "features", "missing", "alarm")
#: The largest that each of them can be: a bound beyond would never be crossed, or always.
LARGEST = {"fisher-rao": math.pi, "features": math.inf}


class Judged(NamedTuple):
    """A number that a gate is judged by, and where it was found."""

    value: float
    where: str = ""


class Clause(NamedTuple):
    """One condition: a quantity and its bound.

    >>> Clause("auc", 0.7).holds(0.9), Clause("p", 0.01).holds(0.9), str(Clause("alarm", 0))
    (True, False, 'alarm')
    """

    quantity: str
    bound: float

    def holds(self, value: float) -> bool:
        return value < self.bound if SIDES[self.quantity] == "<" else value > self.bound

    def __str__(self) -> str:
        side = SIDES[self.quantity]
        return f"{self.quantity}{side}{self.bound:g}" if side else self.quantity


class Gate(NamedTuple):
    """Conditions that must all hold.

    >>> gate = parse_gate("p<0.01 and auc > 0.6")
    >>> str(gate), gate.crossed({"p": Judged(0.001), "auc": Judged(0.55)})
    ('p<0.01 and auc>0.6', False)
    """

    clauses: tuple[Clause, ...]

    @property
    def quantities(self) -> set[str]:
        return {clause.quantity for clause in self.clauses}

    def crossed(self, values: Mapping[str, Judged]) -> bool:
        return all(clause.holds(values[clause.quantity].value) for clause in self.clauses)

    def found(self, values: Mapping[str, Judged]) -> str:
        """What was found, in words."""
        parts = []
        for clause in self.clauses:
            value, where = values[clause.quantity]
            said = "raised" if clause.quantity == "alarm" else number(value)
            parts.append(f"{clause.quantity} is {said}{where}")
        return " and ".join(parts)

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


def parse_gate(text: str) -> Gate:
    """A gate as written on the command line."""
    return Gate(tuple(_clause(part, text) for part in re.split(r"\s+and\s+", text.strip())))


def _clause(part: str, text: str) -> Clause:
    if part.strip() == "alarm":
        return Clause("alarm", 0.0)
    names = "|".join(name for name, side in SIDES.items() if side)
    match = re.fullmatch(rf"\s*({names})\s*([<>])\s*(\S+)\s*", part)
    try:
        bound = math.nan if match is None else float(match[3])
    except ValueError:
        bound = math.nan
    if match is None or math.isnan(bound) or SIDES[match[1]] != match[2]:
        raise typer.BadParameter(
            f"{text!r} is not a threshold; write (quoted) 'auc>0.7', 'fisher-rao>1', 'p<0.01', "
            "'column-p<0.0001', 'missing>0.1', or 'p<0.01 and auc>0.6'."
        )
    most = LARGEST.get(match[1], 1.0)
    if not 0 <= bound <= most or (bound == 0 and match[2] == "<"):
        raise typer.BadParameter(
            f"{text!r} makes no sense: {match[1]} is between 0 and {most:.3g}."
            if math.isfinite(most)
            else f"{text!r} makes no sense: {match[1]} is at least 0."
        )
    return Clause(match[1], bound)


# ---- what gates are judged by ------------------------------------------------------------------


def values_of(found: Comparison | ManyComparison) -> dict[str, Judged]:
    """The numbers of a comparison."""
    if isinstance(found, ManyComparison):
        return _farthest_pairs(found)
    apart = found.separation
    values = {"fisher-rao": Judged(apart.fisher_rao), "auc": Judged(float(apart.auc))}
    if not math.isnan(found.p):
        values["p"] = Judged(found.p)
    values |= _of_columns(found.changes)
    with suppress(InputError):  # raw angles and bare summaries have no typicality
        values["neither"] = Judged(float(neither(found.group_b.alignment).mean()))
    return values


def _farthest_pairs(found: ManyComparison) -> dict[str, Judged]:
    values = {}
    for quantity in ("fisher-rao", "auc"):
        matrix = found.pairs.matrix(quantity.replace("-", "_"))
        i, j = np.unravel_index(int(np.argmax(matrix)), matrix.shape)
        pair = " and ".join(printable(found.names[k], 40) for k in (i, j))
        values[quantity] = Judged(float(matrix[i, j]), f" between {pair}")
    return values


def _of_columns(changes: Changes) -> dict[str, Judged]:
    names = [printable(one.name, 40) for one in changes.features.changed]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    rises = {one.name: one.b.missing - one.a.missing for one in changes.features}
    worst = max(rises, key=lambda name: rises[name], default="")
    rise = max(0.0, rises.get(worst, 0.0))
    of_columns = [one for one in changes.findings if one.column]
    surest = min(of_columns, key=lambda one: one.p, default=None)
    least = Judged(1.0)
    if surest is not None:
        least = Judged(surest.p, f" in {printable(surest.column, 40)}")
    return {
        "column-p": least,
        "features": Judged(len(names), f" ({shown})" if names else ""),
        "missing": Judged(rise, f" more than before in {printable(worst, 40)}" if rise else ""),
    }


def remedy_for(found: Comparison | ManyComparison) -> str:
    """How to get more numbers out of a comparison that has few; a sentence and a space."""
    if isinstance(found, ManyComparison):
        return "Compare two sets at a time. "
    return "It takes more rows. " if math.isnan(found.p) else ""


def values_of_window(window: Window, found: Monitoring) -> dict[str, Judged]:
    """The numbers of one window; those of no change where it was not compared."""
    where = f" in {window.label}"
    usual = found.reference.missing
    rises = {name: held.missing - usual.get(name, 0.0) for name, held in window.columns.items()}
    worst = max(rises, key=lambda name: rises[name], default="")
    rise = max(0.0, rises.get(worst, 0.0))
    column = f" more than before in {printable(worst, 40)}" if rise else ""
    return {
        "auc": Judged(0.5 if window.size is None else float(window.size), where),
        "p": Judged(1.0 if window.p is None else window.p, where),
        "features": Judged(len({one.column for one in window.findings if one.column}), where),
        "missing": Judged(rise, f"{column}{where}"),
        "alarm": Judged(float(window.alarm), where),
    }


def crossed(gates: Sequence[Gate], values: Mapping[str, Judged], remedy: str = "") -> list[Gate]:
    """The gates that are crossed; an error where one cannot be judged.

    `remedy` says how to get more numbers to judge by.
    """
    refuse_unknown(gates, [name for name in SIDES if name in values], remedy)
    return [gate for gate in gates if gate.crossed(values)]


def refuse_unknown(gates: Sequence[Gate], known: Sequence[str], remedy: str = "") -> None:
    """Say which gate is on something else than what is known."""
    for gate in gates:
        unknown = sorted(gate.quantities - set(known))
        if unknown:
            what = {"p": "p-value", "column-p": "p-value of columns"}
            lacking = what.get(unknown[0], unknown[0])
            raise InputError(
                f"--fail-on {gate} cannot be judged: there is no {lacking} here. {remedy}A gate "
                f"can be on: {', '.join(known)}."
            )
