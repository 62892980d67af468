"""The verdict: do two sets differ, by how much, in what, and how sure is that; in plain words.

Whether they differ and by how much: ``deciding``. In what, location, scale or shape of numbers,
levels of categories and booleans, or missing values: ``kinds``. The sentences: ``telling``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .columns import FeatureTable
from .deciding import NO_ROWS, Decided, RowsToCheck, size_of
from .given import GivenOthers
from .kinds import Kinds
from .pairs import Relations
from .quality import Quality
from .telling import (
    FIRST_FEATURES,
    first_pairs,
    headline,
    how_much,
    in_what,
    of_columns,
    of_pairs,
    of_quality,
    to_check,
)

if TYPE_CHECKING:
    from cospan.significance import Estimate


@dataclass(frozen=True)
class Verdict:
    """What a comparison of two sets found.

    Attributes
    ----------
    differs : bool
    pvalue : float
        The one that decided: the shift test's, or the smallest adjusted one of a column.
    size : {"none", "small", "medium", "large", "unknown"}
        By the AUC; unknown without one.
    size_low, size_high : str
        The same by the ends of its interval.
    mostly : str
        ``"location"``, ``"scale"``, ``"shape"``, ``"levels"``, ``"missing"``, or empty where
        nothing differs.
    shares : mapping
        What share of the difference each of these is, as far as it is more than chance; the
        columns' shares are sums of the same table (see ``changes.kinds``).
    parts : mapping
        The same in the units of D, and the rest of D under ``"rest"``: they add up to D.
    features, pairs : tuple of str
        Names of the first changed columns; of pairs, ``"first and second"``.
    sentences : tuple of str
        The verdict in words, most important first.
    rows : RowsToCheck
        How many rows are worth a look.

    Examples
    --------
    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + [0, 0, 2]
    >>> verdict = compare(A, B, n_permutations=99).verdict
    >>> verdict.size, verdict.mostly, verdict.features
    ('large', 'location', ('x2',))
    """

    differs: bool
    pvalue: float
    size: str
    size_low: str
    size_high: str
    mostly: str
    shares: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    rows: RowsToCheck = NO_ROWS

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Plain types only."""
        plain = ("differs", "pvalue", "size", "size_low", "size_high", "mostly")
        return {key: getattr(self, key) for key in plain} | {
            "shares": dict(self.shares),
            "parts": {k: v if math.isfinite(v) else None for k, v in self.parts.items()},
            "features": list(self.features),
            "pairs": list(self.pairs),
            "sentences": list(self.sentences),
            "rows": self.rows._asdict(),
        }


def make_verdict(
    features: FeatureTable,
    relations: Relations,
    quality: Quality,
    kinds: Kinds,
    decided: Decided,
    auc: Estimate | None,
    names: tuple[str, str],
    rows: RowsToCheck = NO_ROWS,
    *,
    given: Sequence[GivenOthers] = (),
    curved: bool = False,
) -> Verdict:
    """Put what was decided in words; `curved`: the AUC is that of curved features."""
    differs = decided.differs
    sizes = _sizes(differs, auc)
    first = features.changed[:FIRST_FEATURES]
    pairs = first_pairs(relations) if differs else []
    sentences = [
        headline(decided, len(features), names),
        *how_much(differs, sizes, auc),
        *in_what(kinds, curved),
        *of_columns(differs, features, names, given, pairs),
        *of_pairs(pairs, relations, features, names),
        *of_quality(quality, features),
        *to_check(rows, names),
    ]
    return Verdict(
        differs,
        decided.p,
        *sizes,
        kinds.mostly,
        kinds.shares,
        kinds.parts,
        tuple(one.name for one in first),
        tuple(f"{pair.first} and {pair.second}" for pair in pairs),
        tuple(dict.fromkeys(sentences)),
        rows,
    )


def _sizes(differs: bool, auc: Estimate | None) -> tuple[str, str, str]:
    """How large the difference is, by the AUC and by the ends of its interval."""
    if auc is None:
        return ("unknown",) * 3 if differs else ("none", "none", "unknown")
    found = (size_of(auc.value), size_of(auc.low), size_of(auc.high))
    return found if differs else ("none", "none", found[2])
