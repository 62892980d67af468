"""More than two sets in one call.

:func:`compare_many` summarises each set once, prepares all of them alike, and gives every sample
the probability of each set. For two sets these are cos²θ and sin²θ; for more, w_i/(w_i + w_j) is
cos²θ of the pair (i, j). So one pass over the rows gives the angles of all pairs, and with them
the matrix of distances.
"""

from cospan.multiway.api import compare_many
from cospan.multiway.result import ManyComparison

__all__ = ["ManyComparison", "compare_many"]
