"""``cospan panel`` and ``cospan fidelity``: other measures, and synthetic rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cospan._json import json_text
from cospan.cli.options import Chosen
from cospan.cli.places import check_places
from cospan.cli.terminal import Terminal
from cospan.comparison.score_files import check_table_path, table_file
from cospan.panel import fidelity, measure_panel
from cospan.sources import open_source

__all__ = ["other_measures", "synthetic_rows"]


def other_measures(
    terminal: Terminal, a: str, b: str, rows: int, seed: int, as_json: bool, reading: Chosen
) -> None:
    """Print what other measures say about two sets."""
    terminal.progress("measuring", 0, None)
    sets = [open_source(data, **reading) for data in (a, b)]
    panel = measure_panel(*sets, rows=rows, random_state=seed)
    terminal.stop_progress()
    terminal.result(json_text(panel.to_dict()) if as_json else repr(panel))


def synthetic_rows(
    terminal: Terminal,
    real: str,
    synthetic: str,
    output: Path | None,
    as_json: bool,
    reading: Chosen,
) -> None:
    """Say how well synthetic rows stand for real ones; write what was found for each."""
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
    terminal.result(json_text(found.to_dict()) if as_json else repr(found))
    if output is not None:
        terminal.note(f"wrote {output}")
