"""The null distribution of the shift test: every way to hand out the labels is as good as any.

If A and B come from one distribution, the labels could be exchanged among the rows without
changing anything. So the statistic of the true labels has every rank among those of random
relabellings with the same chance, whatever the distribution, the sizes and the dimension.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["contrasts"]

Floats = NDArray[np.float64]


def contrasts(
    in_a: NDArray[np.bool_], strata: NDArray[np.intp], count: int, rng: np.random.Generator
) -> Floats:
    """Weights that turn values into their mean over A minus that over B, (1 + count, rows).

    The first row belongs to the true labels; the others permute them within each stratum.
    """
    n_a = int(np.count_nonzero(in_a))
    truth = np.where(in_a, 1 / n_a, -1 / (len(in_a) - n_a))
    result = np.tile(truth, (1 + count, 1))
    for stratum in np.unique(strata[strata >= 0]):  # a negative one holds a single row
        place = np.flatnonzero(strata == stratum)
        result[1:, place] = rng.permuted(result[1:, place], axis=1)
    return result
