"""Tables as people have them become rows of numbers.

Numbers stay as they are; booleans are 0 and 1; categories get one column for each level, dates and
times are days, times of day hours; missing values are filled by the sets' mean beside a column that
says where; identifiers and free text are left out, with the reason. What to do with each column is
an :class:`EncodingPlan`, learned from all sets in one pass.

How it works, bottom up: ``sketches`` (what a pass keeps), ``kinds`` (Arrow columns as numbers or
texts), ``readings`` (text that means numbers or dates), ``learn`` (the pass), ``plan``,
``wording``, ``held`` (means, shares and gaps), ``dates`` (times of day, times between dates),
``decide`` (the rules), ``profile`` (what each set holds), ``apply`` (plan and batch to rows),
``table`` (a table as a source), ``together`` (several sources, one plan).
"""

from .plan import ColumnPlan, EncodingPlan
from .profile import ColumnProfile, SetProfile
from .together import encode_together, learn_plan

__all__ = [
    "ColumnPlan",
    "ColumnProfile",
    "EncodingPlan",
    "SetProfile",
    "encode_together",
    "learn_plan",
]
