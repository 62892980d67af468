"""What changed between two sets: which columns, which pairs of columns, and a verdict in words.

:func:`find_changes` is the entry point. How it works, bottom up: ``wording``; ``twosample`` (rank
and count tests); ``grouping`` (the user's columns over the features made of them); ``measuring``
(each column in A and in B, and its tests; ``spreads`` has one of them); ``repeats`` and
``frequencies`` (single values, and rounding); ``ways`` (words for what changed); ``pairs``,
``relations``, ``scatter`` and ``copied`` (relations between columns); ``parts`` (the difference of
the sets, distributed over the features); ``columns`` (the table of features); ``gaps`` and
``kinds`` (in what the sets differ); ``notes``, ``ranges``, ``writing`` and ``quality`` (data
quality); ``sentences``, ``deciding``, ``telling`` and ``verdict``; ``finding``.
"""

from .columns import FeatureChange, FeatureTable
from .deciding import RowsToCheck, size_of
from .finding import Changes, find_changes
from .notes import Quality, QualityNote
from .pairs import PairChange, PairTable
from .parts import FeatureParts, feature_parts
from .sentences import feature_sentence, pair_sentence
from .verdict import Verdict

__all__ = [
    "Changes",
    "FeatureChange",
    "FeatureParts",
    "FeatureTable",
    "PairChange",
    "PairTable",
    "Quality",
    "QualityNote",
    "RowsToCheck",
    "Verdict",
    "feature_parts",
    "feature_sentence",
    "find_changes",
    "pair_sentence",
    "size_of",
]
