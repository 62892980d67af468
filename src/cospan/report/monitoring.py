"""The document of a monitoring: since when and what, a timeline, columns over time, windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date

import numpy as np

from cospan.base.text import number, pair_of, plural, quoted, share_text, shares_text
from cospan.evidence import Held
from cospan.headlines import promise_sentence
from cospan.monitoring import Episode, Monitoring, Window
from cospan.wording import of_hundred

from . import charts, timeline
from .card import SHARES, pair_card
from .columns import Subject, p_sign
from .document import (
    Block,
    Card,
    Cell,
    Document,
    Fact,
    Figure,
    Fold,
    Key,
    Notes,
    Section,
    Text,
    table,
)  # fmt: skip

#: Windows that open as a card, columns over time, columns named in a row, sentences of the lead.
MOST_CARDS, MOST_COLUMNS, NAMED, LEAD = 6, 14, 3, 2
UNITS = ("hour", "day", "week", "month", "year")


def monitoring_document(
    found: Monitoring, command: str | None = None, files: Sequence[str] = ()
) -> Document:
    """The whole report of a monitoring."""
    rate = number(found.rate)
    title = f"Expect {'one false alarm' if rate == '1' else f'{rate} false alarms'} a year"
    sections = [
        *_columns_section(found),
        *_episodes_section(found),
        *_window_sections(found),
        _windows_section(found),
        Section("promise", "False alarms", title, "", (Text(promise_sentence(found)),)),
        _made_section(found, command, files),
    ]
    return Document(_card(found), tuple(sections), found.to_dict(), found.name)


def _unit(found: Monitoring) -> str:
    """What a window is called."""
    return found.every.unit if found.every.unit in UNITS else "window"


def day_text(start: object, year: bool = True) -> str:
    """When a window begins, in few words.

    >>> day_text(np.datetime64("2013-06-24")), day_text(301)
    ('24 June 2013', '301')
    """
    if isinstance(start, np.datetime64):
        day: date = start.astype("datetime64[D]").astype(object)
        return f"{day.day} {day:%B %Y}" if year else f"{day.day} {day:%b}"
    return f"{start:,}" if isinstance(start, int) else str(start)


def _labels(windows: Sequence[Window]) -> list[str]:
    """When windows begin, without the year where it is one for all."""
    years = {str(window.start)[:4] for window in windows}
    return [day_text(window.start, len(years) > 1) for window in windows]


# ---- the card ----------------------------------------------------------------------------------


def _card(found: Monitoring) -> Card:
    windows, (title, *lead), unit = found.windows, found.sentences, _unit(found)
    rows = sum(window.rows for window in windows)
    same = found.reference.name == found.name
    keys = (
        Key("reference" if same else found.reference.name, "a",
            plural(len(found.reference.codes), unit)),
        Key("watched" if same else found.name, "b", f"{plural(len(windows), unit)}, {rows:,} rows"),
    )  # fmt: skip
    labels = _labels(windows)
    text = f"The line breaks where a {unit} cannot be judged."
    drawn = timeline.alarm_line(labels, windows)
    wide: list[Block] = [Figure(f"Each {unit}'s largest deviation; 1 = alarm.", text, drawn)]
    place = {window.start: k for k, window in enumerate(windows)}
    lanes = [
        (_column(one), place.get(one.start, 0), place.get(one.end, len(windows) - 1), _change(one))
        for one in found.episodes
    ]  # fmt: skip
    if lanes:
        wide.append(timeline.episode_lanes(labels, lanes))
    return Card(title, " ".join(lead[:LEAD]), keys, wide=tuple(wide), facts=_facts(found))


def _column(one: Episode) -> str:
    return one.columns[0] if one.columns else "all columns"


def _change(one: Episode) -> str:
    """What the episode's first column was and became, where one finding says it."""
    for finding in one.findings:
        if finding.column == _column(one) and finding.a == finding.a and finding.b == finding.b:
            texts = shares_text if finding.kind in SHARES else pair_of
            what = f"{finding.kind} " if finding.kind != "mean" else ""
            return what + " → ".join(texts(finding.a, finding.b))
    return ""


def _facts(found: Monitoring) -> tuple[Fact, ...]:
    windows, unit = found.windows, _unit(found)
    judged = [window for window in windows if window.status == "judged"]
    alarms, other = sum(window.alarm for window in windows), len(windows) - len(judged)
    said = f"{other} more could not be judged" if other else f"every {unit} was judged"
    facts = [Fact(f"{unit.capitalize()}s with an alarm", f"{alarms} of {len(judged)}", said,
                  "windows")]  # fmt: skip
    if found.episodes:
        first, running = found.episodes[0], [one for one in found.episodes if one.end is None]
        facts.append(Fact("First alarm", day_text(first.alarm.start), _column(first), "window"))
        now = _column(running[-1]) if running else "calm"
        since = f"since {day_text(running[-1].start)}" if running else "no episode runs"
        facts.append(Fact("Now", now, since, "episodes"))
    sized = [window for window in windows if window.size is not None]
    if sized:
        size = f"{of_hundred(sized[-1].size or math.nan)} in 100"
        facts.append(Fact("Latest size", size, day_text(sized[-1].start)))
    rate = f"{number(found.rate)} a year"
    return (*facts, Fact("False alarms to expect", rate, "all columns together", "promise"))


# ---- columns over time -------------------------------------------------------------------------


def _columns_section(found: Monitoring) -> Iterator[Section]:
    """How far each column is from where it was while nothing alarmed, window by window."""
    windows, unit = found.windows, _unit(found)
    moved = list(dict.fromkeys(name for one in found.episodes for name in one.columns))
    names = dict.fromkeys([*moved, *(name for window in windows for name in window.columns)])
    rows = {called: cells for name in names for called, cells in _over_time(name, windows)}
    if not rows:
        return
    title = "No column left its usual range"
    if moved:
        more = f" and {len(moved) - 2} more" if len(moved) > 2 else ""
        which = " and ".join(quoted(name) for name in moved[:2])
        title = f"{which}{more} left {'its' if len(moved) == 1 else 'their'} usual range"
    lead = (
        f"Stronger colour: further from the {unit}s without an alarm. Arrows mark the direction in "
        f"{unit}s with an alarm. Hover for values."
    )
    shown = dict(list(rows.items())[:MOST_COLUMNS])
    yield Section("columns", "Columns", title, lead, (timeline.heat(_labels(windows), shown),))


def _over_time(
    name: str, windows: Sequence[Window]
) -> Iterator[tuple[str, list[tuple[float, bool, str]]]]:
    """A column's mean or the level that varies most, and its gaps, in every window."""
    held = [window.columns.get(name, Held(math.nan)) for window in windows]
    shares: dict[str, list[float]] = {}
    for one in held:
        for level, share in one.levels.items():
            shares.setdefault(level, []).append(share)
    level = max(shares, key=lambda x: float(np.ptp(shares[x])), default="")
    own = [one.levels.get(level, math.nan) if shares else one.mean for one in held]
    gaps = [one.missing for one in held]
    words: Callable[[float], str] = share_text if shares else number
    parts = [(f"{name} = {level}" if shares else name, own, words)]
    if np.nanmax(gaps) - np.nanmin(gaps) >= 0.005:
        parts.append((f"{name} missing", gaps, share_text))
    for called, values, words in parts:
        calm = [v for v, w in zip(values, windows, strict=True) if not w.alarm and v == v]
        if len(calm) < 2:
            continue
        middle = float(np.median(calm))
        spread = max(float(np.std(calm)), 1e-3 * abs(middle), 1e-9)
        cells = []
        for value, window in zip(values, windows, strict=True):
            far = (value - middle) / spread
            said = words(value) if value == value else "none"
            cells.append((far, window.alarm and abs(far) > 2, said))
        yield called, cells


# ---- episodes and windows ----------------------------------------------------------------------


def _episodes_section(found: Monitoring) -> Iterator[Section]:
    """When something was different, and in which columns."""
    if not found.episodes:
        return
    rows = [
        (day_text(one.start), "lasts" if one.end is None else day_text(one.end),
         day_text(one.alarm.start), ", ".join(map(quoted, one.columns[:NAMED])), _change(one))
        for one in found.episodes
    ]  # fmt: skip
    heads = {"Began": "name", "Ended": "", "Alarm": "", "Columns": "", "At the alarm": "words"}
    running = sum(one.end is None for one in found.episodes)
    title = f"{plural(len(rows), 'episode')}, {running or 'none'} of them still running"
    yield Section("episodes", "Episodes", title, "", (table(heads, rows),))


def _window_sections(found: Monitoring) -> Iterator[Section]:
    """The window of each episode's alarm as the card of a comparison; others are folded."""
    alarms = [*(one.alarm for one in found.episodes), *(w for w in found.windows if w.alarm)]
    shown = {window.code: window for window in alarms if window.comparison is not None}
    usual = [float(w.size) for w in found.windows if w.size is not None and not w.alarm]
    cards = []
    for window in list(shown.values())[:MOST_CARDS]:
        assert window.comparison is not None
        card = pair_card(Subject(window.comparison))
        if len(usual) > 1:
            ruler = charts.ruler(window.comparison.size, (min(usual), max(usual)))
            card = card._replace(charts=(card.charts[0], ruler))
        name = f"{_unit(found)} of {day_text(window.start)}" if found.every.timed else str(window)
        cards.append((name, card))
    if cards:
        name, card = cards[0]
        folds = (Fold(other[:1].upper() + other[1:], one.title, (one,)) for other, one in cards[1:])
        title, lead = f"The {name} against the reference", "The same card as for two files."
        word = f"First {_unit(found)}"
        yield Section("window", word, title, lead, (card, *folds))


def _windows_section(found: Monitoring) -> Section:
    """Every window, the latest first, in a table."""
    unit, rows = _unit(found), []
    for window in reversed(found.windows):
        word = "alarm" if window.alarm else window.status if window.status != "judged" else ""
        level = "" if math.isnan(window.level) else f"{window.level:.2f}"
        size = "" if window.size is None else of_hundred(window.size)
        p = "" if window.p is None or math.isnan(window.p) else p_sign(window.p, 999)
        names = dict.fromkeys(quoted(one.column) for one in window.findings if one.column)
        rows.append(
            (
                str(window),
                Cell(f"{window.rows:,}", value=float(window.rows)),
                Cell(level, value=window.level if level else 0.0),
                Cell(word, "strong chip" if window.alarm else "quiet chip"),
                Cell(size, value=float(window.size or 0.0)),
                Cell(p.removeprefix("= "), value=window.p if p else 2.0),
                ", ".join(list(names)[:NAMED]),
            )
        )
    heads = {unit.capitalize(): "name", "Rows ↕": "number", "Deviation ↕": "number",
             "State": "chip", "Size ↕": "number", "p ↕": "number", "Columns": "words"}  # fmt: skip
    text = f"deviation, size and columns of each {unit}"
    fold = Fold("Show the table", text, (table(heads, rows),))
    title = f"All {plural(len(rows), unit)}"
    return Section("windows", f"All {unit}s", title, "", (fold,))


def _made_section(found: Monitoring, command: str | None, files: Sequence[str]) -> Section:
    blocks: list[Block] = [Text(command, code=True)] if command else []
    items = [
        ("Reference", found.reference.name),
        ("Windows", str(found.every)),
        ("False alarms", f"{number(found.rate)} a year accepted"),
        *(("File", path) for path in files),
        *(("Note", note) for note in found.notes),
    ]
    blocks.append(Fold("Settings and notes", "to repeat it exactly", (Notes(tuple(items)),)))
    return Section("made", "How made", "How this was made", "", tuple(blocks))
