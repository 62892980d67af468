"""Every pair of sets: how far apart their rows are on its angle, and which sets join first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._arrays import one_blas_thread
from cospan._types import Floats
from cospan.comparison.fitting import Fitted, Model
from cospan.comparison.reading import SAMPLE_SEED, ReadSet, sample_size
from cospan.comparison.scorer import Scored, pair_angle
from cospan.comparison.scoring import Group
from cospan.comparison.settings import Settings
from cospan.model import angles_of, as_fitted, fit_calibration, log_odds_of
from cospan.significance import Separation, fit_reliabilities, pair_separation
from cospan.sources import Chunk
from cospan.summary import Reservoir, random_rows, rows_within

TESTED_ROWS = 2_500  # rows of each set that repeated fits and permutations take, at most
TESTED_WORK = 2**25  # and rows times features squared: hundreds of frames are fitted to them
SHOWN_ROWS, SHOWN_BYTES = 1_000, 2**25  # of each of K sets; of all of them together
FEWEST_HALVED = 4  # rows of a set, of which the halves are fitted to see how much a fit strays


class Pairs(NamedTuple):
    """The separation of each pair of K sets, once for (i, j) or (j, i)."""

    n_sets: int
    found: dict[tuple[int, int], Separation]

    def between(self, i: int, j: int) -> Separation:
        return self.found[(i, j) if (i, j) in self.found else (j, i)]

    def matrix(self, end: str, measure: str = "fisher_rao") -> Floats:
        """(K, K): a measure of every pair (`end` "value"), or an end of its interval.

        On the diagonal, where a set meets itself, no difference: an AUC of ½, else 0.
        """
        matrix = np.full((self.n_sets, self.n_sets), 0.5 if measure == "auc" else 0.0)
        for (i, j), one in self.found.items():
            matrix[i, j] = matrix[j, i] = getattr(getattr(one, measure), end)
        return matrix


def separate_pairs(
    groups: Sequence[Group], fitted: Fitted, samples: Sequence[Floats], settings: Settings
) -> Pairs:
    """How far apart each pair's own rows are; the intervals know that the model was fitted."""
    geometry, order = fitted.model.geometry, fitted.order
    calibrated = bool(geometry.calibration.offsets)
    known = _reliabilities(fitted.model, [samples[k] for k in order], settings.seed)
    n_fitted = sample_size(fitted.model.n_features)
    back = np.argsort(order)
    known = known[np.ix_(back, back)]
    found = {
        (i, j): pair_separation(
            *_levelled(
                _pair_angles(groups, i, j, calibrated, n_fitted), groups[i].kept, groups[j].kept
            ),
            calibrated=calibrated,
            confidence=settings.confidence,
            n_bootstrap=settings.n_bootstrap,
            reliability=known[i, j],
            seed=settings.seed,
        )
        for i, j in itertools.combinations(order, 2)
    }
    return Pairs(len(groups), found)


def _pair_angles(
    groups: Sequence[Group], i: int, j: int, calibrated: bool, n_fitted: int
) -> tuple[Floats, Floats]:
    """Angles of the rows of sets i and j between the two, 0 for i.

    One gain serves all sets, and two of many may differ less than the others do: their own rows
    say what the angle between them is worth, as when the two are compared alone. Of large sets
    more rows are scored than the gain was fitted to, and again these say it: the interval of a
    distance takes the gain to be as good as the rows in it.
    """
    kept = [groups[k].kept for k in (i, j)]
    few = max(len(one.ids) for one in kept) <= n_fitted
    if not calibrated or (len(groups) == 2 and few):
        if kept[0].alignment is not None:
            return kept[0].theta, kept[1].theta
        return pair_angle(kept[0].weights, i, j), pair_angle(kept[1].weights, i, j)
    both = np.concatenate([one.weights[:, [i, j]] for one in kept])
    own = np.repeat([0, 1], [len(one.ids) for one in kept])
    log_odds = -log_odds_of(both)
    found = fit_calibration(log_odds, own, np.ones(len(own)))
    theta = np.asarray(angles_of(np.exp(-log_odds[:, 0]), np.exp(-log_odds[:, 1]), found))
    return theta[own == 0], theta[own == 1]


def _levelled(angles: tuple[Floats, Floats], one: Scored, other: Scored) -> tuple[Floats, Floats]:
    """The angles with one for all rows of equal values, whichever set they are in.

    Leaving a row out moves it a little to the other set, so that of two equal rows in different
    sets each looks more like the other's. Among numbers that is one pair in many; among
    categories most pairs are equal, and would all be ordered wrongly instead of not at all.
    """
    if one.kinds is None or other.kinds is None:
        return angles
    kinds = np.unique(np.concatenate([one.kinds, other.kinds]), return_inverse=True)[1]
    theta, first = np.concatenate(angles), len(angles[0])
    times = np.bincount(kinds)
    times_a = np.bincount(kinds[:first], minlength=len(times))
    mean = np.bincount(kinds, weights=theta) / times
    shared = ((times_a > 0) & (times_a < times))[kinds]
    theta = np.where(shared, mean[kinds], theta)
    return theta[:first], theta[first:]


def tested_rows(read: Sequence[ReadSet]) -> list[Chunk]:
    """Rows of each set, as many as repeated fits can take."""
    width = min(read[0].sample.rows.shape[1], 128)  # the test itself keeps no more directions
    size = min(TESTED_ROWS, TESTED_WORK // width**2)
    found = []
    for one in read:
        sample: Reservoir[Chunk] = Reservoir(size, SAMPLE_SEED)
        sample.add(one.sample)
        drawn = sample.result()
        found.append(drawn._replace(rows=drawn.rows.astype(np.float64)))
    return found


def shown_rows(tested: Sequence[Chunk], seed: int) -> list[Chunk]:
    """Of these rows, as many as a result carries along to tell what changed between two sets."""
    width = tested[0].rows.shape[1]
    size = rows_within(SHOWN_BYTES // len(tested), width, SHOWN_ROWS, fewest=20)
    rng = np.random.default_rng
    return [one.take(random_rows(len(one.rows), size, rng(seed))) for one in tested]


def _reliabilities(model: Model, samples: Sequence[Floats], seed: int) -> Floats:
    """How far the angles of each pair are the sets' and not the fit's noise, (K, K).

    0, so the widest intervals, where halves of a set would be too small to say, or nothing
    keeps a fit to them steady.
    """
    found = np.zeros((len(samples), len(samples)))
    enough = [k for k, rows in enumerate(samples) if len(rows) >= FEWEST_HALVED]
    if len(enough) > 1 and model.geometry.shrinkage > 0:
        geometry, sets = as_fitted(model, [samples[k] for k in enough])
        with one_blas_thread():
            known = fit_reliabilities(geometry, sets, random_state=seed)
        found[np.ix_(enough, enough)] = known
    return found


class Linkage(NamedTuple):
    """Which sets join first, as SciPy writes it, and the sets with close ones side by side."""

    joined: Floats
    leaves: NDArray[np.intp]


def join_sets(distance: Floats, order: Sequence[int]) -> Linkage:
    """Average linkage of K sets."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    # Ties are broken by place, so the places are those that the sets' content gives.
    places = np.asarray(order, dtype=np.intp)
    arranged = distance[np.ix_(places, places)]
    joined = linkage(squareform(arranged, checks=False), "average", optimal_ordering=True)
    nodes = joined[:, :2].astype(np.intp)
    single = nodes < len(order)
    nodes[single] = places[nodes[single]]
    return Linkage(np.column_stack([nodes, joined[:, 2:]]), places[leaves_list(joined)])
