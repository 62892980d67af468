"""The options of ``cospan profile`` and ``cospan monitor`` that other commands do not have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cospan.cli.options import Json, _column, _condition, _file, _junit, _read, _summary

__all__ = ["WatchOutputs", "Windows"]


@dataclass(frozen=True)
class Windows:
    """Which column says when a row was, and how long a window is."""

    time: str | None = _column(help="Column that says when each row was; not a feature.")
    every: str | None = _read(
        metavar="LENGTH", help="Windows of one hour, day, week, month or year, or '1000-rows'."
    )


@dataclass(frozen=True)
class WatchOutputs:
    """Files of a monitoring, whether stdout gets JSON, and when to fail."""

    output: Path | None = _file(
        "--output", "-o", help="Write a page or a table: .html, .json, .csv."
    )
    save: Path | None = _file(help="Keep windows and reference, to add tomorrow's to them.")
    json: Json = False
    fail_on: list[Any] | None = _condition(
        help="End with exit code 3 if 'alarm', or 'auc>X', 'p<X', 'features>N', 'missing>X', "
        "'neither>X', holds in a new window, or all of several joined by 'and'. "
        "May be repeated."
    )
    junit: Path | None = _junit()
    summary: Path | None = _summary()
