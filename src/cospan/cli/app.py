"""The commands: arguments and exit codes, nothing else.

Exit codes: 0 done; 1 it failed, with one sentence on stderr; 2 wrong usage; 3 done, and a
``--fail-on`` threshold was crossed. Each command imports what it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cospan.cli import options as opt
from cospan.cli.options import with_options
from cospan.cli.terminal import THRESHOLD, Terminal, silence_stdout

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
        "or one table with --label: all its classes, or --a and --b. A third one is a third set; "
        "rows that are only to be scored come with --score.",
    ),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A file or folder, or '-'.")]
DataFiles = Annotated[list[str], typer.Argument(metavar="DATA …", help="One or more files.")]
_output = partial(typer.Option, "--output", "-o", metavar="FILE")


def command(epilog: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command of the app, groups of options spread out; in its help an empty line is a break."""
    return lambda function: app.command(epilog=epilog)(with_options(function))


def _print_version(asked: bool) -> None:
    if asked:
        from cospan._version import VERSION

        typer.echo(VERSION)
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


@command(
    "Examples:\n\ncospan compare train.csv production.csv -o report.html\n\n"
    "cospan compare iris.csv --label species --a setosa --b virginica\n\n"
    "cospan compare train.csv live.csv --fail-on 'auc>0.7' --json"
)
def compare(
    terminal: Terminal,
    sets: Sets,
    what: opt.What,
    outputs: opt.Outputs,
    settings: opt.Settings,
    reading: opt.Reading,
) -> None:
    """Compare sets: how far apart they are, where, and which rows look misplaced."""
    from cospan.cli import comparing

    if comparing.compare(terminal, sets, what, settings.given(), reading.given(), outputs):
        raise typer.Exit(THRESHOLD)


@command("Example:\n\ncospan score model.cospan new.csv -o scores.parquet")
def score(
    terminal: Terminal,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file made by compare --save.")],
    data: Data,
    reading: opt.Files,
    output: Annotated[
        Path | None,
        _output(help="Where to write: .parquet, .arrow, .csv or .tsv (default: CSV to stdout)."),
    ] = None,
    weighting: opt.WeightingOption = None,
) -> None:
    """Score rows with a saved frame, streaming: one line per row."""
    from cospan.cli import commands

    commands.score(terminal, model, data, output, str(weighting or "cost"), reading.given())


@command("Example:\n\ncospan audit labelled.csv --label species")
def audit(
    terminal: Terminal,
    data: Data,
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column that holds the labels to check.")
    ],
    reading: opt.Reading,
    output: Annotated[
        Path | None,
        _output(help="Write every row, most suspicious first: .csv, .tsv, .parquet or .arrow."),
    ] = None,
    top: Annotated[int, typer.Option("-n", min=0, help="How many rows to print.")] = 20,
    json: opt.Json = False,
) -> None:
    """Find labels that conflict with their row's angle."""
    from cospan.cli import commands

    commands.audit(terminal, data, label, output, top, json, reading.given())


@command()
def profile(
    terminal: Terminal,
    data: DataFiles,
    output: Annotated[Path, _output(help="Where the profile goes.")],
    columns: opt.Columns,
    windows: opt.Windows,
    rows: Annotated[int, typer.Option(min=2, help="Rows to keep, drawn at random.")] = 5_000,
) -> None:
    """Keep what a reference looks like in a small file."""
    from cospan.cli import watching

    watching.profile(terminal, data, output, columns.given(), windows.time, windows.every, rows)


@command("Example:\n\ncospan monitor reference.csv live.csv --time when --every week")
def monitor(
    terminal: Terminal,
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            help="A profile, a file, or what --save wrote: then its windows are added to.",
        ),
    ],
    data: DataFiles,
    outputs: opt.WatchOutputs,
    columns: opt.Columns,
    windows: opt.Windows,
    false_alarms: Annotated[
        float | None, typer.Option(help="False alarms a year that are acceptable (default: 1).")
    ] = None,
    details: Annotated[
        bool, typer.Option("--all", help="Compare every window, not only those in alarm.")
    ] = False,
    rolling: Annotated[
        bool | None, typer.Option("--rolling", help="Let the reference move along.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For the relabellings of comparisons.")] = 0,
) -> None:
    """Compare data with a reference window by window: since when, and what."""
    from cospan.cli import watching

    options = {**asdict(windows), "false_alarms": false_alarms, "seed": seed, "rolling": rolling}
    options["details"] = "all" if details else "alarms"
    if watching.monitor(terminal, reference, data, outputs, columns.given(), options):
        raise typer.Exit(THRESHOLD)


@command()
def fidelity(
    terminal: Terminal,
    real: Annotated[str, typer.Argument(metavar="REAL", help="The rows to be imitated.")],
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help="The rows made.")],
    reading: opt.Reading,
    output: Annotated[
        Path | None,
        _output(help="Write every synthetic row's distances: .csv, .tsv, .parquet or .arrow."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Compare synthetic rows with real ones: impossible rows, near-copies, gaps."""
    from cospan.cli import commands

    commands.synthetic_rows(terminal, real, synthetic, output, json, reading.given())


@command()
def demo(
    terminal: Terminal,
    output: Annotated[Path, _output(help="Where the report goes.")] = Path("cospan-demo.html"),
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Handwritten fours and nines instead of a table.")
    ] = False,
) -> None:
    """Compare two groups of patients (built-in data) and write a report."""
    from cospan.cli.demo import run_demo

    run_demo(terminal, output, pictures)


def main() -> None:
    """Run the command line; the console script and ``python -m cospan`` call this."""
    try:
        try:
            app(prog_name="cospan")
        finally:
            sys.stdout.flush()  # not later, when nobody could say what went wrong
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        sys.exit(f"error: cannot write to standard output: {error.strerror or error}.")
