"""What a report says: one frozen object for two sets and for more, whatever their size.

:func:`content_of` makes it from a comparison; every format is written from it, and its
:meth:`ReportContent.to_dict` is the JSON format. Fields that only two sets have, or only more, are
empty for the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ManyComparison

__all__ = ["ReportContent", "content_of"]


@dataclass(frozen=True)
class SetInfo:
    """One set: ``key`` is A and B of two sets, 1, 2, … of more; Z are rows to score."""

    key: str
    name: str
    rows: int
    scored: int
    note: str = ""


@dataclass(frozen=True)
class Tile:
    """One of the numbers to know first; ``target`` is the section that explains it."""

    label: str
    value: str
    note: str
    target: str


@dataclass(frozen=True)
class Part:
    """What share of the difference one kind of change is."""

    name: str
    words: str
    share: float
    pvalue: float | None


@dataclass(frozen=True)
class Histogram:
    """Counts of A and of B in equal bins from ``low`` to ``high``, or one for each level."""

    low: float
    high: float
    a: tuple[int, ...]
    b: tuple[int, ...]
    labels: tuple[str, ...] = ()
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Feature:
    """One of the user's columns: what it holds in both sets, in words and in numbers."""

    name: str
    kind: str
    change: str
    changed: bool
    sentence: str
    a: str
    b: str
    numbers: Mapping[str, Any]
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Relation:
    """Two features whose relation changed; points of both sets, from 0 to 100 on each axis."""

    first: str
    second: str
    sentence: str
    r_a: float
    r_b: float
    p_adjusted: float
    points_a: tuple[tuple[int, int], ...] = ()
    points_b: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Picture:
    """A picture as a PNG in base64, with its title."""

    title: str
    png: str


@dataclass(frozen=True)
class Angles:
    """How many rows of each set have which angle: 900 bins of a tenth of a degree.

    ``zero`` is log(cost A² / cost B²) at 45°.
    """

    counts: Mapping[str, tuple[int, ...]]
    separable: bool
    zero: float


@dataclass(frozen=True)
class Point:
    """A row on the map: ``row`` is its place among the rows, -1 where it is not listed."""

    group: str
    id: str
    x: float
    y: float
    theta: float
    row: int


@dataclass(frozen=True)
class Value:
    """A row's value in a column, its percentiles in A and in B, and how far it pulls."""

    column: int
    text: str
    a: int | None
    b: int | None
    pull: float


@dataclass(frozen=True)
class Nearest:
    """The nearest row of the other set, and its values in the same columns."""

    group: str
    id: str
    values: tuple[str, ...]
    picture: str = ""


@dataclass(frozen=True)
class Row:
    """A row to look at: how it was scored, what pulls it, its values, the nearest other row."""

    group: str
    id: str
    theta: float
    looks: str
    words: str
    x: float = 0.0
    y: float = 0.0
    label: str = ""
    typical: tuple[float, float] | None = None
    values: tuple[Value, ...] = ()
    nearest: Nearest | None = None
    weights: tuple[float, ...] = ()
    picture: str = ""
    pull: str = ""


@dataclass(frozen=True)
class Tab:
    """Rows of one kind: how many there are in all, and those listed."""

    key: str
    title: str
    meaning: str
    total: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Direction:
    """A direction: its angle in degrees, the shift of the means along it, its part of D."""

    number: int
    angle: float
    shift: float
    part: float
    kind: str
    weights: tuple[float, ...] = ()
    walk: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patterns:
    """The strongest directions over the ``features`` they are made of; dots for all of them."""

    size: int
    blocks: tuple[int, int, int]
    features: tuple[str, ...]
    directions: tuple[Direction, ...]
    dots: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Pair:
    """One pair of more than two sets: its AUC, angles, and the features that differ most."""

    first: int
    second: int
    auc: float
    interval: str
    distance: str
    counts_first: tuple[int, ...]
    counts_second: tuple[int, ...]
    features: tuple[tuple[str, str, str, float], ...]
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Note:
    """A remark on data quality; ``differs``: between the sets, rather than a matter of both."""

    code: str
    column: str
    text: str
    differs: bool


@dataclass(frozen=True)
class Measure:
    """A measure with its interval, for those who want all of them."""

    label: str
    text: str
    interval: str
    meaning: str


@dataclass(frozen=True)
class ReportContent:
    """Everything a report says, in plain values that JSON can carry.

    Parameters
    ----------
    title, date, version : str
    sets : tuple of SetInfo
        The sets, and Z last where rows were scored.
    level, badge : str
        ``"none"``, ``"small"``, ``"medium"`` or ``"large"``, and the words on the badge.
    verdict, findings : tuple of str
        The verdict in at most three sentences; then the first changes, one sentence each.
    warning : str
        What to know before believing the numbers; `remarks` has all of them.
    tiles : tuple of Tile
    parts : tuple of Part
    features : tuple of Feature
    n_changed : int
    relations : tuple of Relation
    n_relations : int
    pictures : tuple of Picture
        Where rows are pictures: means, their difference, prototypes, the pull.
    angles : Angles or None
    points : tuple of Point
    rows : tuple of Row
    columns : tuple of (str, str)
        Names and kinds of the columns that the rows' values speak of.
    tabs : tuple of Tab
    patterns : Patterns or None
    quality : tuple of Note
    measures : tuple of Measure
    remarks, sampling : tuple of str
    settings, made, inputs : tuple of (str, str)
        Settings; command and versions; what was read.
    order, auc, confusion, linkage, pairs, corners
        Of more than two sets: an order in which close ones are side by side, the matrix of AUCs,
        which set explains the rows of which best, what joins first, the pairs, and for three sets
        the rows' weights.
    """

    title: str
    date: str
    version: str
    sets: tuple[SetInfo, ...]
    level: str
    badge: str
    verdict: tuple[str, ...]
    findings: tuple[str, ...]
    warning: str
    tiles: tuple[Tile, ...]
    parts: tuple[Part, ...] = ()
    features: tuple[Feature, ...] = ()
    n_changed: int = 0
    relations: tuple[Relation, ...] = ()
    n_relations: int = 0
    pictures: tuple[Picture, ...] = ()
    angles: Angles | None = None
    points: tuple[Point, ...] = ()
    rows: tuple[Row, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    tabs: tuple[Tab, ...] = ()
    patterns: Patterns | None = None
    quality: tuple[Note, ...] = ()
    measures: tuple[Measure, ...] = ()
    remarks: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    order: tuple[int, ...] = ()
    auc: tuple[tuple[float | None, ...], ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    linkage: tuple[tuple[float, ...], ...] = ()
    pairs: tuple[Pair, ...] = ()
    corners: tuple[tuple[float, float, int], ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()

    @property
    def many(self) -> bool:
        """Whether there are more than two sets."""
        return bool(self.order)

    @property
    def named(self) -> Mapping[str, str]:
        """Names of the sets by their keys."""
        return {one.key: one.name for one in self.sets}

    def to_dict(self) -> dict[str, Any]:
        """The content as nested dicts and tuples, ready for ``json.dumps``."""
        return {"format": "cospan report", "format_version": 2, **asdict(self)}


def content_of(
    comparison: Comparison | ManyComparison,
    *,
    command: str | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
) -> ReportContent:
    """Reduce a comparison to what its report says.

    `command` is how it was made, `files` are what it was made from: their hashes are shown.
    """
    from cospan.comparison import ManyComparison

    from ._made import Origin

    if isinstance(comparison, ManyComparison):
        from .many import many_content

        return many_content(comparison, Origin(command, files))
    from .pair import pair_content

    return pair_content(comparison, Origin(command, files))
