"""A comparison as text: what ``summary()`` returns and the terminal shows.

The verdict comes first, then the numbers behind it. Lines come with the name of a style, so that
the terminal can colour them; the text itself is the same everywhere. Names from the data are made
printable first: a column may be called anything, escape sequences included.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import number, p_text, plural, printable, quoted, set_name
from cospan.comparison.auditing import worst_rows

if TYPE_CHECKING:
    from cospan.audit import LabelAudit
    from cospan.comparison.many import ManyComparison
    from cospan.comparison.pair import Comparison
    from cospan.comparison.result import Line

RAMP = " ▁▂▃▄▅▆▇█"
PLOT_WIDTHS = (90, 75, 60, 50, 45, 36, 30, 25, 20)  # divisors of the 900 bins of a tenth degree
NAME_WIDTH = 28
TOP_FEATURES = 5
TOP_ROWS = 5
TOP_COLUMNS = 8
USUAL_WIDTH = 80
CELL = 6  # columns of a number in the matrix
MATRIX_NAME = 16  # and of a name beside it
CLOSEST = 6  # pairs, all those of four sets


def bars(counts: NDArray[Any] | Sequence[float], width: int) -> str:
    """Counts as one line of bars, the largest one full.

    A bin that is not empty always shows at least the lowest bar: a few stray rows matter.

    >>> bars([0, 0, 1, 8, 16, 16, 100, 400], 4)
    ' ▁▁█'
    """
    heights = np.asarray(counts, dtype=float).reshape(width, -1).sum(axis=1)
    top = heights.max() or 1.0
    levels = np.ceil(heights / top * (len(RAMP) - 1)).astype(int)
    return "".join(RAMP[level] for level in levels)


# ---- for any number of sets --------------------------------------------------------------------


def _short(name: object) -> str:
    return printable(name, NAME_WIDTH)


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[Line]:
    """A title and its lines; nothing where there are none."""
    shown = list(lines)
    if shown:
        yield "head", title
        yield from (("plain", line) for line in shown)
        yield "plain", ""


def _wrapped(sentences: Sequence[str], width: int) -> Iterator[Line]:
    for sentence in sentences:
        yield from (("plain", line) for line in textwrap.wrap(printable(sentence), width))
    if sentences:
        yield "plain", ""


def _settings(c: Comparison | ManyComparison) -> str:
    g, curve = c.fitted.geometry, c.fitted.curve
    how = " (chosen by leave-one-out)" if c.settings.get("shrinkage") == "auto" else ""
    curved = "" if curve is None else f"; curved: {curve.map.words}"
    return (
        f"{g.span} span, {g.units} units, shrinkage {number(float(g.shrinkage))}{how}, "
        f"pooling {number(g.pooling)}{curved}"
    )


def _worst_rows(
    audit: LabelAudit, ids: NDArray[Any], where: str, sure: Callable[[int], str]
) -> Iterator[str]:
    """The rows that look most like another set."""
    for i in worst_rows(audit, TOP_ROWS).tolist():
        own, other = (set_name(_short(x[i])) for x in (audit.labels, audit.suggested))
        yield f"  {_short(ids[i])}  {where} {own}, looks like {other} ({sure(i)})"


def _neither(c: Comparison | ManyComparison, sets: str) -> Iterator[Line]:
    """The rows that no set finds usual."""
    found = c.rows_like_neither
    rows = list(zip(found.sets, found.ids, found.typicality, strict=True))
    lines = [
        f"  {_short(name)}  in {_short(group)}: at most {100 * float(usual.max()):.2g}% of the "
        "rows of any set are as unusual"
        for group, name, usual in rows[:TOP_ROWS]
    ]
    yield from _section(f"Rows like {sets} ({plural(len(rows), 'row')})", lines)


def _closing(c: Comparison | ManyComparison, sizes: str, directions: str) -> Iterator[Line]:
    """How many rows there are, what was fitted to them, and what to know about it."""
    for line in (sizes, f"rank {c.frame.rank}: {directions}", _settings(c), ""):
        yield "plain", line
    yield from (("warn", f"! {printable(warning)}") for warning in c.warnings)


def narrow(lines: Iterator[Line], width: int) -> Iterator[Line]:
    """On a screen narrower than 80 columns no line is broken in the middle of a word."""
    for style, text in lines:
        if width >= USUAL_WIDTH or len(text) <= width:
            yield style, text
            continue
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        for line in textwrap.wrap(text, width, subsequent_indent=indent, drop_whitespace=True):
            yield style, line


# ---- two sets ----------------------------------------------------------------------------------


def pair_lines(c: Comparison, width: int) -> Iterator[Line]:
    """The summary of two sets, line by line, each with its style."""
    yield "title", f"{_with_letter(c.name_a, 'A')} against {_with_letter(c.name_b, 'B')}"
    yield "plain", ""
    yield from _wrapped((*c.verdict.sentences, *scored_beside(c)), width)
    yield from _section("How far apart", _numbers(c))
    title = f"What changed: {plural(len(c.features.changed), 'column')} of {len(c.features):,}"
    yield from _section(title, _columns(c, width))
    title = "Angles: 0° explained by A, 45° by both alike, 90° by B"
    yield from _section(title, _angles(c, width))
    title = "Features (mean pull on their own rows: minus to A, plus to B)"
    yield from _section(title, _features(c))
    if c.audit is not None:
        row, where = ("labelled row", "labelled") if c.audit_of == "z" else ("row", "in")
        flagged, degrees = plural(int(np.sum(c.audit.flagged)), row), c.audit_degrees
        worst = _worst_rows(c.audit, c.audit_ids, where, lambda i: f"{degrees[i]:.0f}°")
        yield from _section(f"Rows worth a look ({flagged} more like the other set)", worst)
    yield from _neither(c, "neither set")
    r, k, t = c.frame.blocks
    directions = f"{plural(r, 'direction')} only in A, {k} shared, {t} only in B"
    yield from _closing(c, _sizes(c), directions)


def _with_letter(name: str, letter: str) -> str:
    """The name and the letter it goes by in the summary, unless one shows the other."""
    shown = _short(name)
    return shown if shown == letter or shown.endswith(f"({letter})") else f"{shown} ({letter})"


def _numbers(c: Comparison) -> Iterator[str]:
    size, n = c.size, c.verdict.n_permutations
    yield f"  AUC      {size:.3f} (95% interval {size.low:.3f} to {size.high:.3f})"
    if not math.isnan(c.p):
        a, b = c.verdict.rows_tested
        yield f"  p-value  {p_text(c.p, 1 / (1 + n))} ({n} relabellings of {a:,} and {b:,} rows)"


def _columns(c: Comparison, width: int) -> Iterator[str]:
    """The columns that changed, and how."""
    changed = c.features.changed
    label = min(max((len(printable(one.name)) for one in changed[:TOP_COLUMNS]), default=0), 28)
    word = max((len(one.change) for one in changed[:TOP_COLUMNS]), default=0)
    for one in changed[:TOP_COLUMNS]:
        share = "   <1%" if 0 < one.share < 0.005 else f"  {one.share:4.0%}"
        p = "below 0.001" if one.p_adjusted < 0.001 else f"{one.p_adjusted:.3f}"
        text = f"  {printable(one.name, label):<{label}}  {one.change:<{word}}"
        share = "" if one.share != one.share else share  # of sets that do not differ
        whole = f"{text}{share}{' of the difference' if share else ''}  p {p}"
        yield whole if len(whole) <= width else f"{text}{share}  p {p}"
    if len(changed) > TOP_COLUMNS:
        yield f"  and {plural(len(changed) - TOP_COLUMNS, 'more column')}"


def _angles(c: Comparison, width: int) -> Iterator[str]:
    room = max(width - 30, PLOT_WIDTHS[-1])
    columns = next(w for w in PLOT_WIDTHS if w <= room)
    for side, group in zip("ABZ", c.groups, strict=False):
        low, middle, high = np.quantile(np.asarray(group.alignment.degrees), [0.1, 0.5, 0.9])
        shown = bars(group.counts, columns)
        yield f"  {side} rows      {shown}  {middle:.0f}° ({low:.0f}°-{high:.0f}°)"
    spectrum = np.degrees(np.asarray(c.frame.angles))
    counts, _ = np.histogram(spectrum, bins=columns, range=(0, 90))
    ends = f"{spectrum.min():.0f}° to {spectrum.max():.0f}°"
    yield f"  directions  {bars(counts, columns)}  {ends}"
    axis = "0°".ljust(columns // 2 - 1) + "45°"
    yield f"  {'':12}{axis.ljust(columns - 2)}90°"


def _features(c: Comparison) -> Iterator[str]:
    top = c.top_features(TOP_FEATURES)
    for title, index, effect in (
        ("most A-like", top.a, c.effect_a),
        ("most B-like", top.b, c.effect_b),
    ):
        parts = [f"{_short(c.feature_names[j])} {_signed(float(effect[j]))}" for j in index]
        yield f"  {title}  {', '.join(parts) or 'none'}"
    shared = [_short(c.feature_names[j]) for j in top.shared]
    yield f"  most shared  {', '.join(shared) or 'none'}"


def _signed(pull: float) -> str:
    """Two digits that mean something, and the side."""
    return f"{'-' if pull < 0 else '+'}{number(abs(pull), 2)}"


def _sizes(c: Comparison) -> str:
    z = "" if c.group_z is None else f", {plural(c.group_z.total, 'row')} to score"
    rows = " against ".join(plural(group.total, "row") for group in c.groups[:2])
    return f"{rows}, {plural(len(c.feature_names), 'feature')}{z}"


# ---- more sets ---------------------------------------------------------------------------------


def many_lines(c: ManyComparison, width: int) -> Iterator[Line]:
    """The summary of K sets, line by line, each with its style."""
    yield "title", f"{len(c.names)} sets: {printable(', '.join(c.names), max(width - 10, 20))}"
    yield "plain", ""
    yield from _wrapped((*c.sentences, *scored_beside(c)), width)
    title = "Fisher-Rao distances (0: alike, π: apart), close sets side by side"
    yield from _section(title, _matrix(c, width))
    closest = [(c.names.index(a), c.names.index(b)) for a, b in c.closest(CLOSEST)]
    shown, total = len(closest), len(c.names) * (len(c.names) - 1) // 2
    which = f"Closest {shown} of {total:,} pairs" if shown < total else "All pairs, closest first"
    yield from _section(which, _pairs(c, closest, width))
    if np.any(c.fisher_rao):  # else no row is explained better by one set than by another
        title = f"Rows that their own set explains best: {c.accuracy:.1%}"
        yield from _section(f"{title} (out of fold, every set counting alike)", _sets(c))
    flagged = plural(int(np.sum(np.asarray(c.audit.flagged))), "row")
    worst = _worst_rows(c.audit, c.ids, "in", lambda i: f"{c.weights[i].max():.0%} likely")
    yield from _section(f"Rows worth a look ({flagged} more like another set)", worst)
    yield from _neither(c, "no set")
    scored = f", {plural(c.rows_z, 'row')} of {_short(c.name_z)} to score"
    sizes = f"{plural(sum(c.rows), 'row')}, {plural(c.costs.n_features, 'feature')}"
    n, some = len(c.frame.common), len(c.frame.partial)
    directions = f"{plural(n, 'direction')} common to all sets, {some} to some"
    directions += f", {c.frame.rank - n - some} to one"
    yield from _closing(c, sizes + (scored if c.name_z is not None else ""), directions)


def _matrix(c: ManyComparison, width: int) -> Iterator[str]:
    """Distances of all pairs, close sets side by side; only as many sets as fit."""
    heads = [printable(name) for name in c.names]
    rows = [printable(name, MATRIX_NAME) for name in c.names]
    if max(map(len, heads)) >= CELL:  # names too long for a column: numbers stand for them
        for place, k in enumerate(c.order, start=1):
            heads[k], rows[k] = str(place), f"{place:>2} {rows[k]}"
    label = max(map(len, rows))
    shown = c.order[: max((width - label - 2) // CELL, 2)]
    yield "  " + " " * label + "".join(f"{heads[k]:>{CELL}}" for k in shown)
    for i in shown:
        cells = ("·" if i == j else f"{c.fisher_rao[i, j]:.2f}" for j in shown)
        yield f"  {rows[i]:<{label}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
    if len(shown) < len(c.names):
        yield f"  and {plural(len(c.names) - len(shown), 'more set')}"


def _pairs(c: ManyComparison, pairs: Sequence[tuple[int, int]], width: int) -> Iterator[str]:
    shown = [" - ".join(_short(c.names[k]) for k in pair) for pair in pairs]
    for text, pair in zip(shown, pairs, strict=True):
        apart = c.separation(*pair)
        label = max(map(len, shown))
        yield f"  {text:<{label}}  {apart.fisher_rao:.3f}  AUC {apart.auc:.3f}"
        if told := c.pair_changes.in_short(*pair):
            yield f"      {printable(told, max(width - 6, 40))}"


def _sets(c: ManyComparison) -> Iterator[str]:
    label = min(max(len(printable(name)) for name in c.names), NAME_WIDTH)
    for k, name in enumerate(c.names):
        counts = c.confusion[k].copy()
        right, total = int(counts[k]), int(counts.sum())
        counts[k] = -1
        rival = int(counts.argmax())
        astray = f", most others like {_short(c.names[rival])}"
        own = len(c.frame.isolated(k))
        alone = f"; {plural(own, 'direction')} of its own"
        yield (
            f"  {printable(name, label):<{label}}  {right / max(total, 1):6.1%} of "
            f"{plural(total, 'row')}{astray if counts[rival] > 0 else ''}"
            f"{alone if own else ''}"
        )


def scored_beside(c: Comparison | ManyComparison) -> Iterator[str]:
    """The sentence, where there are rows to say it of."""
    z = c.further
    if z is not None:
        yield where_they_go(z.name, c.names, z.kept.nearest[:, 0], z.neither, z.total)


def where_they_go(
    name: str,
    names: Sequence[str],
    nearest: NDArray[np.intp],
    neither: NDArray[np.bool_],
    total: int,
) -> str:
    """How many of the scored rows look like which set, most of them first.

    `nearest` and `neither` are about the rows kept, all of the `total` or a random sample.

    >>> nearest, neither = np.array([0, 1, 1, 1]), np.array([False, False, False, True])
    >>> where_they_go("june", ("april", "may"), nearest, neither, 4)
    'Of the 4 rows of june, 2 look like may, 1 like april, 1 like neither.'
    >>> where_they_go("june", ("april", "may"), nearest[:1], neither[:1], 1)
    'The 1 row of june looks like april.'
    """
    counts = np.bincount(nearest[~neither], minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    parts = [(int(counts[k]), set_name(quoted(names[k]))) for k in order if counts[k]]
    if neither.any():
        parts.append((int(neither.sum()), ("neither" if len(names) == 2 else "no set")))
    rows, whole, called = plural(len(nearest), "row"), len(nearest) == total, set_name(quoted(name))
    if len(parts) == 1:
        which = rows if whole else f"sample of {rows}"
        text = "The {which} of {name} look like {set}."
        if len(nearest) == 1:
            text = "The {which} of {name} looks like {set}."
        return text.format(which=which, name=called, set=parts[0][1])
    (n, one), *others = parts
    first = ("{n:,} looks like {set}" if n == 1 else "{n:,} look like {set}").format(n=n, set=one)
    said = ", ".join([first, *(f"{n:,} like {x}" for n, x in others)])
    which = ("the {rows}" if whole else "a sample of {rows}").format(rows=rows)
    return f"Of {which} of {called}, {said}."
