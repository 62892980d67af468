"""Numbers, words and flags that users pass, checked or refused in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from cospan.errors import InputError


def as_option(value: object, name: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in allowed:
        return value
    choices = ", ".join(repr(word) for word in allowed)
    raise InputError(f"{name} is {value!r}; it must be one of {choices}.")


def as_shrinkage(value: object) -> float | str:
    """A number in [0, 1), or "auto"."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    fraction = _fraction(value)
    if fraction is not None:
        return fraction
    raise InputError(f"shrinkage is {value!r}; it must be a number in [0, 1) or 'auto'.")


def as_tol(value: object) -> float | None:
    """A relative tolerance in [0, 1), or None for the default."""
    if value is None:
        return None
    fraction = _fraction(value)
    if fraction is not None:
        return fraction
    raise InputError(f"tol is {value!r}; it must be a number in [0, 1), or None for the default.")


def is_real(value: object) -> TypeGuard[float]:
    """Whether this is a number, and not a flag."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _fraction(value: object) -> float | None:
    """A number in [0, 1), or None for anything else."""
    return float(value) if is_real(value) and 0 <= value < 1 else None


def as_flag(value: object, name: str) -> bool:
    """True or False, and not just something that counts as such."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"{name} is {value!r}; it must be True or False.")


def as_count(value: int, name: str, *, least: int = 1) -> int:
    """A whole number of at least 1, or of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def as_confidence(value: float, name: str = "confidence") -> float:
    """A level or a share strictly between 0 and 1."""
    if not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, not {value!r}.")
    return float(value)


def as_seed(value: int, name: str = "random_state") -> int:
    """A whole number of at least 0."""
    return as_count(value, name, least=0)
