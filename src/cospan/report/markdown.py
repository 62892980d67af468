"""Report content → Markdown: the same content as the page, readable as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cospan._language import later, say
from cospan._numbers import count, p_text, percent

from ._words import both, change_text, filled, time_cells, time_words
from .content import ReportContent
from .pieces import Feature, Pair, Row, Tab

MOST_ROWS = 50
TIME_HEADS = (later("rows"), later("median angle (quartiles)"), later("like B"))
# What could become a tag, a link, emphasis, code, a formula, a mention or a table cell.
_SPECIAL = re.compile(r"://|[\\`*_\[\]|~<>&#$@]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "://": "&#58;//"}
# What would turn a line into an item of a list.
_ITEM = re.compile(r"^(\s*\d*)([-+.)])(?=\s)")


def escaped(text: object) -> str:
    r"""Text that Markdown shows as it is.

    >>> print(escaped("<b>*x*|y"), escaped("1. one"))
    &lt;b&gt;\*x\*\|y 1\. one
    """
    safe = _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), str(text))
    return _ITEM.sub(r"\1\\\2", safe)


def markdown_of(content: ReportContent) -> str:
    """The whole report."""
    return "\n".join(_lines(content)) + "\n"


def _lines(content: ReportContent) -> Iterator[str]:
    yield f"# {escaped(content.title)}"
    yield ""
    yield f"**{escaped(content.badge)}**, {content.date}"
    yield ""
    for sentence in content.verdict:
        yield from (escaped(sentence), "")
    yield from _items(content.findings)
    if content.warning:
        yield from (f"> {escaped(content.warning)}", "")
    yield from _table(
        say("to know first") + " |  | ", ((t.label, t.value, t.note) for t in content.tiles)
    )
    yield from _changed(content)
    yield from _pairs(content)
    yield from _angles(content)
    yield from _rows(content)
    yield from _timelines(content)
    yield from _patterns(content)
    yield from _made(content)


def _table(head: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A table; its head has " | " between the columns."""
    yield f"| {head} |"
    yield f"|{'---|' * (1 + head.count(' | '))}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"
    yield ""


def _items(texts: Iterable[str]) -> Iterator[str]:
    lines = [f"- {escaped(text)}" for text in texts]
    yield from ((*lines, "") if lines else ())


def _changed(content: ReportContent) -> Iterator[str]:
    if content.many:
        return
    yield from (f"## {say('What changed')}", "")
    parts = [f"{say(part.name)}: {percent(part.share)} ({part.words})" for part in content.parts]
    yield from _items(parts)
    if content.features:
        yield from _table(
            say("column | change | A | B | difference | p, adjusted | in words"),
            ((*_feature(f), f.sentence) for f in content.features[:MOST_ROWS]),
        )  # fmt: skip
        more = len(content.features) + len(content.more_features) - MOST_ROWS
        if more > 0:
            yield from (say("{n:,} more columns are in the JSON report.", n=more), "")
    if content.relations:
        yield from (say("Relations that changed: {n:,}.", n=content.n_relations), "")
        told = [one.sentence for one in content.relations]
        more = content.n_relations - len(told)
        yield from _items([*told, say("and {n:,} more", n=more)] if more else told)
    if content.quality:
        yield from (f"## {say('Data quality')}", "")
        yield from _items(note.text for note in content.quality)


def _feature(one: Feature) -> tuple[str, ...]:
    p, difference = (one.numbers.get(key) for key in ("p_adjusted", "difference"))
    return (one.name, change_text(one.change), one.a, one.b, _two(difference), _p(p))


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _p(value: float | None) -> str:
    return "" if value is None else p_text(value)


def _pairs(content: ReportContent) -> Iterator[str]:
    if not content.many:
        return
    yield from (f"## {say('How different the sets are')}", "")
    yield from (say("Of 100 pairs of rows, how many are ordered correctly; 50 is chance."), "")
    names = [escaped(content.sets[k].name) for k in content.order]
    yield from _table(
        " | ".join([say("set"), *names]),
        (
            (content.sets[i].name, *(_auc(content.auc[i][j]) for j in content.order))
            for i in content.order
        ),
    )
    yield from (say("Which set explains the rows best:"), "")
    yield from _table(
        " | ".join([say("rows of"), *names]),
        (
            (content.sets[i].name, *(content.confusion[i][j] for j in content.order))
            for i in content.order
        ),
    )
    total = len(names) * (len(names) - 1) // 2
    text = later("The pairs, closest first")
    if len(content.pairs) < total:
        text = later("The pairs, {n} of {total:,}, closest first")
    yield from (f"## {say(text, n=len(content.pairs), total=total)}", "")
    for pair in content.pairs:
        yield from _pair(content, pair)


def _pair(content: ReportContent, pair: Pair) -> Iterator[str]:
    """What changed between two of the sets, and the rows that look like the other one."""
    first, second = (content.sets[k].name for k in (pair.first, pair.second))
    yield from (f"### {escaped(both(first, second))}: {_auc(pair.auc)}", "")
    more = pair.n_relations - len(pair.relations)
    last = [say("and {n:,} more relations changed", n=more)] if pair.relations and more else []
    yield from _items([*pair.sentences, *(one.sentence for one in pair.relations), *last])
    if pair.features:
        head = later("column | change | {a} | {b} | difference | p, adjusted")
        head = say(head, a=escaped(first), b=escaped(second))
        yield from _table(head, map(_feature, pair.features))
    rows = [content.rows[place] for tab in pair.rows for place in tab.rows]
    if rows:
        yield from _table(
            say("row | set | looks like | why"),
            ((r.id, content.named[r.group], _looks(content, r), r.words) for r in rows),
        )
    yield from (say("All of this pair: {command}", command=escaped(pair.command)), "")


def _auc(value: float | None) -> str:
    if value is None:
        return ""
    return say("over 99.9") if 0.9995 <= value < 1 else f"{100 * value:.1f}"


def _angles(content: ReportContent) -> Iterator[str]:
    if content.angles is None:
        return
    yield from (f"## {say('Where the rows fall')}", "")
    yield from (say("The angle of a row: 0° looks like A, 90° like B, 45° like both."), "")
    rows = []
    for one in content.sets:
        counts = content.angles.counts[one.key]
        if sum(counts) == counts[450]:
            continue
        below = sum(counts[:450])
        rows.append((f"{one.key}: {one.name}", count(below), count(sum(counts) - below)))
    if not rows:
        yield from (say("Both sets explain every row equally well: all angles are 45°."), "")
        return
    yield from _table(say("rows | like A (below 45°) | like B"), rows)


def _rows(content: ReportContent) -> Iterator[str]:
    yield from (f"## {say('Rows to check')}", "")
    for tab in content.tabs:
        if tab.key not in ("spread", "z") and tab.rows:
            yield from _tab(content, tab)
    if not any(tab.rows for tab in content.tabs if tab.key not in ("spread", "z", "border")):
        yield from (say("No row stands out."), "")


def _looks(content: ReportContent, row: Row) -> str:
    return content.named.get(row.looks) or say(row.looks)


def _tab(content: ReportContent, tab: Tab) -> Iterator[str]:
    yield from (f"### {escaped(tab.title)}: {count(tab.total)}", "", escaped(tab.meaning), "")
    rows = (content.rows[place] for place in tab.rows[:MOST_ROWS])
    yield from _table(
        say("row | set | looks like | angle | why | nearest row of the other set"),
        (
            (r.id, content.named[r.group], _looks(content, r),
             f"{r.theta:.1f}°", r.words, "" if r.nearest is None else r.nearest.id)
            for r in rows
        ),
    )  # fmt: skip


def _timelines(content: ReportContent) -> Iterator[str]:
    for one in content.timelines:
        title = say("Over {column}", column=escaped(one.column)) if one.column else ""
        yield from (f"## {title or say('Over the order of the rows')}", "")
        yield from (time_words(one), "")
        yield from _items(one.sentences)
        keys = list(one.moments)
        head = [f"{content.named[key]}: {say(what)}" for key in keys for what in TIME_HEADS]
        yield from _table(
            " | ".join([say("window"), *map(escaped, head)]),
            (
                (when, *(cell for key in keys for cell in time_cells(one.moments[key][k])))
                for k, when in enumerate(one.windows)
                if filled(one, k)
            ),
        )


def _patterns(content: ReportContent) -> Iterator[str]:
    if content.patterns is None:
        return
    found = content.patterns
    yield from (f"## {say('Patterns')}", "")
    a, shared, b = found.blocks
    text = later("{n:,} directions: {a} only A has, {shared} shared, {b} only B.")
    yield from (say(text, n=found.size, a=a, shared=shared, b=b), "")
    rows = []
    for d in found.directions:
        order = sorted(range(len(d.weights)), key=lambda j: -abs(d.weights[j]))[:3]
        mostly = ", ".join(found.features[j] for j in order)
        shift = say("{shift:+.2f} sd", shift=d.shift)
        rows.append((d.number, f"{d.angle:.1f}°", shift, f"{d.part:.3g}", mostly))
    yield from _table(say("direction | angle | shift | part of D | mostly"), rows)


def _made(content: ReportContent) -> Iterator[str]:
    yield from (f"## {say('How sure, how made')}", "")
    yield from _items(content.remarks)
    if content.measures:
        yield from _table(
            say("measure | value | interval | meaning"),
            ((m.label, m.text, m.interval, m.meaning) for m in content.measures),
        )
    if content.sensitivity:
        yield from _table(
            say("changed to | angles move by | 95 % less than | rows change side"),
            ((s.name, f"{s.mean}°", f"{s.most}°", percent(s.flips)) for s in content.sensitivity),
        )
    yield from _table(say("made with") + " | ", (*content.made, *content.inputs))
    yield from _table(say("setting | value"), content.settings)
    yield from _items(content.sampling)
