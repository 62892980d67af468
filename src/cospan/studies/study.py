"""The study itself: the same samples, scored once for every changed setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cospan.base.arrays import to_numpy
from cospan.base.checks import as_count, as_rows, as_seed, check_names, feature_names_of, is_real
from cospan.base.types import Array, Floats
from cospan.errors import InputError
from cospan.model import Given, JointFrame, Settings
from cospan.studies.result import Sensitivity, change_of
from cospan.summary import Summary

# The study made when the caller names no settings. Those of the linear span are tried with it
# (`span` and, say, `center` change together): see `_LINEAR`.
STUDY: Mapping[str, Sequence[Any]] = {
    "shrinkage": (0.001, 0.01, 0.1, 0.5, 0.9),
    "units": ("own", "common"),
    "dof": (1.0, 10.0, 100.0),
    "pooling": (0.0, 0.5, 1.0),
    "calibrate": (False,),
    "span": ("linear",),
    "center": ("each", "none"),
    "balance": (False,),
    "weighting": ("frame",),
    "tol": (1e-6,),
    "rank": (0.75, 0.5, 0.25),
    "rows": (0.8, 0.5, 0.25),
    "noise": (0.1, 0.3, 1.0),
    "training_noise": (0.1, 0.3, 1.0),
}

# Settings that only the linear span has. Where the reference is affine, they are changed together
# with the span, and what affine settings the reference fixes are left to their defaults.
_LINEAR = ("center", "balance", "weighting")
_AFFINE = ("units", "dof", "pooling")

# Settings that draw at random: repeated, and seeded by their place here, so that the outcome of
# one does not depend on which others are studied.
RANDOM = ("rows", "noise", "training_noise")


@dataclass(frozen=True)
class Run(Settings):
    """Everything that a run of the method is given."""

    weighting: str = "cost"
    rank: float | None = None

    def changed(self, parameter: str, value: Any) -> Run:
        """With one of them changed, and the span where the setting belongs to the other one."""
        new = replace(self, **{parameter: value})
        if parameter in _LINEAR and self.span == "affine":
            new = replace(new, span="linear")
        if new.span == "linear" and self.span == "affine":
            return replace(new, units="auto", pooling="auto", dof="auto")
        if new.span == "affine" and self.span == "linear":
            return replace(new, center="pooled", balance=True, weighting="cost")
        if parameter in _AFFINE and self.span == "linear":
            return replace(new, span="affine", center="pooled", balance=True, weighting="cost")
        return new


def plan_of(over: Mapping[str, Iterable[Any]]) -> list[tuple[str, Any]]:
    """Pairs of a setting and a value, checked as far as the frame will not do it."""
    if not isinstance(over, Mapping):
        raise InputError(
            f"over is a {type(over).__name__}; it must name settings and the values to try, such "
            'as {"shrinkage": [0.01, 0.1]}.'
        )
    plan = []
    for parameter, values in over.items():
        if parameter not in STUDY:
            raise InputError(
                f"over names the setting {parameter!r}; it must be one of "
                f"{', '.join(repr(name) for name in STUDY)}."
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"over[{parameter!r}] must be a list of values, not {values!r}.")
        plan += [(parameter, _value(parameter, value)) for value in values]
    return plan


def _value(parameter: str, value: Any) -> Any:
    number = is_real(value)
    if parameter in ("noise", "training_noise") and not (number and 0 <= value < np.inf):
        raise InputError(
            f"{parameter} is {value!r}; it must be a relative deviation of at least 0."
        )
    if parameter == "rank" and not (number and 0 < value <= 1):
        raise InputError(f"rank is {value!r}; it must be a share of the directions in (0, 1].")
    whole = isinstance(value, int | np.integer)
    if parameter == "rows" and not (number and value > 0 and (whole or value <= 1)):
        raise InputError(f"rows is {value!r}; it must be a count of rows or a share in (0, 1].")
    return value


def row_count(value: float, size: int) -> int:
    count = value if isinstance(value, int | np.integer) else max(1, round(value * size))
    if count > size:
        raise InputError(f"rows asks for {value} rows, but one of the sets has only {size}.")
    return int(count)


def text_of(value: Any) -> str:
    if value is None:
        return "default"
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:g}" if np.ndim(value) == 0 else "given"


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
