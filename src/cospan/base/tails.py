"""How usual is a number among others, also where it is beyond them all.

A rank among n numbers cannot fall below 1/(n + 1), too coarse to find one odd row among sixty. So
the largest k numbers are taken for the tail of a power law. With e the k-th largest of them, the
logarithms log(x/e) of the others are then exponential, with a mean nobody knows; a further number
x is as large with the probability

    k/(n + 1) · (1 + log(x/e)/S)^-(k - 1)          S = Σ log(x_i/e) over the other k - 1

which allows for not knowing the mean: on average over samples it is exact, whatever the exponent.
Half of the tail, a quarter and so on are tried too, and the largest probability counts: a heavy
tail may show only far out. Below 100 numbers near each other (the largest at most 5 times the
median) e is added to all of them first: a tail between a power and an exponential.
"""

from __future__ import annotations

import numpy as np

from cospan.base.types import Floats

__all__ = ["tail_p_values"]

TAIL = 10  # one in so many numbers is in the tail
FEWEST_IN_TAIL = 10  # numbers from which the exponent of a tail is estimated, if a third is as many
FEWEST = 15  # numbers in all; with fewer there are ranks only
FEW, CLOSE = 100, 5.0  # below so many, with the largest at most so many times the median: see above


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
