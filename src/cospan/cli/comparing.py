"""``cospan compare`` and ``cospan monitor``.

Their files are written first, then the result is printed: a closed pipe loses nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cospan.base.text import printable
from cospan.cli.gates import Gate, broken
from cospan.cli.places import check_places, files_among
from cospan.cli.terminal import Terminal
from cospan.comparison import Comparison
from cospan.comparison import compare as compare_sets
from cospan.comparison.opening import names_of
from cospan.comparison.score_files import check_table_path, table_file
from cospan.errors import InputError
from cospan.headlines import window_sentences
from cospan.model_file import save
from cospan.monitoring import Monitoring, is_monitoring_file
from cospan.monitoring import monitor as monitor_windows
from cospan.report import format_of, terminal_lines, write

SHOWN = 5  # windows in alarm that are printed, the last ones
TABLES = (".csv", ".tsv", ".parquet", ".arrow")


class Outputs(NamedTuple):
    """What comes out: reports, scores, what to go on from; JSON or text, all of it or 15 lines."""

    reports: Sequence[Path] = ()
    scores: Path | None = None
    save: Path | None = None
    json: bool = False
    full: bool = False
    gates: Sequence[Gate] = ()


def compare(
    terminal: Terminal,
    sets: Sequence[str],
    score: str | None,
    options: dict[str, Any],
    outputs: Outputs,
) -> bool:
    """Compare, write, print; returns whether a gate was broken."""
    _check_compare(sets, score, options, outputs)
    terminal.progress(f"reading {sets[0]}", 0, None)
    A: Any = sets[0] if len(sets) < 3 else dict(zip(names_of(sets), sets, strict=True))
    B = sets[1] if len(sets) == 2 else None
    found = compare_sets(A, B, score, scores=outputs.scores, progress=terminal.progress, **options)
    if outputs.save is not None:
        save(outputs.save, found.model)
    files = [*sets, *([score] if score else [])]
    for path in outputs.reports:
        write(found, path, command=_command(), files=files)
    return finish(terminal, found, outputs)


def monitor(
    terminal: Terminal,
    reference: str,
    data: Sequence[str],
    options: dict[str, Any],
    outputs: Outputs,
) -> bool:
    """The same for windows."""
    _check_monitor(reference, data, outputs)
    terminal.progress(f"reading {reference}", 0, None)
    found = monitor_windows(
        reference,
        one_or_all(data),
        name=name_of(data),
        progress=terminal.progress,
        **options,
    )
    if outputs.save is not None:
        found.save(outputs.save)
    for path in outputs.reports:
        if path.suffix in TABLES:
            with table_file(path) as write_table:
                write_table(found.table())
        else:
            write(found, path, command=_command(), files=[reference, *data])
    return finish(terminal, found, outputs)


def finish(terminal: Terminal, found: Comparison | Monitoring, outputs: Outputs) -> bool:
    """Print a result as text or JSON, which files were written, and which gates are broken."""
    lines = broken(outputs.gates, found)
    terminal.stop_progress()
    if isinstance(found, Comparison):
        terminal.heard(map(str, found.warnings))
    if outputs.json:
        terminal.json(found.to_dict())
    else:
        terminal.lines(terminal_lines(found, terminal.width, outputs.full))
        if isinstance(found, Monitoring):
            terminal.lines(_alarms(found, terminal.width, outputs.full))
    for path in (outputs.scores, outputs.save, *outputs.reports):
        if path is not None:
            terminal.note(f"wrote {path}")
    for line in lines:
        terminal.error(line)
    return bool(lines)


def _alarms(found: Monitoring, width: int, full: bool) -> Iterator[tuple[str, str]]:
    """The first finding of the last windows in alarm."""
    alarms = found.alarms if full else found.alarms[-SHOWN:]
    for window in alarms:
        for said in window_sentences(window, found)[:1]:
            yield "plain", printable(f"- {window.label}: {said}", width)


def one_or_all(data: Sequence[str]) -> Any:
    """A file, or several files one after the other."""
    return data[0] if len(data) == 1 else list(data)


def name_of(data: Sequence[str]) -> str:
    """What to call them."""
    return Path(data[0]).name if len(data) == 1 else f"{len(data)} files"


# ---- whatever cannot be done, or would replace something, is said before the work starts --------


def _check_compare(
    sets: Sequence[str], score: str | None, options: dict[str, Any], outputs: Outputs
) -> None:
    if outputs.scores is not None:
        check_table_path(outputs.scores)
    inputs = [*sets, score, *files_among(options.get("label"))]
    check_places((*outputs.reports, outputs.scores, outputs.save), inputs)
    for path in outputs.reports:
        format_of(path)
    classes = [f"--{name}" for name in ("label", "a", "b") if name in options]
    if len(sets) > 2 and classes:
        raise InputError(f"{' and '.join(classes)}: for classes of one or two tables, not of more.")


def _check_monitor(reference: str, data: Sequence[str], outputs: Outputs) -> None:
    inputs = [reference, *data]
    same = outputs.save is not None and outputs.save.resolve() == Path(reference).resolve()
    if same and is_monitoring_file(reference):
        inputs = list(data)  # tomorrow's window goes into the file that it is added to
    check_places((*outputs.reports, outputs.save), inputs)
    for path in outputs.reports:
        if path.suffix not in (".html", ".md", ".json", *TABLES):
            raise InputError(f"{path} must end in .html, .md, .json or {', '.join(TABLES)}.")


def _command() -> str | None:
    """The command line, as the report shows it; None where something else started this."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    if started.stem != "cospan" and started.parent.name != "cospan":
        return None
    return shlex.join(["cospan", *sys.argv[1:]])
