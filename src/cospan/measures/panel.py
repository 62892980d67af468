"""The panel: what other measures say about two sets, on the same rows.

Classifier two-sample tests, the kernel distance (MMD) and the Fréchet distance: what papers report
beside which the angle is read. For what differs, and in which columns, there is `compare`.
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
from cospan.base.rows import row_keys
from cospan.base.tables import make_dataframe
from cospan.base.text import chance, plural
from cospan.base.tolerance import EQUAL_STATISTICS
from cospan.base.types import Data, DataFrame, Floats, Index
from cospan.data import encode, notes_of, open_source
from cospan.errors import InputError, Note, warn
from cospan.summary import random_rows

FEWEST_ROWS = 10  # of each set: below, half of them train no classifier
ROWS = 2_000  # of each set; the distances between all pairs of them take the most time
PERMUTATIONS = 199  # for the p-value of the kernel distance
UNITS = {"own": "each feature in units of its spread", "raw": "features as they came"}


@dataclass(frozen=True)
class Measure:
    """One measure's answer."""

    name: str
    value: float
    p_value: float | None  # of "both sets come from one distribution"; None without a test
    meaning: str  # how to read the value, in one line


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
            p = "" if one.p_value is None else chance(one.p_value)
            lines.append(f"{one.name:<{width}}  {one.value:>9.4g}  {p:<15}  {one.meaning}")
        return "\n".join(lines)


def measure_panel(
    A: Data, B: Data, *, units: str = "own", rows: int = ROWS, random_state: int = 0
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
    random_state : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import measure_panel
    >>> X, y = load_iris(return_X_y=True)
    >>> panel = measure_panel(X[y == 1], X[y == 2])
    >>> panel["MMD"].p_value, panel["C2ST, logistic"].value > 0.9
    (0.005, True)
    """
    units = as_option(units, "units", tuple(UNITS))
    pair = read_pair(A, B, units=units, rows=rows, seed=random_state)
    warn(pair.notes)
    measures = []
    for name, (meaning, compute) in MEASURES.items():
        value, p_value = compute(pair.a, pair.b, random_state)
        measures.append(Measure(name, value, p_value, meaning))
    return Panel(tuple(measures), len(pair.a), len(pair.b), pair.sampled, units)


# ---- two sets, read -----------------------------------------------------------------------------


class Pair(NamedTuple):
    """Rows of both sets, and where they were in the data."""

    a: Floats
    b: Floats
    rows_a: Index
    rows_b: Index
    sampled: bool
    kinds: Index  # of the rows of both: a number, equal where rows are equal
    notes: list[Note]


def read_pair(
    A: Data, B: Data, *, units: str, rows: int, seed: int, names: tuple[str, str] = ("A", "B")
) -> Pair:
    """Read two sets of anything that `compare` takes, at most `rows` rows of each at random.

    Features are divided by their spread in both sets (``"own"``) or in the ``"first"``, so that
    impossible values in the second do not stretch the unit.
    """
    most = as_count(rows, "rows", least=FEWEST_ROWS)
    rng = np.random.default_rng(as_seed(seed, "random_state"))
    encoded = encode([open_source(X, name=name) for X, name in zip((A, B), names, strict=True)])
    found = [source.read() for source in encoded]
    for source, chunk in zip(encoded, found, strict=True):
        if len(chunk.rows) < FEWEST_ROWS:
            count = plural(len(chunk.rows), "row")
            raise InputError(f"{source.name} has {count}; at least {FEWEST_ROWS} are needed.")
    kept = [random_rows(len(chunk.rows), most, rng) for chunk in found]
    rows_of = zip(found, kept, strict=True)
    a, b = (np.asarray(chunk.rows, dtype=np.float64)[index] for chunk, index in rows_of)
    keys = row_keys(list(np.vstack([a, b]).T))
    merged = [chunk.merged for chunk in found]
    if merged[0] is not None and merged[1] is not None:  # rare levels that share a feature
        keys = keys + np.concatenate([merged[0][kept[0]], merged[1][kept[1]]])
    if units != "raw":
        spread = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
        if units == "first":
            spread = np.where(a.std(axis=0) > 0, a.std(axis=0), spread)
        spread[spread == 0] = 1.0
        a, b = a / spread, b / spread
    return Pair(
        a,
        b,
        kept[0],
        kept[1],
        sampled=any(len(chunk.rows) > most for chunk in found),
        kinds=np.unique(keys, return_inverse=True)[1],
        notes=notes_of(encoded),
    )


# ---- classifiers --------------------------------------------------------------------------------

#: A value, and the p-value of "both samples come from one distribution" where there is a test.
Answer = tuple[float, float | None]


def _held_out(model: Any, A: Floats, B: Floats, seed: int) -> Answer:
    """AUC of a classifier on rows it has not seen, with its Mann-Whitney p-value.

    A random half of each set trains, so the test of the others is valid whatever the classifier.
    """
    rng = np.random.default_rng(seed)
    halves = [np.array_split(rows[rng.permutation(len(rows))], 2) for rows in (A, B)]
    train, test = (np.vstack([half[i] for half in halves]) for i in (0, 1))
    is_b = [np.repeat([0, 1], [len(half[i]) for half in halves]) for i in (0, 1)]
    scores = model.fit(train, is_b[0]).predict_proba(test)[:, 1]
    in_a, in_b = scores[is_b[1] == 0], scores[is_b[1] == 1]
    ranks = scipy.stats.mannwhitneyu(in_b, in_a, alternative="greater", method="asymptotic")
    p_value = float(ranks.pvalue) if np.ptp(scores) else 1.0  # equal scores have no ranks
    return float(ranks.statistic) / (len(in_a) * len(in_b)), p_value


def _logistic(A: Floats, B: Floats, seed: int) -> Answer:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    return _held_out(make_pipeline(StandardScaler(), model), A, B, seed)


def _boosting(A: Floats, B: Floats, seed: int) -> Answer:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(class_weight="balanced", random_state=0)
    return _held_out(model, A, B, seed)


# ---- distances ----------------------------------------------------------------------------------


def mmd(A: Floats, B: Floats, seed: int = 0, *, permutations: int = PERMUTATIONS) -> Answer:
    """Squared maximum mean discrepancy, unbiased, with a Gaussian kernel and a permutation test.

    It is a quadratic form of the labels: one matrix product gives it for every permutation.
    """
    rows, n_a, n_b = np.vstack([A, B]), len(A), len(B)
    distances = scipy.spatial.distance.cdist(rows, rows)
    bandwidth = float(np.median(distances[np.triu_indices(len(rows), 1)]))
    # Where most rows are equal the median is 0: the mean distance serves, and 1 where all are.
    bandwidth = bandwidth or float(distances.mean()) or 1.0
    kernel = np.exp(-0.5 * (distances / bandwidth) ** 2)
    np.fill_diagonal(kernel, 0.0)  # a row is not compared with itself
    rng = np.random.default_rng(seed)
    in_a = np.zeros((len(rows), permutations + 1))
    in_a[:n_a, 0] = 1  # the data comes first
    for column in range(1, permutations + 1):
        in_a[rng.permutation(len(rows))[:n_a], column] = 1
    towards_a = kernel @ in_a
    sums_a = np.einsum("ij,ij->j", in_a, towards_a)
    between = towards_a.sum(axis=0) - sums_a
    sums_b = float(kernel.sum()) - sums_a - 2 * between
    values = sums_a / (n_a * (n_a - 1)) + sums_b / (n_b * (n_b - 1)) - 2 * between / (n_a * n_b)
    # Equal permutations (many equal rows) may differ by rounding; they count as equal.
    slack = EQUAL_STATISTICS * float(np.abs(values).max(initial=0.0))
    return float(values[0]), float(np.mean(values >= values[0] - slack))


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


#: How to read each measure, and what computes it from the rows of both sets and a seed.
MEASURES: dict[str, tuple[str, Callable[[Floats, Floats, int], Answer]]] = {
    "C2ST, logistic": (
        "AUC of logistic regression on held-out rows: 0.5 is chance, 1 is perfect",
        _logistic,
    ),
    "C2ST, boosting": (
        "AUC of gradient-boosted trees on held-out rows: 0.5 is chance, 1 is perfect",
        _boosting,
    ),
    "MMD": ("squared kernel distance, unbiased: 0 is alike", mmd),
    "Fréchet distance": (
        "squared distance of means and covariances, as in FID: 0 is alike",
        lambda A, B, seed: (frechet_distance(A, B), None),
    ),
}
