"""eps and rank decisions, nowhere else.

Every decision "this number counts as zero" in the library is made with a function of this
module. All tolerances are relative: a multiple of eps times the norm of what is being judged.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_FLOAT32_EPS = 2.0**-23

# ‖QᵀQ - I‖ from which one more Cholesky step brings orthogonality to rounding: the error is
# squared, and a factor of a half is left for the estimate.
NEARLY_ORTHONORMAL = 0.5

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

# A direction whose part in A is above the tolerance by less than this factor may be nothing but
# rounding in the stack of A and B. Seen in thousands of pairs: 14 times for ten rows, 2 times for
# a hundred. In the zone between, the singular values of A itself decide.
DOUBTFUL = 32


def rank_tolerance(rows: int, columns: int, eps: float) -> float:
    """The default relative tolerance: max(rows, columns) · eps.

    The customary one: rounding errors in a matrix of that size are of this order relative to its
    norm. eps is that of the *input's* dtype: float32 rows stored in float64 carry errors of
    float32, and judging them by float64's eps finds directions that are not there.

    Nobody computes in half precision: such rows are raised to float32 first. Then only the
    rounding of their entries counts, E with ‖E‖₂ ≤ ‖E‖_F ≤ eps/2 ‖A‖_F ≤ eps/2 √min ‖A‖₂, where
    the customary tolerance would exceed 1 beyond a thousand rows.
    """
    most = max(rows, columns, 1)
    tolerance = most * eps
    if eps > _FLOAT32_EPS:
        least = max(min(rows, columns), 1)
        tolerance = min(tolerance, max(most * _FLOAT32_EPS, math.sqrt(least) * eps))
    return min(tolerance, LARGEST_TOLERANCE)


SURELY = 10.0  # times a limit, for estimates that are right within a factor of 2 or 3


def surely_above(estimate: float, limit: float) -> bool:
    """Is a number that was estimated from above certainly beyond a limit?

    Doubt is cheap: it only costs the more careful decision.
    """
    return estimate > SURELY * limit


def off_span_rounding(features: int, eps: float) -> float:
    """Up to this share of ‖z‖², what ‖z‖² and ‖its part in a span‖² differ by is rounding.

    Two sums of `features` squares are subtracted; each is right to about features · eps, and its
    terms to twice that.
    """
    return 4 * features * eps


def alone_in_its_direction(eps: float) -> float:
    """Below this, 1 - weight · cost of a row counts as 0: nothing else of its set spans it.

    The cost comes out of a decomposition and carries rounding of some hundred eps.
    """
    return 1e3 * eps


# Among K sets, a set has a direction if its share in it is at least this part of the strongest
# set's share. Shares of real data are never equal and never 0: eps would find every direction of
# every set in between. At a tenth, a set whose spread along a direction is a third of the
# strongest set's still counts.
PRESENT_SHARE = 0.1

# Eigenvalues closer than this, relative to the range they can have, count as one: they agree to
# rounding where sets share directions exactly, and then any basis of theirs is an eigenbasis.
SAME_EIGENVALUE = 1e-9


def constant_variance(value: float, eps: float = 2.0**-52) -> float:
    """Up to this variance a feature of such a value is constant: the rest is rounding.

    A mean of many equal numbers is off by a few eps of them, and the deviation from it too. Sums
    are float64's whatever the rows were: equal float32 numbers have a variance of exactly 0 there.
    """
    return (64 * eps * value) ** 2


def lost_in_difference(whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """A sum of squares less a part of it counts as 0 up to this: the rest is rounding.

    The difference is off by a few eps of the whole. What is left with fewer than a quarter of the
    digits gives correlations above 1, and no Cholesky factor.
    """
    return np.asarray(np.finfo(np.float64).eps ** 0.75 * whole)


def expansion_keeps_digits(squared_distance: float, eps: float) -> bool:
    """May (y - a)² be computed as y² - 2ya + a², for a at such a squared distance?

    The sum is off by about eps times the distance. Costs are at least 1, and √eps of that is less
    than what scoring in the rows' precision loses anyway.
    """
    return bool(eps * squared_distance <= eps**0.5)


def at_infinity(size: int) -> float:
    """A homogeneous coordinate of at most this share of its vector counts as 0.

    Eigenvectors of matrices of that size are right to about size · eps; a point whose last
    coordinate is all rounding lies nowhere.
    """
    return 1e3 * size * 2.0**-52


# Numbers between this and its inverse can be squared and summed in float32 without overflow or
# loss to underflow: 1e15² · 1e8 entries is the largest number of that dtype.
SQUARES_ARE_SAFE = 1e15

# From this on, up to its inverse, numbers can be squared in float64 and the squares summed without
# losing digits: float64 begins at 1e-308, and its eps is below 1e-15.
SQUARES_KEEP_DIGITS = 1e-140

# Combinations of landmarks whose kernel is weaker than this, relative to the strongest, are left
# out: their features are divided by its root, and float32 keeps four digits of the rest. On
# pictures these are half of them; a tenth of this keeps nearly all and gains less than .001.
LANDMARKS_APART = 3e-5

# No default tolerance exceeds this, however many rows there are: at 1 it would drop everything.
LARGEST_TOLERANCE = 0.1

# Directions weaker than this in the stack, relative to the strongest, do not show in AᴴA + BᴴB:
# the square of anything less is rounding (eps is 2e-16, and sums of many terms lose a digit).
GRAM_RANK = 1e-7

# LSMR stops where its residuals are this small: ARPACK takes products for exact.
LSMR_ACCURACY = 1e-14

# Up to this condition number of the stack's triangular factor T, [A; B] T⁻¹ is orthonormal to less
# than a digit, and is taken instead of the orthogonal factor of the QR.
WELL_CONDITIONED = 8.0

# Below this share a feature has no part in a direction: both vectors of a direction are right to
# about a thousand eps of their largest entry.
NO_SHARE = 1e-12

# Parts of a difference of log odds that an integral gives must sum to it, relative to it or to 1.
SUMS_TO_TOTAL = 1e-7

# A Newton step that promises to lower a log-loss by less than this is the last: the error that it
# leaves is of the order of its square, hence rounding.
NEWTON_GAIN = 1e-13

# On the diagonal of a log-loss's second derivatives, which are of the order of 1: a bias that
# nothing leads to has no curvature, and must not stop the others.
NEWTON_RIDGE = 1e-12

# A Newton step halved down to this has nothing left to gain.
SMALLEST_STEP = 1e-6

# Differences of mean log-losses up to this are rounding: the same costs summed in another order.
SAME_LOSS = 1e-12

# What a left-out row leaves of its own direction, while settings are tried: never less than this,
# so that a row alone in its direction is very dear but its logarithm still a number.
LEAST_REMAINDER = 1e-12

# Squared costs beyond these are 0 or infinite for all that follows; their logarithms are still
# numbers. By the bytes of the dtype.
COST_RANGE = {8: (1e-300, 1e300), 4: (1e-37, 1e37)}

# tan θ beyond the exponential of this is infinite in any precision we score in.
LARGEST_LOG_TANGENT = 80.0
# Statistics of two permutations that differ by less than this, relative to the largest, are equal:
# sums over the same entries in another order.
EQUAL_STATISTICS = 1e-12

# Stands for 0 where it would be divided by, or its logarithm taken: small enough to change no
# other number, and far enough from the smallest double for a product with it to stay above 0.
NOT_ZERO = 1e-300


# A column whose range is below this part of its largest value is constant but for rounding.
SAME_VALUE = 1e-12

# Correlations nearer to ±1 than this count as that: on Fisher's scale they would be infinite.
PERFECT_CORRELATION = 1e-6

# c² + s² of a model file's cosines and sines is 1, up to the rounding of float32.
FILE_COSINES = 1e-4


def rank_in_gram(largest: float, size: int) -> float:
    """Eigenvalues of a Gram matrix up to this are the rounding of the largest."""
    return largest * size * float(np.finfo(np.float64).eps)


# float32's π/2 lies 4.4e-8 above the true one, and arctan2 may round up: both are no user error.
ANGLE_ROUNDING = 1e-6

# What a histogram's sum may miss 1 by: float32 histograms of some thousand bins stay within it.
UNIT_SUM = 1e-5

# Radians: a smaller turn of joint diagonalization changes nothing that counts.
STILL = 1e-9

# Balanced accuracies of two cuts that differ by less are equal: sums of as many shares.
SAME_SCORE = 1e-12

# Squared costs of one row, by two ways that round differently, agree to this.
SAME_COST = 1e-6

# Of equally unusual rows the dearer one comes first: less than the step of any rank, 1/(n + 1).
TIE_BREAK = 1e-6

# (m + 1)(1 - rate) that is a whole number but for rounding is that number, not the next one; and a
# share of rows that is 0 but for rounding is 0.
COUNT_ROUNDING = 1e-9

# The variance of m ones among n numbers is p(1 - p) with p = m/n, and that of other numbers from 0
# to 1 is less: sums of a billion rows are good to this, and a single 0.5 in as many is not noticed.
ZEROS_AND_ONES = 1e-9

# Minutes added to a time of day before it is cut to minutes: days since 1970 are about 2e4, so
# their fractions are good to 4e-12 days, 6e-9 minutes.
WITHIN_MINUTE = 1e-6

# Statistics of two labellings this close count as ties: sums over the same rows in another order
# differ by some hundred eps.
SAME_STATISTIC = 1e-9

# Variance of a function of rows below which it is rounding, and divides nothing.
LEAST_VARIANCE = 1e-12
