"""The options of the command line: each one's flag, help text and check, said once.

Commands in :mod:`cospan.cli` name these types; groups of them that travel together come as
frozen settings at the end.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

SETTINGS = "How to compare"
READING = "How to read the data"
OUTPUT = "What to write"


class Center(StrEnum):
    pooled = "pooled"
    each = "each"
    none = "none"


class Weighting(StrEnum):
    cost = "cost"
    frame = "frame"


class Span(StrEnum):
    affine = "affine"
    linear = "linear"


class Units(StrEnum):
    auto = "auto"
    own = "own"
    common = "common"


class Missing(StrEnum):
    indicator = "indicator"
    mean = "mean"
    drop = "drop"
    error = "error"


class ImageMode(StrEnum):
    gray = "L"
    colour = "RGB"


class Preset(StrEnum):
    paper = "paper"


class Format(StrEnum):
    html = "html"
    md = "md"
    json = "json"


class Threshold(NamedTuple):
    """A condition of --fail-on: ``auc>0.7``, ``fisher-rao>1.5`` or ``p<0.01``.

    Examples
    --------
    >>> Threshold("auc", 0.7).crossed(0.9), Threshold("p", 0.01).crossed(0.9)
    (True, False)
    """

    quantity: str
    bound: float

    def crossed(self, value: float) -> bool:
        return value < self.bound if self.quantity == "p" else value > self.bound

    def __str__(self) -> str:
        return f"{self.quantity}{'<' if self.quantity == 'p' else '>'}{self.bound:g}"


# ---- parsers: a wrong value is wrong usage, exit code 2 -----------------------------------------


def parse_shrinkage(text: str) -> float | str:
    """``auto``, or a number in [0, 1)."""
    if text == "auto":
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise typer.BadParameter(f"{text!r} is neither 'auto' nor a number from 0 to below 1.")
    return value


def parse_threshold(text: str) -> Threshold:
    """A condition of --fail-on."""
    match = re.fullmatch(r"\s*(fisher-rao\s*>|auc\s*>|p\s*<)\s*(\S+)\s*", text)
    try:
        bound = float(match[2]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None or bound != bound:
        raise typer.BadParameter(
            f"{text!r} is not a threshold; write (quoted) 'auc>0.7', 'fisher-rao>1' or 'p<0.01'."
        )
    return Threshold(match[1].rstrip("<> "), bound)


def parse_shape(text: str) -> tuple[int, ...]:
    """``28``, ``28x28`` or ``32x32x3``."""
    match = re.fullmatch(r"(\d{1,5})(?:x(\d{1,5}))?(?:x(\d{1,2}))?", text.lower())
    shape = tuple(int(part) for part in match.groups() if part) if match else ()
    if not shape or min(shape) < 1:
        raise typer.BadParameter(f"{text!r} is no image size; write HEIGHTxWIDTH, e.g. 28x28.")
    return shape


def parse_number_or_auto(text: str) -> float | str:
    """A number, or the word auto."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number; give one, or auto.") from None


def parse_columns(text: str) -> list[str | int]:
    """Names or numbers of columns between commas."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise typer.BadParameter("no column is named; write names or numbers between commas.")
    return [int(name) if name.isdigit() else name for name in names]


def parse_names(text: str) -> list[str]:
    """Names of columns between commas."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise typer.BadParameter("no column is named; write names between commas.")
    return names


# ---- the options ---------------------------------------------------------------------------------

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only results and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say what is being done.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

Label = Annotated[
    str | None,
    typer.Option(
        help="Column (or array, or labels file) that holds the classes.", metavar="COLUMN"
    ),
]
ClassName = Annotated[str | None, typer.Option(metavar="CLASS", help="The class to take.")]
Names = Annotated[str | None, typer.Option(metavar="NAME", help="What to call the set.")]

CenterOption = Annotated[
    Center | None,
    typer.Option(help="What to take off the rows (default: pooled).", rich_help_panel=SETTINGS),
]
Balance = Annotated[
    bool | None,
    typer.Option(
        "--balance/--no-balance",
        help="Give both sets equal weight, whatever their sizes, with --span linear (the default).",
        rich_help_panel=SETTINGS,
    ),
]
Shrinkage = Annotated[
    str | None,
    typer.Option(
        parser=parse_shrinkage,
        metavar="NUMBER|auto",
        help="From 0 to below 1; auto: best by leave-one-out (default: auto).",
        rich_help_panel=SETTINGS,
    ),
]
WeightingOption = Annotated[
    Weighting | None,
    typer.Option(
        help="How an angle is made of coordinates (default: cost).", rich_help_panel=SETTINGS
    ),
]
Tol = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Relative tolerance of rank decisions (default: from the data's precision).",
        rich_help_panel=SETTINGS,
    ),
]
SpanOption = Annotated[
    Span | None,
    typer.Option(
        help="affine: each set about its own mean (default); linear: about one centre, as in the "
        "paper.",
        rich_help_panel=SETTINGS,
    ),
]
UnitsOption = Annotated[
    Units | None,
    typer.Option(
        help="Shrink each column towards its own variance, or all towards a common one "
        "(default: what separates better).",
        rich_help_panel=SETTINGS,
    ),
]
Pooling = Annotated[
    str | None,
    typer.Option(
        parser=parse_number_or_auto,
        metavar="NUMBER|auto",
        help="From 0 to 1: pull the sets' covariances towards their mean (default: auto).",
        rich_help_panel=SETTINGS,
    ),
]
Dof = Annotated[
    str | None,
    typer.Option(
        parser=parse_number_or_auto,
        metavar="NUMBER|auto",
        help="Degrees of freedom: how much distance counts (default: auto).",
        rich_help_panel=SETTINGS,
    ),
]
Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate/--raw",
        help="Angles as probabilities, or raw (default: calibrated, except in the linear span).",
        rich_help_panel=SETTINGS,
    ),
]
Standardize = Annotated[
    bool,
    typer.Option("--standardize", help="The old name of --units own.", rich_help_panel=SETTINGS),
]
PresetOption = Annotated[
    Preset | None,
    typer.Option(
        help="paper: the paper's own method, linear, each set centred, no shrinkage, raw angles.",
        rich_help_panel=SETTINGS,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, help="For samples and permutations.", rich_help_panel=SETTINGS),
]
Permutations = Annotated[
    int,
    typer.Option(min=0, help="For the p-value; 0 leaves it out.", rich_help_panel=SETTINGS),
]
AllRows = Annotated[
    bool | None,
    typer.Option(
        "--all-rows/--sample",
        help="Score every row in a second pass, or a sample "
        "(default: every row up to 200,000 rows in all).",
        rich_help_panel=SETTINGS,
    ),
]
Exact = Annotated[
    bool | None,
    typer.Option(
        "--exact/--fast",
        help="QR or Gram matrices (default: exact where shrinkage is below 0.001).",
        rich_help_panel=SETTINGS,
    ),
]

Columns = Annotated[
    str | None,
    typer.Option(
        parser=parse_columns,
        metavar="NAME,NAME,…",
        help="Features to take, by name or number (default: every column).",
        rich_help_panel=READING,
    ),
]
Categorical = Annotated[
    list[Any] | None,
    typer.Option(
        parser=parse_names,
        metavar="NAME,NAME,…",
        help="Columns that are categories whatever they look like. May be repeated.",
        rich_help_panel=READING,
    ),
]
Numeric = Annotated[
    list[Any] | None,
    typer.Option(
        parser=parse_names,
        metavar="NAME,NAME,…",
        help="Columns that are numbers; other text in them is missing. May be repeated.",
        rich_help_panel=READING,
    ),
]
Drop = Annotated[
    list[Any] | None,
    typer.Option(
        parser=parse_names,
        metavar="NAME,NAME,…",
        help="Columns that are no features. May be repeated.",
        rich_help_panel=READING,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Dask scheduler (tcp://host:port) whose workers read Parquet or CSV files.",
        rich_help_panel=READING,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that identifies a row; it is no feature then.",
        rich_help_panel=READING,
    ),
]
MissingOption = Annotated[
    Missing | None,
    typer.Option(
        help="Missing values: fill by the sets' mean with a feature that says where, or without "
        "one; drop the rows; refuse (default: indicator for tables, else error).",
        rich_help_panel=READING,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse non-numeric columns instead of encoding them.",
        rich_help_panel=READING,
    ),
]
ChunkRows = Annotated[
    int | None,
    typer.Option(min=1, help="Rows in memory at a time (default: 32 MB).", rich_help_panel=READING),
]
ImageSize = Annotated[
    str | None,
    typer.Option(
        parser=parse_shape,
        metavar="HxW",
        help="Resize images to this size.",
        rich_help_panel=READING,
    ),
]
ImageModeOption = Annotated[
    ImageMode,
    typer.Option(help="Images in gray (L) or colour (RGB).", rich_help_panel=READING),
]
MaxBadImages = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Unreadable images to leave out before giving up (default: 10).",
        rich_help_panel=READING,
    ),
]
ImageShape = Annotated[
    str | None,
    typer.Option(
        parser=parse_shape,
        metavar="HxW[xC]",
        help="The features are the pixels of images of this shape.",
        rich_help_panel=READING,
    ),
]

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write a report: .html, .md or .json.",
        rich_help_panel=OUTPUT,
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Format of the report (default: by the name of the file).",
        rich_help_panel=OUTPUT,
    ),
]
Scores = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write one row a sample: .parquet, .arrow, .csv or .tsv.",
        rich_help_panel=OUTPUT,
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Save the frame, to score more rows later with 'cospan score'.",
        rich_help_panel=OUTPUT,
    ),
]
FailOn = Annotated[
    list[Any] | None,
    typer.Option(
        parser=parse_threshold,
        metavar="CONDITION",
        help="End with exit code 3 if 'auc>X', 'fisher-rao>X' or 'p<X'. May be repeated.",
        rich_help_panel=OUTPUT,
    ),
]


# ---- options that travel together ----------------------------------------------------------------


def settings(**given: Any) -> dict[str, Any]:
    """Settings of a comparison that were given; what is left has a default."""
    chosen = {key: value for key, value in given.items() if value is not None}
    return {key: str(v) if isinstance(v, StrEnum) else v for key, v in chosen.items()}


def reading(**given: Any) -> dict[str, Any]:
    """Options of the sources, without those that were not given."""
    for key in ("categorical", "numeric", "drop"):
        if given.get(key):
            given[key] = [name for names in given[key] for name in names]
    size = given.pop("image_size", None)
    if size is not None:
        given["image_size"] = (size[0], size[-1])
    return {
        key: str(value) if isinstance(value, StrEnum) else value
        for key, value in given.items()
        if value is not None
    }


class Outputs(NamedTuple):
    """Files to write, and whether stdout gets JSON."""

    report: Path | None = None
    format: str | None = None
    scores: Path | None = None
    model: Path | None = None
    json: bool = False
