"""Settings that belong to the whole process, changed for a while by several threads at once.

How many threads BLAS uses, and how precisely torch multiplies, hold for the process and not for a
thread. A thread that puts back "what was before" can put back what another one had set: after
comparisons in eight threads BLAS was left with one. So each setting counts who needs it changed:
the first changes it, the last one out puts it back, both under a lock.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

from threadpoolctl import ThreadpoolController

from cospan.base.arrays.namespaces import is_numpy
from cospan.base.arrays.types import Array


class Held:
    """A setting that stays changed as long as anybody holds it.

    `change` changes it and returns how to put it back.

    >>> light = ["off"]
    >>> def switch_on():
    ...     light[0] = "on"
    ...     return lambda: light.__setitem__(0, "off")
    >>> held = Held(switch_on)
    >>> with held:
    ...     with held:
    ...         pass
    ...     print(light)
    ['on']
    >>> light
    ['off']
    """

    def __init__(self, change: Callable[[], Callable[[], None]]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._holders = 0
        self._put_back: Callable[[], None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._put_back = self._change()
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders and self._put_back is not None:
                self._put_back()


@functools.cache
def _controllers() -> tuple[ThreadpoolController, ThreadpoolController]:
    """BLAS libraries whose number of threads is the process's, and those where it is a thread's."""
    every = ThreadpoolController().select(user_api="blas")
    own = [
        pool["filepath"]
        for pool in every.info()
        if pool["internal_api"] == "openblas" and pool.get("threading_layer") == "openmp"
    ]
    shared = [pool["filepath"] for pool in every.info() if pool["filepath"] not in own]
    return every.select(filepath=shared), every.select(filepath=own)


#: How many threads BLAS had before it was limited; None while it is not.
_unlimited: int | None = None


def _limit_blas() -> Callable[[], None]:
    """One thread for every library, set directly.

    threadpoolctl (from 3.8 on) lets only the thread that set a limit change it again, and here the
    first one in need not be the last one out. Its own limits also take as long as a small QR.
    """
    global _unlimited
    _unlimited = _counted()
    libraries = _controllers()[0].lib_controllers
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        _set_threads(library, 1)

    def put_back() -> None:
        global _unlimited
        for library, threads in zip(libraries, before, strict=True):
            _set_threads(library, threads)
        _unlimited = None

    return put_back


def _set_threads(library: Any, threads: int) -> None:
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


def _counted() -> int:
    pools = [pool for controller in _controllers() for pool in controller.info()]
    return max((int(pool["num_threads"]) for pool in pools), default=1)


def blas_threads() -> int:
    """How many threads BLAS uses where nobody limits it.

    The same number whether or not another thread limits BLAS just now: how rows are split, and so
    the last digits of a result, must not hang on who else is at work.
    """
    return _unlimited or _counted()


_one_blas_thread = Held(_limit_blas)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Inside the block BLAS works in the thread that calls it and in no other."""
    own = _controllers()[1]
    with _one_blas_thread, own.limit(limits=1) if own.lib_controllers else nullcontext():
        yield


def _torch_highest() -> Callable[[], None]:
    import torch

    before: Any = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    return lambda: torch.set_float32_matmul_precision(before)


_highest_precision = Held(_torch_highest)


@contextmanager
def highest_precision() -> Iterator[None]:
    """Inside the block torch multiplies float32 matrices with all their digits."""
    with _highest_precision:
        yield


# Entries below which no BLAS was seen to share the factorization of a matrix among threads.
_BLAS_THREADS_FROM = 2**11


def host_threads(*arrays: Array) -> int:
    """How many threads may work on these: as many as BLAS would, and 1 off the host's NumPy."""
    return blas_threads() if is_numpy(*arrays) else 1


def in_threads(work: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """``[work(item) for item in items]`` in several threads, each with a BLAS of one thread.

    A BLAS of several threads leaves all but one idle in every pass that is no matrix product.
    """
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(threads, thread_name_prefix="cospan") as pool:
        return list(pool.map(work, items))


@contextmanager
def one_thread(x: Array) -> Iterator[None]:
    """Bits that do not depend on the number of threads: BLAS with one of them, meanwhile.

    For the few steps whose rounding errors later steps magnify. Small arrays are left alone:
    BLAS takes one thread for them anyhow.
    """
    if is_numpy(x) and x.size >= _BLAS_THREADS_FROM:
        with one_blas_thread():
            yield
    else:
        yield
