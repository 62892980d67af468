"""The options of ``cospan profile`` and ``cospan monitor`` that other commands do not have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cospan.cli.options import Json, Junit, SummaryFile, _gate, _read, _write

__all__ = ["EveryOption", "Time", "WatchOutputs"]

Time = Annotated[
    str | None, _read(metavar="COLUMN", help="Column that says when each row was; not a feature.")
]
EveryOption = Annotated[
    str | None,
    _read(metavar="LENGTH", help="Windows of one hour, day, week, month or year, or '1000-rows'."),
]


@dataclass(frozen=True)
class WatchOutputs:
    """Files of a monitoring, whether stdout gets JSON, and when to fail."""

    output: Annotated[
        Path | None,
        _write(
            "--output", "-o", metavar="FILE", help="Write a page or a table: .html, .json, .csv."
        ),
    ] = None
    save: Annotated[
        Path | None,
        _write(metavar="FILE", help="Keep windows and reference, to add tomorrow's to them."),
    ] = None
    json: Json = False
    fail_on: Annotated[
        list[Any] | None,
        _write(
            parser=_gate,
            metavar="CONDITION",
            help="End with exit code 3 if 'alarm', or 'auc>X', 'p<X', 'features>N', 'missing>X', "
            "'neither>X', holds in a new window, or all of several joined by 'and'. "
            "May be repeated.",
        ),
    ] = None
    junit: Junit = None
    summary: SummaryFile = None
