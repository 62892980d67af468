"""What a model is in a file (settings and arrays), and how an entry of it is asked for.

Reading trusts nothing: every entry is asked for by name and checked for its kind, range and shape,
so that a file that is not a model gives one clear error and never a half-built object.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.errors import ModelFileError

LARGEST = sys.float_info.max
ANY = "*"  # length of an array


class Parts(NamedTuple):
    """A model as it is written: settings as JSON values, arrays by name."""

    settings: dict[str, Any]
    tensors: dict[str, NDArray[Any]]

    def inside(self, name: str) -> Parts:
        """The same as a part of another model, which calls it by this name."""
        return Parts({name: self.settings}, {f"{name}.{k}": v for k, v in self.tensors.items()})

    def __or__(self, other: Parts) -> Parts:
        return Parts(self.settings | other.settings, self.tensors | other.tensors)


class Reader:
    """Asks for entries and says what is wrong with them."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        tensors: Mapping[str, NDArray[Any]],
        lengths: dict[str, int] | None = None,
    ) -> None:
        self.settings = settings
        self.tensors = tensors
        self.lengths = {} if lengths is None else lengths  # that shapes have named so far

    def section(self, name: str) -> Reader:
        """What the file holds of a model inside the model."""
        start = name + "."
        inside = {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}
        return Reader(self.value(name, dict), inside, self.lengths)

    def has(self, name: str) -> bool:
        return name in self.settings or name in self.tensors

    def value(self, name: str, *kinds: type) -> Any:
        """A setting of one of these kinds."""
        if name not in self.settings:
            raise ModelFileError(f"The model lacks the setting {name!r}; save it again.")
        value = self.settings[name]
        if type(value) not in kinds:
            raise ModelFileError(f"The model's setting {name!r} is of the wrong kind.")
        return value

    def number(self, name: str, least: float = -LARGEST, most: float = LARGEST) -> float:
        value = self.value(name, float, int)
        if not least <= value <= most:
            raise ModelFileError(f"The model's setting {name!r} is out of its range.")
        return float(value)

    def counts(self, name: str, count: int) -> list[int]:
        """So many whole numbers of at least 0."""
        found: list[int] = self.value(name, list)
        if len(found) != count or not all(type(n) is int and n >= 0 for n in found):
            raise ModelFileError(f"The model's setting {name!r} is out of its range.")
        return found

    def choice(self, name: str, *options: str) -> str:
        value = self.value(name, str)
        if value not in options:
            raise ModelFileError(f"The model's setting {name!r} is {value!r}, which is unknown.")
        return str(value)

    def names(self, name: str, count: int) -> tuple[str, ...]:
        """One text for each feature."""
        found = self.value(name, list)
        if len(found) != count or not all(type(x) is str for x in found):
            raise ModelFileError("The model does not have one name for each feature.")
        return tuple(found)

    def tensor(self, name: str, *shape: int | str, least: float = -LARGEST) -> NDArray[np.float64]:
        """A finite float64 tensor; a letter in the shape stands for one length, "*" for any."""
        if name not in self.tensors:
            raise ModelFileError(f"The model lacks the array {name!r}; save it again.")
        found = self.tensors[name]
        fits = len(found.shape) == len(shape) and all(map(self._fits, shape, found.shape))
        if not fits or found.dtype != np.float64 or not np.isfinite(found).all():
            raise ModelFileError(f"The model's array {name!r} has the wrong shape or values.")
        if np.any(found < least):
            raise ModelFileError(f"The model's array {name!r} is out of its range.")
        return found

    def _fits(self, want: int | str, have: int) -> bool:
        if isinstance(want, str) and want != ANY:
            want = self.lengths.setdefault(want, have)
        return want in (ANY, have)

    def whole(self, name: str, least: int = -(2**62), below: int = 2**62) -> NDArray[np.int64]:
        """One dimension of whole numbers within a range."""
        found = self.tensors.get(name)
        if found is None or found.ndim != 1 or found.dtype != np.int64:
            raise ModelFileError(f"The model's array {name!r} is missing or of the wrong kind.")
        if np.any((found < least) | (found >= below)):
            raise ModelFileError(f"The model's array {name!r} is out of its range.")
        return found
