"""What differs between two sets, and how sure that is: means of functions of a row.

- `functions`: functions of a row, learned from pooled rows without their labels
- `test`: one p-value, and adjusted ones for columns and relations, from one set of relabellings
- `blame`: as few columns as explain all of the evidence
- `findings`: what changed and what is odd, as data
- `columns`: the user's columns, and what a set holds in them
- `size`: one number for how different two sets are; distances of histograms of angles
- `verdict`: all that was found, with its tables
- `engine`: from rows to the verdict; rows that are repeated beyond chance
"""

from .blame import PIXEL
from .columns import Column, Held, columns_of, plan_from, read_columns
from .engine import (
    FEWEST_LABELLINGS,
    FEWEST_ROWS,
    find,
    find_changes,
    joined_keys,
    repeated_rows,
    shift_test,
)
from .findings import IN_BOTH, Finding, rows_taken
from .functions import OTHER, Ranks, Reading, left_open, legendre, normal_scores
from .size import (
    Fold,
    Separation,
    Size,
    angle_histogram,
    bhattacharyya,
    bin_posterior,
    fisher_rao,
    hellinger,
    posterior_ambiguity,
    rank_auc,
    separation,
    size_of,
)
from .test import SQUARE
from .verdict import LISTED, FeatureChange, PairChange, Smallest, Table, Verdict, size_word

__all__ = [
    "FEWEST_LABELLINGS", "FEWEST_ROWS", "IN_BOTH", "LISTED", "OTHER", "PIXEL", "SQUARE", "Column",
    "FeatureChange", "Finding", "Fold", "Held", "PairChange", "Ranks", "Reading", "Separation",
    "Size", "Smallest", "Table", "Verdict", "angle_histogram", "bhattacharyya", "bin_posterior",
    "columns_of", "find", "find_changes", "fisher_rao", "hellinger", "joined_keys", "left_open",
    "legendre", "normal_scores", "plan_from", "posterior_ambiguity", "rank_auc", "read_columns",
    "repeated_rows", "rows_taken", "separation", "shift_test", "size_of", "size_word",
]  # fmt: skip
