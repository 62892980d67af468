"""Two sets of rows as numbers: encoded by one plan, sampled, in comparable units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.checks import as_count, as_option, as_seed
from cospan.base.keys import row_keys
from cospan.base.notes import Note
from cospan.base.text import plural
from cospan.base.types import Floats
from cospan.data import Source, encode, notes_of, open_source
from cospan.errors import InputError
from cospan.summary import random_rows

FEWEST_ROWS = 10  # of each set: below, half of them train no classifier


class Pair(NamedTuple):
    """Rows of both sets, where they were in the data, and the features' names."""

    a: Floats
    b: Floats
    rows_a: NDArray[np.intp]
    rows_b: NDArray[np.intp]
    names: tuple[str, ...]
    sampled: bool
    kinds: NDArray[np.intp]  # of the rows of both: a number, equal where rows are equal
    columns: tuple[NDArray[np.intp], ...]  # the features made of each column of the user's
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
    most, seed = as_count(rows, "rows", least=FEWEST_ROWS), as_seed(random_state)
    opened = [open_source(X, name=name) for X, name in zip((A, B), names, strict=True)]
    encoded = encode(opened)
    found = [source.read() for source in encoded]
    sets = [np.asarray(chunk.rows, dtype=np.float64) for chunk in found]
    for source, one in zip(encoded, sets, strict=True):
        if len(one) < FEWEST_ROWS:
            raise InputError(
                f"{source.name} has {plural(len(one), 'row')}; other measures need at least "
                f"{FEWEST_ROWS}."
            )
    if sets[0].shape[1] != sets[1].shape[1]:
        raise InputError(
            f"{encoded[0].name} has {plural(sets[0].shape[1], 'feature')} and {encoded[1].name} "
            f"has {sets[1].shape[1]:,}; pass rows with the same features."
        )
    rng = np.random.default_rng(seed)
    kept = [random_rows(len(one), most, rng) for one in sets]
    a, b = (one[index] for one, index in zip(sets, kept, strict=True))
    merged = [
        one.merged[index] for one, index in zip(found, kept, strict=True) if one.merged is not None
    ]
    keys = row_keys(list(np.vstack([a, b]).T))
    if len(merged) == 2:  # rare levels that share a feature
        keys = keys + np.concatenate(merged)
    kinds = np.unique(keys, return_inverse=True)[1]
    if units == "own":
        pooled = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
        spread = np.where(a.std(axis=0) > 0, a.std(axis=0), pooled) if first_alone else pooled
        spread[spread == 0] = 1.0
        a, b = a / spread, b / spread
    features = encoded[0].feature_names or tuple(f"x{i}" for i in range(a.shape[1]))
    sampled = any(len(one) > most for one in sets)
    columns = _columns(encoded[0], features)
    notes = notes_of(encoded)
    return Pair(a, b, kept[0], kept[1], features, sampled, kinds, columns, notes)


def _columns(source: Source, features: tuple[str, ...]) -> tuple[NDArray[np.intp], ...]:
    """The features of each column, with the one that says where it is missing."""
    if source.plan is None:
        return tuple(np.array([j]) for j in range(len(features)))
    owners = np.asarray(source.plan.owners)
    return tuple(np.flatnonzero(owners == name) for name in dict.fromkeys(owners.tolist()))
