"""The panel: what other measures say about two sets, on the same rows.

Fréchet, kernel (MMD), energy and sliced Wasserstein distances, classifier two-sample tests, and
single columns. The kernel and energy distances are quadratic forms of the labels: one matrix
product gives the statistic for every permutation at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.spatial.distance
import scipy.stats

from cospan.base.checks import as_count, as_option, as_seed
from cospan.base.keys import row_keys
from cospan.base.notes import Note, warn
from cospan.base.tables import make_dataframe
from cospan.base.text import chance, plural
from cospan.base.tolerance import EQUAL_STATISTICS
from cospan.base.types import Data, DataFrame, Floats, Index
from cospan.data import encode, notes_of, open_source
from cospan.errors import InputError, MissingDependencyError, needed
from cospan.summary import random_rows

FEWEST_ROWS = 10  # of each set: below, half of them train no classifier
ROWS = 2_000  # of each set; the distances between all pairs of them take the most time
PERMUTATIONS = 199
UNITS = {"own": "each feature in units of its spread", "raw": "features as they came"}
ANGLE = "AUC of the angles, out of fold: 0.5 is chance, 1 is perfect"


@dataclass(frozen=True)
class Measure:
    """One measure's answer."""

    name: str
    value: float | None  # None where it could not be computed; `note` says why
    p_value: float | None  # of "both sets come from one distribution"; None without a test
    meaning: str  # how to read the value, in one line
    note: str = ""  # what belongs to this value alone, such as the column it is about


@dataclass(frozen=True, repr=False)
class Panel:
    """What other measures say about two sets. Print it."""

    measures: tuple[Measure, ...]
    n_a: int  # rows of each set that were used
    n_b: int
    sampled: bool  # whether these are random samples of more rows
    units: str

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(name)

    def to_frame(self, backend: str | None = None) -> DataFrame:
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
    A: Data,
    B: Data,
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
    pair = pair._replace(names=feature_names or pair.names)
    measures = [Measure("alignment angle", *angle, ANGLE)] if angle is not None else []
    for name, (meaning, compute) in MEASURES.items():
        try:
            found = compute(pair, permutations, random_state)
        except MissingDependencyError as error:
            found = Answer(None, note=str(error))
        measures.append(Measure(name, found.value, found.p_value, meaning, found.note))
    return Panel(tuple(measures), len(pair.a), len(pair.b), pair.sampled, units)


# ---- two sets, read -----------------------------------------------------------------------------


class Pair(NamedTuple):
    """Rows of both sets, where they were in the data, and the features' names."""

    a: Floats
    b: Floats
    rows_a: Index
    rows_b: Index
    names: tuple[str, ...]
    sampled: bool
    kinds: Index  # of the rows of both: a number, equal where rows are equal
    columns: tuple[Index, ...]  # the features made of each column of the user's
    notes: list[Note]


def read_pair(
    A: Data,
    B: Data,
    *,
    units: str,
    rows: int,
    random_state: int,
    names: tuple[str, str] = ("A", "B"),
    first_alone: bool = False,
) -> Pair:
    """Read two sets of anything that `compare` takes, at most `rows` rows of each at random.

    With ``units="own"`` every feature is divided by its spread: the root of the mean of the two
    variances, or with `first_alone` that of the first set, so that impossible values in the second
    do not stretch the unit. A feature that never varies is left as it is: its distance counts.
    """
    units = as_option(units, "units", ("own", "raw"))
    most = as_count(rows, "rows", least=FEWEST_ROWS)
    rng = np.random.default_rng(as_seed(random_state))
    encoded = encode([open_source(X, name=name) for X, name in zip((A, B), names, strict=True)])
    found = [source.read() for source in encoded]
    for source, chunk in zip(encoded, found, strict=True):
        if len(chunk.rows) < FEWEST_ROWS:
            raise InputError(
                f"{source.name} has {plural(len(chunk.rows), 'row')}; other measures need at least "
                f"{FEWEST_ROWS}."
            )
    d, other = (chunk.rows.shape[1] for chunk in found)
    if d != other:
        raise InputError(
            f"{encoded[0].name} has {plural(d, 'feature')} and {encoded[1].name} has {other:,}; "
            "pass rows with the same features."
        )
    kept = [random_rows(len(chunk.rows), most, rng) for chunk in found]
    a, b = (
        np.asarray(chunk.rows, dtype=np.float64)[index]
        for chunk, index in zip(found, kept, strict=True)
    )
    keys = row_keys(list(np.vstack([a, b]).T))
    merged = [chunk.merged for chunk in found]
    if merged[0] is not None and merged[1] is not None:  # rare levels that share a feature
        keys = keys + np.concatenate([merged[0][kept[0]], merged[1][kept[1]]])
    if units == "own":
        spread = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
        if first_alone:
            spread = np.where(a.std(axis=0) > 0, a.std(axis=0), spread)
        spread[spread == 0] = 1.0
        a, b = a / spread, b / spread
    plan = encoded[0].plan
    owners = np.arange(d) if plan is None else np.asarray(plan.owners)
    return Pair(
        a,
        b,
        kept[0],
        kept[1],
        names=encoded[0].feature_names or tuple(f"x{i}" for i in range(d)),
        sampled=any(len(chunk.rows) > most for chunk in found),
        kinds=np.unique(keys, return_inverse=True)[1],
        columns=tuple(np.flatnonzero(owners == one) for one in dict.fromkeys(owners.tolist())),
        notes=notes_of(encoded),
    )


# ---- classifiers --------------------------------------------------------------------------------


class Answer(NamedTuple):
    """A value, and the p-value of "both samples come from one distribution"."""

    value: float | None
    p_value: float | None = None
    note: str = ""


def _held_out(model: Any, pair: Pair, seed: int) -> Answer:
    """AUC of a classifier on rows it has not seen, with its Mann-Whitney p-value.

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
    return Answer(float(ranks.statistic) / (len(in_a) * len(in_b)), p_value)


def _logistic(pair: Pair, permutations: int, seed: int) -> Answer:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    return _held_out(make_pipeline(StandardScaler(), model), pair, seed)


def _boosting(pair: Pair, permutations: int, seed: int) -> Answer:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(class_weight="balanced", random_state=0)
    return _held_out(model, pair, seed)


# ---- distances ----------------------------------------------------------------------------------


def frechet_distance(A: Floats, B: Floats) -> float:
    """Squared Fréchet distance of two Gaussian fits, as the FID of generative models.

    ``|mean difference|² + tr(S_A + S_B - 2 (S_A S_B)^½)``, covariances with divisor n - 1. The
    trace of the root is the sum of the singular values of R_A R_Bᵀ, with R the triangular factors
    of the centred rows: no root of a matrix is taken.
    """
    means = A.mean(axis=0), B.mean(axis=0)
    factors = [
        scipy.linalg.qr((rows - mean) / np.sqrt(len(rows) - 1), mode="r")[0][: rows.shape[1]]
        for rows, mean in zip((A, B), means, strict=True)
    ]
    traces = sum(float(np.sum(R * R)) for R in factors)
    cross = float(scipy.linalg.svdvals(factors[0] @ factors[1].T).sum())
    step = means[0] - means[1]
    return max(float(step @ step) + traces - 2 * cross, 0.0)


def mmd(A: Floats, B: Floats, *, permutations: int = 199, random_state: int = 0) -> Answer:
    """Squared maximum mean discrepancy, unbiased, with a Gaussian kernel.

    The bandwidth is the median distance between rows of both sets. Unbiased means that it can be
    a little below 0 where nothing differs.
    """
    distances = _distances(A, B)
    bandwidth = float(np.median(distances[np.triu_indices(len(distances), 1)]))
    # Where most rows are equal the median is 0: the mean distance serves, and 1 where all are.
    bandwidth = bandwidth or float(distances.mean()) or 1.0
    kernel = np.exp(-0.5 * (distances / bandwidth) ** 2)
    np.fill_diagonal(kernel, 0.0)  # a row is not compared with itself
    within = (len(A) * (len(A) - 1), len(B) * (len(B) - 1))
    values = _for_permutations(kernel, len(A), within, permutations, random_state)
    return Answer(float(values[0]), _upper_tail(values))


def energy_distance(
    A: Floats, B: Floats, *, permutations: int = 199, random_state: int = 0
) -> Answer:
    """Energy distance, √(2 E|a - b| - E|a - a'| - E|b - b'|), in any dimension.

    For one feature it is what `scipy.stats.energy_distance` returns.
    """
    within = (len(A) ** 2, len(B) ** 2)
    values = -_for_permutations(_distances(A, B), len(A), within, permutations, random_state)
    return Answer(float(np.sqrt(max(values[0], 0.0))), _upper_tail(values))


def sliced_wasserstein(
    A: Floats, B: Floats, *, projections: int = 200, random_state: int = 0
) -> float:
    """Sliced Wasserstein distance of order 2: the mean over random lines, by POT."""
    with needed("The sliced Wasserstein distance"):
        import ot
    found = ot.sliced_wasserstein_distance(
        A, B, n_projections=projections, p=2, seed=np.random.RandomState(random_state)
    )
    return float(found)


def largest_column_distance(A: Floats, B: Floats) -> tuple[int, Answer]:
    """The column with the largest Kolmogorov-Smirnov distance; p times the number of columns."""
    # "asymp" keeps time and memory small; with a few hundred rows it is the exact one.
    method = "auto" if max(len(A), len(B)) <= 500 else "asymp"
    found = [scipy.stats.ks_2samp(a, b, method=method) for a, b in zip(A.T, B.T, strict=True)]
    p_values = [float(one.pvalue) for one in found]
    column = int(np.argmax([float(one.statistic) for one in found]))
    value = float(found[column].statistic)
    return column, Answer(value, min(1.0, len(found) * min(p_values)))


def _distances(A: Floats, B: Floats) -> Floats:
    rows = np.vstack([A, B])
    return np.asarray(scipy.spatial.distance.cdist(rows, rows))


def _for_permutations(
    matrix: Floats, n_a: int, within: tuple[int, int], permutations: int, random_state: int
) -> Floats:
    """Mean within A + mean within B - 2 mean between, for the data and then the permutations."""
    n = len(matrix)
    rng = np.random.default_rng(random_state)
    in_a = np.zeros((n, permutations + 1))
    in_a[:n_a, 0] = 1
    for column in range(1, permutations + 1):
        in_a[rng.permutation(n)[:n_a], column] = 1
    towards_a = matrix @ in_a
    sums_a = np.einsum("ij,ij->j", in_a, towards_a)
    between = towards_a.sum(axis=0) - sums_a
    sums_b = float(matrix.sum()) - sums_a - 2 * between
    values = sums_a / within[0] + sums_b / within[1] - 2 * between / (n_a * (n - n_a))
    return np.asarray(values, dtype=np.float64)


def _upper_tail(values: Floats) -> float:
    """Share of the permutations, the data among them, that are at least as large as the data."""
    # Equal permutations (many equal rows) may differ by rounding; they count as equal.
    slack = EQUAL_STATISTICS * float(np.abs(values).max(initial=0.0))
    return float(np.mean(values >= values[0] - slack))


# ---- the table ----------------------------------------------------------------------------------


def _columns(pair: Pair) -> Answer:
    column, found = largest_column_distance(pair.a, pair.b)
    return found._replace(note=f"in column {pair.names[column]}")


#: How to read each measure, and what computes it from a pair, a number of permutations and a seed.
MEASURES: dict[str, tuple[str, Callable[[Pair, int, int], Answer]]] = {
    "C2ST, logistic": (
        "AUC of logistic regression on held-out rows: 0.5 is chance, 1 is perfect",
        _logistic,
    ),
    "C2ST, boosting": (
        "AUC of gradient-boosted trees on held-out rows: 0.5 is chance, 1 is perfect",
        _boosting,
    ),
    "MMD": (
        "squared kernel distance, unbiased: 0 is alike",
        lambda x, n, seed: mmd(x.a, x.b, permutations=n, random_state=seed),
    ),
    "energy distance": (
        "distance of the distributions in units of the features: 0 is alike",
        lambda x, n, seed: energy_distance(x.a, x.b, permutations=n, random_state=seed),
    ),
    "sliced Wasserstein": (
        "root mean squared transport along random lines: 0 is alike",
        lambda x, n, seed: Answer(sliced_wasserstein(x.a, x.b, random_state=seed)),
    ),
    "Fréchet distance": (
        "squared distance of means and covariances, as in FID: 0 is alike",
        lambda x, n, seed: Answer(frechet_distance(x.a, x.b)),
    ),
    "largest KS": (
        "largest Kolmogorov-Smirnov distance of a column; p for all columns together",
        lambda x, n, seed: _columns(x),
    ),
}
