"""Gates: what makes a command end with exit code 3.

``drift`` is the one to begin with: a column added, gone or of another type, rows repeated beyond
chance, or a change that is sure (adjusted p at most 0.001), in any pair of sets. The others ask
for one thing. Several may be given: any broken one is enough.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import typer

from cospan.base.text import number, printable, set_name, share_text
from cospan.comparison import Comparison
from cospan.errors import InputError
from cospan.evidence import Finding
from cospan.wording import SCHEMA, sentence

SURE = 0.001  # p-value at which a finding is drift
REPEATED = "repeated rows"
WORDS = ("drift", "schema", "duplicates")
SIDES = {"size": ">", "missing": ">", "p": "<"}
SAID = 3  # reasons that are printed for a gate


class Gate(NamedTuple):
    """A word, or a number and its bound.

    >>> str(parse_gate("size > 0.7")), str(parse_gate("drift"))
    ('size>0.7', 'drift')
    """

    what: str
    bound: float = math.nan

    def __str__(self) -> str:
        return self.what if self.what in WORDS else f"{self.what}{SIDES[self.what]}{self.bound:g}"


def parse_gate(text: str) -> Gate:
    """A gate as written on the command line."""
    if text.strip() in WORDS:
        return Gate(text.strip())
    match = re.fullmatch(r"\s*(size|missing|p)\s*([<>])\s*([\d.eE+-]+)\s*", text)
    try:
        bound = float(match[3]) if match and SIDES[match[1]] == match[2] else math.nan
    except ValueError:
        bound = math.nan
    if match is None or not 0 <= bound <= 1 or (match[1] == "p" and bound == 0):
        raise typer.BadParameter(
            f"{text!r} is not a gate; write drift, schema, duplicates, or (quoted) 'size>0.7', "
            "'missing>0.05' or 'p<0.01', each with a number from 0 to 1."
        )
    return Gate(match[1], bound)


def broken_by(gate: Gate, found: Comparison) -> list[str]:
    """What breaks the gate in a comparison, in sentences, the first pairs of sets first."""
    names = tuple(found.names)
    if len(names) == 2:
        return list(_JUDGES[gate.what](gate, found))
    pairs = itertools.combinations(names, 2)
    return [
        f"{set_name(a)} and {set_name(b)}: {said}"
        for a, b in pairs
        for said in _JUDGES[gate.what](gate, found.pair(a, b))
    ]


def told(gate: Gate, sentences: Sequence[str]) -> str:
    """One line on a broken gate."""
    more = len(sentences) - SAID
    said = " ".join(sentences[:SAID]) + (f" And {more} more." if more > 0 else "")
    return f"--fail-on {gate}: {printable(said)}"


# ---- how each is judged -------------------------------------------------------------------------


def _drift(gate: Gate, found: Comparison) -> Iterator[str]:
    return _findings(found, lambda one: one.kind in (*SCHEMA, REPEATED) or one.p <= SURE)


def _schema(gate: Gate, found: Comparison) -> Iterator[str]:
    return _findings(found, lambda one: one.kind in SCHEMA)


def _duplicates(gate: Gate, found: Comparison) -> Iterator[str]:
    return _findings(found, lambda one: one.kind == REPEATED)


def _findings(found: Comparison, wanted: Callable[[Finding], bool]) -> Iterator[str]:
    kinds = {row.name: row.kind for row in found.features}
    sets = found.names[0], found.names[1]
    for one in found.findings:
        if wanted(one):
            yield sentence(one, sets, kinds.get(one.column, "number"))


def _size(gate: Gate, found: Comparison) -> Iterator[str]:
    if found.size > gate.bound:
        yield f"the size is {number(float(found.size))}."


def _p(gate: Gate, found: Comparison) -> Iterator[str]:
    if math.isnan(found.p):
        raise InputError(f"--fail-on {gate} cannot be judged: so few rows have no p-value.")
    if found.p < gate.bound:
        yield f"p is {number(found.p)}."


def _missing(gate: Gate, found: Comparison) -> Iterator[str]:
    for row in found.features:
        rise = row.b.missing - row.a.missing
        if rise > gate.bound:
            name, now = printable(row.name, 40), share_text(row.b.missing)
            yield f"{now} of {name} are missing, {share_text(row.a.missing)} before."


_JUDGES: dict[str, Callable[[Gate, Comparison], Iterator[str]]] = {
    "drift": _drift,
    "schema": _schema,
    "duplicates": _duplicates,
    "size": _size,
    "p": _p,
    "missing": _missing,
}
