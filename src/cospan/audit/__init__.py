"""Labels that conflict with their row's angle; weights that make one set count like another.

Both read the same thing: how well a row fits its own set compared with another. A wrong label
shows because the row, left out of the class it is filed under, costs that class more than another
one; `flips` says which of these rows stand out, given how far the classes overlap, and whether
left-out rows separate two classes at all. Where A and B are two samples of
inputs, the odds sin²θ/cos²θ say how much more B has than A where a row lies (`importance`).
"""

from cospan.audit.flips import separates
from cospan.audit.importance import ImportanceWeights, importance_weights
from cospan.audit.labels import LabelAudit, audit_labels, shares_of

__all__ = [
    "ImportanceWeights",
    "LabelAudit",
    "audit_labels",
    "importance_weights",
    "separates",
    "shares_of",
]
