"""The study itself: the same samples, scored once for every changed setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cospan._arrays import Array, to_numpy
from cospan._types import Floats
from cospan._validate import as_count, as_rows, as_seed, check_names, feature_names_of
from cospan.errors import InputError
from cospan.frame import JointFrame
from cospan.sets.settings import Given, Settings
from cospan.studies.plan import RANDOM, STUDY, Run, plan_of, row_count, text_of
from cospan.studies.result import Sensitivity, change_of
from cospan.summary import Summary


class _Study:
    """The sets and samples of a study; their summaries are made once."""

    def __init__(self, A: Array, B: Array, Z: Array, seed: int) -> None:
        self.A = _rows(A, "A")
        names = feature_names_of(A)
        check_names(B, names, "B", whose="A's")
        check_names(Z, names, "Z", whose="A's")
        self.B, self.Z = _rows(B, "B", like=A), _rows(Z, "Z", like=A)
        self.seed = seed
        self.summaries = (Summary.of(self.A), Summary.of(self.B))
        deviations = [rows - rows.mean(axis=0) for rows in (self.A, self.B)]
        self.scale = float(np.sqrt(np.mean(np.concatenate(deviations) ** 2)))

    def angles(
        self,
        settings: Run,
        *,
        summaries: tuple[Summary, Summary] | None = None,
        Z: Floats | None = None,
    ) -> tuple[Floats, float]:
        """θ of the samples, and the shrinkage in use."""
        frame = JointFrame.from_summaries(*(summaries or self.summaries), **settings.of_the_sets())
        if settings.rank is not None:
            frame = frame.truncate(n=max(1, round(settings.rank * frame.rank)))
        alignment = frame.align(self.Z if Z is None else Z, weighting=settings.weighting)
        return to_numpy(alignment.theta), frame.shrinkage

    def random(
        self, settings: Run, parameter: str, value: Any, repeat: int
    ) -> tuple[Floats, float]:
        """The same with one draw of fewer rows or of noise."""
        rng = np.random.default_rng([self.seed, RANDOM.index(parameter), repeat])
        if parameter == "noise":
            noisy = self.Z + value * self.scale * rng.standard_normal(self.Z.shape)
            return self.angles(settings, Z=noisy)

        def changed(rows: Floats) -> Summary:
            if parameter == "training_noise":
                return Summary.of(rows + value * self.scale * rng.standard_normal(rows.shape))
            index = rng.choice(len(rows), row_count(value, len(rows)), replace=False)
            return Summary.of(rows[np.sort(index)])

        return self.angles(settings, summaries=(changed(self.A), changed(self.B)))


def sensitivity(
    A: Array,
    B: Array,
    Z: Array,
    *,
    over: Mapping[str, Iterable[Any]] | None = None,
    labels: ArrayLike | None = None,
    weighting: str = "cost",
    bins: int = 30,
    repeats: int = 3,
    random_state: int = 0,
    **settings: Unpack[Given],
) -> Sensitivity:
    """Study how the angles of Z react when one setting at a time is changed.

    Parameters
    ----------
    A, B
        The two sets.
    Z
        Samples to score. Rows that are in neither A nor B make the fairest study.
    over
        Values to try, by setting; by default a study of all of them (:data:`STUDY`).

        - ``"span"``, ``"units"``, ``"shrinkage"``, ``"pooling"``, ``"dof"``, ``"calibrate"``,
          ``"tol"``: as in :meth:`~cospan.JointFrame.fit`;
        - ``"center"``, ``"balance"``, ``"weighting"``: those of the linear span, which is changed
          together with them where the reference is affine;
        - ``"rank"``: share of the directions kept, those with the largest part in the difference
          of the sets (in the linear span: furthest from 45°);
        - ``"rows"``: rows drawn from each set, a count or a share of them;
        - ``"noise"``: normal noise on the samples, its deviation relative to that of the features
          within the sets (root mean square); ``"training_noise"``: on the rows of A and B.
    labels
        0 where a row of Z belongs to A, 1 where to B. With them the study also tells how well
        the angles separate the two.
    weighting
        As in :meth:`~cospan.JointFrame.align`.
    bins
        Bins of the histograms.
    repeats
        Draws for ``"rows"`` and noise; their rows hold means.
    random_state
        Seed; the same seed gives the same bits.
    **settings
        The reference, as in :meth:`~cospan.JointFrame.fit`. What is ``"auto"`` is chosen anew for
        every changed setting, as a user would; the result says which α.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import sensitivity
    >>> X, y = load_digits(return_X_y=True)
    >>> fours, nines = X[y == 4], X[y == 9]
    >>> study = sensitivity(
    ...     fours[:120], nines[:120], fours[120:], over={"shrinkage": [0.1], "rows": [0.5]}
    ... )
    >>> print(study)
    setting          α   mean   95 %  flips  rank corr.  F-R change  F-R  AUC
    reference      0.2  0.00°  0.00°  0.0 %       1.000       0.000    -    -
    shrinkage 0.1  0.1  0.37°  1.02°  0.0 %       0.993       0.666    -    -
    rows 0.5       0.3  2.83°  7.54°  0.5 %       0.747       1.250    -    -
    """
    study = _Study(A, B, Z, as_seed(random_state))
    groups = _groups(labels, len(study.Z))
    draws = as_count(repeats, "repeats")
    plan = plan_of(STUDY if over is None else over)
    # Fewer directions, say, mean nothing to curved features.
    plain = {**Settings.of(**settings).of_the_sets(), "curve": None}
    given = Run(**plain, weighting=weighting)
    theta, alpha = study.angles(given)
    rows = [change_of("reference", "", [(theta, alpha)], theta, groups, bins)]
    for parameter, value in plan:
        if parameter in RANDOM:
            runs = [study.random(given, parameter, value, k) for k in range(draws)]
        else:
            runs = [study.angles(given.changed(parameter, value))]
        rows.append(change_of(parameter, text_of(value), runs, theta, groups, bins))
    reference = {
        **given.of_the_sets(),
        "center": given.center if isinstance(given.center, str) else "given",
        "shrinkage": alpha,
        "weighting": weighting,
    }
    return Sensitivity(tuple(rows), theta, reference, int(bins), draws)


def _rows(X: Array, name: str, *, like: Array | None = None) -> Floats:
    d = None if like is None else np.shape(like)[1]
    return np.asarray(to_numpy(as_rows(X, name, d=d)), dtype=np.float64)


def _groups(labels: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
    if labels is None:
        return None
    values = np.asarray(labels)
    if values.shape != (n,) or not set(np.unique(values)) == {0, 1}:
        raise InputError(
            f"labels must hold 0 (A) or 1 (B) for each of the {n} rows of Z, and both of them."
        )
    return np.asarray(values == 1)
