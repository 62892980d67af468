"""What the content of a report is made of: small frozen records of plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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


#: A column in a few words: name, change, A, B, difference, adjusted p-value, part.
Bare = tuple[str, str, str, str, float, float, float]


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
class Chart:
    """A chart in a section of the page: ``drawing`` names the function that makes its SVG.

    The function gets the content and ``numbers``, which are there for this chart alone.
    """

    section: str
    drawing: str
    title: str = ""
    caption: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """One pair of more than two sets: AUC, angles, what changed, rows, and how to see all of it.

    ``n_changed`` is None where columns were not tested: then they are in the order of how far
    their means are apart. ``command`` makes the page of these two sets alone.
    """

    first: int
    second: int
    auc: float
    interval: str
    distance: str
    counts_first: tuple[int, ...]
    counts_second: tuple[int, ...]
    sentences: tuple[str, ...]
    features: tuple[Feature, ...]
    n_columns: int
    n_changed: int | None
    relations: tuple[Relation, ...]
    n_relations: int
    rows: tuple[Tab, ...]
    command: str
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
class Setting:
    """How far angles move, in degrees, when one setting is changed; the share that change side."""

    name: str
    mean: float
    most: float
    flips: float
