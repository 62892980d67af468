"""What a comparison of two sets found, in one object: the p-value, findings, tables and size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cospan.base.tables import plain
from cospan.base.types import Record

from .findings import Finding
from .size import Size
from .tables import FeatureTable, PairChange, Table
from .test import LEVEL, Evidence

#: From which AUC on a difference is called so: those of two normal distributions 0.2, 0.5 and 0.8
#: standard deviations apart, Cohen's cuts.
SIZES = ((0.71, "large"), (0.64, "medium"), (0.56, "small"))


class Smallest(NamedTuple):
    """The smallest changes of a column that would have been seen in four of five such comparisons.

    `mean` is in the column's units and `deviations` in its standard deviations (NaN for
    categories), `share` that of its most frequent level or of missing values.
    """

    mean: float
    deviations: float
    share: float


class RowsToCheck(NamedTuple):
    """How many rows are worth a look: of A like B, of B like A, of any set like neither."""

    a_like_b: int = 0
    b_like_a: int = 0
    neither: int = 0


NO_ROWS = RowsToCheck()


def size_word(auc: float) -> str:
    """How large a difference with such an AUC is.

    >>> [size_word(auc) for auc in (0.5, 0.6, 0.7, 0.9)]
    ['none', 'small', 'medium', 'large']
    """
    return next((word for cut, word in SIZES if auc >= cut), "none")


@dataclass(frozen=True)
class Verdict:
    """What a comparison of two sets found; by default nothing, as without a test. Print it.

    >>> import numpy as np
    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + [0, 0, 2]
    >>> verdict = compare(A, B, n_permutations=99).verdict
    >>> verdict.size, verdict.mostly, verdict.features
    ('large', 'location', ('x2',))
    """

    pvalue: float = math.nan  # of "both sets come from one distribution"
    rows_tested: tuple[int, int] = (0, 0)  # rows of A and of B behind it
    n_permutations: int = 0  # relabellings behind it
    findings: tuple[Finding, ...] = ()  # what changed: repeated rows, then the clearest first
    order: tuple[str, ...] = ()  # all columns, the most suspicious first
    columns: FeatureTable = field(default_factory=FeatureTable)  # changed ones first
    feature_pairs: Table[PairChange] = field(default_factory=Table)  # the surest first
    quality: tuple[Finding, ...] = ()  # what is odd about the data; differences first
    auc: Size | None = None  # how well the angle separates rows that had no part in its fit
    #: What share of the difference is location, scale and shape; empty where nothing differs
    shares: Mapping[str, float] = field(default_factory=dict)
    rows: RowsToCheck = NO_ROWS  # how many rows are worth a look
    sets: tuple[str, str] = ("A", "B")  # what the sets are called
    #: For each column, the smallest changes that would have been seen in four of five comparisons
    smallest: Mapping[str, Smallest] = field(default_factory=dict, repr=False)
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def differs(self) -> bool:
        """Whether `pvalue` is at most 0.05."""
        return self.pvalue <= LEVEL

    @property
    def size(self) -> str:
        """By the AUC "none", "small", "medium" or "large"; "unknown" without one."""
        if not self.differs:
            return "none"
        return "unknown" if self.auc is None else size_word(self.auc)

    @property
    def mostly(self) -> str:
        """The largest of `shares`."""
        return max(self.shares, key=lambda kind: self.shares[kind], default="")

    @property
    def features(self) -> tuple[str, ...]:
        """Columns with a finding, the clearest first."""
        return tuple(dict.fromkeys(name for one in self.findings for name in one.columns))

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind for column in self.columns}

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, most important first."""
        from cospan.wording import verdict_sentences

        return verdict_sentences(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> Record:
        """The verdict, both tables and the notes on quality, as plain types."""
        verdict = {
            "differs": self.differs,
            "pvalue": self.pvalue,
            "rows_tested": self.rows_tested,
            "n_permutations": self.n_permutations,
            "size": self.size,
            "auc": None if self.auc is None else self.auc.to_dict(),
            "mostly": self.mostly,
            "shares": self.shares,
            "findings": self.findings,
            "features": self.features,
            "sentences": self.sentences,
            "rows": self.rows._asdict(),
            "smallest": {name: one._asdict() for name, one in self.smallest.items()},
        }
        return {
            "verdict": plain(verdict),
            "features": self.columns.to_dict(),
            "feature_pairs": self.feature_pairs.to_dict(),
            "quality": plain(self.quality),
        }
