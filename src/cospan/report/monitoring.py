"""The document of a monitoring: since when and what, a timeline, columns over time, windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.text import number, plural, quoted, share_text
from cospan.evidence import Held
from cospan.headlines import promise_sentence
from cospan.wording import of_hundred

from . import timeline
from .document import (
    Block,
    Card,
    Cell,
    Document,
    Fact,
    Figure,
    Fold,
    Headline,
    Key,
    Notes,
    Section,
    Table,
    Text,
)
from .pair import p_sign, pair_card
from .sections import sides_of

if TYPE_CHECKING:
    from cospan.monitoring import Monitoring

#: Windows that open as a card, columns over time, and columns named in a row of the table.
MOST_CARDS, MOST_COLUMNS, NAMED = 6, 14, 3
UNITS = {"hour": "hour", "day": "day", "week": "week", "month": "month", "year": "year"}


def monitoring_document(
    found: Monitoring, command: str | None = None, files: Sequence[str] = ()
) -> Document:
    """The whole report of a monitoring."""
    sections = [
        *_columns_section(found),
        *_window_sections(found),
        _windows_section(found),
        _promise_section(found),
        _made_section(found, command, files),
    ]
    return Document(_card(found), tuple(sections), found.to_dict(), f"{found.name}")


def unit_of(found: Monitoring) -> str:
    """What a window is called."""
    return UNITS.get(str(getattr(found.every, "unit", "")), "window")


def day_text(start: Any, year: bool = True) -> str:
    """When a window begins, in few words.

    >>> day_text(np.datetime64("2013-06-24")), day_text(301)
    ('24 June 2013', '301')
    """
    if isinstance(start, np.datetime64):
        day: date = start.astype("datetime64[D]").astype(object)
        return f"{day.day} {day:%B %Y}" if year else f"{day.day} {day:%b}"
    return f"{start:,}" if isinstance(start, int) else str(start)


def labels_of(windows: Sequence[Any]) -> list[str]:
    """When windows begin, without the year where it is one for all."""
    years = {str(window.start)[:4] for window in windows}
    return [day_text(window.start, len(years) > 1) for window in windows]


# ---- the card ----------------------------------------------------------------------------------


def _card(found: Monitoring) -> Card:
    windows, sentences = found.windows, found.sentences
    rows = sum(window.rows for window in windows)
    keys = (
        Key(found.reference.name, "a", "reference"),
        Key(found.name, "b", f"{plural(len(windows), unit_of(found))}, {rows:,} rows"),
    )
    lanes = [
        (_lane_name(one.columns), _index(windows, one.start), _index(windows, one.end, last=True),
         _lane_words(one.columns))
        for one in found.episodes
    ]  # fmt: skip
    chart = timeline.alarm_line(
        labels_of(windows),
        [window.level for window in windows],
        [window.alarm for window in windows],
        [window.status for window in windows],
        lanes,
    )
    figure = Figure(
        f"Each {unit_of(found)}'s largest deviation; 1 = alarm.",
        f"The line breaks where a {unit_of(found)} cannot be judged.",
        chart,
    )
    top = Headline(sentences[0], sentences[1] if len(sentences) > 1 else "", keys)
    return Card(top, wide=(figure,), facts=_facts(found))


def _index(windows: Sequence[Any], start: Any, last: bool = False) -> int:
    """The place of the window that begins there; the last one where an episode lasts."""
    if start is None:
        return len(windows) - 1
    places = [k for k, window in enumerate(windows) if window.start == start]
    return places[0] if places else (len(windows) - 1 if last else 0)


def _lane_name(columns: Sequence[str]) -> str:
    return columns[0] if columns else "all columns"


def _lane_words(columns: Sequence[str]) -> str:
    return f"and {plural(len(columns) - 1, 'more column')}" if len(columns) > 1 else ""


def _facts(found: Monitoring) -> tuple[Fact, ...]:
    windows, episodes, unit = found.windows, found.episodes, unit_of(found)
    judged = [window for window in windows if window.status == "judged"]
    alarms = [window for window in windows if window.alarm]
    other = len(windows) - len(judged)
    said = f"{other} more could not be judged" if other else f"every {unit} was judged"
    facts = [Fact(f"{unit.capitalize()}s with an alarm", f"{len(alarms)} of {len(judged)}", said,
                  "windows")]  # fmt: skip
    if episodes:
        first, running = episodes[0], [one for one in episodes if one.end is None]
        facts.append(Fact("First alarm", day_text(first.alarm.start), _lane_name(first.columns)))
        now = _lane_name(running[-1].columns) if running else "calm"
        since = f"since {day_text(running[-1].start)}" if running else "no episode runs"
        facts.append(Fact("Now", now, since, "columns"))
    sized = [(window.size, window.start) for window in windows if window.size is not None]
    if sized:
        size, start = sized[-1]
        facts.append(Fact("Latest size", f"{of_hundred(size)} in 100", day_text(start)))
    facts.append(Fact("False alarms to expect", f"{number(found.rate)} a year",
                      "all columns together", "promise"))  # fmt: skip
    return tuple(facts)


# ---- columns over time -------------------------------------------------------------------------


def _columns_section(found: Monitoring) -> Iterator[Section]:
    """How far each column is from where it was while nothing alarmed, window by window."""
    windows = found.windows
    names = list(dict.fromkeys(name for window in windows for name in window.columns))
    told = [name for one in found.episodes for name in one.columns]
    rows = []
    for name in sorted(names, key=lambda x: told.index(x) if x in told else len(told)):
        rows += _over_time(name, windows)
    if not rows:
        return
    moved = list(dict.fromkeys(told))
    title = "No column left its usual range"
    if moved:
        which = " and ".join(quoted(name) for name in moved[:2])
        more = f" and {len(moved) - 2} more" if len(moved) > 2 else ""
        title = f"{which}{more} left {'its' if len(moved) == 1 else 'their'} usual range"
    unit = unit_of(found)
    lead = (
        f"Stronger colour: further from the {unit}s without an alarm. Arrows mark the direction in "
        f"{unit}s with an alarm. Hover for values."
    )
    chart = timeline.heat(labels_of(windows), rows[:MOST_COLUMNS])
    yield Section("columns", "Columns", title, lead, (chart,))


def _over_time(name: str, windows: Sequence[Any]) -> list[timeline.Row]:
    """A column's mean or largest level, and its gaps, in every window."""
    held = [window.columns.get(name) for window in windows]
    known = [one for one in held if one is not None]
    levels: dict[str, list[float]] = {}
    for one in known:
        for level, share in one.levels.items():
            levels.setdefault(level, []).append(share)
    level = max(levels, key=lambda x: float(np.ptp(levels[x])), default="")
    nothing = Held(math.nan)
    of = [nothing if one is None else one for one in held]
    own = [one.levels.get(level, math.nan) if levels else one.mean for one in of]
    parts: tuple[tuple[str, list[float], Callable[[float], str]], ...] = (
        (level, own, share_text if levels else number),
        ("missing", [one.missing for one in of], share_text),
    )
    found = []
    for part, values, words in parts:
        calm = [v for v, w in zip(values, windows, strict=True) if not w.alarm and v == v]
        if len(calm) < 2 or (part == "missing" and max(values) - min(values) < 0.005):
            continue
        middle, spread = float(np.median(calm)), float(np.std(calm))
        spread = max(spread, 1e-3 * abs(middle), 1e-9)
        cells = [
            ((v - middle) / spread, w.alarm and abs(v - middle) > 2 * spread, words(v))
            for v, w in zip(values, windows, strict=True)
        ]
        called = f"{name} = {part}" if part not in ("", "missing") else f"{name} {part}".strip()
        found.append((called, cells))
    return found


# ---- windows -----------------------------------------------------------------------------------


def _window_sections(found: Monitoring) -> Iterator[Section]:
    """The window of each episode's alarm as the card of a comparison; others are folded."""
    shown = [one.alarm for one in found.episodes if one.alarm.comparison is not None]
    shown += [w for w in found.windows if w.alarm and w.comparison is not None]
    windows = list({id(window): window for window in shown}.values())[:MOST_CARDS]
    if not windows:
        return
    usual = [float(w.size) for w in found.windows if w.size is not None and not w.alarm]
    cards = []
    for window in windows:
        compared = window.comparison
        assert compared is not None
        card = pair_card(compared, sides_of(compared))
        if len(usual) > 1:
            size, band = compared.size, (min(usual), max(usual))
            ruler = timeline.with_usual(float(size), size.low, size.high, band)
            card = replace_charts(card, (card.charts[0], ruler))
        cards.append((window, card))
    unit = unit_of(found)
    first, card = cards[0]
    blocks: list[Block] = [card]
    for window, other in cards[1:]:
        text = other.headline.title
        blocks.append(Fold(_called(window, unit).capitalize(), text, (other,)))
    title = f"The {_called(first, unit)} against the reference"
    lead = f"The same card as for two files. Every {unit} with an alarm has one."
    yield Section("window", f"First {unit}", title, lead, tuple(blocks))


def _called(window: Any, unit: str) -> str:
    """A window in a heading: by its first day, or by its rows."""
    return str(window) if unit == "window" else f"{unit} of {day_text(window.start)}"


def replace_charts(card: Card, charts: tuple[Any, ...]) -> Card:
    """A card with other charts below its number, and without facts that link elsewhere."""
    return replace(card, charts=charts, facts=())


def _windows_section(found: Monitoring) -> Section:
    """Every window in a table."""
    unit = unit_of(found)
    rows = []
    for window in reversed(found.windows):
        size = "" if window.size is None else of_hundred(window.size)
        p = "" if window.p is None or math.isnan(window.p) else p_sign(window.p).removeprefix("= ")
        level = "" if math.isnan(window.level) else f"{window.level:.2f}"
        names = [quoted(one.column) for one in window.findings if one.column][:NAMED]
        word = "alarm" if window.alarm else window.status if window.status != "judged" else ""
        rows.append(
            (
                Cell(str(window), look="name"),
                Cell(f"{window.rows:,}", look="number", value=float(window.rows)),
                Cell(level, look="number", value=0.0 if level == "" else window.level),
                Cell(word, look="strong chip" if window.alarm else "quiet chip"),
                Cell(size, look="number", value=float(window.size or -1)),
                Cell(p, look="number", value=2.0 if window.p is None else window.p),
                Cell(", ".join(dict.fromkeys(names)), look="words"),
            )
        )  # fmt: skip
    heads = (unit.capitalize(), "Rows ↕", "Deviation ↕", "", "Size ↕", "p ↕", "Columns")
    table = Table(heads, tuple(rows))
    title = f"All {plural(len(rows), unit)}"
    fold = Fold("Show the table", f"deviation, size and columns of each {unit}", (table,))
    return Section("windows", f"All {unit}s", title, "", (fold,))


def _promise_section(found: Monitoring) -> Section:
    """How often an alarm is false, and how small a change is seen."""
    blocks: list[Block] = [Text(promise_sentence(found))]
    rate = number(found.rate)
    title = f"Expect {'one false alarm' if rate == '1' else f'{rate} false alarms'} a year"
    return Section("promise", "False alarms", title, "", tuple(blocks))


def _made_section(found: Monitoring, command: str | None, files: Sequence[str]) -> Section:
    blocks: list[Block] = [Text(command, code=True)] if command else []
    items = [
        ("Reference", found.reference.name),
        ("Windows", str(found.every)),
        ("False alarms", f"{number(found.rate)} a year accepted"),
        *(("File", str(path)) for path in files),
        *(("Note", str(note)) for note in found.notes),
    ]
    blocks.append(Fold("Settings and notes", "to repeat it exactly", (Notes(tuple(items)),)))
    return Section("made", "How made", "How this was made", "", tuple(blocks))
