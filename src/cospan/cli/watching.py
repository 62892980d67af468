"""``cospan profile`` and ``cospan monitor``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cospan.base.tables import json_text
from cospan.base.text import plural, printable
from cospan.cli.gates import OF_WINDOWS, Gate, crossed, refuse_unknown, values_of_window
from cospan.cli.options import WatchOutputs
from cospan.cli.places import check_places
from cospan.cli.terminal import Terminal
from cospan.comparison.score_files import table_file
from cospan.errors import InputError
from cospan.monitoring import Monitoring, Profile, Window, is_monitoring_file
from cospan.monitoring import monitor as monitor_windows
from cospan.wording import promise_sentence, window_sentences

#: Windows printed in full, at most: those in alarm, and the last ones.
SHOWN = 12
TABLES = (".csv", ".tsv", ".parquet", ".arrow")


def profile(
    terminal: Terminal,
    data: Sequence[str],
    output: Path,
    columns: dict[str, Any],
    time: str | None,
    every: str | None,
    rows: int,
) -> None:
    """Make a profile and write it."""
    check_places([output], data)
    given = {"time": time, "every": every, "rows": rows, **columns}
    made = Profile.of(_one_or_all(data), name=_name(data), **given)
    made.save(output)
    terminal.result(repr(made)[1:-1])
    terminal.note(f"wrote {output} ({_size(output.stat().st_size)})")


def monitor(
    terminal: Terminal,
    reference: str,
    data: Sequence[str],
    outputs: WatchOutputs,
    columns: dict[str, Any],
    options: dict[str, Any],
) -> list[Gate]:
    """Compare windows, write and print what was asked for; returns the gates that were crossed."""
    refuse_unknown(outputs.fail_on or [], OF_WINDOWS)
    _check_outputs(outputs, reference, data)
    found = monitor_windows(
        reference,
        _one_or_all(data),
        name=_name(data),
        progress=terminal.progress,
        **options,
        **columns,
    )
    terminal.stop_progress()
    if outputs.save is not None:
        found.save(outputs.save)
    for path in outputs.output or []:
        _write(found, path)
    if outputs.json:
        terminal.result(json_text(found.to_dict()))
    else:
        terminal.lines(_lines(found))
    for written in (outputs.save, *(outputs.output or [])):
        if written is not None:
            terminal.note(f"wrote {written}")
    return _judged(terminal, found, outputs)


def _size(n_bytes: int) -> str:
    """The size of a file, in words."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{max(1, round(n_bytes / 1e3))} kB"


def _one_or_all(data: Sequence[str]) -> Any:
    return data[0] if len(data) == 1 else list(data)


def _name(data: Sequence[str]) -> str:
    return Path(data[0]).name if len(data) == 1 else f"{len(data)} files"


def _check_outputs(outputs: WatchOutputs, reference: str, data: Sequence[str]) -> None:
    inputs = [reference, *data]
    same = outputs.save is not None and outputs.save.resolve() == Path(reference).resolve()
    if same and is_monitoring_file(reference):
        inputs = list(data)  # tomorrow's window goes into the file that it is added to
    pages = outputs.output or []
    check_places((*pages, outputs.save), inputs)
    for path in pages:
        if path.suffix not in (".html", ".json", *TABLES):
            raise InputError(f"{path} must end in .html, .json, .csv, .tsv, .parquet or .arrow.")


def _write(found: Monitoring, path: Path) -> None:
    if path.suffix == ".html":
        found.save_html(path)
    elif path.suffix == ".json":
        from cospan.base.files import write_text

        write_text(path, json_text(found.to_dict()) + "\n")
    else:
        with table_file(path) as write:
            write(found.table())


def _lines(found: Monitoring) -> Iterator[tuple[str, str]]:
    windows = plural(len(found.windows), "window")
    reference = printable(found.reference.name, 60)
    yield "title", f"{printable(found.name, 60)} against {reference}: {windows}"
    for line in found.sentences:
        yield "plain", printable(line)
    yield "plain", promise_sentence(found)
    alarms = list(found.alarms)
    shown = alarms[-SHOWN:] or list(found.windows[-3:])
    yield "head", "Alarms" if alarms else "The last windows"
    for window in shown:
        yield "plain", _line(window)
        for text in window_sentences(window, found)[:3]:
            yield "plain", f"      {printable(text)}"
    if len(alarms) > len(shown):
        yield "plain", f"  … and {len(alarms) - len(shown):,} earlier ones"


def _line(window: Window) -> str:
    first = f"  {printable(window.label, 40)}  {window.rows:,} rows  "
    level = f"{window.level:.2f} (1 = alarm)" if window.status == "judged" else window.status
    if window.size is None or window.p is None:
        return first + level
    return f"{first}{level}  size {window.size:.2f}  p {window.p:.2g}"


def _judged(terminal: Terminal, found: Monitoring, outputs: WatchOutputs) -> list[Gate]:
    """The gates that a window measured now crosses."""
    failed: list[Gate] = []
    told: list[str] = []
    for window in found.new_windows:
        values = values_of_window(window, found)
        here = crossed(outputs.fail_on or [], values)
        failed += [gate for gate in here if gate not in failed]
        told += [f"--fail-on {gate}: {printable(gate.found(values))}." for gate in here]
    for line in told[:SHOWN]:
        terminal.error(line)
    if len(told) > SHOWN:
        terminal.error(f"--fail-on: crossed {len(told) - SHOWN:,} times more.")
    return failed
