"""The table of features: one row for each of the user's columns, changed ones first.

A column has changed when its p-value, adjusted over the columns (Benjamini and Hochberg), is at
most 0.05. Its p-value is the smallest of its tests times their number: the mean, the spread and
the shape of numbers, how often single values and multiples of 10, 5, 1, … occur, the levels of
categories and booleans, missing values, and its relations to other columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cospan._tables import make_dataframe
from cospan._types import Floats

from .grouping import Rows
from .measuring import SHOWN_LEVELS, Held, Measured
from .pairs import PairChange, Relations
from .repeats import Frequency
from .scatter import Scattered
from .twosample import adjusted
from .ways import ways_of

__all__ = ["LEVEL", "FeatureChange", "FeatureTable", "feature_table"]

#: Adjusted p-values up to this are evidence of a change.
LEVEL = 0.05


@dataclass(frozen=True)
class FeatureChange:
    """One column of the user's, in A and in B.

    Attributes
    ----------
    name : str
    kind : str
        ``"number"``, ``"boolean"``, ``"category"``, ``"date"``, ``"time of day"``, ``"duration"``
        or ``"vector"``.
    ways : tuple of str
        What changed, a word for each: ``"mean"``, ``"spread"``, ``"shape"``, ``"value"`` (how
        often a single value occurs), ``"rounding"``, ``"levels"`` (also of numbers with two
        values), ``"missing"``, ``"relation"`` or ``"none"``; the most important first.
    changed : bool
        Whether `p_adjusted` is at most 0.05.
    p, p_adjusted : float
        The column's p-value, and the same adjusted over the columns.
    difference : float
        Standardised difference, B less A: of means in standard deviations; of shares, Cohen's h,
        the largest over the levels of a category (without a sign).
    distance : float
        Between 0 and 1: Kolmogorov-Smirnov's of numbers, the chi-square distance
        √(½ Σ (p-q)²/(p+q)) of categories.
    a, b : Held
        Missing rate, mean, standard deviation, range or levels.
    part : float
        The column's part of D; the parts of all columns add up to D.
    share : float
        What share of the difference it is: of what is more than chance in D (see
        ``changes.kinds``). The shares of all columns add up to 1; NaN where the sets do not
        differ.
    pull : float
        The mean pull on the angle, where one was given; else NaN.
    tests : mapping
        The p-value of each test.
    level : str
        Of a category: the level whose share changed most surely. Of a boolean: the word for true.
    pair : PairChange or None
        Where relations changed: the first of this column's.
    broken : Scattered or None
        Where the column scatters more widely about what the others predict, in one set.
    farthest : tuple of float
        Of numbers: the value at which the distributions differ most (by `distance`), and the
        shares of the rows of A and of B that have at most this value.
    spike, grain : Frequency or None
        Of numbers: the value whose share changed most surely; the unit (a power of ten) for which
        the share of multiples did.
    others : tuple of Held
        Where a spike and more changed: what the rows without that value hold.
    """

    name: str
    kind: str
    ways: tuple[str, ...]
    changed: bool
    p: float
    p_adjusted: float
    difference: float
    distance: float
    a: Held
    b: Held
    part: float
    share: float = math.nan
    pull: float = math.nan
    tests: Mapping[str, float] = field(default_factory=dict)
    level: str = ""
    pair: PairChange | None = None
    broken: Scattered | None = None
    farthest: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    spike: Frequency | None = None
    grain: Frequency | None = None
    others: tuple[Held, Held] | None = None

    @property
    def change(self) -> str:
        """The words of `ways` in one text, such as ``"mean and spread"``."""
        *most, last = self.ways or ("",)
        return f"{', '.join(most)} and {last}" if most else last

    @property
    def of_shares(self) -> bool:
        """Whether the column has shares, of levels or of two values, and no mean or spread."""
        return self.kind in ("category", "boolean") or bool(self.a.levels)

    def without(self, way: str) -> FeatureChange:
        """The same but for one of its ways; there may be no other."""
        return replace(self, ways=tuple(one for one in self.ways if one != way))

    def to_dict(self) -> dict[str, Any]:
        """Plain types only; what does not apply is None."""
        row: dict[str, Any] = {
            key: getattr(self, key) for key in ("name", "kind", "change", "changed")
        }
        numbers = ("p", "p_adjusted", "difference", "distance", "part", "share", "pull")
        row |= {key: _finite(getattr(self, key)) for key in numbers}
        for side, held in (("a", self.a), ("b", self.b)):
            row |= {
                f"missing_{side}": held.missing,
                f"mean_{side}": _finite(held.mean),
                f"sd_{side}": _finite(held.deviation),
                f"low_{side}": _finite(held.low),
                f"high_{side}": _finite(held.high),
                f"levels_{side}": {k: float(v) for k, v in held.levels.items()},
            }
        row["tests"] = dict(self.tests)
        row["scatter"] = None if self.broken is None else self.broken.to_dict()
        for key in ("spike", "grain"):
            own = getattr(self, key)
            row[key] = None if own is None else {k: getattr(own, k) for k in ("value", "a", "b")}
        return row


@dataclass(frozen=True)
class FeatureTable:
    """Every column of the user's: changed ones first, the surest first.

    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + [0, 0, 2]
    >>> features = compare(A, B, n_permutations=99).features
    >>> [row.name for row in features.changed], features["x2"].ways
    (['x2'], ('mean',))
    """

    rows: tuple[FeatureChange, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[FeatureChange]:
        return iter(self.rows)

    def __getitem__(self, key: int | str) -> FeatureChange:
        if isinstance(key, str):
            for row in self.rows:
                if row.name == key:
                    return row
            raise KeyError(key)
        return self.rows[key]

    @property
    def changed(self) -> tuple[FeatureChange, ...]:
        return tuple(row for row in self.rows if row.changed)

    @property
    def nameless(self) -> bool:
        """Whether columns are many and called by their places only, as those of embeddings are."""
        many, places = 30, {f"x{k}" for k in range(len(self.rows))}
        return len(self.rows) >= many and {row.name for row in self.rows} == places

    def with_shares(self, shares: Mapping[str, float]) -> FeatureTable:
        """The same with these shares of the difference, by column."""
        return FeatureTable(
            tuple(replace(row, share=shares.get(row.name, math.nan)) for row in self.rows)
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        return [row.to_dict() for row in self.rows]

    def to_frame(self, backend: str | None = None) -> Any:
        """A dataframe of the library that is installed, or of the one named."""
        plain = ("name", "kind", "change", "changed", "p", "p_adjusted", "difference", "distance")
        columns: dict[str, Any] = {key: [getattr(r, key) for r in self.rows] for key in plain}
        for key, own in (("mean", "mean"), ("sd", "deviation"), ("missing", "missing")):
            for side in "ab":
                held = [getattr(r, side) for r in self.rows]
                columns[f"{key}_{side}"] = [getattr(h, own) for h in held]
        for side in "ab":
            columns[f"levels_{side}"] = [shown_levels(getattr(r, side)) for r in self.rows]
        for key in ("part", "share", "pull"):
            columns[key] = [getattr(r, key) for r in self.rows]
        return make_dataframe(columns, backend)


def shown_levels(held: Held) -> str:
    """The most frequent levels with their shares; empty for numbers."""
    first = sorted(held.levels.items(), key=lambda item: -item[1])[:SHOWN_LEVELS]
    return ", ".join(f"{level} {share:.0%}" for level, share in first if share > 0)


def feature_table(
    measured: Sequence[Measured],
    relations: Relations,
    rows: Rows,
    parts: Floats,
    pulls: Floats | None,
) -> FeatureTable:
    """Bring tests, relations and parts together, adjust, name and order.

    `parts` and `pulls` have one entry for each column.
    """
    # Relations count only where the column itself accounts for them.
    related = [relations.log_p[i] if i in relations.leads else 0.0 for i in range(len(measured))]
    for i, one in relations.broken.items():
        related[i] = min(related[i], one.log_p)
    tests = [
        {**of.tests, "relation": float(own)} for of, own in zip(measured, related, strict=True)
    ]
    log_p = np.array([min(0.0, min(t.values()) + math.log(len(t))) for t in tests])
    own = adjusted(log_p)
    changed = own <= math.log(LEVEL)
    words = ways_of(measured, tests, changed, rows)
    # At equal sizes the strength of the evidence is the size of the effect in units of its noise.
    effect = np.nan_to_num([abs(one.difference) for one in measured], nan=0.0)
    order = np.lexsort((-effect, log_p, ~changed))
    made = [
        FeatureChange(
            name=measured[i].column.name,
            kind=measured[i].column.kind,
            ways=words[i].ways,
            changed=bool(changed[i]),
            p=math.exp(log_p[i]),
            p_adjusted=math.exp(own[i]),
            difference=measured[i].difference,
            distance=measured[i].distance,
            a=measured[i].a,
            b=measured[i].b,
            part=float(parts[i]),
            pull=math.nan if pulls is None else float(pulls[i]),
            tests={key: math.exp(value) for key, value in tests[i].items()},
            level=_level(measured[i]),
            pair=relations.leads.get(i),
            broken=relations.broken.get(i),
            farthest=measured[i].farthest,
            spike=measured[i].spike,
            grain=measured[i].grain,
            others=words[i].others,
        )
        for i in order
    ]
    return FeatureTable(tuple(made))


def _level(one: Measured) -> str:
    """A category's level whose share changed most surely, a vector's place that did.

    Of a boolean the word for true.
    """
    column = one.column
    if column.kind == "boolean":
        return column.plan.truth[1] if column.plan is not None else "true"
    if column.kind == "vector" and column.plan is not None:
        return column.plan.features[one.place - column.features[0]]
    return min(one.level_tests, key=lambda level: one.level_tests[level], default="")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
