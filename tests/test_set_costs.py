"""Costs to K sets: identities with the pair, leave-one-out, the choice of α, missing directions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary
from cospan._classes.constant import append_column, with_constant
from cospan._classes.costs import ClassCosts, simplex_weights
from cospan._classes.shrinkage import choose_class_shrinkage
from cospan.errors import InputError
from cospan.shrinkage import SHRINKAGE_GRID


def sets_of(sizes, d, seed=0):
    """Sets with unlike means and scales along their own oblique directions."""
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)) @ rng.normal(size=(d, d))
        + 0.3 * rng.normal(size=d)
        for n in sizes
    ]


def summaries_of(sets, **options):
    return [Summary.of(X, **options) for X in sets]


PREPARATIONS = [
    {"center": center, "balance": balance, "shrinkage": shrinkage}
    for center in ("pooled", "each", "none")
    for balance in (True, False)
    for shrinkage in (0.0, 1e-4, 0.2)
]


@pytest.mark.parametrize("weighting", ["cost", "frame"])
@pytest.mark.parametrize("options", PREPARATIONS, ids=str)
def test_two_sets_give_the_posterior_of_their_pair(options, weighting):
    A, B, Z = sets_of((60, 45, 30), 7)
    frame = JointFrame.fit(A, B, **options)
    costs = ClassCosts.from_summaries(summaries_of([A, B]), weighting=weighting, **options)
    assert_allclose(costs.weights(Z), frame.align(Z, weighting=weighting).posterior, atol=1e-12)
    pair = frame.leave_one_out(A, B, weighting=weighting)
    own = np.repeat([0, 1], [60, 45])
    left_out = simplex_weights(costs.left_out(np.vstack([A, B]), own))
    assert_allclose(left_out, np.vstack([pair.a.posterior, pair.b.posterior]), atol=1e-11)


@pytest.mark.parametrize("weighting", ["cost", "frame"])
def test_two_sets_that_lack_directions_give_the_posterior_of_their_pair(weighting):
    rng = np.random.default_rng(3)
    H = rng.normal(size=(9, 12))
    A, B = rng.normal(size=(40, 6)) @ H[:6], rng.normal(size=(50, 6)) @ H[3:]
    Z = rng.normal(size=(20, 9)) @ H
    options = {"center": "none", "shrinkage": 0.0, "tol": 1e-10}
    frame = JointFrame.fit(A, B, **options)
    assert tuple(frame.blocks) == (3, 3, 3)
    costs = ClassCosts.from_summaries(summaries_of([A, B]), weighting=weighting, **options)
    assert_allclose(costs.weights(Z), frame.align(Z, weighting=weighting).posterior, atol=1e-10)


@pytest.mark.parametrize("weighting", ["cost", "frame"])
def test_few_rows_of_many_features_give_the_posterior_of_their_pair(weighting):
    A, B = sets_of((6, 5), 40)
    Z = np.random.default_rng(1).normal(size=(20, 40))
    frame = JointFrame.fit(A, B)
    costs = ClassCosts.from_summaries(
        summaries_of([A, B]), shrinkage=frame.shrinkage, weighting=weighting
    )
    assert costs.basis is not None
    assert costs.basis.shape[1] < 40
    assert_allclose(costs.weights(Z), frame.align(Z, weighting=weighting).posterior, atol=1e-12)


@pytest.mark.parametrize("sizes", [(30, 20, 25), (5, 4, 6)], ids=["many rows", "few rows"])
def test_the_formula_with_one_centre_and_one_lambda_for_all(sizes):
    sets = sets_of(sizes, 18)
    Z = sets_of((9,), 18, seed=9)[0]
    center = np.mean([X.mean(axis=0) for X in sets], axis=0)
    scatters = [(X - center).T @ (X - center) / len(X) for X in sets]
    lam = np.mean([np.trace(S) for S in scatters]) / 18
    expected = [
        np.einsum(
            "ij,ij->i",
            Z - center,
            np.linalg.solve(0.8 * S + 0.2 * lam * np.eye(18), (Z - center).T).T,
        )
        for S in scatters
    ]
    found = ClassCosts.from_summaries(summaries_of(sets), shrinkage=0.2)
    assert_allclose(found.squared_costs(Z), np.transpose(expected), rtol=1e-10)


@pytest.mark.parametrize("weighting", ["cost", "frame"])
def test_weights_of_any_two_sets_among_many_are_those_of_the_pair(weighting):
    """w_i / (w_i + w_j) = cos²θ_ij, prepared alike; for the cost weighting."""
    sets = sets_of((50, 40, 30, 35), 6)
    Z = sets_of((25,), 6, seed=9)[0]
    center = np.mean([X.mean(axis=0) for X in sets], axis=0)
    options = {"center": center, "shrinkage": 0.0}
    w = ClassCosts.from_summaries(summaries_of(sets), weighting=weighting, **options).weights(Z)
    assert_allclose(w.sum(axis=1), 1, atol=1e-14)
    if weighting == "frame":  # there the metric is that of all sets together, not of the pair
        return
    for i, j in ((0, 1), (1, 3), (2, 3)):
        theta = JointFrame.fit(sets[i], sets[j], **options).align(Z).theta
        assert_allclose(w[:, i] / (w[:, i] + w[:, j]), np.cos(theta) ** 2, atol=1e-12)


def test_permuting_the_sets_permutes_the_weights():
    sets = sets_of((50, 40, 30), 5)
    Z = sets_of((25,), 5, seed=9)[0]
    order = [2, 0, 1]
    whole = ClassCosts.from_summaries(summaries_of(sets))
    turned = ClassCosts.from_summaries(summaries_of([sets[k] for k in order]))
    assert whole.shrinkage == turned.shrinkage
    assert_allclose(turned.weights(Z), whole.weights(Z)[:, order], atol=1e-12)


@pytest.mark.parametrize("weighting", ["cost", "frame"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_left_out_costs_are_those_of_a_fit_without_the_row(weighting, shrinkage):
    """Centre, λ and divisor held: refit by hand on the other rows."""
    sets = sets_of((20, 18, 22), 4)
    costs = ClassCosts.from_summaries(summaries_of(sets), shrinkage=shrinkage, weighting=weighting)
    row, own = sets[1][3], 1
    scatters = []
    for k, X in enumerate(sets):
        rows = X - costs.center
        kept = np.delete(rows, 3, axis=0) if k == own else rows
        scatters.append(
            (1 - shrinkage) * kept.T @ kept / len(X) + shrinkage * costs.lam * np.eye(4)
        )
    z = row - costs.center
    if weighting == "cost":
        expected = [z @ np.linalg.solve(S, z) for S in scatters]
    else:
        y = np.linalg.solve(sum(scatters), z)
        expected = [1 / (y @ S @ y) for S in scatters]
    found = costs.left_out(row[None, :], [own])[0]
    # The frame weighting's costs are known up to a factor common to all sets.
    scale = 1 if weighting == "cost" else expected[0] / found[0]
    assert_allclose(found * scale, expected, rtol=1e-10)


def test_fast_summaries_agree_with_exact_ones_under_shrinkage():
    sets = sets_of((80, 90, 70), 10)
    Z = sets_of((25,), 10, seed=9)[0]
    exact, fast = (
        ClassCosts.from_summaries(summaries_of(sets, exact=exact), shrinkage=0.01)
        for exact in (True, False)
    )
    assert_allclose(fast.squared_costs(Z), exact.squared_costs(Z), rtol=1e-9)


def test_a_weight_of_two_counts_like_a_row_that_occurs_twice():
    sets = sets_of((30, 25, 28), 4)
    weight = np.random.default_rng(0).integers(1, 3, 30)
    weighted = [Summary.of(sets[0], weight), *summaries_of(sets[1:])]
    repeated = summaries_of([np.repeat(sets[0], weight, axis=0), *sets[1:]])
    a, b = ClassCosts.from_summaries(weighted), ClassCosts.from_summaries(repeated)
    assert a.shrinkage == b.shrinkage
    assert_allclose(a.squared_costs(sets[1]), b.squared_costs(sets[1]), rtol=1e-9)
    once = a.left_out(sets[0], np.zeros(30, dtype=int), sample_weight=weight)
    assert_allclose(once, b.left_out(sets[0], np.zeros(30, dtype=int)), rtol=1e-9)


def test_shrinkage_has_the_best_leave_one_out_accuracy_of_the_grid():
    sets = sets_of((25, 30, 28), 12)
    chosen = ClassCosts.from_summaries(summaries_of(sets)).shrinkage
    rows = np.vstack(sets)
    own = np.repeat([0, 1, 2], [25, 30, 28])

    def accuracy(alpha):
        costs = ClassCosts.from_summaries(summaries_of(sets), shrinkage=alpha)
        right = costs.left_out(rows, own).argmin(axis=1) == own
        return np.mean([right[own == k].mean() for k in range(3)])

    scores = [accuracy(alpha) for alpha in SHRINKAGE_GRID]
    assert len(set(scores)) > 3
    assert chosen == SHRINKAGE_GRID[int(np.argmax(scores))]


def test_shrinkage_is_chosen_from_few_rows_of_each_set():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(4000, 3)) * scale for scale in ([1, 2, 3], [3, 2, 1])]
    scatters = [X.T @ X / len(X) for X in rows]
    counts = [np.ones(4000)] * 2
    few = [X[:2500] for X in rows], [c[:2500] for c in counts]
    whole = choose_class_shrinkage(rows, scatters, counts, [1 / 4000] * 2, 1.0)
    assert whole == choose_class_shrinkage(few[0], scatters, few[1], [1 / 4000] * 2, 1.0)


def test_simplex_weights_at_the_edges():
    squared = np.array([[0.0, 0.0, 1.0], [np.inf, 1.0, 1.0], [1e-300, 1e300, 1.0], [0, 0, 0]])
    expected = [[0.5, 0.5, 0], [0, 0.5, 0.5], [1, 0, 0], [1 / 3] * 3]
    assert_allclose(simplex_weights(squared), expected, atol=1e-15)


def test_the_constant_feature_is_as_if_the_rows_had_had_it():
    sets = sets_of((30, 25, 28), 4)
    for exact in (True, False):
        more = with_constant(summaries_of(sets, exact=exact), 1.0, balance=True)
        direct = summaries_of([append_column(X, more.value) for X in sets], exact=exact)
        options = {"center": more.center, "shrinkage": 0.1}
        found = ClassCosts.from_summaries(more.summaries, **options)
        expected = ClassCosts.from_summaries(direct, **options)
        Z = append_column(sets[1], more.value)
        assert_allclose(found.squared_costs(Z), expected.squared_costs(Z), rtol=1e-8)
    center = np.mean([X.mean(axis=0) for X in sets], axis=0)
    assert_allclose(more.center, [*center, 0.0], atol=1e-12)
    mean_square = np.mean([((X - center) ** 2).sum(axis=1).mean() for X in sets])
    assert more.value == pytest.approx(np.sqrt(mean_square))


def test_bad_sets_are_refused_with_a_reason():
    a, b = summaries_of(sets_of((20, 20), 3))
    with pytest.raises(InputError, match="at least two"):
        ClassCosts.from_summaries([a])
    with pytest.raises(InputError, match="3 and 4 features"):
        ClassCosts.from_summaries([a, b, Summary.of(np.ones((5, 4)))])
    with pytest.raises(InputError, match="Only exact summaries"):
        ClassCosts.from_summaries(summaries_of(sets_of((20, 20), 3), exact=False), shrinkage=0)
    with pytest.raises(InputError, match="nothing to compare"):
        ClassCosts.from_summaries([Summary.of(np.ones((5, 3)))] * 3)
    with pytest.raises(InputError, match="sample_size > 0"):
        ClassCosts.from_summaries([a.without_sample(), b, b])
