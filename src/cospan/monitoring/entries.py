"""Entries of a profile's file: how an array is kept, and whether one is what it should be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats, Index
from cospan.errors import ModelFileError
from cospan.model_file.reader import Reader

#: A length, or the name of one: one that is known, or else what the first array of it has.
Size = int | str


class Kept(NamedTuple):
    """An array in a file: its type, its shape and, of whole numbers, the least and the end.

    Floats that need not be `exact` are in single precision in the file of a profile.
    """

    dtype: type[np.generic]
    shape: tuple[Size, ...]
    within: tuple[int, Size] = (0, 2**31)
    exact: bool = True


class Entries(Reader):
    """Entries of a profile; arrays may be whole numbers or of single precision."""

    def array(self, name: str, kept: Kept, sizes: dict[str, int]) -> NDArray[Any]:
        """One array; a size that is not known yet is what this array has."""
        if name not in self.tensors:
            raise ModelFileError(f"The file lacks the array {name!r}; make it again.")
        found = self.tensors[name]
        fits = len(found.shape) == len(kept.shape) and all(
            have == (sizes.setdefault(want, have) if isinstance(want, str) else want)
            for want, have in zip(kept.shape, found.shape, strict=True)
        )
        whole = issubclass(kept.dtype, np.integer)
        if not fits or found.dtype.kind != "fi"[whole] or not np.isfinite(found).all():
            raise ModelFileError(f"The file's array {name!r} has the wrong shape or values.")
        least, end = kept.within
        end = sizes[end] if isinstance(end, str) else end
        if whole and np.any((found < least) | (found >= end)):
            raise ModelFileError(f"The file's array {name!r} is out of its range.")
        return found.astype(np.intp if whole else np.float64)

    def floats(self, name: str, *shape: int | str) -> Floats:
        return self.array(name, Kept(np.float64, shape), {})

    def whole(self, name: str, size: int | str, least: int, below: int) -> Index:
        return self.array(name, Kept(np.int64, (size,), (least, below)), {})

    def inside(self, name: str) -> Entries:
        section = self.section(name)
        return Entries(section.settings, section.tensors)
