"""The panel: every measure on the same rows, with its meaning, its time and its p-value."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from cospan.base.checks import as_count
from cospan.base.notes import warn
from cospan.base.tables import make_dataframe
from cospan.base.text import chance
from cospan.errors import MissingDependencyError
from cospan.measures import distances
from cospan.measures.pair import Pair, read_pair

ROWS = 2_000  # of each set; the distances between all pairs of them take the most time
PERMUTATIONS = 199
UNITS = {"own": "each feature in units of its spread", "raw": "features as they came"}


@dataclass(frozen=True)
class Measure:
    """One measure's answer.

    Attributes
    ----------
    name : str
    value : float or None
        None where it could not be computed; `note` says why.
    p_value : float or None
        Of "both sets come from one distribution"; None where the measure has no test.
    seconds : float
    meaning : str
        How to read the value, in one line.
    note : str
        What belongs to this value alone, such as the column it is about.
    """

    name: str
    value: float | None
    p_value: float | None
    seconds: float
    meaning: str
    note: str = ""


@dataclass(frozen=True, repr=False)
class Panel:
    """What other measures say about two sets. Print it.

    Attributes
    ----------
    measures : tuple of Measure
    n_a, n_b : int
        How many rows of each set were used.
    sampled : bool
        Whether these are random samples of more rows.
    units : str
        ``"own"``: every feature in units of its own spread; ``"raw"``: as it came.
    """

    measures: tuple[Measure, ...]
    n_a: int
    n_b: int
    sampled: bool
    units: str

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON."""
        return asdict(self) | {"measures": [asdict(one) for one in self.measures]}

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per measure, as a dataframe of the first library found."""
        rows = [asdict(one) for one in self.measures]
        return make_dataframe({key: [row[key] for row in rows] for key in rows[0]}, backend)

    def __repr__(self) -> str:
        width = max(len(one.name) for one in self.measures)
        sample = "random samples of " if self.sampled else ""
        lines = [f"{sample}{self.n_a} and {self.n_b} rows, {UNITS[self.units]}"]
        for one in self.measures:
            value = "-" if one.value is None else f"{one.value:.4g}"
            p = "" if one.p_value is None else chance(one.p_value)
            lines.append(f"{one.name:<{width}}  {value:>9}  {p:<15}  {one.note or one.meaning}")
        return "\n".join(lines)


def measure_panel(
    A: Any,
    B: Any,
    *,
    units: str = "own",
    rows: int = ROWS,
    permutations: int = PERMUTATIONS,
    random_state: int = 0,
    angle: tuple[float, float | None] | None = None,
    feature_names: tuple[str, ...] | None = None,
) -> Panel:
    """Measure two sets by the methods that others use, on the same rows.

    Parameters
    ----------
    A, B : array-like, dataframe, path, ...
        Anything that :func:`compare` takes.
    units : {"own", "raw"}
        ``"own"`` divides every feature by its spread, as tables need it; ``"raw"`` leaves rows as
        they are, as the Fréchet distance of pictures' features is reported.
    rows : int
        How many rows of each set are used at most, drawn at random. This bounds the time.
    permutations : int
        For the p-values of the kernel and the energy distance.
    random_state : int
    angle : tuple, optional
        AUC of the angles and the p-value of the shift test, where they are known: shown first.
    feature_names : tuple of str, optional
        What to call the features, where the data has no names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import measure_panel
    >>> X, y = load_iris(return_X_y=True)
    >>> panel = measure_panel(X[y == 1], X[y == 2])
    >>> panel["MMD"].p_value, panel["C2ST, logistic"].value > 0.9
    (0.005, True)
    """
    permutations = as_count(permutations, "permutations")
    pair = read_pair(A, B, units=units, rows=rows, random_state=random_state)
    warn(pair.notes)
    if feature_names is not None:
        pair = pair._replace(names=feature_names)
    measures = []
    if angle is not None:
        measures.append(Measure("alignment angle", angle[0], angle[1], 0.0, ANGLE))
    for name, (meaning, compute) in MEASURES.items():
        start = time.perf_counter()
        try:
            found = compute(pair, permutations, random_state)
        except MissingDependencyError as error:
            found = Answer(None, note=str(error))
        seconds = time.perf_counter() - start
        measures.append(Measure(name, found.value, found.p_value, seconds, meaning, found.note))
    return Panel(tuple(measures), len(pair.a), len(pair.b), pair.sampled, units)


# ---- the measures -----------------------------------------------------------------------------


class Answer(NamedTuple):
    """What a measure computes."""

    value: float | None
    p_value: float | None = None
    note: str = ""


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(class_weight="balanced", random_state=0)


def _held_out(model: Any, pair: Pair, seed: int) -> tuple[Answer, float]:
    """AUC with its Mann-Whitney p-value, and error, of a classifier on rows it has not seen.

    A random half of each set trains, so the test of the others is valid whatever the classifier.
    """
    rng = np.random.default_rng(seed)
    halves = [np.array_split(rows[rng.permutation(len(rows))], 2) for rows in (pair.a, pair.b)]
    train, test = (np.vstack([half[i] for half in halves]) for i in (0, 1))
    is_b = [np.repeat([0, 1], [len(half[i]) for half in halves]) for i in (0, 1)]
    scores = model.fit(train, is_b[0]).predict_proba(test)[:, 1]
    in_a, in_b = scores[is_b[1] == 0], scores[is_b[1] == 1]
    ranks = scipy.stats.mannwhitneyu(in_b, in_a, alternative="greater", method="asymptotic")
    p_value = float(ranks.pvalue) if np.ptp(scores) else 1.0  # equal scores have no ranks
    error = 0.5 * (float(np.mean(in_a > 0.5)) + float(np.mean(in_b <= 0.5)))
    return Answer(float(ranks.statistic) / (len(in_a) * len(in_b)), p_value), error


def _angle(pair: Pair) -> Answer:
    found = distances.principal_angles(pair.a, pair.b)
    if not len(found):
        return Answer(0.0, note="a set that does not vary has no directions")
    note = f"of {len(found)} between subspaces with 90% of the variance"
    return Answer(float(found[0]), note=note)


def _columns(pair: Pair) -> Answer:
    column, found = distances.largest_column_distance(pair.a, pair.b)
    return Answer(*found, f"in column {pair.names[column]}")


ANGLE = "AUC of the angles, out of fold: 0.5 is chance, 1 is perfect"
#: How to read each measure, and what computes it from a pair, a number of permutations and a seed.
MEASURES: dict[str, tuple[str, Callable[[Pair, int, int], Answer]]] = {
    "C2ST, logistic": (
        "AUC of logistic regression on held-out rows: 0.5 is chance, 1 is perfect",
        lambda x, n, seed: _held_out(_logistic(), x, seed)[0],
    ),
    "C2ST, boosting": (
        "AUC of gradient-boosted trees on held-out rows: 0.5 is chance, 1 is perfect",
        lambda x, n, seed: _held_out(_boosting(), x, seed)[0],
    ),
    "proxy A-distance": (
        "2 (1 - 2 error) of logistic regression on held-out rows: 0 is alike, 2 is separable",
        lambda x, n, seed: Answer(max(0.0, 2 * (1 - 2 * _held_out(_logistic(), x, seed)[1]))),
    ),
    "MMD": (
        "squared kernel distance, unbiased: 0 is alike",
        lambda x, n, seed: Answer(*distances.mmd(x.a, x.b, permutations=n, random_state=seed)),
    ),
    "energy distance": (
        "distance of the distributions in units of the features: 0 is alike",
        lambda x, n, seed: Answer(
            *distances.energy_distance(x.a, x.b, permutations=n, random_state=seed)
        ),
    ),
    "sliced Wasserstein": (
        "root mean squared transport along random lines: 0 is alike",
        lambda x, n, seed: Answer(distances.sliced_wasserstein(x.a, x.b, random_state=seed)),
    ),
    "Fréchet distance": (
        "squared distance of means and covariances, as in FID: 0 is alike",
        lambda x, n, seed: Answer(distances.frechet_distance(x.a, x.b)),
    ),
    "CKA of covariances": (
        "cosine of the two covariances: 1 is the same up to a factor; blind to means and scale",
        lambda x, n, seed: Answer(distances.covariance_cka(x.a, x.b)),
    ),
    "principal angle": (
        "largest angle between the main subspaces, in degrees: 0 is the same",
        lambda x, n, seed: _angle(x),
    ),
    "largest KS": (
        "largest Kolmogorov-Smirnov distance of a column; p for all columns together",
        lambda x, n, seed: _columns(x),
    ),
}
