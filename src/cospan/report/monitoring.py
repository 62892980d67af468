"""The document of a monitoring: since when and what, a timeline, columns over time, windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from cospan.base.text import cut_middle, listed, number, plural, quoted, share_text
from cospan.base.tolerance import NOT_ZERO
from cospan.evidence import OTHER, Held
from cospan.monitoring import Episode, Monitoring, Window
from cospan.wording import results
from cospan.wording.findings import set_labels
from cospan.wording.results import of_hundred

from . import charts
from .charts import Drawing, Mark, for_phones, lanes, line
from .columns import Subject
from .comparison import pair_card
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
    Section,
    made_section,
    table,
)

#: Episodes with cards, columns over time, columns named in a row, sentences of the lead.
MOST_CARDS, MOST_COLUMNS, NAMED, LEAD = 3, 14, 3, 2
#: The width that a card has inside, and that of a section.
CARD, WIDE = 1008.0, 1088.0
#: Sums grow while an episode lasts: the line is clipped here.
HIGHEST = 3.0
#: Deviations from which on a cell of the heat map is one step darker.
STEPS = (1.0, 2.0, 3.5, 6.0)
#: Between these heights the line is drawn.
TOP, BOTTOM = 24.0, 176.0

#: A column over time: what it is called, its values, and how they are written.
Values: TypeAlias = tuple[str, Sequence[float], Callable[[float], str]]


def monitoring_document(
    found: Monitoring, command: str | None = None, files: Sequence[str] = ()
) -> Document:
    """The whole report of a monitoring."""
    from cospan._version import VERSION

    unit, said = results.window_name(found), ""
    if found.can_judge:
        said = f"Over all columns, as long as {unit}s vary as those of the reference did. "
        said += results.noticed_sentence(found)
    notes = [
        ("Reference", found.reference.name),
        ("Windows", str(found.every)),
        *(("File", path) for path in files),
        ("Version", f"cospan {VERSION}"),
    ]
    sections = (
        *_columns_section(found),
        *_window_sections(found),
        _windows_section(found),
        Section("promise", "False alarms", results.promise_sentence(found), said),
        made_section(command, notes),
    )
    return Document(_card(found), sections, found.to_dict(), f"cospan {VERSION}")


def _labels(windows: Sequence[Window]) -> list[str]:
    """When windows begin, without the year where it is one for all."""
    years = {str(window.start)[:4] for window in windows}
    return [results.day_text(window.start, len(years) > 1) for window in windows]


# ---- the card ----------------------------------------------------------------------------------


def _card(found: Monitoring) -> Card:
    windows, (title, *lead), unit = found.windows, found.sentences, results.window_name(found)
    rows = sum(window.rows for window in windows)
    name = set_labels((found.name,))[0] if found.name != found.reference.name else "watched"
    keys = (
        Key("reference", "a", plural(len(found.reference.codes), unit)),
        Key(name, "b", f"{plural(len(windows), unit)}, {rows:,} rows"),
    )
    labels, episodes = _labels(windows), found.episodes[::-1]
    points = []
    for k, one in enumerate(episodes[: results.MOST_EPISODES]):  # the title tells of the last one
        points += [Figure(results.episode_sentence(one))] if k else []
        change = results.change_sentence(one, found)
        points += [Figure(change)] if change else []
    drawn = for_phones(lambda width: _alarm_line(labels, windows, width), CARD)
    text = f"The line breaks where a {unit} cannot be judged."
    wide: list[Block] = [Figure(f"Each {unit}'s largest deviation; 1 = alarm.", text, drawn)]
    wide += [_episode_lanes(labels, found)] if episodes else []
    lead = lead[max(0, min(len(episodes), results.MOST_EPISODES) - 1) :][:LEAD]
    return Card(title, " ".join(lead), keys, points=tuple(points), wide=tuple(wide),
                facts=_facts(found))  # fmt: skip


def _column(one: Episode) -> str:
    return one.columns[0] if one.columns else "all columns"


def _facts(found: Monitoring) -> tuple[Fact, ...]:
    windows, unit = found.windows, results.window_name(found)
    judged = [window for window in windows if window.status == "judged"]
    alarms, other = sum(window.alarm for window in windows), len(windows) - len(judged)
    said = f"{other} more could not be judged" if other else f"every {unit} was judged"
    counts, name = f"{alarms} of {len(judged)}", f"{unit.capitalize()}s with an alarm"
    facts = [Fact(name, counts, said, "windows")]
    if found.episodes:
        first = found.episodes[0]
        since = results.day_text(first.alarm.start)
        facts.append(Fact("First alarm", since, _column(first), "window"))
        running = [_column(one) for one in found.episodes if one.end is None]
        now = plural(len(running), "episode") if running else "calm"
        facts.append(Fact("Now", now, listed(running, NAMED) or "over time", "columns"))
    rate = f"{number(found.rate)} {results.per_text(found)}"
    return (*facts, Fact("False alarms to expect", rate, "all columns together", "promise"))


# ---- columns over time -------------------------------------------------------------------------


def _columns_section(found: Monitoring) -> Iterator[Section]:
    """How far each column is from where it was while nothing alarmed, window by window."""
    windows, unit = found.windows, results.window_name(found)
    moved = list(dict.fromkeys(name for one in found.episodes for name in one.columns))
    names = dict.fromkeys([*moved, *(name for window in windows for name in window.columns)])
    rows = [row for name in names for row in _over_time(name, windows)][:MOST_COLUMNS]
    if not rows:
        return
    title = "No column left its usual range"
    if moved:
        title = f"{listed(moved, NAMED)} left {'its' if len(moved) == 1 else 'their'} usual range"
    arrows = f"Arrows mark the direction in {unit}s with an alarm. " if moved else ""
    caption = f"Stronger colour: further from the {unit}s without an alarm."
    drawn = Figure(caption, f"{arrows}Hover for values.", _heat(windows, rows))
    yield Section("columns", "Columns", title, "", (drawn,))


def _over_time(name: str, windows: Sequence[Window]) -> Iterator[Values]:
    """A column's mean or the share of the level that varies most, and of gaps, in every window."""
    held = [window.columns.get(name, Held(math.nan)) for window in windows]
    shares = {level: [one.levels.get(level, 0.0) if one.levels else math.nan for one in held]
              for one in held for level in one.levels}  # fmt: skip
    gaps = [one.missing for one in held]
    calm = [one for one, window in zip(held, windows, strict=True) if not window.alarm]
    if sum(bool(one.levels) or one.mean == one.mean for one in calm) < 2:
        return
    if shares:
        level = max(shares, key=lambda x: (x != OTHER, _reach(shares[x])))
        yield f"{name} = {level}", shares[level], share_text
    else:
        yield name, [one.mean for one in held], number
    if _reach(gaps) >= 0.005:
        yield f"{name} missing", gaps, share_text


def _reach(values: Sequence[float]) -> float:
    return float(np.nanmax(values) - np.nanmin(values))


# ---- windows -----------------------------------------------------------------------------------


def _window_sections(found: Monitoring) -> Iterator[Section]:
    """Of the last episodes the windows of the alarm and the worst as cards of comparisons."""
    unit, shown = results.window_name(found), dict[int, tuple[Window, str]]()
    for one in found.episodes[-MOST_CARDS:]:
        worst = results.worst_windows(one, found)
        shown |= {w.code: (w, f"worst {unit}") for w in worst[:1]}
        shown |= {w.code: (w, f"first {unit} of an alarm") for w in worst if w is one.alarm}
    usual = [float(w.size) for w in found.windows if w.size is not None and not w.alarm]
    cards = []
    for window, word in sorted(shown.values(), key=lambda one: one[0].code):
        assert window.comparison is not None
        sets, pair = results.window_sets(window), window.comparison
        pair = replace(pair, names=sets, _verdict=replace(pair.verdict, sets=sets))
        card = pair_card(Subject(pair))
        card = card._replace(title=f"{card.title[:1].upper()}{card.title[1:]}")  # The reference
        if not pair.verdict.differs:
            card = card._replace(lead=f"Alone it shows nothing: the alarm adds up several {unit}s.")
        if len(usual) > 1:
            ruler = charts.ruler(pair.size, (min(usual), max(usual)))
            card = card._replace(charts=(card.charts[0], ruler))
        cards.append((f"{word}, {sets[1]}", card))
    if cards:
        name, card = cards[0]
        folds = (Fold(other[:1].upper() + other[1:], one.title, (one,)) for other, one in cards[1:])
        title, more = f"The {name}", sum(w.alarm for w in found.windows) - len(cards)
        lead = f"{plural(more, f'more {unit}')} with an alarm: in the table." if more > 0 else ""
        yield Section("window", f"First {unit}", title, lead, (card, *folds))


def _windows_section(found: Monitoring) -> Section:
    """Every window, the latest first, in a table."""
    unit, rows = results.window_name(found), list[tuple[Cell | str, ...]]()
    for window in reversed(found.windows):
        word = "alarm" if window.alarm else window.status if window.status != "judged" else ""
        level = "" if math.isnan(window.level) else f"{window.level:.2f}"
        size = "" if window.size is None else of_hundred(window.size)
        names = dict.fromkeys(quoted(one.column) for one in window.findings if one.column)
        rows.append(
            (
                results.window_sets(window)[1],
                Cell(f"{window.rows:,}", value=float(window.rows)),
                Cell(level, value=window.level if level else 0.0),
                Cell(word, "strong chip" if window.alarm else "quiet chip"),
                Cell(size, value=float(window.size or 0.0)),
                ", ".join(list(names)[:NAMED]),
            )
        )
    heads = {unit.capitalize(): "name", "Rows ↕": "number", "Deviation ↕": "number",
             "State": "chip", "Size ↕": "number", "Columns": "words"}  # fmt: skip
    text = f"deviation, size and columns of each {unit}"
    fold = Fold("Show the table", text, (table(heads, rows),))
    return Section("windows", f"All {unit}s", f"All {plural(len(rows), unit)}", "", (fold,))


# ---- charts over time ---------------------------------------------------------------------------


def _alarm_line(labels: Sequence[str], windows: Sequence[Window], width: float) -> Chart:
    """The line from zero with its alarm level; broken, with the reason, where nothing is judged."""
    made = Drawing(width, BOTTOM + 24, "Deviation over time; 1 is an alarm")
    left = _left(width)
    step = (width - left) / max(1, len(windows))
    at = [left + (k + 0.5) * step for k in range(len(windows))]

    def band(first: int, last: int, look: str, hover: str = "") -> float:
        wide = step * (last - first + 1)
        made.rect(left + first * step, TOP, wide, BOTTOM - TOP, look, hover)
        return wide

    for first, last in _runs([window.alarm for window in windows]):
        band(first, last, "wb")
    for tick, word in ((0, "0"), (1, "alarm 1"), (2, "2"), (3, "3+")):
        made.path(f"M{left:g} {_up(tick):.1f}H{width:g}", "dash" if tick == 1 else "ax")
        made.text(left - 10, _up(tick) + 4, word, "n k" if tick == 1 else "", "end")
    for first, last in _runs([window.status != "judged" for window in windows]):
        reason = windows[first].status
        if band(first, last, "gr", f"{labels[first]}: {reason}") > 14:
            made.text((at[first] + at[last]) / 2 + 4, 100, reason, "", "middle", True)
    for first, last in _runs([window.level == window.level for window in windows]):
        inside = slice(first, last + 1)
        made.path(line(at[inside], [_up(window.level) for window in windows[inside]]), "l lb")
    for x, label, window in zip(at, labels, windows, strict=True):
        if window.level == window.level:
            said = f"{label}: {window.level:.2f}{', alarm' if window.alarm else ''}"
            look, size = "db" if window.alarm else "ring", 4.5 if step > 9 else 2.5
            made.dot(x, _up(window.level), size, look, said)
    first = next((k for k, window in enumerate(windows) if window.alarm), -1)
    if first >= 0:
        x = min(max(at[first], left + 60), width - 60)
        made.text(x, 14, f"first alarm, {labels[first]}", "n k", "middle")
        made.path(f"M{at[first]:.1f} 18V{_up(windows[first].level) - 6:.1f}", "ax2")
    _dates(made, labels, left)
    return made.chart()


def _up(level: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * min(max(level, 0.0), HIGHEST) / HIGHEST


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """First and last places of runs of true flags."""
    for flag, run in itertools.groupby(range(len(flags)), key=flags.__getitem__):
        places = list(run)
        if flag:
            yield places[0], places[-1]


def _dates(made: Drawing, labels: Sequence[str], left: float) -> None:
    """A few labels at the bottom, so that they do not touch."""
    longest, step = max(map(len, labels), default=1), (made.width - left) / max(1, len(labels))
    for k in range(0, len(labels), math.ceil((7.5 * longest + 16) / step)):
        x = left + (k + 0.5) * step
        anchor = "start" if k == 0 else "end" if x > made.width - 40 else "middle"
        made.text(x, made.height - 6, labels[k], "", anchor)


def _episode_lanes(labels: Sequence[str], found: Monitoring) -> Chart:
    """When each column was different, from which window to which, and how."""
    place = {window.start: k for k, window in enumerate(found.windows)}
    rows: dict[str, list[Mark]] = {}
    for one in found.episodes:
        first, last = place.get(one.start, 0), place.get(one.end, len(labels) - 1)
        words = results.change_sentence(one, found).removesuffix(".")
        said = f"{labels[first]} to {labels[last]}: {words or _column(one)}"
        marks = rows.setdefault(_column(one), [Mark("gr", 0, 1, 1)])
        marks.append(Mark("ep", first / len(labels), (last + 1) / len(labels), 18, said, words))
    return _lanes_over_time("Episodes", rows, (), CARD)


def _heat(windows: Sequence[Window], rows: Sequence[Values]) -> Chart:
    """Columns over time: the further from usual the darker, with arrows in windows of an alarm."""
    labels, n, found = _labels(windows), len(windows), dict[str, list[Mark]]()
    for name, values, words in rows:
        calm = [v for v, w in zip(values, windows, strict=True) if not w.alarm and v == v]
        middle = float(np.median(calm))
        spread = max(float(np.std(calm)), 1e-3 * abs(middle), NOT_ZERO)
        found[name] = marks = []
        for k, (value, window) in enumerate(zip(values, windows, strict=True)):
            far = (value - middle) / spread
            look = "wx" if far != far else f"w{sum(abs(far) >= cut for cut in STEPS)}"
            sign = ("↑" if far > 0 else "↓") if window.alarm and abs(far) > 2 else ""
            said = f"{name}, {labels[k]}: {words(value) if value == value else 'none'}"
            marks.append(Mark(look, k / n, (k + 0.92) / n, 26, said, sign))
    return _lanes_over_time("Columns over time", found, labels, WIDE)


def _lanes_over_time(
    title: str, rows: Mapping[str, Sequence[Mark]], labels: Sequence[str], wide: float
) -> Chart:
    """Lanes with dates below them."""

    def draw(width: float) -> Chart:
        left = _left(width)
        named = [(cut_middle(name, int(left / 7.3)), marks, "") for name, marks in rows.items()]
        made = lanes(title, named, width, 28, left=left, below=24 if labels else 0)
        _dates(made, labels, left)
        return made.chart()

    return for_phones(draw, wide)


def _left(width: float) -> float:
    """Room for names."""
    return 176.0 if width >= CARD else 104.0
