"""The document of two sets: a card to forward, then columns, relations, rows, parts, quality."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cospan.base.text import number, pair_of, plural, quoted, share_text, shares_text
from cospan.base.types import Floats
from cospan.comparison import Comparison
from cospan.evidence import FeatureChange, Finding
from cospan.headlines import columns_lead, headline, interval_words
from cospan.wording import of_hundred, sentence, value_text

from . import charts
from .document import (
    Big,
    Card,
    Cell,
    Chart,
    Document,
    Fact,
    Figure,
    Headline,
    Key,
    Point,
    Section,
    Table,
)
from .sections import (
    Side,
    along,
    made_section,
    parts_section,
    quality_notes,
    quality_section,
    relations_section,
    rows_section,
    sides_of,
)

#: Findings that a card has; a page shows the first three of them.
FINDINGS = 5
#: Columns that are listed.
MOST_COLUMNS = 60
#: A change of spread, as a logarithm, that is said beside one of the average.
WORTH_SAYING = 0.1
#: What a change is called in the table of columns.
CHIPS = {
    "spread": ("narrower", "wider"), "shape": ("other form",) * 2, "level": ("other mix",) * 2,
    "value": ("one value",) * 2, "missing": ("fewer missing", "more missing"),
    "rounding": ("rounding",) * 2, "text": ("text",) * 2, "inside": ("subgroup",) * 2,
    "copy": ("copy",) * 2, "swap": ("swapped",) * 2,
}  # fmt: skip
MEANS = {"date": ("earlier", "later"), "time of day": ("earlier", "later")}


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
    points = schema_points(found)
    return Card(top, big_of(found), score_charts(found), points, side, facts_of(found))


def schema_points(found: Comparison) -> tuple[Point, ...]:
    """Columns that are not the same in all sets."""
    return tuple(Point(str(change), "", None) for change in found.schema_changes)


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
        if len(changed) <= 2 and not found.features.nameless:
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
