"""Anything becomes rows of numbers in chunks, with feature names and row identifiers.

>>> from cospan.data import encode, open_source
>>> source = open_source(np.arange(6).reshape(3, 2), chunk_rows=2)
>>> [chunk.rows.shape for chunk in source.chunks()]
[(2, 2), (1, 2)]

:func:`open_source` looks at what it was given: arrays and images are a :class:`Source`
of rows at once; tables are a :class:`Table`, which :func:`encode` makes rows of, by one
:class:`EncodingPlan` for all tables that are compared. Numbers stay as they are; booleans are 0 and
1; categories get one column for each level, dates and times are days, times of day hours; missing
values are filled by the sets' mean beside a column that says where; identifiers and free text are
left out, with the reason.
"""

from .columns import READINGS, boolean_pair, coded, family, numbers, one_batch, parsed
from .encoding import Encoder, check_same_features, encode, encode_by
from .opening import Options, open_source
from .paths import set_names, split_part
from .plan import ColumnProfile, EncodingPlan, SchemaChange, SetProfile
from .source import Chunk, Source, Table, listing, notes_of, read_ahead
from .tables import written

__all__ = [
    "READINGS", "Chunk", "ColumnProfile", "Encoder", "EncodingPlan", "Options", "SchemaChange",
    "SetProfile", "Source", "Table", "boolean_pair", "check_same_features", "coded", "encode",
    "encode_by", "family", "listing", "notes_of", "numbers", "one_batch", "open_source", "parsed",
    "read_ahead", "set_names", "split_part", "written",
]  # fmt: skip
