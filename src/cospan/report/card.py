"""The card of a comparison: verdict, the one number, findings with their charts, facts."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from cospan.base.text import number, plural, quoted, share_text
from cospan.base.types import Floats
from cospan.comparison import Comparison
from cospan.evidence import Finding, size_word
from cospan.headlines import columns_lead, headline, interval_words, sets_lead
from cospan.wording import of_hundred, sentence

from . import charts
from .columns import Subject, p_sign, seen_from, values_of
from .document import (
    Big,
    Block,
    Card,
    Cell,
    Chart,
    Fact,
    Figure,
    Key,
    Point,
    Table,
    table,
)
from .drawing import short
from .sections import NO_SET, pair_id, quality_notes

#: Findings that a card has; columns of the band where nothing changed.
FINDINGS, BAND = 5, 14
#: Rows named as examples of each set, and of those in between.
EXAMPLES = 3
#: Kinds of findings whose values are shares of rows.
SHARES = ("level", "value", "missing", "rounding", "identity", "copy")


def pair_card(subject: Subject) -> Card:
    """What two sets have to say on one screen."""
    found = subject.found
    points: tuple[Point, ...] = tuple(Point(str(change)) for change in found.schema_changes)
    side: tuple[Block, ...] = ()
    if subject.pictures:
        pass  # they speak for themselves, and single pixels say nothing
    elif found.features.nameless:
        side = (examples_table(subject),) if found.verdict.differs else ()
    elif found.verdict.differs:
        points = _points(subject)
    else:
        side = _band(subject)
    thing = "picture of each" if subject.pictures else "row from each set"
    before = f"Shown one {thing}, you could tell which is which"
    big = Big(before, f"{of_hundred(found.size)} times in 100", interval_words(found.size))
    logs = [np.log(group.kept.weights + 1e-9) for group in found.groups]
    hills = charts.hills([log[:, 1] - log[:, 0] for log in logs], subject.names)
    return Card(headline(found), columns_lead(found), keys_of(subject), big,
                (hills, charts.ruler(found.size)), points, side)  # fmt: skip


def keys_of(subject: Subject) -> tuple[Key, ...]:
    """The sets, as they look on the page."""
    thing = "picture" if subject.pictures else "row"
    sizes = [plural(group.total, thing) for group in subject.found.groups]
    return tuple(map(Key, subject.names, subject.looks, sizes))


# ---- findings ----------------------------------------------------------------------------------


def _points(subject: Subject) -> tuple[Point, ...]:
    """The first findings with their charts; what to see in charts of one kind is said once."""
    verdict, points = subject.found.verdict, []
    said: set[str] = set()
    for one in subject.found.findings[:FINDINGS]:
        chart, text = finding_chart(one, subject)
        words = sentence(one, verdict.sets, verdict.kinds.get(one.column, "number"))
        points.append(Point(words, "" if text in said else text, chart))
        said.add(text)
    return tuple(points)


def finding_chart(one: Finding, subject: Subject) -> tuple[Chart | None, str]:
    """The chart of a finding, and what to see in it."""
    names, side = subject.names, subject.sides.get(one.column)
    title = f"{one.column} in {names[0]} and {names[1]}"
    if one.kind in SHARES and one.a == one.a:
        words = partial(share_text, places=1 if max(one.a, one.b) < 0.1 else 0)
        text = {"level": f"Rows with {one.column} = {one.detail}.",
                "missing": "Rows without a value."}.get(one.kind, "Share of the rows.")  # fmt: skip
        return charts.bars((one.a, one.b), names, words, title), text
    if one.kind == "inside":
        return charts.bars((one.a, one.b), names, number, title), f"Averages of {one.column} there."
    if side is None:
        return None, ""
    if one.kind in ("given", "scatter", "relation"):
        drawn = subject.along(one.second, one.column)
        if drawn is not None:
            return drawn
    if side.levels is not None:
        feature = subject.found.features[one.column]
        return charts.levels(feature.a.levels, feature.b.levels, names), "Shares of its values."
    chart = charts.histogram(side.values[0], side.values[1], names, side.words, large=True)
    return chart, "The marks below are the averages."


def _band(subject: Subject) -> tuple[Block, ...]:
    """Where nothing changed: every column inside what could not have been seen."""
    items = []
    for one in subject.found.features:
        place, words = seen_from(one, subject.found)
        said = f"{one.name}: {values_of(one)}; would be seen from {words}"
        if place == place:
            items.append((one.name, place, said))
    caption = "Grey: changes too small to be seen with these rows."
    title = "Every column is inside what chance allows."
    return (Figure(title, caption, charts.seen_from(items[:BAND])),) if items else ()


class Example(NamedTuple):
    """A row of the samples with its score: the probability of the second set."""

    own: int
    id: object
    score: float
    values: Floats


def examples_of(found: Comparison) -> list[Example]:
    """The rows of the samples that were scored, from the clearest A to the clearest B."""
    rows = []
    for k, (group, chunk) in enumerate(zip(found.groups, found.samples, strict=True)):
        score = dict(zip(map(str, group.kept.ids.tolist()), group.kept.weights[:, 1], strict=True))
        for name, values in zip(chunk.ids.tolist(), chunk.rows, strict=True):
            if str(name) in score:
                row = np.asarray(values, dtype=np.float64)
                rows.append(Example(k, name, float(score[str(name)]), row))
    return sorted(rows, key=lambda one: one.score)


def examples_table(subject: Subject) -> Table:
    """The clearest rows of each set, and those in between."""
    found, (a, b) = examples_of(subject.found), subject.names
    middle = sorted(found, key=lambda one: abs(one.score - 0.5))[:EXAMPLES]
    parts = (
        (f"clearest {a}", found[:EXAMPLES]),
        ("in between", middle),
        (f"clearest {b}", found[: -EXAMPLES - 1 : -1]),
    )
    rows = []
    for word, part in parts:
        for k, one in enumerate(part):
            like = f"{share_text(max(one.score, 1 - one.score))} {b if one.score > 0.5 else a}"
            own = Cell(subject.names[one.own], f"key {'ab'[one.own]}")
            leaning = charts.leaning(one.score, subject.names)
            id_ = short(str(one.id), 18)
            rows.append((word if k == 0 else "", id_, own, Cell(like, chart=leaning)))
    heads = {"Example": "name", "Row": "", "Set": "", "Looks like": "chart"}
    return table(heads, rows)


# ---- facts -------------------------------------------------------------------------------------


def facts_of(subject: Subject) -> tuple[Fact, ...]:
    """The facts below, each with a link to what is behind it."""
    found = subject.found
    if subject.many:
        middle = _facts_of_many(subject)
    else:
        n = found.verdict.n_permutations
        sure = Fact("How sure", f"p {p_sign(found.p, n)}", plural(n, "relabelling"))
        if math.isnan(found.p):
            sure = Fact("How sure", "no test", "too few rows")
        middle = [sure, *_facts_of_pair(subject)]
    thing = "Pictures" if subject.pictures and not subject.many else "Rows"
    rows, notes = found.rows, quality_notes(found)
    neither = sum(row.kind == NO_SET for row in rows)
    sets = "any set" if subject.many else "both sets"
    text = f"{neither:,} unlike {sets}" if neither else f"none unlike {sets}"
    if rows and not neither:
        text = f"look like {'another' if subject.many else 'the other'} set"
    about = notes[0][0].lower() if notes else "nothing odd"
    return (
        *middle,
        Fact(f"{thing} to check", f"{len(rows):,}", text, "rows" if rows else ""),
        Fact("Data quality", plural(len(notes), "note"), about, "quality" if notes else ""),
    )


def _facts_of_pair(subject: Subject) -> list[Fact]:
    """How many columns and relations changed, or what would have been seen."""
    found, features = subject.found, subject.found.features
    what = "Pixels" if subject.pictures else "Columns"
    counts = f"{len(features.changed):,} of {len(features):,}"
    facts = [
        Fact(
            f"{what} changed", counts, "adjusted for all", "made" if subject.pictures else "columns"
        )
    ]
    pairs = found.feature_pairs
    if not found.verdict.differs:
        steps = [one.deviations for one in found.verdict.smallest.values()]
        least = f"{number(float(np.nanmedian(steps)), 2)} sd" if steps else "unknown"
        facts.append(Fact("Smallest visible change", least, "of one column, 4 times in 5"))
    elif pairs.n_changed and not (features.nameless or subject.pictures):
        first = f"{quoted(pairs[0].first)} and {quoted(pairs[0].second)} first"
        facts.append(Fact("Relations changed", f"{pairs.n_changed:,}", first, "relations"))
    return facts


def _facts_of_many(subject: Subject) -> list[Fact]:
    """How sure, how large, how many columns."""
    found = subject.found
    facts = [Fact("How sure", "not tested", "too many pairs and columns")]
    if found.differing is not None:
        worst = max((found.pair(*pair).p for pair in found.differing), default=math.nan)
        most = p_sign(worst, found.verdict.n_permutations).replace("=", "≤")
        facts = [Fact("How sure", f"p {most}", "in every pair that differs")]
        facts = facts if found.differing else []
    sizes = [found.sizes[pair] for pair in found.by_size]
    words = [size_word(size) for size in sizes]
    counted = f"{words.count(words[0])} of {len(words)} {words[0]}"
    text = f"{of_hundred(sizes[-1])} to {of_hundred(sizes[0])} in 100"
    facts.append(Fact("Sizes", counted, text, "pairs"))
    if found.differing is not None and not subject.pictures:
        changed = {
            one.name for pair in found.differing for one in found.pair(*pair).features.changed
        }
        counted = f"{len(changed):,} of {len(found.features):,}"
        facts.append(Fact("Columns that differ", counted, "in any pair", "columns"))
    return facts


# ---- more than two sets ------------------------------------------------------------------------


def many_card(subject: Subject) -> Card:
    """How many pairs differ, a map and a matrix of the sizes."""
    found, names = subject.found, subject.names
    sizes = found.size_matrix
    text = "The farther apart two dots, the easier their rows are told apart."
    drawn = charts.set_map(names, *found.map)
    first = Figure("The sets on a map.", text, drawn)
    text = "of 100 (guessing: 50). Choose a pair to see it."
    tested = found.differing is not None
    drawn = charts.matrix(names, sizes, lambda i, j: f"#{pair_id(i, j)}" if tested else "")
    second = Figure("How often one row of each is told apart,", text, drawn)
    points = tuple(Point(str(change)) for change in found.schema_changes)
    return Card(headline(found), sets_lead(found), keys_of(subject), points=points,
                side=(first, second))  # fmt: skip
