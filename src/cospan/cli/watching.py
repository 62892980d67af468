"""``cospan profile`` and ``cospan monitor``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cospan.base.tables import json_text
from cospan.base.text import number, plural, printable, share_text
from cospan.cli.gates import REPEATED, Gate, told
from cospan.cli.places import check_places
from cospan.cli.terminal import Terminal
from cospan.comparison.score_files import table_file
from cospan.errors import InputError
from cospan.headlines import promise_sentence, window_sentences
from cospan.monitoring import Monitoring, Profile, Window, is_monitoring_file
from cospan.monitoring import monitor as monitor_windows
from cospan.wording import SCHEMA

SHOWN = 5  # windows that are printed: those in alarm, or the last ones
TABLES = (".csv", ".tsv", ".parquet", ".arrow")


class Outputs(NamedTuple):
    """What comes out: pages and tables, the windows so far; JSON or text, all of it or 15 lines."""

    pages: Sequence[Path] = ()
    save: Path | None = None
    json: bool = False
    full: bool = False


def profile(terminal: Terminal, data: Sequence[str], output: Path, options: dict[str, Any]) -> None:
    """Make a profile and write it."""
    check_places([output], data)
    terminal.progress(f"reading {data[0]}", 0, None)
    made = Profile.of(_one_or_all(data), name=_name(data), **options)
    made.save(output)
    terminal.stop_progress()
    terminal.text(repr(made)[1:-1])
    terminal.note(f"wrote {output} ({_size(output.stat().st_size)})")


def monitor(
    terminal: Terminal,
    reference: str,
    data: Sequence[str],
    options: dict[str, Any],
    outputs: Outputs,
    gates: Sequence[Gate],
) -> bool:
    """Compare windows, write and print what was asked for; returns whether a gate was broken."""
    _check_outputs(outputs, reference, data)
    terminal.progress(f"reading {reference}", 0, None)
    found = monitor_windows(
        reference, _one_or_all(data), name=_name(data), progress=terminal.progress, **options
    )
    terminal.stop_progress()
    if outputs.save is not None:
        found.save(outputs.save)
    for path in outputs.pages:
        _write(found, path)
    if outputs.json:
        terminal.json(found.to_dict())
    else:
        terminal.lines(_lines(found, len(found.windows) if outputs.full else SHOWN))
    for written in (outputs.save, *outputs.pages):
        if written is not None:
            terminal.note(f"wrote {written}")
    broken = [(gate, said) for gate in gates if (said := _broken_by(gate, found))]
    for gate, said in broken:
        terminal.error(told(gate, said))
    return bool(broken)


def _broken_by(gate: Gate, found: Monitoring) -> list[str]:
    """What breaks a gate in the windows just read, in sentences."""
    said = []
    for window in found.new_windows:
        if gate.what == "drift" and window.alarm:
            reasons = window_sentences(window, found)[:1]
            said.append(" ".join([f"{window.label} raises an alarm.", *reasons]))
        elif gate.what == "size" and window.size is not None and window.size > gate.bound:
            said.append(f"the size is {number(float(window.size))} in {window.label}.")
        elif gate.what == "p" and window.p is not None and window.p < gate.bound:
            said.append(f"p is {number(window.p)} in {window.label}.")
        elif gate.what == "missing":
            usual = found.reference.missing
            for name, held in window.columns.items():
                if held.missing - usual.get(name, 0.0) > gate.bound:
                    share = share_text(held.missing)
                    said.append(f"{share} of {printable(name, 40)} are missing in {window.label}.")
        elif gate.what in ("schema", "duplicates"):
            kinds = SCHEMA if gate.what == "schema" else (REPEATED,)
            if any(one.kind in kinds for one in window.findings):
                said.append(f"{gate.what} in {window.label}.")
    running = [one for one in found.episodes if one.end is None]
    if gate.what == "drift" and not said and running and found.new_windows:
        said = [f"{', '.join(one.columns)} since {one.start}." for one in running]
    return said


def _size(n_bytes: int) -> str:
    """The size of a file, in words."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{max(1, round(n_bytes / 1e3))} kB"


def _one_or_all(data: Sequence[str]) -> Any:
    return data[0] if len(data) == 1 else list(data)


def _name(data: Sequence[str]) -> str:
    return Path(data[0]).name if len(data) == 1 else f"{len(data)} files"


def _check_outputs(outputs: Outputs, reference: str, data: Sequence[str]) -> None:
    inputs = [reference, *data]
    same = outputs.save is not None and outputs.save.resolve() == Path(reference).resolve()
    if same and is_monitoring_file(reference):
        inputs = list(data)  # tomorrow's window goes into the file that it is added to
    pages = outputs.pages
    check_places((*pages, outputs.save), inputs)
    for path in pages:
        if path.suffix not in (".html", ".json", *TABLES):
            raise InputError(f"{path} must end in .html, .json, .csv, .tsv, .parquet or .arrow.")


def _write(found: Monitoring, path: Path) -> None:
    if path.suffix == ".html":
        found.save(path)
    elif path.suffix == ".json":
        from cospan.base.files import write_text

        write_text(path, json_text(found.to_dict()) + "\n")
    else:
        with table_file(path) as write:
            write(found.table())


def _lines(found: Monitoring, most: int) -> Iterator[tuple[str, str]]:
    windows = plural(len(found.windows), "window")
    reference = printable(found.reference.name, 60)
    yield "title", f"{printable(found.name, 60)} against {reference}: {windows}"
    for line in found.sentences:
        yield "plain", printable(line)
    yield "plain", promise_sentence(found)
    alarms = list(found.alarms)
    shown = alarms[-most:] or list(found.windows[-min(most, 3) :])
    yield "head", "Alarms" if alarms else "The last windows"
    for window in shown:
        yield "plain", _line(window)
        for text in window_sentences(window, found)[:1]:
            yield "plain", f"      {printable(text)}"
    if len(alarms) > len(shown):
        yield "plain", f"  … and {len(alarms) - len(shown):,} earlier ones"


def _line(window: Window) -> str:
    first = f"  {printable(window.label, 40)}  {window.rows:,} rows  "
    level = f"{window.level:.2f} (1 = alarm)" if window.status == "judged" else window.status
    if window.size is None or window.p is None:
        return first + level
    return f"{first}{level}  size {window.size:.2f}  p {window.p:.2g}"
