"""Labels that conflict with their row's angle; weights that make one set count like another.

Both read how well a row fits its own set compared with another. `labels` judges every row without
itself, `flips` says which of them stand out given how far the classes overlap, and `importance`
turns the odds of B against A into weights.
"""

from cospan.audit.importance import ImportanceWeights, importance_weights
from cospan.audit.labels import LabelAudit, audit_labels, separates, shares_of

__all__ = [
    "ImportanceWeights",
    "LabelAudit",
    "audit_labels",
    "importance_weights",
    "separates",
    "shares_of",
]
