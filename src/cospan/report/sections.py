"""Parts of a page that any comparison has: relations, rows to check, parts, quality, how made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cospan.base.text import listed, number, plural, quoted, share_text, shares_text
from cospan.base.types import Floats
from cospan.comparison import Comparison, RowToCheck
from cospan.evidence import PairChange, Reading
from cospan.headlines import made_of_sentence
from cospan.wording import note_sentence, of_hundred, pair_sentence, sentence, value_text

from . import charts
from .document import (
    Block,
    Cell,
    Chart,
    Figure,
    Figures,
    Fold,
    Notes,
    Section,
    Table,
    Text,
)

#: Rows that are listed, of each kind, and relations with a picture.
MOST_ROWS, PICTURED = 5, 3
PARTS = {"location": "averages", "scale": "overall spread", "shape": "spread and relations"}
HOW_TO_READ = (
    "Take one row of each set at random. The score is higher for the right one in so many of 100 "
    "such pairs. 50 is guessing, 100 is never wrong. It says nothing about which rows matter to "
    "you: the columns do."
)
WHY = "Why: the value, and what is usual (1% to 99%)"
#: What notes are about, in two words.
NOTES = {
    "new levels": "New values", "vanished levels": "Values gone", "other case": "Other case",
    "constant": "Constant", "writing": "Other writing", "blanks": "Blanks", "text": "Text",
    "times": "Other times",
}  # fmt: skip
#: Notes on how the data was read rather than on the data.
READING = ("encoding", "missing values", "embedding", "curved", "sampled", "schema")


class Side(NamedTuple):
    """A column of the samples, for charts: its values in each set, and how they are written."""

    kind: str
    values: tuple[Floats, ...]
    levels: tuple[str, ...] | None

    @property
    def words(self) -> Callable[[float], str]:
        return partial(value_text, kind=self.kind)


def sides_of(found: Comparison) -> dict[str, Side]:
    """The columns that have one value a row, by name."""
    sides = {}
    for k, column in enumerate(found.columns):
        own: list[Reading] = [next(r for r in side if r.column == k) for side in found.readings]
        if column.kind != "vector":
            values = tuple(one.values for one in own)
            sides[column.name] = Side(column.kind, values, own[0].levels)
    return sides


def along(
    x_name: str, x: Side, y_name: str, y: Side, names: tuple[str, str], wide: bool = False
) -> tuple[Chart, str] | None:
    """One column along another; of a level against a number the number is the one that varies."""
    if y.levels is not None and x.levels is None:
        x_name, x, y_name, y = y_name, y, x_name, x
    if y.levels is not None:
        return None
    text = f"{y_name} on average, by {x_name}."
    pairs = (x.values[0], x.values[1]), (y.values[0], y.values[1])
    if x.levels is not None:
        chart = charts.by_level(*pairs, x.levels, names, text, y.words, wide=wide)
    else:
        chart = charts.by_another(*pairs, names, text, x.words, y.words, wide=wide)
    return None if chart is None else (chart, text)


# ---- relations, rows, parts --------------------------------------------------------------------


def relations_section(found: Comparison, sides: dict[str, Side]) -> Iterator[Section]:
    """Pictures of the first relations that changed, and all of them in a table."""
    changed, n = found.feature_pairs.changed, found.feature_pairs.n_changed
    if not changed:
        return
    names = (found.names[0], found.names[1])
    blocks: list[Block] = []
    moved = {one.name for one in found.features.changed}
    figures = [drawn for one in changed[:12] if (drawn := _relation(one, sides, names, moved))]
    if figures:
        blocks.append(Figures(tuple(figures[:PICTURED])))
    heads = ("Columns", names[0], names[1], "In words")
    rows = tuple(
        (
            Cell(f"{one.first} · {one.second}", look="name"),
            Cell(f"{one.r_a:.2f}", look="number"),
            Cell(f"{one.r_b:.2f}", look="number"),
            Cell("closer" if abs(one.r_b) > abs(one.r_a) else "looser", look="words"),
        )
        for one in changed
    )
    text = "rank correlations in both sets"
    blocks.append(Fold(f"All {plural(n, 'changed relation')}", text, (Table(heads, rows),)))
    first = f"{quoted(changed[0].first)} and {quoted(changed[0].second)}"
    title = f"{plural(n, 'relation')} changed; that of {first} most"
    yield Section("relations", "Relations", title, "", tuple(blocks), keys=True)


def _relation(
    one: PairChange, sides: dict[str, Side], names: tuple[str, str], changed: set[str]
) -> Figure | None:
    x, y = sides.get(one.first_column), sides.get(one.second_column)
    if x is None or y is None:
        return None
    first, second = one.first_column, one.second_column
    if first in changed and second not in changed:  # along the column that stayed
        first, x, second, y = second, y, first, x
    drawn = along(first, x, second, y, names, wide=True)
    if drawn is None:
        return None
    title = f"{one.first} and {one.second}."
    return Figure(title, f"{pair_sentence(one)} Drawn: {drawn[1]}", drawn[0])


def rows_section(found: Comparison) -> Iterator[Section]:
    """Rows to check, the first of each kind with the values that conflict."""
    rows = found.rows
    if not rows:
        return
    two, nameless = len(found.names) == 2, found.features.nameless
    kinds = {
        "like no set": "Unlike both sets" if two else "Like no set",
        "like another set": "Look like the other set" if two else "Look like another set",
        "labelled otherwise": "Labelled otherwise",
    }
    counts = {kind: sum(row.kind == kind for row in rows) for kind in kinds}
    said = [f"{n:,} {kinds[kind][0].lower()}{kinds[kind][1:]}" for kind, n in counts.items() if n]
    blocks: list[Block] = []
    for kind, title in kinds.items():
        own = [row for row in rows if row.kind == kind]
        if own:
            heads: tuple[str, ...] = ("Row", "Set", "Looks like", WHY)
            cells = tuple(_row_cells(row, found) for row in own[:MOST_ROWS])
            if nameless:
                heads, cells = heads[:3], tuple(row[:3] for row in cells)
            blocks.append(Table(heads, cells, title))
    n = len(rows)
    shown = sum(min(count, MOST_ROWS) for count in counts.values())
    if n > shown:
        text = f"{shown} of the {n:,} are shown; found.rows has all of them in Python."
        blocks.append(Text(text))
    title = f"{plural(n, 'row')} {'deserves' if n == 1 else 'deserve'} a look"
    yield Section("rows", "Rows to check", title, f"{'; '.join(said)}.", tuple(blocks))


def _row_cells(row: RowToCheck, found: Comparison) -> tuple[Cell, ...]:
    look = found.names.index(row.set) if row.set in found.names else -1
    alone = row.kind == "like no set"
    like = f"{share_text(row.probability)} likely {row.like}"
    if alone:
        like = "neither" if len(found.names) == 2 else "none of them"
    return (
        Cell(str(row.id), look="number"),
        Cell(row.set, look=f"key {charts.LOOKS[look % 5]}" if look >= 0 else "words"),
        Cell(like, look="words"),
        Cell(_why(row), lines=tuple(_reason_lines(row, found)), look="words"),
    )


def _why(row: RowToCheck) -> str:
    """What conflicts, in words, where it is not drawn."""
    if not row.reasons:
        return "usual value by value, not together"
    return ", ".join(f"{one.column} {_shown(one.value, one.kind)}" for one in row.reasons)


def _shown(value: float | str, kind: str) -> str:
    return charts.short(value, 24) if isinstance(value, str) else value_text(value, kind)


def _reason_lines(row: RowToCheck, found: Comparison) -> Iterator[tuple[str, Chart | None, str]]:
    for one in row.reasons:
        text, words = (
            f"{one.column} {_shown(one.value, one.kind)}",
            partial(value_text, kind=one.kind),
        )
        if isinstance(one.value, str):
            shares = " · ".join(share_text(share, 1) for share, _ in one.usual[:2])
            yield text, None, f"in {shares} of the rows"
        elif not any(math.isnan(end) for ends in one.usual for end in ends):
            ranges = " · ".join(f"{words(low)} to {words(high)}" for low, high in one.usual[:2])
            yield text, charts.usual_range(one.value, one.usual, found.names, words), ranges


def parts_section(found: Comparison) -> Iterator[Section]:
    """What the difference is made of: averages, overall spread, spread and relations."""
    shares = found.verdict.shares
    if not shares:
        return
    chart = charts.made_of(shares, PARTS)
    lead = "Averages; all columns wider or narrower together; how single columns vary and relate."
    title = made_of_sentence(found.verdict)
    yield Section("parts", "Made of", title, lead, (chart,))


# ---- quality, and how it was made --------------------------------------------------------------


def quality_notes(found: Comparison) -> list[tuple[str, str]]:
    """Remarks on the data: columns that are not the same, gaps, oddities, what was left out."""
    notes = [("Other columns", str(change)) for change in found.schema_changes]
    repeated = [one for one in found.findings if one.kind == "repeated rows"]
    notes += [("Repeated rows", sentence(one, found.verdict.sets)) for one in repeated]
    gaps = [
        f"{quoted(one.name)} {' → '.join(shares_text(one.a.missing, one.b.missing))}"
        for one in found.features
        if max(one.a.missing, one.b.missing) > 0
    ]
    if gaps:
        more = f" and {len(gaps) - 6} more columns" if len(gaps) > 6 else ""
        notes.append(("Missing values", f"{'; '.join(gaps[:6])}{more}."))
    odd = found.changes.quality if found.image_shape is None else ()  # a pixel is no column
    still = [note.column for note in odd if not note.differs]
    if still:
        notes.append(
            ("Constant", f"{listed(still)} {'is' if len(still) == 1 else 'are'} constant.")
        )
    notes += [
        (NOTES.get(note.code, "Note"), note_sentence(note, found.verdict.sets))
        for note in odd
        if note.differs
    ]
    notes += [(n.code.capitalize(), str(n)) for n in found.warnings if n.code not in READING]
    return list(dict.fromkeys(notes))


def quality_section(found: Comparison) -> Iterator[Section]:
    """What is odd about the data, where something is."""
    notes = quality_notes(found)
    if notes:
        title = f"{plural(len(notes), 'note')} on data quality"
        yield Section("quality", "Quality", title, "", (Notes(tuple(notes)),))


def made_section(found: Comparison, command: str | None, files: Sequence[str]) -> Section:
    """How to make it again."""
    blocks: list[Block] = [Text(command, code=True)] if command else []
    g, names = found.fitted.geometry, found.names
    data = ", ".join(
        f"{name} {group.total:,} rows" for name, group in zip(names, found.groups, strict=True)
    )
    size = found.size
    items = [
        ("Data", f"{data}; {plural(len(found.feature_names), 'feature')}"),
        ("Size", f"AUC of the angle {size:.3f} [{size.low:.3f}, {size.high:.3f}]"),
        ("Words for size", "small from 0.56, medium from 0.64, large from 0.71"),
        ("p-value", f"{found.verdict.n_permutations:,} relabellings of "
         f"{' and '.join(f'{n:,}' for n in found.verdict.rows_tested)} rows"),
        ("Geometry", f"{g.span} span, {g.units} units, shrinkage {number(float(g.shrinkage))}, "
         f"pooling {number(float(g.pooling))}"),
        *(("File", str(path)) for path in files),
        ("Settings", ", ".join(f"{k}={v}" for k, v in found.settings.items() if v is not None)),
        *(("Reading", str(note)) for note in found.warnings if note.code in READING[:-1]),
        ("Version", f"cospan {found.version}"),
    ]  # fmt: skip
    notes = Notes(tuple(items))
    blocks.append(Fold("Settings and versions", "to repeat it exactly", (notes,)))
    reading = f"{of_hundred(size)} in 100 is not {of_hundred(size)}% of the rows"
    blocks.append(Fold("How to read the size", reading, (Text(HOW_TO_READ),)))
    return Section("made", "How made", "How this was made", "", tuple(blocks))
