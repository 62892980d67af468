"""``cospan panel`` and ``cospan fidelity``: other measures, and synthetic rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cospan._json import json_text
from cospan.cli.places import check_places
from cospan.cli.terminal import Terminal
from cospan.comparison.score_files import check_table_path, table_file
from cospan.panel import fidelity, measure_panel
from cospan.sources import open_source

__all__ = ["other_measures", "synthetic_rows"]


def other_measures(
    terminal: Terminal, a: str, b: str, rows: int, seed: int, as_json: bool, reading: dict[str, Any]
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
    reading: dict[str, Any],
) -> None:
    """Say how well synthetic rows stand for real ones; write what was found for each."""
    if output is not None:
        check_places([check_table_path(output)], [real, synthetic])
    terminal.progress("measuring", 0, None)
    found = fidelity(*(open_source(data, **reading) for data in (real, synthetic)))
    terminal.stop_progress()
    if output is not None:
        worst = np.argsort(np.minimum(found.p_copy, found.p_impossible), kind="stable")
        with table_file(output) as write:
            write(
                {
                    "row": found.rows_synthetic[worst],
                    "distance": found.distance[worst],
                    "copying": found.copying[worst],
                    "p_impossible": found.p_impossible[worst],
                    "p_copy": found.p_copy[worst],
                    "impossible": np.isin(found.rows_synthetic[worst], found.impossible),
                    "copy": np.isin(found.rows_synthetic[worst], found.copies),
                }
            )
    terminal.result(json_text(found.to_dict()) if as_json else repr(found))
    if output is not None:
        terminal.note(f"wrote {output}")
