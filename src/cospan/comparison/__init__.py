"""Sets in, everything about them out: one pipeline and one result, whatever the number of sets.

:func:`compare` (`api`) opens what it is given as sources with the same features (`opening`), reads
each once (`reading`), fits a model of all rows and one for each fold, scores the rows kept, a set's
own out of fold, says how far apart each pair is (`scoring`), and looks for rows that belong
elsewhere (`rows`).

What is found is a :class:`Comparison` (`result`): plain frozen data, which tables of scores
(`score_files`), the report and the pictures read. `audit` finds labels that conflict with their
row's angle.
"""

from cospan.comparison.api import compare
from cospan.comparison.audit import LabelAudit, audit_labels
from cospan.comparison.opening import Progress
from cospan.comparison.result import Comparison
from cospan.comparison.rows import Reason, RowToCheck
from cospan.comparison.scoring import ImportanceWeights, importance_weights

__all__ = [
    "Comparison", "ImportanceWeights", "LabelAudit", "Progress", "Reason", "RowToCheck",
    "audit_labels", "compare", "importance_weights",
]  # fmt: skip
