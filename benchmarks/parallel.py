"""Draws of a simulation side by side: forked processes, one for each core, each with one thread."""

import multiprocessing
import os

from threadpoolctl import threadpool_limits

_TASK = None


def _call(item):
    with threadpool_limits(1):
        return _TASK(item)


def each(task, items):
    """``[task(item) for item in items]``; what `task` closes over needs no pickling."""
    global _TASK
    _TASK = task
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        return pool.map(_call, items, chunksize=1)
