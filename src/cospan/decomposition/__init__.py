"""The generalized singular value decomposition (GSVD) of a pair of matrices.

Rows are samples. For A (p, d) and B (q, d),

    A = U diag(c) H        B = V diag(s) H        c² + s² = 1

with one frame H for both. (docs/gsvd.md has the names that others use.)

Where to find what: `dense` has `gsvd`, `kernel` is the algorithm, with steps in `cosine_sine`;
`notation` has the object that comes of it, and other people's forms of that. A few directions of
large sparse matrices are found by `partial`.
"""

from cospan.decomposition.dense import gsvd, gsvdvals
from cospan.decomposition.kernel import Tolerances, decompose
from cospan.decomposition.notation import GSVD, Blocks, JuliaForm, LapackForm, MatlabForm
from cospan.decomposition.partial import PartialGSVD, gsvds

__all__ = [
    "GSVD", "Blocks", "JuliaForm", "LapackForm", "MatlabForm", "PartialGSVD", "Tolerances",
    "decompose", "gsvd", "gsvds", "gsvdvals",
]  # fmt: skip
