"""Gates: what makes a command end with exit code 3.

``drift`` is the one to begin with: a column added, gone or of another type, rows repeated beyond
chance, or a change that is sure (adjusted p at most 0.001), in any pair of sets; over time, an
alarm. The others ask for one thing. Several may be given: any broken one is enough.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import typer

from cospan.base.text import number, printable, set_name, share_text
from cospan.comparison import Comparison
from cospan.errors import InputError
from cospan.monitoring import Monitoring, Window
from cospan.wording.findings import SCHEMA, finding_sentences
from cospan.wording.results import window_sentences

SURE = 0.001  # p-value at which a finding is drift
REPEATED = "repeated rows"
#: The kinds of findings that break a gate of one word.
WORDS = {"drift": (*SCHEMA, REPEATED), "schema": SCHEMA, "duplicates": (REPEATED,)}
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


#: A pair of sets or a window, sentences on its findings, each column's gaps before and now.
_Judged: TypeAlias = tuple[Comparison | Window, Sequence[str], list[tuple[str, float, float]]]


def broken(gates: Sequence[Gate], found: Comparison | Monitoring) -> list[str]:
    """A line for each gate that is broken."""
    lines = []
    for gate in gates:
        if gate.what == "drift" and isinstance(found, Monitoring):
            # An alarm, or an episode that goes on.
            said = [
                " ".join([f"{window} raises an alarm.", *window_sentences(window)[:1]])
                for window in found.new_windows
                if window.alarm
            ]
            running = [one for one in found.episodes if one.end is None and found.new_windows]
            said = said or [f"{', '.join(one.columns)} since {one.start}." for one in running]
        else:
            said = [where + one for where, judged in _all(found) for one in _reasons(gate, judged)]
        if said:
            more = f" And {len(said) - SAID} more." if len(said) > SAID else ""
            lines.append(f"--fail-on {gate}: {printable(' '.join(said[:SAID]) + more)}")
    return lines


def _all(found: Comparison | Monitoring) -> Iterator[tuple[str, _Judged]]:
    """Every pair of sets, or every window just read, and how a sentence about it begins."""
    if isinstance(found, Monitoring):
        usual = found.reference.missing
        for window in found.new_windows:
            missing = [
                (name, usual.get(name, 0.0), held.missing) for name, held in window.columns.items()
            ]
            yield f"{window}: ", (window, window_sentences(window), missing)
        return
    for a, b in itertools.combinations(found.names, 2):
        pair = found.pair(a, b)
        missing = [(row.name, row.a.missing, row.b.missing) for row in pair.features]
        where = f"{set_name(a)} and {set_name(b)}: " if len(found.names) > 2 else ""
        yield where, (pair, finding_sentences(pair.verdict, pair.findings), missing)


def _reasons(gate: Gate, judged: _Judged) -> Iterator[str]:
    """What breaks a gate, in sentences."""
    found, sentences, missing = judged
    if gate.what == "size":
        if found.size is not None and found.size > gate.bound:
            yield f"the size is {number(float(found.size))}."
    elif gate.what == "p":
        if found.p is not None and math.isnan(found.p):
            raise InputError(f"--fail-on {gate} cannot be judged: so few rows have no p-value.")
        if found.p is not None and found.p < gate.bound:
            yield f"p is {number(found.p)}."
    elif gate.what == "missing":
        for name, before, now in missing:
            if now - before > gate.bound:
                shares = share_text(now), share_text(before)
                yield f"{shares[0]} of {printable(name, 40)} are missing, {shares[1]} before."
    else:
        for one, said in zip(found.findings, sentences, strict=True):
            if one.kind in WORDS[gate.what] or (gate.what == "drift" and one.p <= SURE):
                yield said
