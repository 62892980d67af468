"""Rows of more than two sets that are worth a look, with their values or pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan._language import say
from cospan._numbers import percent
from cospan.comparison.auditing import worst_rows

from ._columns import Columns
from ._pictures import PictureShape, grey_png
from ._text import clean
from .pieces import Nearest, Row, Tab, Value

if TYPE_CHECKING:
    from cospan.comparison import ManyComparison

LISTED = 50  # rows in a tab
LISTED_OF_PAIRS = 160  # beside those: of all pairs together
MOST_NUMBERS = 20_000  # weights of rows in the page
MOST_VALUES = 20  # of a row
BORDER = 40  # degrees between the two nearest sets, from which on a row is borderline


class ManyRows:
    """The rows to look at, in tabs."""

    def __init__(self, c: ManyComparison, pairs: Sequence[tuple[int, int]]) -> None:
        self.c, self.pairs = c, pairs
        self.keys = [*(str(k + 1) for k in range(len(c.names))), "Z"]
        self.names = [clean(name, 40) for name in c.names]
        d = c.costs.n_features
        called = c.feature_names or tuple(f"x{j}" for j in range(d))
        self.columns = Columns(called, c.costs.geometry.encoding, [np.zeros((0, d))] * 2)
        self.means = np.asarray(c.costs.geometry.means, dtype=np.float64)
        telling = c.telling
        self.values: dict[int, NDArray[np.float64]] = {}
        if telling is not None:
            rows = np.asarray(telling.rows, dtype=np.float64)
            self.values = dict(zip(telling.row_index.tolist(), rows, strict=True))
        self.shape = None if c.image_shape is None else PictureShape.of(c.image_shape, 32)
        self.limits = (0.0, 1.0)
        if self.values and self.shape is not None:
            low, high = np.quantile(np.stack(list(self.values.values())), (0.001, 0.999))
            self.limits = (float(low), float(high))
        self.chosen: dict[int, int] = {}
        room = min(LISTED, max(10, MOST_NUMBERS // (3 * len(self.names))))
        self.tabs = tuple(self._tab(*kind, room=room) for kind in self._kinds())
        room = min(8, max(1, LISTED_OF_PAIRS // (2 * max(1, len(pairs)))))
        self.of_pairs = [
            tuple(self._tab(*kind, room=room) for kind in self._between(*pair)) for pair in pairs
        ]
        self.rows = tuple(self._row(i) for i in self.chosen)

    def _tab(self, key: str, title: str, meaning: str, index: NDArray[np.intp], room: int) -> Tab:
        """A tab, whose rows are listed with those of the others."""
        known = [i for i in index.tolist() if i in self.values]  # those with values first
        shown = (known or index.tolist())[:room]
        for i in shown:
            self.chosen.setdefault(i, len(self.chosen))
        return Tab(key, title, meaning, len(index), tuple(self.chosen[i] for i in shown))

    def _between(self, i: int, j: int) -> list[tuple[str, str, str, NDArray[np.intp]]]:
        """Rows of either of two sets that the other explains best, the surest first."""
        found = []
        nearest, sure = self.c.nearest[:, 0], self.c.weights.max(axis=1)
        for own, other in ((i, j), (j, i)):
            index = np.flatnonzero((self.c.group == own) & (nearest == other))
            order = index[np.argsort(-sure[index], kind="stable")]
            named = {"own": self.names[own], "other": self.names[other]}
            title = say("Rows of {own} that look most like {other}", **named)
            found.append((f"{own + 1}-to-{other + 1}", title, "", order))
        return found

    def _kinds(self) -> list[tuple[str, str, str, NDArray[np.intp]]]:
        c = self.c
        own = np.flatnonzero(c.group < len(self.names))
        sure = c.weights.max(axis=1)
        degrees = c.degrees
        # As the terminal lists them: by suspicion, and the least usual ones first.
        flagged = own[worst_rows(c.audit, len(own))]
        border, strange = np.flatnonzero(degrees > BORDER), np.flatnonzero(c.neither)
        usual = c.typicality[strange].max(axis=1, initial=0.0)
        z = np.flatnonzero(c.group == len(self.names))
        kinds = [
            ("elsewhere", say("More like another set"),
             say("Rows that another set explains clearly better."), flagged),
            ("neither", say("Like no set"), say("Rows that are unusual for every set."),
             strange[np.argsort(usual, kind="stable")]),
            ("border", say("Borderline"), say("Rows that two sets explain equally well."),
             border[np.argsort(-c.entropy[border], kind="stable")]),
        ]  # fmt: skip
        if len(z):
            title = say("{name}, all", name=clean(c.name_z, 40))
            order = z[np.argsort(-sure[z], kind="stable")]
            kinds.append(("z", title, say("Rows that were scored, the surest first."), order))
        return kinds

    def _row(self, i: int) -> Row:
        c = self.c
        first, second = (int(k) for k in c.nearest[i])
        words = ", ".join(
            f"{percent(float(c.weights[i, k]))} {self.names[k]}" for k in (first, second)
        )
        values, nearest, picture = self._values(i, first)
        return Row(
            group=self.keys[int(c.group[i])],
            id=clean(c.ids[i], 80),
            theta=round(float(np.degrees(c.theta[i])), 2),
            looks=self.keys[first],
            words=words,
            weights=tuple(round(float(w), 4) for w in c.weights[i]),
            values=values,
            nearest=nearest,
            picture=picture,
        )

    def _values(self, i: int, first: int) -> tuple[tuple[Value, ...], Nearest | None, str]:
        """Values beside the means of the set it looks like; or pictures of both."""
        row = self.values.get(i)
        if row is None:
            return (), None, ""
        key, mean = self.keys[first], self.means[first]
        if self.shape is not None:
            own, other = (self._picture(x) for x in (row, mean))
            return (), Nearest(key, say("mean"), (), other), own
        unit = np.asarray(self.c.costs.geometry.unit, dtype=np.float64)
        away = np.divide(row - mean, unit, out=np.zeros_like(unit), where=unit > 0)
        far = [float(np.abs(away[f]).max(initial=0.0)) for f in self.columns.features]
        order = np.argsort(-np.array(far), kind="stable")[:MOST_VALUES].tolist()
        values = tuple(Value(j, self.columns.text(row, j), None, None, 0.0) for j in order)
        return values, Nearest(key, say("mean"), tuple(self._mean(mean, j) for j in order)), ""

    def _mean(self, mean: NDArray[np.float64], j: int) -> str:
        column = self.columns.columns[j]
        return "" if column.kind in ("category", "vector") else f"{mean[column.features[0]]:.4g}"

    def _picture(self, row: NDArray[np.float64]) -> str:
        assert self.shape is not None
        return grey_png(self.shape.shrink(row[None], keep_colour=True)[0], *self.limits)
