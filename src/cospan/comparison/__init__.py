"""Sets in, everything about them out: one pipeline, whatever the number of sets.

:func:`compare` and :func:`compare_many` (`api`) open what they are given as sources with the same
features (`opening`), read each once (`reading`), fit a model (`fitting`), score every row, a set's
own rows by leave-one-out (`scorer`, `scoring`), compare every pair, and of two sets test whether
they differ and list what changed (`pairs`), and look for rows that belong elsewhere (`auditing`);
`pipeline` has these stages in order, and says what a reader should know.

What is found is a `result`: plain frozen data. :class:`Comparison` (`pair`) is the view of one with
a joint frame, :class:`ManyComparison` (`many`) that of any other. The terminal (`text`), JSON
(`plain`), tables of scores (`score_files`), the report and the pictures read these.
"""

from cospan.comparison.api import compare, compare_many
from cospan.comparison.many import ManyComparison
from cospan.comparison.pair import Comparison, TopFeatures
from cospan.comparison.scorer import LikeNeither
from cospan.comparison.scoring import ScoredGroup

__all__ = [
    "Comparison",
    "LikeNeither",
    "ManyComparison",
    "ScoredGroup",
    "TopFeatures",
    "compare",
    "compare_many",
]
