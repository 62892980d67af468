"""Keys: one number for each row, equal for equal rows and without pattern otherwise."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Floats, Values

Keys = NDArray[np.uint64]


def mixed(key: Keys, more: Keys) -> Keys:
    """Splitmix64 of both: a change of one bit changes about half of the bits."""
    with np.errstate(over="ignore"):
        x = key * np.uint64(0x9E3779B97F4A7C15) + more
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def row_keys(columns: Sequence[Floats]) -> Keys:
    """A number for each row, equal for equal rows: one NaN, and -0 is 0."""
    key = np.zeros(len(columns[0]), dtype=np.uint64)
    for values in columns:
        plain = np.where(np.isnan(values), np.nan, values) + 0.0
        key = mixed(key, plain.astype(np.float64).view(np.uint64))
    return key


def text_keys(values: Values) -> Keys:
    """A number for each value, equal for values that are written alike.

    >>> text_keys(np.array(["b", "a", "b"])).tolist() == text_keys(np.array(list("bab"))).tolist()
    True
    """
    found, place = np.unique(np.asarray(values).astype(str), return_inverse=True)
    hashes = np.array([zlib.crc32(one.encode()) for one in found.tolist()], dtype=np.uint64)
    return mixed(np.zeros(len(hashes), dtype=np.uint64), hashes)[place]
