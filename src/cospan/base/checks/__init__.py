"""Checks on what users pass, and their messages.

Each message names the argument, says what is wrong with it and where, and what to do. Finiteness
is checked here, before any LAPACK call: an SVD of a matrix with an Inf can hang.
"""

from cospan.base.checks.conversion import feature_names_of
from cospan.base.checks.options import (
    as_confidence,
    as_count,
    as_flag,
    as_option,
    as_seed,
    as_shrinkage,
    as_tol,
    is_real,
)
from cospan.base.checks.rows import (
    as_rows,
    as_rows_with_eps,
    as_weights,
    check_finite,
    check_names,
    check_same_library,
)

__all__ = [
    "as_confidence",
    "as_count",
    "as_flag",
    "as_option",
    "as_rows",
    "as_rows_with_eps",
    "as_seed",
    "as_shrinkage",
    "as_tol",
    "as_weights",
    "check_finite",
    "check_names",
    "check_same_library",
    "feature_names_of",
    "is_real",
]
