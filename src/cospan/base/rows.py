"""Numbers for rows: keys, equal for equal rows, and how usual a score is among others.

A key is without pattern otherwise, so that it deals rows evenly. How usual a score is has to be
said also where it is beyond all others: a rank among n cannot fall below 1/(n + 1), too coarse to
find one odd row among sixty. So the largest k numbers are taken for the tail of a power law. With e
the k-th largest of them, the logarithms log(x/e) of the others are then exponential, with a mean
nobody knows; a further number x is as large with the probability

    k/(n + 1) · (1 + log(x/e)/S)^-(k - 1)          S = Σ log(x_i/e) over the other k - 1

which allows for not knowing the mean: on average over samples it is exact, whatever the exponent.
Half of the tail, a quarter and so on are tried too, and the largest probability counts: a heavy
tail may show only far out. Below 100 numbers near each other (the largest at most 5 times the
median) e is added to all of them first: a tail between a power and an exponential.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Floats, Values

Keys = NDArray[np.uint64]

TAIL = 10  # one in so many numbers is in the tail
FEWEST_IN_TAIL = 10  # numbers from which the exponent of a tail is estimated, if a third is as many
FEWEST = 15  # numbers in all; with fewer there are ranks only
FEW, CLOSE = 100, 5.0  # below so many, with the largest at most so many times the median: see above


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


def tail_p_values(scores: Floats, usual: Floats) -> Floats:
    """How usual are scores as high as these among the usual ones (none below 0)?

    >>> usual = np.abs(np.random.default_rng(0).normal(size=30))
    >>> tail_p_values(np.array([0.5, 2.0, 10.0]), usual).round(4)
    array([0.5806, 0.0453, 0.0017])
    """
    usual = np.sort(usual)
    n = len(usual)
    p_values = np.asarray((1.0 + n - np.searchsorted(usual, scores)) / (1.0 + n))
    k = max(n // TAIL, min(n // 3, FEWEST_IN_TAIL))
    if n < FEWEST or not 0 < usual[-k] < usual[-1] < np.inf:
        return p_values  # too few, or values that repeat: ranks alone
    edge = usual[-k]
    beyond = scores > edge
    shift = edge if n < FEW and usual[-1] <= CLOSE * np.median(usual) else 0.0
    p_values[beyond] = _beyond(scores[beyond] + shift, usual[-k:] + shift, n)
    return p_values


def _beyond(scores: Floats, tail: Floats, n: int) -> Floats:
    """By the tail, its half, its quarter and so on: the largest of these probabilities."""
    found = np.zeros(len(scores))
    first = True
    while first or (len(tail) >= FEWEST_IN_TAIL and tail[0] < tail[-1]):
        k, edge = len(tail), tail[0]
        spread = float(np.sum(np.log(tail[1:] / edge)))
        over = np.log(np.maximum(scores, edge) / edge)
        found = np.maximum(found, k / (n + 1) * (1 + over / spread) ** -(k - 1.0))
        tail, first = tail[-(k // 2) :], False
    return found
