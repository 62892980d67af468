"""The options of the command line: each one's flag, help text and check, said once.

Options that travel together are fields of one dataclass; see `groups`. Those that say how to read
the data are in `reading_options`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cospan.cli.groups import grouped


def parse_shrinkage(text: str) -> float | str:
    """``auto``, or a number in [0, 1)."""
    value = text if text == "auto" else _number(text)
    if value is None or not (isinstance(value, str) or 0 <= value < 1):
        raise typer.BadParameter(f"{text!r} is neither 'auto' nor a number from 0 to below 1.")
    return value


def parse_curve(text: str) -> int | str:
    """``auto``, ``none``, or a number of features."""
    if text in ("auto", "none"):
        return text
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise typer.BadParameter(
            f"{text!r} is neither 'auto' nor 'none' nor a number of features of at least 1."
        )
    return int(text)


def parse_number_or_auto(text: str) -> float | str:
    """A number, or the word auto."""
    value = text if text == "auto" else _number(text)
    if value is None:
        raise typer.BadParameter(f"{text!r} is not a number; give one, or auto.")
    return value


def parse_shape(text: str) -> tuple[int, ...]:
    """``28``, ``28x28`` or ``32x32x3``."""
    match = re.fullmatch(r"(\d{1,5})(?:x(\d{1,5}))?(?:x(\d{1,2}))?", text.lower())
    shape = tuple(int(part) for part in match.groups() if part) if match else ()
    if not shape or min(shape) < 1:
        raise typer.BadParameter(f"{text!r} is not an image size; write HEIGHTxWIDTH, e.g. 28x28.")
    return shape


def parse_columns(text: str) -> list[str | int]:
    """Names or numbers of columns between commas."""
    return [int(name) if name.isdigit() else name for name in parse_names(text)]


def parse_names(text: str) -> list[str]:
    """Names of columns between commas."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise typer.BadParameter("no column is named; write names between commas.")
    return names


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Center = StrEnum("Center", ["pooled", "each", "none"])
Weighting = StrEnum("Weighting", ["cost", "frame"])
Span = StrEnum("Span", ["affine", "linear"])
Units = StrEnum("Units", ["auto", "own", "common"])
Preset = StrEnum("Preset", ["paper"])
Format = StrEnum("Format", ["html", "md", "json"])

HOW = "How to compare"
_how = partial(grouped, rich_help_panel=HOW)
_or_auto = partial(_how, metavar="NUMBER|auto")
_read = partial(grouped, rich_help_panel="How to read the data")
_column = partial(_read, metavar="COLUMN")
_write = partial(grouped, rich_help_panel="What to write")
_file = partial(_write, metavar="FILE")

_WEIGHTING = "How an angle is made of coordinates (default: cost)."
WeightingOption = Annotated[Weighting | None, typer.Option(help=_WEIGHTING, rich_help_panel=HOW)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def _gate(text: str) -> Any:
    from cospan.cli.gates import parse_gate  # it knows comparisons, and --help need not

    return parse_gate(text)


def _fail_on(when: str) -> Any:
    """The option --fail-on, for conditions such as these."""
    text = f"End with exit code 3 if {when}, or all of several joined by 'and'. May be repeated."
    return _write(parser=_gate, metavar="CONDITION", help=text)


_junit = partial(_file, help="Write what --fail-on found as JUnit XML.")
_summary = partial(_file, help='Add a few lines of Markdown, e.g. to "$GITHUB_STEP_SUMMARY".')


Chosen = dict[str, Any]  # options that were given, by name


class Given:
    """A group of options that a call takes as keyword arguments."""

    def given(self) -> Chosen:
        """Those that were given; what is left has a default."""
        # Only the classes below, which are dataclasses, are ever made.
        found = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {
            name: str(value) if isinstance(value, StrEnum) else value
            for name, value in found.items()
            if value is not None
        }


@dataclass(frozen=True)
class What:
    """What to compare, besides the sets themselves."""

    score: str | None = grouped(
        metavar="Z", help="More rows to score, which have no part in the comparison."
    )
    label: str | None = grouped(
        metavar="COLUMN", help="Column (or array, or labels file) that holds the classes."
    )
    a: str | None = grouped("--a", metavar="CLASS", help="Class to take as A.")
    b: str | None = grouped("--b", metavar="CLASS", help="Class to take as B.")
    labels: str | None = grouped(
        metavar="COLUMN", help="Column of Z that holds labels to be checked."
    )
    name_a: str | None = grouped(metavar="NAME", help="What to call A.")
    name_b: str | None = grouped(metavar="NAME", help="What to call B.")
    image_shape: str | None = _read(
        parser=parse_shape,
        metavar="HxW[xC]",
        help="The features are the pixels of images of this shape.",
    )
    scheduler: str | None = _read(
        metavar="ADDRESS",
        help="Dask scheduler (tcp://host:port) whose workers read Parquet or CSV files.",
    )


@dataclass(frozen=True)
class Outputs:
    """Files to write, whether stdout gets JSON, and when to fail."""

    output: list[Path] | None = _file(
        "--output", "-o", help="Write a report: .html, .md or .json. May be given several times."
    )
    format: Format | None = _write(help="Format of the report (default: by the name of the file).")
    scores: Path | None = _file(help="Write one row per sample: .parquet, .arrow, .csv or .tsv.")
    save: Path | None = _file(help="Save the frame, to score more rows with 'cospan score'.")
    panel: bool = _write(
        "--panel",
        default=False,
        help="Show other measures too (MMD, Fréchet distance, classifiers …).",
    )
    json: Json = False
    fail_on: list[Any] | None = _fail_on(
        "'auc>X', 'effect>X', 'fisher-rao>X', 'p<X', 'column-p<X', 'features>N', 'missing>X' or "
        "'neither>X' holds"
    )
    junit: Path | None = _junit()
    summary: Path | None = _summary()


@dataclass(frozen=True)
class Settings(Given):
    """How to compare."""

    preset: Preset | None = _how(
        help="paper: the paper's own: linear, each set centred, no shrinkage, raw angles."
    )
    span: Span | None = _how(
        help="affine: each set about its own mean (default); linear: about one centre."
    )
    units: Units | None = _how(
        help="Shrink each column towards its own variance, or all towards a common one "
        "(default: what separates better)."
    )
    shrinkage: str | None = _or_auto(
        parser=parse_shrinkage,
        help="From 0 to below 1; auto: best by leave-one-out (default: auto).",
    )
    pooling: str | None = _or_auto(
        parser=parse_number_or_auto,
        help="From 0 to 1: pull the sets' covariances towards their mean (default: auto).",
    )
    dof: str | None = _or_auto(
        parser=parse_number_or_auto,
        help="Degrees of freedom: how much distance counts (default: auto).",
    )
    calibrate: bool | None = _how(
        "--calibrate/--raw",
        help="Angles as probabilities, or raw (default: calibrated, not in the linear span).",
    )
    center: Center | None = _how(help="What to take off the rows (default: pooled).")
    balance: bool | None = _how(
        "--balance/--no-balance",
        help="Give all sets equal weight, whatever their sizes, with --span linear (default).",
    )
    curve: str | None = _how(
        parser=parse_curve,
        metavar="auto|none|NUMBER",
        help="Curved features beside the columns: where they are clearly better, never, or so "
        "many (default: auto).",
    )
    weighting: WeightingOption = None
    tol: float | None = _how(
        min=0, max=1, help="Relative tolerance of ranks (default: by the data's precision)."
    )
    standardize: bool = _how("--standardize", default=False, help="The old name of --units own.")
    n_permutations: int = _how(
        "--permutations", default=999, min=0, help="For the p-value; 0 leaves it out."
    )
    seed: int = _how(default=0, min=0, help="For permutations and intervals.")
    score_all: bool | None = _how(
        "--all-rows/--sample",
        help="Score every row in a second pass, or a sample "
        "(default: every row up to 200,000 rows in all).",
    )
    exact: bool | None = _how(
        "--exact/--fast",
        help="QR or Gram matrices (default: exact where shrinkage is below 0.001).",
    )


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

    output: list[Path] | None = _file(
        "--output",
        "-o",
        help="Write a page or a table: .html, .json, .csv. May be given several times.",
    )
    save: Path | None = _file(help="Keep windows and reference, to add tomorrow's to them.")
    json: Json = False
    fail_on: list[Any] | None = _fail_on(
        "'alarm', or 'auc>X', 'p<X', 'features>N', 'missing>X', 'neither>X', holds in a new window"
    )
    junit: Path | None = _junit()
    summary: Path | None = _summary()
