"""The document: what a report says, as blocks in the order in which they are read.

A document is made once (`comparison`, `monitoring`) and shown by renderers that compute nothing:
those of `writing`. Charts are drawn when it is made; texts are plain until a renderer escapes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias


class Chart(NamedTuple):
    """A static drawing: SVG of ours, and what it shows in a sentence."""

    svg: str
    title: str
    narrow: str = ""  # the same for phones, where it would be too small


class Figure(NamedTuple):
    """Words that stand out, words on what to see, and a chart: a caption, or a finding."""

    title: str
    text: str = ""
    chart: Chart | None = None


class Figures(NamedTuple):
    """Figures side by side."""

    figures: tuple[Figure, ...]


class Picture(NamedTuple):
    """A PNG in base64, with words below it; `mark` is the look of the set it belongs to."""

    png: str
    title: str
    text: str = ""
    mark: str = ""


class Pictures(NamedTuple):
    """Pictures side by side, and what is above them; in a strip they are small."""

    pictures: Sequence[Picture]
    title: str = ""
    ends: tuple[str, ...] = ()  # of a strip: what is at its left, in its middle, at its right


class Cell(NamedTuple):
    """One cell of a table: words, or a chart in their place where it can be drawn."""

    text: str = ""
    look: str = ""  # "name", "number", "pair", "words", "strong chip", "quiet chip", "key a", …
    chart: Chart | None = None
    value: float | None = None  # what it is sorted by
    link: str = ""
    lines: tuple[tuple[str, Chart | None, str], ...] = ()  # words, a chart, words, line by line


class Table(NamedTuple):
    """A table; heads that end in ↕ sort it."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def texts(self, most: int) -> list[list[str]]:
        """The heads and the first rows, of the columns that have words."""
        used = [k for k in range(len(self.heads)) if any(row[k].text for row in self.rows)]
        heads = [self.heads[k].removesuffix(" ↕") for k in used]
        return [heads, *([row[k].text for k in used] for row in self.rows[:most])]


def table(heads: Mapping[str, str], rows: Iterable[Sequence[Cell | Chart | str | None]]) -> Table:
    """A table of columns that have something; `heads` says how the cells of each look."""
    made = []
    for row in rows:
        cells = (one if isinstance(one, Cell) else Cell(one) if isinstance(one, str)
                 else Cell(chart=one) for one in row)  # fmt: skip
        looks = zip(cells, heads.values(), strict=True)
        made.append([cell._replace(look=cell.look or look) for cell, look in looks])
    used = [k for k in range(len(heads)) if any(row[k].text or row[k].chart for row in made)]
    return Table(
        tuple(tuple(heads)[k] for k in used), tuple(tuple(row[k] for k in used) for row in made)
    )


class Notes(NamedTuple):
    """Named remarks."""

    notes: tuple[tuple[str, str], ...]


class Text(NamedTuple):
    """A command, to copy it."""

    text: str


class Fold(NamedTuple):
    """Blocks behind a summary."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    id: str = ""


class Key(NamedTuple):
    """A set: its name, its look (a, b, c, …) and how many rows it has."""

    name: str
    look: str
    text: str = ""


class Fact(NamedTuple):
    """A number with a label above it and words below; `link` is the section that has more."""

    label: str
    value: str
    text: str = ""
    link: str = ""


class Card(NamedTuple):
    """What can be forwarded alone: verdict, the one number, findings, facts."""

    title: str
    lead: str
    keys: tuple[Key, ...] = ()
    big: Fact | None = None  # the one number
    charts: tuple[Chart, ...] = ()  # below it
    points: tuple[Figure, ...] = ()  # findings; a page shows the first three
    side: tuple[Block, ...] = ()  # in their place beside the number: a map, a band, pictures
    facts: tuple[Fact, ...] = ()
    wide: tuple[Block, ...] = ()  # over the whole width
    side_first: bool = False
    looks: str = ""  # of a pair of many: how its sets look, which have no box around them


Block: TypeAlias = Card | Chart | Figure | Figures | Fold | Notes | Pictures | Table | Text


class Section(NamedTuple):
    """A part of the page: its heading is a sentence, `name` is its word in the navigation."""

    id: str
    name: str
    title: str
    lead: str = ""
    blocks: tuple[Block, ...] = ()
    keys: bool = False  # whether the sets' looks are shown below the heading


class Document(NamedTuple):
    """A report; `data` is what its JSON has."""

    card: Card
    sections: tuple[Section, ...]
    data: Mapping[str, object]
    footer: str = ""


def made_section(
    command: str | None, notes: Sequence[tuple[str, str]], more: Sequence[Block] = ()
) -> Section:
    """The last one: how to make the report again."""
    code = [Text(command)] if command else []
    settings = Fold("Settings and versions", "to repeat it exactly", (Notes(tuple(notes)),))
    return Section("made", "How made", "How this was made", "", (*code, *more, settings))
