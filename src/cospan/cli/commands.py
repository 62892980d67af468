"""``cospan score``, ``audit``, ``fidelity`` and ``profile``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from cospan.base.text import plural, printable
from cospan.cli.comparing import name_of, one_or_all
from cospan.cli.places import check_places, files_among
from cospan.cli.terminal import Terminal
from cospan.comparison.score_files import (
    check_table_path,
    csv_text,
    score_columns,
    table_file,
)
from cospan.comparison.scoring import Model, Scorer
from cospan.data import EncodingPlan, Source, Table, encode, encode_by, notes_of, open_source
from cospan.errors import InputError, ModelFileError
from cospan.model import JointFrame, SetCosts
from cospan.model_file import load
from cospan.monitoring import Profile


def score(
    terminal: Terminal, model: Path, data: str, output: Path | None, reading: dict[str, Any]
) -> None:
    """Score rows with a saved frame, chunk by chunk, to a file or to stdout."""
    if output is not None:
        check_places([check_table_path(output)], [data, str(model)])
    scorer, names = _load_scorer(model)
    frame = scorer.model
    source = _open_for(frame, data, reading)
    if source.n_features != frame.n_features:
        raise InputError(
            f"{source.name} has {plural(source.n_features, 'feature')} and the model in {model} "
            f"has {frame.n_features:,}; score rows with the features it was fitted to."
        )
    rows, known = 0, dict.fromkeys(source.notes)
    for change in source.changes:
        terminal.warn(str(change))
    with nullcontext() if output is None else table_file(output) as write:
        for number, chunk in enumerate(source.chunks()):
            found = score_columns(names, source.name, scorer.score(chunk))
            found["id"] = found["id"].astype(str)
            if write is None:
                terminal.data(csv_text(found, header=number == 0))
            else:
                write(found)
            rows += len(chunk.rows)
            terminal.progress(f"scoring {source.name}", rows, source.n_rows)
        if not rows:
            raise InputError(f"{source.name} has no rows to score; check the file.")
    for note in source.notes:
        if note not in known:  # those were said of the file, these found while its rows were read
            terminal.warn(str(note))
    terminal.stop_progress()
    terminal.note(f"scored {plural(rows, 'row')}" + (f", wrote {output}" if output else ""))


def _load_scorer(path: Path) -> tuple[Scorer, tuple[str, ...]]:
    """Whatever a model file holds that can score rows, and the names of more than two sets."""
    if not path.exists():
        raise InputError(f"{path} does not exist; save a frame with cospan compare A B --save.")
    found = load(path)
    costs = getattr(found, "costs_", None)
    if isinstance(costs, SetCosts):
        return Scorer(costs, costs.weighting), tuple(map(str, found.classes_))
    frame = getattr(found, "frame_", found)  # also where an estimator was saved
    if not isinstance(frame, JointFrame):
        raise ModelFileError(
            f"{path} holds a {type(found).__name__} without a joint frame of two sets; "
            "save one with cospan compare A B --save."
        )
    return Scorer(frame, "cost"), ()


def _open_for(frame: Model, data: str, reading: dict[str, Any]) -> Source:
    """The frame's own columns of a table, whatever else it holds; arrays have no names to match."""
    names, opened = frame.feature_names, open_source(data, **reading)
    if names is None or not isinstance(opened, Table):
        return encode([opened])[0]
    plan = EncodingPlan.of_numbers(names, reading.get("missing"))
    if frame.geometry.encoding is not None:
        plan = EncodingPlan.from_dict(frame.geometry.encoding)
        plan = plan.without_filling(reading.get("missing"))
    return encode_by(opened, plan)


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
    from cospan.comparison import audit_labels
    from cospan.comparison.rows import looking_elsewhere

    if output is not None:
        check_places([check_table_path(output)], [data, *files_among(label)])
    terminal.progress(f"reading {data}", 0, None)
    source = encode([open_source(data, label=label, **reading)])[0]
    table = source.read()
    for note in notes_of([source]):
        terminal.warn(str(note))
    terminal.progress("judging every row without itself", 0, None)
    found = audit_labels(table.rows, table.labels)
    terminal.stop_progress()
    order = found.order
    columns = {"id": np.asarray(table.ids)[order], "label": found.labels[order]} | {
        key: getattr(found, key)[order] for key in ("suggested", "suspicion", "flagged")
    }
    if output is not None:
        with table_file(output) as write:
            write(columns)
    conflicts = np.flatnonzero(columns["flagged"])
    listed = conflicts[:top].tolist()
    if as_json:
        worst = [{key: value[i] for key, value in columns.items()} for i in listed]
        counts = {"rows": len(table.ids), "flagged": len(conflicts)}
        terminal.json({**counts, "worst": worst, "inseparable": found.inseparable})
    else:
        elsewhere = int(
            looking_elsewhere(found.weights, np.searchsorted(found.classes, found.labels)).sum()
        )
        terminal.lines(_audit_lines(columns, len(table.ids), len(conflicts), listed, elsewhere))
    named = [" and ".join(printable(one, 28) for one in pair) for pair in found.inseparable]
    if named:
        more = f" and {plural(len(named) - 3, 'more pair')}" if len(named) > 3 else ""
        terminal.warn(
            f"no label is flagged between {', '.join(named[:3])}{more}: "
            "left-out rows are assigned to these classes no better than by chance"
        )
    if output is not None:
        terminal.note(f"wrote {output}")


def _audit_lines(
    columns: dict[str, Any], n: int, flagged: int, listed: list[int], elsewhere: int
) -> Iterator[tuple[str, str]]:
    yield "title", f"{plural(flagged, 'label')} of {n:,} in conflict with the angle of the row"
    for i in listed:
        name, label, other = (
            printable(columns[key][i], 28) for key in ("id", "label", "suggested")
        )
        yield "plain", f"  {name}  {label} → {other}  suspicion {columns['suspicion'][i]:.3f}"
    if flagged > len(listed):
        yield "plain", f"  … and {flagged - len(listed):,} more"
    if elsewhere > flagged:
        rows = f"{plural(elsewhere, 'row')} of {n:,}"
        yield "plain", f"{rows} look more like another class: compare counts these, audit only"
        yield "plain", "labels that stand out: classes that overlap have such rows anyway."


def synthetic_rows(
    terminal: Terminal,
    real: str,
    synthetic: str,
    output: Path | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Say how well synthetic rows stand for real ones; write what was found for each."""
    from cospan.measures import fidelity

    if output is not None:
        check_places([check_table_path(output)], [real, synthetic])
    terminal.progress("measuring", 0, None)
    found = fidelity(*(open_source(data, **reading) for data in (real, synthetic)))
    terminal.stop_progress()
    if output is not None:
        worst = np.argsort(np.minimum(found.p_copy, found.p_impossible), kind="stable")
        rows = found.rows_synthetic[worst]
        measured = ("distance", "copying", "p_impossible", "p_copy")
        columns = {"row": rows} | {key: getattr(found, key)[worst] for key in measured}
        columns |= {
            "impossible": np.isin(rows, found.impossible),
            "copy": np.isin(rows, found.copies),
        }
        with table_file(output) as write:
            write(columns)
    if as_json:
        terminal.json(found.to_dict())
    else:
        terminal.text(repr(found))
    if output is not None:
        terminal.note(f"wrote {output}")


def profile(terminal: Terminal, data: Sequence[str], output: Path, options: dict[str, Any]) -> None:
    """Keep what a reference looks like."""
    check_places([output], data)
    terminal.progress(f"reading {data[0]}", 0, None)
    made = Profile.of(one_or_all(data), name=name_of(data), **options)
    made.save(output)
    terminal.stop_progress()
    terminal.text(repr(made)[1:-1])
    terminal.note(f"wrote {output} ({max(1, round(output.stat().st_size / 1e3)):,} kB)")
