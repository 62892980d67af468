"""The options of the command line: each one's flag, help text and check, written once.

Options that travel together are fields of one dataclass. A parameter of a command typed with such a
dataclass becomes an option for each of its fields (`with_options`); one typed :class:`Terminal`
becomes --quiet, --verbose and --debug, and the command runs inside it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cospan.cli.terminal import Terminal

Chosen = dict[str, Any]  # options that were given, by name

# ---- groups of options -------------------------------------------------------------------------


def grouped(*flags: str, default: Any = None, **about: Any) -> Any:
    """A field of such a dataclass: its default, and what typer is to make of it."""
    return dataclasses.field(default=default, metadata={"option": typer.Option(*flags, **about)})


@dataclass(frozen=True)
class _Talk:
    quiet: bool = grouped("--quiet", "-q", default=False, help="Only results and errors.")
    verbose: bool = grouped("--verbose", "-v", default=False, help="Say what is being done.")
    debug: bool = grouped("--debug", default=False, help="Show the traceback of an error.")


class Given:
    """A group of options that a call takes as keyword arguments."""

    def given(self) -> Chosen:
        """Those that were given; what is left has a default."""
        # Only the classes below, which are dataclasses, are ever made.
        found = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in found.items() if value is not None}


def _plain(value: Any) -> Any:
    """A choice as its word; names that were given in several options as one list."""
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, list) and any(isinstance(one, list) for one in value):
        return [name for names in value for name in names]
    return value


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it, every option a parameter of its own.

    The first parameter of a command is its terminal.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    found: list[inspect.Parameter] = []
    for name, parameter in list(inspect.signature(command).parameters.items())[1:]:
        if name in groups:
            found += _parameters(groups[name])
        else:
            found.append(_parameter(name, parameter.default, hints[name]))
    found += _parameters(_Talk)

    def run(**given: Any) -> None:
        made = {name: _taken(group, given) for name, group in groups.items()}
        talk = _taken(_Talk, given)
        with Terminal(talk.quiet, talk.verbose, talk.debug) as terminal:
            command(terminal, **made, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in found}
    # What typer reads; the type checker knows of no such attribute of functions.
    run.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    return run


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    found = []
    for f in dataclasses.fields(group):
        about = f.metadata.get("option")
        hint = hints[f.name] if about is None else Annotated[hints[f.name], about]
        found.append(_parameter(f.name, f.default, hint))
    return found


def _parameter(name: str, default: Any, hint: Any) -> inspect.Parameter:
    arguments = get_args(hint)
    if arguments and arguments[0] in (bool, bool | None):  # a flag takes no value to mention
        for info in arguments[1:]:
            info.metavar = ""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _taken(group: Any, given: dict[str, Any]) -> Any:
    """The group made of its options, which are taken out of what is given."""
    return group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})


# ---- what the texts of options stand for -------------------------------------------------------


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


def parse_size(text: str) -> tuple[int, int]:
    """Height and width of an image."""
    shape = parse_shape(text)
    return shape[0], shape[-1]


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


# ---- the options ------------------------------------------------------------------------------

Center = StrEnum("Center", ["pooled", "each", "none"])
Weighting = StrEnum("Weighting", ["cost", "frame"])
Span = StrEnum("Span", ["affine", "linear"])
Units = StrEnum("Units", ["auto", "own", "common"])
Preset = StrEnum("Preset", ["paper"])
Format = StrEnum("Format", ["html", "md", "json"])
Missing = StrEnum("Missing", ["indicator", "mean", "drop", "error"])
ImageMode = StrEnum("ImageMode", {"gray": "L", "colour": "RGB"})

HOW = "How to compare"
_how = partial(grouped, rich_help_panel=HOW)
_or_auto = partial(_how, metavar="NUMBER|auto")
_read = partial(grouped, rich_help_panel="How to read the data")
_column = partial(_read, metavar="COLUMN")
_names = partial(_read, parser=parse_names, metavar="NAME,NAME,…")
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
        "'auc>X', 'fisher-rao>X', 'p<X', 'column-p<X', 'features>N', 'missing>X' or "
        "'neither>X' holds"
    )


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
    n_permutations: int = _how("--permutations", default=999, min=19, help="For the p-value.")
    seed: int = _how(default=0, min=0, help="For permutations.")
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
        "'alarm', or 'auc>X', 'p<X', 'features>N', 'missing>X', holds in a new window"
    )


@dataclass(frozen=True)
class Columns(Given):
    """Which columns to take, and as what."""

    columns: str | None = _read(
        parser=parse_columns,
        metavar="NAME,NAME,…",
        help="Features to take, by name or number (default: every column).",
    )
    categorical: list[Any] | None = _names(
        help="Columns that are categories whatever they look like. May be repeated."
    )
    numeric: list[Any] | None = _names(
        help="Columns that are numbers; other text in them is missing. May be repeated."
    )
    drop: list[Any] | None = _names(help="Columns that are not features. May be repeated.")
    keep: list[Any] | None = _names(
        help="Columns to compare even if they give the set away (dates, row numbers)."
    )
    strict: bool = _read(
        "--strict", default=False, help="Refuse non-numeric columns instead of encoding them."
    )


@dataclass(frozen=True)
class Files(Given):
    """How to read rows whose columns are known."""

    id_column: str | None = _column(
        "--id", help="Column that identifies a row; it is not a feature."
    )
    missing: Missing | None = _read(
        help="Missing values: fill by the sets' mean with a feature that says where, or "
        "without one; drop the rows; refuse (default: indicator for tables, else error)."
    )
    chunk_rows: int | None = _read(min=1, help="Rows in memory at a time (default: 32 MB).")
    image_size: str | None = _read(
        parser=parse_size, metavar="HxW", help="Resize images to this size."
    )
    image_mode: ImageMode = _read(
        default=ImageMode.gray, help="Images in gray (L) or colour (RGB)."
    )
    text: str | None = _column(help="Column of texts: their embeddings are the features.")
    embed: str | None = _read(
        metavar="MODEL",
        help="Name of a sentence-transformers model for texts (in Python also any function).",
    )


@dataclass(frozen=True)
class Reading(Files, Columns):
    """How to read the data."""

    max_bad_images: int | None = _read(
        min=0, help="Unreadable images to leave out before giving up (default: 10)."
    )
