"""Charts, as elements of an SVG: A is always filled and B an outline, with values on hover.

A chart is given numbers and words and draws them; what they mean was decided before. Colours and
sizes of type are the style sheet's: a drawing has classes only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import NamedTuple

import numpy as np

from cospan.base.text import cut_middle, share_text
from cospan.base.types import Floats
from cospan.evidence import Size

from .document import Chart

#: What a letter of the small type takes, and a line of it.
LETTER, LINE = 6.8, 13.0
#: The looks of the sets.
LOOKS = "abcde"
#: What is drawn of a column: the outer values are clipped.
ENDS = (0.01, 0.99)
#: Bins of a histogram; whole numbers have one each while they are so few.
BINS, MOST_WHOLE = 28, 40
#: Tails so many times as long as the middle half get a stretched axis.
LONG_TAIL = 6.0
#: Levels of a category that are drawn, those that a number is averaged in, values of an average.
LEVELS, AVERAGED, FEWEST = 14, 5, 3
#: From which sizes on a difference is called small, medium, large.
CUTS = ((0.5, "none"), (0.56, "small"), (0.64, "medium"), (0.71, "large"), (1.0, ""))

Words = Callable[[float], str]
SHARE = partial(share_text, places=1)
Names = Sequence[str]


class Drawing:
    """Elements of an SVG, one after the other."""

    def __init__(self, width: float, height: float, title: str, scaled: bool = False) -> None:
        self.width, self.height, self.title = width, height, title
        self._scaled, self._parts = scaled, [f"<title>{escape(title)}</title>"]

    def path(self, d: str, look: str) -> None:
        self._parts.append(f'<path class="{look}" d="{d}"/>')

    def rect(self, x: float, y: float, w: float, h: float, look: str, hover: str = "") -> None:
        size = f'x="{x:.1f}" y="{y:.1f}" width="{max(w, 0):.1f}" height="{max(h, 0):.1f}"'
        self._parts.append(f'<rect class="{look}" {size}>{_hover(hover)}</rect>')

    def dot(self, x: float, y: float, r: float, look: str, hover: str = "") -> None:
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"'
        self._parts.append(f'<circle class="{look}" {place}>{_hover(hover)}</circle>')

    def text(
        self, x: float, y: float, words: str, look: str = "", anchor: str = "", turned: bool = False
    ) -> None:
        more = f' class="{look}"' if look else ""
        more += f' text-anchor="{anchor}"' if anchor else ""
        more += f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>')

    def ends(self, y: float, left: str, right: str, width: float = 0) -> None:
        """Words below both ends of an axis."""
        self.text(0, y, left)
        self.text(width or self.width, y, right, anchor="end")

    def chart(self) -> Chart:
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}"'
        look = ' class="sc"' if self._scaled else ""
        head = f'<svg {size} height="{self.height:g}" role="img"{look}>'
        return Chart(f"{head}{''.join(self._parts)}</svg>", self.title)


def for_phones(draw: Callable[[float], Chart], wide: float = 1088, narrow: float = 344) -> Chart:
    """A chart over the whole width, and the same for phones, where it would be too small."""
    return draw(wide)._replace(narrow=draw(narrow).svg)


def _hover(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def line(x: Sequence[float], y: Sequence[float]) -> str:
    """The path through points."""
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


class Mark(NamedTuple):
    """A bar from one place of a lane to another, of 0 to 1, or a dot where it has no end."""

    look: str
    start: float
    end: float | None
    size: float = 8  # how high a bar, how wide a dot is
    hover: str = ""
    words: str = ""  # in a bar that has room for them


Lane = tuple[str, Sequence[Mark], str]  # a name at the left, marks, a value at the right


def lanes(
    title: str, rows: Sequence[Lane], width: float, step: float = 24, *, left: float = 0,
    right: float = 0, below: float = 0, scaled: bool = False,
) -> Drawing:  # fmt: skip
    """Marks on horizontal lanes, one below the other, with room below them."""
    made, room = Drawing(width, step * len(rows) + below, title, scaled), width - left - right
    for k, (name, marks, value) in enumerate(rows):
        y = step * (k + 0.5)
        if name:
            made.text(0, y + 4, name, "k")
        for look, start, end, size, hover, words in marks:
            x, r = left + room * start, size / 2
            if end is None:
                made.dot(min(max(x, left + r), left + room - r), y, r, look, hover)
                continue
            wide = room * (end - start)
            made.rect(x, y - r, max(wide, 1.5), size, look, hover)
            if words and wide > LETTER * len(words):
                made.text(x + min(8, (wide - LETTER) / 2), y + 4, words, "k")
        if value:
            made.text(width, y + 4, value, "n k", "end")
    return made


# ---- the size ----------------------------------------------------------------------------------


def hills(scores: Sequence[Floats], names: Names) -> Chart:
    """Scores of the rows of two sets: the less the hills overlap, the larger the difference."""
    width, bottom = 440.0, 168.0
    title = f"Row scores of {names[0]} and {names[1]}: the less the hills overlap, the larger the "
    made = Drawing(width, 192, f"{title}difference", scaled=True)
    both = np.concatenate(scores)
    low, high = np.quantile(both, ENDS)
    spread = float(np.std(both))
    if high - low < 1e-9:  # all scores are one: one hill in the middle
        low, high, spread = low - 1, high + 1, 1.0
    grid = np.linspace(low, high, 56)
    curves = [_smooth(np.clip(one, low, high), grid, 0.25 * spread) for one in scores]
    top = max(float(curve.max()) for curve in curves)
    x = np.linspace(0, width, len(grid)).tolist()
    for curve, look in zip(curves, "ab", strict=True):
        outline = line(x, (bottom - 132 * curve / top).tolist())
        made.path(f"{outline}L{width:g} {bottom:g}L0 {bottom:g}Z", f"f{look}")
        made.path(outline, f"l l{look}")
    made.path(f"M0 {bottom + 0.5:g}H{width:g}", "ax2")
    made.text(0, 12, cut_middle(names[0], 26), "n xa")
    made.text(width, 12, cut_middle(names[1], 26), "n xb", "end")
    a, b = (cut_middle(name, 18) for name in names)
    made.ends(186, f"← looks like {a}", f"looks like {b} →")
    return made.chart()


def _smooth(values: Floats, grid: Floats, spread: float) -> Floats:
    """A smooth density on a grid; mass beyond the ends is mirrored by what is missing there."""
    edges = np.linspace(grid[0], grid[-1], 257)
    counts, _ = np.histogram(values, bins=edges)
    middles = (edges[:-1] + edges[1:]) / 2
    weight = np.exp(-0.5 * ((grid[:, None] - middles) / spread) ** 2)
    reach = np.maximum(weight.sum(axis=0), 1e-9)
    return np.asarray(weight @ (counts / reach) / max(1, len(values)))


def ruler(size: Size, usual: tuple[float, float] | None = None) -> Chart:
    """The size on a scale from guessing to certain; `usual` is where windows are anyway."""
    said = f"95% interval {size.low:.4g} to {size.high:.4g}"
    title = f"Size {size:.4g}, {said}, on a scale from 0.5 to 1"
    marks, word = [Mark("gr", 0, 1)], "windows without an alarm"
    if usual is not None:
        ends = f"{word}: {usual[0]:.2f} to {usual[1]:.2f}"
        marks.append(Mark("fa", _scaled(usual[0]), _scaled(usual[1]), hover=ends))
    marks.append(Mark("iv", _scaled(size.low), _scaled(size.high), hover=said))
    marks.append(Mark("ink", _scaled(size), None, 14, f"{size:.4g}"))
    made = lanes(title, [("", marks, "")], 440, 56, scaled=True)
    if usual is not None:
        made.text(max(220 * (_scaled(usual[0]) + _scaled(usual[1])), 84), 14, word, "xa", "middle")
    for (cut, name), (end, _) in itertools.pairwise(CUTS):
        left, right = 440 * _scaled(cut), 440 * _scaled(end)
        made.path(f"M{left:.1f} 22v12" if left else "", "tick")
        made.text((left + right) / 2, 52, name, anchor="middle")
    return made.chart()


def _scaled(size: float) -> float:
    return min(max((size - 0.5) / 0.5, 0.0), 1.0) if size == size else 0.0


# ---- a column in two sets ----------------------------------------------------------------------


def bin_edges(values: Floats) -> Floats:
    """Bins for the values of both sets: whole numbers, evenly spaced, or on a stretched axis."""
    low, first, middle, third, high = np.quantile(values, (ENDS[0], 0.25, 0.5, 0.75, ENDS[1]))
    # Beyond 2**52 every double is a whole number, and there are no halves between them.
    whole = bool(np.all(values == np.round(values)) and max(abs(low), abs(high)) < 2**52)
    half = (third - first) or (high - low) / 100  # where half of them are one value
    if whole and high - low < MOST_WHOLE:
        return np.arange(low - 0.5, high + 1)
    if max(high - middle, middle - low) > LONG_TAIL * half:
        scale = half / 2
        ends = np.arcsinh((np.array([low, high]) - middle) / scale)
        return np.asarray(middle + scale * np.sinh(np.linspace(ends[0], ends[1], BINS + 1)))
    if whole:
        step = math.ceil((high - low + 1) / BINS)
        return np.arange(low - 0.5, high + step, step)
    return np.linspace(low, high if high > low else low + max(1.0, abs(low) / 1e6), BINS + 1)


def histogram(
    values: Sequence[Floats], names: Names, words: Words, width: float = 176, bottom: float = 36
) -> Chart:
    """Values of a column in two sets."""
    a, b = (side[~np.isnan(side)] for side in values)
    both = np.concatenate([a, b])
    made = Drawing(width, bottom + 16, f"Distribution of {names[0]} (filled) and {names[1]} (line)")
    if not len(both):
        made.text(0, bottom, "no values")
        return made.chart()
    edges = bin_edges(both)
    counts = [np.histogram(np.clip(v, edges[0], edges[-1]), edges)[0] for v in (a, b)]
    shares = [(n / max(1, n.sum())).tolist() for n in counts]
    labels = [f"{words(x)} to {words(y)}" for x, y in itertools.pairwise(edges.tolist())]
    _steps(made, bottom, labels, shares, names)
    low, high = np.quantile(both, ENDS, method="nearest").tolist()  # values that occur
    made.ends(bottom + 14, words(low), words(high))
    return made.chart()


def levels(a: Mapping[str, float], b: Mapping[str, float], names: Names) -> Chart:
    """Shares of the most frequent levels: bars of A, lines of B."""
    made = Drawing(176, 52, f"Shares of the levels in {names[0]} (bars) and {names[1]} (lines)")
    both = sorted({**a, **b}, key=lambda x: -(a.get(x, 0.0) + b.get(x, 0.0)))[:LEVELS]
    if both:
        _steps(made, 36, both, [[side.get(x, 0.0) for x in both] for side in (a, b)], names, gap=1)
        made.ends(49, cut_middle(both[0], 13), cut_middle(both[-1], 13) if len(both) > 1 else "")
    return made.chart()


def _steps(
    made: Drawing, bottom: float, labels: Sequence[str], values: Sequence[Sequence[float]],
    names: Names, words: Words = SHARE, *, low: float = 0, gap: float = 0, right: float = 0,
) -> None:  # fmt: skip
    """Values side by side: A filled, B as a line; with gaps between what has no order.

    The last values are said where there is room at the right. Bars stand on 0.
    """
    high, step = max(map(max, values)), (made.width - right) / len(labels)
    if gap:
        low, high = min(0.0, *map(min, values)), max(0.0, high)
    last = []
    for side, look in zip(values, ("fa", "lb"), strict=True):
        *ups, zero = (
            bottom - (bottom - 2) * (value - low) / ((high - low) or 1.0) for value in (*side, 0.0)
        )
        last.append(ups[-1])
        if not gap:
            steps = "".join(f"V{y:.1f}h{step:.2f}" for y in ups)
            made.path(f"M0 {bottom:g}{steps}V{bottom:g}", look)
            continue
        foot = f"V{zero:g}h-{step - 2 * gap:.1f}z" if look == "fa" else ""
        tops = (f"M{k * step + gap:.1f} {y:.1f}h{step - 2 * gap:.1f}" for k, y in enumerate(ups))
        made.path("".join(f"{d}{foot}" for d in tops), look)
    made.path(f"M0 {bottom + 0.5:g}H{made.width - right:g}", "ax2")
    for k, (label, x, y) in enumerate(zip(labels, *values, strict=True)):
        said = f"{label}\n{names[0]} {words(x)}\n{names[1]} {words(y)}"
        made.rect(k * step, 0, step, bottom, "sv", said)
    if right:
        if abs(last[0] - last[1]) < LINE:  # so far apart that they do not touch
            last[last[1] > last[0]] = min(last) + LINE
        for up, side, look in zip(last, values, "ab", strict=True):
            made.text(made.width - right + 4, up + 4, words(side[-1]), f"n x{look}")


def bars(values: Sequence[float], names: Names, words: Words, title: str) -> Chart:
    """One bar a set, A filled and B outlined, with its value."""
    top, shown = max(map(abs, values)) or 1.0, [cut_middle(name, 15) for name in names]
    rows = [(name, [Mark("fb lb" if k else "fa", 0, abs(value) / top, 18)], words(value))
            for k, (name, value) in enumerate(zip(shown, values, strict=True))]  # fmt: skip
    left = 10 + 7 * max(map(len, shown))
    right = 12 + LETTER * max(len(value) for *_, value in rows)
    return lanes(title, rows, 216, 28, left=left, right=right).chart()


# ---- two columns in two sets -------------------------------------------------------------------


def by_another(
    x: Sequence[Floats], y: Sequence[Floats], levels: Sequence[str] | None, names: Names,
    title: str, words_x: Words, words_y: Words, width: float = 216, last: str = "",
) -> Chart | None:  # fmt: skip
    """The average of a number along another, or in the most frequent levels (`last` the last)."""
    both = np.concatenate(x)
    if levels is None:
        edges = np.unique(np.nanquantile(both, np.linspace(*ENDS, 11))) if len(both) else both
        labels = [f"{words_x(a)} to {words_x(b)}" for a, b in itertools.pairwise(edges.tolist())]
    else:
        labels, edges = list(levels), np.arange(len(levels) + 1.0) - 0.5
    if len(labels) < 2:
        return None
    means = np.stack([_averages(own, values, edges) for own, values in zip(x, y, strict=True)])
    bins = np.flatnonzero(~np.isnan(means).any(axis=0))
    if levels is not None:
        counts = np.histogram(both, edges)[0]
        named = np.array([one == last for one in labels])
        counts = np.where(named, np.inf, counts)
        bins = bins[np.argsort(-counts[bins], kind="stable")[:AVERAGED]]
        bins = bins[np.argsort(named[bins], kind="stable")]
    means = means[:, bins]
    if len(bins) < 2 or np.ptp(means) == 0:
        return None
    low, high, bottom = float(means.min()), float(means.max()), width // 3
    low = 0.0 if 0 <= low < 0.5 * high else low - 0.08 * (high - low)
    made, shown = Drawing(width, bottom + 20, title), [labels[k] for k in bins]
    gap = 0 if levels is None else 4
    _steps(made, bottom, shown, means.tolist(), names, words_y, low=low, gap=gap, right=40)
    ends = words_x(float(edges[0])), words_x(float(edges[-1]))
    ends = ends if levels is None else (cut_middle(shown[0], 13), cut_middle(shown[-1], 13))
    made.ends(bottom + 16, *ends, width - 40)
    return made.chart()


def _averages(x: Floats, y: Floats, edges: Floats) -> Floats:
    """The averages of y between edges of x; NaN where there are few values."""
    known, bins = ~np.isnan(x) & ~np.isnan(y), len(edges) - 1
    place = np.clip(np.searchsorted(edges, x[known], "right") - 1, 0, bins - 1)
    n = np.bincount(place, minlength=bins)
    sums = np.bincount(place, weights=y[known], minlength=bins)
    return np.where(n >= FEWEST, sums / np.maximum(n, 1), np.nan)


# ---- rows, parts, what could not be seen -------------------------------------------------------


def usual_range(
    value: float, usual: Sequence[tuple[float, float]], looks: Names, names: Names, words: Words
) -> Chart:
    """A value against what is usual in two sets: bars, and a mark that may lie beyond them."""
    low, high = min(ends[0] for ends in usual), max(ends[1] for ends in usual)
    low, room = low - 0.12 * ((high - low) or 1.0), 1.24 * ((high - low) or 1.0)
    rows = []
    for ends, look, name in zip(usual, looks, names, strict=True):
        start, end = ((v - low) / room for v in ends)
        said = f"{name} {words(ends[0])} to {words(ends[1])}"
        rows.append(("", [Mark(look, start, end, 6, said)], ""))
    made = lanes(f"{words(value)}, and what is usual", rows, 128, 10, left=4, right=12)
    at = (value - low) / room
    if 0 <= at <= 1:
        made.rect(3 + 112 * at, 0, 3, 20, "dk")
    else:
        made.path("M120 4l8 6l-8 6z" if at > 1 else "M8 4l-8 6l8 6z", "dk")
    return made.chart()


def made_of(shares: Mapping[str, float]) -> Chart:
    """What the difference is made of, as one bar."""
    said = [f"{share_text(share)} {name}" for name, share in shares.items()]
    starts = [0.0, *itertools.accumulate(shares.values())]
    marks = [Mark(f"p{k}", starts[k], max(starts[k + 1] - 0.004, starts[k]), 24, words, words)
             for k, words in enumerate(said)]  # fmt: skip
    return for_phones(lambda w: lanes(", ".join(said), [("", marks, "")], w, 24).chart())


def seen_from(items: Sequence[tuple[str, float, str]], width: float) -> Chart:
    """A dot a column inside what could not have been seen: -1 and 1 would have been."""
    rows, left, right = [], min(150.0, 0.37 * width), 0.135 * width
    for name, place, said in items:
        marks = [Mark("gr", 0.2, 0.8, 24), Mark("db", 0.5 + 0.3 * place, None, 10, said)]
        rows.append((cut_middle(name, int(left / LETTER)), marks, ""))
    made = lanes("Changes too small to be seen", rows, width, left=left, right=right, below=24)
    room = width - left - right
    for x, word in ((0.2, "would be seen"), (0.5, "0"), (0.8, "would be seen")):
        made.text(left + room * x, made.height - 6, word, anchor="middle")
    made.path(f"M{left + room / 2:.1f} 0V{made.height - 24:g}", "tick")
    return made.chart()


# ---- more than two sets ------------------------------------------------------------------------


def set_map(names: Names, places: Floats) -> Chart:
    """Sets as dots, the farther apart the easier their rows are told apart."""
    title = "A map of the sets: the farther apart two dots, the easier their rows are told apart"
    span = np.maximum(np.ptp(places, axis=0), 1e-9)
    scale = min(330 / span[0], 170 / span[1])
    height = max(120.0, 80 + scale * float(span[1]))
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    xy = (places - middle) * scale + [220, height / 2]
    made = Drawing(440, height, title, scaled=True)
    for side, k in enumerate(np.argsort(xy[:, 0], kind="stable").tolist()):
        (x, y), look, name = xy[k].tolist(), LOOKS[k % 5], cut_middle(names[k], 20)
        made.dot(x, y, 7, f"d{look}", names[k])
        above = y <= height / 2 if height > 160 else side % 2 == 0  # neighbours on other sides
        made.text(min(max(x, 70), 370), y - 15 if above else y + 26, name, f"n x{look}", "middle")
    return made.chart()


def matrix(names: Names, sizes: Floats) -> Chart:
    """All sizes, names on the diagonal."""
    K = len(names)
    cell = 52.0 if K <= 6 else max(22.0, 340.0 / K)
    made = Drawing(cell * K + 140, cell * K + 4, "How often one row of each is told apart, of 100")
    for i in range(K):
        for j in range(i):
            size = float(sizes[i, j])
            said, level = f"{names[j]} and {names[i]}: {100 * size:.0f}", round(9 * _scaled(size))
            made.rect(j * cell + 1, i * cell + 1, cell - 2, cell - 2, f"h h{level}", said)
            x, y = (j + 0.5) * cell, (i + 0.5) * cell + 4
            times = ">99" if 0.995 <= size < 1 else f"{100 * size:.0f}"
            made.text(x, y, times, f"n t{level}", "middle")
        name = cut_middle(names[i], 20)
        made.text(i * cell + 6, (i + 0.5) * cell + 4, name, f"n x{LOOKS[i % 5]}")
    return made.chart()


def over_sets(names: Names, rows: Sequence[tuple[float, ...]], words: Words, title: str) -> Chart:
    """One column over the sets: (average, first, third quartile, 5%, 95%); a share is from 0 on."""
    values = [v for row in rows for v in row if v == v]
    low, high = min(values, default=0.0), max(values, default=1.0)
    found = []
    for k, (name, row) in enumerate(zip(names, rows, strict=True)):
        look, at = LOOKS[k % 5], [(v - low) / ((high - low) or 1.0) for v in row]
        marks, said = [Mark("gr", 0, 1, 1)], f"{name} {words(row[0])}"
        if row[0] == row[0]:
            marks += [
                Mark(f"q{look}", at[3], at[4], 2, said),
                Mark(f"q{look}", at[1], at[2], 8, said),
                Mark(f"d{look}", at[0], None, 9, said),
            ]
        found.append((cut_middle(name, 18), marks, words(row[0]) if row[0] == row[0] else "none"))
    return lanes(title, found, 352, left=128, right=64).chart()
