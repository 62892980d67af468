"""What a comparison of two sets found: the view of a result that has a joint frame."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.comparison.plain import pair_dict
from cospan.comparison.result import Line, Result, View, shared
from cospan.comparison.score_files import joined
from cospan.comparison.scoring import ScoredGroup
from cospan.comparison.text import narrow, pair_lines
from cospan.errors import InputError
from cospan.model import JointFrame

if TYPE_CHECKING:
    from cospan.audit import LabelAudit
    from cospan.evidence import (
        Changes,
        FeatureTable,
        Finding,
        PairTable,
        Separation,
        Size,
        Verdict,
    )
    from cospan.measures import Panel

NEGLIGIBLE = 0.05  # of the largest effect: features below pull to no side worth naming
NO_PULL = 0.01  # together and times the gain: all features pull by less than a third of a degree


class TopFeatures(NamedTuple):
    """Indices of the features that pull most to A, that both sets share, that pull most to B."""

    a: NDArray[np.intp]
    shared: NDArray[np.intp]
    b: NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(View):
    """What :func:`compare` found out about two sets.

    Parameters
    ----------
    name_a, name_b : str
        What the two sets are called.
    frame : JointFrame
        The joint frame of the two sets; ``frame.align`` scores more rows.
    group_a, group_b : ScoredGroup
        The rows of A and of B, scored by leave-one-out.
    group_z : ScoredGroup or None
        The rows of Z, where some were given.
    separation : Separation
        How far apart the angles of A and of B are.
    audit : LabelAudit or None
        Rows that look more like the other set. They are the kept rows of `group_z` where labels
        were given for Z (``audit_of == "z"``); otherwise those of `group_a` followed by those of
        `group_b`, with the set's name as the label (``audit_of == "sets"``).
    effect_a, effect_b : ndarray of shape (d,)
        Mean attribution of each feature over rows of A and of B: how far it pulls them.
    feature_names : tuple of str
        One name per feature; where the data has none ``x0``, ``x1``, … or ``pixel 3,5``, …
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) where a row is a picture.
    settings : dict
        The settings used, ready for JSON.
    warnings : tuple of Note
        What a reader should know before believing the numbers.
    version : str
        The version of cospan that made this.
    seconds : float
        How long it took.
    audit_of : str
        ``"sets"`` or ``"z"``: which rows `audit` is about.
    changes : Changes
        Which columns and relations changed, data quality, and the verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = compare({"Barolo": X[y == 0], "Grignolino": X[y == 1]})
    >>> print(found.verdict.sentences[0])
    Barolo and Grignolino differ (p at most 0.001).
    >>> found.features[0].name, found.features[0].change
    ('proline', 'mean')
    """

    name_a: str
    name_b: str
    frame: JointFrame
    group_a: ScoredGroup
    group_b: ScoredGroup
    group_z: ScoredGroup | None
    separation: Separation
    audit: LabelAudit | None
    effect_a: NDArray[np.float64]
    effect_b: NDArray[np.float64]
    feature_names: tuple[str, ...]
    changes: Changes
    audit_of: str = "sets"

    @classmethod
    def of(cls, result: Result) -> Comparison:
        """The view of a result."""
        angles = [group.angles for group in result.every_group if group.angles is not None]
        if not isinstance(result.model, JointFrame) or result.pair is None:
            raise InputError("This result has no joint frame; look at it as a ManyComparison.")
        return cls(
            **shared(result, cls),
            _groups=result.every_group,
            name_a=result.names[0],
            name_b=result.names[1],
            frame=result.model,
            group_a=angles[0],
            group_b=angles[1],
            group_z=angles[2] if len(angles) > 2 else None,
            separation=result.pairs.between(0, 1),
            audit=result.audited.audit,
            audit_of=result.audited.of,
            **result.pair._asdict(),
        )

    @property
    def names(self) -> tuple[str, str]:
        """What the two sets are called."""
        return self.name_a, self.name_b

    @property
    def model(self) -> JointFrame:
        return self.frame

    @property
    def fitted(self) -> JointFrame:
        return self.frame

    @property
    def groups(self) -> tuple[ScoredGroup, ...]:
        """The scored groups: A, B and, where there is one, Z."""
        both = (self.group_a, self.group_b)
        return both if self.group_z is None else (*both, self.group_z)

    @property
    def p(self) -> float:
        """The p-value of "both sets come from one distribution"; NaN with too few rows."""
        return self.changes.p

    @property
    def size(self) -> Size:
        """How different the sets are: the AUC of the angle, with ``.low`` and ``.high``."""
        return self.separation.auc

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What changed, the clearest first."""
        return self.changes.findings

    @property
    def verdict(self) -> Verdict:
        """Whether the sets differ, how much, in what and how sure that is; print it."""
        return self.changes.verdict

    @property
    def features(self) -> FeatureTable:
        """One row for each column of the data, changed ones first."""
        return self.changes.features

    @property
    def feature_pairs(self) -> PairTable:
        """Relations between columns that changed, the surest first."""
        return self.changes.feature_pairs

    @property
    def separated(self) -> bool:
        """Whether left-out rows lean to their own set at all.

        Where they do not, the sets are alike (or share rows): every calibrated angle is 45°, and
        every distance 0.
        """
        return self.frame.gain > 0 and self.size > 0.5

    @property
    def audited(self) -> tuple[ScoredGroup, ...]:
        """The groups whose rows `audit` is about, in its order."""
        return self.groups[2:] if self.audit_of == "z" else self.groups[:2]

    @property
    def audit_ids(self) -> NDArray[Any]:
        """Identifiers of the rows of `audit`, in its order."""
        return joined([group.ids for group in self.audited])

    @property
    def audit_degrees(self) -> NDArray[np.float64]:
        """Angles in degrees of the rows of `audit`, in its order."""
        return np.concatenate([np.asarray(group.alignment.degrees) for group in self.audited])

    @property
    def feature_spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Root mean square of each feature about the centre, in A and in B, shrinkage included."""
        H = np.asarray(self.frame.H, dtype=float)
        c, s = np.asarray(self.frame.c, dtype=float), np.asarray(self.frame.s, dtype=float)
        spread = [np.sqrt((w * w) @ (H * H)) for w in (c, s)]
        if not self.frame.balance:  # then the frame holds sums over rows, not means
            spread[0] /= np.sqrt(self.frame.n_a)
            spread[1] /= np.sqrt(self.frame.n_b)
        return spread[0], spread[1]

    def top_features(self, n: int = 5) -> TopFeatures:
        """The features to name first.

        Most A-like are those with the lowest `effect_a` (on average they pull A's rows to A),
        most B-like those with the highest `effect_b`; most shared are, of the others, those
        whose spread is large in A and in B alike.
        """
        largest = max(np.abs(self.effect_a).max(), np.abs(self.effect_b).max())
        # In sets that are alike the largest pull is no pull either. The angle has the gain in it.
        pull = self.frame.gain * len(self.effect_a)
        weak = max(NEGLIGIBLE * largest, NO_PULL / pull if pull > 0 else np.inf)
        to_a = np.argsort(self.effect_a, kind="stable")[:n]
        to_b = np.argsort(-self.effect_b, kind="stable")[:n]
        to_a, to_b = to_a[self.effect_a[to_a] < -weak], to_b[self.effect_b[to_b] > weak]
        common = np.minimum(*self.feature_spread)
        common[np.concatenate([to_a, to_b])] = -1
        common[self.frame.geometry.constant_features] = -1
        shared = np.argsort(-common, kind="stable")[:n]
        return TopFeatures(to_a, shared[common[shared] > 0], to_b)

    def panel(self, *, permutations: int = 199, random_state: int = 0) -> Panel:
        """What other measures say about the same sets: MMD, Fréchet distance, C2ST and so on.

        Computed on the rows that are kept, at most 2,000 of each set; features in units of their
        spread where the angle takes them so (`units="own"`), else as they came.

        Parameters
        ----------
        permutations, random_state
            As in :func:`cospan.measure_panel`.

        Returns
        -------
        Panel
            With the angle's own AUC as its first measure.
        """
        from cospan.measures import measure_panel

        if self.group_a.rows is None or self.group_b.rows is None:
            raise InputError(
                "The rows were not kept, as with summaries; call measure_panel on the data."
            )
        return measure_panel(
            self.group_a.rows,
            self.group_b.rows,
            units="own" if self.frame.geometry.units == "own" else "raw",
            permutations=permutations,
            random_state=random_state,
            angle=(float(self.size), None if math.isnan(self.p) else self.p),
            feature_names=self.feature_names,
        )

    def lines(self, width: int = 80) -> Iterator[Line]:
        return narrow(pair_lines(self, width), width)

    def to_dict(self) -> dict[str, object]:
        return pair_dict(self)

    def __repr__(self) -> str:
        z = "" if self.group_z is None else f", {self.group_z.n} scored"
        return (
            f"<Comparison of {self.name_a!r} ({self.group_a.total} rows) with {self.name_b!r} "
            f"({self.group_b.total} rows){z}: Fisher-Rao {self.separation.fisher_rao:.3f}>"
        )
