"""``cospan compare``: two or more files, or the classes of one table.

Its files are written first, then it is printed: a closed pipe loses nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cospan.cli.gates import Gate, crossed, remedy_for, values_of
from cospan.cli.options import Chosen, Outputs, What
from cospan.cli.places import check_places, files_among
from cospan.cli.terminal import Terminal
from cospan.comparison import Comparison
from cospan.comparison import compare as compare_sets
from cospan.comparison.opening import classes_of, names_of
from cospan.comparison.score_files import check_table_path
from cospan.distributed import on_cluster, read_lazily
from cospan.errors import InputError
from cospan.model_file import save
from cospan.report import format_of, terminal_lines, write

if TYPE_CHECKING:
    from cospan.panel import Panel

FOR_TWO = ("a", "b", "labels", "name_a", "name_b")


def compare(
    terminal: Terminal,
    sets: Sequence[str],
    what: What,
    settings: Chosen,
    reading: Chosen,
    outputs: Outputs,
) -> list[Gate]:
    """Compare, print, write what was asked for; returns the gates that were crossed."""
    _check_outputs(outputs, [*sets, what.score, *files_among(what.label, what.labels)])
    gates = outputs.fail_on or []
    if any("alarm" in gate.quantities for gate in gates):
        raise typer.BadParameter("--fail-on alarm is for 'cospan monitor'; windows raise alarms.")
    with on_cluster(what.scheduler):
        _refuse_for_more(sets, what, outputs, reading)
        options = {**settings, **reading, "image_shape": what.image_shape}
        found = _compared(sets, what, scores=outputs.scores, progress=terminal.progress, **options)
    panel = None
    if outputs.panel:
        terminal.progress("other measures", 0, None)
        panel = found.panel()
    if outputs.save is not None:
        save(outputs.save, found.model)
    files = [*sets, *([what.score] if what.score else [])]
    for path in outputs.output or []:
        write(found, path, outputs.format, command=_command(), files=files)
    show(terminal, found, outputs, panel)
    values = values_of(found)
    failed = crossed(gates, values, remedy_for(found))
    for gate in failed:
        terminal.error(f"--fail-on {gate}: {gate.found(values)}.")
    return failed


# ---- two or more -------------------------------------------------------------------------------


def _compared(sets: Sequence[str], what: What, **options: Any) -> Comparison:
    """What was asked for, as :func:`cospan.compare` takes it."""
    *given, Z = _left_to_workers([*sets, what.score], what, options)
    names: dict[str, Any] = {"name_a": what.name_a, "name_b": what.name_b}
    if what.scheduler is not None:  # collections have no names of their own, and classes have
        files = [] if what.label is not None or len(sets) > 2 else sets
        names |= {key: names[key] or Path(f).name for key, f in zip(names, files, strict=False)}
        names["name_z"] = None if what.score is None else Path(what.score).name
    A = given[0] if len(sets) < 3 else dict(zip(names_of(sets), given, strict=True))
    B = given[1] if len(sets) == 2 else None
    classes: Chosen = {"label": what.label, "a": what.a, "b": what.b, "labels": what.labels}
    found: Comparison = compare_sets(A, B, Z, **classes, **names, **options)
    return found


def _left_to_workers(paths: Sequence[str | None], what: What, reading: Chosen) -> list[Any]:
    """Paths as Dask collections, where there is a scheduler whose workers read them."""
    if what.scheduler is None:
        return list(paths)
    keep = (what.label, what.labels, reading.get("id_column"))
    return [None if path is None else read_lazily(path, keep) for path in paths]


def _refuse_for_more(sets: Sequence[str], what: What, outputs: Outputs, reading: Chosen) -> None:
    """What only two sets have is refused for more before anything is compared."""
    given = [f"--{name.replace('_', '-')}" for name in FOR_TWO if getattr(what, name) is not None]
    if len(sets) > 1 and what.label is not None:
        given.append("--label")
    quantities = {quantity for gate in outputs.fail_on or [] for quantity in gate.quantities}
    given += [f"--fail-on {quantity}" for quantity in sorted(quantities - {"fisher-rao", "auc"})]
    given += ["--panel"] if outputs.panel else []
    if given and _are_more_than_two(sets, what, reading):
        raise typer.BadParameter(f"{' and '.join(given)}: for two sets only, and there are more.")


def _are_more_than_two(sets: Sequence[str], what: What, reading: Chosen) -> bool:
    """Whether there are more than two sets: that many files, or classes of one table."""
    if len(sets) != 1 or what.label is None or what.a is not None or what.b is not None:
        return len(sets) > 2
    table = _left_to_workers(sets, what, reading)[0]
    return len(classes_of(table, what.label, reading)) > 2


# ---- what comes out ----------------------------------------------------------------------------


def _check_outputs(outputs: Outputs, inputs: Sequence[str | None]) -> None:
    """Whatever cannot be written, or would replace something, is said before the work starts."""
    if outputs.scores is not None:
        check_table_path(outputs.scores)
    reports = outputs.output or []
    if outputs.format is not None and not reports:
        raise InputError("--format is about a report; name the file to write with -o.")
    check_places((*reports, outputs.scores, outputs.save), inputs)
    for path in reports:
        format_of(path, outputs.format)


def _command() -> str | None:
    """The command line, as the report shows it; None where something else started this."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    if started.stem != "cospan" and started.parent.name != "cospan":
        return None
    return shlex.join(["cospan", *sys.argv[1:]])


def show(
    terminal: Terminal, found: Comparison, outputs: Outputs, panel: Panel | None = None
) -> None:
    """The comparison as text or JSON, and which files were written."""
    terminal.stop_progress()
    terminal.heard(map(str, found.warnings))
    if outputs.json:
        terminal.result(found.to_json())
    else:
        terminal.lines(terminal_lines(found, terminal.width))
        if panel is not None:
            terminal.result(f"\nOther measures\n{panel!r}")
    for path in (outputs.scores, outputs.save, *(outputs.output or [])):
        if path is not None:
            terminal.note(f"wrote {path}")
