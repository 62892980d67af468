"""Random numbers that are the same on every machine and in every version.

NumPy promises the bits of its bit generators, not the numbers that its distributions make of
them. So only the bits are taken from it. Uniform numbers are those bits as fractions, exactly;
normal ones follow through the inverse of the normal distribution, right to rounding everywhere.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from cospan._types import Floats


def uniforms(seed: int, shape: tuple[int, ...]) -> Floats:
    """Uniform numbers between 0 and 1, neither of them included.

    >>> uniforms(0, (3,)).round(6)
    array([0.636962, 0.269787, 0.040974])
    """
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return np.asarray(((raw >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(shape)


def normals(seed: int, shape: tuple[int, ...]) -> Floats:
    """Normal numbers of mean 0 and variance 1.

    >>> normals(0, (3,)).round(6)
    array([ 0.350349, -0.613458, -1.739499])
    """
    return np.asarray(ndtri(uniforms(seed, shape)))
