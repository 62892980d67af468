"""``cospan compare``: two or more files, or the classes of one table.

Its files are written first, then it is printed: a closed pipe loses nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cospan._text import printable
from cospan._warnings import heard
from cospan.cli.gate_files import Case, add_summary, write_junit
from cospan.cli.gates import Gate, crossed, remedy_for, values_of
from cospan.cli.options import Chosen, Outputs, What
from cospan.cli.places import check_places, files_among
from cospan.cli.terminal import Terminal
from cospan.comparison import Comparison, ManyComparison
from cospan.comparison import compare as compare_pair
from cospan.comparison import compare_many as compare_sets
from cospan.comparison.opening import names_of
from cospan.comparison.score_files import check_table_path, score_columns, table_file, with_text_ids
from cospan.comparison.scorer import Scored
from cospan.distributed import on_cluster, read_lazily
from cospan.errors import InputError
from cospan.sources import open_source

if TYPE_CHECKING:
    from cospan.panel import Panel

FOR_TWO = ("a", "b", "labels", "name_a", "name_b")
Found = Comparison | ManyComparison


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
        if _are_more_than_two(sets, what, reading):
            _refuse_what_two_sets_have(sets, what, gates)
            call = _call_for_many
        elif settings.get("n_permutations") == 0 and any("p" in gate.quantities for gate in gates):
            raise InputError("--fail-on p needs a p-value; leave out --permutations 0.")
        else:
            call = _call_for_two
        with _scores_file(outputs.scores) as write_scores:
            options = {**settings, **reading, "image_shape": what.image_shape}
            found = call(sets, what, write_scores, progress=terminal.progress, **options)
    panel = _panel(terminal, found) if outputs.panel else None
    _write_files(found, outputs, [*sets, *([what.score] if what.score else [])], panel)
    _show(terminal, found, outputs)
    if panel is not None and not outputs.json:
        terminal.result(f"\nOther measures\n{panel!r}")
    return _crossed(terminal, found, outputs)


def demo(terminal: Terminal, output: Path, pictures: bool = False) -> None:
    """Data that comes with scikit-learn, compared and reported: nothing to download."""
    from cospan.cli import built_in
    from cospan.report import write

    _check_outputs(Outputs([output]), [])
    story = built_in.digits() if pictures else built_in.patients()
    terminal.result(story.text + "\n")
    found = compare_pair(story.sets, progress=terminal.progress, **story.options)
    _show(terminal, found, Outputs())
    write(found, output)
    terminal.result(f"Open the report in a browser:\n{output.resolve()}")


# ---- two or more -------------------------------------------------------------------------------


def _are_more_than_two(sets: Sequence[str], what: What, reading: Chosen) -> bool:
    """Whether there are more than two sets: that many files, or classes of one table."""
    if len(sets) > 2:
        return True
    one_table = len(sets) == 1 and sets[0] != "-" and what.label is not None
    if not one_table or what.a is not None or what.b is not None:
        return False
    with heard():  # warnings come when the sets are read
        table = _left_to_workers(sets, what, reading)[0]
        return len(open_source(table, label=what.label, **reading).classes()) > 2


def _call_for_two(sets: Sequence[str], what: What, write: Any, **options: Any) -> Found:
    names: dict[str, Any] = {"name_a": what.name_a, "name_b": what.name_b}
    if what.scheduler is not None:
        if what.label is None:  # else the classes give the names
            names = {
                key: names[key] or Path(path).name for key, path in zip(names, sets, strict=False)
            }
        if what.score is not None:
            names["name_z"] = Path(what.score).name

    def sink(name: str, ids: Any, alignment: Any) -> None:
        write(score_columns((), name, Scored.of(alignment, ids, None)))

    A, B, Z = _left_to_workers([*sets, *[None] * (2 - len(sets)), what.score], what, options)
    found: Found = compare_pair(
        A,
        B,
        Z,
        label=what.label,
        a=what.a,
        b=what.b,
        labels=what.labels,
        sink=None if write is None else sink,
        **names,
        **options,
    )
    return found


def _call_for_many(sets: Sequence[str], what: What, write: Any, **options: Any) -> Found:
    given = _left_to_workers(sets, what, options)
    called: Any = given[0] if len(sets) == 1 else dict(zip(names_of(sets), given, strict=True))
    return compare_sets(called, what.score, label=what.label, sink=write, **options)


def _left_to_workers(paths: Sequence[str | None], what: What, reading: Chosen) -> list[Any]:
    """Paths as Dask collections, where there is a scheduler whose workers read them."""
    if what.scheduler is None:
        return list(paths)
    keep = (what.label, what.labels, reading.get("id_column"))
    return [None if path is None else read_lazily(path, keep) for path in paths]


def _refuse_what_two_sets_have(sets: Sequence[str], what: What, gates: Sequence[Gate]) -> None:
    given = [f"--{name.replace('_', '-')}" for name in FOR_TWO if getattr(what, name) is not None]
    if len(sets) > 1 and what.label is not None:
        given.append("--label")
    judged = {quantity for gate in gates for quantity in gate.quantities} - {"fisher-rao", "auc"}
    given += [f"--fail-on {quantity}" for quantity in sorted(judged)]
    if given:
        raise typer.BadParameter(f"{' and '.join(given)}: for two sets only, and there are more.")


# ---- what comes out ----------------------------------------------------------------------------


def _check_outputs(outputs: Outputs, inputs: Sequence[str | None]) -> None:
    """Whatever cannot be written, or would replace something, is said before the work starts."""
    if outputs.scores is not None:
        check_table_path(outputs.scores)
    reports = outputs.output or []
    if outputs.format is not None and not reports:
        raise InputError("--format is about a report; name the file to write with -o.")
    written = (*reports, outputs.scores, outputs.save, outputs.junit, outputs.summary)
    check_places(written, inputs)
    if reports:
        from cospan.report import format_of

        for path in reports:
            format_of(path, outputs.format)


@contextmanager
def _scores_file(path: Path | None) -> Iterator[Callable[..., None] | None]:
    """Something that takes the columns of scored chunks; None where no file is wanted."""
    if path is None:
        yield None
        return
    with table_file(path) as write_table:

        def write_scores(columns: dict[str, Any]) -> None:
            write_table(with_text_ids(columns))

        yield write_scores


def _panel(terminal: Terminal, found: Found) -> Panel:
    """What other measures say about two sets."""
    if not isinstance(found, Comparison):
        raise typer.BadParameter("--panel: for two sets only, and there are more.")
    terminal.progress("other measures", 0, None)
    return found.panel()


def _write_files(
    found: Found, outputs: Outputs, files: Sequence[str], panel: Panel | None = None
) -> None:
    """The model and the report, where they were asked for."""
    if outputs.save is not None:
        from cospan.model_file import save

        save(outputs.save, found.model)
    if outputs.output:
        from cospan.report import write

        origin = {"command": _command(), "files": files, "panel": panel}
        for path in outputs.output:
            write(found, path, outputs.format, **origin)


def _command() -> str | None:
    """The command line, as the report shows it; None where something else started this."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    if started.stem != "cospan" and started.parent.name != "cospan":
        return None
    return shlex.join(["cospan", *sys.argv[1:]])


def _show(terminal: Terminal, found: Found, outputs: Outputs) -> None:
    """The comparison as text or JSON, and which files were written."""
    terminal.stop_progress()
    terminal.heard(found.warnings)
    if outputs.json:
        terminal.result(found.to_json())
    else:
        lines = found.lines(terminal.width)
        terminal.lines(line for line in lines if not terminal.repeats(*line))
    for path in (outputs.scores, outputs.save, *(outputs.output or [])):
        if path is not None:
            terminal.note(f"wrote {path}")


def _crossed(terminal: Terminal, found: Found, outputs: Outputs) -> list[Gate]:
    """The gates that any pair of sets crosses; what they found goes to files, too."""
    gates, values = outputs.fail_on or [], values_of(found)
    failed = crossed(gates, values, remedy_for(found))
    for gate in failed:
        terminal.error(f"--fail-on {gate}: {gate.found(values)}.")
    on = " and ".join(printable(name, 60) for name in found.names[:4])
    cases = [Case(str(g), on, g.found(values) if g in failed else "") for g in gates]
    text = "\n".join(line for _, line in found.lines(100))
    if outputs.junit is not None:
        write_junit(outputs.junit, on, cases, text)
    if outputs.summary is not None:
        add_summary(outputs.summary, on, _in_short(found), cases)
    return failed


def _in_short(found: Found) -> str:
    verdict = getattr(found, "verdict", None)  # of K sets there is none
    return repr(found) if verdict is None else " ".join(str(verdict).split("\n"))
