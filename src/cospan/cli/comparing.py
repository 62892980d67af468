"""``cospan compare``: two or more files, or the classes of one table.

Its files are written first, then it is printed: a closed pipe loses nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cospan.cli.gates import Gate, broken_by, told
from cospan.cli.places import check_places, files_among
from cospan.cli.terminal import Terminal
from cospan.comparison import Comparison
from cospan.comparison import compare as compare_sets
from cospan.comparison.opening import names_of
from cospan.comparison.score_files import check_table_path
from cospan.errors import InputError
from cospan.model_file import save
from cospan.report import format_of, terminal_lines, write


class Outputs(NamedTuple):
    """What comes out: reports, a table of scores, a model; JSON or text, all of it or 15 lines."""

    reports: Sequence[Path] = ()
    scores: Path | None = None
    save: Path | None = None
    json: bool = False
    full: bool = False


def compare(
    terminal: Terminal,
    sets: Sequence[str],
    score: str | None,
    options: dict[str, Any],
    outputs: Outputs,
    gates: Sequence[Gate],
) -> bool:
    """Compare, write, print; returns whether a gate was broken."""
    _check(sets, score, options, outputs)
    terminal.progress(f"reading {sets[0]}", 0, None)
    A: Any = sets[0] if len(sets) < 3 else dict(zip(names_of(sets), sets, strict=True))
    B = sets[1] if len(sets) == 2 else None
    found: Comparison = compare_sets(
        A, B, score, scores=outputs.scores, progress=terminal.progress, **options
    )
    if outputs.save is not None:
        save(outputs.save, found.model)
    files = [*sets, *([score] if score else [])]
    for path in outputs.reports:
        write(found, path, command=_command(), files=files)
    broken = [(gate, said) for gate in gates if (said := broken_by(gate, found))]
    show(terminal, found, outputs)
    for gate, said in broken:
        terminal.error(told(gate, said))
    return bool(broken)


def _check(
    sets: Sequence[str], score: str | None, options: dict[str, Any], outputs: Outputs
) -> None:
    """Whatever cannot be done, or would replace something, is said before the work starts."""
    if outputs.scores is not None:
        check_table_path(outputs.scores)
    inputs = [*sets, score, *files_among(options.get("label"))]
    check_places((*outputs.reports, outputs.scores, outputs.save), inputs)
    for path in outputs.reports:
        format_of(path)
    classes = [f"--{name}" for name in ("label", "a", "b") if name in options]
    if len(sets) > 2 and classes:
        raise InputError(f"{' and '.join(classes)}: for classes of one or two tables, not of more.")


def _command() -> str | None:
    """The command line, as the report shows it; None where something else started this."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    if started.stem != "cospan" and started.parent.name != "cospan":
        return None
    return shlex.join(["cospan", *sys.argv[1:]])


def show(terminal: Terminal, found: Comparison, outputs: Outputs) -> None:
    """The comparison as text or JSON, and which files were written."""
    terminal.stop_progress()
    terminal.heard(map(str, found.warnings))
    if outputs.json:
        terminal.json(found.to_dict())
    else:
        terminal.lines(terminal_lines(found, terminal.width, outputs.full))
    for path in (outputs.scores, outputs.save, *outputs.reports):
        if path is not None:
            terminal.note(f"wrote {path}")
