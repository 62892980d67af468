"""Two sets in, everything about them out.

:func:`compare` opens its arguments as sources (`opening`), reads each once (`reading`), fits the
joint frame, scores every row, a set's own rows by leave-one-out (`scoring`), tests, audits and
explains (`stages`). What it finds is a :class:`Comparison` (`result`): plain frozen data that the
terminal (`text`), JSON (`plain`), the report and the pictures read.
"""

from cospan.comparison.api import compare
from cospan.comparison.result import Comparison, TopFeatures
from cospan.comparison.scoring import ScoredGroup

__all__ = ["Comparison", "ScoredGroup", "TopFeatures", "compare"]
