"""Reading ahead: the next block is read while the one before is at work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Block = TypeVar("Block")


def read_ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same blocks, each made in a second thread while the one before is at work.

    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    context = copy_context()  # so that warnings reach whoever listens in this thread
    with ThreadPoolExecutor(1, thread_name_prefix="cospan-reading") as reader:
        coming = reader.submit(context.run, _next, blocks)
        while (block := coming.result()) is not None:
            coming = reader.submit(context.run, _next, blocks)
            yield block


def _next(blocks: Iterator[Block]) -> Block | None:
    return next(blocks, None)
