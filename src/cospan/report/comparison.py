"""The document of a comparison: its card, and the sections below it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from cospan.base.text import cut_middle, listed, p_sign, plural, quoted, share_text, shares_text
from cospan.comparison import Comparison, RowToCheck
from cospan.evidence import IN_BOTH, LISTED, Finding, size_word
from cospan.wording import results
from cospan.wording.findings import finding_sentences, sentence, set_labels, value_text
from cospan.wording.results import SHOWN, made_of_sentence, of_hundred, schema_sentences

from . import charts
from .columns import (
    NO_SET,
    Subject,
    columns_section,
    over_sets_section,
    relations_section,
    seen_from,
    values_of,
)
from .document import (
    Block,
    Card,
    Cell,
    Chart,
    Document,
    Fact,
    Figure,
    Fold,
    Key,
    Notes,
    Section,
    Table,
    made_section,
    table,
)
from .pictures import Gallery

#: Of more pairs the folded ones have no charts: a page stays below 800 kB. More sets are no map.
MOST_DRAWN, MOST_MAPPED = 21, 6
#: Findings of a card; columns of the band where nothing changed; example rows; rows of a kind.
FINDINGS, BAND, EXAMPLES, MOST_ROWS = 5, 14, 3, 5
#: Kinds of findings whose values are shares.
SHARES = ("level", "value", "missing", "rounding", "identity", "copy")
WHY = "Why: the value, and what is usual (1% to 99%)"
PARTS = {"location": "averages", "scale": "overall spread",
         "shape": "spread and relations of {}"}  # fmt: skip
HOW_TO_READ = "0.5 is guessing, 1 certain. Small from 0.56. Medium from 0.64, large from 0.71."
#: Warnings on how the data was read, and those that a page says elsewhere.
READING = ("encoding", "missing values", "curved", "sampled")
SAID = (*READING, "schema")


def comparison_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The document of a comparison, whatever its sets are."""
    subject = Subject(found)
    card = many_card(subject) if subject.many else pair_card(subject)
    notes, more = quality_notes(found), list[Block]()
    sections = list(Gallery(subject).sections()) if subject.pictures else []
    if subject.many:
        sections += over_sets_section(subject) if subject.named else ()
        sections += [pairs_section(subject), *_pair_parts(subject)]
    elif subject.named:
        sections += [columns_section(subject), *relations_section(subject)]
    else:
        things = "pixels" if subject.pictures else "columns"
        single = columns_section(subject).blocks
        more.append(Fold(f"Single {things}", "those that differ most", single))
    if not subject.pictures:
        sections += rows_section(subject)
    if not subject.many:
        sections += parts_section(subject)
    if notes:
        sections.append(Section("quality", "Quality", "Data quality", "", (Notes(tuple(notes)),)))
    sections.append(how_made(subject, command, files, more))
    footer = f"cospan {found.version} · {found.seconds:.1f} seconds"
    lead = f"{card.lead} {results.aside_sentence(found)}".rstrip()
    card = card._replace(lead=lead, facts=tuple(_facts(subject, notes)))
    return Document(card, tuple(sections), found.to_dict(), footer)


def _pair_parts(subject: Subject) -> Iterator[Section]:
    """A card for every pair that was tested: of those that differ two are open, others folded."""
    found, folds = subject.found, []
    shown, pairs = found.differing or (), found.by_size if found.differing is not None else ()
    words = "Least different", "Most different"
    opened = dict(zip((*shown[-1:], *shown[:1]), words, strict=False))
    for i, j in pairs:
        pair = Subject(found.pair(i, j))
        card = pair_card(pair)._replace(looks=subject.looks[i] + subject.looks[j], keys=())
        if pair.found.verdict.differs and (i, j) not in shown:  # alone it would
            card = card._replace(lead="Not beyond chance among so many pairs.", points=())
        word = opened.get((i, j))
        if word is not None:
            yield Section(pair_id(i, j), word, f"{word}: {card.title}", card.lead, (card,))
            continue
        if len(pairs) > MOST_DRAWN:
            card = card._replace(points=tuple(one._replace(chart=None) for one in card.points))
        folds.append(Fold(" and ".join(pair.names), card.lead, (card,), pair_id(i, j)))
    if folds:
        yield Section("others", "Other pairs", "The other pairs", "", tuple(folds))


# ---- cards -------------------------------------------------------------------------------------


def pair_card(subject: Subject) -> Card:
    """What two sets have to say on one screen."""
    found, side = subject.found, tuple[Block, ...]()
    if subject.pictures:  # they speak for themselves, and single pixels say nothing
        side = (Gallery(subject).averages(),)
    elif subject.calm:
        side = _band(subject) if subject.named else ()
    elif not subject.named:
        side = (_examples(subject),)
    label = SHOWN.format(f"{subject.thing} from each set")
    words = results.interval_words(found.size)
    big = Fact(label, f"{of_hundred(found.size)} times in 100", words)
    logs = [np.log(group.weights + 1e-9) for group in found.groups]
    hills = charts.hills([log[:, 1] - log[:, 0] for log in logs], subject.names)
    lead = " ".join([*schema_sentences(found.verdict, 2), results.columns_lead(found)])
    drawn = hills, charts.ruler(found.size)
    return Card(results.headline(found), lead, _keys(subject), big, drawn,
                tuple(_points(subject)), side, side_first=subject.pictures)  # fmt: skip


def many_card(subject: Subject) -> Card:
    """How many pairs differ, a map and a matrix of the sizes."""
    found, names = subject.found, subject.names
    side: list[Block] = [Gallery(subject).averages()] if subject.pictures else []
    mapped = results.apart(found) and len(names) <= MOST_MAPPED and not subject.pictures
    if mapped and found.map is not None:
        text = "The farther apart two dots, the easier their rows are told apart."
        side = [Figure("The sets on a map.", text, charts.set_map(names, found.map))]
    text = f"How often one {subject.thing} of each is told apart,"
    second = Figure(text, "of 100 (guessing: 50).", charts.matrix(names, found.size_matrix))
    title = results.headline(found)
    said = [line for line in results.comparison_sentences(found) if line != title]
    points, lead = tuple(map(Figure, said)), results.sets_lead(found)
    return Card(title, lead, _keys(subject), points=points, side=(*side, second))


def _keys(subject: Subject) -> tuple[Key, ...]:
    """The sets, as they look on the page."""
    sizes = [plural(group.total, subject.thing) for group in subject.found.groups]
    return tuple(map(Key, subject.names, subject.looks, sizes))


# ---- findings ----------------------------------------------------------------------------------


def _points(subject: Subject) -> Iterator[Figure]:
    """The first findings with their charts; without names only repeated rows."""
    verdict = subject.found.verdict
    found = () if results.only_repeated(verdict) else results.told(verdict)
    for one in (*found, *results.remarkable(verdict))[:FINDINGS]:
        chart, text = _finding_chart(one, subject)
        (words,) = finding_sentences(verdict, [one])
        yield Figure(words, text, chart)


def _finding_chart(one: Finding, subject: Subject) -> tuple[Chart | None, str]:
    """The chart of a finding, and what to see in it."""
    names, side = subject.names, subject.sides.get(one.column)
    title, text = f"{one.column} in {names[0]} and {names[1]}", ""
    if one.where is not None:
        text = f"Only rows where {quoted(one.where[0])} = {quoted(one.where[1])}."
    if one.kind in SHARES and one.a == one.a:
        words = partial(share_text, places=1 if max(one.a, one.b) < 0.1 else 0)
        return charts.bars((one.a, one.b), names, words, title), text
    if one.kind == "inside":
        words, what = partial(value_text, kind=one.of), "Spreads" if one.part else "Averages"
        return charts.bars((one.a, one.b), names, words, title), f"{what} of {one.column} there."
    if side is None or "missing" in (one.part, one.detail):  # gaps are no values
        return None, text
    values = subject.values(one.column, one.where)
    if one.kind in ("given", "scatter", "relation"):
        ends = f"{one.column} = {one.part}", f"{one.second} = {one.detail}"
        drawn = subject.along(one.second, one.column, ends)
        if drawn is not None:
            return drawn
    if side.levels is not None:
        feature = subject.found.features[one.column]
        return None if one.where else charts.levels(feature.a.levels, feature.b.levels, names), text
    return charts.histogram(values, names, side.words, 216, 66), text


def _band(subject: Subject) -> tuple[Block, ...]:
    """Where nothing changed: every column inside what could not have been seen."""
    items = []
    for one in subject.found.features:
        place, words = seen_from(one, subject.found)
        said = f"{one.name}: {values_of(one)}; would be seen from {words}"
        if place == place:
            items.append((one.name, place, said))
    caption = "Grey: changes too small to be seen with these rows."
    caption += f" The {BAND} that moved most are shown." if len(items) > BAND else ""
    shown = sorted(items, key=lambda item: -abs(item[1]))[:BAND]
    drawn = charts.for_phones(partial(charts.seen_from, shown), 520, 334)
    return (Figure("Every column is inside what chance allows.", caption, drawn),) if items else ()


def _examples(subject: Subject) -> Table:
    """The clearest rows of each set, and those in between."""
    found, (a, b) = subject.examples, subject.names
    middle = sorted(found, key=lambda one: abs(one.score - 0.5))[:EXAMPLES]
    clear = {f"clearest {a}": found[:EXAMPLES], "in between": middle,
             f"clearest {b}": found[: -EXAMPLES - 1 : -1]}  # fmt: skip
    rows = []
    for word, part in clear.items():
        for k, one in enumerate(part):
            like = f"{share_text(max(one.score, 1 - one.score))} {b if one.score > 0.5 else a}"
            own = Cell(subject.names[one.own], f"key {'ab'[one.own]}")
            rows.append((word if k == 0 else "", cut_middle(str(one.id), 18), own, like))
    return table({"Example": "name", "Row": "", "Set": "", "Looks like": ""}, rows)


# ---- facts -------------------------------------------------------------------------------------


def _facts(subject: Subject, notes: Sequence[tuple[str, str]]) -> Iterator[Fact]:
    """How sure (of many sets of the farthest pair), what changed, rows to check, quality."""
    found, many = subject.found, subject.many
    p, n = found.p, found.verdict.n_permutations
    said = " and ".join(set_labels(found.farthest)) if many else plural(n, "relabelling")
    tested = (f"p {p_sign(p, n)}", said) if p == p else ("no test", "few rows")
    yield Fact("How sure", *tested)
    yield from () if many else _facts_of_pair(subject)
    rows = found.rows
    neither = sum(row.kind == NO_SET for row in rows)
    text = f"look like {'another' if many else 'the other'} set"
    if neither or not rows:
        text = f"{neither or 'none'} unlike {'any set' if many else 'both sets'}"
    label = f"{subject.thing.capitalize()}s to check"
    yield Fact(label, f"{len(rows):,}", text, "rows" if rows else "")
    about = notes[0][0].lower() if notes else "nothing odd"
    yield Fact("Data quality", plural(len(notes), "note"), about, "quality" if notes else "")


def _facts_of_pair(subject: Subject) -> Iterator[Fact]:
    """How many columns and relations changed."""
    found, features = subject.found, subject.found.features
    what = "Pixels changed" if subject.pictures else "Columns changed"
    counts = f"{len(features.changed):,} of {len(results.compared(found.verdict)):,}"
    yield Fact(what, counts, "all tested together", "columns" if subject.named else "made")
    pairs = found.feature_pairs.changed
    if pairs and subject.named:
        first = f"{quoted(pairs[0].first_column)} and {quoted(pairs[0].second_column)} first"
        counts = f"{len(pairs):,}{'+' if len(pairs) == LISTED else ''}"
        yield Fact("Relations changed", counts, first, "relations")


# ---- pairs of many sets ------------------------------------------------------------------------


def pair_id(i: int, j: int) -> str:
    """The part of the page that a pair has."""
    return f"pair-{min(i, j) + 1}-{max(i, j) + 1}"


def pairs_section(subject: Subject) -> Section:
    """All pairs in a table, the farthest first."""
    found, rows = subject.found, []
    for i, j in found.by_size:
        size = found.sizes[i, j]
        changed, word = "", size_word(size)
        if found.differing is not None and not subject.pictures:
            names = [one.name for one in found.pair(i, j).features.changed]
            changed = listed(names, 4) if (i, j) in found.differing else "no difference"
        name = f"{subject.names[i]} · {subject.names[j]}"
        rows.append((
            Cell(name, link="" if found.differing is None else pair_id(i, j)),
            Cell(of_hundred(size), value=float(size)),
            results.interval_text(size),
            Cell(word, "strong chip" if word == "large" else "plain chip"),
            changed,
        ))  # fmt: skip
    heads = {"Pair": "name", "Size ↕": "number", "95% interval": "number", "How large": "chip",
             "Columns that changed, most first": "words"}  # fmt: skip
    title = f"{plural(len(rows), 'pair')}, from farthest to closest"
    lead = f"Times in 100 that one {subject.thing} of each is told apart."
    return Section("pairs", "Pairs", title, lead, (table(heads, rows),))


# ---- rows, parts -------------------------------------------------------------------------------


def rows_section(subject: Subject) -> Iterator[Section]:
    """Rows to check: of those like no set and of those like another one the first, with why."""
    rows = subject.found.rows
    if not rows:
        return
    kinds = ([row for row in rows if (row.kind == NO_SET) is apart] for apart in (True, False))
    shown = [row for kind in kinds for row in sorted(
        kind[: 2 * MOST_ROWS], key=lambda row: subject.named and not row.reasons)[:MOST_ROWS]
    ]  # fmt: skip
    together = subject.named and not any(row.reasons for row in shown)
    n, heads = len(rows), {"Row": "", "Set": "words", "Looks like": "words", WHY: "words"}
    said = [f"{len(shown)} are shown; found.rows has all in Python."] if n > len(shown) else []
    said += ["No single value of theirs is odd, but how they go together."] if together else []
    title = f"{plural(n, 'row')} {'deserves' if n == 1 else 'deserve'} a look"
    other = "" if together or not subject.named else "no single value, but how they go together"
    blocks = (table(heads, [_row(row, subject, other) for row in shown]),)
    yield Section("rows", "Rows to check", title, " ".join(said), blocks)


def _row(row: RowToCheck, subject: Subject, other: str) -> tuple[Cell | str, ...]:
    names, called = subject.found.names, dict(zip(subject.found.names, subject.names, strict=True))
    look = f"key {subject.looks[names.index(row.set)]}" if row.set in names else ""
    own = Cell(called.get(row.set, row.set), look)
    like = f"{share_text(row.probability)} likely {called[row.like]}"
    if row.kind == NO_SET:
        like = "none of them" if subject.many else "neither"
    # Values of columns without names say nothing.
    reasons = () if subject.found.features.nameless else row.reasons
    why = ", ".join(f"{one.column} {_shown(one.value, one.kind)}" for one in reasons)
    lines = tuple(_reasons(row, subject)) if why else ()
    return str(row.id), own, like, Cell(why or other, lines=lines)


def _shown(value: float | str, kind: str) -> str:
    return cut_middle(value, 24) if isinstance(value, str) else value_text(value, kind)


def _reasons(row: RowToCheck, subject: Subject) -> Iterator[tuple[str, Chart | None, str]]:
    """The values that conflict, beside what is usual in two sets: of many, in its own and in the
    one that it looks like."""
    sets = [k for k, name in enumerate(subject.found.names) if name in (row.set, row.like)]
    sets = sets if subject.many and len(sets) == 2 else [0, 1]
    names = [subject.names[k] for k in sets]
    for one in row.reasons:
        text = f"{one.column} {_shown(one.value, one.kind)}"
        words = partial(value_text, kind=one.kind)
        usual = [one.usual[k] for k in sets]
        if isinstance(one.value, str):
            shares = zip((share_text(x, 1) for x, _ in usual), names, strict=True)
            yield text, None, ", ".join(f"{share} of {name}" for share, name in shares)
        elif not any(math.isnan(end) for ends in usual for end in ends):
            ranges = " · ".join(f"{words(low)} to {words(high)}" for low, high in usual)
            looks = [f"q{subject.looks[k]}" for k in sets] if subject.many else ("fa", "fb lb")
            yield text, charts.usual_range(one.value, usual, looks, names, words), ranges


def parts_section(subject: Subject) -> Iterator[Section]:
    """What the difference is made of: averages, overall spread, spread and relations."""
    verdict = subject.found.verdict
    things = "pixels" if subject.pictures else "columns"
    shares = {PARTS[kind].format(things): share for kind, share in verdict.shares.items()}
    if title := made_of_sentence(verdict):
        lead = " ".join(f"{x.capitalize()}: {share_text(share)}." for x, share in shares.items())
        yield Section("parts", "Made of", title, lead, (charts.made_of(shares),))


# ---- quality, and how it was made --------------------------------------------------------------


def quality_notes(found: Comparison) -> list[tuple[str, str]]:
    """Remarks on the data: columns that are not the same, gaps, oddities, what was left out."""
    sets = found.verdict.sets
    aside = [("Set aside", str(note)) for note in found.warnings if note.code == "set aside"]
    notes = [*(("Other columns", str(change)) for change in found.schema_changes), *aside]
    pairs = [found.pair(*pair) for pair in found.by_size[: 1 if found.differing is None else None]]
    missing, to = dict[str, list[float]](), "→" if len(found.names) == 2 else "to"
    for pair in pairs:
        repeated = [one for one in pair.findings if one.kind == "repeated rows"]
        notes += [("Repeated rows", sentence(one, pair.verdict.sets)) for one in repeated]
        for row in pair.features:
            missing.setdefault(row.name, []).extend((row.a.missing, row.b.missing))
    missing = missing if to == "→" else {name: sorted(of) for name, of in missing.items()}
    gaps = sorted((x for x in missing if any(missing[x])), key=lambda x: -np.ptp(missing[x]))
    if gaps:
        shares = [(name, *shares_text(missing[name][0], missing[name][-1])) for name in gaps[:6]]
        said = "; ".join(f"{quoted(x)} {a if a == b else f'{a} {to} {b}'}" for x, a, b in shares)
        more = f" and {plural(len(gaps) - 6, 'more column')}" if len(gaps) > 6 else ""
        notes.append(("Missing values", f"{said}{more}."))
    odd = found.verdict.quality if found.image_shape is None else ()  # a pixel is no column
    odd = tuple(one for one in odd if not aside or one.kind != "times")  # that says it, too
    notes += [(one.kind.capitalize(), sentence(one, sets)) for one in odd if one.detail != IN_BOTH]
    notes += [(n.code.capitalize(), str(n)) for n in found.warnings if n.code not in SAID]
    return list(dict.fromkeys(notes))


def how_made(
    subject: Subject, command: str | None, files: Sequence[str], more: Sequence[Block]
) -> Section:
    """How to make it again."""
    found, size = subject.found, subject.found.size
    g = found.fitted.geometry
    data = ", ".join(f"{group.name} {group.total:,} rows" for group in found.groups)
    tested = " and ".join(f"{n:,}" for n in found.verdict.rows_tested)
    notes = [
        ("Data", f"{data}. {plural(len(found.feature_names), 'feature')}."),
        ("Size", f"AUC of the angle {size:.4g} [{size.low:.4g}, {size.high:.4g}]"),
        ("How to read it", HOW_TO_READ),
        ("p-value", f"{found.verdict.n_permutations:,} relabellings. Rows: {tested}."),
        ("Geometry", f"{g.span} span, {g.units} units, shrinkage {g.shrinkage:.3g}, "
         f"pooling {g.pooling:.3g}"),
        *(("File", path) for path in files),
        ("Settings", ", ".join(f"{k}={v}" for k, v in found.settings.items() if v is not None)),
        *(("Reading", str(note)) for note in found.warnings if note.code in READING),
        ("Version", f"cospan {found.version}"),
    ]  # fmt: skip
    return made_section(command, notes, more)
