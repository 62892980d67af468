"""What each command of the command line does, once its arguments are understood."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.cli import many_commands
from cospan.cli.options import Outputs, Threshold
from cospan.cli.places import check_places, files_among
from cospan.cli.showing import show, write_files
from cospan.cli.terminal import Terminal
from cospan.comparison import Comparison
from cospan.comparison import compare as compare_sets
from cospan.comparison.plain import plain
from cospan.comparison.score_files import check_table_path, csv_text, table_file
from cospan.comparison.scoring import score_columns
from cospan.comparison.text import number, plural, printable, summary_lines
from cospan.distributed import on_cluster, read_lazily
from cospan.errors import InputError
from cospan.sources import EncodingPlan, Source, open_source
from cospan.sources.base import listing

if TYPE_CHECKING:
    from cospan.alignment import Alignment
    from cospan.frame import JointFrame
    from cospan.sets import SetCosts

__all__ = ["audit", "compare", "demo", "reproduce", "score"]


# ---- compare -----------------------------------------------------------------------------------


def compare(
    terminal: Terminal,
    what: dict[str, Any],
    settings: dict[str, Any],
    reading: dict[str, Any],
    outputs: Outputs,
    thresholds: Sequence[Threshold],
    scheduler: str | None = None,
) -> list[Threshold]:
    """Compare, print, write what was asked for; returns the thresholds that were crossed."""
    sets, rest = what["sets"], {key: value for key, value in what.items() if key != "sets"}
    _check_outputs(outputs, [*sets, what["Z"], *files_among(what["label"], what["labels"])])
    if many_commands.is_asked(sets, rest, reading, scheduler):
        return many_commands.compare(
            terminal, sets, rest, settings, reading, outputs, thresholds, scheduler
        )
    if settings.get("n_permutations") == 0 and any(t.quantity == "p" for t in thresholds):
        raise InputError("--fail-on p needs a p-value; leave out --permutations 0.")
    with on_cluster(scheduler), _scores_file(outputs.scores) as sink:
        if scheduler is not None:
            sets, rest = _left_to_workers(sets, rest, reading)
        comparison = compare_sets(
            A=sets[0],
            B=sets[1] if len(sets) > 1 else None,
            **rest,
            **settings,
            **reading,
            progress=terminal.progress,
            sink=sink,
        )
    write_files(comparison, comparison.frame, outputs)
    show(terminal, comparison, summary_lines, outputs)
    return _crossed(terminal, comparison, thresholds)


def _left_to_workers(
    paths: Sequence[str], rest: dict[str, Any], reading: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Paths as Dask collections, which keep the names they would have had."""
    keep = (rest["label"], rest["labels"], reading.get("id_column"))
    named = {}
    if rest["label"] is None:  # else the classes give the names
        named = {f"name_{side}": Path(path).name for side, path in zip("ab", paths, strict=False)}
    Z = rest["Z"]
    if Z is not None:
        named["name_z"], Z = Path(Z).name, read_lazily(Z, keep)
    given = {key: value for key, value in rest.items() if value is not None}
    return [read_lazily(path, keep) for path in paths], rest | named | given | {"Z": Z}


def _check_outputs(outputs: Outputs, inputs: Sequence[str | None]) -> None:
    """Whatever cannot be written, or would replace something, is said before the work starts."""
    if outputs.scores is not None:
        check_table_path(outputs.scores)
    if outputs.format is not None and outputs.report is None:
        raise InputError("--format is about a report; name the file to write with -o.")
    check_places((outputs.report, outputs.scores, outputs.model), inputs)
    if outputs.report is not None:
        from cospan.report import format_of

        format_of(outputs.report, outputs.format)


@contextmanager
def _scores_file(path: Path | None) -> Iterator[Callable[..., None] | None]:
    """Something that takes scored chunks and writes them; None where no file is wanted."""
    if path is None:
        yield None
        return
    with table_file(path) as write:

        def sink(name: str, ids: Any, alignment: Alignment) -> None:
            columns = score_columns(name, ids, alignment)
            # the sets may number their rows in one file and name them in the other
            columns["id"] = np.asarray(ids).astype(str)
            write(columns)

        yield sink


def _crossed(
    terminal: Terminal, comparison: Comparison, thresholds: Sequence[Threshold]
) -> list[Threshold]:
    separation = comparison.separation
    values = {"fisher-rao": separation.fisher_rao.value, "auc": separation.auc.value}
    if comparison.shift is not None:
        values["p"] = comparison.shift.pvalue
    for threshold in thresholds:
        if threshold.quantity not in values:
            raise InputError(
                f"--fail-on {threshold} cannot be judged: there is no p-value; "
                "give more rows, or a threshold on auc or fisher-rao."
            )
    crossed = [t for t in thresholds if t.crossed(values[t.quantity])]
    for threshold in crossed:
        value = number(values[threshold.quantity])
        terminal.error(f"--fail-on {threshold}: {threshold.quantity} is {value}.")
    return crossed


def demo(terminal: Terminal, output: Path, pictures: bool = False) -> None:
    """Data that comes with scikit-learn, compared and reported: nothing to download."""
    from cospan.cli import built_in
    from cospan.report import write

    _check_outputs(Outputs(output), [])
    sets = built_in.digits() if pictures else built_in.patients()
    terminal.result((built_in.DIGITS_STORY if pictures else built_in.TABLE_STORY) + "\n")
    comparison = compare_sets(**sets, progress=terminal.progress)
    show(terminal, comparison, summary_lines, Outputs())
    write(comparison, output)
    terminal.result(f"Open the report in a browser:\n{output.resolve()}")


# ---- score and audit ---------------------------------------------------------------------------


def score(
    terminal: Terminal,
    model: Path,
    data: str,
    output: Path | None,
    weighting: str,
    reading: dict[str, Any],
) -> None:
    """Score rows with a saved frame, chunk by chunk, to a file or to stdout."""
    from cospan.cli.model_commands import load_scorer

    if output is not None:
        check_places([check_table_path(output)], [data, str(model)])
    scorer = load_scorer(model, weighting)
    frame = scorer.model
    source = _open_for(frame, data, reading)
    if source.n_features != frame.n_features:
        raise InputError(
            f"{source.name} has {plural(source.n_features, 'feature')} and the model in {model} "
            f"has {frame.n_features:,}; score rows with the features it was fitted to."
        )
    rows = 0
    with _table_or_stdout(terminal, output) as write:
        for chunk in source.chunks():
            write(scorer.columns(source.name, chunk))
            rows += len(chunk.rows)
            terminal.progress(f"scoring {source.name}", rows, source.n_rows)
        if not rows:
            raise InputError(f"{source.name} has no rows to score; check the file.")
    terminal.stop_progress()
    terminal.note(f"scored {plural(rows, 'row')}" + (f", wrote {output}" if output else ""))


def _open_for(frame: JointFrame | SetCosts, data: str, reading: dict[str, Any]) -> Source:
    """The frame's own columns of a table, whatever else it holds; arrays have no names to match."""
    names = frame.feature_names
    if names is None:
        return open_source(data, **reading)
    source = open_source(data, **reading)
    if source.table is None:
        return source
    if frame.geometry.encoding is not None:
        return source.encoded(EncodingPlan.from_dict(frame.geometry.encoding))
    there = set(source.table.all_columns)
    lacking = [name for name in names if name not in there]
    if lacking:
        raise InputError(
            f"{source.name} lacks {listing(lacking)}, which the frame was fitted to; score a table "
            "with the same columns."
        )
    return source.encoded(EncodingPlan.of_numbers(names, reading.get("missing")))


@contextmanager
def _table_or_stdout(terminal: Terminal, path: Path | None) -> Iterator[Callable[..., None]]:
    if path is not None:
        with table_file(path) as write:
            yield write
        return
    started = False

    def to_stdout(columns: dict[str, Any]) -> None:
        nonlocal started
        terminal.result(csv_text(columns, header=not started))
        started = True

    yield to_stdout


def audit(
    terminal: Terminal,
    data: str,
    label: str,
    output: Path | None,
    top: int,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Check the labels of a table against the geometry of its classes."""
    from cospan.audit import audit_labels

    if output is not None:
        check_places([check_table_path(output)], [data, *files_among(label)])
    rows, ids, labels = open_source(data, label=label, **reading).read()
    found = audit_labels(rows, labels)
    order = np.argsort(-np.asarray(found.suspicion), kind="stable")
    columns = {
        "id": np.asarray(ids)[order],
        "label": np.asarray(found.labels)[order],
        "suggested": np.asarray(found.suggested)[order],
        "suspicion": np.asarray(found.suspicion)[order],
        "flagged": np.asarray(found.flagged)[order],
    }
    if output is not None:
        with table_file(output) as write:
            write(columns)
    conflicts = np.flatnonzero(columns["flagged"])
    listed = conflicts[:top].tolist()
    if as_json:
        worst = [{key: plain(value[i]) for key, value in columns.items()} for i in listed]
        counts = {"rows": len(ids), "flagged": len(conflicts)}
        pairs = [[plain(one) for one in pair] for pair in found.inseparable]
        terminal.result(json.dumps({**counts, "worst": worst, "inseparable": pairs}, indent=2))
    else:
        terminal.lines(_audit_lines(columns, len(ids), len(conflicts), listed))
    if found.inseparable:
        named = [" and ".join(printable(one, 28) for one in pair) for pair in found.inseparable]
        more = f" and {plural(len(named) - 3, 'more pair')}" if len(named) > 3 else ""
        terminal.warn(
            f"no label is flagged between {', '.join(named[:3])}{more}: "
            "rows left out of their class lean to it no more than chance would make them"
        )
    if output is not None:
        terminal.note(f"wrote {output}")


def _audit_lines(
    columns: dict[str, Any], n: int, flagged: int, listed: list[int]
) -> Iterator[tuple[str, str]]:
    yield "title", f"{plural(flagged, 'label')} of {n:,} in conflict with the angle of the row"
    for i in listed:
        name, label, other = (
            printable(columns[key][i], 28) for key in ("id", "label", "suggested")
        )
        yield "plain", f"  {name}  {label} → {other}  suspicion {columns['suspicion'][i]:.3f}"
    if flagged > len(listed):
        yield "plain", f"  … and {flagged - len(listed):,} more"


# ---- reproduce ---------------------------------------------------------------------------------


def reproduce(terminal: Terminal, data: str | None, output: Path, draws: int, quick: bool) -> None:
    """The paper's experiments: figures and a page in a folder, the tables on stdout."""
    from cospan.experiments import reproduce as run

    text = run(data=data, output=output, draws=draws, quick=quick, progress=terminal.progress)
    terminal.stop_progress()
    terminal.result(text)
