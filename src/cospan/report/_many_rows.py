"""Rows of more than two sets that are worth a look, with their values or pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import percent
from cospan.comparison.auditing import worst_rows

from ._columns import Columns
from ._pictures import PictureShape, grey_row, limits_of
from ._shelf import BORDER, LISTED, LONGEST_ID, Kind, Shelf, looks_like
from ._text import clean
from .pieces import Nearest, Row, Value

if TYPE_CHECKING:
    from cospan.comparison import ManyComparison

LISTED_OF_PAIRS = 160  # beside those: of all pairs together
MOST_NUMBERS = 20_000  # weights of rows in the page
MOST_VALUES = 20  # of a row


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
        notable = c.notable
        self.values: dict[int, NDArray[np.float64]] = {}
        if notable is not None:
            rows = np.asarray(notable.rows, dtype=np.float64)
            self.values = dict(zip(notable.row_index.tolist(), rows, strict=True))
        self.shape = None if c.image_shape is None else PictureShape.of(c.image_shape, 32)
        self.limits = limits_of([] if self.shape is None else list(self.values.values()))
        self.strange, self.theta, self.nearest = c.neither, c.theta, c.nearest
        shelf: Shelf[int] = Shelf(self.values.__contains__)
        room = min(LISTED, max(10, MOST_NUMBERS // (3 * len(self.names))))
        self.tabs = tuple(shelf.tab(kind, room) for kind in self._kinds())
        room = min(8, max(1, LISTED_OF_PAIRS // (2 * max(1, len(pairs)))))
        self.of_pairs = [
            tuple(shelf.tab(kind, room) for kind in self._between(*pair)) for pair in pairs
        ]
        self.rows = tuple(self._row(i) for i in shelf.places)

    def _between(self, i: int, j: int) -> Iterator[Kind]:
        """Rows of either of two sets that the other explains best, the surest first."""
        nearest, sure = self.nearest[:, 0], self.c.weights.max(axis=1)
        for own, other in ((i, j), (j, i)):
            index = np.flatnonzero((self.c.group == own) & (nearest == other))
            order = index[np.argsort(-sure[index], kind="stable")]
            named = {"own": self.names[own], "other": self.names[other]}
            title = "Rows of {own} that look most like {other}".format(**named)
            yield Kind(f"{own + 1}-to-{other + 1}", title, "", order.tolist())

    def _kinds(self) -> Iterator[Kind]:
        c = self.c
        own = np.flatnonzero(c.group < len(self.names))
        sure = c.weights.max(axis=1)
        # As the terminal lists them: by suspicion, and the least probable ones first.
        flagged, strange = own[worst_rows(c.audit, len(own))], np.flatnonzero(self.strange)
        meaning = "Rows that another set explains clearly better."
        yield Kind("elsewhere", "More like another set", meaning, flagged.tolist())
        order = np.argsort(c.strange[strange], kind="stable")
        meaning = "Rows that are unusual for every set."
        yield Kind("neither", "Like no set", meaning, strange[order].tolist())
        border = np.flatnonzero(np.sin(self.theta) ** 2 > BORDER)
        border = border[np.argsort(-c.entropy[border], kind="stable")]
        meaning = "Rows that two sets explain equally well."
        yield Kind("border", "Borderline", meaning, border.tolist(), False)
        z = np.flatnonzero(c.group == len(self.names))
        if len(z):
            title = f"{clean(c.name_z, 40)}, all"
            order = z[np.argsort(-sure[z], kind="stable")]
            meaning = "Rows that were scored, the surest first."
            yield Kind("z", title, meaning, order.tolist(), False)

    def _row(self, i: int) -> Row:
        c = self.c
        first, second = (int(k) for k in self.nearest[i])
        words = ", ".join(
            f"{percent(float(c.weights[i, k]))} {self.names[k]}" for k in (first, second)
        )
        values, nearest, picture = self._values(i, first)
        theta = float(self.theta[i])
        other, strange = math.sin(theta) ** 2, bool(self.strange[i])
        return Row(
            group=self.keys[int(c.group[i])],
            id=clean(c.ids[i], LONGEST_ID),
            theta=round(math.degrees(theta), 2),
            looks=looks_like(self.keys[first], other, strange, len(self.names)),
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
            own, other = (grey_row(x, self.shape, self.limits) for x in (row, mean))
            return (), Nearest(key, "mean", (), other), own
        unit = np.asarray(self.c.costs.geometry.unit, dtype=np.float64)
        away = np.divide(row - mean, unit, out=np.zeros_like(unit), where=unit > 0)
        far = [float(np.abs(away[f]).max(initial=0.0)) for f in self.columns.features]
        order = np.argsort(-np.array(far), kind="stable")[:MOST_VALUES].tolist()
        values = tuple(Value(j, self.columns.text(row, j), None, None, 0.0) for j in order)
        return values, Nearest(key, "mean", tuple(self._mean(mean, j) for j in order)), ""

    def _mean(self, mean: NDArray[np.float64], j: int) -> str:
        column = self.columns.columns[j]
        return "" if column.kind in ("category", "vector") else f"{mean[column.features[0]]:.4g}"
