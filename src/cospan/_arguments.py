"""Checks on counts, confidence levels and seeds, with their messages."""

from __future__ import annotations

import numpy as np

from cospan.errors import InputError

__all__ = ["as_confidence", "as_count", "as_generator", "as_seed"]


def as_count(value: int, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, not {value!r}.")
    return int(value)


def as_confidence(value: float) -> float:
    """A level strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"confidence must lie strictly between 0 and 1, not {value!r}.")
    return float(value)


def as_seed(value: int) -> int:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(f"random_state must be a whole number of at least 0, not {value!r}.")
    return int(value)


def as_generator(value: int | np.random.Generator) -> np.random.Generator:
    """A generator: the one given, or a new one from the seed."""
    if isinstance(value, np.random.Generator):
        return value
    return np.random.default_rng(as_seed(value))
