"""The terminal: results to stdout, everything else to stderr, failures as one sentence.

A :class:`Terminal` is a context that a command works in. Inside it warnings become single lines
on stderr; an error that cospan raises on purpose, or that the operating system reports, becomes
one sentence there and exit code 1. Programming errors keep their traceback out of sight unless
the environment has ``COSPAN_DEBUG=1``.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterable
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

import typer

from cospan.base.text import printable
from cospan.errors import CospanError, CospanWarning, missing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

FAILED = 1  # it could not be done; 2 is typer's own code for wrong arguments
BROKEN = 3  # done, and a --fail-on gate was broken
#: What CI systems take for commands: at the start of a line, or anywhere in it.
_COMMANDS = re.compile(r"^(\s*:)(?=:)|(#)(?=#(?:\[|vso\[|teamcity\[))", re.MULTILINE)
#: Python's arguments in a message, which are options here.
_OPTIONS = re.compile(
    r"(?<!\S)(a|b|categorical|columns|drop|every|false_alarms|groups|id_column|keep|label|numeric"
    r"|time)=(?=[\s,;.:)]|$)"
)
_TYPERS_OWN = (typer.Exit, typer.Abort, typer.BadParameter)  # it knows their exit codes
STYLES = {"title": "bold", "head": "bold cyan", "plain": "", "warn": "yellow"}


class Terminal:
    """Where a command prints, and how it ends.

    `quiet`: nothing but errors, and data that was asked for (JSON, scores).
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._said: set[str] = set()
        self._caught: warnings.catch_warnings[Any] = warnings.catch_warnings()

    def __enter__(self) -> Self:
        for stream in (sys.stdout, sys.stderr):  # one without Unicode shows '?' for an angle
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        self._caught.__enter__()
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CospanWarning)
        warnings.showwarning = lambda message, *_, **__: self.warn(str(message))
        if not self.quiet and sys.stderr.isatty():
            from rich import progress

            self._bars = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeRemainingColumn(),
                console=_console(sys.stderr),
                transient=True,  # they go when they are stopped
                redirect_stdout=False,  # data goes where the user sends it
                redirect_stderr=False,
            )
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_progress()
        self._caught.__exit__(kind, error, trace)
        debug = os.environ.get("COSPAN_DEBUG", "0") != "0"
        if error is None or debug or isinstance(error, _TYPERS_OWN):
            return
        if (sentence := _sentence(error)) is not None:
            self.error(sentence)
            raise typer.Exit(FAILED) from error

    # ---- results -----------------------------------------------------------------------------

    def data(self, text: str) -> None:
        """Data to stdout, as it is; on a terminal without the escapes that names may hold."""
        text = text if text.endswith("\n") else text + "\n"
        if sys.stdout.isatty():
            self.stop_progress()
            text = "\n".join(map(printable, text.split("\n")))
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()

    def json(self, values: object) -> None:
        """Plain values to stdout as JSON, in which no CI system finds a command."""
        from cospan.base.tables import json_text  # loads NumPy, and --help need not

        self.data(json_text(values).replace("##", "#\\u0023"))

    def lines(self, lines: Iterable[tuple[str, str]]) -> None:
        """Styled lines to stdout; plain where that is no terminal or NO_COLOR is set."""
        if self.quiet:
            return
        from rich.text import Text

        console = _console(sys.stdout)
        if not console.is_terminal:
            if plain := "\n".join(text for _, text in lines):
                self.data(no_commands(plain))
            return
        for style, text in lines:
            console.print(Text(text, style=STYLES[style]), soft_wrap=True)

    def text(self, text: str) -> None:
        """Plain lines to stdout, broken between words."""
        wrap = textwrap.TextWrapper(self.width, subsequent_indent="  ", break_long_words=False,
                                    break_on_hyphens=False)  # fmt: skip
        given = (line for one in text.splitlines() for line in wrap.wrap(one) or [""])
        self.lines(("plain", line) for line in given)

    @property
    def width(self) -> int:
        """Columns of the terminal, 80 where there is none."""
        return _console(sys.stdout).width if sys.stdout.isatty() else 80

    # ---- everything else ---------------------------------------------------------------------

    def note(self, text: str) -> None:
        """A line on stderr that --quiet leaves out."""
        if not self.quiet:
            self._stderr(text)

    def warn(self, text: str) -> None:
        """A warning on stderr, once."""
        if not self.quiet and text not in self._said:
            self._said.add(text)
            self._stderr(f"warning: {text}", "yellow")

    def error(self, text: str) -> None:
        """What went wrong, in one line on stderr."""
        self._stderr(f"error: {text}", "bold red")

    def heard(self, texts: Iterable[str]) -> None:
        """These will be shown elsewhere; do not warn of them again."""
        self._said.update(texts)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """How far it is, mostly in rows."""
        if self._bars is not None:
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(printable(stage), total=total)
            self._bars.update(self._tasks[stage], completed=done, total=total)

    def stop_progress(self) -> None:
        """Take the bars away."""
        if self._bars is not None:
            self._bars.stop()
        self._bars = None

    def _stderr(self, text: str, style: str = "") -> None:
        from rich.text import Text

        console = self._bars.console if self._bars is not None else _console(sys.stderr)
        said = _OPTIONS.sub(r"--\1", printable(text)).replace("--id_column", "--id")
        line = Text(no_commands(said.replace("--false_alarms", "--false-alarms")), style=style)
        console.print(line, soft_wrap=not console.is_terminal)  # a log keeps it on one line


def no_commands(text: str) -> str:
    """Text in which a CI system finds no command, whatever names it holds.

    >>> print(no_commands("::error::no\\n a::b ##vso[task.complete]"))
    : :error::no
     a::b # #vso[task.complete]
    """
    return _COMMANDS.sub(lambda found: f"{found[0]} ", text)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def _sentence(error: BaseException) -> str | None:
    """What to tell a user about an error; None for those that are not theirs to solve."""
    if isinstance(error, CospanError):
        return " ".join(str(error).split())
    if isinstance(error, BrokenPipeError):
        return None  # the reader of our output went away: typer ends quietly
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}."
    if isinstance(error, MemoryError):
        return "not enough memory; take fewer columns (--columns)."
    if isinstance(error, ModuleNotFoundError) and error.name:
        return missing("this", error.name)
    if isinstance(error, Exception):
        return (
            f"unexpected {type(error).__name__}: {error}; this is a bug in cospan: "
            "run again with COSPAN_DEBUG=1 and report what it prints."
        )
    return None


def silence_stdout() -> None:
    """The reader of our output went away, as ``head`` does: nothing more is written there.

    The command goes on to its end, so that its exit code still says what it found.
    """
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
