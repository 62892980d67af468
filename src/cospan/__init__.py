"""cospan: compare datasets by their geometry.

The way of the data, in order:

1. `sources` read anything as rows in chunks, with names.
2. `Summary` turns the rows of a set into a small thing (count, mean, triangular factor) that
   merges with others.
3. `JointFrame` decomposes two summaries together, by the `gsvd`: directions that only A has,
   those both share, those only B has. `shrinkage` chooses how much to trust weak directions.
4. `frame.align(Z)` gives every sample its `Alignment`: the angle θ, 0° for A, 90° for B.
"""

from cospan.decomposition import GSVD, Blocks, gsvd, gsvdvals
from cospan.distribution import (
    angle_histogram,
    bhattacharyya,
    bin_posterior,
    fisher_rao,
    hellinger,
    posterior_ambiguity,
)

__version__ = "0.1.0"

__all__ = [
    "GSVD",
    "Blocks",
    "angle_histogram",
    "bhattacharyya",
    "bin_posterior",
    "fisher_rao",
    "gsvd",
    "gsvdvals",
    "hellinger",
    "posterior_ambiguity",
]
