"""Leave-one-out costs and the automatic choice of α, against doing it the long way."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from cospan import JointFrame
from cospan._tolerance import FAST_SHRINKAGE
from cospan.shrinkage import SHRINKAGE_GRID, left_out_cost


def pair(seed, p=40, q=30, d=15):
    rng = np.random.default_rng(seed)
    spread = np.geomspace(3, 0.05, d)
    A = rng.standard_normal((p, d)) * spread
    B = rng.standard_normal((q, d)) * spread[rng.permutation(d)] + 0.3
    return A, B


def test_taking_a_row_out_by_formula_equals_taking_it_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    S = X.T @ X
    cost = np.einsum("ij,ij->i", X, np.linalg.solve(S, X.T).T)
    expected = [x @ np.linalg.solve(S - 0.7 * np.outer(x, x), x) for x in X]
    np.testing.assert_allclose(left_out_cost(cost, 0.7), expected, rtol=1e-11)


def test_a_row_that_nothing_else_spans_costs_infinity():
    assert left_out_cost(np.array([1.0]), np.array([1.0]))[0] == math.inf
    assert left_out_cost(np.array([1.0 - 1e-15]), np.array([1.0]))[0] == math.inf  # but rounding
    assert left_out_cost(np.array([1.0 - 1e-9]), np.array([1.0]))[0] < math.inf


def test_the_grid_begins_where_fast_summaries_are_allowed():
    assert SHRINKAGE_GRID[0] == FAST_SHRINKAGE
    assert all(x < y < 1 for x, y in itertools.pairwise(SHRINKAGE_GRID))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("balance", [True, False])
def test_automatic_shrinkage_has_the_best_left_out_auc(seed, balance):
    A, B = pair(seed)
    label = np.repeat([0, 1], [len(A), len(B)])

    def score(alpha):
        frame = JointFrame.fit(A, B, shrinkage=alpha, balance=balance)
        theta = np.concatenate([part.theta for part in frame.leave_one_out(A, B)])
        auc = round(roc_auc_score(label, theta), 4)
        return auc, balanced_accuracy_score(label, theta > math.pi / 4), -alpha

    best = max(SHRINKAGE_GRID, key=score)
    assert JointFrame.fit(A, B, balance=balance).shrinkage == best


def test_in_sample_angles_flatter_and_left_out_ones_do_not():
    """Two samples of one distribution: honest angles cannot tell them apart."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 40)), rng.standard_normal((60, 40))
    label = np.repeat([0, 1], 60)
    frame = JointFrame.fit(A, B, shrinkage=0.05)
    in_sample = np.concatenate([frame.align(A).theta, frame.align(B).theta])
    honest = np.concatenate([part.theta for part in frame.leave_one_out(A, B)])
    assert roc_auc_score(label, in_sample) > 0.99
    assert abs(roc_auc_score(label, honest) - 0.5) < 0.15
