"""From a model and sampled rows of two sets to what changed: one table, one list, one verdict.

D = ¼ Σ shift_i² + ½ Σ log cosh τ_i, the difference of two sets, is a sum over directions. Each
feature's part in it is *value times pull*: in the first sum, ¼ δᵀW⁻¹δ with δ the difference of the
means and W the sum of both covariances, |δ_j (W⁻¹δ)_j|; along direction i, whose coordinate
y_i = Σ_j x_j g_ji has the covariance h_ij with x_j and the variance Σ_j g_ji h_ij = 1, |g_ji h_ij|.
Sizes are taken because single products may be negative; they are scaled to add up to D again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.checks import as_rows
from cospan.base.tolerance import NO_SHARE, NOT_ZERO
from cospan.base.types import Data, Floats, Record, Values

from .columns import (
    Column,
    FeatureChange,
    FeatureTable,
    PairTable,
    columns_of,
    held_in,
    pair_table,
    read_columns,
    read_texts,
    standardised,
    text_columns,
)
from .engine import FEWEST_ROWS, Found, Smallest, find
from .findings import Finding
from .functions import Function, Reading
from .quality import Quality, QualityNote, check_quality
from .size import Size
from .test import share_z

if TYPE_CHECKING:
    from cospan.data import EncodingPlan, SetProfile
    from cospan.model import JointFrame

#: From which AUC on a difference is called so: those of two normal distributions 0.2, 0.5 and 0.8
#: standard deviations apart, Cohen's cuts.
SIZES = ((0.71, "large"), (0.64, "medium"), (0.56, "small"))
#: Notes on quality that belong into the verdict.
WRITTEN = ("writing", "blanks", "other case")
#: Directions handled at once, times features.
_BLOCK = 2**22
#: What is found where there are too few rows for a test.
UNTESTED = Found()


class Totals(NamedTuple):
    """Of a set of which only a sample of rows is at hand: its rows, means and variances, (d,)."""

    rows: float
    mean: Floats
    variance: Floats


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
    """What a comparison of two sets found. Print it.

    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + [0, 0, 2]
    >>> verdict = compare(A, B, n_permutations=99).verdict
    >>> verdict.size, verdict.mostly, verdict.features
    ('large', 'location', ('x2',))
    """

    differs: bool  # whether `pvalue` is at most 0.05
    pvalue: float  # of "both sets come from one distribution"
    rows_tested: tuple[int, int]  # rows of A and of B behind it
    n_permutations: int  # relabellings behind it
    size: str  # by the AUC "none", "small", "medium" or "large"; "unknown" without one
    auc: Size | None  # how well the angle separates rows that had no part in its fit
    mostly: str  # the largest of `shares`
    #: What share of the difference is location, scale and shape; empty where nothing differs
    shares: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()  # what changed, the clearest first
    notes: tuple[QualityNote, ...] = ()  # what is the same but written differently
    rows: RowsToCheck = NO_ROWS  # how many rows are worth a look
    sets: tuple[str, str] = ("A", "B")  # what the sets are called
    kinds: Mapping[str, str] = field(default_factory=dict, repr=False)  # of columns, by name
    #: For each column, the smallest changes that would have been seen in four of five comparisons
    smallest: Mapping[str, Smallest] = field(default_factory=dict, repr=False)

    @property
    def features(self) -> tuple[str, ...]:
        """Columns with a finding, the clearest first."""
        return tuple(dict.fromkeys(name for one in self.findings for name in one.columns))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, most important first."""
        from cospan.wording import verdict_sentences

        return verdict_sentences(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> Record:
        """Plain types only."""
        return {
            "differs": self.differs,
            "pvalue": None if math.isnan(self.pvalue) else self.pvalue,
            "rows_tested": list(self.rows_tested),
            "n_permutations": self.n_permutations,
            "size": self.size,
            "auc": None if self.auc is None else self.auc.to_dict(),
            "mostly": self.mostly,
            "shares": dict(self.shares),
            "findings": [one.to_dict() for one in self.findings],
            "features": list(self.features),
            "sentences": list(self.sentences),
            "rows": self.rows._asdict(),
            "smallest": {
                name: {key: None if math.isnan(x) else x for key, x in one._asdict().items()}
                for name, one in self.smallest.items()
            },
        }


@dataclass(frozen=True)
class Changes:
    """What changed between two sets.

    >>> from cospan import compare
    >>> x = np.arange(60.0)[:, None]
    >>> changes = compare(x, x + 90, n_permutations=99).changes
    >>> changes.features[0].change, changes.verdict.mostly
    ('mean', 'location')
    """

    features: FeatureTable  # one row for each of the user's columns, changed ones first
    feature_pairs: PairTable  # relations that were compared, the surest first
    quality: Quality
    verdict: Verdict

    def to_dict(self) -> Record:
        """Plain types only, for JSON."""
        return {
            "verdict": self.verdict.to_dict(),
            "features": self.features.to_dict(),
            "feature_pairs": self.feature_pairs.to_dict(),
            "quality": self.quality.to_dict(),
        }


def find_changes(
    frame: JointFrame,
    rows_a: Data,
    rows_b: Data,
    *,
    names: Sequence[str] | None = None,
    plan: EncodingPlan | None = None,
    profiles: tuple[SetProfile, SetProfile] | None = None,
    auc: Size | None = None,
    set_names: tuple[str, str] = ("A", "B"),
    to_check: RowsToCheck = NO_ROWS,
    keys: NDArray[np.uint64] | None = None,
    groups: Values | None = None,
    totals: tuple[Totals, Totals] | None = None,
    watched: tuple[Floats | None, Floats | None] = (None, None),
    permutations: int = 999,
    seed: int = 0,
) -> Changes:
    """Find what changed between the two sets of a frame.

    `rows_a` and `rows_b` are encoded rows of both, all of them or random samples. `names` are the
    features' (by default the frame's, or x0, x1, …); `plan` says how the user's columns became
    features, else every feature is a column of numbers. `profiles` say what the columns hold over
    all rows. `keys` tell rows apart that
    are equal only as they are encoded; `groups` are rows that belong together; `totals` are the
    features' means and variances over all rows, where the rows are samples; `watched` is how texts
    that make no feature are written, in the order of the plan's `watched`.
    """
    a, b = (
        np.asarray(arrays.to_numpy(as_rows(rows, name, d=frame.n_features)), dtype=np.float64)
        for rows, name in ((rows_a, "A"), (rows_b, "B"))
    )
    texts = () if any(part is None for part in watched) else text_columns(plan)
    names = names or frame.feature_names or [f"x{i}" for i in range(frame.n_features)]
    columns = (*columns_of(plan, names, profiles), *texts)
    parts = plan.watched if plan is not None and texts else ()
    read = [
        [*read_columns(columns, rows), *read_texts(columns, parts, part)]
        for rows, part in zip((a, b), watched, strict=True)
    ]
    found = UNTESTED
    if min(len(a), len(b)) >= FEWEST_ROWS:
        with arrays.one_blas_thread():  # many small products: threads would wait for each other
            found = find(
                [column.name for column in columns], *read, permutations=permutations, seed=seed,
                groups=groups, keys=keys,
                known=None if totals is None else _over_all_rows(columns, *totals),
            )  # fmt: skip
    shares = _shares(frame, found, texts)
    table = _table(columns, read, profiles, found, _parts(frame, found))
    quality = check_quality(table, profiles)
    verdict = Verdict(
        differs=found.differs,
        pvalue=found.p,
        rows_tested=found.rows,
        n_permutations=found.n_permutations,
        size="none" if not found.differs else "unknown" if auc is None else size_word(auc),
        auc=auc,
        mostly=max(shares, key=lambda kind: shares[kind], default=""),
        shares=shares,
        findings=found.findings,
        notes=tuple(note for note in quality if note.code in WRITTEN),
        rows=to_check,
        sets=set_names,
        kinds={column.name: column.kind for column in columns},
        smallest=found.seen,
    )
    return Changes(table, pair_table(found), quality, verdict)


def _over_all_rows(columns: Sequence[Column], a: Totals, b: Totals) -> dict[Function, float]:
    """z of means, levels and gaps from the means of all rows."""
    error = np.sqrt(a.variance / a.rows + b.variance / b.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.nan_to_num((a.mean - b.mean) / error, posinf=0.0, neginf=0.0).tolist()

    def share(j: int) -> float:
        return share_z(a.mean[j] * a.rows, a.rows, b.mean[j] * b.rows, b.rows, z[j])

    found = {}
    for k, column in enumerate(columns):
        own = [share(j) if column.levels else z[j] for j in column.features]
        if column.kind == "boolean":
            own = [-own[0], own[0]]
        for level, value in zip(column.levels or (), own, strict=False):
            found[Function("level", k, -1, level)] = value
        if column.levels is None and own and column.kind != "time of day":
            found[Function("mean", k)] = own[0]
        if column.indicator is not None:
            found[Function("missing", k)] = share(column.indicator)
    return found


def _shares(frame: JointFrame, found: Found, texts: Sequence[Column]) -> dict[str, float]:
    """What share of the difference is location, scale and shape.

    None where nothing differs but texts, which have no place in the geometry, or with the linear
    span, which has no parts.
    """
    if not found.differs or not frame.geometry.affine:
        return {}
    if found.findings and {one.column for one in found.findings} <= {one.name for one in texts}:
        return {}
    whole = frame.parts
    if not 0 < whole.total < math.inf:
        return {}
    return {kind: getattr(whole, kind) / whole.total for kind in ("location", "scale", "shape")}


def _parts(frame: JointFrame, found: Found) -> Floats:
    """Each feature's part of the difference; NaN where there is none to divide."""
    if found is UNTESTED or not frame.geometry.affine:
        return np.full(frame.n_features, math.nan)
    return feature_parts(frame).total


def _table(
    columns: Sequence[Column],
    read: Sequence[Sequence[Reading]],
    profiles: tuple[SetProfile, SetProfile] | None,
    found: Found,
    parts: Floats,
) -> FeatureTable:
    first = {name: one for one in reversed(found.findings) for name in one.columns}
    place = {column.name: k for k, column in enumerate(columns)}
    readings = [{one.column: one for one in reversed(side)} for side in read]
    total = float(parts.sum()) if found.differs else math.nan
    table = []
    for name in found.order or place:
        column, finding = columns[place[name]], first.get(name)
        a, b = (
            held_in(column, side[place[name]], profile)
            for side, profile in zip(readings, profiles or (None, None), strict=True)
        )
        mine = [*column.features, *([] if column.indicator is None else [column.indicator])]
        part = float(parts[mine].sum())
        table.append(
            FeatureChange(
                name=name,
                kind=column.kind,
                changed=finding is not None,
                change="none" if finding is None else finding.kind,
                p_adjusted=found.column_p.get(name, math.nan) if finding is None else finding.p,
                difference=standardised(column.kind, a, b),
                a=a,
                b=b,
                part=part,
                share=part / total if 0 < total < math.inf else math.nan,
                finding=finding,
            )
        )
    return FeatureTable(tuple(table))


# ---- the difference, distributed over the features -----------------------------------------------


class FeatureParts(NamedTuple):
    """Each feature's part of D, (d,): that of the means, and that of spreads and relations."""

    location: Floats
    spread: Floats

    @property
    def total(self) -> Floats:
        return self.location + self.spread


def feature_parts(frame: JointFrame) -> FeatureParts:
    """Distribute the difference of a frame's two sets over its features."""
    shifts = arrays.to_numpy(frame.shifts)
    whole = np.asarray(arrays.to_numpy(frame.differences), dtype=np.float64)
    far = 0.25 * shifts**2
    return FeatureParts(_location(frame, shifts), _spread(frame, np.maximum(whole - far, 0.0)))


def _location(frame: JointFrame, shifts: Floats) -> Floats:
    means = arrays.to_numpy(frame.geometry.means)
    per_unit = arrays.to_numpy(frame.geometry.per_unit())
    pull = arrays.to_numpy(frame.inverse) @ shifts
    if frame.basis is not None:
        pull = arrays.to_numpy(frame.basis) @ pull
    size = np.abs((means[1] - means[0]) * per_unit * pull)
    return np.asarray(size * (0.25 * float(shifts @ shifts) / max(size.sum(), NOT_ZERO)))


def _spread(frame: JointFrame, parts: Floats) -> Floats:
    """Distribute parts of directions, (m,), over the features, (d,)."""
    core, inverse = arrays.to_numpy(frame.core), arrays.to_numpy(frame.inverse)
    basis = None if frame.basis is None else arrays.to_numpy(frame.basis)
    varies = arrays.to_numpy(frame.geometry.unit) > 0
    found = np.zeros(frame.n_features)
    step = max(1, _BLOCK // frame.n_features)
    for i in range(0, len(parts), step):
        h, g = core[i : i + step], inverse[:, i : i + step].T
        if basis is not None:
            h, g = h @ basis.T, g @ basis.T
        size = np.abs(h * g) * varies
        here = parts[i : i + step]
        scaled = size / np.maximum(size.sum(axis=1, keepdims=True), NOT_ZERO)
        # A direction that only one set has is infinitely far off: so are its features then.
        endless = ~np.isfinite(here)
        found += np.where(endless, 0.0, here) @ scaled
        found[(scaled[endless] > NO_SHARE).any(axis=0)] = np.inf
    return found
