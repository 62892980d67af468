"""What a report says: one frozen object for two sets and for more, whatever their size.

:func:`content_of` makes it from a comparison; the page and Markdown are written from it, and its
:meth:`ReportContent.to_dict` is what the page carries and saves. Fields that only two sets have, or
only more, are empty for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import pieces

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ManyComparison


@dataclass(frozen=True)
class ReportContent:
    """Everything a report says, in plain values that JSON can carry."""

    title: str
    date: str
    version: str
    sets: tuple[pieces.SetInfo, ...]  # and Z last where rows were scored
    level: str  # "none", "small", "medium" or "large"
    badge: str  # the words on the badge
    verdict: tuple[str, ...]  # in at most three sentences
    findings: tuple[str, ...]  # the first changes, one sentence each
    warning: str  # what to know before believing the numbers; `remarks` has all of them
    tiles: tuple[pieces.Tile, ...]
    parts: tuple[pieces.Part, ...] = ()
    features: tuple[pieces.Feature, ...] = ()
    more_features: tuple[pieces.Bare, ...] = ()  # further columns, in a few words each
    n_changed: int = 0
    relations: tuple[pieces.Relation, ...] = ()
    n_relations: int = 0
    #: where rows are pictures: means, their difference, prototypes, the pull
    pictures: tuple[pieces.Picture, ...] = ()
    angles: pieces.Angles | None = None
    points: tuple[pieces.Point, ...] = ()
    rows: tuple[pieces.Row, ...] = ()
    #: Names and kinds of the columns that the rows' values speak of
    columns: tuple[tuple[str, str], ...] = ()
    tabs: tuple[pieces.Tab, ...] = ()
    patterns: pieces.Patterns | None = None
    #: Charts that need no place of their own, in the order in which their sections show them
    charts: tuple[pieces.Chart, ...] = ()
    quality: tuple[pieces.Note, ...] = ()
    measures: tuple[pieces.Measure, ...] = ()
    sensitivity: tuple[pieces.Setting, ...] = ()
    remarks: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()  # command and versions
    inputs: tuple[tuple[str, str], ...] = ()  # what was read
    #: Of more than two sets: an order in which close ones are side by side, the matrix of AUCs,
    #: which set explains the rows of which best, what joins first, the pairs, commands for further
    #: pairs, and for three sets the rows' weights
    order: tuple[int, ...] = ()
    auc: tuple[tuple[float | None, ...], ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    linkage: tuple[tuple[float, ...], ...] = ()
    pairs: tuple[pieces.Pair, ...] = ()
    more_pairs: tuple[tuple[int, int, str], ...] = ()
    corners: tuple[tuple[float, float, int], ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()

    @property
    def many(self) -> bool:
        """Whether there are more than two sets."""
        return bool(self.order)

    @property
    def named(self) -> Mapping[str, str]:
        """Names of the sets by their keys."""
        return {one.key: one.name for one in self.sets}

    def to_dict(self) -> dict[str, Any]:
        """The content as nested dicts and tuples, ready for ``json.dumps``."""
        return {"format": "cospan report", "format_version": 2, **asdict(self)}


def content_of(
    comparison: Comparison | ManyComparison,
    **origin: Any,
) -> ReportContent:
    """Reduce a comparison to what its report says.

    `origin` is what else is to be said: ``command``, how it was made; ``files``, paths of what it
    was made from, whose hashes are shown; ``panel``, what ``Comparison.panel()`` returned, and
    ``study``, what :func:`cospan.sensitivity` did.
    """
    from cospan.comparison import ManyComparison

    from ._made import Origin

    if isinstance(comparison, ManyComparison):
        from .many import many_content

        return many_content(comparison, Origin(**origin))
    from .pair import pair_content

    return pair_content(comparison, Origin(**origin))
