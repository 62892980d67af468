"""Commands and calls of cospan in forked processes, and how they ended.

A fork has everything imported already, so that a command takes a fraction of a second, and its end
by a signal, its peak memory and its seconds are its own.
"""

import json
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# Of the processor; a command that waits for something that does not come has five times as long.
SECONDS = 60
MEMORY = 10**9
# No case may take the machine down: beyond this a request for memory fails.
ADDRESSES = 16 * 2**30


class Ended(NamedTuple):
    """Exit code (negative: a signal), the two outputs, peak bytes and processor seconds."""

    code: int
    printed: str
    errors: str
    peak: int
    seconds: float


def warm_up():
    """What the commands need, once, before the first fork."""
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    from PIL import Image  # noqa: F401

    import cospan
    import cospan.cli

    rows = [[float(i % 7), float(i % 5)] for i in range(40)]
    print(f"cospan in {Path(cospan.__file__).parent}", flush=True)
    cospan.compare(rows[:20], rows[20:])


def bounded():
    """Limits for this process from now on; its peak of memory begins now."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    Path("/proc/self/clear_refs").write_text("5")
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(5 * SECONDS)


def peak_memory():
    """Peak of resident bytes of this process."""
    return 1024 * int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])


def forked(call, folder, stdin=os.devnull):
    """Run `call()` in a process of its own, in the folder given."""
    outputs = [folder / "printed", folder / "errors", folder / "peak"]
    for path in outputs:
        path.write_bytes(b"")
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        for number, path in zip((1, 2), outputs, strict=False):
            os.dup2(os.open(path, os.O_WRONLY), number)
        os.chdir(folder)
        bounded()
        _call_and_exit(call, outputs[-1])
    _, status, used = os.wait4(pid, 0)
    printed, errors, peak = (path.read_text(errors="replace") for path in outputs)
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, printed, errors, int(peak or 0), used.ru_utime + used.ru_stime)


def _call_and_exit(call, peak):
    code = 70
    try:
        call()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(BaseException):
            peak.write_text(str(peak_memory()))
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def command(*arguments):
    """A call of the command line."""

    def call():
        from cospan.cli import main

        sys.argv = ["cospan", *map(str, arguments)]
        main()

    return call


def mishandled(ended, memory=MEMORY):
    """What should not have come, or None: a result and one sentence are the two good ends."""
    if ended.code in (-signal.SIGPROF, -signal.SIGALRM):
        return f"no end within {SECONDS} s"
    if ended.code < 0:
        return f"ended by signal {-ended.code}"
    if "Traceback" in ended.errors or "bug in cospan" in ended.errors:
        return " ".join(ended.errors.split())[-200:]
    if ended.code not in (0, 1, 2, 3):
        return f"exit code {ended.code}"
    if ended.code and "rror" not in ended.errors:
        return f"exit code {ended.code} without a sentence"
    if ended.peak > memory:
        return f"{ended.peak / 1e6:,.0f} MB"
    return None


def first_finding(result, columns):
    """The first finding in the JSON of a comparison, or its first sentence about a column."""
    found = result["schema_changes"] or result["pairs"][0]["changes"]["verdict"]["findings"]
    if found:
        return json.dumps(found[0])
    named = re.compile(r"\b(" + "|".join(map(re.escape, columns)) + r")\b")
    return next(filter(named.search, result["sentences"]), "")
