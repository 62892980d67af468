"""The pairs of more than two sets: what changed between the two, and where their rows fall.

All pairs are shown while they are few, else the closest ones: the others would not fit into a page.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.text import number
from cospan.wording import size_interval, size_sentence

from . import _words
from ._changed import features_of, relations_of
from ._columns import Columns
from ._made import Origin
from ._patterns import pictures_of_means
from ._pictures import PictureShape
from ._text import called, clean
from .pieces import Feature, Pair, Picture, Relation, Tab

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cospan.comparison import ManyComparison

BINS = 30
MOST_COMMANDS = 300  # of pairs that are not
MOST_FEATURES, FEWEST_FEATURES, ALL_FEATURES = 12, 5, 240  # of a pair, and of all together
DRAWN_PAIRS = 12  # up to so many pairs, relations are drawn
SCATTERED = 60
#: Options with a value that a command for all sets has for itself.
OF_THE_WHOLE = (
    "-o", "--output", "--format", "--score", "--scores", "--labels", "--save", "--fail-on",
)  # fmt: skip


class Pairing:
    """Describes pairs of sets, `n` of them in all."""

    def __init__(self, c: ManyComparison, origin: Origin, n: int) -> None:
        self.c, self.origin, self.n = c, origin, n
        self.shape = None if c.image_shape is None else PictureShape.of(c.image_shape, 32)
        self.names = c.pair_changes.names
        self.features = min(MOST_FEATURES, max(FEWEST_FEATURES, ALL_FEATURES // n))

    def pair(self, i: int, j: int, rows: tuple[Tab, ...]) -> Pair:
        """The pair of sets i and j."""
        c = self.c
        auc = c.pairs.between(i, j).auc
        found = self._tested(i, j)
        first, second = (self._angles(k, i, j) for k in (i, j))
        return Pair(
            first=i,
            second=j,
            auc=round(float(auc), 4),
            interval=size_interval(auc),
            distance=f"{c.distance(i, j):.3f}",
            counts_first=first,
            counts_second=second,
            rows=rows,
            command=command_for(c.names[i], c.names[j], c.names, self.origin),
            pictures=self._pictures(i, j),
            **found,
        )

    def _tested(self, i: int, j: int) -> Mapping[str, Any]:
        """What changed between two sets, tested on the rows carried along."""
        tested = self.c.pair_changes.if_shown(i, j)
        if tested is None:
            return self._apart(i, j)
        changes = tested.changes
        columns = Columns(self.names, self.c.costs.geometry.encoding, tested.samples)
        names = called(self.c.names[i], 40), called(self.c.names[j], 40)
        relations: tuple[Relation, ...] = ()
        if self.n <= DRAWN_PAIRS:
            relations = relations_of(changes.feature_pairs, columns, 3, SCATTERED)
        spoken = [self.c.names[i], self.c.names[j]]
        return {
            "sentences": _words.spoken(changes.verdict.sentences[:5], spoken),
            "features": features_of(changes.features, names, columns, self.features)[0],
            "n_columns": len(changes.features),
            "n_changed": len(changes.features.changed),
            "relations": relations,
            "n_relations": changes.feature_pairs.n_changed,
        }

    def _pictures(self, i: int, j: int) -> tuple[Picture, ...]:
        if self.shape is None:
            return ()
        means = np.asarray(self.c.costs.geometry.means, dtype=np.float64)[[i, j]]
        names = [clean(self.c.names[k], 40) for k in (i, j)]
        return tuple(pictures_of_means(means, names, self.shape))

    def _angles(self, k: int, i: int, j: int) -> tuple[int, ...]:
        """How many rows of set k have which angle between sets i and j.

        Counted for both sets in the same bins: to mirror the counts from j to i would put rows at
        exactly 45° on the other side of it.
        """
        degrees = np.degrees(self.c.pair_theta(i, j)[self.c.group == k])
        return tuple(np.histogram(degrees, bins=BINS, range=(0, 90))[0].tolist())

    def _apart(self, i: int, j: int) -> Mapping[str, Any]:
        """Without tests: the features whose means are farthest apart, in their common unit."""
        c = self.c
        features: tuple[Feature, ...] = ()
        if self.shape is None:
            geometry = c.costs.geometry
            means = np.asarray(geometry.means, dtype=np.float64)
            unit = np.asarray(geometry.unit, dtype=np.float64)
            step = np.divide(means[j] - means[i], unit, out=np.zeros_like(unit), where=unit > 0)
            features = tuple(
                Feature(
                    clean(self.names[k]), "number", "", False, "", number(means[i, k]),
                    number(means[j, k]), {"difference": round(float(step[k]), 2)},
                )
                for k in np.argsort(-np.abs(step), kind="stable")[: self.features].tolist()
            )  # fmt: skip
        return {
            "sentences": (size_sentence(c.pairs.between(i, j).auc),),
            "features": features,
            "n_columns": len(self.names),
            "n_changed": None,
            "relations": (),
            "n_relations": 0,
        }


def command_for(a: str, b: str, names: tuple[str, ...], origin: Origin) -> str:
    """What to type for the whole page of two of the sets.

    >>> origin = Origin(
    ...     command="cospan compare x.csv y.csv z.csv -o all.html",
    ...     files=["x.csv", "y.csv", "z.csv"],
    ... )
    >>> command_for("x.csv", "z.csv", ("x.csv", "y.csv", "z.csv"), origin)
    'cospan compare x.csv z.csv -o pair.html'
    >>> origin = Origin(command="cospan compare iris.csv --label kind --score new.csv")
    >>> command_for("setosa", "virginica", ("setosa", "versicolor", "virginica"), origin)
    'cospan compare iris.csv --label kind --a setosa --b virginica -o pair.html'
    >>> command_for("x", "y", ("x", "y", "z"), Origin())
    "cospan.compare(sets['x'], sets['y'], name_a='x', name_b='y').save_html('pair.html')"
    """
    if not origin.command:
        words_for = [repr(clean(name, 60)) for name in (a, b)]
        sets = ", ".join(f"sets[{name}]" for name in words_for)
        named = f"name_a={words_for[0]}, name_b={words_for[1]}"
        return f"cospan.compare({sets}, {named}).save_html('pair.html')"
    words, kept = shlex.split(origin.command), list[str]()
    files = [str(file) for file in origin.files][: len(names)]
    classes = "--label" in words
    skip = False
    for word in words:
        if skip or word.split("=")[0] in OF_THE_WHOLE:
            skip = not skip and "=" not in word
            continue
        chosen = word in files and files.index(word) in (names.index(a), names.index(b))
        if classes or word not in files or chosen:
            kept.append(word)
    if classes:
        kept += ["--a", clean(a, 200), "--b", clean(b, 200)]
    return shlex.join([*kept, "-o", "pair.html"])
