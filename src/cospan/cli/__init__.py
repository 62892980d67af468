"""The command line: arguments and exit codes, nothing else.

Exit codes: 0 done; 1 it failed, with one sentence on stderr; 2 wrong usage; 3 done, and a
``--fail-on`` threshold was crossed. Only typer is imported here: ``cospan --help`` answers at
once, and each command imports what it needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cospan.cli import options as opt
from cospan.cli.terminal import FAILED, THRESHOLD, Terminal

__all__ = ["app", "main"]

app = typer.Typer(
    name="cospan",
    help="Compare datasets by their geometry: an angle for every sample, 0° = A, 90° = B.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Sets = Annotated[
    list[str],
    typer.Argument(
        metavar="A B …",
        help="Two or more files or folders (.csv .parquet .npy images …), '-' for standard input; "
        "or one table with --label: all its classes, or --a and --b.",
    ),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A file or folder, or '-'.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file made by compare --save.")]


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Compare datasets by their geometry: an angle for every sample, 0° = A, 90° = B."""


@app.command()
def compare(
    sets: Sets,
    score: Annotated[str | None, typer.Option(metavar="Z", help="More rows to score.")] = None,
    label: opt.Label = None,
    a: Annotated[
        str | None, typer.Option("--a", metavar="CLASS", help="Class to take as A.")
    ] = None,
    b: Annotated[
        str | None, typer.Option("--b", metavar="CLASS", help="Class to take as B.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of Z that holds labels to be checked."),
    ] = None,
    name_a: opt.Names = None,
    name_b: opt.Names = None,
    output: opt.Output = None,
    format: opt.FormatOption = None,
    scores: opt.Scores = None,
    save: opt.Save = None,
    json: opt.Json = False,
    fail_on: opt.FailOn = None,
    preset: opt.PresetOption = None,
    span: opt.SpanOption = None,
    units: opt.UnitsOption = None,
    shrinkage: opt.Shrinkage = None,
    pooling: opt.Pooling = None,
    dof: opt.Dof = None,
    calibrate: opt.Calibrate = None,
    center: opt.CenterOption = None,
    balance: opt.Balance = None,
    weighting: opt.WeightingOption = None,
    tol: opt.Tol = None,
    standardize: opt.Standardize = False,
    permutations: opt.Permutations = 999,
    seed: opt.Seed = 0,
    all_rows: opt.AllRows = None,
    exact: opt.Exact = None,
    columns: opt.Columns = None,
    categorical: opt.Categorical = None,
    numeric: opt.Numeric = None,
    drop: opt.Drop = None,
    id_column: opt.IdColumn = None,
    missing: opt.MissingOption = None,
    strict: opt.Strict = False,
    chunk_rows: opt.ChunkRows = None,
    image_size: opt.ImageSize = None,
    image_mode: opt.ImageModeOption = opt.ImageMode.gray,
    max_bad_images: opt.MaxBadImages = None,
    image_shape: opt.ImageShape = None,
    scheduler: opt.Scheduler = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Compare sets: how far apart they are, where, and which rows look misplaced."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import commands

        crossed = commands.compare(
            terminal,
            {
                "sets": sets,
                "Z": score,
                "label": label,
                "a": a,
                "b": b,
                "labels": labels,
                "name_a": name_a,
                "name_b": name_b,
                "image_shape": image_shape,
            },
            opt.settings(
                preset=preset,
                span=span,
                units=units,
                shrinkage=shrinkage,
                pooling=pooling,
                dof=dof,
                calibrate=calibrate,
                center=center,
                balance=balance,
                weighting=weighting,
                tol=tol,
                standardize=standardize,
                n_permutations=permutations,
                seed=seed,
                score_all=all_rows,
                exact=exact,
            ),
            opt.reading(
                columns=columns,
                categorical=categorical,
                numeric=numeric,
                drop=drop,
                id_column=id_column,
                missing=missing,
                strict=strict,
                chunk_rows=chunk_rows,
                image_size=image_size,
                image_mode=image_mode,
                max_bad_images=max_bad_images,
            ),
            opt.Outputs(output, format, scores, save, json),
            fail_on or [],
            scheduler,
        )
        if crossed:
            raise typer.Exit(THRESHOLD)


@app.command()
def score(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write: .parquet, .arrow, .csv or .tsv (default: CSV to stdout).",
        ),
    ] = None,
    weighting: opt.WeightingOption = None,
    id_column: opt.IdColumn = None,
    missing: opt.MissingOption = None,
    chunk_rows: opt.ChunkRows = None,
    image_size: opt.ImageSize = None,
    image_mode: opt.ImageModeOption = opt.ImageMode.gray,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Score rows with a saved frame, streaming: one line a row."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import commands

        reading = opt.reading(
            id_column=id_column,
            missing=missing,
            chunk_rows=chunk_rows,
            image_size=image_size,
            image_mode=image_mode,
        )
        commands.score(terminal, model, data, output, str(weighting or "cost"), reading)


@app.command()
def audit(
    data: Data,
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column that holds the labels to check.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write every row, most suspicious first: .csv, .tsv, .parquet or .arrow.",
        ),
    ] = None,
    top: Annotated[int, typer.Option("-n", min=0, help="How many rows to print.")] = 20,
    json: opt.Json = False,
    columns: opt.Columns = None,
    categorical: opt.Categorical = None,
    numeric: opt.Numeric = None,
    drop: opt.Drop = None,
    id_column: opt.IdColumn = None,
    missing: opt.MissingOption = None,
    strict: opt.Strict = False,
    image_size: opt.ImageSize = None,
    image_mode: opt.ImageModeOption = opt.ImageMode.gray,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Find labels that conflict with their row's angle."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import commands

        reading = opt.reading(
            columns=columns,
            categorical=categorical,
            numeric=numeric,
            drop=drop,
            id_column=id_column,
            missing=missing,
            strict=strict,
            image_size=image_size,
            image_mode=image_mode,
        )
        commands.audit(terminal, data, label, output, top, json, reading)


@app.command()
def directions(
    model: Model,
    number: Annotated[int, typer.Option("-n", min=1, help="How many of each kind.")] = 3,
    features: Annotated[int, typer.Option(min=1, help="Features named for each.")] = 5,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Show the directions of a saved frame: most A-like, most shared, most B-like."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import model_commands

        model_commands.directions(terminal, model, number, features, json)


@app.command()
def info(
    file: Annotated[str, typer.Argument(metavar="MODEL|FILE", help="A saved frame, or data.")],
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Say what a saved frame or a data file holds."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import model_commands

        model_commands.info(terminal, file, json)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes.")
    ] = Path("cospan-demo.html"),
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Handwritten fours and nines instead of a table.")
    ] = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Compare two groups of patients (built-in data) and write a report."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import commands

        commands.demo(terminal, output, pictures)


@app.command()
def reproduce(
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder that holds mnist and fashion-mnist, or 'digits' for the small built-in "
            "set (default: COSPAN_DATA, else a download).",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go.")
    ] = Path("cospan-reproduction"),
    draws: Annotated[int, typer.Option(min=2, help="Random draws of training images.")] = 10,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two draws, the paper's pairs only.")
    ] = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Repeat the paper's experiments, and show what better defaults make of them."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli import commands

        commands.reproduce(terminal, data, output, draws, quick)


@app.command()
def doctor(
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Say what is installed here, and test that it works together."""
    with Terminal(quiet, verbose, debug) as terminal:
        from cospan.cli.doctor import examine

        if not examine(terminal, json):
            raise typer.Exit(FAILED)


@app.command()
def version() -> None:
    """Print the version."""
    from cospan import __version__

    typer.echo(__version__)


def main() -> None:
    """Run the command line; the console script and ``python -m cospan`` call this."""
    app(prog_name="cospan")
