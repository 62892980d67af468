"""Two sets of rows as numbers: encoded by one plan, sampled, in comparable units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cospan.base.checks import as_count, as_option, as_seed
from cospan.base.keys import row_keys
from cospan.base.notes import Note
from cospan.base.text import plural
from cospan.base.types import Floats, Index
from cospan.data import encode, notes_of, open_source
from cospan.errors import InputError
from cospan.summary import random_rows

FEWEST_ROWS = 10  # of each set: below, half of them train no classifier


class Pair(NamedTuple):
    """Rows of both sets, where they were in the data, and the features' names."""

    a: Floats
    b: Floats
    rows_a: Index
    rows_b: Index
    names: tuple[str, ...]
    sampled: bool
    kinds: Index  # of the rows of both: a number, equal where rows are equal
    columns: tuple[Index, ...]  # the features made of each column of the user's
    notes: list[Note]


def read_pair(
    A: Any,
    B: Any,
    *,
    units: str,
    rows: int,
    random_state: int,
    names: tuple[str, str] = ("A", "B"),
    first_alone: bool = False,
) -> Pair:
    """Read two sets of anything that `compare` takes, at most `rows` rows of each at random.

    With ``units="own"`` every feature is divided by its spread: the root of the mean of the two
    variances, or with `first_alone` that of the first set, so that impossible values in the second
    do not stretch the unit. A feature that never varies is left as it is: its distance counts.
    """
    units = as_option(units, "units", ("own", "raw"))
    most, rng = (
        as_count(rows, "rows", least=FEWEST_ROWS),
        np.random.default_rng(as_seed(random_state)),
    )
    opened = [open_source(X, name=name) for X, name in zip((A, B), names, strict=True)]
    encoded = encode(opened)
    found = [source.read() for source in encoded]
    for source, chunk in zip(encoded, found, strict=True):
        if len(chunk.rows) < FEWEST_ROWS:
            raise InputError(
                f"{source.name} has {plural(len(chunk.rows), 'row')}; other measures need at least "
                f"{FEWEST_ROWS}."
            )
    d, other = (chunk.rows.shape[1] for chunk in found)
    if d != other:
        raise InputError(
            f"{encoded[0].name} has {plural(d, 'feature')} and {encoded[1].name} has {other:,}; "
            "pass rows with the same features."
        )
    kept = [random_rows(len(chunk.rows), most, rng) for chunk in found]
    a, b = (
        np.asarray(chunk.rows, dtype=np.float64)[index]
        for chunk, index in zip(found, kept, strict=True)
    )
    keys = row_keys(list(np.vstack([a, b]).T))
    merged = [chunk.merged for chunk in found]
    if merged[0] is not None and merged[1] is not None:  # rare levels that share a feature
        keys = keys + np.concatenate([merged[0][kept[0]], merged[1][kept[1]]])
    if units == "own":
        spread = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
        if first_alone:
            spread = np.where(a.std(axis=0) > 0, a.std(axis=0), spread)
        spread[spread == 0] = 1.0
        a, b = a / spread, b / spread
    plan = encoded[0].plan
    owners = np.arange(d) if plan is None else np.asarray(plan.owners)
    return Pair(
        a,
        b,
        kept[0],
        kept[1],
        names=encoded[0].feature_names or tuple(f"x{i}" for i in range(d)),
        sampled=any(len(chunk.rows) > most for chunk in found),
        kinds=np.unique(keys, return_inverse=True)[1],
        columns=tuple(np.flatnonzero(owners == one) for one in dict.fromkeys(owners.tolist())),
        notes=notes_of(encoded),
    )
