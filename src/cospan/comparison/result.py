"""What a comparison of K sets found: one frozen class, whatever their number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from cospan.base.tables import json_text, make_dataframe, plain
from cospan.base.types import DataFrame, Floats, Record, Values
from cospan.comparison.rows import RowToCheck, check_rows, find_rows
from cospan.comparison.score_files import joined, score_columns
from cospan.comparison.scoring import Group, Model, Names, pair_angle
from cospan.data import Chunk, SchemaChange
from cospan.errors import InputError, Note
from cospan.evidence import (
    Column,
    FeatureChange,
    Finding,
    PairChange,
    Reading,
    Size,
    Table,
    Verdict,
    columns_of,
    find_changes,
    plan_from,
    read_columns,
)
from cospan.model import JointFrame, ManyFrame, below_rate

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier

SCHEMA = 2  # of the JSON; raised whenever something that was there is gone or means something else
LISTED_ROWS = 100  # rows to check that the JSON has
#: Features times pairs that are tested to count which pairs differ; more would take minutes.
MOST_TESTED = 5_000
#: Relabellings of the rows of a pair: while there are so few pairs, and of more.
FEW_PAIRS, RELABELLINGS = 10, (999, 199)
#: Sizes as the map of sets takes them: nothing is at no distance, nor infinitely far.
PLACED = (0.501, 0.9999)
MOST_OFF = 0.1  # how far sizes may be from those that a map shows
#: Of the pairs that are said to differ, those that may be so by mistake.
MISTAKEN = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`compare` found out about two or more sets.

    `size`, `p`, `findings`, `features`, `feature_pairs` and `verdict` are about two
    sets: of more, about the pair that differs most (``found.farthest``); ``found.pair("a", "c")``
    is the comparison of two of them.

    Attributes
    ----------
    names : tuple of str
        What the sets are called.
    groups : tuple of Group
        The scored rows of each set; ``further`` are those that belong to no set, or None.
    fitted : JointFrame or SetCosts
        What was fitted to the sets.
    sizes : dict
        How different the sets of each pair (i, j) are, i < j.
    directions : JointFrame or ManyFrame
        Of two sets the joint frame; of more the directions that all sets have, some, or one.
    samples : tuple of Chunk
        Some rows of each set, drawn at random.
    feature_names : tuple of str
        One name per feature; where the data has none ``x0``, ``x1``, … or ``pixel 3,5``, …
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) where a row is a picture.
    settings : dict
        The settings used, ready for JSON.
    warnings : tuple of Note
        What a reader should know before believing the numbers.
    schema_changes : tuple of SchemaChange
        Columns that are not the same in all sets.
    version, seconds
        The version of cospan that made this, and how long it took.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = compare({"Barolo": X[y == 0], "Grignolino": X[y == 1]})
    >>> print(found.verdict.sentences[0])
    Barolo and Grignolino differ by a large amount.
    >>> found.size > 0.9, found.features[0].name, found.features[0].change
    (True, 'proline', 'mean')
    """

    names: tuple[str, ...]
    groups: tuple[Group, ...]
    further: Group | None
    fitted: Model
    sizes: dict[tuple[int, int], Size]
    directions: JointFrame | ManyFrame
    samples: tuple[Chunk, ...]
    feature_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None
    settings: dict[str, object]
    warnings: tuple[Note, ...]
    schema_changes: tuple[SchemaChange, ...]
    version: str
    seconds: float
    _verdict: Verdict | None = None
    _pairs: dict[tuple[int, int], Comparison] = field(default_factory=dict)

    # ---- two sets, or the two that differ most -------------------------------------------------

    @property
    def size(self) -> Size:
        """How different two sets are: the AUC of the angle, with ``.low`` and ``.high``."""
        return self.sizes[self._first]

    @cached_property
    def verdict(self) -> Verdict:
        """Whether two sets differ, how much, in what and how sure that is; print it."""
        if self._verdict is not None:
            return self._verdict
        return self.pair(*self._first).verdict

    @property
    def p(self) -> float:
        """The p-value of "both sets come from one distribution"; NaN with too few rows."""
        return self.verdict.pvalue

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What changed, the clearest first."""
        return self.verdict.findings

    @property
    def features(self) -> Table[FeatureChange]:
        """One row for each column of the data, changed ones first."""
        return self.verdict.columns

    @property
    def feature_pairs(self) -> Table[PairChange]:
        """Relations between columns that changed, the surest first."""
        return self.verdict.feature_pairs

    @property
    def frame(self) -> JointFrame:
        """The joint frame of the two sets; ``frame.align`` scores more rows."""
        if isinstance(self.fitted, JointFrame):
            return self.fitted
        raise InputError(
            "More than two sets have no joint frame; take found.pair(a, b).frame, or "
            "found.directions for those of all sets."
        )

    @property
    def model(self) -> JointFrame | AlignmentAngleClassifier:
        """What scores more rows, and can be saved by :func:`cospan.save`."""
        from cospan.estimator import AlignmentAngleClassifier

        if isinstance(self.fitted, JointFrame):
            return self.fitted
        g = self.fitted.geometry
        given: Record = {"span": g.span, "shrinkage": g.shrinkage, "tol": g.tol}
        if g.affine:
            given |= {"units": g.units, "pooling": g.pooling, "dof": g.dof}
        else:
            given |= {"center": g.center_mode, "balance": g.balance}
        return AlignmentAngleClassifier.from_fitted(self.fitted, np.array(self.names), **given)

    # ---- all sets ------------------------------------------------------------------------------

    @property
    def farthest(self) -> tuple[str, str]:
        """The two sets that differ most, of those that differ beyond chance where some do."""
        i, j = self._first
        return self.names[i], self.names[j]

    @cached_property
    def _first(self) -> tuple[int, int]:
        return (self.differing or self.by_size)[0] if len(self.sizes) > 1 else (0, 1)

    @cached_property
    def by_size(self) -> tuple[tuple[int, int], ...]:
        """Numbers of the sets of all pairs, the most different first."""

        def ambiguity(pair: tuple[int, int]) -> float:
            """The mean of sin 2θ: of sets that are told apart without fail, too, it says how."""
            weights = (self.groups[k].weights for k in pair)
            return sum(float(np.sin(2 * pair_angle(one, *pair)).mean()) for one in weights)

        return tuple(sorted(self.sizes, key=lambda pair: (-self.sizes[pair], ambiguity(pair))))

    @cached_property
    def map(self) -> Floats | None:
        """Places of the sets in a plane, (K, 2): the closer, the harder to tell apart; None where
        the sets are told apart otherwise than a plane can show.
        """
        places = place_sets(self.size_matrix)
        apart = np.linalg.norm(places[:, None] - places, axis=2)
        off = np.abs(ndtr(apart / np.sqrt(2)) - np.maximum(self.size_matrix, 0.5))
        return places if off.max() < MOST_OFF else None

    @property
    def size_matrix(self) -> Floats:
        """(K, K): the size of every pair; ½, no difference, where a set meets itself."""
        matrix = np.full((len(self.names), len(self.names)), 0.5)
        for (i, j), size in self.sizes.items():
            matrix[i, j] = matrix[j, i] = size
        return matrix

    def pair(self, a: str | int, b: str | int) -> Comparison:
        """The comparison of two of the sets, of their names or numbers.

        Of more than two sets it is made from the rows in `samples`, when it is first asked for.
        """
        numbers = {one: k for k, name in enumerate(self.names) for one in (k, name)}
        for one in (a, b):
            if one not in numbers:
                raise InputError(f"There is no set {one!r}; the sets are {', '.join(self.names)}.")
        i, j = numbers[a], numbers[b]
        if i == j:
            raise InputError(f"Both sets are {self.names[i]!r}; name two different ones.")
        if (i, j) == (0, 1) and self._verdict is not None:
            return self
        if (i, j) not in self._pairs:
            self._pairs[i, j] = self._make_pair(i, j)
        return self._pairs[i, j]

    @cached_property
    def differing(self) -> tuple[tuple[int, int], ...] | None:
        """The pairs that differ, at most one in twenty of them by mistake.

        None where there are too many pairs and features to test them all.
        """
        if len(self.by_size) * len(self.feature_names) > MOST_TESTED and len(self.by_size) > 1:
            return None
        p = np.array([self.pair(i, j).p for i, j in self.by_size])
        clear = below_rate(np.nan_to_num(p, nan=1.0), MISTAKEN)
        return tuple(pair for pair, one in zip(self.by_size, clear, strict=True) if one)

    def _make_pair(self, i: int, j: int) -> Comparison:
        g, names = self.fitted.geometry, (self.names[i], self.names[j])
        chunks = self.samples[i], self.samples[j]
        same: Record = {"pooling": g.pooling, "dof": g.dof} if g.affine else {}
        frame = JointFrame.fit(
            *(np.asarray(chunk.rows, dtype=np.float64) for chunk in chunks),
            span=g.span,
            units=g.units,
            shrinkage=g.shrinkage,
            calibrate=False,
            **same,
        )
        two = []  # the groups, as those of two sets
        for own, group in enumerate((self.groups[i], self.groups[j])):
            theta = pair_angle(group.weights, i, j)
            weights = np.column_stack([np.cos(theta) ** 2, np.sin(theta) ** 2])
            usual = group.typicality[:, [i, j]]
            two.append(replace(group, weights=weights, typicality=usual, own=own))
        groups = check_rows(two)
        size = self.sizes[min(i, j), max(i, j)]
        schema = tuple(one for one in self.schema_changes if one.between(*names))
        verdict = find_changes(
            frame,
            *chunks,
            names=self.feature_names,
            plan=plan_from(g.encoding),
            auc=size,
            set_names=names,
            schema=schema,
            permutations=RELABELLINGS[len(self.by_size) > FEW_PAIRS],
        )
        return replace(
            self,
            names=names,
            groups=groups,
            further=None,
            fitted=frame,
            sizes={(0, 1): size},
            directions=frame,
            samples=chunks,
            warnings=(),
            schema_changes=schema,
            _verdict=verdict,
            _pairs={},
        )

    # ---- rows ----------------------------------------------------------------------------------

    @property
    def every_group(self) -> tuple[Group, ...]:
        """The groups of the sets, and last that of the further rows, where there are some."""
        return self.groups if self.further is None else (*self.groups, self.further)

    @cached_property
    def weights(self) -> Floats:
        """(n, K): the probabilities of the sets for every row scored, further rows last."""
        return np.concatenate([group.weights for group in self.every_group])

    @property
    def ids(self) -> Names:
        """(n,): identifiers of those rows: row numbers, index values or file names."""
        return joined([group.ids for group in self.every_group])

    @cached_property
    def rows(self) -> tuple[RowToCheck, ...]:
        """The rows to check: those like no set, then those like another set than their own."""
        known = (self.columns, self.readings) if self.image_shape is None else ((), ())
        return find_rows(self.every_group, self.names, *known)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The user's columns, and which features were made of them."""
        return columns_of(plan_from(self.fitted.geometry.encoding), self.feature_names)

    @cached_property
    def readings(self) -> tuple[list[Reading], ...]:
        """The columns of each set's samples, as the user has them."""
        rows = (np.asarray(chunk.rows, dtype=np.float64) for chunk in self.samples)
        return tuple(read_columns(self.columns, part) for part in rows)

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """One row per scored sample, as a dataframe of the first library found.

        Of two sets: set, id, theta (degrees), cost_a, cost_b, share_a, share_shared, share_b,
        outside, relational, typicality_a, typicality_b, suspicion. Of K sets: set, id, nearest,
        second, theta between these two, suspicion, and a typicality and a weight for each set.
        Suspicion is 1 minus the probability of the set that the row is of, all sets
        counting alike; NaN where it is of none.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
        """
        return make_dataframe(self.table(), backend)

    def table(self) -> dict[str, Values]:
        """The columns of :meth:`to_frame`."""
        tables = [score_columns(self.names, g) for g in self.every_group]
        return {key: joined([table[key] for table in tables]) for key in tables[0]}

    # ---- on the way out ------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """All but the table of scores, as plain types; ``cospan/report/schema.json`` has it."""
        rows, p = self.rows, self.p
        groups = [
            {
                "name": group.name,
                "rows": group.total,
                "rows_scored": group.n,
                "like_no_set": int(group.neither.sum()),
            }
            for group in self.every_group
        ]
        return {
            "schema": SCHEMA,
            "cospan": self.version,
            "sets": groups[: len(self.names)],
            "scored": groups[-1] if self.further is not None else None,
            "farthest": list(self.farthest),
            "size": plain(self.size.to_dict()),
            "p": None if math.isnan(p) else p,
            "sentences": str(self).splitlines(),
            "pairs": [self._pair_dict(pair) for pair in self.by_size],
            "rows": {"count": len(rows), "listed": [row.to_dict() for row in rows[:LISTED_ROWS]]},
            "features": list(self.feature_names),
            "image_shape": plain(self.image_shape),
            "schema_changes": [change.to_dict() for change in self.schema_changes],
            "settings": plain(self.settings),
            "warnings": [note.to_dict() for note in self.warnings],
            "seconds": self.seconds,
        }

    def _pair_dict(self, pair: tuple[int, int]) -> dict[str, object]:
        found: Record = {
            "sets": [self.names[k] for k in pair],
            "size": plain(self.sizes[pair].to_dict()),
        }
        if self.differing is None and pair != self.by_size[0]:
            return {**found, **dict.fromkeys(("p", "differs", "changes"))}
        verdict = self.pair(*pair).verdict
        differs = verdict.differs if self.differing is None else pair in self.differing
        changes = verdict.to_dict()
        return {**found, "p": plain(verdict.pvalue), "differs": differs, "changes": changes}

    def to_json(self) -> str:
        """:meth:`to_dict` as text."""
        return json_text(self.to_dict())

    def save(self, path: str | Path) -> Path:
        """Write the report; the ending says how: .html, .md or .json. Returns the path."""
        from cospan.report import write  # the report reads comparisons, so it comes in late

        return write(self, path)

    def __str__(self) -> str:
        from cospan.wording.results import comparison_sentences

        return "\n".join(comparison_sentences(self))

    def _repr_html_(self) -> str:
        from cospan.report import fragment

        return fragment(self)

    def __repr__(self) -> str:
        z = "" if self.further is None else f", {self.further.n} scored"
        sizes = [f"{group.name!r} ({group.total} rows)" for group in self.groups[:3]]
        more = f" and {len(self.names) - 3} more" if len(self.names) > 3 else ""
        size = self.sizes[self.by_size[0]]  # without a test of every pair
        return f"<Comparison of {', '.join(sizes)}{more}{z}: size {float(size):.3f}>"


# ---- pairs ---------------------------------------------------------------------------------------


def place_sets(sizes: Floats) -> Floats:
    """(K, 2) places of K sets, the first one left of the last.

    Two normal sets of one spread that are d deviations apart have an AUC of Φ(d/√2): distances
    are those d, so that sets which differ in one thing lie on a line (classical scaling).
    """
    K = len(sizes)
    distance = np.sqrt(2) * ndtri(np.clip(sizes, *PLACED))
    np.fill_diagonal(distance, 0.0)
    centre = np.eye(K) - 1 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    if places[0, 0] > places[-1, 0]:
        places[:, 0] *= -1
    return np.asarray(places)
