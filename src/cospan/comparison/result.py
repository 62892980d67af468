"""What a comparison of K sets found: plain frozen data that every surface reads.

:class:`~cospan.Comparison` and :class:`~cospan.ManyComparison` are views of a :class:`Result`.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cospan._json import json_text
from cospan.comparison.auditing import Audited
from cospan.comparison.fitting import Model
from cospan.comparison.pairs import Linkage, Pairs
from cospan.comparison.scorer import LikeNeither
from cospan.comparison.scoring import Group, Size
from cospan.comparison.testing import PairFindings
from cospan.frame import ManyFrame

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text


@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """What every comparison says of itself; see :class:`cospan.Comparison` for each."""

    image_shape: tuple[int, ...] | None
    settings: dict[str, object]
    warnings: tuple[str, ...]
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


def shared(result: Result, view: Any) -> dict[str, Any]:
    """What a view has under the same name."""
    names = {field.name for field in fields(view)} & {field.name for field in fields(result)}
    return {name: getattr(result, name) for name in names}


@dataclass(frozen=True, eq=False, repr=False)
class View(Facts, abc.ABC):
    """How a comparison is shown, whatever the number of sets."""

    @abc.abstractmethod
    def lines(self, width: int = 80) -> Iterator[Line]:
        """The summary, line by line, each with the name of its style."""

    @property
    @abc.abstractmethod
    def sizes(self) -> tuple[Size, ...]:
        """How many rows each set has, and last the further rows, where there are some."""

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
    @abc.abstractmethod
    def rows_like_neither(self) -> LikeNeither:
        """The kept rows that no set finds usual, at most one in twenty of them by mistake."""

    @abc.abstractmethod
    def score_columns(self) -> dict[str, Any]:
        """The columns of the table of scores."""

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
        from cospan._tables import make_dataframe

        return make_dataframe(self.score_columns(), backend)

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file, and return its path."""
        from cospan.report import save_html  # the report reads comparisons, so it comes in late

        # A view is a Comparison or a ManyComparison, which this module is below.
        return save_html(self, path)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from cospan.report import fragment

        return fragment(self)  # type: ignore[arg-type]  # as above
