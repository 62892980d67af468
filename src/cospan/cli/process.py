"""What the system hands a command: signals that end it, and streams that may be closed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, TextIO


class Stopped(BaseException):
    """A signal asked the process to end: it unwinds, so that temporary files go."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name
        self.exit_code = 128 + number


def unwinding_signals() -> dict[signal.Signals, Any]:
    """Let the signals that end a process unwind it; returns the handlers to put back."""
    if threading.current_thread() is not threading.main_thread():
        return {}  # only the main thread may set handlers

    def stop(number: int, frame: object) -> None:
        raise Stopped(number)

    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ending = {number: signal.getsignal(number) for number in wanted}
    ending = {n: handler for n, handler in ending.items() if handler is signal.SIG_DFL}
    for number in ending:
        signal.signal(number, stop)
    return ending


def silence_stdout() -> None:
    """The reader of our output went away, as ``head`` does: nothing more is written there.

    The command goes on to its end, so that its exit code still says what it found.
    """
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def open_closed_streams() -> None:
    """``cospan … >&-`` closes a stream for good: what is written to it then goes nowhere.

    Its number must be taken, too, or the next file opened would get it, and the messages.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            # Open for as long as the process lives, so no block closes it.
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115


def never_fail_on_characters(stream: TextIO) -> None:
    """A terminal without Unicode shows '?' for a bar or an angle; it must not stop the command."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
