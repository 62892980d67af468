"""A comparison of K sets as text: what ``ManyComparison.summary()`` returns, the terminal shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cospan.comparison.text import NAME_WIDTH, TOP_ROWS, Line, number, plural, printable

if TYPE_CHECKING:
    from cospan.multiway import ManyComparison

__all__ = ["many_lines"]

CELL = 6  # columns of a number in the matrix
MATRIX_NAME = 16  # and of a name beside it
CLOSEST = 5


def many_lines(comparison: ManyComparison, width: int = 80) -> Iterator[Line]:
    """The summary, line by line, each with its style."""
    c = comparison
    yield "title", f"{len(c.names)} sets: {_listed(c, width)}"
    yield "plain", ""
    yield from _sizes(c)
    yield "plain", ""
    yield from _matrix(c, width)
    yield from _pairs(c)
    yield "plain", ""
    yield from _sets(c)
    yield "plain", ""
    yield from _rows(c)
    for warning in c.warnings:
        yield "warn", f"! {printable(warning)}"


def _listed(c: ManyComparison, width: int) -> str:
    return printable(", ".join(c.names), max(width - 10, 20))


def _sizes(c: ManyComparison) -> Iterator[Line]:
    scored = f", {plural(c.rows_z, 'row')} of {printable(c.name_z, NAME_WIDTH)} to score"
    features = plural(c.costs.n_features, "feature")
    rows = plural(sum(c.rows), "row")
    yield "plain", f"{rows}, {features}{scored if c.name_z is not None else ''}"
    f = c.frame
    alone = f.rank - len(f.common) - len(f.partial)
    yield (
        "plain",
        (
            f"rank {f.rank}: {plural(len(f.common), 'direction')} common to all sets, "
            f"{len(f.partial)} to some, {alone} to one"
        ),
    )
    chosen = " (chosen by leave-one-out)" if c.settings.get("shrinkage") == "auto" else ""
    g = c.costs.geometry
    yield (
        "plain",
        (
            f"{g.span} span, {g.units} units, shrinkage {number(c.shrinkage)}{chosen}, pooling "
            f"{number(g.pooling)}"
        ),
    )


def _matrix(c: ManyComparison, width: int) -> Iterator[Line]:
    """Distances of all pairs, close sets side by side; only as many sets as fit."""
    yield "head", "Fisher-Rao distances (0: alike, π: apart), close sets side by side"
    heads = [printable(name) for name in c.names]
    rows = [printable(name, MATRIX_NAME) for name in c.names]
    if max(map(len, heads)) >= CELL:  # names too long for a column: numbers stand for them
        for place, k in enumerate(c.order, start=1):
            heads[k], rows[k] = str(place), f"{place:>2} {rows[k]}"
    label = max(map(len, rows))
    shown = c.order[: max((width - label - 2) // CELL, 2)]
    yield "plain", "  " + " " * label + "".join(f"{heads[k]:>{CELL}}" for k in shown)
    for i in shown:
        cells = ("·" if i == j else f"{c.fisher_rao[i, j]:.2f}" for j in shown)
        yield "plain", f"  {rows[i]:<{label}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
    if len(shown) < len(c.names):
        yield "plain", f"  and {plural(len(c.names) - len(shown), 'more set')}"
    yield "plain", ""


def _pairs(c: ManyComparison) -> Iterator[Line]:
    level = f"{c.confidence:.0%}".replace("%", " %")
    yield "head", f"Closest pairs (with {level} intervals)"
    pairs = c.closest(CLOSEST)
    shown = [f"{printable(a, NAME_WIDTH)} - {printable(b, NAME_WIDTH)}" for a, b in pairs]
    for text, (a, b) in zip(shown, pairs, strict=True):
        at = c.names.index(a), c.names.index(b)
        yield "plain", f"  {text:<{max(map(len, shown))}}  {c.distance(*at)}"


def _sets(c: ManyComparison) -> Iterator[Line]:
    yield (
        "head",
        (
            f"Rows that their own set explains best: {c.accuracy:.1%} "
            "(leave-one-out, every set counting alike)"
        ),
    )
    label = min(max(len(printable(name)) for name in c.names), NAME_WIDTH)
    for k, name in enumerate(c.names):
        counts = c.confusion[k].copy()
        right, total = int(counts[k]), int(counts.sum())
        counts[k] = -1
        rival = int(counts.argmax())
        astray = f", most others like {printable(c.names[rival], NAME_WIDTH)}"
        own = len(c.frame.isolated(k))
        alone = f"; {plural(own, 'direction')} of its own"
        yield (
            "plain",
            (
                f"  {printable(name, label):<{label}}  {right / max(total, 1):6.1%} of "
                f"{plural(total, 'row')}{astray if counts[rival] > 0 else ''}"
                f"{alone if own else ''}"
            ),
        )


def _rows(c: ManyComparison) -> Iterator[Line]:
    """The rows that another set explains most clearly better than their own."""
    flagged = np.flatnonzero(np.asarray(c.audit.flagged))
    if not len(flagged):
        return
    suspicion = np.asarray(c.audit.suspicion)
    order = flagged[np.argsort(-suspicion[flagged], kind="stable")]
    yield "head", f"Rows worth a look ({plural(len(flagged), 'row')} more like another set)"
    for i in order[:TOP_ROWS]:
        own, other = c.audit.labels[i], c.audit.suggested[i]
        yield (
            "plain",
            (
                f"  {printable(c.ids[i], NAME_WIDTH)}  in {printable(own, NAME_WIDTH)}, looks like "
                f"{printable(other, NAME_WIDTH)} ({c.weights[i].max():.0%} likely)"
            ),
        )
    yield "plain", ""
