"""Columns are matched by the user's names before anything is encoded.

A column that only some sets have, one that has another name, and one that holds other values than
before are *schema changes*: the first thing to say of the sets, and no reason to stop. The columns
that all sets have are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cospan.base.text import plural, quoted
from cospan.base.types import Record

if TYPE_CHECKING:
    from .learn import ColumnLearner, Moments, SetLearner

#: Columns under two names hold the same values where these share half of their different values,
#: or their means lie within a quarter of a standard deviation, and so on.
SAME_VALUES, ALIKE = 0.5, 0.25


@dataclass(frozen=True)
class SchemaChange:
    """What reading alone finds: a column that is not the same in all sets, or absurd values.

    Attributes
    ----------
    kind : {"only in", "renamed", "retyped", "lacking", "absurd"}
    column : str
    sets : tuple of str
        Those that have it, under this name; of a retyped column all that have values; of absurd
        values (infinite, beyond 1e100 or denormal) those that have some.
    second : str
        The other name of a renamed column.
    others : tuple of str
        The sets that have it under its other name.
    kinds : tuple of str
        Of a retyped column, what each of the `sets` holds.
    counts : tuple of int
        Of absurd values, how many each of the `sets` has.

    Examples
    --------
    >>> print(SchemaChange("only in", "price", ("training",)))
    price is in training only.
    >>> print(SchemaChange("renamed", "age", ("training",), "years", ("production",)))
    age is called years in production: the same values under a new name.
    >>> print(SchemaChange("retyped", "zip", ("A", "B"), kinds=("a number", "text")))
    zip is a number in A and text in B, so it is not compared.
    """

    kind: str
    column: str
    sets: tuple[str, ...]
    second: str = ""
    others: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()

    def __str__(self) -> str:
        sets, column = " and ".join(self.sets), quoted(self.column)
        if self.kind == "only in":
            return f"{column} is in {sets} only."
        if self.kind == "lacking":
            return f"{column} is not in {sets}; it counts as missing there."
        if self.kind == "renamed":
            others = " and ".join(self.others)
            return (
                f"{column} is called {quoted(self.second)} in {others}: the same values under a "
                "new name."
            )
        if self.kind == "absurd":
            both = zip(self.counts, self.sets, strict=True)
            rows = " and ".join(f"{plural(n, 'row')} of {name}" for n, name in both)
            return (
                f"{column} is infinite, beyond 1e100 or too small to be exact in {rows}; that "
                "counts as missing."
            )
        held: dict[str, list[str]] = {}
        for name, kind in zip(self.sets, self.kinds, strict=True):
            held.setdefault(kind, []).append(name)
        said = " and ".join(f"{kind} in {' and '.join(names)}" for kind, names in held.items())
        return f"{column} is {said}, so it is not compared."

    def to_dict(self) -> Record:
        """Plain types only, with the sentence."""
        plain = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(self).items()}
        return {**plain, "text": str(self)}


def absurd_values(
    columns: Sequence[str], names: Sequence[str], counts: Sequence[Mapping[str, int]]
) -> list[SchemaChange]:
    """Of each column with absurd values, how many every set has."""
    found = []
    for column in columns:
        own = {
            name: one[column] for name, one in zip(names, counts, strict=True) if one.get(column)
        }
        if own:
            kept = tuple(own), tuple(own.values())
            found.append(SchemaChange("absurd", column, kept[0], counts=kept[1]))
    return found


def only_in_some(
    columns: Sequence[Sequence[str]], names: Sequence[str], learned: Sequence[list[SetLearner]]
) -> list[SchemaChange]:
    """Columns that not every set has; those that are one under two names are found out."""
    having: dict[str, list[int]] = {}
    for k, own in enumerate(columns):
        for column in own:
            having.setdefault(column, []).append(k)
    some = {column: ks for column, ks in having.items() if len(ks) < len(columns)}

    def held(column: str) -> list[ColumnLearner]:
        ones = (one for k in some[column] for one in learned[k])
        return [one.columns[column] for one in ones if column in one.columns]

    # Columns of the first set and those of all others that hold the same values, one to one.
    fits = [
        (first, second)
        for first in some
        for second in some
        if sorted(some[first] + some[second]) == list(range(len(columns))) and 0 in some[first]
        if all(_same_values(a, b) for a in held(first) for b in held(second))
    ]
    times = Counter(column for pair in fits for column in pair)
    renamed = {first: second for first, second in fits if times[first] == times[second] == 1}
    changes = []
    for column, ks in some.items():
        sets = tuple(names[k] for k in ks)
        if column in renamed:
            others = tuple(names[k] for k in some[renamed[column]])
            changes.append(SchemaChange("renamed", column, sets, renamed[column], others))
        elif column not in renamed.values():
            changes.append(SchemaChange("only in", column, sets))
    return changes


def _same_values(a: ColumnLearner, b: ColumnLearner) -> bool:
    """Whether columns of two names hold the same values, as far as samples say."""
    if a.family != b.family or (a.text is None) != (b.text is None):
        return False
    if _shared(a, b) >= SAME_VALUES and (a.text is not None or len(a.different) > 2):
        return True
    if a.values is None or b.values is None or a.whole != b.whole:
        return False
    return _near(a.values, b.values)


def _shared(a: ColumnLearner, b: ColumnLearner) -> float:
    """The share of the different values of both that both have."""
    first, second = set(a.different), set(b.different)
    return len(first & second) / max(1, len(first | second))


def _near(a: Moments, b: Moments) -> bool:
    """Whether mean, spread and range are nearly those of the other."""
    if not a.count or not b.count:
        return False
    low, high = sorted((a.deviation, b.deviation))
    if high == 0:
        return a.mean == b.mean
    spread = math.hypot(low, high) / math.sqrt(2)
    return (
        low > 0
        and math.log(high / low) <= ALIKE
        and abs(a.mean - b.mean) <= ALIKE * spread
        and abs(a.low - b.low) <= spread
        and abs(a.high - b.high) <= 2 * spread
    )
