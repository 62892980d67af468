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

Where to find what: `api` has the public functions, `pair` is their arguments, `kernel` is the
algorithm, in steps that live in `scaling`, `householder`, `ranks`, `cosine_sine` and `one_sided`,
with `small` as its short form for small pairs; `tangent` is another algorithm, and `stacks` does
many pairs. `result` is the object that comes out, and what follows from it is in `forms` (other
people's notation, pseudo-inverse, null spaces) and `regularization` (with generalized least
squares). A few directions of large sparse matrices are found by `partial`, with `whitening`
underneath.
"""

from cospan.decomposition.api import gsvd, gsvdvals
from cospan.decomposition.forms import JuliaForm, LapackForm, MatlabForm
from cospan.decomposition.kernel import decompose
from cospan.decomposition.partial import PartialGSVD, gsvds
from cospan.decomposition.regularization import GlsSolution, TikhonovPath
from cospan.decomposition.result import GSVD, Blocks
from cospan.decomposition.stacks import GSVDStack

__all__ = [
    "GSVD",
    "Blocks",
    "GSVDStack",
    "GlsSolution",
    "JuliaForm",
    "LapackForm",
    "MatlabForm",
    "PartialGSVD",
    "TikhonovPath",
    "decompose",
    "gsvd",
    "gsvds",
    "gsvdvals",
]
