"""Capital that bets against uniform p-values: it grows when they stop being uniform.

A p-value that is uniform makes any bet f with ∫f = 1 a fair game: Π f(pₙ) is a martingale, and the
chance that it ever reaches 1/level is at most `level` (Ville), however long the game. Nobody knows
what a change will look like or when it comes, so the capital is spread over both:

- over bets: 1 + stake · g(p), with g one of ±(2p - 1) and ±(the second Legendre polynomial), which
  win where p-values become small, large, extreme or central;
- over beginnings: part of the capital is kept in reserve and handed out little by little, row by
  row, so that a change after a million quiet rows finds fresh capital: it costs the logarithm of
  their number, not the number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats

#: How much of the capital is at stake.
STAKES = (0.3, 0.9)
BETS = 4 * len(STAKES)
#: Rows after which half of the reserve has been handed out.
_HALF = 100.0


def reserve(n: NDArray[np.int64]) -> Floats:
    """The capital that is still in reserve after n rows; it falls from 1 towards 0, slowly.

    Examples
    --------
    >>> reserve(np.array([0, 100, 1_000_000])).round(3)
    array([1.   , 0.591, 0.098])
    """
    return np.asarray(1 / (1 + np.log1p(np.asarray(n) / _HALF)))


class Bettors:
    """Bets on K sequences of p-values at once.

    Parameters
    ----------
    sequences : int
    """

    def __init__(self, sequences: int) -> None:
        self.rows = 0
        self._pools = np.full((sequences, BETS), -np.inf)  # logarithms

    def play(self, p: Floats) -> Floats:
        """Further p-values, (n, K); gives the logarithm of each sequence's capital, (n, K)."""
        n = len(p)
        growth = np.cumsum(_log_bets(p), axis=0)  # (n, K, bets)
        left = reserve(np.arange(self.rows, self.rows + n + 1))
        given = np.log((left[:-1] - left[1:]) / BETS)
        # What is handed out at row j grows by the bets from j on: exp(growth_n - growth_(j-1)).
        before = np.concatenate([np.zeros_like(growth[:1]), growth[:-1]])
        entering = given[:, None, None] - before
        entering[0] = np.logaddexp(entering[0], self._pools)
        pools = np.logaddexp.accumulate(entering, axis=0) + growth
        self._pools = pools[-1]
        self.rows += n
        return np.asarray(np.logaddexp(np.logaddexp.reduce(pools, axis=2), np.log(left[1:, None])))


def _log_bets(p: Floats) -> Floats:
    u = 2 * p - 1
    second = 1.5 * u * u - 0.5
    sides = np.stack([u, -u, second, -second], axis=2)
    return np.concatenate([np.log1p(stake * sides) for stake in STAKES], axis=2)
