"""Columns that are equal in every row of one set: the one was copied over the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cospan._types import Floats

from .grouping import Column, Rows, present
from .measuring import Measured
from .pairs import Relations
from .scatter import Scattered
from .twosample import log_fisher


def with_copies(
    relations: Relations, columns: Sequence[Column], measured: Sequence[Measured], rows: Rows
) -> Relations:
    """The same, and columns that are equal in every row of one set and not in the other.

    One of them was copied over the other: it is said of the one that changed more surely by
    itself, and no longer counts against the other.
    """
    place = {column.name: k for k, column in enumerate(columns)}
    broken, leads = dict(relations.broken), dict(relations.leads)
    for pair in relations.pairs.changed:
        both = place[pair.first_column], place[pair.second_column]
        if any(columns[k].kind == "category" or len(columns[k].features) > 1 for k in both):
            continue
        off = [_apart(x, columns[both[0]], columns[both[1]]) for x in rows[:2]]
        if not all(map(len, off)):
            continue
        equal = [int(np.count_nonzero(x == 0)) for x in off]
        shares = equal[0] / len(off[0]), equal[1] / len(off[1])
        if max(shares) < 1 or min(shares) == 1:
            continue
        copy, of = sorted(both, key=lambda k: min(measured[k].tests.values()))
        log_p = float(log_fisher(equal[0], len(off[0]), equal[1], len(off[1]))[0])
        log_p = min(0.0, log_p + math.log(relations.pairs.total))
        named = columns[copy].name, columns[of].name
        middles = float(np.median(off[0])), float(np.median(off[1]))
        if of in broken and broken[of].companion == named[0]:
            del broken[of]
        if leads.get(of) == pair:
            del leads[of]
        if not rows.whole:  # of a sample nothing is said to be in all rows or in none
            shares = min(0.999, max(0.001, shares[0])), min(0.999, max(0.001, shares[1]))
        broken[copy] = Scattered(*named, *middles, True, log_p, shares)
    return relations._replace(broken=broken, leads=leads)


def _apart(rows: Floats, x: Column, y: Column) -> Floats:
    """How far two columns are from each other, in the rows that have both."""
    known = np.ones(len(rows), dtype=bool)
    for column in (x, y):
        there = present(rows, column)
        known &= True if there is None else there
    return np.asarray(np.abs(rows[known, x.features[0]] - rows[known, y.features[0]]))
