"""The commands: their arguments and options, nothing else.

Exit codes: 0 done; 1 it failed, with one sentence on stderr; 2 wrong usage; 3 done, and a
``--fail-on`` gate was broken. Each command imports what it needs, so that help comes at once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
from typer import Argument, Option

from cospan.cli.terminal import BROKEN, Terminal, silence_stdout

__all__ = ["app", "main"]

app = typer.Typer(
    name="cospan",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

# ---- options that several commands have ---------------------------------------------------------


def _names(text: str) -> list[str]:
    """Names of columns between commas."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise typer.BadParameter("no column is named; write names between commas.")
    return names


def _columns(text: str) -> list[str | int]:
    """Names or numbers of columns between commas."""
    return [int(name) if name.isdigit() else name for name in _names(text)]


def _gate(text: str) -> Any:
    from cospan.cli.gates import parse_gate  # it knows comparisons, and --help need not

    return parse_gate(text)


LIST, TABLES = "NAME,NAME", ".csv, .tsv, .parquet, .arrow"
GATES = "Exit code 3 on: drift (recommended), schema, duplicates, 'size>X', 'missing>X', 'p<X'."


def _list(help: str, parser: Callable[[str], object] = _names) -> Any:
    return Option(metavar=LIST, parser=parser, help=help)


def _output(help: str) -> Any:
    return Option("--output", "-o", metavar="FILE", help=help)


def _column(help: str) -> Any:
    return Option(metavar="COLUMN", help=help)


Data = Annotated[str, Argument(metavar="DATA", help="A file or folder, or '-'.")]
DataFiles = Annotated[list[str], Argument(metavar="DATA", help="One or more files.")]
Columns = Annotated[list[Any] | None, _list("Columns to compare (default: all).", _columns)]
Drop = Annotated[list[Any] | None, _list("Columns to leave out.")]
Keep = Annotated[list[Any] | None, _list("Columns to compare even if they give the set away.")]
Categorical = Annotated[list[Any] | None, _list("Columns that are categories.")]
Numeric = Annotated[list[Any] | None, _list("Columns that are numbers.")]
Id = Annotated[str | None, Option("--id", metavar="COLUMN", help="Column that identifies a row.")]
FailOn = Annotated[list[Any] | None, Option(metavar="GATE", parser=_gate, help=GATES)]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Full = Annotated[bool, Option("--full", help="Print everything, not 15 lines.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")]
Time = Annotated[str | None, _column("Column that says when each row was.")]
Every = Annotated[
    str | None,
    Option(metavar="LENGTH", help="A window: hour, day, week, month, year or '1000-rows'."),
]


class Outputs(NamedTuple):
    """What comes out: reports, scores, what to go on from; JSON or text, all of it or 15 lines."""

    reports: Sequence[Path] = ()
    scores: Path | None = None
    save: Path | None = None
    json: bool = False
    full: bool = False
    gates: Sequence[Any] = ()


#: The options on how data is read that commands share.
READING = ("columns", "drop", "keep", "categorical", "numeric", "id_column")


def _given(values: dict[str, object], *names: str) -> dict[str, Any]:
    """Those of the options that were given, as arguments of a call; repeated lists as one."""
    return {
        name: [one for part in value for one in part] if isinstance(value, list) else value
        for name in (*names, *READING)
        if (value := values.get(name)) is not None
    }


def _run(command: str, quiet: bool, *arguments: object) -> None:
    """Do the work of a command, all of which is imported only now."""
    with Terminal(quiet) as terminal:
        from cospan.cli import commands

        if getattr(commands, command)(terminal, *arguments):
            raise typer.Exit(BROKEN)


# ---- the commands -------------------------------------------------------------------------------


def _print_version(asked: bool) -> None:
    if asked:
        from cospan._version import VERSION

        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Compare datasets: do they differ, how much, in what, which rows show it."""


@app.command(epilog="Example: cospan compare training.csv today.csv --fail-on drift")
def compare(
    sets: Annotated[
        list[str],
        Argument(
            metavar="A B",
            help="Two or more files or folders ('-': standard input), or one with --label.",
        ),
    ],
    score: Annotated[
        str | None, Option(metavar="DATA", help="More rows to score with the comparison.")
    ] = None,
    label: Annotated[str | None, _column("Compare the classes in this column.")] = None,
    a: Annotated[str | None, Option("--a", metavar="CLASS", help="The class that is A.")] = None,
    b: Annotated[str | None, Option("--b", metavar="CLASS", help="The class that is B.")] = None,
    groups: Annotated[str | None, _column("Rows of one value belong together.")] = None,
    columns: Columns = None,
    drop: Drop = None,
    keep: Keep = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    id_column: Id = None,
    preset: Annotated[
        Literal["paper"] | None, Option(metavar="paper", help="The geometry of the paper.")
    ] = None,
    output: Annotated[
        list[Path] | None, _output("A report: .html, .md, .json; repeatable.")
    ] = None,
    scores: Annotated[Path | None, Option(metavar="FILE", help=f"All rows: {TABLES}.")] = None,
    save: Annotated[
        Path | None, Option(metavar="FILE", help="The model, for 'cospan score'.")
    ] = None,
    fail_on: FailOn = None,
    json: Json = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Do sets differ, how much, in what; which rows look misplaced."""
    outputs = Outputs(output or [], scores, save, json, full, fail_on or [])
    options = _given(locals(), "label", "a", "b", "groups", "preset")
    _run("compare", quiet, sets, score, options, outputs)


@app.command(epilog="Example: cospan monitor reference.csv year.csv --time when --every day")
def monitor(
    reference: Annotated[
        str,
        Argument(
            metavar="REFERENCE",
            help="A file, a profile, or what --save wrote: its windows are added to.",
        ),
    ],
    data: DataFiles,
    time: Time = None,
    every: Every = None,
    false_alarms: Annotated[
        float | None, Option(metavar="NUMBER", help="False alarms a year to accept (default: 1).")
    ] = None,
    details: Annotated[
        bool, Option("--all", help="Compare every window, not only those in alarm.")
    ] = False,
    rolling: Annotated[bool, Option("--rolling", help="Let the reference move along.")] = False,
    columns: Columns = None,
    drop: Drop = None,
    keep: Keep = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    output: Annotated[
        list[Path] | None, _output(f"A report: .html, .md, .json, or {TABLES}.")
    ] = None,
    save: Annotated[
        Path | None,
        Option(metavar="FILE", help="Windows and reference, to add tomorrow's to them."),
    ] = None,
    fail_on: FailOn = None,
    json: Json = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """The same over time: since when, and what."""
    options = _given(locals(), "time", "every", "false_alarms")
    options |= {"details": "all"} if details else {}
    options |= {"rolling": True} if rolling else {}
    outputs = Outputs(output or [], None, save, json, full, fail_on or [])
    _run("monitor", quiet, reference, data, options, outputs)


@app.command(epilog="Example: cospan profile january.csv --time when --every day -o january.cospan")
def profile(
    data: DataFiles,
    output: Annotated[Path, _output("Where the profile goes.")],
    time: Time = None,
    every: Every = None,
    columns: Columns = None,
    drop: Drop = None,
    keep: Keep = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    quiet: Quiet = False,
) -> None:
    """Keep what a reference looks like, for monitor."""
    _run("profile", quiet, data, output, _given(locals(), "time", "every"))


@app.command(epilog="Example: cospan audit patients.csv --label diagnosis -o suspicious.csv")
def audit(
    data: Data,
    label: Annotated[str, _column("Column with the labels to check.")],
    output: Annotated[Path | None, _output(f"Every row, most suspicious first: {TABLES}.")] = None,
    top: Annotated[int, Option("-n", metavar="NUMBER", min=0, help="How many rows to print.")] = 10,
    columns: Columns = None,
    drop: Drop = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    id_column: Id = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find labels that look wrong."""
    _run("audit", quiet, data, label, output, top, json, _given(locals()))


@app.command(epilog="Example: cospan score model.cospan new.csv -o scores.parquet")
def score(
    model: Annotated[Path, Argument(metavar="MODEL", help="A file made by compare --save.")],
    data: Data,
    output: Annotated[Path | None, _output(f"{TABLES} (default: CSV to stdout).")] = None,
    id_column: Id = None,
    quiet: Quiet = False,
) -> None:
    """Score rows with a saved model, as a stream: one line a row."""
    _run("score", quiet, model, data, output, _given(locals()))


@app.command(epilog="Example: cospan fidelity real.csv synthetic.csv -o distances.csv")
def fidelity(
    real: Annotated[str, Argument(metavar="REAL", help="The rows to be imitated.")],
    synthetic: Annotated[str, Argument(metavar="SYNTHETIC", help="The rows made.")],
    output: Annotated[Path | None, _output(f"The synthetic rows' distances: {TABLES}.")] = None,
    columns: Columns = None,
    drop: Drop = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Synthetic against real rows: impossible, copied, never produced."""
    _run("synthetic_rows", quiet, real, synthetic, output, json, _given(locals()))


@app.command()
def demo(
    output: Annotated[Path, _output("Where the report goes.")] = Path("cospan-demo.html"),
    quiet: Quiet = False,
) -> None:
    """Compare two groups of patients and write a report."""
    _run("run_demo", quiet, output)


class _NoPandas:
    """pyarrow would import pandas to ask whether what it gets is a part of it: here nothing is."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def main() -> None:
    """Run the command line; the console script and ``python -m cospan`` call this."""
    gc.set_threshold(100_000)  # imports make many objects, and no garbage
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by >&-
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (until the end)
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    try:
        try:
            app(prog_name="cospan")
        finally:
            sys.stdout.flush()  # not later, when nobody could say what went wrong
            sys.meta_path[:] = [one for one in sys.meta_path if one is not _NoPandas]
            gc.freeze()  # the process ends: nothing has to be looked through once more
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        sys.exit(f"error: cannot write to standard output: {error.strerror or error}.")


def _stop(number: int, frame: object) -> None:
    """A signal asked the process to end: it unwinds, so that temporary files go."""
    name = signal.Signals(number).name
    print(f"error: stopped by {name}; nothing half-written was left behind.", file=sys.stderr)
    sys.exit(128 + number)
