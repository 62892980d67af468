"""The null distribution of the shift test: every way to hand out the labels is as good as any.

If A and B come from one distribution, the labels could be exchanged among the rows without
changing anything. So the statistic of the true labels has every rank among those of random
relabellings with the same chance, whatever the distribution, the sizes and the dimension.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cospan.significance.copies import BOTH, IN_A, IN_B, Units
from cospan.significance.views import SINGLE_PRECISION


def contrasts(units: Units, count: int, rng: np.random.Generator) -> NDArray[np.floating]:
    """Weights that turn values into their mean over A minus that over B, (1 + count, units).

    The first row belongs to the true places; the others permute them within each stratum.
    """
    places = np.tile(units.places, (1 + count, 1))
    for stratum in np.unique(units.strata[units.strata >= 0]):
        where = np.flatnonzero(units.strata == stratum)
        places[1:, where] = rng.permuted(places[1:, where], axis=1)
    n_a = np.count_nonzero(units.places != IN_B)
    n_b = np.count_nonzero(units.places != IN_A)
    weights = np.empty(3)
    weights[[IN_A, IN_B, BOTH]] = 1 / n_a, -1 / n_b, 1 / n_a - 1 / n_b
    if len(units.places) >= SINGLE_PRECISION:
        return weights.astype(np.float32)[places]
    return weights[places]
