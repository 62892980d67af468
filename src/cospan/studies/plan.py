"""What a study changes: settings and their values, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cospan._validate import is_real
from cospan.errors import InputError
from cospan.sets import Settings

# The study made when the caller names no settings. Those of the linear span are tried with it
# (`span` and, say, `center` change together): see `_LINEAR`.
STUDY: Mapping[str, Sequence[Any]] = {
    "shrinkage": (0.001, 0.01, 0.1, 0.5, 0.9),
    "units": ("own", "common"),
    "dof": (1.0, 10.0, 100.0),
    "pooling": (0.0, 0.5, 1.0),
    "calibrate": (False,),
    "span": ("linear",),
    "center": ("each", "none"),
    "balance": (False,),
    "weighting": ("frame",),
    "tol": (1e-6,),
    "rank": (0.75, 0.5, 0.25),
    "rows": (0.8, 0.5, 0.25),
    "noise": (0.1, 0.3, 1.0),
    "training_noise": (0.1, 0.3, 1.0),
}

# Settings that only the linear span has. Where the reference is affine, they are changed together
# with the span, and what affine settings the reference fixes are left to their defaults.
_LINEAR = ("center", "balance", "weighting")
_AFFINE = ("units", "dof", "pooling")

# Settings that draw at random: repeated, and seeded by their place here, so that the outcome of
# one does not depend on which others are studied.
RANDOM = ("rows", "noise", "training_noise")


@dataclass(frozen=True)
class Run(Settings):
    """Everything that a run of the method is given."""

    weighting: str = "cost"
    rank: float | None = None

    def changed(self, parameter: str, value: Any) -> Run:
        """With one of them changed, and the span where the setting belongs to the other one."""
        new = replace(self, **{parameter: value})
        if parameter in _LINEAR and self.span == "affine":
            new = replace(new, span="linear")
        if new.span == "linear" and self.span == "affine":
            return replace(new, units="auto", pooling="auto", dof="auto")
        if new.span == "affine" and self.span == "linear":
            return replace(new, center="pooled", balance=True, weighting="cost")
        if parameter in _AFFINE and self.span == "linear":
            return replace(new, span="affine", center="pooled", balance=True, weighting="cost")
        return new


def plan_of(over: Mapping[str, Iterable[Any]]) -> list[tuple[str, Any]]:
    """Pairs of a setting and a value, checked as far as the frame will not do it."""
    if not isinstance(over, Mapping):
        raise InputError(
            f"over is a {type(over).__name__}; it must name settings and the values to try, such "
            'as {"shrinkage": [0.01, 0.1]}.'
        )
    plan = []
    for parameter, values in over.items():
        if parameter not in STUDY:
            raise InputError(
                f"over names the setting {parameter!r}; it must be one of "
                f"{', '.join(repr(name) for name in STUDY)}."
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"over[{parameter!r}] must be a list of values, not {values!r}.")
        plan += [(parameter, _value(parameter, value)) for value in values]
    return plan


def _value(parameter: str, value: Any) -> Any:
    number = is_real(value)
    if parameter in ("noise", "training_noise") and not (number and 0 <= value < np.inf):
        raise InputError(
            f"{parameter} is {value!r}; it must be a relative deviation of at least 0."
        )
    if parameter == "rank" and not (number and 0 < value <= 1):
        raise InputError(f"rank is {value!r}; it must be a share of the directions in (0, 1].")
    whole = isinstance(value, int | np.integer)
    if parameter == "rows" and not (number and value > 0 and (whole or value <= 1)):
        raise InputError(f"rows is {value!r}; it must be a count of rows or a share in (0, 1].")
    return value


def row_count(value: float, size: int) -> int:
    count = value if isinstance(value, int | np.integer) else max(1, round(value * size))
    if count > size:
        raise InputError(f"rows asks for {value} rows, but one of the sets has only {size}.")
    return int(count)


def text_of(value: Any) -> str:
    if value is None:
        return "default"
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:g}" if np.ndim(value) == 0 else "given"
