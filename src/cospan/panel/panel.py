"""The panel: every measure on the same rows, with its meaning, its time and its p-value."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cospan.base.checks import as_count
from cospan.base.notes import warn
from cospan.base.tables import make_dataframe
from cospan.base.text import chance
from cospan.errors import MissingDependencyError
from cospan.panel import classifiers, distances
from cospan.panel.reading import Pair, read_pair

UNITS = {"own": "each feature in units of its spread", "raw": "features as they came"}

ANGLE = (
    "AUC of leave-one-out angles: 0.5 is chance, 1 is perfect",
    "sees location, scale and relations, says which, and gives every row a probability",
)

ABOUT = {
    "C2ST, logistic": (
        "AUC of logistic regression on held-out rows: 0.5 is chance, 1 is perfect",
        "sees shifts of the means along one line; the angle also sees spreads and relations, and "
        "needs no rows set aside",
    ),
    "C2ST, boosting": (
        "AUC of gradient-boosted trees on held-out rows: 0.5 is chance, 1 is perfect",
        "sees differences of any form, curved ones too, given enough rows; the angle says in "
        "which directions, and gives each row a probability",
    ),
    "proxy A-distance": (
        "2 (1 - 2 error) of logistic regression on held-out rows: 0 is alike, 2 is separable",
        "the same as C2ST on the scale of domain adaptation; the angle adds which rows",
    ),
    "MMD": (
        "squared kernel distance, unbiased: 0 is alike",
        "sees any difference at the scale of the median distance; the angle says what it is",
    ),
    "energy distance": (
        "distance of the distributions in units of the features: 0 is alike",
        "sees any difference, location most of all; weaker than the angle for changed relations",
    ),
    "sliced Wasserstein": (
        "root mean squared transport along random lines: 0 is alike",
        "sees the tails of each line; relations of few features are averaged away",
    ),
    "Fréchet distance": (
        "squared distance of means and covariances, as in FID: 0 is alike",
        "the same two moments as the angle, in absolute units; says nothing of single rows, and "
        "grows with the noise of few rows",
    ),
    "CKA of covariances": (
        "cosine of the two covariances: 1 is the same up to a factor",
        "sees relations alone; blind to means and to scale, which the angle reports as parts",
    ),
    "principal angle": (
        "largest angle between the main subspaces, in degrees: 0 is the same",
        "sees directions that one set lacks; blind to means and to how much variance there is",
    ),
    "largest KS": (
        "largest Kolmogorov-Smirnov distance of a column; p for all columns together",
        "sees any change within one column, as the table of features does; blind to relations",
    ),
}


ROWS = 2_000  # of each set; the distances between all pairs of them take the most time
PERMUTATIONS = 199


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
    beyond : str
        What it sees that the angle does not, and what the angle says that it does not.
    note : str
        What belongs to this value alone, such as the column it is about.

    Examples
    --------
    >>> from cospan import measure_panel
    >>> rng = np.random.default_rng(0)
    >>> panel = measure_panel(rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1)
    >>> panel["MMD"].p_value
    0.005
    """

    name: str
    value: float | None
    p_value: float | None
    seconds: float
    meaning: str
    beyond: str
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

    Examples
    --------
    >>> from cospan import measure_panel
    >>> rng = np.random.default_rng(0)
    >>> panel = measure_panel(rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1)
    >>> [measure.name for measure in panel.measures[:3]]
    ['C2ST, logistic', 'C2ST, boosting', 'proxy A-distance']
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


class Answer(NamedTuple):
    """What a measure computes."""

    value: float | None
    p_value: float | None = None
    note: str = ""


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
    >>> from cospan.panel import measure_panel
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
        measures.append(Measure("alignment angle", angle[0], angle[1], 0.0, *ANGLE))
    for name, (meaning, beyond) in ABOUT.items():
        start = time.perf_counter()
        try:
            found = _COMPUTE[name](pair, permutations, random_state)
        except MissingDependencyError as error:
            found = Answer(None, note=str(error))
        seconds = time.perf_counter() - start
        measures.append(
            Measure(name, found.value, found.p_value, seconds, meaning, beyond, found.note)
        )
    return Panel(tuple(measures), len(pair.a), len(pair.b), pair.sampled, units)


def _angle(pair: Pair) -> Answer:
    found = distances.principal_angles(pair.a, pair.b)
    if not len(found):
        return Answer(0.0, note="a set that does not vary has no directions")
    note = f"of {len(found)} between subspaces with 90 % of the variance"
    return Answer(float(found[0]), note=note)


def _columns(pair: Pair) -> Answer:
    column, found = distances.largest_column_distance(pair.a, pair.b)
    return Answer(*found, f"in column {pair.names[column]}")


def _held_out(model: Any, pair: Pair, seed: int) -> classifiers.HeldOut:
    return classifiers.held_out(model, pair.a, pair.b, random_state=seed)


#: What each measure makes of a pair, a number of permutations and a seed.
_COMPUTE: dict[str, Callable[[Pair, int, int], Answer]] = {
    "C2ST, logistic": lambda x, n, seed: Answer(*_held_out(classifiers.logistic(), x, seed).auc),
    "C2ST, boosting": lambda x, n, seed: Answer(*_held_out(classifiers.boosting(), x, seed).auc),
    "proxy A-distance": lambda x, n, seed: Answer(
        _held_out(classifiers.logistic(), x, seed).proxy_a_distance
    ),
    "MMD": lambda x, n, seed: Answer(*distances.mmd(x.a, x.b, permutations=n, random_state=seed)),
    "energy distance": lambda x, n, seed: Answer(
        *distances.energy_distance(x.a, x.b, permutations=n, random_state=seed)
    ),
    "sliced Wasserstein": lambda x, n, seed: Answer(
        distances.sliced_wasserstein(x.a, x.b, random_state=seed)
    ),
    "Fréchet distance": lambda x, n, seed: Answer(distances.frechet_distance(x.a, x.b)),
    "CKA of covariances": lambda x, n, seed: Answer(distances.covariance_cka(x.a, x.b)),
    "principal angle": lambda x, n, seed: _angle(x),
    "largest KS": lambda x, n, seed: _columns(x),
}
