"""What a comparison of K sets found: plain frozen data that every surface reads.

:class:`~cospan.Comparison` and :class:`~cospan.ManyComparison` are views of a :class:`Result`.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from cospan.base.notes import Note
from cospan.base.tables import json_text
from cospan.comparison.auditing import Audited
from cospan.comparison.fitting import Model
from cospan.comparison.pairs import Linkage, PairFindings, Pairs
from cospan.comparison.score_files import joined, score_columns
from cospan.comparison.scorer import LikeNeither
from cospan.comparison.scoring import Group, Size
from cospan.data import SchemaChange
from cospan.model import ManyFrame

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text


@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """What every comparison says of itself; see :class:`cospan.Comparison` for each."""

    image_shape: tuple[int, ...] | None
    settings: dict[str, object]
    warnings: tuple[Note, ...]
    schema_changes: tuple[SchemaChange, ...]  # columns that are not the same in all sets
    version: str
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Result(Facts):
    """What was found about K sets."""

    names: tuple[str, ...]
    model: Model  # scores more rows
    #: The sets' own rows, each scored as if it had not been part of its set
    groups: tuple[Group, ...]
    further: Group | None  # rows that belong to no set
    pairs: Pairs  # how far apart any two sets are
    audited: Audited  # rows that look like another set
    #: Without a joint frame: the directions of all sets, and which sets join first
    directions: ManyFrame | None
    linkage: Linkage | None
    pair: PairFindings | None  # with one: the test, what changed, and how far each feature pulls
    feature_names: tuple[str, ...]
    #: Without a joint frame: some rows of each set, drawn at random, unless they are pictures
    samples: tuple[Any, ...] = ()
    merged: tuple[Any, ...] = ()  # beside each set's samples what a Chunk calls so

    @property
    def every_group(self) -> tuple[Group, ...]:
        return self.groups if self.further is None else (*self.groups, self.further)


def shared(result: Result, view: Any) -> dict[str, Any]:
    """What a view has under the same name."""
    names = {field.name for field in fields(view)} & {field.name for field in fields(result)}
    return {name: getattr(result, name) for name in names}


@dataclass(frozen=True, eq=False, repr=False)
class View(Facts, abc.ABC):
    """How a comparison is shown, whatever the number of sets."""

    _groups: tuple[Group, ...]  # of the sets, and last that of further rows, where there are some

    @abc.abstractmethod
    def lines(self, width: int = 80) -> Iterator[Line]:
        """The summary, line by line, each with the name of its style."""

    @property
    def sizes(self) -> tuple[Size, ...]:
        """How many rows each set has, and last the further rows, where there are some."""
        return tuple(Size(group.name, group.total, group.n) for group in self._groups)

    @property
    def further(self) -> Group | None:
        """The rows that belong to no set."""
        return self._groups[-1] if self._groups[-1].own is None else None

    @property
    @abc.abstractmethod
    def fitted(self) -> Model:
        """What was fitted to the sets: the joint frame of two, or costs to each of them."""

    @property
    @abc.abstractmethod
    def model(self) -> Any:
        """What scores more rows, and can be saved by :func:`cospan.save`."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Everything but the rows, as plain types: ``json.dumps`` takes it."""

    @property
    def rows_like_neither(self) -> LikeNeither:
        """The kept rows that no set finds usual, at most one in twenty of them by mistake."""
        kept = [group.kept for group in self._groups]
        sets = np.repeat([group.name for group in self._groups], [len(part.ids) for part in kept])
        usual = np.concatenate([part.typicality for part in kept])
        strange = np.concatenate([np.asarray(part.strange) for part in kept])
        found = np.concatenate([group.neither for group in self._groups])
        return LikeNeither.of(sets, joined([part.ids for part in kept]), usual, strange, found)

    def score_columns(self) -> dict[str, Any]:
        """The columns of the table of scores."""
        names = [group.name for group in self._groups if group.own is not None]
        tables = [score_columns(names, group.name, group.kept) for group in self._groups]
        return {key: joined([table[key] for table in tables]) for key in tables[0]}

    def summary(self, width: int = 80) -> str:
        """The comparison as text of about `width` columns, as the command line prints it."""
        return "\n".join(text for _, text in self.lines(width)).rstrip() + "\n"

    def to_json(self) -> str:
        """:meth:`to_dict` as text; ``schema.json`` in ``cospan/comparison`` says what is in it."""
        return json_text(self.to_dict())

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per scored sample, as a dataframe of the first library found.

        Of two sets: set, id, theta (degrees), cost_a, cost_b, share_a, share_shared, share_b,
        outside, relational, typicality_a, typicality_b, suspicion. Of K sets: set, id, nearest,
        second, theta between these two, entropy, suspicion, and a typicality and a weight for
        each set. Suspicion is 1 minus the probability of the set that the row is of, or labelled
        with, all sets counting alike; NaN where it is of none.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
        """
        from cospan.base.tables import make_dataframe

        return make_dataframe(self.score_columns(), backend)

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file, and return its path."""
        from cospan.report import save_html  # the report reads comparisons, so it comes in late

        # A view is a Comparison or a ManyComparison, which this module is below.
        return save_html(self, path)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from cospan.report import fragment

        return fragment(self)  # type: ignore[arg-type]  # as above
