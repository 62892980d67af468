"""A comparison's files are written, then it is printed: a closed pipe loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from cospan.cli.options import Outputs
from cospan.cli.terminal import Terminal, as_options

__all__ = ["show", "write_files"]

Line = tuple[str, str]


def write_files(found: Any, model: Any, outputs: Outputs) -> None:
    """The model and the report, where they were asked for."""
    if outputs.model is not None:
        from cospan.model_file import save

        save(outputs.model, model)
    if outputs.report is not None:
        from cospan.report import write

        write(found, outputs.report, outputs.format)


def show(
    terminal: Terminal,
    found: Any,
    lines_of: Callable[[Any, int], Iterator[Line]],
    outputs: Outputs,
) -> None:
    """The comparison as text or JSON, and which files were written."""
    terminal.stop_progress()
    terminal.heard(found.warnings)
    if outputs.json:
        terminal.result(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        lines = lines_of(found, terminal.width)
        shown = ((style, as_options(t) if style == "warn" else t) for style, t in lines)
        terminal.lines(line for line in shown if not terminal.repeats(*line))
    for path in (outputs.scores, outputs.model, outputs.report):
        if path is not None:
            terminal.note(f"wrote {path}")
