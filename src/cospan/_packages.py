"""Packages that only some features need: which one is missing, and how to get it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from cospan.errors import MissingDependencyError


@contextmanager
def needed(what: str, requirement: str = "cospan[app]") -> Iterator[None]:
    """Around imports: where one fails, say what needs the package, and what brings it.

    >>> with needed("Looking ahead"):
    ...     import crystal_ball
    Traceback (most recent call last):
        ...
    cospan.errors.MissingDependencyError: Looking ahead needs the package crystal_ball, which is \
not installed: pip install 'cospan[app]'.
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} needs the package {error.name}, which is not installed: "
            f"pip install {shlex.quote(requirement)}."
        ) from error
