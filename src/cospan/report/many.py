"""Comparison of K sets → :class:`ManyContent`, from which every format is written.

As for two sets, the content is small whatever the size of the data: angles of pairs are counts in
30 bins, and at most :data:`MOST_SAMPLES` rows are listed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._text import clean, count, percent, significant
from ._words import Number, _plain, isolated

if TYPE_CHECKING:
    from cospan.comparison import ManyComparison

__all__ = ["Kinds", "ManyContent", "ManyGroup", "ManySample", "many_content_of"]

BINS = 30
MOST_SAMPLES = 600  # rows listed; those in doubt come first
MOST_CORNERS = 1500  # and rows in the triangle of three sets
APART = 3.1415  # a distance above: no bin holds rows of both sets
MOST_NUMBERS = 40_000  # weights in the page: fewer rows where there are many sets


@dataclass(frozen=True)
class ManyGroup:
    """One of the sets; ``key`` is its number from 1, or Z for further rows."""

    key: str
    name: str
    rows: int
    scored: int
    recall: float | None
    own_directions: int


@dataclass(frozen=True)
class Kinds:
    """How many directions all sets have, some, or one."""

    common: int
    partial: int
    isolated: int


@dataclass(frozen=True)
class ManySample:
    """A row: which group it is of, and how much each set explains it."""

    id: str
    group: int
    weights: tuple[float, ...]
    nearest: int
    second: int
    theta: float
    entropy: float
    misplaced: bool


@dataclass(frozen=True)
class ManyContent:
    """Everything the report of K sets says, in plain values that JSON can carry.

    Parameters
    ----------
    title, verdict, numbers, warnings, settings, sampling, version
        As in :class:`~cospan.report.content.ReportContent`.
    groups : tuple of ManyGroup
        The K sets and, where further rows were scored, Z.
    order : tuple of int
        Numbers of the sets, close ones side by side.
    distance, low, high : K tuples of K floats
        Fisher-Rao distances and the ends of their intervals.
    confidence : float
    bins : int
        Bins of the histograms.
    counts : K tuples of K tuples of int
        ``counts[i][j]``: angles of the rows of set i between set i (0°) and set j (90°).
    confusion : K tuples of K int
        Rows of set i that set j explains best.
    linkage : tuple of (float, float, float, float)
        Which sets join first, as SciPy writes it.
    kinds : Kinds
    samples : tuple of ManySample
        Rows listed one by one, the most ambiguous first.
    corners : tuple of (float, float, int)
        For three sets: weights of the second and third set, and the group, of many rows.
    n_misplaced : int
        How many rows another set explains clearly better than their own.
    """

    title: str
    verdict: tuple[str, ...]
    numbers: tuple[Number, ...]
    warnings: tuple[str, ...]
    groups: tuple[ManyGroup, ...]
    order: tuple[int, ...]
    distance: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...]
    high: tuple[tuple[float, ...], ...]
    confidence: float
    bins: int
    counts: tuple[tuple[tuple[int, ...], ...], ...]
    confusion: tuple[tuple[int, ...], ...]
    linkage: tuple[tuple[float, ...], ...]
    kinds: Kinds
    samples: tuple[ManySample, ...]
    corners: tuple[tuple[float, float, int], ...]
    n_misplaced: int
    settings: tuple[tuple[str, str], ...]
    sampling: tuple[str, ...]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """The content as nested dicts and tuples, ready for ``json.dumps``."""
        return {"format": "cospan report of many sets", "format_version": 1, **asdict(self)}

    @property
    def sets(self) -> tuple[ManyGroup, ...]:
        """The K sets, without further rows."""
        return self.groups[: len(self.order)]


def many_content_of(comparison: ManyComparison) -> ManyContent:
    """Reduce a comparison of K sets to what its report says."""
    c = comparison
    groups = _groups(c)
    samples = _samples(c)
    return ManyContent(
        title=f"{len(c.names)} sets",
        verdict=_verdict(c, groups),
        numbers=_numbers(c, groups),
        warnings=tuple(clean(text, 400) for text in c.warnings),
        groups=groups,
        order=tuple(int(k) for k in c.order),
        distance=_rounded(c.fisher_rao),
        low=_rounded(c.fisher_rao_low),
        high=_rounded(c.fisher_rao_high),
        confidence=c.confidence,
        bins=BINS,
        counts=_counts(c.pair_counts),
        confusion=tuple(tuple(int(n) for n in row) for row in c.confusion),
        linkage=tuple(tuple(float(f"{x:.6g}") for x in row) for row in c.linkage),
        kinds=Kinds(
            len(c.frame.common),
            len(c.frame.partial),
            c.frame.rank - len(c.frame.common) - len(c.frame.partial),
        ),
        samples=samples,
        corners=_corners(c),
        n_misplaced=int(np.sum(c.audit.flagged)),
        settings=_settings(c),
        sampling=_sampling(c, groups, len(samples)),
        version=c.version,
    )


def _groups(c: ManyComparison) -> tuple[ManyGroup, ...]:
    found = [
        ManyGroup(
            key=str(k + 1),
            name=clean(name),
            rows=int(c.rows[k]),
            scored=int(c.scored[k]),
            recall=float(c.confusion[k, k] / max(int(c.confusion[k].sum()), 1)),
            own_directions=len(c.frame.isolated(k)),
        )
        for k, name in enumerate(c.names)
    ]
    if c.name_z is not None:
        found.append(ManyGroup("Z", clean(c.name_z), c.rows_z, c.rows_z, None, 0))
    return tuple(found)


def _pairs(c: ManyComparison) -> list[tuple[int, int]]:
    """Pairs of set numbers, closest first."""
    first, second = np.triu_indices(len(c.names), 1)
    order = np.argsort(c.fisher_rao[first, second], kind="stable")
    return [(int(first[k]), int(second[k])) for k in order]


def _verdict(c: ManyComparison, groups: tuple[ManyGroup, ...]) -> tuple[str, ...]:
    def called(pair: tuple[int, int]) -> str:
        return " and ".join(isolated(groups[k].name) for k in pair)

    pairs = _pairs(c)
    near, far = pairs[0], pairs[-1]
    first = (
        f"The closest of the {len(c.names)} sets are {called(near)}, at a Fisher-Rao distance of "
        f"{c.fisher_rao[near]:.2f}"
    )
    apart = sum(c.fisher_rao[pair] > APART for pair in pairs)
    if apart == len(pairs) > 1:
        first = f"All {len(pairs)} pairs of the {len(c.names)} sets lie wholly apart (π)"
    elif apart > 1:
        first += f"; {apart} of the {len(pairs)} pairs lie wholly apart (π)"
    elif far != near:
        first += f"; the farthest are {called(far)}, at {c.fisher_rao[far]:.2f}"
    sentences = [f"{first}."]
    sentences.append(f"{percent(c.accuracy)} of the rows are explained best by their own set.")
    return tuple(sentences)


def _numbers(c: ManyComparison, groups: tuple[ManyGroup, ...]) -> tuple[Number, ...]:
    i, j = _pairs(c)[0]
    near = f"{isolated(groups[i].name)} and {isolated(groups[j].name)}"
    ends = float(c.fisher_rao_low[i, j]), float(c.fisher_rao_high[i, j])
    found = [
        Number(
            "Fisher-Rao distance of the closest pair",
            float(c.fisher_rao[i, j]),
            *ends,
            c.confidence,
            f"between {near}; from 0, alike, to π, apart",
        ),
        Number(
            "rows of their own set",
            round(c.accuracy, 4),
            None,
            None,
            None,
            "part of the rows that their own set explains best, every set counting alike",
        ),
        Number(
            "directions common to all",
            float(len(c.frame.common)),
            None,
            None,
            None,
            f"of {count(c.frame.rank)}; {len(c.frame.partial)} belong to some sets only, "
            f"{c.frame.rank - len(c.frame.common) - len(c.frame.partial)} to one",
        ),
    ]
    return tuple(found)


def _rounded(matrix: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(float(x), 4) for x in row) for row in matrix)


def _counts(counts: NDArray[np.int64]) -> tuple[tuple[tuple[int, ...], ...], ...]:
    coarse = counts.reshape(*counts.shape[:2], BINS, -1).sum(axis=-1)
    return tuple(tuple(tuple(map(int, cell)) for cell in row) for row in coarse)


def _samples(c: ManyComparison) -> tuple[ManySample, ...]:
    """Rows in doubt: those that another set claims, then the most ambiguous, of every group."""
    entropy, nearest, degrees = c.entropy, c.nearest, c.degrees
    misplaced = np.zeros(len(c.group), dtype=bool)
    misplaced[np.flatnonzero(c.group < len(c.names))] = np.asarray(c.audit.flagged)
    room = min(MOST_SAMPLES, max(20, MOST_NUMBERS // len(c.names)))
    order = np.lexsort((-entropy, ~misplaced))
    rank_in_group = np.empty(len(order), dtype=np.intp)
    for group in range(int(c.group.max()) + 1):
        mine = order[c.group[order] == group]
        rank_in_group[mine] = np.arange(len(mine))
    chosen = order[np.argsort(rank_in_group[order], kind="stable")][:room]
    chosen = chosen[np.argsort(-entropy[chosen], kind="stable")]
    return tuple(
        ManySample(
            id=clean(c.ids[i]),
            group=int(c.group[i]),
            weights=tuple(round(float(w), 4) for w in c.weights[i]),
            nearest=int(nearest[i, 0]),
            second=int(nearest[i, 1]),
            theta=round(float(degrees[i]), 2),
            entropy=round(float(entropy[i]), 4),
            misplaced=bool(misplaced[i]),
        )
        for i in chosen
    )


def _corners(c: ManyComparison) -> tuple[tuple[float, float, int], ...]:
    if len(c.names) != 3:
        return ()
    step = max(1, -(-len(c.group) // MOST_CORNERS))
    return tuple(
        (round(float(w[1]), 4), round(float(w[2]), 4), int(group))
        for w, group in zip(c.weights[::step], c.group[::step], strict=True)
    )


def _settings(c: ManyComparison) -> tuple[tuple[str, str], ...]:
    found = [(clean(key), _plain(value)) for key, value in c.settings.items()]
    found += [
        ("shrinkage used (α)", significant(c.shrinkage)),
        ("features", count(c.costs.n_features)),
        ("time taken", f"{c.seconds:.1f} s"),
        ("cospan version", c.version),
    ]
    return tuple(found)


def _sampling(c: ManyComparison, groups: tuple[ManyGroup, ...], listed: int) -> tuple[str, ...]:
    lines = []
    for group in groups:
        name = isolated(group.name)
        if group.scored < group.rows:
            lines.append(
                f"{name}: a uniform sample of {count(group.scored)} of {count(group.rows)} rows "
                "was scored and counted."
            )
    if not lines:
        lines.append("All rows of all sets are counted in the matrix and the histograms.")
    lines.append(
        f"{count(listed)} of {count(sum(group.scored for group in groups))} scored rows are "
        "listed: first those that another set claims, then the most ambiguous of every set."
    )
    return tuple(lines)
