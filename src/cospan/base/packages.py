"""Packages that only some features need: what brings them, and what to say where one is missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from cospan.errors import MissingDependencyError

#: What each extra of pyproject.toml brings beyond those before it; the core comes first.
EXTRAS = {
    "core": (
        *("numpy", "scipy", "scikit-learn", "array-api-compat", "array-api-extra"),
        *("safetensors", "threadpoolctl"),
    ),
    "app": ("typer", "rich", "pyarrow", "Pillow", "Jinja2", "matplotlib"),
    "dask": ("dask", "distributed"),
    "torch": ("torch",),
    "panel": ("POT",),
    "embed": ("sentence-transformers",),
}
#: Modules that are not called like the package that brings them.
_PACKAGES = {"PIL": "Pillow", "click": "typer", "markupsafe": "Jinja2", "ot": "POT"}


def missing(what: str, module: str, instead: str = "") -> str:
    """What to say where `what` needs a module that is not installed.

    >>> print(missing("Reading pictures", "PIL.Image"))
    Reading pictures needs the package PIL, which is not installed: pip install 'cospan[app]'.
    """
    name = module.partition(".")[0]
    package = _PACKAGES.get(name, name).replace("_", "-").lower()
    extras = {one.lower(): extra for extra, brought in EXTRAS.items() for one in brought}
    found = f"cospan[{extras[package]}]" if package in extras else name
    install = "cospan" if found == "cospan[core]" else shlex.quote(found)
    return (
        f"{what} needs the package {name}, which is not installed: pip install {install}{instead}."
    )


@contextmanager
def needed(what: str, instead: str = "") -> Iterator[None]:
    """Around imports: where one fails, say what needs the package, and what brings it.

    >>> with needed("Looking ahead", instead=", or wait and see"):
    ...     import crystal_ball
    Traceback (most recent call last):
        ...
    cospan.errors.MissingDependencyError: Looking ahead needs the package crystal_ball, which is \
not installed: pip install crystal_ball, or wait and see.
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(missing(what, str(error.name), instead)) from error
