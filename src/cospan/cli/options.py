"""The options of the command line: each one's flag, help text and check, said once.

Options that travel together are fields of one dataclass; see `groups`. Those that say how to read
the data are in `reading_options`, those of monitoring alone in `watch_options`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cospan.cli import parsing

__all__ = [
    "FailOn",
    "Json",
    "Junit",
    "Outputs",
    "Settings",
    "SummaryFile",
    "WeightingOption",
    "What",
]

Center = StrEnum("Center", ["pooled", "each", "none"])
Weighting = StrEnum("Weighting", ["cost", "frame"])
Span = StrEnum("Span", ["affine", "linear"])
Units = StrEnum("Units", ["auto", "own", "common"])
Preset = StrEnum("Preset", ["paper"])
Format = StrEnum("Format", ["html", "md", "json"])

_how = partial(typer.Option, rich_help_panel="How to compare")
_or_auto = partial(_how, metavar="NUMBER|auto")
_read = partial(typer.Option, rich_help_panel="How to read the data")
_write = partial(typer.Option, rich_help_panel="What to write")

WeightingOption = Annotated[
    Weighting | None, _how(help="How an angle is made of coordinates (default: cost).")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def _gate(text: str) -> Any:
    from cospan.cli.gates import parse_gate  # it knows comparisons, and --help need not

    return parse_gate(text)


FailOn = Annotated[
    list[Any] | None,
    _write(
        parser=_gate,
        metavar="CONDITION",
        help="End with exit code 3 if 'auc>X', 'effect>X', 'fisher-rao>X', 'p<X', 'features>N', "
        "'missing>X' or 'neither>X' holds, or all of several joined by 'and'. May be repeated.",
    ),
]
Junit = Annotated[
    Path | None, _write(metavar="FILE", help="Write what --fail-on found as JUnit XML.")
]
SummaryFile = Annotated[
    Path | None,
    _write(metavar="FILE", help='Add a few lines of Markdown, e.g. to "$GITHUB_STEP_SUMMARY".'),
]


class Given:
    """A group of options that a call takes as keyword arguments."""

    def given(self) -> dict[str, Any]:
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

    score: Annotated[
        str | None,
        typer.Option(metavar="Z", help="More rows to score, which have no part in the comparison."),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column (or array, or labels file) that holds the classes."
        ),
    ] = None
    a: Annotated[str | None, typer.Option("--a", metavar="CLASS", help="Class to take as A.")] = (
        None
    )
    b: Annotated[str | None, typer.Option("--b", metavar="CLASS", help="Class to take as B.")] = (
        None
    )
    labels: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of Z that holds labels to be checked."),
    ] = None
    name_a: Annotated[str | None, typer.Option(metavar="NAME", help="What to call A.")] = None
    name_b: Annotated[str | None, typer.Option(metavar="NAME", help="What to call B.")] = None
    image_shape: Annotated[
        str | None,
        _read(
            parser=parsing.parse_shape,
            metavar="HxW[xC]",
            help="The features are the pixels of images of this shape.",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        _read(
            metavar="ADDRESS",
            help="Dask scheduler (tcp://host:port) whose workers read Parquet or CSV files.",
        ),
    ] = None


@dataclass(frozen=True)
class Outputs:
    """Files to write, whether stdout gets JSON, and when to fail."""

    output: Annotated[
        Path | None,
        _write("--output", "-o", metavar="FILE", help="Write a report: .html, .md or .json."),
    ] = None
    format: Annotated[
        Format | None, _write(help="Format of the report (default: by the name of the file).")
    ] = None
    scores: Annotated[
        Path | None,
        _write(metavar="FILE", help="Write one row per sample: .parquet, .arrow, .csv or .tsv."),
    ] = None
    save: Annotated[
        Path | None,
        _write(metavar="FILE", help="Save the frame, to score more rows with 'cospan score'."),
    ] = None
    panel: Annotated[
        bool,
        _write("--panel", help="Show other measures too (MMD, Fréchet distance, classifiers …)."),
    ] = False
    json: Json = False
    fail_on: FailOn = None
    junit: Junit = None
    summary: SummaryFile = None


@dataclass(frozen=True)
class Settings(Given):
    """How to compare."""

    preset: Annotated[
        Preset | None,
        _how(help="paper: the paper's own: linear, each set centred, no shrinkage, raw angles."),
    ] = None
    span: Annotated[
        Span | None,
        _how(help="affine: each set about its own mean (default); linear: about one centre."),
    ] = None
    units: Annotated[
        Units | None,
        _how(
            help="Shrink each column towards its own variance, or all towards a common one "
            "(default: what separates better)."
        ),
    ] = None
    shrinkage: Annotated[
        str | None,
        _or_auto(
            parser=parsing.parse_shrinkage,
            help="From 0 to below 1; auto: best by leave-one-out (default: auto).",
        ),
    ] = None
    pooling: Annotated[
        str | None,
        _or_auto(
            parser=parsing.parse_number_or_auto,
            help="From 0 to 1: pull the sets' covariances towards their mean (default: auto).",
        ),
    ] = None
    dof: Annotated[
        str | None,
        _or_auto(
            parser=parsing.parse_number_or_auto,
            help="Degrees of freedom: how much distance counts (default: auto).",
        ),
    ] = None
    calibrate: Annotated[
        bool | None,
        _how(
            "--calibrate/--raw",
            help="Angles as probabilities, or raw (default: calibrated, not in the linear span).",
        ),
    ] = None
    center: Annotated[Center | None, _how(help="What to take off the rows (default: pooled).")] = (
        None
    )
    balance: Annotated[
        bool | None,
        _how(
            "--balance/--no-balance",
            help="Give all sets equal weight, whatever their sizes, with --span linear (default).",
        ),
    ] = None
    curve: Annotated[
        str | None,
        _how(
            parser=parsing.parse_curve,
            metavar="auto|none|NUMBER",
            help="Curved features beside the columns: where they are clearly better, never, or so "
            "many (default: auto).",
        ),
    ] = None
    weighting: WeightingOption = None
    tol: Annotated[
        float | None,
        _how(min=0, max=1, help="Relative tolerance of ranks (default: by the data's precision)."),
    ] = None
    standardize: Annotated[bool, _how("--standardize", help="The old name of --units own.")] = False
    n_permutations: Annotated[
        int, _how("--permutations", min=0, help="For the p-value; 0 leaves it out.")
    ] = 999
    seed: Annotated[int, _how(min=0, help="For permutations and intervals.")] = 0
    score_all: Annotated[
        bool | None,
        _how(
            "--all-rows/--sample",
            help="Score every row in a second pass, or a sample "
            "(default: every row up to 200,000 rows in all).",
        ),
    ] = None
    exact: Annotated[
        bool | None,
        _how(
            "--exact/--fast",
            help="QR or Gram matrices (default: exact where shrinkage is below 0.001).",
        ),
    ] = None
