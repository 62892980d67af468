"""The document of two sets: a card to forward, then columns, relations, rows, parts, quality."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cospan.base.text import listed, number, pair_of, plural, quoted, share_text, shares_text
from cospan.base.types import Floats
from cospan.comparison import Comparison, RowToCheck
from cospan.evidence import FeatureChange, Finding, PairChange, Reading
from cospan.wording import (
    columns_lead,
    headline,
    interval_words,
    made_of_sentence,
    note_sentence,
    of_hundred,
    pair_sentence,
    sentence,
    value_text,
)

from . import charts
from .document import (
    Big,
    Block,
    Card,
    Cell,
    Chart,
    Document,
    Fact,
    Figure,
    Figures,
    Fold,
    Headline,
    Key,
    Notes,
    Point,
    Section,
    Table,
    Text,
)

#: Findings that a card has; a page shows the first three of them.
FINDINGS = 5
#: Columns and rows that are listed, of each kind, and relations with a picture.
MOST_COLUMNS, MOST_ROWS, PICTURED = 60, 5, 3
#: A change of spread, as a logarithm, that is said beside one of the average.
WORTH_SAYING = 0.1
#: Notes on how the data was read rather than on the data.
READING = ("encoding", "missing values", "embedding", "curved", "sampled", "schema")
PARTS = {"location": "averages", "scale": "overall spread", "shape": "spread and relations"}
HOW_TO_READ = (
    "Take one row of each set at random. The score is higher for the right one in so many of 100 "
    "such pairs. 50 is guessing, 100 is never wrong. It says nothing about which rows matter to "
    "you: the columns do."
)
WHY = "Why: the value, and what is usual (1% to 99%)"
#: What a change is called in the table of columns.
CHIPS = {
    "spread": ("narrower", "wider"), "shape": ("other form",) * 2, "level": ("other mix",) * 2,
    "value": ("one value",) * 2, "missing": ("fewer missing", "more missing"),
    "rounding": ("rounding",) * 2, "text": ("text",) * 2, "inside": ("subgroup",) * 2,
    "copy": ("copy",) * 2, "swap": ("swapped",) * 2,
}  # fmt: skip
MEANS = {"date": ("earlier", "later"), "time of day": ("earlier", "later")}
#: What notes are about, in two words.
NOTES = {
    "new levels": "New values", "vanished levels": "Values gone", "other case": "Other case",
    "constant": "Constant", "writing": "Other writing", "blanks": "Blanks", "text": "Text",
    "times": "Other times",
}  # fmt: skip


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


def pair_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The whole report of two sets of rows with named columns."""
    sides = sides_of(found)
    quality = quality_section(found)
    sections = [columns_section(found, sides)]
    if found.verdict.differs:
        sections += [*relations_section(found, sides), *rows_section(found), *parts_section(found)]
    else:
        sections += rows_section(found)
    sections += [*quality, made_section(found, command, files)]
    return Document(pair_card(found, sides), tuple(sections), found.to_dict(), footer_of(found))


def footer_of(found: Comparison) -> str:
    """Where the page comes from."""
    return f"cospan {found.version} · {found.seconds:.1f} seconds"


# ---- the card ----------------------------------------------------------------------------------


def pair_card(found: Comparison, sides: dict[str, Side]) -> Card:
    """What two sets have to say on one screen."""
    top = Headline(headline(found), columns_lead(found), keys_of(found))
    if found.verdict.differs:
        points = _once(point_of(one, found, sides) for one in found.findings[:FINDINGS])
        return Card(top, big_of(found), score_charts(found), points, (), facts_of(found))
    seen = [(one, *_seen(one, found)) for one in found.features]
    band = [
        (one.name, place, f"{one.name}: {values_of(one)}; would be seen from {words}")
        for one, place, words in seen
        if place == place
    ]
    caption = "Grey: changes too small to be seen with these rows."
    chart = charts.seen_from(band[:14], "what could not have been seen")
    side = (Figure("Every column is inside what chance allows.", caption, chart),) if band else ()
    return Card(top, big_of(found), score_charts(found), (), side, facts_of(found))


def _once(points: Iterable[Point]) -> tuple[Point, ...]:
    """The same with what to see in charts of one kind said once."""
    said: set[str] = set()
    kept = []
    for one in points:
        kept.append(replace(one, text="") if one.text in said else one)
        said.add(one.text)
    return tuple(kept)


def keys_of(found: Comparison) -> tuple[Key, ...]:
    """The sets, as they look on the page."""
    thing = "row" if found.image_shape is None else "picture"
    return tuple(
        Key(group.name, charts.LOOKS[k % 5], plural(group.total, thing))
        for k, group in enumerate(found.groups)
    )


def big_of(found: Comparison) -> Big:
    """The one number."""
    size, thing = (
        found.size,
        "row from each set" if found.image_shape is None else "picture of each",
    )
    before = f"Shown one {thing}, you could tell which is which"
    return Big(before, f"{of_hundred(size)} times in 100", interval_words(size))


def score_charts(found: Comparison) -> tuple[Chart, ...]:
    """The hills of the score, and the size on its ruler."""
    logs = [_log_odds(group.kept.weights) for group in found.groups]
    size, names = found.size, (found.names[0], found.names[1])
    return charts.hills(logs[0], logs[1], names), charts.ruler(float(size), size.low, size.high)


def _log_odds(weights: Floats) -> Floats:
    tiny = 1e-9
    return np.asarray(np.log(weights[:, 1] + tiny) - np.log(weights[:, 0] + tiny))


def point_of(one: Finding, found: Comparison, sides: dict[str, Side]) -> Point:
    """A finding with its chart."""
    verdict = found.verdict
    kind = verdict.kinds.get(one.column, "number")
    chart, text = finding_chart(one, found, sides)
    return Point(sentence(one, verdict.sets, kind), text, chart)


def finding_chart(
    one: Finding, found: Comparison, sides: dict[str, Side]
) -> tuple[Chart | None, str]:
    """The chart of a finding, and what to see in it."""
    names, side = (found.names[0], found.names[1]), sides.get(one.column)
    title = f"{one.column} in {names[0]} and {names[1]}"
    if one.kind in ("level", "value", "missing", "rounding", "identity", "copy") and one.a == one.a:
        what = {
            "level": f"Rows with {one.column} = {one.detail}",
            "missing": "Rows without a value",
        }
        words = partial(share_text, places=1 if max(one.a, one.b) < 0.1 else 0)
        chart = charts.bars((one.a, one.b), names, words, title)
        return chart, f"{what.get(one.kind, 'Share of the rows')}."
    if one.kind == "inside":
        return charts.bars((one.a, one.b), names, number, title), f"Averages of {one.column} there."
    if side is None:
        return None, ""
    other = sides.get(one.second)
    if one.kind in ("given", "scatter", "relation") and other is not None:
        drawn = along(one.second, other, one.column, side, names)
        if drawn is not None:
            return drawn
    if side.levels is not None:
        feature = found.features[one.column]
        return charts.levels(feature.a.levels, feature.b.levels, names), "Shares of its values."
    chart = charts.histogram(side.values[0], side.values[1], names, side.words, large=True)
    return chart, "The marks below are the averages."


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


def facts_of(found: Comparison) -> tuple[Fact, ...]:
    """The facts below, each with a link to what is behind it."""
    verdict, features = found.verdict, found.features
    still = [quoted(one.name) for one in features if not one.changed]
    rows, notes = found.rows, quality_notes(found)
    neither = sum(row.kind == "like no set" for row in rows)
    some = f"{' and '.join(still[:2])} did not" if 0 < len(still) <= 2 else ""
    facts = [
        sure_fact(found),
        Fact("Columns changed", f"{len(features.changed):,} of {len(features):,}",
             some or "adjusted for all columns", "columns"),
    ]  # fmt: skip
    if verdict.differs:
        pairs = found.feature_pairs
        first = (
            f"{quoted(pairs[0].first)} and {quoted(pairs[0].second)} first"
            if pairs.n_changed
            else ""
        )
        link = "relations" if pairs.n_changed else ""
        facts.append(Fact("Relations changed", f"{pairs.n_changed:,}", first, link))
    else:
        facts.append(Fact("Smallest visible change", _least(found), "of one column, 4 times in 5"))
    text = f"{neither:,} unlike both sets" if neither else "none unlike both sets"
    facts.append(Fact("Rows to check", f"{len(rows):,}", text, "rows" if rows else ""))
    first = notes[0][0].lower() if notes else "nothing odd"
    facts.append(
        Fact("Data quality", plural(len(notes), "note"), first, "quality" if notes else "")
    )
    return tuple(facts)


def sure_fact(found: Comparison) -> Fact:
    """The p-value, as far as relabellings can say it."""
    n = found.verdict.n_permutations
    if math.isnan(found.p):
        return Fact("How sure", "no test", "too few rows")
    return Fact("How sure", f"p {p_sign(found.p, n)}", plural(n, "relabelling"))


def p_sign(p: float, permutations: int = 999) -> str:
    """A p-value with its sign: relabellings cannot say less than one in all of them.

    >>> p_sign(0.001), p_sign(0.0342), p_sign(0.998)
    ('≤ 0.001', '= 0.034', '> 0.99')
    """
    least = 1 / (1 + permutations)
    if p <= least * 1.0001:
        return f"≤ {number(least, 1)}"
    return "> 0.99" if p > 0.99 else f"= {p:.2g}"


# ---- columns -----------------------------------------------------------------------------------


def columns_section(found: Comparison, sides: dict[str, Side]) -> Section:
    """Every column: its change, its distribution, what it was and is, in words."""
    changed, names = found.features.changed, (found.names[0], found.names[1])
    differs = found.verdict.differs
    heads = ("Column", "Change ↕", "Distribution", f"{names[0]} → {names[1]}",
             "In words" if differs else "Would be seen from", "p ↕")  # fmt: skip
    rows = []
    for one in found.features.rows[:MOST_COLUMNS]:
        words = _in_words(one, found) if differs else _seen(one, found)[1]
        p = one.p_adjusted
        sign = p_sign(p, found.verdict.n_permutations).removeprefix("= ") if p == p else ""
        rows.append(
            (
                Cell(one.name, look="name"),
                Cell(_chip(one), look="strong chip" if one.changed else "quiet chip",
                     value=0.0 if not one.changed else _strength(one)),
                Cell(chart=_distribution(one, sides, names)),
                Cell(values_of(one), look="pair"),
                Cell(words, look="words"),
                Cell(sign, look="number", value=p),
            )
        )  # fmt: skip
    n, more = len(found.features), len(found.features) - MOST_COLUMNS
    title = "No column changed"
    if changed:
        first = " and ".join(quoted(one.name) for one in changed[:2])
        title = f"{len(changed):,} of {plural(n, 'column')} changed"
        if len(changed) <= 2:
            title = f"{first} changed, of {plural(n, 'column')}"
        elif not found.features.nameless:
            title += f"; {first} most"
    lead = "Histograms run from the 1st to the 99th percentile. Hover for values."
    if more > 0:
        lead += f" The first {MOST_COLUMNS} are shown; {more:,} more are in the JSON."
    shown = 20 if n > 30 else 0
    table = Table(heads, tuple(rows), shown=shown)
    return Section("columns", "Columns", title, lead, (table,), keys=True)


def _chip(one: FeatureChange) -> str:
    finding = one.finding
    if finding is None:
        return "no change"
    up = finding.b > finding.a
    if finding.kind == "mean":
        return MEANS.get(one.kind, ("lower", "higher"))[up]
    return CHIPS.get(finding.kind, ("relation",) * 2)[up]


def _strength(one: FeatureChange) -> float:
    return abs(one.finding.z) if one.finding is not None and one.finding.z == one.finding.z else 0.0


def _distribution(
    one: FeatureChange, sides: dict[str, Side], names: tuple[str, str]
) -> Chart | None:
    side = sides.get(one.name)
    if one.kind == "category":
        return charts.levels(one.a.levels, one.b.levels, names)
    if one.kind == "boolean":
        shares = [{"yes": held.mean, "no": 1 - held.mean} for held in (one.a, one.b)]
        return charts.levels(shares[0], shares[1], names)
    if side is None:
        return None
    return charts.histogram(side.values[0], side.values[1], names, side.words)


def values_of(one: FeatureChange) -> str:
    """What a column was and is: averages, or the share of its most frequent level."""
    if one.kind == "category":
        level = max(
            one.a.levels or one.b.levels, key=lambda x: one.a.levels.get(x, 0.0), default=""
        )
        x, y = shares_text(one.a.levels.get(level, 0.0), one.b.levels.get(level, 0.0))
        return f"{charts.short(level, 16)} {x} → {y}"
    if math.isnan(one.a.mean) or math.isnan(one.b.mean):
        return " → ".join("none" if math.isnan(h.mean) else number(h.mean) for h in (one.a, one.b))
    if one.kind == "boolean":
        return " → ".join(shares_text(one.a.mean, one.b.mean))
    if one.kind in ("date", "time of day", "duration"):
        return " → ".join(value_text(held.mean, one.kind) for held in (one.a, one.b))
    return " → ".join(pair_of(one.a.mean, one.b.mean, 1))


def _in_words(one: FeatureChange, found: Comparison) -> str:
    """What the values beside it do not say already."""
    if one.finding is not None and one.finding.kind != "mean":
        return sentence(one.finding, found.verdict.sets, one.kind)
    a, b = one.a.deviation, one.b.deviation
    if one.finding is None or not (a > 0 and b > 0 and abs(math.log(b / a)) > WORTH_SAYING):
        return ""
    return sentence(Finding("spread", one.name, a=a, b=b), found.verdict.sets, one.kind)


def _seen(one: FeatureChange, found: Comparison) -> tuple[float, str]:
    """How far the column moved, in the smallest move that would have been seen, and that move."""
    least = found.verdict.smallest.get(one.name)
    if least is None:
        return math.nan, ""
    if one.kind == "category":
        both = {**one.a.levels, **one.b.levels}
        steps = [one.b.levels.get(x, 0.0) - one.a.levels.get(x, 0.0) for x in both]
        step, size = max(steps, key=abs, default=math.nan), least.share
    elif one.kind == "boolean":
        step, size = one.b.mean - one.a.mean, least.share
    else:
        step, size = one.b.mean - one.a.mean, least.mean
    if not size > 0 or step != step:
        return math.nan, ""
    words = number(size, 2)
    if one.kind in ("category", "boolean"):
        words = f"{number(100 * size, 2)} points"
    elif one.kind in ("date", "duration", "time of day"):
        words = value_text(size / (24 if one.kind == "time of day" else 1), "duration")
    return step / size, words


def _least(found: Comparison) -> str:
    """The smallest change of a column that would be seen, in its standard deviations."""
    steps = [one.deviations for one in found.verdict.smallest.values()]
    known = [step for step in steps if step == step]
    return f"{number(float(np.median(known)), 2)} sd" if known else "unknown"


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
