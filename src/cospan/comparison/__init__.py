"""The whole way in one call: two sets in, everything about them out.

:func:`compare` opens its arguments as sources, summarises them, fits the joint frame, scores
every row (a set's own rows by leave-one-out), tests, audits and explains. What it finds is a
:class:`Comparison`: plain frozen data that the terminal, the report and the pictures read.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import __version__
from cospan.comparison.opening import open_sets
from cospan.comparison.plain import comparison_dict
from cospan.comparison.scoring import ScoredGroup, Sink, score_columns
from cospan.comparison.stages import (
    NOTHING_TOLD,
    Progress,
    Settings,
    audit_groups,
    fit_sets,
    heard_warnings,
    mean_effect,
    remarks,
    score_sets,
    separate,
    shift_of_sets,
)
from cospan.comparison.text import summary_lines
from cospan.errors import InputError
from cospan.sources import Source

if TYPE_CHECKING:
    from cospan.audit import LabelAudit
    from cospan.frame import JointFrame
    from cospan.significance import Separation, ShiftTest

__all__ = ["Comparison", "ScoredGroup", "TopFeatures", "compare"]

NEGLIGIBLE = 0.05  # of the largest effect: features below pull to no side worth naming
NO_PULL = 0.01  # together: all features pull by less than a third of a degree


class TopFeatures(NamedTuple):
    """Indices of the features that pull most to A, that both sets share, that pull most to B."""

    a: NDArray[np.intp]
    shared: NDArray[np.intp]
    b: NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
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
        How far apart the angles of A and of B lie, with confidence intervals.
    shift : ShiftTest or None
        Whether A and B may be samples of one distribution; None where it was not asked for or
        where there are too few rows.
    audit : LabelAudit or None
        Labels that conflict with their angle. Its rows are the kept rows of `group_z` where
        labels were given for Z (``audit_of == "z"``); otherwise those of `group_a` followed by
        those of `group_b`, with the set's name as the label (``audit_of == "sets"``).
    effect_a, effect_b : ndarray of shape (d,)
        Mean attribution of each feature over rows of A and of B: what it adds to -cos 2θ there.
    feature_names : tuple of str
        One name per feature; where the data has none ``x0``, ``x1``, … or ``pixel 3,5``, …
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) where a row is a picture.
    settings : dict
        The settings used, ready for JSON.
    warnings : tuple of str
        What a reader should know before believing the numbers.
    version : str
        The version of cospan that made this.
    seconds : float
        How long it took.
    audit_of : str
        ``"sets"`` or ``"z"``: which rows `audit` is about.
    """

    name_a: str
    name_b: str
    frame: JointFrame
    group_a: ScoredGroup
    group_b: ScoredGroup
    group_z: ScoredGroup | None
    separation: Separation
    shift: ShiftTest | None
    audit: LabelAudit | None
    effect_a: NDArray[np.float64]
    effect_b: NDArray[np.float64]
    feature_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None
    settings: dict[str, object]
    warnings: tuple[str, ...]
    version: str
    seconds: float
    audit_of: str = "sets"

    @property
    def groups(self) -> tuple[ScoredGroup, ...]:
        """The scored groups: A, B and, where there is one, Z."""
        both = (self.group_a, self.group_b)
        return both if self.group_z is None else (*both, self.group_z)

    @property
    def told_apart(self) -> bool:
        """Whether the angles lean the right way: A's rows, left out, to A and B's to B.

        Where they do not, the sets are alike (or share rows), and a distance between the two
        distributions of angles is no distance between the sets.
        """
        return self.separation.auc.value > NOTHING_TOLD

    @property
    def audit_ids(self) -> NDArray[Any]:
        """Identifiers of the rows of `audit`, in its order."""
        if self.audit_of == "z" and self.group_z is not None:
            return self.group_z.ids
        return _join([self.group_a.ids, self.group_b.ids])

    @property
    def audit_degrees(self) -> NDArray[np.float64]:
        """Angles in degrees of the rows of `audit`, in its order."""
        groups = self.groups[2:] if self.audit_of == "z" else self.groups[:2]
        return np.concatenate([np.asarray(group.alignment.degrees) for group in groups])

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
        # in sets that are alike the largest pull is no pull either
        weak = max(NEGLIGIBLE * largest, NO_PULL / len(self.effect_a))
        to_a = np.argsort(self.effect_a, kind="stable")[:n]
        to_b = np.argsort(-self.effect_b, kind="stable")[:n]
        to_a, to_b = to_a[self.effect_a[to_a] < -weak], to_b[self.effect_b[to_b] > weak]
        common = np.minimum(*self.feature_spread)
        common[np.concatenate([to_a, to_b])] = -1
        shared = np.argsort(-common, kind="stable")[:n]
        return TopFeatures(to_a, shared[common[shared] > 0], to_b)

    def summary(self, width: int = 80) -> str:
        """The comparison as text of about `width` columns, as the command line prints it."""
        return "\n".join(text for _, text in summary_lines(self, width)).rstrip() + "\n"

    def to_frame(self, backend: str | None = None) -> Any:
        """One row a scored sample, as a dataframe of the first library found.

        Columns: set, id, theta (degrees), cost_a, cost_b, share_a, share_shared, share_b,
        outside, relational, and suspicion where the audit covers the row (else NaN).

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
        """
        from cospan._tables import make_frame

        tables = [score_columns(g.name, g.ids, g.alignment) for g in self.groups]
        columns = {key: _join([table[key] for table in tables]) for key in tables[0]}
        columns["suspicion"] = np.concatenate(self._suspicion())
        return make_frame(columns, backend)

    def _suspicion(self) -> list[NDArray[np.float64]]:
        """The audit's suspicion group by group, NaN where it does not reach."""
        parts = [np.full(len(group.ids), np.nan) for group in self.groups]
        if self.audit is not None:
            audited = slice(2, None) if self.audit_of == "z" else slice(0, 2)
            start = 0
            for part in parts[audited]:
                part[:] = np.asarray(self.audit.suspicion)[start : start + len(part)]
                start += len(part)
        return parts

    def to_dict(self) -> dict[str, object]:
        """Everything but the rows, as plain types: ``json.dumps`` takes it."""
        return comparison_dict(self)

    def __repr__(self) -> str:
        z = "" if self.group_z is None else f", {self.group_z.n} scored"
        return (
            f"<Comparison of {self.name_a!r} ({self.group_a.total} rows) with {self.name_b!r} "
            f"({self.group_b.total} rows){z}: Fisher-Rao {self.separation.fisher_rao.value:.3f}>"
        )

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file, and return its path."""
        from cospan.report import save_html  # the report reads comparisons, so it comes in late

        return save_html(self, path)

    def _repr_html_(self) -> str:
        from cospan.report import fragment

        return fragment(self)


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate; identifiers of unlike kinds (row numbers, file names) become text."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(str) for part in parts]
    return np.concatenate(parts)


def compare(
    A: Any,
    B: Any = None,
    Z: Any = None,
    *,
    labels: Any = None,
    label: Any = None,
    a: Any = None,
    b: Any = None,
    name_a: str | None = None,
    name_b: str | None = None,
    name_z: str | None = None,
    center: Any = "pooled",
    balance: bool = True,
    shrinkage: float | str = "auto",
    weighting: str = "cost",
    tol: float | None = None,
    standardize: bool = False,
    seed: int = 0,
    n_permutations: int = 999,
    image_shape: tuple[int, ...] | None = None,
    score_all: bool | None = None,
    exact: bool | None = None,
    progress: Progress | None = None,
    sink: Sink | None = None,
    **options: Any,
) -> Comparison:
    """Compare two sets of vectors: the whole way from data to verdict in one call.

    Parameters
    ----------
    A, B : anything that :func:`cospan.sources.open_source` takes
        The two sets: arrays, dataframes, paths of files or folders. Without `B`, `label`, `a`
        and `b` take two classes out of `A`.
    Z : the same, optional
        More rows to score.
    labels : column name or array, optional
        Labels of `Z`, to be audited: each one is `name_a` or `name_b` (or 0 or 1).
    label, a, b : optional
        Where the classes of `A` and `B` stand (a column), and which class to take of each.
    name_a, name_b, name_z : str, optional
        What to call the sets. Default: the classes, the file names, or A, B and Z.
    center, balance, shrinkage, tol
        As for :meth:`cospan.JointFrame.fit`.
    weighting : {"cost", "frame"}
        How a sample's angle is made of its coordinates.
    standardize : bool
        Divide every feature by its standard deviation over both sets first. The frame and all
        results still take and show the features in their own units.
    seed : int
        For samples, permutations and intervals: the same seed gives the same numbers.
    n_permutations : int
        Permutations of the shift test; 0 leaves it out.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where the features are pixels.
    score_all : bool, optional
        Score every row of A and B, which takes a second pass over them, or only a uniform
        sample. Default: every row where both sets together have at most 200,000.
    exact : bool, optional
        Summaries by QR instead of Gram matrices. Default: where shrinkage is below 1e-3, since
        only then the difference shows.
    progress : callable, optional
        Called as ``progress(stage, rows_done, rows_in_all_or_None)``.
    sink : callable, optional
        Called as ``sink(name, ids, alignment)`` for every chunk of rows scored; implies
        ``score_all=True``.
    **options
        For the sources: columns, id_column, chunk_rows, missing, categorical, numeric, drop,
        strict, image_size, image_mode, max_bad_images.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> found = compare(X[y == 4], X[y == 9], name_a="four", name_b="nine")
    >>> found
    <Comparison of 'four' (181 rows) with 'nine' (180 rows): Fisher-Rao 3.089>
    >>> found.shift.pvalue
    0.001
    >>> [found.feature_names[j] for j in found.top_features(3).b]
    ['x54', 'x26', 'x5']
    """
    started = time.perf_counter()
    settings = Settings(
        center=center,
        balance=balance,
        shrinkage=shrinkage,
        weighting=weighting,
        tol=tol,
        standardize=standardize,
        seed=seed,
        n_permutations=n_permutations,
        score_all=True if sink is not None else score_all,
        exact=exact,
    )
    names = (name_a, name_b, name_z)
    with heard_warnings() as heard:
        sets = open_sets(A, B, Z, label=label, a=a, b=b, labels=labels, names=names, **options)
        shape = _shape_of_images(image_shape, sets.a)
        fitted = fit_sets(sets, settings, progress)
        groups = score_sets(sets, fitted, settings, progress, sink)
    apart = separate(groups, settings)
    audit, audit_of = audit_groups(groups, apart, sets, classes=(a, b))
    shift, why_not = shift_of_sets(fitted, settings, progress)
    return Comparison(
        name_a=sets.names[0],
        name_b=sets.names[1],
        frame=fitted.frame,
        group_a=groups[0],
        group_b=groups[1],
        group_z=groups[2] if len(groups) > 2 else None,
        separation=apart,
        shift=shift,
        audit=audit,
        effect_a=mean_effect(groups[0]),
        effect_b=mean_effect(groups[1]),
        feature_names=sets.a.feature_names or _made_names(sets.a.n_features, shape),
        image_shape=shape,
        settings={**fitted.settings.as_dict(), **_given(options)},
        warnings=remarks(fitted, groups, apart, shift, audit, sets, [*heard, *why_not]),
        version=__version__,
        seconds=time.perf_counter() - started,
        audit_of=audit_of,
    )


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _shape_of_images(given: tuple[int, ...] | None, source: Source) -> tuple[int, ...] | None:
    if given is None:
        return source.image_shape
    shape = (given[0], given[0]) if len(given) == 1 else tuple(int(side) for side in given)
    if len(shape) > 3 or math.prod(shape) != source.n_features:
        raise InputError(
            f"image_shape {'x'.join(map(str, shape))} has {math.prod(shape):,} values where a row "
            f"has {source.n_features:,} features; give height, width and perhaps channels."
        )
    return shape
