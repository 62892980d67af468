"""Charts: static SVG with a title, A always filled and B always an outline, values on hover.

A chart is given numbers and words and draws them; what they mean was decided before. Colours and
sizes of type are the style sheet's: a chart has classes only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

from cospan.base.text import share_text
from cospan.base.types import Floats

from .document import Chart

#: What is drawn of a column: the outer values are clipped.
ENDS = (0.01, 0.99)
#: Bins of a histogram; whole numbers have one each while they are so few.
BINS, MOST_WHOLE = 28, 40
#: Tails so many times as long as the middle half get a stretched axis.
LONG_TAIL = 6.0
#: Levels of a category that are drawn.
LEVELS = 14
LOOKS = "abcde"
#: From which sizes on a difference is called small, medium, large.
CUTS = ((0.5, "none"), (0.56, "small"), (0.64, "medium"), (0.71, "large"))

Words = Callable[[float], str]


class Drawing:
    """Elements of an SVG, one after the other."""

    def __init__(self, width: float, height: float, title: str, scaled: bool = False) -> None:
        self.width, self.height, self.title = width, height, title
        self._scaled, self._parts = scaled, [f"<title>{escape(title)}</title>"]

    def path(self, d: str, look: str) -> None:
        self._parts.append(f'<path class="{look}" d="{d}"/>')

    def rect(self, x: float, y: float, w: float, h: float, look: str, hover: str = "") -> None:
        size = f'x="{x:.1f}" y="{y:.1f}" width="{max(w, 0):.1f}" height="{max(h, 0):.1f}"'
        inside = f"<title>{escape(hover)}</title>" if hover else ""
        self._parts.append(f'<rect class="{look}" {size}>{inside}</rect>')

    def dot(self, x: float, y: float, r: float, look: str, hover: str = "") -> None:
        inside = f"<title>{escape(hover)}</title>" if hover else ""
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"'
        self._parts.append(f'<circle class="{look}" {place}>{inside}</circle>')

    def text(
        self, x: float, y: float, words: str, look: str = "", anchor: str = "", turned: bool = False
    ) -> None:
        look = f' class="{look}"' if look else ""
        anchor = f' text-anchor="{anchor}"' if anchor else ""
        if turned:
            anchor += f' transform="rotate(-90 {x:.1f} {y:.1f})"'
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{look}{anchor}>{escape(words)}</text>')

    def link(self, href: str) -> None:
        self._parts.append(f'<a href="{escape(href)}">')

    def end_link(self) -> None:
        self._parts.append("</a>")

    def chart(self) -> Chart:
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}"'
        look = ' class="sc"' if self._scaled else ""
        head = f'<svg {size} height="{self.height:g}" role="img"{look}>'
        return Chart(f"{head}{''.join(self._parts)}</svg>", self.title)


def short(name: str, most: int = 18) -> str:
    """A name that fits, cut in the middle."""
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[: most - 1 - half]}…{name[-half:]}"


def _line(x: Sequence[float], y: Sequence[float]) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


# ---- the size ----------------------------------------------------------------------------------


def hills(a: Floats, b: Floats, names: tuple[str, str], looks: str = "ab") -> Chart:
    """Scores of the rows of two sets: the less the hills overlap, the larger the difference."""
    width, bottom = 440.0, 168.0
    title = (
        f"Row scores of {names[0]} and {names[1]}: the less the two hills overlap, the larger the "
        "difference"
    )
    made = Drawing(width, 192, title, scaled=True)
    both = np.concatenate([a, b])
    low, high = np.quantile(both, ENDS)
    spread = float(np.std(both))
    if high - low < 1e-9:  # all scores are one: one hill in the middle
        low, high, spread = low - 1, high + 1, 1.0
    grid = np.linspace(low, high, 56)
    curves = [_smooth(np.clip(one, low, high), grid, 0.25 * spread) for one in (a, b)]
    top = max(float(curve.max()) for curve in curves)
    x = np.linspace(0, width, len(grid)).tolist()
    peaks = []
    for curve, look in zip(curves, looks, strict=True):
        y = (bottom - 132 * curve / top).tolist()
        outline = _line(x, y)
        area = f"{outline}L{width:g} {bottom:g}L0 {bottom:g}Z"
        made.path(area, "f f" + look if look == looks[0] else "o f" + look)
        made.path(outline, f"l l{look}")
        place = int(curve.argmax())
        peaks.append([x[place], y[place]])
    made.path(f"M0 {bottom + 0.5:g}H{width:g}", "ax2")
    if abs(peaks[0][0] - peaks[1][0]) < 90:  # names side by side, the lower hill's outside
        side = 1 if peaks[1][0] >= peaks[0][0] else -1
        peaks[0][0], peaks[1][0] = peaks[0][0] - 45 * side, peaks[1][0] + 45 * side
    for (px, py), name, look in zip(peaks, names, looks, strict=True):
        at = min(max(px, 40), width - 40)
        made.text(at, max(py - 8, 12), short(name, 20), f"n x{look}", "middle")
    made.text(0, 186, f"← looks like {short(names[0])}")
    made.text(width, 186, f"looks like {short(names[1])} →", anchor="end")
    return made.chart()


def _smooth(values: Floats, grid: Floats, spread: float) -> Floats:
    """A smooth density on a grid."""
    edges = np.linspace(grid[0], grid[-1], 257)
    counts, _ = np.histogram(values, bins=edges)
    middles = (edges[:-1] + edges[1:]) / 2
    weight = np.exp(-0.5 * ((grid[:, None] - middles) / spread) ** 2)
    # Mass beyond the ends is mirrored by what is missing there.
    reach = np.exp(-0.5 * ((middles[:, None] - grid) / spread) ** 2).sum(axis=1)
    return np.asarray(weight @ (counts / np.maximum(reach, 1e-9)) / max(1, len(values)))


def ruler(
    size: float, low: float, high: float, usual: tuple[float, float] | None = None, word: str = ""
) -> Chart:
    """The size on a scale from guessing to certain, with its interval.

    `usual` is a band that such sizes lie in anyway, called `word`.
    """
    title = f"Size {size:.2f}, interval {low:.2f} to {high:.2f}, on a scale from 0.5 to 1"
    made = Drawing(440, 56, title, scaled=True)
    made.rect(0, 24, 440, 8, "gr")
    ends = [*(cut for cut, _ in CUTS[1:]), 1.0]
    if usual is not None:
        x, y = _on_ruler(usual[0]), _on_ruler(usual[1])
        made.rect(x, 24, max(y - x, 3), 8, "fa", f"{word}: {usual[0]:.2f} to {usual[1]:.2f}")
        made.text(max((x + y) / 2, 84), 14, word, "xa", "middle")
    for (cut, name), end in zip(CUTS, ends, strict=True):
        if cut > 0.5:
            made.path(f"M{_on_ruler(cut):.1f} 22v12", "tick")
        made.text((_on_ruler(cut) + _on_ruler(end)) / 2, 52, name, anchor="middle")
    left, right = _on_ruler(low), _on_ruler(high)
    made.rect(left, 24, max(right - left, 2), 8, "iv", f"95% interval {low:.3f} to {high:.3f}")
    made.dot(min(max(_on_ruler(size), 7), 433), 28, 7, "ink", f"{size:.3f}")
    return made.chart()


def _on_ruler(size: float) -> float:
    return 440 * min(max((size - 0.5) / 0.5, 0.0), 1.0) if size == size else 0.0


def interval(size: float, low: float, high: float) -> Chart:
    """One size of many, from 50 to 100."""
    made = Drawing(
        200, 16, f"{100 * size:.0f} of 100, interval {100 * low:.0f} to {100 * high:.0f}"
    )
    made.rect(0, 6, 200, 4, "gr")
    x, y = (200 * min(max((v - 0.5) / 0.5, 0.0), 1.0) for v in (low, high))
    made.rect(x, 4, max(y - x, 2), 8, "iv")
    made.dot(min(max(200 * (size - 0.5) / 0.5, 5), 195), 8, 5, "ink")
    return made.chart()


# ---- columns -----------------------------------------------------------------------------------


class Bins:
    """Bins for the values of both sets: whole numbers, evenly spaced, or on a stretched axis."""

    def __init__(self, values: Floats) -> None:
        low, first, middle, third, high = np.quantile(values, (ENDS[0], 0.25, 0.5, 0.75, ENDS[1]))
        self.low, self.high = float(low), float(high)
        # Beyond 2**52 every double is a whole number, and there are no halves between them.
        whole = bool(np.all(values == np.round(values)) and max(abs(low), abs(high)) < 2**52)
        half = max(third - first, 1e-300)
        if whole and high - low < MOST_WHOLE:
            self.edges = np.arange(low - 0.5, high + 1)
        elif max(high - middle, middle - low) > LONG_TAIL * half:
            scale = half / 2
            ends = np.arcsinh((np.array([low, high]) - middle) / scale)
            self.edges = middle + scale * np.sinh(np.linspace(ends[0], ends[1], BINS + 1))
        elif whole:
            step = math.ceil((high - low + 1) / BINS)
            self.edges = np.arange(low - 0.5, high + step, step)
        else:
            above = high if high > low else low + max(1.0, abs(low) / 1e6)
            self.edges = np.linspace(low, above, BINS + 1)

    def shares(self, values: Floats) -> Floats:
        counts, _ = np.histogram(np.clip(values, self.edges[0], self.edges[-1]), bins=self.edges)
        return counts / max(1, len(values))

    def places(self, values: Sequence[float], width: float) -> list[float]:
        """Where values are on an axis on which every bin is as wide."""
        bins = np.linspace(0, width, len(self.edges))
        return np.interp(values, self.edges, bins).tolist()


def histogram(
    a: Floats, b: Floats, names: tuple[str, str], words: Words, *, large: bool = False
) -> Chart:
    """Values of a column in two sets; large ones mark the averages."""
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    both = np.concatenate([a, b])
    width, bottom, height = (216.0, 66.0, 90.0) if large else (176.0, 36.0, 52.0)
    title = f"Distribution of {names[0]} (filled) and {names[1]} (line)"
    made = Drawing(width, height, title)
    if not len(both):
        made.text(0, bottom, "no values")
        return made.chart()
    bins = Bins(both)
    shares = bins.shares(a), bins.shares(b)
    top = max(float(one.max()) for one in shares) or 1.0
    step = width / len(shares[0])
    for one, look in zip(shares, ("fa", "lb"), strict=True):
        steps = (f"V{bottom - (bottom - 2) * share / top:.1f}h{step:.2f}" for share in one)
        made.path(f"M0 {bottom:g}{''.join(steps)}V{bottom:g}", look)
    made.path(f"M0 {bottom + 0.5:g}H{width:g}", "ax2")
    for k, (x, y) in enumerate(zip(*shares, strict=True)):
        ends = f"{words(float(bins.edges[k]))} to {words(float(bins.edges[k + 1]))}"
        said = f"{ends}\n{names[0]} {share_text(x, 1)}\n{names[1]} {share_text(y, 1)}"
        made.rect(k * step, 0, step, bottom, "sv", said)
    if large and len(a) and len(b):
        means = float(a.mean()), float(b.mean())
        for x, look in zip(bins.places(means, width), "ab", strict=True):
            made.path(f"M{x:.1f} {bottom + 2:g}l-4 7h8z", f"d{look}")
    made.text(0, height - 2, words(bins.low))
    made.text(width, height - 2, words(bins.high), anchor="end")
    return made.chart()


def levels(a: Mapping[str, float], b: Mapping[str, float], names: tuple[str, str]) -> Chart:
    """Shares of the most frequent levels: bars of A, lines of B."""
    title = f"Shares of the levels in {names[0]} (bars) and {names[1]} (lines)"
    made = Drawing(176, 52, title)
    both = sorted({**a, **b}, key=lambda x: -(a.get(x, 0.0) + b.get(x, 0.0)))[:LEVELS]
    top = max((max(a.get(x, 0.0), b.get(x, 0.0)) for x in both), default=1.0) or 1.0
    step = 176 / max(1, len(both))
    for k, level in enumerate(both):
        x, y = (36 - 34 * shares.get(level, 0.0) / top for shares in (a, b))
        made.rect(k * step + 1, x, step - 2, 36 - x, "fa")
        made.path(f"M{k * step + 1:.1f} {y:.1f}h{step - 2:.1f}", "lb")
        said = "\n".join(
            f"{name} {share_text(shares.get(level, 0.0), 1)}"
            for name, shares in zip(names, (a, b), strict=True)
        )
        made.rect(k * step, 0, step, 36, "sv", f"{level}\n{said}")
    made.path("M0 36.5H176", "ax2")
    if both:
        made.text(0, 49, short(both[0], 13))
    if len(both) > 1:
        made.text(176, 49, short(both[-1], 13), anchor="end")
    return made.chart()


def bars(values: Sequence[float], names: Sequence[str], words: Words, title: str) -> Chart:
    """One bar a set, A filled and B outlined, with its value."""
    made = Drawing(216, 24 + 28 * (len(values) - 1), title)
    label = min(84, 8 + 7 * max(len(short(name, 11)) for name in names))
    top = max((abs(v) for v in values if v == v), default=1.0) or 1.0
    room = 216 - label - 52
    for k, (value, name) in enumerate(zip(values, names, strict=True)):
        y, wide = 28 * k, room * abs(value) / top if value == value else 0.0
        made.text(0, y + 15, short(name, 11), "k")
        made.rect(label, y + 2, max(wide, 1.5), 18, "fa" if k == 0 else "fb lb")
        made.text(label + max(wide, 1.5) + 6, y + 15, words(value), "n k")
    return made.chart()


def by_another(
    x: tuple[Floats, Floats], y: tuple[Floats, Floats], names: tuple[str, str], title: str,
    words_x: Words, words_y: Words, *, wide: bool = False,
) -> Chart | None:  # fmt: skip
    """The average of one column along another, in two sets."""
    width, bottom, height = (320.0, 110.0, 132.0) if wide else (216.0, 72.0, 92.0)
    both = np.concatenate(x)
    both = both[~np.isnan(both)]
    if len(both) < 20 or np.ptp(both) == 0:
        return None
    edges = np.unique(np.quantile(both, np.linspace(0.01, 0.99, 11)))
    if len(edges) < 4:
        return None
    curves = []
    for own, values in zip(x, y, strict=True):
        known = ~np.isnan(own) & ~np.isnan(values)
        place = np.clip(np.searchsorted(edges, own[known], "right") - 1, 0, len(edges) - 2)
        n = np.bincount(place, minlength=len(edges) - 1)
        sums = np.bincount(place, weights=values[known], minlength=len(edges) - 1)
        curves.append(np.where(n >= 3, sums / np.maximum(n, 1), np.nan))
    seen = np.concatenate(curves)
    seen = seen[~np.isnan(seen)]
    if not len(seen) or np.ptp(seen) == 0:
        return None
    low, high = float(seen.min()), float(seen.max())
    low = 0.0 if 0 <= low < 0.5 * high else low - 0.08 * (high - low)
    made = Drawing(width, height, title)
    room = width - 34
    at = (np.arange(len(edges) - 1) + 0.5) / (len(edges) - 1) * room
    ends: list[list[float]] = []
    for curve, look in zip(curves, "ab", strict=True):
        known = ~np.isnan(curve)
        if known.sum() < 2:
            return None
        up = bottom - (bottom - 8) * (curve[known] - low) / (high - low)
        line = _line(at[known].tolist(), up.tolist())
        if look == "a":
            made.path(f"{line}V{bottom:g}H{at[known][0]:.1f}Z", "fa")
        made.path(line, f"l l{look}")
        ends.append([float(up[-1]), float(curve[known][-1])])
    made.path(f"M0 {bottom + 0.5:g}H{room:g}", "ax2")
    apart = 13 - abs(ends[0][0] - ends[1][0])
    if apart > 0:  # labels do not touch
        side = 1 if ends[0][0] >= ends[1][0] else -1
        ends[0][0], ends[1][0] = ends[0][0] + side * apart / 2, ends[1][0] - side * apart / 2
    for (up_at, value), look in zip(ends, "ab", strict=True):
        made.text(room + 4, min(up_at + 4, bottom), words_y(value), f"n x{look}")
    for k in range(len(edges) - 1):
        said = "\n".join(
            f"{name} {words_y(float(curve[k]))}"
            for name, curve in zip(names, curves, strict=True)
            if curve[k] == curve[k]
        )
        step = room / (len(edges) - 1)
        range_ = f"{words_x(float(edges[k]))} to {words_x(float(edges[k + 1]))}"
        made.rect(k * step, 0, step, bottom, "sv", f"{range_}\n{said}")
    made.text(0, height - 4, words_x(float(edges[0])))
    made.text(room, height - 4, words_x(float(edges[-1])), anchor="end")
    return made.chart()


def usual_range(
    value: float, usual: Sequence[tuple[float, float]], names: Sequence[str], words: Words
) -> Chart:
    """A value against what is usual in each set: bars, and a mark that may lie beyond them."""
    low, high = min(ends[0] for ends in usual), max(ends[1] for ends in usual)
    room = (high - low) or 1.0
    left, right = low - 0.12 * room, high + 0.12 * room
    made = Drawing(128, 20, f"{words(value)}, and what is usual")

    def at(v: float) -> float:
        return 4 + 112 * min(max((v - left) / (right - left), 0.0), 1.0)

    for k, (ends, name) in enumerate(zip(usual[:2], names, strict=False)):
        said = f"{name} {words(ends[0])} to {words(ends[1])}"
        look = "fa" if k == 0 else "fb lb"
        made.rect(at(ends[0]), 2 + 9 * k, max(at(ends[1]) - at(ends[0]), 2), 6, look, said)
    if value > right:
        made.path("M120 4l8 6l-8 6z", "dk")
    elif value < left:
        made.path("M8 4l-8 6l8 6z", "dk")
    else:
        made.rect(at(value) - 1, 0, 3, 20, "dk")
    return made.chart()


def made_of(shares: Mapping[str, float], words: Mapping[str, str]) -> Chart:
    """What the difference is made of, as one bar."""
    said = ", ".join(f"{words[kind]} {share_text(share)}" for kind, share in shares.items())
    made = Drawing(720, 64, said, scaled=True)
    x = 0.0
    for k, (kind, share) in enumerate(shares.items()):
        wide = 720 * share
        made.rect(x, 0, wide - 2, 24, f"p{k}", f"{words[kind]} {share_text(share)}")
        if wide > 60:
            made.text(x, 42, share_text(share), "n k")
            made.text(x, 58, words[kind] if wide > 6.5 * len(words[kind]) else "")
        x += wide
    return made.chart()


def seen_from(items: Sequence[tuple[str, float, str]], band: str) -> Chart:
    """A dot a column inside what could not have been seen: -1 and 1 would have been."""
    made = Drawing(520, 40 + 24 * len(items), f"Changes of the columns inside {band}", scaled=True)
    left, right, bottom = 210.0, 390.0, 24.0 * len(items)
    made.rect(left, 0, right - left, bottom, "gr")
    made.path(f"M{(left + right) / 2:g} 0V{bottom:g}", "tick")
    for k, (name, place, said) in enumerate(items):
        made.text(0, 24 * k + 16, short(name, 24), "k")
        x = (left + right) / 2 + (right - left) / 2 * min(max(place, -1.6), 1.6)
        made.dot(x, 24 * k + 12, 5, "db", said)
    for x, word in ((left, "would be seen"), ((left + right) / 2, "0"), (right, "would be seen")):
        made.text(x, bottom + 18, word, anchor="middle")
    return made.chart()


def by_level(
    x: tuple[Floats, Floats], y: tuple[Floats, Floats], levels: Sequence[str],
    names: tuple[str, str], title: str, words: Words, *, wide: bool = False,
) -> Chart | None:  # fmt: skip
    """The average of a number inside each of the most frequent levels, in two sets."""
    width, bottom, height = (320.0, 110.0, 132.0) if wide else (216.0, 76.0, 94.0)
    known = np.concatenate(x)
    counts = np.bincount(known[~np.isnan(known)].astype(np.intp), minlength=len(levels))
    first = np.argsort(-counts, kind="stable")[:5]
    means = [
        [
            float(np.nanmean(values[own == k]))
            if np.any((own == k) & ~np.isnan(values))
            else np.nan
            for k in first
        ]
        for own, values in zip(x, y, strict=True)
    ]
    seen = [v for side in means for v in side if v == v]
    if len(seen) < 4 or max(seen) == min(seen):
        return None
    low, high = min(seen), max(seen)
    made = Drawing(width, height, title)
    left, right = 92.0, width - 60

    def up(value: float) -> float:
        return bottom - (bottom - 14) * (value - low) / (high - low)

    free = [_apart([up(v) if v == v else math.nan for v in side]) for side in means]
    for place, k in enumerate(first):
        a, b = means[0][place], means[1][place]
        if a != a or b != b:
            continue
        name = short(levels[int(k)], 11)
        said = f"{levels[int(k)]}\n{names[0]} {words(a)}\n{names[1]} {words(b)}"
        made.path(f"M{left:g} {up(a):.1f}L{right:g} {up(b):.1f}", "l lk")
        made.dot(left, up(a), 4.5, "da", said)
        made.dot(right, up(b), 4.5, "db", said)
        made.text(left - 8, free[0][place] + 4, f"{name} {words(a)}", "", "end")
        made.text(right + 8, free[1][place] + 4, words(b), "k")
    made.text(left, height - 2, short(names[0], 12), "n xa", "middle")
    made.text(right, height - 2, short(names[1], 12), "n xb", "middle")
    return made.chart()


def _apart(places: list[float], least: float = 13.0) -> list[float]:
    """The same places, moved so far that labels there do not touch."""
    order = sorted((k for k, y in enumerate(places) if y == y), key=lambda k: places[k])
    moved = list(places)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    return moved
