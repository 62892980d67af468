"""The seed is for chance: the answer for large sets does not hang on it."""

import numpy as np
import pytest

import cospan
from cospan.comparison import pipeline, reading


@pytest.fixture
def small_samples(monkeypatch):
    """Sets of 3,000 rows are large: 300 of them are sampled."""
    monkeypatch.setattr(reading, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(pipeline, "SCORED_ROWS", 10_000)


def large(rng, n=3000):
    return rng.normal(size=(n, 4)), rng.normal(size=(n, 4)) * 1.3 + 0.3


@pytest.mark.parametrize("score_all", [False, True])
def test_figures_of_all_seeds_are_within_each_others_intervals(small_samples, score_all):
    pair = large(np.random.default_rng(0))
    found = [
        cospan.compare(*pair, seed=seed, n_permutations=19, score_all=score_all)
        for seed in range(5)
    ]
    for name in ("auc", "fisher_rao", "overlap"):
        estimates = [getattr(one.separation, name) for one in found]
        assert len({one.value for one in estimates}) == 1
    effects = [one.shift.effect for one in found]
    assert len({one.value for one in effects}) == len(effects)  # by other halves
    assert all(one.low <= other.value <= one.high for one in effects for other in effects)
    assert len({one.shift.null[0] for one in found}) == len(found)  # and other relabellings


def test_all_scored_rows_say_what_the_angle_is_worth(small_samples):
    """The gain is fitted to 300 rows, the distance is that of 3,000."""
    rng = np.random.default_rng(1)
    A, B = large(rng)
    values, widths = [], []
    for _ in range(6):
        orders = [rng.permutation(3000) for _ in "AB"]
        pair = (A[orders[0]], B[orders[1]])
        one = cospan.compare(*pair, n_permutations=19, shrinkage=0.01, dof=1.0, pooling=0.0)
        found = one.separation.fisher_rao
        values.append(found.value)
        widths.append(found.high - found.low)
    assert np.ptp(values) < 0.02 * min(widths)
