"""What the commands do.

Files are written first, then the result is printed: a closed pipe loses nothing. Where a command
may not write (over what it reads) is said before the work begins.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from os.path import realpath  # goes through links in a circle, which pathlib ends on
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cospan.base.files import check_output
from cospan.base.text import plural, printable
from cospan.base.types import Values
from cospan.cli.app import Outputs
from cospan.cli.gates import broken
from cospan.cli.terminal import Terminal
from cospan.comparison import Comparison
from cospan.comparison import compare as compare_sets
from cospan.comparison.audit import audit_rows
from cospan.comparison.opening import told_apart
from cospan.comparison.score_files import (
    ENDINGS,
    check_table_path,
    csv_text,
    score_columns,
    write_table,
)
from cospan.comparison.scoring import Scorer
from cospan.data import (
    EncodingPlan,
    Source,
    Table,
    encode,
    encode_by,
    notes_of,
    open_source,
    set_names,
    split_part,
)
from cospan.errors import InputError, ModelFileError
from cospan.model import JointFrame, SetCosts
from cospan.model_file import PROFILE, is_file_of, load, save
from cospan.monitoring import Monitoring, Profile
from cospan.monitoring import monitor as monitor_windows
from cospan.report import format_of, terminal_lines, write

#: What scikit-learn's columns after age and sex are called on screen.
_COLUMNS = (
    "body_mass_index", "blood_pressure", "total_cholesterol", "ldl", "hdl", "cholesterol_ratio",
    "log_triglycerides", "blood_sugar",
)  # fmt: skip
Options: TypeAlias = dict[str, Any]  # arguments of the function behind a command


def compare(
    terminal: Terminal, sets: Sequence[str], score: str | None, options: Options, outputs: Outputs
) -> bool:
    """Compare, write, print; returns whether a gate was broken."""
    if outputs.scores is not None:
        check_table_path(outputs.scores)
    inputs = [*sets, score, options.get("label")]  # a label may be a file beside the rows
    check_places((*outputs.reports, outputs.scores, outputs.save), inputs)
    for path in outputs.reports:
        format_of(path)
    classes = [f"--{name}" for name in ("label", "a", "b") if name in options]
    if len(sets) > 2 and classes:
        raise InputError(f"{' and '.join(classes)}: for classes of one or two tables, not of more.")
    terminal.progress(f"reading {sets[0]}", 0, None)
    names = told_apart(set_names([os.path.basename(path) or path for path in sets]))
    A: Any = sets[0] if len(sets) < 3 else dict(zip(names, sets, strict=True))
    B = sets[1] if len(sets) == 2 else None
    found = compare_sets(A, B, score, progress=terminal.progress, **options)
    terminal.progress("looking for what differs", 0, None)
    if outputs.scores is not None:
        write_table(outputs.scores, [found.table()])
    if outputs.save is not None:
        save(outputs.save, found.model)
    files = [*sets, *([score] if score else [])]
    for path in outputs.reports:
        write(found, path, command=_command(), files=files)
    return finish(terminal, found, outputs)


def monitor(
    terminal: Terminal, reference: str, data: Sequence[str], options: Options, outputs: Outputs
) -> bool:
    """The same for windows."""
    inputs = [reference, *data]
    same = outputs.save is not None and realpath(outputs.save) == realpath(reference)
    if same and is_file_of(reference, PROFILE):
        inputs = list(data)  # tomorrow's window goes into the file that it is added to
    check_places((*outputs.reports, outputs.save), inputs)
    for path in outputs.reports:
        if path.suffix.lower() not in (".html", ".md", ".json", *ENDINGS):
            raise InputError(f"{path} must end in .html, .md, .json or {', '.join(ENDINGS)}.")
    terminal.progress(f"reading {reference}", 0, None)
    called: Options = {"name": name_of(data), "progress": terminal.progress}
    found = monitor_windows(reference, list(data), **called, **options)
    if outputs.save is not None:
        found.save(outputs.save)
    for path in outputs.reports:
        if path.suffix.lower() in ENDINGS:
            write_table(path, [found.table()])
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
    for path in (outputs.scores, outputs.save, *outputs.reports):
        if path is not None:
            terminal.note(f"wrote {path}")
    for line in lines:
        terminal.error(line)
    return bool(lines)


def name_of(data: Sequence[str]) -> str:
    """What to call them."""
    return Path(data[0]).name if len(data) == 1 else f"{len(data)} files"


def _command() -> str | None:
    """The command line, as the report shows it; None where something else started this."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    if started.stem != "cospan" and started.parent.name != "cospan":
        return None
    return shlex.join(["cospan", *sys.argv[1:]])


# ---- the other commands --------------------------------------------------------------------------


def score(
    terminal: Terminal, model: Path, data: str, output: Path | None, reading: Options
) -> None:
    """Score rows with a saved frame, chunk by chunk, to a file or to stdout."""
    _check_table(output, data, str(model))
    scorer, names = _load_scorer(model)
    frame = scorer.model
    names_in, opened = frame.feature_names, open_source(data, **reading)
    if names_in is None or not isinstance(opened, Table):  # arrays have no names to match
        source = encode([opened])[0]
    elif frame.geometry.encoding is None:  # its own columns, whatever else the table holds
        source = encode_by(opened, EncodingPlan.of_numbers(names_in))
    else:
        source = encode_by(opened, EncodingPlan.from_dict(frame.geometry.encoding))
    if source.n_features != frame.n_features:
        raise InputError(
            f"{source.name} has {plural(source.n_features, 'feature')} and the model in {model} "
            f"has {frame.n_features:,}; score rows with the features it was fitted to."
        )
    for change in source.changes:
        terminal.warn(str(change))
    rows = 0

    def scored() -> Iterator[dict[str, Values]]:
        nonlocal rows
        for chunk in source.chunks():
            found = score_columns(names, scorer.score(chunk, source.name))
            yield found | {"id": found["id"].astype(str)}
            rows += len(chunk.rows)
            terminal.progress(f"scoring {source.name}", rows, source.n_rows)
        if not rows:
            raise InputError(f"{source.name} has no rows to score; check the file.")

    if output is not None:
        write_table(output, scored())
    else:
        for number, columns in enumerate(scored()):
            terminal.data(csv_text(columns, header=number == 0))
    for note in source.met:  # found while the rows were read
        terminal.warn(str(note))
    terminal.stop_progress()
    terminal.note(f"scored {plural(rows, 'row')}" + (f", wrote {output}" if output else ""))


def _load_scorer(path: Path) -> tuple[Scorer, tuple[str, ...]]:
    """Whatever a model file holds that can score rows, and the names of more than two sets."""
    if not path.exists():
        raise InputError(f"{path} does not exist; make one with cospan compare A B --save {path}.")
    found = load(path)
    model = getattr(found, "model_", found)  # also where an estimator was saved
    if isinstance(model, SetCosts) and model is not found:
        return Scorer(model), tuple(map(str, found.classes_))
    if not isinstance(model, JointFrame):
        raise ModelFileError(
            f"{path} holds a {type(found).__name__} without a joint frame of two sets; "
            "save one with cospan compare A B --save."
        )
    return Scorer(model), ()


def audit(
    terminal: Terminal, data: str, label: str, output: Path | None, top: int, as_json: bool,
    reading: Options,
) -> None:  # fmt: skip
    """Check the labels of a table against the geometry of its classes."""
    _check_table(output, data, label)
    terminal.progress(f"reading {data}", 0, None)
    source = encode([open_source(data, label=label, **reading)])[0]
    table = source.read()
    for note in notes_of([source]):
        terminal.warn(str(note))
    terminal.progress("judging every row without itself", 0, None)
    found = audit_rows(table.rows, source.feature_names, table.labels)
    order = found.order
    columns = {"id": np.asarray(table.ids)[order], "label": found.labels[order]} | {
        key: getattr(found, key)[order] for key in ("suggested", "suspicion", "flagged")
    }
    conflicts = np.flatnonzero(columns["flagged"])
    worst = [{key: value[i] for key, value in columns.items()} for i in conflicts[:top].tolist()]
    _finish_table(terminal, output, columns)
    if as_json:
        counts = {"rows": len(order), "flagged": len(conflicts)}
        terminal.json({**counts, "worst": worst, "inseparable": found.inseparable})
    else:
        look = "looks" if len(conflicts) == 1 else "look"
        said = [("title", f"{len(conflicts):,} of {plural(len(order), 'label')} {look} wrong")]
        for row in worst:
            name, given, other = (printable(row[key], 28) for key in ("id", "label", "suggested"))
            line = f"  {name}  {given} → {other}  suspicion {row['suspicion']:.3f}"
            said.append(("plain", line))
        if len(conflicts) > len(worst):
            said.append(("plain", f"  … and {len(conflicts) - len(worst):,} more"))
        terminal.lines(said)
    named = [" and ".join(printable(one, 28) for one in pair) for pair in found.inseparable]
    if named:
        more = f" and {plural(len(named) - 3, 'more pair')}" if len(named) > 3 else ""
        terminal.warn(
            f"no label is flagged between {', '.join(named[:3])}{more}: "
            "left-out rows are assigned to these classes no better than by chance"
        )


def synthetic_rows(
    terminal: Terminal, real: str, synthetic: str, output: Path | None, as_json: bool,
    reading: Options,
) -> None:  # fmt: skip
    """Say how well synthetic rows stand for real ones; write what was found for each."""
    from cospan.measures import fidelity

    _check_table(output, real, synthetic)
    terminal.progress("measuring", 0, None)
    found = fidelity(*(open_source(data, **reading) for data in (real, synthetic)))
    worst = np.argsort(np.minimum(found.p_copy, found.p_impossible), kind="stable")
    rows = found.rows_synthetic[worst]
    measured = ("distance", "copying", "p_impossible", "p_copy")
    columns = {"row": rows} | {key: getattr(found, key)[worst] for key in measured}
    columns["impossible"] = np.isin(rows, found.impossible)
    columns["copy"] = np.isin(rows, found.copies)
    _finish_table(terminal, output, columns)
    if as_json:
        terminal.json(found.to_dict())
    else:
        terminal.text(repr(found))


def _check_table(output: Path | None, *inputs: str) -> None:
    if output is not None:
        check_places([check_table_path(output)], inputs)


def _finish_table(terminal: Terminal, output: Path | None, columns: dict[str, Values]) -> None:
    terminal.stop_progress()
    if output is not None:
        write_table(output, [columns])
        terminal.note(f"wrote {output}")


def profile(terminal: Terminal, data: Sequence[str], output: Path, options: Options) -> None:
    """Keep what a reference looks like."""
    check_places([output], data)
    terminal.progress(f"reading {data[0]}", 0, None)
    made = Profile.of(list(data), name=name_of(data), **options)
    made.save(output)
    terminal.stop_progress()
    terminal.text(repr(made)[1:-1])
    terminal.note(f"wrote {output} ({max(1, round(output.stat().st_size / 1e3)):,} kB)")


def run_demo(terminal: Terminal, output: Path) -> None:
    """Compare and report what comes with scikit-learn."""
    check_places([output], [])
    format_of(output)
    terminal.text(
        "A model was trained on diabetes patients aged up to 50. Now it meets patients over 50.\n"
        "Are they still like those it knows? (442 patients, from scikit-learn; age itself is not "
        "among the columns.)\n\n"
    )
    found = compare_sets(patients(), progress=terminal.progress)
    finish(terminal, found, Outputs())
    write(found, output)
    terminal.text(f"Open the report in a browser:\n{output.resolve()}")


def patients() -> dict[str, Source]:
    """Younger and older patients of scikit-learn's diabetes data: a table with drift."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False).data
    older = data[:, 0] > 50
    found = {}
    for name, rows in (("training", data[~older]), ("production", data[older])):
        # Names without the dataframe library that would otherwise carry them.
        found[name] = encode([open_source(rows[:, 2:], name="table")])[0]
        found[name].feature_names = _COLUMNS
    return found


# ---- where files may go --------------------------------------------------------------------------


def check_places(outputs: Sequence[Path | None], inputs: Sequence[str | None]) -> None:
    """No output may replace an input, go into a folder that is one, or replace another output.

    >>> check_places([Path("report.html")], ["a.csv", "b.csv"])
    >>> check_places([Path("a.html"), Path("a.html")], ["a.csv", "b.csv"])
    Traceback (most recent call last):
        ...
    cospan.errors.InputError: cannot write a.html: another output goes there; choose another name.
    """
    names = {name for text in inputs if text for name in (text, str(split_part(text)[0]))}
    there = {name: Path(name).resolve() for name in names if os.path.exists(name)}
    taken: set[Path] = set()
    for path in filter(None, outputs):
        place, reason = Path(realpath(check_output(path))), ""
        for name, source in there.items():
            if place.exists() and place.samefile(source):
                reason = "it is an input"
            elif source.is_dir() and source in place.parents:
                reason = f"it is inside the folder {name}, which is an input"
        if place in taken and not (place.exists() and not place.is_file()):  # but a stream
            reason = "another output goes there"
        if reason:
            raise InputError(f"cannot write {path}: {reason}; choose another name.")
        taken.add(place)
