"""Costs to K sets: identities with the pair, missing directions, order and number of the sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary
from cospan.errors import InputError
from cospan.model import Calibration, SetCosts, calibrated_weights
from matrices import sets_of


def summaries_of(sets, **options):
    return [Summary.of(X, **options) for X in sets]


def check_pair(A, B, Z, options):
    """Weights of two sets are the posterior of their pair, of new rows and of rows left out."""
    frame = JointFrame.fit(A, B, **options)
    costs = SetCosts.from_summaries(summaries_of([A, B]), **options)
    assert costs.geometry.shrinkage == frame.shrinkage
    assert_allclose(costs.weights(Z), frame.align(Z).posterior, atol=1e-9)
    pair = frame.leave_one_out(A, B)
    own = np.repeat([0, 1], [len(A), len(B)])
    squared = costs.left_out_costs(np.vstack([A, B]), own)
    left_out = calibrated_weights(squared, costs.geometry.calibration)
    assert_allclose(left_out, np.vstack([pair.a.posterior, pair.b.posterior]), atol=1e-9)
    return frame, costs


def test_two_sets_that_lack_directions_give_the_posterior_of_their_pair():
    rng = np.random.default_rng(3)
    H = rng.normal(size=(9, 12))
    A, B = rng.normal(size=(40, 6)) @ H[:6], rng.normal(size=(50, 6)) @ H[3:]
    Z = rng.normal(size=(20, 9)) @ H
    options = {"span": "linear", "center": "none", "shrinkage": 0.0, "tol": 1e-10}
    frame = JointFrame.fit(A, B, **options)
    assert tuple(frame.blocks) == (3, 3, 3)
    costs = SetCosts.from_summaries(summaries_of([A, B]), **options)
    assert_allclose(costs.weights(Z), frame.align(Z).posterior, atol=1e-10)


@pytest.mark.parametrize(
    "options", [{}, {"units": "own", "shrinkage": 0.1, "pooling": 0.3}, {"span": "linear"}], ids=str
)
def test_few_rows_of_many_features_give_the_posterior_of_their_pair(options):
    A, B = sets_of((6, 5), 40)
    Z = np.random.default_rng(1).normal(size=(20, 40))
    _, costs = check_pair(A, B, Z, options)
    assert costs.basis is not None
    assert costs.basis.shape[1] < 40


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
    found = SetCosts.from_summaries(summaries_of(sets), shrinkage=0.2, span="linear")
    assert_allclose(found.squared_costs(Z), np.transpose(expected), rtol=1e-10)


@pytest.mark.parametrize("sizes", [(30, 20, 25), (5, 4, 6)], ids=["many rows", "few rows"])
@pytest.mark.parametrize("units", ["own", "common"])
@pytest.mark.parametrize("pooling", [0, 0.3])
def test_the_formula_about_each_mean(sizes, units, pooling):
    """ν + (z - μ_k)ᵀ ((1-γ) Σ̃_k + γ mean Σ̃)⁻¹ (z - μ_k), with one target T for all sets."""
    sets = sets_of(sizes, 18)
    Z = sets_of((9,), 18, seed=9)[0]
    covariances = [np.cov(X.T, bias=True) for X in sets]
    target = np.mean([np.diag(S) for S in covariances], axis=0)
    target = target if units == "own" else np.full(18, target.mean())
    shrunk = [0.8 * S + 0.2 * np.diag(target) for S in covariances]
    pooled = [(1 - pooling) * S + pooling * np.mean(shrunk, axis=0) for S in shrunk]
    expected = []
    for X, S in zip(sets, pooled, strict=True):
        z = Z - X.mean(axis=0)
        expected.append(3 + np.einsum("ij,ji->i", z, np.linalg.solve(S, z.T)))
    found = SetCosts.from_summaries(
        summaries_of(sets), shrinkage=0.2, units=units, pooling=pooling, dof=3
    )
    assert_allclose(found.squared_costs(Z), np.transpose(expected), rtol=1e-9)


def test_weights_of_any_two_sets_among_many_are_those_of_the_pair():
    """w_i / (w_i + w_j) = cos²θ_ij, prepared alike."""
    sets = sets_of((50, 40, 30, 35), 6)
    Z = sets_of((25,), 6, seed=9)[0]
    options = {"span": "linear", "center": "none", "shrinkage": 0.0}
    w = SetCosts.from_summaries(summaries_of(sets), **options).weights(Z)
    assert_allclose(w.sum(axis=1), 1, atol=1e-14)
    for i, j in ((0, 1), (1, 3), (2, 3)):
        theta = JointFrame.fit(sets[i], sets[j], **options).align(Z).theta
        assert_allclose(w[:, i] / (w[:, i] + w[:, j]), np.cos(theta) ** 2, atol=1e-12)


def test_weights_at_the_edges():
    squared = np.array([[0.0, 0.0, 1.0], [np.inf, 1.0, 1.0], [1e-300, 1e300, 1.0], [0, 0, 0]])
    expected = [[0.5, 0.5, 0], [0, 0.5, 0.5], [1, 0, 0], [1 / 3] * 3]
    assert_allclose(calibrated_weights(squared, Calibration()), expected, atol=1e-15)
    found = calibrated_weights(squared, Calibration(2.0, (0.1, 0.0, -0.1)))
    assert_allclose(found.sum(axis=1), 1)
    assert np.isfinite(found).all()
    assert_allclose(calibrated_weights(squared, Calibration(0.0, (0.0,) * 3)), 1 / 3)


def test_bad_sets_are_refused_with_a_reason():
    a, b = summaries_of(sets_of((20, 20), 3))
    with pytest.raises(InputError, match="at least two"):
        SetCosts.from_summaries([a])
    with pytest.raises(InputError, match="set 1 has 3 features and set 3 has 4"):
        SetCosts.from_summaries([a, b, Summary.of(np.ones((5, 4)))])
    with pytest.raises(InputError, match="too few digits for shrinkage 0"):
        SetCosts.from_summaries(summaries_of(sets_of((20, 20), 3), exact=False), shrinkage=0)
    with pytest.raises(InputError, match="nothing to compare"):
        SetCosts.from_summaries([Summary.of(np.ones((5, 3)))] * 3)
