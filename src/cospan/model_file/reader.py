"""Entries of a model file, asked for by name and checked for their kind, range and shape."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import ModelFileError

__all__ = ["Reader"]

_LARGEST = sys.float_info.max


class Reader:
    """Asks for entries and says what is wrong with them."""

    def __init__(self, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> None:
        self.settings = settings
        self.tensors = tensors

    def value(self, name: str, *kinds: type) -> Any:
        if name not in self.settings:
            raise ModelFileError(f"The model lacks the setting {name!r}; save it again.")
        value = self.settings[name]
        if type(value) not in kinds:
            raise ModelFileError(f"The model's setting {name!r} is of the wrong kind.")
        return value

    def number(self, name: str, least: float = 0.0, most: float = _LARGEST) -> float:
        value = self.value(name, float, int)
        if not least <= value <= most:
            raise ModelFileError(f"The model's setting {name!r} is out of its range.")
        return float(value)

    def integer(self, name: str, *, most: int) -> int:
        value: int = self.value(name, int)
        if not 0 <= value <= most:
            raise ModelFileError(f"The model's setting {name!r} is out of its range.")
        return value

    def tolerance(self) -> float | None:
        if self.value("tol", float, int, type(None)) is None:
            return None
        return self.number("tol", most=1.0)

    def choice(self, name: str, *options: str) -> str:
        value = self.value(name, str)
        if value not in options:
            raise ModelFileError(f"The model's setting {name!r} is {value!r}, which is unknown.")
        return str(value)

    def section(self, name: str) -> Reader:
        prefix = name + "."
        inside = {
            k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)
        }
        return Reader(self.value(name, dict), inside)

    def names(self, name: str) -> tuple[str, ...] | None:
        found = self.value(name, list, type(None))
        if found is None:
            return None
        if not all(type(x) is str for x in found):
            raise ModelFileError(f"The model's setting {name!r} holds more than text.")
        return tuple(found)

    def tensor(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """A finite float64 tensor; None in the shape stands for any length."""
        if name not in self.tensors:
            raise ModelFileError(f"The model lacks the array {name!r}; save it again.")
        found = self.tensors[name]
        fits = len(found.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, found.shape, strict=True)
        )
        if not fits or found.dtype != np.float64 or not np.isfinite(found).all():
            raise ModelFileError(f"The model's array {name!r} has the wrong shape or values.")
        return found
