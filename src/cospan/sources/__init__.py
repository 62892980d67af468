"""Anything becomes rows in chunks, with feature names and row identifiers.

>>> from cospan.sources import open_source
>>> source = open_source(np.arange(6).reshape(3, 2), chunk_rows=2)
>>> [chunk.rows.shape for chunk in source.chunks()]
[(2, 2), (1, 2)]

How the data flows: :func:`open_source` looks at what it was given and picks a *reader* (arrays,
dataframes, columnar files, NumPy files, containers, images, IDX, standard input); the reader gives
raw blocks; the :class:`Source` takes out the class asked for, deals with missing values, refuses
infinities and hands out float chunks of even size. Tables go through an :class:`EncodingPlan`
first, which several sources share (:func:`encode_together`).
"""

from .base import Chunk
from .encoding import EncodingPlan, encode_together, learn_plan
from .opening import open_source
from .source import Source, check_same_features

__all__ = [
    "Chunk",
    "EncodingPlan",
    "Source",
    "check_same_features",
    "encode_together",
    "learn_plan",
    "open_source",
]
