"""A comparison as text: what ``Comparison.summary()`` returns and the terminal shows.

Lines come with the name of a style, so that the terminal can colour them; the text itself is the
same everywhere. Names from the data are made printable first: a column may be called anything,
escape sequences included.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cospan.comparison import Comparison
    from cospan.significance import Estimate

__all__ = ["bars", "number", "plural", "printable", "summary_lines"]

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text

RAMP = " ▁▂▃▄▅▆▇█"
PLOT_WIDTHS = (90, 75, 60, 50, 45, 36, 30, 25, 20)  # divisors of the 900 bins of a tenth degree
NAME_WIDTH = 28
TOP_FEATURES = 5
TOP_ROWS = 5
TOP_COLUMNS = 8


def printable(text: object, width: int | None = None) -> str:
    """Any name as one line of harmless text, cut to `width` characters.

    Examples
    --------
    >>> printable("tab\\there, bell\\x07")
    'tab\\\\there, bell\\\\x07'
    >>> printable("a very long name indeed", 12)
    'a very long…'
    """
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    if width is not None and len(shown) > width:
        return shown[: width - 1].rstrip() + "…"
    return shown


def plural(n: int, thing: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def number(value: float) -> str:
    """A number in a few characters.

    Examples
    --------
    >>> [number(v) for v in (0.5, 12.0, 1234567.0, 0.00001234, float("nan"))]
    ['0.5', '12', '1.23e+06', '1.23e-05', 'nan']
    """
    return f"{value:.3g}"


def bars(counts: NDArray[Any] | Sequence[float], width: int) -> str:
    """Counts as one line of bars, the largest one full.

    A bin that is not empty always shows at least the lowest bar: a few stray rows matter.

    Examples
    --------
    >>> bars([0, 0, 1, 8, 16, 16, 100, 400], 4)
    ' ▁▁█'
    """
    heights = np.asarray(counts, dtype=float).reshape(width, -1).sum(axis=1)
    top = heights.max() or 1.0
    levels = np.ceil(heights / top * (len(RAMP) - 1)).astype(int)
    return "".join(RAMP[level] for level in levels)


def summary_lines(comparison: Comparison, width: int = 80) -> Iterator[Line]:
    """The summary, line by line, each with its style."""
    c = comparison
    yield "title", f"{_with_letter(c.name_a, 'A')} against {_with_letter(c.name_b, 'B')}"
    yield "plain", ""
    yield from _sentences(c, width)
    yield from _columns(c, width)
    yield from _verdict(c)
    yield "plain", ""
    yield from _angles(c, width)
    yield "plain", ""
    yield from _features(c)
    yield from _rows(c)
    yield from _sizes(c)
    yield "plain", ""
    for warning in c.warnings:
        yield "warn", f"! {printable(warning)}"


def _with_letter(name: str, letter: str) -> str:
    """The name and the letter it goes by in the summary, unless one shows the other."""
    shown = printable(name, NAME_WIDTH)
    return shown if shown == letter or shown.endswith(f"({letter})") else f"{shown} ({letter})"


def _sentences(c: Comparison, width: int) -> Iterator[Line]:
    """The verdict, in words."""
    if c.verdict is None:
        return
    for sentence in c.verdict.sentences:
        for line in textwrap.wrap(printable(sentence), width):
            yield "plain", line
    yield "plain", ""


def _columns(c: Comparison, width: int) -> Iterator[Line]:
    """The columns that changed, and how."""
    if c.features is None or not c.features.changed:
        return
    changed = c.features.changed
    total = len(c.features)
    yield "head", f"What changed: {plural(len(changed), 'column')} of {total:,}"
    label = min(max(len(printable(one.name)) for one in changed[:TOP_COLUMNS]), NAME_WIDTH)
    for one in changed[:TOP_COLUMNS]:
        share = f"{one.share:4.0%}" if one.share == one.share else "    "
        text = (
            f"  {printable(one.name, label):<{label}}  {one.change:<8}  {share} of the difference"
        )
        yield "plain", f"{text}  p {_small(one.p_adjusted)}"[:width]
    if len(changed) > TOP_COLUMNS:
        yield "plain", f"  and {plural(len(changed) - TOP_COLUMNS, 'more column')}"
    yield "plain", ""


def _small(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def _sizes(c: Comparison) -> Iterator[Line]:
    r, k, t = c.frame.blocks
    yield (
        "plain",
        (
            f"{plural(c.group_a.total, 'row')} against {plural(c.group_b.total, 'row')}, "
            f"{plural(len(c.feature_names), 'feature')}"
            + ("" if c.group_z is None else f", {plural(c.group_z.total, 'row')} to score")
        ),
    )
    yield (
        "plain",
        (f"rank {c.frame.rank}: {plural(r, 'direction')} only in A, {k} shared, {t} only in B"),
    )
    chosen = " (chosen by leave-one-out)" if c.settings.get("shrinkage") == "auto" else ""
    yield (
        "plain",
        (
            f"{c.frame.span} span, {c.frame.units} units, shrinkage "
            f"{number(float(c.frame.shrinkage))}{chosen}, pooling {number(c.frame.pooling)}"
        ),
    )


def _angles(c: Comparison, width: int) -> Iterator[Line]:
    room = max(width - 30, PLOT_WIDTHS[-1])
    columns = next(w for w in PLOT_WIDTHS if w <= room)
    yield "head", "Angles: 0° explained by A, 45° by both alike, 90° by B"
    for side, group in zip("ABZ", c.groups, strict=False):
        theta = group.alignment.degrees
        low, middle, high = np.quantile(np.asarray(theta), [0.1, 0.5, 0.9])
        label = f"  {side} rows      "
        yield (
            "plain",
            (f"{label}{bars(group.counts, columns)}  {middle:.0f}° ({low:.0f}°-{high:.0f}°)"),
        )
    spectrum = np.degrees(np.asarray(c.frame.angles))
    counts, _ = np.histogram(spectrum, bins=columns, range=(0, 90))
    yield (
        "plain",
        (f"  directions  {bars(counts, columns)}  {spectrum.min():.0f}° to {spectrum.max():.0f}°"),
    )
    axis = "0°".ljust(columns // 2 - 1) + "45°"
    yield "plain", f"  {'':12}{axis.ljust(columns - 2)}90°"


def _verdict(c: Comparison) -> Iterator[Line]:
    s = c.separation
    level = f"{s.fisher_rao.confidence:.0%}".replace("%", " %")
    yield "head", f"How far apart (with {level} intervals)"
    yield "plain", f"  Fisher-Rao  {_interval(s.fisher_rao)}  between 0 and π"
    yield "plain", f"  AUC         {_interval(s.auc)}  0.5: no difference, 1: apart"
    yield "plain", f"  overlap     {_interval(s.overlap)}  what both have in common"
    if c.shift is None:
        return
    p = float(c.shift.pvalue)
    word = "the two sets differ" if p <= 0.05 else "no evidence that the two sets differ"
    yield "plain", f"  p-value     {p:.4g}  {word} ({c.shift.n_permutations} permutations)"


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _features(c: Comparison) -> Iterator[Line]:
    top = c.top_features(TOP_FEATURES)
    yield "head", "Features (mean pull on their own rows: minus to A, plus to B)"
    for title, index, effect in (
        ("most A-like", top.a, c.effect_a),
        ("most B-like", top.b, c.effect_b),
    ):
        parts = [f"{printable(c.feature_names[j], NAME_WIDTH)} {effect[j]:+.3f}" for j in index]
        yield "plain", f"  {title}  {', '.join(parts) or 'none'}"
    shared = [printable(c.feature_names[j], NAME_WIDTH) for j in top.shared]
    yield "plain", f"  most shared  {', '.join(shared) or 'none'}"
    yield "plain", ""


def _rows(c: Comparison) -> Iterator[Line]:
    """The rows that look most like the other set."""
    if c.audit is None:
        return
    flagged = np.flatnonzero(np.asarray(c.audit.flagged))
    if not len(flagged):
        return
    order = flagged[np.argsort(-np.asarray(c.audit.suspicion)[flagged], kind="stable")]
    ids, degrees = c.audit_ids, c.audit_degrees
    labelled = c.audit_of == "z"
    found = plural(len(flagged), "labelled row" if labelled else "row")
    yield "head", f"Rows worth a look ({found} more like the other set)"
    for i in order[:TOP_ROWS]:
        label = printable(c.audit.labels[i], NAME_WIDTH)
        other = printable(c.audit.suggested[i], NAME_WIDTH)
        yield (
            "plain",
            (
                f"  {printable(ids[i], NAME_WIDTH)}  {'labelled' if labelled else 'in'} {label}, "
                f"looks like {other} ({degrees[i]:.0f}°)"
            ),
        )
    yield "plain", ""
