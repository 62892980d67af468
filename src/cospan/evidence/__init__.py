"""What differs between two sets, and how sure that is: means of functions of a row.

- `functions`: functions of a row, learned from pooled rows without their labels
- `test`: one p-value, and adjusted ones for columns and relations, from one set of relabellings
- `repeats`: rows that are repeated beyond chance
- `blame`: as few columns as explain all of the evidence
- `findings`: what changed, as data
- `engine`: from rows to findings
- `columns`, `quality`: the user's columns and the tables
- `distances`: histograms of angles, and how far apart they are
- `size`: one number for how different two sets are, with an interval
- `verdict`: all of it together
"""

from .blame import PIXEL
from .columns import (
    Column,
    FeatureChange,
    FeatureTable,
    Held,
    PairChange,
    PairTable,
    columns_of,
    plan_from,
    read_columns,
)
from .distances import (
    angle_histogram,
    bhattacharyya,
    bin_posterior,
    fisher_rao,
    hellinger,
    posterior_ambiguity,
    rank_auc,
)
from .engine import FEWEST_LABELLINGS, FEWEST_ROWS, Smallest, find, shift_test
from .findings import Finding
from .functions import OTHER, Ranks, Reading, legendre, normal_scores
from .quality import QualityNote
from .repeats import repeated_rows
from .size import Fold, Separation, Size, separation, size_of
from .test import SQUARE
from .verdict import (
    Changes,
    RowsToCheck,
    Totals,
    Verdict,
    feature_parts,
    find_changes,
    size_word,
)

__all__ = [
    "FEWEST_LABELLINGS", "FEWEST_ROWS", "OTHER", "PIXEL", "SQUARE", "Changes", "Column",
    "FeatureChange", "FeatureTable", "Finding", "Fold", "Held", "PairChange", "PairTable",
    "QualityNote", "Ranks", "Reading", "RowsToCheck", "Separation", "Size", "Smallest", "Totals",
    "Verdict", "angle_histogram", "bhattacharyya", "bin_posterior", "columns_of", "feature_parts",
    "find", "find_changes", "fisher_rao", "hellinger", "legendre", "normal_scores", "plan_from",
    "posterior_ambiguity", "rank_auc", "read_columns", "repeated_rows", "separation",
    "shift_test", "size_of", "size_word",
]  # fmt: skip
