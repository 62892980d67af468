"""Sets in, everything about them out: one pipeline and one result, whatever the number of sets.

:func:`compare` (`api`) opens what it is given as sources with the same features (`opening`), reads
each once (`reading`), fits a model (`fitting`), scores every row, a set's own rows as if they had
not been part of it (`scorer`, `scoring`), compares every pair, and of two sets tests whether they
differ and lists what changed (`pairs`), and looks for rows that belong elsewhere (`auditing`,
`rows`); `pipeline` has these stages in order, and says what a reader should know.

What is found is a :class:`Comparison` (`result`): plain frozen data, which tables of scores
(`score_files`), the report and the pictures read.
"""

from cospan.comparison.api import compare
from cospan.comparison.result import Comparison
from cospan.comparison.rows import Reason, RowToCheck

__all__ = ["Comparison", "Reason", "RowToCheck", "compare"]
