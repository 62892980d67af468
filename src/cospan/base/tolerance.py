"""eps and rank decisions, nowhere else.

Every decision "this number counts as zero" in the library is made with a function or a constant of
this module. All tolerances are relative: a multiple of eps times the norm of what is being judged.
"""

from __future__ import annotations

import numpy as np

# ---- ranks and decompositions ------------------------------------------------------------------

# No default tolerance exceeds this, however many rows there are: at 1 it would drop everything.
LARGEST_TOLERANCE = 0.1
# ‖QᵀQ - I‖ from which one more Cholesky step, which squares it, brings orthogonality to rounding.
NEARLY_ORTHONORMAL = 0.5
# Below this, c and s come from their own block: cos 2θ to eps gives a small c only to eps/c.
POLISH_BELOW = 0.3
# Strengths above a tolerance by less than this may be rounding in the stack (seen: 14 times).
DOUBTFUL = 32
# Times a limit, for estimates that are right within a factor of 2 or 3.
SURELY = 10.0
# Up to this condition number, dividing by a triangle costs less than a digit.
WELL_CONDITIONED = 8.0
# Directions weaker than this in the stack do not show in AᴴA + BᴴB: its square is rounding.
GRAM_RANK = 1e-7
# Radians: a smaller turn of joint diagonalization changes nothing that counts.
STILL = 1e-9
# Eigenvalues closer than this, relative to their range, count as one: any basis of theirs will do.
SAME_EIGENVALUE = 1e-9
# Among K sets, a set has a direction if its share in it is this part of the strongest set's.
PRESENT_SHARE = 0.1


def rank_tolerance(rows: int, columns: int, eps: float) -> float:
    """The default relative tolerance: max(rows, columns) · eps, eps that of the *input's* dtype."""
    return min(max(rows, columns, 1) * eps, LARGEST_TOLERANCE)


def surely_above(estimate: float, limit: float) -> bool:
    """Is a number that was estimated from above certainly beyond a limit?"""
    return estimate > SURELY * limit


def rank_in_gram(largest: float, size: int) -> float:
    """Eigenvalues of a Gram matrix up to this are the rounding of the largest."""
    return largest * size * float(np.finfo(np.float64).eps)


# ---- the geometry ------------------------------------------------------------------------------

# Summaries made from Gram matrices need this shrinkage: angles then agree to 1e-9 degrees.
FAST_SHRINKAGE = 1e-3
# Parts of a sample that a set cannot represent, as a share of its squared norm: eps would call
# every rounded sample non-relational.
RELATIONAL_SHARE = 1e-8
# Numbers between this and its inverse can be squared and summed in float32 without overflow.
SQUARES_ARE_SAFE = 1e15
# From this on, up to its inverse, squares in float64 keep their digits.
SQUARES_KEEP_DIGITS = 1e-140
# Combinations of landmarks with a weaker kernel, relative to the strongest, are left out: a tenth
# of this keeps nearly all and gains less than .001.
LANDMARKS_APART = 3e-5
# Squared costs of one row, by two ways that round differently, agree to this.
SAME_COST = 1e-6
# Squared costs beyond these are 0 or infinite; their logarithms are numbers. By the dtype's bytes.
COST_RANGE = {8: (1e-300, 1e300), 4: (1e-37, 1e37)}
# tan θ beyond the exponential of this is infinite in any precision we score in.
LARGEST_LOG_TANGENT = 80.0
# float32's π/2 is 4.4e-8 above the true one, and arctan2 may round up: both are no user error.
ANGLE_ROUNDING = 1e-6
# What a left-out row leaves of its own direction: never less, so that its logarithm is a number.
LEAST_REMAINDER = 1e-12
# Below this, 1 - weight · cost of a row counts as 0: nothing else of its set spans it.
ALONE = 1e3 * 2.0**-52
# Up to this part of its values a feature's spread is rounding: it is constant.
CONSTANT_SPREAD = 64 * 2.0**-52


def off_span_rounding(features: int, eps: float) -> float:
    """Up to this share of ‖z‖², what ‖z‖² and ‖its part in a span‖² differ by is rounding."""
    return 4 * features * eps


def expansion_keeps_digits(squared_distance: float, eps: float) -> bool:
    """May (y - a)² be computed as y² - 2ya + a², for a at such a squared distance?

    The sum is off by about eps times the distance, and costs are at least 1.
    """
    return bool(eps * squared_distance <= eps**0.5)


def at_infinity(size: int) -> float:
    """A homogeneous coordinate of at most this share of its vector counts as 0."""
    return 1e3 * size * 2.0**-52


# ---- fits and statistics -----------------------------------------------------------------------

# A Newton step that promises to lower a log-loss by less is the last; its error is the square.
NEWTON_GAIN = 1e-13
# On the diagonal of second derivatives of the order of 1: a bias without curvature stops nothing.
NEWTON_RIDGE = 1e-12
# A Newton step halved down to this has nothing left to gain.
SMALLEST_STEP = 1e-6
# Differences of mean log-losses up to this are rounding.
SAME_LOSS = 1e-12
# Statistics of two permutations, or labellings, this close are equal: sums in another order.
EQUAL_STATISTICS = 1e-12
SAME_STATISTIC = 1e-9
# Variance of a function of rows below which it is rounding, and divides nothing.
LEAST_VARIANCE = 1e-12
# Stands for 0 where it would be divided by, or its logarithm taken.
NOT_ZERO = 1e-300
# A column whose range is below this part of its largest value is constant but for rounding.
SAME_VALUE = 1e-12
# What a histogram's sum may miss 1 by: float32 histograms of some thousand bins stay within it.
UNIT_SUM = 1e-5
# Digits of scores: equal rows are to tie, whatever the rounding of a product.
TIED_DIGITS = 9
# A number of rows that is whole, or 0, but for rounding is that.
COUNT_ROUNDING = 1e-9
# Minutes added to a time of day before it is cut: fractions of days since 1970 are good to 6e-9.
WITHIN_MINUTE = 1e-6
