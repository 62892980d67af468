"""Which rows of two sets are worth a look, and what is said about each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Floats
from cospan.comparison.auditing import LOOKS_ELSEWHERE, worst_rows

from ._columns import Columns
from ._pictures import PictureShape, grey_row, limits_of, signed_png
from ._shelf import BORDER, LISTED, LONGEST_ID, Kind, Shelf, looks_like
from ._text import called, clean
from ._words import both
from .pieces import Nearest, Point, Row, Tab, Value

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ScoredGroup

SPREAD = 25  # of each set, spread over all angles, beside those to check
MOST_VALUES = 30  # of a row, where it has more than ALL_VALUES
ALL_VALUES = 40
MOST_POINTS = 350  # of each set on the map
PICTURE_BYTES = 900_000  # of all pictures of rows together, in base64
NAMED = 0.3  # of the strongest pull: what pulls less is not named


@dataclass(frozen=True)
class Listing:
    """The rows to look at, in tabs, and all points of the map."""

    rows: tuple[Row, ...]
    tabs: tuple[Tab, ...]
    points: tuple[Point, ...]
    n_check: int


class _Group:
    """A scored group with the values of its rows at hand."""

    def __init__(self, key: str, group: ScoredGroup) -> None:
        self.key, self.group = key, group
        self.theta = np.degrees(np.asarray(group.alignment.theta, dtype=np.float64))
        self.probability = np.sin(np.radians(self.theta)) ** 2
        self.values: dict[int, tuple[Floats, Floats]] = {}
        kept = [(group.rows, group.row_index, group.attribution)]
        notable = getattr(group, "notable", None)
        if notable is not None:
            kept.append(tuple(notable))
        for rows, index, pulls in kept:
            if rows is None or pulls is None:
                continue
            for i, row in enumerate(np.asarray(index).tolist()):
                self.values.setdefault(row, (np.asarray(rows[i]), np.asarray(pulls[i])))
        self.known = np.zeros(len(self.theta), dtype=bool)
        self.known[list(self.values)] = True

        self.scored, self.strange = group.scored, group.neither


Chosen = tuple[str, int]  # a group's key and the place of a row among its kept ones


def list_rows(c: Comparison, columns: Columns, shape: PictureShape | None) -> Listing:
    """Choose the rows, explain each, and place all on the map."""
    keys = "ABZ"[: len(c.groups)]
    groups = {key: _Group(key, group) for key, group in zip(keys, c.groups, strict=True)}
    shelf: Shelf[Chosen] = Shelf(lambda row: bool(groups[row[0]].known[row[1]]))
    kinds = list(_kinds(c, groups))
    tabs = tuple(map(shelf.tab, kinds))
    check = {row for kind in kinds if kind.counts for row in kind.rows}
    writer, chosen = _Writer(c, columns, groups, shape), list(shelf.places)
    listed = writer.pictured(tuple(writer.row(*row) for row in chosen), chosen)
    return Listing(listed, tabs, _points(groups, shelf.places), len(check))


def _kinds(c: Comparison, groups: dict[str, _Group]) -> Iterator[Kind]:
    names = {"A": called(c.name_a, 40), "B": called(c.name_b, 40)}
    if "Z" in groups and c.audit_of == "z":
        meaning = "Their label says one set, their values the other."
        yield Kind("labels", "Labels in doubt", meaning, [("Z", i) for i in _flagged(c, "Z")])
    for own, other in (("B", "A"), ("A", "B")):
        named = {"own": names[own], "other": names[other]}
        title = "{other}-like rows of {own}".format(**named)
        meaning = "Rows of {own} that look at least four times as much like {other}.".format(
            **named
        )
        rows = [(own, i) for i in _astray(c, groups[own])]
        yield Kind(f"{other}-in-{own}".lower(), title, meaning, rows)
    meaning = "Rows that are unusual for both sets."
    yield Kind("neither", "Like neither", meaning, _strange(groups))
    if c.separated and (c.verdict is None or c.verdict.differs):
        meaning = "Rows that could as well be of either set."
        yield Kind("border", "Borderline", meaning, _border(groups), False)
    if "Z" in groups:
        z, title = groups["Z"], "{name}, all".format(name=clean(groups["Z"].group.name, 40))
        order = np.arange(len(z.theta)) if len(z.theta) <= LISTED else _spread(z, LISTED)
        meaning = "Rows that were scored, over all angles."
        yield Kind("z", title, meaning, [("Z", int(i)) for i in order], False, z.group.n)
    spread = [(key, int(i)) for key in "AB" for i in _spread(groups[key], SPREAD)]
    meaning, total = "Rows of both sets, spread over all angles.", c.group_a.n + c.group_b.n
    yield Kind("spread", "Some of all rows", meaning, spread, False, total)


def _strange(groups: dict[str, _Group]) -> list[Chosen]:
    """Rows like neither, as the terminal lists them: the least probable first."""
    found = [
        (float(np.asarray(own.scored.strange)[i]), place, int(i))
        for place, own in enumerate(groups.values())
        for i in np.flatnonzero(own.strange)
    ]
    return [("ABZ"[place], i) for _, place, i in sorted(found)]


def _flagged(c: Comparison, key: str) -> list[int]:
    """Rows of a group that the audit flags, most suspicious first."""
    if c.audit is None:
        return []
    start = len(c.group_a.ids) if key == "B" else 0
    found = worst_rows(c.audit, len(c.audit.labels)) - start
    return [i for i in found.tolist() if 0 <= i < len(c.groups["ABZ".index(key)].ids)]


def _astray(c: Comparison, own: _Group) -> list[int]:
    """Rows that look like the other set, those that do most first."""
    if c.audit_of == "sets":
        return _flagged(c, own.key)
    if not c.separated:
        return []
    other = own.probability if own.key == "A" else 1 - own.probability
    found = np.flatnonzero(other >= LOOKS_ELSEWHERE)
    return list(found[np.argsort(-other[found], kind="stable")].tolist())


def _border(groups: dict[str, _Group]) -> list[Chosen]:
    found = [
        (abs(float(own.theta[i]) - 45), key, int(i))
        for key, own in groups.items()
        for i in np.flatnonzero(np.minimum(own.probability, 1 - own.probability) > BORDER)
    ]
    return [(key, i) for _, key, i in sorted(found)]


def _spread(own: _Group, n: int) -> NDArray[np.intp]:
    """Rows with values, evenly spread over the angles in order."""
    known = np.flatnonzero(own.known)
    order = known[np.argsort(own.theta[known], kind="stable")]
    if len(order) <= n:
        return order
    return order[np.linspace(0, len(order) - 1, n).round().astype(np.intp)]


def _points(groups: dict[str, _Group], chosen: dict[Chosen, int]) -> tuple[Point, ...]:
    """A uniform sample of each group, and every row that is listed."""
    found = []
    for key, own in groups.items():
        index = np.asarray(own.group.row_index)
        index = index[:: max(1, -(-len(index) // MOST_POINTS))]
        listed = [i for k, i in chosen if k == key]
        for i in sorted({*index.tolist(), *listed}):
            x, y = _place(own, i)
            ident = clean(own.group.ids[i], LONGEST_ID)
            row = chosen.get((key, i), -1)
            found.append(Point(key, ident, x, y, round(float(own.theta[i]), 2), row))
    return tuple(found)


def _place(own: _Group, i: int) -> tuple[float, float]:
    """Logarithms of both costs."""
    alignment = own.group.alignment
    with np.errstate(divide="ignore"):
        x, y = np.log10([float(alignment.cost_a[i]), float(alignment.cost_b[i])])
    return round(float(x), 4), round(float(y), 4)


class _Writer:
    """Explains rows one by one."""

    def __init__(
        self,
        c: Comparison,
        columns: Columns,
        groups: dict[str, _Group],
        shape: PictureShape | None,
    ) -> None:
        self.c, self.columns, self.groups, self.shape = c, columns, groups, shape
        self.names = {"A": called(c.name_a, 60), "B": called(c.name_b, 60)}
        unit = np.asarray(c.frame.geometry.unit, dtype=np.float64)
        self.scale = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0)
        self.near: dict[Chosen, tuple[str, int]] = {}
        rows = [g.group.rows[:500] for g in groups.values() if g.group.rows is not None]
        self.limits = limits_of(rows if shape is not None else [])

    def row(self, key: str, i: int) -> Row:
        own = self.groups[key]
        p = float(own.probability[i])
        usual = own.scored.typicality[i].round(4).tolist()
        typical = None if np.isnan(usual).any() else (usual[0], usual[1])
        x, y = _place(own, i)
        labels = own.group.labels
        known = own.values.get(i)
        values: tuple[Value, ...] = ()
        words, nearest = "Its values were not kept.", None
        if known is not None:
            row, pulls = (np.asarray(v, dtype=np.float64) for v in known)
            by_column = self.columns.pulls(pulls[None])[0]
            words = self._words(row, by_column, p)
            order = np.argsort(-np.abs(by_column), kind="stable")
            order = order if len(order) <= ALL_VALUES else order[:MOST_VALUES]
            if self.shape is None:
                values = tuple(self._value(row, int(j), float(by_column[j])) for j in order)
            nearest = self._nearest(key, i, row, order, p)
        return Row(
            group=key, id=clean(own.group.ids[i], LONGEST_ID), theta=round(float(own.theta[i]), 2),
            looks=looks_like("AB"[p >= 0.5], min(p, 1 - p), bool(own.strange[i]), 2),
            words=words, x=x, y=y,
            label="" if labels is None else clean(labels[i], 40),
            typical=typical, values=values, nearest=nearest,
        )  # fmt: skip

    def _value(self, row: Floats, j: int, pull: float) -> Value:
        a, b = (self.columns.percentile(row, j, side) for side in (0, 1))
        return Value(j, self.columns.text(row, j), a, b, float(f"{pull:.3g}"))

    def _words(self, row: Floats, pulls: Floats, p: float) -> str:
        """What pulls the row to the side it is on, and what pulls against that."""
        if self.shape is not None or not np.any(pulls):
            return ""
        sign = 1.0 if p >= 0.5 else -1.0
        most = float(np.abs(pulls).max())
        order = np.argsort(-sign * pulls, kind="stable")
        toward = [int(j) for j in order[:3] if sign * pulls[j] >= NAMED * most]
        against = [int(order[-1])] if -sign * pulls[order[-1]] >= NAMED * most else []
        sides = ("B", "A") if sign > 0 else ("A", "B")
        texts = "{columns} pulls it to {name}", "{columns} pull it to {name}"
        parts = [
            texts[len(places) > 1].format(columns=self._listed(row, places), name=self.names[side])
            for places, side in zip((toward, against), sides, strict=True)
            if places
        ]
        return "; ".join(parts)

    def _listed(self, row: Floats, places: Sequence[int]) -> str:
        names = self.columns.named
        listed = [f"{clean(names[j][0], 40)} ({self.columns.text(row, j)})" for j in places]
        return listed[0] if len(listed) == 1 else both(", ".join(listed[:-1]), listed[-1])

    def _nearest(
        self, key: str, i: int, row: Floats, order: NDArray[np.intp], p: float
    ) -> Nearest | None:
        """The nearest of the other set's kept rows, every feature in its own unit."""
        other = {"A": "B", "B": "A"}.get(key) or ("B" if p >= 0.5 else "A")
        group = self.groups[other].group
        if group.rows is None or not len(group.rows):
            return None
        away = (np.asarray(group.rows) - row) * self.scale
        at = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        self.near[key, i] = (other, at)
        found = np.asarray(group.rows[at], dtype=np.float64)
        texts = (
            () if self.shape is not None else tuple(self.columns.text(found, int(j)) for j in order)
        )
        return Nearest(other, clean(group.ids[int(group.row_index[at])], LONGEST_ID), texts)

    # ---- pictures ----

    def pictured(self, rows: tuple[Row, ...], chosen: list[Chosen]) -> tuple[Row, ...]:
        """The rows with pictures of themselves, of what pulls them, and of their neighbours."""
        if self.shape is None or self.c.image_shape is None:
            return rows
        for longest in (48, 32, 24, 16):
            shape = PictureShape.of(self.c.image_shape, longest)
            found = tuple(self._picture(r, k, shape) for r, k in zip(rows, chosen, strict=True))
            near = (len(r.nearest.picture) for r in found if r.nearest is not None)
            if sum(len(r.picture) + len(r.pull) for r in found) + sum(near) <= PICTURE_BYTES:
                break
        return found

    def _picture(self, row: Row, chosen: Chosen, shape: PictureShape) -> Row:
        known = self.groups[chosen[0]].values.get(chosen[1])
        if known is None:
            return row
        nearest = row.nearest
        if nearest is not None:
            other, at = self.near[chosen]
            near = np.asarray(self.groups[other].group.rows)[at]
            nearest = replace(nearest, picture=self._grey(near, shape))
        return replace(
            row,
            picture=self._grey(known[0], shape),
            pull=signed_png(shape.shrink(known[1])[0]),
            nearest=nearest,
        )

    def _grey(self, row: Any, shape: PictureShape) -> str:
        return grey_row(row, shape, self.limits)
