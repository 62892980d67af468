"""The user's columns over encoded rows: a row's values as text, percentiles, histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import number, share_text
from cospan.base.types import Floats
from cospan.evidence import Column, columns_of, having, plan_from, present
from cospan.wording import value_text

from ._text import clean
from .pieces import Histogram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cospan.evidence import Held

BINS = 24
EXACT = 2.0**50  # whole numbers above have no fractions beside them
SHOWN_LEVELS = 8
TAILS = 0.005  # beyond these quantiles values are counted in the first and the last bin


class Columns:
    """The user's columns, and a uniform sample of rows of A and of B to compare values with."""

    def __init__(
        self, names: Sequence[str], encoding: Mapping[str, Any] | None, samples: Sequence[Any]
    ) -> None:
        self.feature_names = tuple(names)
        self.columns = columns_of(plan_from(encoding), names)
        self.place = {column.name: i for i, column in enumerate(self.columns)}
        self.samples = tuple(np.asarray(rows, dtype=np.float64) for rows in samples)
        self.named = tuple((clean(c.name), c.kind) for c in self.columns)
        self._cache: dict[int, tuple[Floats, Floats]] = {}

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def features(self) -> tuple[NDArray[np.intp], ...]:
        """Places of all features of each column, its indicator too."""
        return tuple(
            np.array([*c.features] + ([] if c.indicator is None else [c.indicator]), dtype=np.intp)
            for c in self.columns
        )

    def pulls(self, attribution: Floats) -> Floats:
        """(n, columns): what the features of each column pull together."""
        owner = np.empty(attribution.shape[1], dtype=np.intp)
        for i, features in enumerate(self.features):
            owner[features] = i
        return np.stack([np.bincount(owner, row, len(self.columns)) for row in attribution])

    def text(self, row: Floats, i: int) -> str:
        """A row's value in a column as the user wrote it, more or less."""
        column = self.columns[i]
        if present(row[None], column) is not None:
            return "missing"
        if column.kind == "category":
            return clean(_level(row, column), 60)
        if column.kind == "vector":
            return f"{len(column.features)} numbers"
        value = float(row[column.features[0]])
        if column.kind == "boolean":
            return "yes" if value > 0.5 else "no"
        return value_text(value, column.kind) if column.kind != "number" else number(value, 4)

    def percentile(self, row: Floats, i: int, side: int) -> int | None:
        """Percentile among a set's values; of categories and booleans the share that is equal."""
        column = self.columns[i]
        if column.kind == "vector" or not len(self.samples[side]):
            return None
        if column.kind == "category":
            place = column.features[int(np.argmax(row[list(column.features)]))]
            return round(100 * float(np.mean(self.samples[side][:, place] == 1)))
        if present(row[None], column) is not None:
            return None
        value = row[column.features[0]]
        if column.kind == "boolean":
            return round(100 * float(np.mean(self.samples[side][:, column.features[0]] == value)))
        ordered = self._sorted(i)[side]
        if not len(ordered):
            return None
        ends = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
        return round(100 * float(ends[0] + ends[1]) / (2 * len(ordered)))

    def histogram(self, i: int, held: tuple[Held, Held] | None = None) -> Histogram | None:
        """A and B in equal bins, or by level; None for vectors and columns without values."""
        column = self.columns[i]
        if column.kind == "vector":
            return None
        if column.kind in ("category", "boolean"):
            return None if held is None else _levels(column.kind, held)
        values = self._sorted(i)
        if not all(len(v) for v in values):
            return None
        edges = _edges(values)
        counts = [
            np.histogram(np.clip(v, edges[0], edges[-1]), bins=edges)[0].tolist() for v in values
        ]
        ends = tuple(value_text(float(x), column.kind) for x in _span(values))
        return Histogram(
            float(f"{edges[0]:.6g}"), float(f"{edges[-1]:.6g}"),
            tuple(counts[0]), tuple(counts[1]), (), (ends[0], ends[1]),
        )  # fmt: skip

    def scatter(self, features: tuple[int, int], side: int, most: int) -> tuple[Floats, Floats]:
        """Two features, each from 0 to 1, in rows of all parts of a set that have both."""
        there = np.ones(len(self.samples[side]), dtype=bool)
        for column, own in zip(self.columns, self.features, strict=True):
            if set(features) & set(own.tolist()):
                known = present(self.samples[side], column)
                there &= True if known is None else known
        found = []
        for feature in features:
            both = np.concatenate([s[:, feature] for s in self.samples])
            low, high = np.quantile(both, [TAILS, 1 - TAILS])
            span = high - low if high > low else 1.0
            values = self.samples[side][there, feature]
            if len(values) > most:  # sorted tables are common: the first rows are not like others
                values = values[np.linspace(0, len(values) - 1, most).astype(int)]
            found.append(np.clip((values - low) / span, 0, 1))
        return found[0], found[1]

    def _sorted(self, i: int) -> tuple[Floats, Floats]:
        if i not in self._cache:
            column = self.columns[i]
            a, b = (having(rows, column)[:, column.features[0]] for rows in self.samples[:2])
            self._cache[i] = np.sort(a), np.sort(b)
        return self._cache[i]


def _level(row: Floats, column: Column) -> str:
    at = int(np.argmax(row[list(column.features)]))
    if column.plan is None:
        return str(at)
    levels = column.plan.levels
    return levels[at] if at < len(levels) else "another level"


def _span(values: tuple[Floats, Floats]) -> tuple[float, float]:
    return min(v[0] for v in values), max(v[-1] for v in values)


def _edges(values: tuple[Floats, Floats]) -> Floats:
    """Equal bins; one for each whole number where there are few of them."""
    low, high = _span(values)
    whole = all(np.array_equal(v, np.round(v)) for v in values)
    small = max(abs(low), abs(high)) < EXACT  # above there are no halves
    if whole and small and high - low < BINS:
        return np.arange(low, high + 2) - 0.5
    inner = [np.quantile(v, [TAILS, 1 - TAILS]) for v in values]
    a, b = min(q[0] for q in inner), max(q[1] for q in inner)
    if b - a > 0.5 * (high - low):  # no long tails: show all of it
        a, b = low, high
    if not b > a:
        half = max(0.5, abs(a) / 1000)  # half a unit is nothing beside 1e17
        a, b = a - half, a + half
    return np.linspace(a, b, BINS + 1)


def _levels(kind: str, held: tuple[Held, Held]) -> Histogram | None:
    if kind == "boolean":
        yes, no = "yes", "no"
        shares = [{yes: h.mean, no: 1 - h.mean} if math.isfinite(h.mean) else {} for h in held]
    else:
        shares = [dict(h.levels) for h in held]
    names = sorted(
        shares[0].keys() | shares[1].keys(),
        key=lambda level: -max(s.get(level, 0.0) for s in shares),
    )
    if not names:
        return None
    shown, rest = names[:SHOWN_LEVELS], names[SHOWN_LEVELS:]
    counts = [[s.get(level, 0.0) for level in shown] for s in shares]
    if rest:
        counts = [
            [*c, sum(s.get(x, 0.0) for x in rest)] for c, s in zip(counts, shares, strict=True)
        ]
        shown = [*shown, f"{len(rest)} more"]
    a, b = (tuple(round(1000 * x) for x in c) for c in counts)
    return Histogram(0, 1000, a, b, tuple(clean(x, 40) for x in shown))


def _mean_text(mean: float, deviation: float) -> str:
    """A mean in as many digits as its spread makes useful: 44.97 beside 0.031, not 45."""
    digits = 3
    if 0 < deviation < abs(mean):
        digits = min(9, max(3, 1 + math.ceil(math.log10(abs(mean) / deviation))))
    return number(mean, digits)


def held_text(kind: str, held: Held) -> str:
    """What a set holds in a column, in a few words."""
    if kind == "category":
        first = sorted(held.levels.items(), key=lambda item: -item[1])[:2]
        text = ", ".join(f"{clean(k, 24)} {share_text(v)}" for k, v in first if v > 0)
    elif kind == "boolean":
        text = "" if math.isnan(held.mean) else f"yes {share_text(held.mean)}"
    elif held.levels:  # numbers, of which there are two
        level, share = list(held.levels.items())[-1]
        text = f"{level} in {share_text(share)}"
    elif kind in ("date", "time of day"):
        text = value_text(held.mean, kind) if math.isfinite(held.mean) else ""
    elif math.isfinite(held.mean):
        text = f"{_mean_text(held.mean, held.deviation)} ± {number(held.deviation)}"
    else:
        text = ""
    if held.missing > 0:
        gaps = f"{share_text(held.missing)} missing"
        text = f"{text}, {gaps}" if text else gaps
    return text or "no values"
