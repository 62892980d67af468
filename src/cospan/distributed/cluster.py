"""Work on a Dask cluster, and plain words when it does not answer.

A cluster fails in ways of its own: nobody listens at the address, nobody works there, the workers
lack this package, the scheduler goes away, workers are killed. Each is found out within seconds
and said in one sentence.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cospan._version import VERSION
from cospan.base.packages import needed
from cospan.base.text import first_line
from cospan.errors import CospanError, InputError

#: Seconds to wait for an answer, and for a first worker. With the start of Python and Dask, some
#: four seconds, an answer comes within 15.
PATIENCE = 8
#: Ways to a scheduler that only Dask knows how to try.
OTHER_SCHEMES = ("inproc", "ws", "wss", "ucx", "ucxx")
#: Dask's own loggers; what they would print with a traceback is said in a sentence here.
LOGGERS = ("distributed", "tornado", "asyncio")
#: What each worker is asked before any work: it needs no package of ours to be asked.
_VERSION = "__import__('cospan').__version__"


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Inside the block, Dask's work goes to the scheduler at `address` (None: stays here)."""
    if address is None:
        yield
        return
    with needed("A Dask scheduler"):
        import dask
        import distributed
    hurried = {
        "distributed.comm.timeouts.connect": f"{PATIENCE}s",
        "distributed.comm.retry.count": 0,
    }
    _check_reachable(address)
    with _without_logs(), dask.config.set(hurried):
        client = _connected(distributed, address)
        try:
            # `scheduler` is for work that is started in other threads of ours
            with (
                _explained(distributed, address),
                client.as_current(),
                dask.config.set(scheduler=client),
            ):
                _check_workers(client, address)
                yield
        finally:
            with suppress(Exception):  # a scheduler that is gone cannot say good-bye
                client.close(timeout=2)


def _check_reachable(address: str) -> None:
    """Whether somebody listens there: a client of Dask would try for long, and leave noise."""
    scheme, _, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    if scheme in OTHER_SCHEMES:
        return
    if scheme not in ("tcp", "tls", "") or not host or not port.isdigit():
        raise InputError(f"{address!r} is no address of a Dask scheduler; give tcp://host:port.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise _nobody(address, error) from error


def _nobody(address: str, error: BaseException) -> InputError:
    return InputError(
        f"No Dask scheduler answers at {address} ({_brief(error)}); give it as tcp://host:port."
    )


def _connected(distributed: Any, address: str) -> Any:
    """A client, unless nobody answers in time: who takes the call and says nothing counts, too.

    It is not made the process's default: one that never connected would stay that for all Dask
    work afterwards.
    """
    waiting: Future[Any] = Future()

    def connect() -> None:
        try:
            waiting.set_result(
                distributed.Client(address, timeout=f"{PATIENCE}s", set_as_default=False)
            )
        except Exception as error:  # names that do not resolve, ports of something else, ...
            waiting.set_exception(error)

    threading.Thread(target=connect, name="cospan-connecting", daemon=True).start()
    try:
        return waiting.result(PATIENCE + 1)
    except Exception as error:  # what connecting raised, or that it took too long
        raise _nobody(address, error) from error


def _check_workers(client: Any, address: str) -> None:
    """At least one worker, and on all of them the cospan that is used here."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError(
            f"The Dask scheduler at {address} has no workers; start some with: "
            f"dask worker {address}."
        ) from None
    try:
        versions = set(client.run(eval, _VERSION).values())
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"The workers of the Dask scheduler at {address} lack cospan ({_brief(error)}); "
            "install it in their environment."
        ) from error
    if versions - {VERSION}:
        raise InputError(
            f"The workers of the Dask scheduler at {address} have cospan "
            f"{', '.join(sorted(versions))} and here is {VERSION}; install the same version."
        )


@contextmanager
def _explained(distributed: Any, address: str) -> Iterator[None]:
    """What went wrong on the cluster, in one sentence."""
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as FutureCancelledError

    try:
        yield
    except (CospanError, Warning):
        raise
    except distributed.KilledWorker as error:
        raise InputError(
            f"The workers of the Dask scheduler at {address} were killed at work again and again, "
            "most likely for lack of memory; give them more, or smaller files."
        ) from error
    except (CancelledError, FutureCancelledError, OSError, TimeoutError) as error:
        raise InputError(
            f"The connection to the Dask scheduler at {address} was lost ({_brief(error)}); see "
            "whether it still runs, then try again."
        ) from error
    except Exception as error:  # whatever a worker raised comes back as it is
        raise InputError(
            f"The work on the Dask cluster at {address} failed ({_brief(error)}); see whether "
            "every worker can read the files."
        ) from error


@contextmanager
def _without_logs() -> Iterator[None]:
    """Dask's loggers are quiet inside the block, and after an error: it has been said then."""
    # each of them has a level of its own, so the first of the family is not enough
    named = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOGGERS]
    loggers = [logging.getLogger(name) for name in named]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def _brief(error: BaseException) -> str:
    kind, text = type(error).__name__, first_line(error)
    return kind if text == kind else f"{kind}: {text}"


def read_lazily(path: str | Path, keep: Sequence[object] = ()) -> Any:
    """A Dask dataframe of Parquet or CSV files that every worker can read at `path`.

    Parameters
    ----------
    path : str or Path
        A file, a folder of Parquet files, or a pattern such as ``"data/*.csv"``.
    keep : sequence
        Columns of CSV files whose type must not change (labels, identifiers). Other columns of
        whole numbers are read as float64, since fractions may come later in the file.
    """
    with needed("Reading files by Dask workers"):
        import dask.dataframe as dd

    text = str(path)
    if not text.endswith((".csv", ".csv.gz", ".parquet", ".pq")) and not Path(text).is_dir():
        raise InputError(
            f"{text}: Dask workers read Parquet and CSV files only; convert it to Parquet."
        )
    try:
        if text.endswith((".csv", ".csv.gz")):
            return _csv_table(dd, text, keep)
        return dd.read_parquet(text)
    except Exception as error:  # the readers below Dask raise anything about a bad file
        raise InputError(f"{text}: cannot be read by Dask ({first_line(error)}).") from error


def _csv_table(dd: Any, text: str, keep: Sequence[object]) -> Any:
    # one gzipped file is one block: it cannot be entered in the middle
    how: dict[str, Any] = {"blocksize": None} if text.endswith(".gz") else {}
    kinds = dd.read_csv(text, **how).dtypes
    whole = [c for c, kind in kinds.items() if kind.kind in "iu" and c not in keep]
    return dd.read_csv(text, dtype=dict.fromkeys(whole, "float64"), **how)
