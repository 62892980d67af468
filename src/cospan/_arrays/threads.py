"""Threads of our own beside those of BLAS, and steps whose bits must not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from cospan._arrays import process
from cospan._arrays.namespaces import is_numpy
from cospan._arrays.process import one_blas_thread
from cospan._arrays.types import Array

# Entries below which no BLAS was seen to share the factorization of a matrix among threads.
_BLAS_THREADS_FROM = 2**11


def host_threads(*arrays: Array) -> int:
    """How many threads may work on these: as many as BLAS would, and 1 off the host's NumPy."""
    return process.blas_threads() if is_numpy(*arrays) else 1


def in_threads(work: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """``[work(item) for item in items]`` in several threads, each with a BLAS of one thread.

    A BLAS of several threads leaves all but one idle in every pass that is no matrix product.
    """
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with (
        one_blas_thread(),
        ThreadPoolExecutor(threads, thread_name_prefix="cospan") as pool,
    ):
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
