"""What a comparison of K sets found: the view of a result without a joint frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.audit import LabelAudit
from cospan.base.text import chance, listed, plural, set_name
from cospan.base.types import Floats
from cospan.comparison.fitting import as_classifier
from cospan.comparison.pairs import Pairs, both_keys
from cospan.comparison.plain import many_dict
from cospan.comparison.result import Line, Result, View, shared
from cospan.comparison.score_files import ambiguity, joined
from cospan.comparison.scorer import pair_angle
from cospan.comparison.scoring import Group, KeptRows
from cospan.comparison.text import many_lines, narrow
from cospan.errors import InputError
from cospan.evidence import Changes, Separation, find_changes, plan_from
from cospan.model import JointFrame, ManyFrame, SetCosts, set_number

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier


MOST_PAIRS = 45  # shown one by one, the closest ones
MOST_TESTED = 5_000  # features over all pairs: more would take long
MOST_NUMBERS = 600_000  # that tests look at, over all pairs
FEWEST_ROWS = 200
FIRST_COLUMNS = 3
#: Relabellings of the rows of a pair: while there are so few pairs, and of more.
FEW_PAIRS, RELABELLINGS = 10, (999, 199)


@dataclass(frozen=True, eq=False, repr=False)
class ManyComparison(View):
    """What :func:`compare_many` found out about K sets.

    Parameters
    ----------
    names : tuple of K str
        What the sets are called, in the order given.
    rows : tuple of K int
        How many rows each set has.
    scored : tuple of K int
        How many of them were scored: all, or those of a uniform sample.
    name_z, rows_z : str or None, int
        The further rows that were scored, where there are some.
    costs : SetCosts
        The sets, ready to score more rows: ``costs.weights(rows)``.
    frame : ManyFrame
        The directions all sets have, some, or one.
    weights : ndarray of shape (n, K)
        How much each set explains each sample; a row sums to 1. A set's own rows are scored as
        if they had not been part of it.
    group : ndarray of shape (n,), int
        The number of the set a sample belongs to; K for further rows.
    ids : ndarray of shape (n,)
        Identifiers of the samples: row numbers, index values or file names.
    confusion : ndarray of shape (K, K), int
        ``confusion[i, j]``: how many of all scored rows of set i are explained best by set j.
    pair_counts : ndarray of shape (K, K, 90), int
        ``pair_counts[i, j]``: histogram, a degree per bin, of the angle between set i (0°) and
        set j (90°) of all scored rows of set i.
    linkage : ndarray of shape (K - 1, 4)
        Which sets join first, as SciPy's ``dendrogram`` takes it (average linkage).
    order : ndarray of shape (K,), int
        Numbers of the sets, so ordered that close ones are side by side.
    audit : LabelAudit
        Rows that another set explains better than their own; its rows are those of `weights`
        whose `group` is below K, in that order.
    feature_names : tuple of str or None
    image_shape : tuple of int or None
    settings : dict
        The settings used, ready for JSON.
    warnings : tuple of Note
        What a reader should know before believing the numbers.
    version : str
    seconds : float
    pairs : Pairs
        How far apart the sets of each pair are: see :meth:`separation`.
    typicality : ndarray of shape (n, K)
        How usual each sample is for each set: a p-value, NaN where nothing is known.
    strange : ndarray of shape (n,)
        The p-value of belonging to any set, behind `neither`.
    notable : KeptRows or None
        Values of the samples that look most like another set, that no set finds usual, or that
        are between two sets; ``row_index`` says which of the samples they are.
    samples : tuple of K ndarray
        Rows of each set, drawn at random, at most 1,000; empty where rows are pictures.
    merged : tuple of K ndarray or None
        Hashes of those rows' levels that share a feature, where there are such.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import compare_many
    >>> X, y = load_iris(return_X_y=True)
    >>> names = ("setosa", "versicolor", "virginica")
    >>> found = compare_many({name: X[y == k] for k, name in enumerate(names)})
    >>> found.closest(1)[0][:2]
    ('versicolor', 'virginica')
    >>> found.weights.shape
    (150, 3)
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    scored: tuple[int, ...]
    name_z: str | None
    rows_z: int
    costs: SetCosts
    frame: ManyFrame
    weights: Floats
    group: NDArray[np.intp]
    ids: NDArray[Any]
    confusion: NDArray[np.int64]
    pair_counts: NDArray[np.int64]
    linkage: Floats
    order: NDArray[np.intp]
    audit: LabelAudit
    feature_names: tuple[str, ...] | None
    pairs: Pairs
    typicality: Floats
    strange: Floats
    notable: KeptRows | None = None
    samples: tuple[Floats, ...] = ()
    merged: tuple[NDArray[np.uint64] | None, ...] = ()

    @classmethod
    def of(cls, result: Result) -> ManyComparison:
        """The view of a result."""
        if not isinstance(result.model, SetCosts) or not (result.directions and result.linkage):
            raise InputError("This result has a joint frame; look at it as a Comparison.")
        own, further = result.groups, result.further
        same = {
            **shared(result, cls),
            "feature_names": result.model.feature_names,
            "linkage": result.linkage.joined,
            "settings": {k: v for k, v in result.settings.items() if k != "n_permutations"},
        }
        kept = [group.kept for group in result.every_group]
        weights = np.concatenate([part.weights for part in kept])
        typicality = np.concatenate([part.typicality for part in kept])
        return cls(
            **same,
            _groups=_sharing(result.every_group, weights, typicality),
            rows=tuple(group.total for group in own),
            scored=tuple(group.n for group in own),
            name_z=None if further is None else further.name,
            rows_z=0 if further is None else further.n,
            costs=result.model,
            frame=result.directions,
            weights=weights,
            group=np.repeat(np.arange(len(kept)), [len(part.ids) for part in kept]),
            ids=joined([part.ids for part in kept]),
            confusion=np.stack([group.nearest for group in own]),
            pair_counts=np.stack([group.pair_counts for group in own]),
            order=result.linkage.leaves,
            audit=result.audited.audit,
            typicality=typicality,
            strange=np.concatenate([np.asarray(part.strange) for part in kept]),
            notable=_kept(result.every_group),
        )

    # ---- per pair -----------------------------------------------------------------------------

    @cached_property
    def fisher_rao(self) -> Floats:
        """(K, K): distance of the two sets of each pair."""
        return self.pairs.matrix()

    # ---- per sample ---------------------------------------------------------------------------

    @property
    def nearest(self) -> NDArray[np.intp]:
        """(n, 2): numbers of the two sets that explain each sample best, the best one first."""
        return np.argsort(-self.weights, axis=1, kind="stable")[:, :2]

    @property
    def theta(self) -> Floats:
        """(n,): the angle between each sample's two nearest sets, in radians.

        0: the nearest one alone; π/4: both alike.
        """
        first, second = self.nearest.T
        return pair_angle(self.weights, first, second)

    @property
    def degrees(self) -> Floats:
        """`theta` in degrees."""
        return np.degrees(self.theta)

    @property
    def entropy(self) -> Floats:
        """(n,): how ambiguous each sample is: 0 for one set alone, 1 for all sets alike."""
        return ambiguity(self.weights)

    @property
    def neither(self) -> NDArray[np.bool_]:
        """(n,): samples that are like no set, at most one in twenty of them by mistake."""
        return np.concatenate([group.neither for group in self._groups])

    def pair_theta(self, a: str | int, b: str | int) -> Floats:
        """(n,): the angle of each sample between two sets in radians: 0 for `a`, π/2 for `b`."""
        return pair_angle(self.weights, set_number(a, self.names), set_number(b, self.names))

    # ---- per set and pair ---------------------------------------------------------------------

    @property
    def shrinkage(self) -> float:
        """α, the shrinkage in use."""
        return self.costs.geometry.shrinkage

    @property
    def accuracy(self) -> float:
        """How often a row's own set explains it best, every set counting alike."""
        return float(np.mean(np.diagonal(self.confusion) / self.confusion.sum(axis=1)))

    def distance(self, a: str | int, b: str | int) -> float:
        """Fisher-Rao distance of two sets; 0 for a set and itself."""
        return float(self.fisher_rao[set_number(a, self.names), set_number(b, self.names)])

    def separation(self, a: str | int, b: str | int) -> Separation:
        """How far apart two sets are: AUC, Fisher-Rao, Hellinger and overlap."""
        return self.pairs.between(set_number(a, self.names), set_number(b, self.names))

    def closest(self, n: int = 5) -> list[tuple[str, str]]:
        """The `n` pairs of sets that are closest, closest first."""
        return [(self.names[i], self.names[j]) for i, j in self._by_distance()[:n]]

    @cached_property
    def pair_changes(self) -> PairChanges:
        return PairChanges(self)

    def changes(self, a: str | int, b: str | int) -> Changes | None:
        """What changed from set `a` to set `b`, as far as the rows in `samples` show it.

        Columns, relations and a verdict, as in :attr:`Comparison.changes`; None where rows are
        pictures.
        """
        found = self.pair_changes.between(*(set_number(x, self.names) for x in (a, b)))
        return None if found is None else found.changes

    def _by_distance(self) -> list[tuple[int, int]]:
        """Numbers of the sets of all pairs, closest first; of equal distances the lower AUC."""
        first, second = np.triu_indices(len(self.names), 1)
        auc = self.pairs.matrix("auc")[first, second]
        order = np.lexsort((auc, self.fisher_rao[first, second]))
        return [(int(first[k]), int(second[k])) for k in order]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words: columns that changed, the closest sets, how well they part."""
        changes = tuple(map(str, self.schema_changes))
        if not np.any(self.fisher_rao):
            same = "The sets cannot be separated: all explain every row equally well."
            return (*changes, same)
        order = self.closest(len(self.names) ** 2)
        closest, farthest, apart, own = (
            "the closest are {a} and {b} ({d:.2f})",
            "the farthest are {a} and {b} ({d:.2f})",
            "On the scale from 0 (alike) to 3.14 (apart) {pairs}.",
            "Of 100 rows {n:.0f} are explained best by their own set, every set counting alike (by "
            "chance {by_chance:.0f}).",
        )
        named = [
            text.format(a=set_name(a), b=set_name(b), d=self.distance(a, b))
            for text, (a, b) in [(closest, order[0]), (farthest, order[-1])][: len(order)]
        ]
        n, by_chance = 100 * self.accuracy, 100 / len(self.names)
        said = apart.format(pairs=", ".join(named)), own.format(n=n, by_chance=by_chance)
        return (*changes, *said)

    def classifier(self) -> AlignmentAngleClassifier:
        """The sets as a fitted estimator, whose classes are their names; :func:`cospan.save` it."""
        return as_classifier(self)

    @property
    def fitted(self) -> SetCosts:
        return self.costs

    @property
    def model(self) -> AlignmentAngleClassifier:
        return self.classifier()

    # ---- showing ------------------------------------------------------------------------------

    def lines(self, width: int = 80) -> Iterator[Line]:
        return narrow(many_lines(self, width), width)

    def to_dict(self) -> dict[str, object]:
        return many_dict(self)

    def __repr__(self) -> str:
        z = f", {self.rows_z} scored" if self.name_z is not None else ""
        names = ", ".join(map(repr, self.names[:4])) + (", …" if len(self.names) > 4 else "")
        return f"<ManyComparison of {len(self.names)} sets ({names}), {sum(self.rows)} rows{z}>"


def _sharing(groups: Sequence[Group], weights: Floats, typicality: Floats) -> tuple[Group, ...]:
    """The groups with their parts of these arrays, so that nothing is held twice."""
    ends = np.cumsum([0, *(len(group.kept.ids) for group in groups)])
    slices = map(slice, ends, ends[1:])
    return tuple(
        g._replace(kept=g.kept._replace(weights=weights[own], typicality=typicality[own]))
        for g, own in zip(groups, slices, strict=True)
    )


def _kept(groups: Sequence[Group]) -> KeptRows | None:
    """The values kept of all groups, one after the other."""
    kept = [group.notable for group in groups]
    if any(part is None for part in kept):
        return None
    starts = np.cumsum([0, *(len(group.kept.ids) for group in groups)])
    parts = [(part, start) for part, start in zip(kept, starts, strict=False) if part is not None]
    return KeptRows(
        np.concatenate([part.rows for part, _ in parts]),
        np.concatenate([part.row_index + start for part, start in parts]),
        None,
    )


# ---- what changed between two of them ----------------------------------------------------------


class ComparedPair(NamedTuple):
    """The rows of two sets that were looked at, and what changed from the first to the second."""

    samples: tuple[Floats, Floats]
    changes: Changes


class PairChanges:
    """The pairs of a comparison of many sets; `shown` are those that are shown one by one."""

    def __init__(self, c: ManyComparison) -> None:
        self._c = c
        self.names = c.feature_names or tuple(f"x{k}" for k in range(c.costs.n_features))
        self.shown = c._by_distance()[:MOST_PAIRS]
        self._tested = max(1, MOST_TESTED // len(self.names))
        self._known: dict[tuple[int, int], ComparedPair | None] = {}

    def between(self, i: int, j: int) -> ComparedPair | None:
        """What changed from set i to set j.

        None of pictures, and of sets in which nothing varies.
        """
        if (i, j) not in self._known:
            self._known[i, j] = self._find(i, j)
        return self._known[i, j]

    def if_shown(self, i: int, j: int) -> ComparedPair | None:
        """The same for the pairs that are shown; with very many features, for the closest ones."""
        return self.between(i, j) if (i, j) in self.shown[: self._tested] else None

    def in_short(self, i: int, j: int) -> str:
        """The first columns that changed, in a line; empty where that cannot be said."""
        found = self.if_shown(i, j)
        if found is None:
            return ""
        changed, n = found.changes.features.changed, len(found.changes.features)
        if not changed:
            return "no column changed"
        text = "{n:,} of {columns} changed ({p}): {first}"
        if found.changes.features.nameless:
            text = "{n:,} of {columns} changed ({p})"
        first = listed([one.name for one in changed], FIRST_COLUMNS)
        known = {"columns": plural(n, "column"), "p": chance(changed[0].p_adjusted)}
        return text.format(n=len(changed), first=first, **known)

    def to_dict(self) -> list[dict[str, Any]]:
        """The pairs that are shown, closest first, as plain types."""
        rows = []
        for i, j in self.shown:
            found, apart = self.if_shown(i, j), self._c.pairs.between(i, j)
            row: dict[str, Any] = {"sets": [self._c.names[i], self._c.names[j]]}
            row |= {"auc": apart.auc.to_dict(), "fisher_rao": apart.fisher_rao}
            row |= dict.fromkeys(("verdict", "features", "feature_pairs"))
            if found is not None:
                changes = found.changes
                row["verdict"] = changes.verdict.to_dict()
                row["features"] = [one.to_dict() for one in changes.features.changed]
                row["feature_pairs"] = [
                    {"first": one.first, "second": one.second, "r_a": one.r_a, "r_b": one.r_b,
                     "p_adjusted": one.p_adjusted}
                    for one in changes.feature_pairs.changed
                ]  # fmt: skip
            rows.append(row)
        return rows

    def _find(self, i: int, j: int) -> ComparedPair | None:
        c, g = self._c, self._c.costs.geometry
        if not c.samples:
            return None
        n_pairs = min(len(self.shown), self._tested)
        most = max(FEWEST_ROWS, MOST_NUMBERS // (n_pairs * len(self.names)))
        kept = [slice(None, None, -(-len(c.samples[k]) // most)) for k in (i, j)]
        a, b = (c.samples[k][own] for k, own in zip((i, j), kept, strict=True))
        beside = [c.merged[k] if c.merged else None for k in (i, j)]
        one, two = (x if x is None else x[own] for x, own in zip(beside, kept, strict=True))
        same: Any = {"span": g.span, "units": g.units, "shrinkage": g.shrinkage}
        if g.affine:
            same |= {"pooling": g.pooling, "dof": g.dof}
        try:
            frame = JointFrame.fit(a, b, **same, calibrate=False)
        except InputError:  # nothing varies, or there is one row
            return None
        found = find_changes(
            frame,
            a,
            b,
            names=self.names,
            plan=plan_from(g.encoding),
            auc=c.pairs.between(i, j).auc,
            set_names=(c.names[i], c.names[j]),
            keys=both_keys(one, two),
            permutations=RELABELLINGS[n_pairs > FEW_PAIRS],
        )
        return ComparedPair((np.asarray(a), np.asarray(b)), found)
