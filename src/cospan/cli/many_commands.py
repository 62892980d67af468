"""``cospan compare`` with more than two sets: files, or the classes of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer

from cospan._warnings import heard
from cospan.cli.options import Outputs, Threshold
from cospan.cli.showing import show, write_files
from cospan.cli.terminal import Terminal
from cospan.comparison.score_files import table_file
from cospan.comparison.text import number, printable
from cospan.distributed import on_cluster, read_lazily
from cospan.multiway import ManyComparison, compare_many
from cospan.multiway.sets import names_of
from cospan.multiway.text import many_lines
from cospan.sources import open_source

__all__ = ["compare", "is_asked"]

FOR_TWO = ("a", "b", "labels", "name_a", "name_b")


def is_asked(
    sets: Sequence[str],
    what: dict[str, Any],
    reading: dict[str, Any],
    scheduler: str | None = None,
) -> bool:
    """Whether there are more than two sets: that many files, or classes of one table."""
    if len(sets) > 2:
        return True
    one_table = len(sets) == 1 and sets[0] != "-" and what["label"] is not None
    if not one_table or what["a"] is not None or what["b"] is not None:
        return False
    with heard(), on_cluster(scheduler):  # warnings come when the sets are read
        table: Any = sets[0]
        if scheduler is not None:
            table = read_lazily(sets[0], (what["label"], reading.get("id_column")))
        return len(open_source(table, label=what["label"], **reading).classes()) > 2


def compare(
    terminal: Terminal,
    sets: Sequence[str],
    what: dict[str, Any],
    settings: dict[str, Any],
    reading: dict[str, Any],
    outputs: Outputs,
    thresholds: Sequence[Threshold],
    scheduler: str | None = None,
) -> list[Threshold]:
    """Compare, print, write what was asked for; returns the thresholds that were crossed."""
    _refuse_what_two_sets_have(sets, what, thresholds)
    settings = {key: value for key, value in settings.items() if key != "n_permutations"}
    with on_cluster(scheduler), _scores_file(outputs.scores) as sink:
        given: Any = sets[0] if len(sets) == 1 else list(sets)
        if scheduler is not None:
            keep = (what["label"], reading.get("id_column"))
            lazy = [read_lazily(path, keep) for path in sets]
            given = lazy[0] if len(lazy) == 1 else dict(zip(names_of(sets), lazy, strict=True))
        found = compare_many(
            given,
            what["Z"],
            label=what["label"],
            image_shape=what["image_shape"],
            **settings,
            **reading,
            progress=terminal.progress,
            sink=sink,
        )
    write_files(found, found.classifier() if outputs.model is not None else None, outputs)
    show(terminal, found, many_lines, outputs)
    return _crossed(terminal, found, thresholds)


def _refuse_what_two_sets_have(
    sets: Sequence[str], what: dict[str, Any], thresholds: Sequence[Threshold]
) -> None:
    given = [f"--{name.replace('_', '-')}" for name in FOR_TWO if what[name] is not None]
    if len(sets) > 1 and what["label"] is not None:
        given.append("--label")
    judged = {threshold.quantity for threshold in thresholds}
    given += [f"--fail-on {quantity}" for quantity in ("p", "auc") if quantity in judged]
    if given:
        raise typer.BadParameter(f"{' and '.join(given)}: for two sets only, and there are more.")


@contextmanager
def _scores_file(path: Path | None) -> Iterator[Callable[..., None] | None]:
    """Something that takes scored chunks and writes them; None where no file is wanted."""
    if path is None:
        yield None
        return
    with table_file(path) as write:

        def sink(columns: dict[str, Any]) -> None:
            # the sets may number their rows in one file and name them in the other
            write({**columns, "id": np.asarray(columns["id"]).astype(str)})

        yield sink


def _crossed(
    terminal: Terminal, found: ManyComparison, thresholds: Sequence[Threshold]
) -> list[Threshold]:
    """The thresholds that any pair crosses."""
    i, j = np.unravel_index(int(np.argmax(found.fisher_rao)), found.fisher_rao.shape)
    farthest = float(found.fisher_rao[i, j])
    crossed = [threshold for threshold in thresholds if threshold.crossed(farthest)]
    for threshold in crossed:
        pair = " and ".join(printable(found.names[k], 40) for k in (i, j))
        terminal.error(f"--fail-on {threshold}: it is {number(farthest)} between {pair}.")
    return crossed
