"""The generalized singular value decomposition (GSVD) of a pair of matrices.

Rows are samples. For A (p, d) and B (q, d),

    A = U diag(c) H        B = V diag(s) H        c² + s² = 1

with one frame H for both. Symbols, and what others call them:

====================  =============  ==================  ===============  =================
here                  the paper      LAPACK ``ggsvd3``   MATLAB ``gsvd``  Julia ``svd(A,B)``
====================  =============  ==================  ===============  =================
``A`` (p, d)          Aᵀ             A (M, N)            A                A
``H`` (m, d)          Hᵀ             (0 R) Qᵀ            X'               R0 * Q'
``c`` falling         diagonal of C  ALPHA               diagonal of C    a
``s`` rising          diagonal of S  BETA                diagonal of S    b
``U`` (p, r+k)        Uᵀ, trimmed    U, first columns    U, trimmed       U, trimmed
``V`` (q, k+t)        Vᵀ, trimmed    V, trimmed          V, trimmed       V, trimmed
``blocks`` (r, k, t)  r, k, t        K, L and the zeros  (not given)      k, l
====================  =============  ==================  ===============  =================

(MATLAB orders the values the other way round: c rising.)

Where to find what: `dense` has `gsvd` and the object that it returns, `kernel` is the algorithm,
with steps in `cosine_sine`; `notation` has other people's forms. A few directions of
large sparse matrices are found by `partial`.
"""

from cospan.decomposition.dense import GSVD, gsvd, gsvdvals
from cospan.decomposition.kernel import Blocks
from cospan.decomposition.notation import JuliaForm, LapackForm, MatlabForm
from cospan.decomposition.partial import PartialGSVD, gsvds

__all__ = [
    "GSVD",
    "Blocks",
    "JuliaForm",
    "LapackForm",
    "MatlabForm",
    "PartialGSVD",
    "gsvd",
    "gsvds",
    "gsvdvals",
]
