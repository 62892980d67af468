"""Report content → Markdown: the same content as the page, readable as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cospan.base.text import count, p_text, percent

from ._words import both
from .content import ReportContent
from .pieces import Feature, Pair, Row, Tab

MOST_ROWS = 50
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
        "to know first" + " |  | ", ((t.label, t.value, t.note) for t in content.tiles)
    )
    yield from _changed(content)
    yield from _pairs(content)
    yield from _angles(content)
    yield from _rows(content)
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
    yield from (f"## {'What changed'}", "")
    parts = [f"{part.name}: {percent(part.share)} ({part.words})" for part in content.parts]
    yield from _items(parts)
    if content.features:
        yield from _table(
            "column | change | A | B | difference | p, adjusted | in words",
            ((*_feature(f), f.sentence) for f in content.features[:MOST_ROWS]),
        )  # fmt: skip
        more = len(content.features) + len(content.more_features) - MOST_ROWS
        if more > 0:
            yield from (f"{more:,} more columns are in the JSON report.", "")
    if content.relations:
        yield from (f"Relations that changed: {content.n_relations:,}.", "")
        told = [one.sentence for one in content.relations]
        more = content.n_relations - len(told)
        yield from _items([*told, f"and {more:,} more"] if more else told)
    if content.quality:
        yield from (f"## {'Data quality'}", "")
        yield from _items(note.text for note in content.quality)


def _feature(one: Feature) -> tuple[str, ...]:
    p, difference = (one.numbers.get(key) for key in ("p_adjusted", "difference"))
    return (one.name, one.change, one.a, one.b, _two(difference), _p(p))


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _p(value: float | None) -> str:
    return "" if value is None else p_text(value)


def _pairs(content: ReportContent) -> Iterator[str]:
    if not content.many:
        return
    yield from (f"## {'How different the sets are'}", "")
    yield from ("Of 100 pairs of rows, how many are ordered correctly; 50 is chance.", "")
    names = [escaped(content.sets[k].name) for k in content.order]
    yield from _table(
        " | ".join(["set", *names]),
        (
            (content.sets[i].name, *(_auc(content.auc[i][j]) for j in content.order))
            for i in content.order
        ),
    )
    yield from ("Which set explains the rows best:", "")
    yield from _table(
        " | ".join(["rows of", *names]),
        (
            (content.sets[i].name, *(content.confusion[i][j] for j in content.order))
            for i in content.order
        ),
    )
    total = len(names) * (len(names) - 1) // 2
    text = "The pairs, closest first"
    if len(content.pairs) < total:
        text = "The pairs, {n} of {total:,}, closest first"
    yield from (f"## {text.format(n=len(content.pairs), total=total)}", "")
    for pair in content.pairs:
        yield from _pair(content, pair)


def _pair(content: ReportContent, pair: Pair) -> Iterator[str]:
    """What changed between two of the sets, and the rows that look like the other one."""
    first, second = (content.sets[k].name for k in (pair.first, pair.second))
    yield from (f"### {escaped(both(first, second))}: {_auc(pair.auc)}", "")
    more = pair.n_relations - len(pair.relations)
    last = [f"and {more:,} more relations changed"] if pair.relations and more else []
    yield from _items([*pair.sentences, *(one.sentence for one in pair.relations), *last])
    if pair.features:
        head = "column | change | {a} | {b} | difference | p, adjusted"
        head = head.format(a=escaped(first), b=escaped(second))
        yield from _table(head, map(_feature, pair.features))
    rows = [content.rows[place] for tab in pair.rows for place in tab.rows]
    if rows:
        yield from _table(
            "row | set | looks like | why",
            ((r.id, content.named[r.group], _looks(content, r), r.words) for r in rows),
        )
    yield from (f"All of this pair: {escaped(pair.command)}", "")


def _auc(value: float | None) -> str:
    if value is None:
        return ""
    return "over 99.9" if 0.9995 <= value < 1 else f"{100 * value:.1f}"


def _angles(content: ReportContent) -> Iterator[str]:
    if content.angles is None:
        return
    yield from (f"## {'Where the rows fall'}", "")
    yield from ("The angle of a row: 0° looks like A, 90° like B, 45° like both.", "")
    rows = []
    for one in content.sets:
        counts = content.angles.counts[one.key]
        if sum(counts) == counts[450]:
            continue
        below = sum(counts[:450])
        rows.append((f"{one.key}: {one.name}", count(below), count(sum(counts) - below)))
    if not rows:
        yield from ("Both sets explain every row equally well: all angles are 45°.", "")
        return
    yield from _table("rows | like A (below 45°) | like B", rows)


def _rows(content: ReportContent) -> Iterator[str]:
    yield from (f"## {'Rows to check'}", "")
    for tab in content.tabs:
        if tab.key not in ("spread", "z") and tab.rows:
            yield from _tab(content, tab)
    if not any(tab.rows for tab in content.tabs if tab.key not in ("spread", "z", "border")):
        yield from ("No row stands out.", "")


def _looks(content: ReportContent, row: Row) -> str:
    return content.named.get(row.looks) or row.looks


def _tab(content: ReportContent, tab: Tab) -> Iterator[str]:
    yield from (f"### {escaped(tab.title)}: {count(tab.total)}", "", escaped(tab.meaning), "")
    rows = (content.rows[place] for place in tab.rows[:MOST_ROWS])
    yield from _table(
        "row | set | looks like | angle | why | nearest row of the other set",
        (
            (r.id, content.named[r.group], _looks(content, r),
             f"{r.theta:.1f}°", r.words, "" if r.nearest is None else r.nearest.id)
            for r in rows
        ),
    )  # fmt: skip


def _patterns(content: ReportContent) -> Iterator[str]:
    if content.patterns is None:
        return
    found = content.patterns
    yield from (f"## {'Patterns'}", "")
    a, shared, b = found.blocks
    yield from (f"{found.size:,} directions: {a} only A has, {shared} shared, {b} only B.", "")
    rows = []
    for d in found.directions:
        order = sorted(range(len(d.weights)), key=lambda j: -abs(d.weights[j]))[:3]
        mostly = ", ".join(found.features[j] for j in order)
        shift = f"{d.shift:+.2f} sd"
        rows.append((d.number, f"{d.angle:.1f}°", shift, f"{d.part:.3g}", mostly))
    yield from _table("direction | angle | shift | part of D | mostly", rows)


def _made(content: ReportContent) -> Iterator[str]:
    yield from (f"## {'How sure, how made'}", "")
    yield from _items(content.remarks)
    if content.measures:
        yield from _table(
            "measure | value | interval | meaning",
            ((m.label, m.text, m.interval, m.meaning) for m in content.measures),
        )
    if content.sensitivity:
        yield from _table(
            "changed to | angles move by | 95 % less than | rows change side",
            ((s.name, f"{s.mean}°", f"{s.most}°", percent(s.flips)) for s in content.sensitivity),
        )
    yield from _table("made with" + " | ", (*content.made, *content.inputs))
    yield from _table("setting | value", content.settings)
    yield from _items(content.sampling)
