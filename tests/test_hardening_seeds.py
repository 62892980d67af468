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
def test_no_figure_hangs_on_the_seed(small_samples, score_all):
    pair = large(np.random.default_rng(0))
    found = [
        cospan.compare(*pair, seed=seed, n_permutations=19, score_all=score_all)
        for seed in range(5)
    ]
    for name in ("auc", "fisher_rao", "overlap"):
        assert len({getattr(one.separation, name) for one in found}) == 1
    assert {one.p for one in found} == {0.05}


def test_all_scored_rows_say_what_the_angle_is_worth(small_samples):
    """The gain is fitted to 300 rows, the distance is that of 3,000."""
    rng = np.random.default_rng(1)
    A, B = large(rng)
    values = []
    for _ in range(6):
        orders = [rng.permutation(3000) for _ in "AB"]
        pair = (A[orders[0]], B[orders[1]])
        one = cospan.compare(*pair, n_permutations=19, shrinkage=0.01, dof=1.0, pooling=0.0)
        values.append(one.separation.fisher_rao)
    assert np.ptp(values) < 0.002
