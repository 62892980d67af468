"""The document: what a report says, as blocks in the order in which they are read.

A document is made once (`pair`, `sets`, `monitoring`) and shown by four renderers that compute
nothing: `html`, `markdown`, `terminal` and JSON. Charts are drawn when it is made; texts are plain
until a renderer escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Chart:
    """A static drawing: SVG of ours, and what it shows in a sentence."""

    svg: str
    title: str
    narrow: str = ""  # the same for phones, where it would be too small


@dataclass(frozen=True)
class Picture:
    """A PNG in base64, with words below it; `mark` is the set it belongs to."""

    png: str
    title: str
    text: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side, and what is above them."""

    items: tuple[Picture, ...]
    title: str = ""
    small: bool = False
    ends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Key:
    """A set: its name, its look (a, b, c, …) and how many rows it has."""

    name: str
    look: str
    text: str = ""


@dataclass(frozen=True)
class Headline:
    """The verdict in one sentence, and a second one on what it is about."""

    title: str
    lead: str
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Big:
    """The one number: what comes before it, the number, its interval."""

    before: str
    number: str
    after: str


@dataclass(frozen=True)
class Point:
    """One finding: its sentence, perhaps a second one, and a small chart."""

    title: str
    text: str = ""
    chart: Chart | None = None


@dataclass(frozen=True)
class Fact:
    """A number with a label; `link` is the section that has more."""

    label: str
    value: str
    text: str = ""
    link: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart with its caption: the first words stand out."""

    title: str
    text: str
    chart: Chart
    below: str = ""


@dataclass(frozen=True)
class Figures:
    """Figures side by side."""

    items: tuple[Figure, ...]


@dataclass(frozen=True)
class Cell:
    """One cell of a table: words, a chart, a chip; `value` is what it is sorted by."""

    text: str = ""
    chart: Chart | None = None
    look: str = ""  # "name", "chip", "strong chip", "number", "words", "pair", "key a", …
    value: float | None = None
    link: str = ""
    below: str = ""  # a second line
    lines: tuple[tuple[str, Chart | None, str], ...] = ()  # words, a chart, words, line by line


@dataclass(frozen=True)
class Table:
    """A table; `heads` whose name ends in ↕ sort it. The first `shown` rows are open."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    shown: int = 0


@dataclass(frozen=True)
class Notes:
    """Named remarks."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Text:
    """A paragraph; code where it is a command."""

    text: str
    code: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks behind a summary."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    id: str = ""


Block: TypeAlias = "Card | Chart | Figure | Figures | Fold | Notes | Pictures | Table | Text"


@dataclass(frozen=True)
class Card:
    """What can be forwarded alone: verdict, the one number, findings, facts."""

    headline: Headline
    big: Big | None = None
    charts: tuple[Chart, ...] = ()  # below the number
    points: tuple[Point, ...] = ()
    side: tuple[Block, ...] = ()  # where there are no points: a map, a band, pictures
    facts: tuple[Fact, ...] = ()
    wide: tuple[Block, ...] = ()  # over the whole width
    points_shown: int = 3
    side_first: bool = False
    boxed: bool = True


@dataclass(frozen=True)
class Section:
    """A part of the page: its heading is a sentence, `name` is its word in the navigation."""

    id: str
    name: str
    title: str
    lead: str = ""
    blocks: tuple[Block, ...] = ()
    keys: bool = False  # whether the sets' looks are shown below the heading


@dataclass(frozen=True)
class Document:
    """A report."""

    card: Card
    sections: tuple[Section, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)  # what the JSON has
    footer: str = ""

    @property
    def title(self) -> str:
        return self.card.headline.title
