"""eps and rank decisions, nowhere else.

Every decision "this number counts as zero" in the library is made with a function of this
module. All tolerances are relative: a multiple of eps times the norm of what is being judged.
"""

from __future__ import annotations

# Below this shrinkage a summary made from a Gram matrix is refused: squaring the data loses half
# the digits, and only the shrinkage's floor αλ under the spectrum makes that harmless. Measured:
# at α = 1e-3 angles agree with the exact way to 1e-9 degrees, at 1e-12 only to 2.5e-4.
FAST_SHRINKAGE = 1e-3

# A sample is "relational" when the parts of it that one set (or both) cannot represent stay
# below this share of its squared norm: eps would call every rounded sample non-relational.
RELATIONAL_SHARE = 1e-8

# Where the smaller one of c and s falls below this, it is recomputed from its own block: an
# eigenvalue of Q₁ᵀQ₁ - Q₂ᵀQ₂ gives cos 2θ to eps, hence a small c only to eps/c. At 0.3 the loss
# is a factor of 3 and most of the columns are left alone.
POLISH_BELOW = 0.3


def rank_tolerance(rows: int, columns: int, eps: float) -> float:
    """The default relative tolerance: max(rows, columns) · eps.

    The customary one: rounding errors in a matrix of that size are of this order relative to its
    norm. eps is that of the *input's* dtype: float32 rows stored in float64 carry errors of
    float32, and judging them by float64's eps finds directions that are not there.
    """
    return max(rows, columns, 1) * eps


def nearly_singular(reciprocal_condition: float, size: int, eps: float) -> bool:
    """Could the rank be below `size`? Then a rank-revealing step has to look.

    The estimate of the condition number can be off by a factor of about √n and rounding in the
    QR by another n, hence the power 1.5. Generous on purpose: looking in vain costs little.
    """
    return not reciprocal_condition > 10 * max(size, 1) ** 1.5 * eps
