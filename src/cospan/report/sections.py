"""Parts of a page below its columns: pairs, rows to check, parts, quality, how it was made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from cospan.base.text import listed, number, plural, quoted, share_text, shares_text
from cospan.comparison import Comparison, RowToCheck
from cospan.evidence import IN_BOTH, size_word
from cospan.wording import made_of_sentence, of_hundred, sentence, value_text

from . import charts
from .columns import Subject
from .document import Block, Cell, Chart, Fold, Notes, Section, Text, made_section, table
from .drawing import for_phones, short

#: Rows that are listed, of each kind.
MOST_ROWS = 5
WHY = "Why: the value, and what is usual (1% to 99%)"
PARTS = {"location": "averages", "scale": "overall spread",
         "shape": "spread and relations of {}"}  # fmt: skip
HOW_TO_READ = (
    "Take one row of each set at random. The score is higher for the right one in so many of 100 "
    "such pairs. 50 is guessing, 100 is never wrong. It says nothing about which rows matter to "
    "you: the columns do."
)
NO_SET = "like no set"
#: What notes are about, in two words.
NOTES = {
    "new levels": "New values", "vanished levels": "Values gone", "other case": "Other case",
    "writing": "Other writing", "blanks": "Blanks", "times": "Other times",
}  # fmt: skip
#: Warnings on how the data was read, and those that a page says elsewhere.
READING = ("encoding", "missing values", "embedding", "curved", "sampled")
SAID = ("schema", "rows elsewhere")


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
            charts.interval(size),
            Cell(word, "strong chip" if word == "large" else "plain chip"),
            changed,
        ))  # fmt: skip
    heads = {"Pair": "name", "Size ↕": "number", "50 to 100": "chart", "How large": "chip",
             "Columns that changed, most first": "words"}  # fmt: skip
    title = f"{plural(len(rows), 'pair')}, from farthest to closest"
    lead = "Times in 100 that one row of each is told apart, with its 95% interval."
    return Section("pairs", "Pairs", title, lead, (table(heads, rows),))


# ---- rows, parts -------------------------------------------------------------------------------


def rows_section(subject: Subject) -> Iterator[Section]:
    """Rows to check: of those like no set and of those like another one the first, with why."""
    rows, many = subject.found.rows, subject.many
    if not rows:
        return
    apart = [row for row in rows if row.kind == NO_SET]
    others = [row for row in rows if row.kind != NO_SET]
    lead = []
    if apart:
        lead.append(f"{len(apart):,} unlike {'any set' if many else 'both sets'}.")
    if others:
        verb = "looks" if len(others) == 1 else "look"
        lead.append(f"{len(others):,} {verb} like {'another' if many else 'the other'} set.")
    shown = [
        row
        for part in (apart, others)
        for row in sorted(part[: 2 * MOST_ROWS], key=lambda row: not row.reasons)[:MOST_ROWS]
    ]
    if len(rows) > len(shown):
        lead.append(f"{len(shown)} are shown; found.rows has all in Python.")
    n, heads = len(rows), {"Row": "number", "Set": "words", "Looks like": "words", WHY: "words"}
    title = f"{plural(n, 'row')} {'deserves' if n == 1 else 'deserve'} a look"
    blocks = (table(heads, [_row(row, subject) for row in shown]),)
    yield Section("rows", "Rows to check", title, " ".join(lead), blocks)


def _row(row: RowToCheck, subject: Subject) -> tuple[Cell | str, ...]:
    names, called = subject.found.names, dict(zip(subject.found.names, subject.names, strict=True))
    look = f"key {subject.looks[names.index(row.set)]}" if row.set in names else ""
    own = Cell(called.get(row.set, row.set), look)
    like = f"{share_text(row.probability)} likely {called[row.like]}"
    if row.kind == NO_SET:
        like = "none of them" if subject.many else "neither"
    # Values of columns without names say nothing.
    reasons = () if subject.found.features.nameless else row.reasons
    why = ", ".join(f"{one.column} {_shown(one.value, one.kind)}" for one in reasons)
    return str(row.id), own, like, Cell(why, lines=tuple(_reasons(row, subject)) if why else ())


def _shown(value: float | str, kind: str) -> str:
    return short(value, 24) if isinstance(value, str) else value_text(value, kind)


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
            yield text, None, f"in {' · '.join(share_text(x, 1) for x, _ in usual)} of the rows"
        elif not any(math.isnan(end) for ends in usual for end in ends):
            ranges = " · ".join(f"{words(low)} to {words(high)}" for low, high in usual)
            yield text, charts.usual_range(one.value, usual, names, words), ranges


def parts_section(subject: Subject) -> Iterator[Section]:
    """What the difference is made of: averages, overall spread, spread and relations."""
    verdict = subject.found.verdict
    things = "pixels" if subject.pictures else "columns"
    shares = {PARTS[kind].format(things): share for kind, share in verdict.shares.items()}
    if shares and verdict.differs:
        lead = "; ".join(f"{share_text(share)} {name}" for name, share in shares.items())
        drawn = for_phones(lambda width: charts.made_of(shares, width))
        yield Section("parts", "Made of", made_of_sentence(verdict), f"{lead}.", (drawn,))


# ---- quality, and how it was made --------------------------------------------------------------


def quality_notes(found: Comparison) -> list[tuple[str, str]]:
    """Remarks on the data: columns that are not the same, gaps, oddities, what was left out."""
    sets = found.verdict.sets
    notes = [("Other columns", str(change)) for change in found.schema_changes]
    repeated = [one for one in found.findings if one.kind == "repeated rows"]
    notes += [("Repeated rows", sentence(one, sets)) for one in repeated]
    gaps = sorted(
        (one for one in found.features if max(one.a.missing, one.b.missing) > 0),
        key=lambda one: -abs(one.b.missing - one.a.missing),
    )
    if gaps:
        shares = [(one.name, *shares_text(one.a.missing, one.b.missing)) for one in gaps[:6]]
        said = "; ".join(f"{quoted(name)} {a if a == b else f'{a} → {b}'}" for name, a, b in shares)
        more = f" and {plural(len(gaps) - 6, 'more column')}" if len(gaps) > 6 else ""
        notes.append(("Missing values", f"{said}{more}."))
    odd = found.verdict.quality if found.image_shape is None else ()  # a pixel is no column
    still = [one.column for one in odd if one.detail == IN_BOTH]
    if still:
        are = "is" if len(still) == 1 else "are"
        notes.append(("Constant", f"{listed(still)} {are} constant."))
    notes += [
        (NOTES.get(one.kind, "Note"), sentence(one, sets)) for one in odd if one.detail != IN_BOTH
    ]
    codes = (*READING, *SAID)
    notes += [(n.code.capitalize(), str(n)) for n in found.warnings if n.code not in codes]
    return list(dict.fromkeys(notes))


def quality_section(found: Comparison) -> Iterator[Section]:
    """What is odd about the data, where something is."""
    notes = quality_notes(found)
    if notes:
        title = f"{plural(len(notes), 'note')} on data quality"
        yield Section("quality", "Quality", title, "", (Notes(tuple(notes)),))


def how_made(
    subject: Subject, command: str | None, files: Sequence[str], more: Sequence[Block]
) -> Section:
    """How to make it again."""
    found, size = subject.found, subject.found.size
    g, counts = found.fitted.geometry, [f"{group.total:,} rows" for group in found.groups]
    data = ", ".join(f"{name} {n}" for name, n in zip(found.names, counts, strict=True))
    tested = " and ".join(f"{n:,}" for n in found.verdict.rows_tested)
    notes = [
        ("Data", f"{data}; {plural(len(found.feature_names), 'feature')}"),
        ("Size", f"AUC of the angle {size:.3f} [{size.low:.3f}, {size.high:.3f}]"),
        ("Words for size", "small from 0.56, medium from 0.64, large from 0.71"),
        ("p-value", f"{found.verdict.n_permutations:,} relabellings of {tested} rows"),
        ("Geometry", f"{g.span} span, {g.units} units, shrinkage {number(float(g.shrinkage))}, "
         f"pooling {number(float(g.pooling))}"),
        *(("File", path) for path in files),
        ("Settings", ", ".join(f"{k}={v}" for k, v in found.settings.items() if v is not None)),
        *(("Reading", str(note)) for note in found.warnings if note.code in READING),
        ("Version", f"cospan {found.version}"),
    ]  # fmt: skip
    reading = f"{of_hundred(size)} in 100 is not {of_hundred(size)}% of the rows"
    fold = Fold("How to read the size", reading, (Text(HOW_TO_READ),))
    return made_section(command, notes, (*more, fold))
