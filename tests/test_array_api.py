"""The same numbers from NumPy, array-api-strict and torch, on their device and in their dtype."""

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import array_namespace
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary
from cospan.base import arrays, factorizations
from cospan.model import SetCosts

NAMESPACES = {"numpy": np.asarray, "strict": array_api_strict.asarray, "torch": torch.asarray}


@pytest.fixture(params=sorted(NAMESPACES))
def xp(request):
    """A function that takes NumPy arrays into the namespace under test."""
    return NAMESPACES[request.param]


def pair(p=150, q=130, d=24, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((d, d)) / np.sqrt(d)
    A = rng.standard_normal((p, d)) @ mix + 0.3
    B = rng.standard_normal((q, d)) * np.geomspace(0.3, 3, d) - 0.2
    return A.astype(dtype), B.astype(dtype), rng.standard_normal((60, d)).astype(dtype)


def same_home(x, reference):
    return array_namespace(x) is array_namespace(reference) and x.dtype == reference.dtype


def degrees(alignment):
    return np.rad2deg(arrays.to_numpy(alignment.theta).astype(float))


@pytest.mark.parametrize("exact", [True, False])
def test_summaries_are_float64_and_the_same_everywhere(xp, exact):
    A, B, _ = pair(dtype=np.float32)
    expected = Summary.of(A, exact=exact) + Summary.of(B, exact=exact)
    found = Summary.of(xp(A), exact=exact) + Summary.of(xp(B), exact=exact)
    assert same_home(found.mean, xp(A.astype(float)))
    assert found.eps == expected.eps
    assert_allclose(
        arrays.to_numpy(found.scatter_about()), expected.scatter_about(), rtol=0, atol=1e-9
    )
    assert_allclose(found.sample.rows, expected.sample.rows)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("exact", [True, False])
def test_chunks_and_batch_agree(xp, exact, weights):
    A, _, _ = pair(p=900)
    w = np.random.default_rng(1).integers(0, 4, len(A)).astype(float) if weights else None
    batch = Summary.of(A, w, exact=True)
    if weights:
        found = Summary.of(xp(A), w, exact=exact)
    else:
        found = Summary.of_chunks([xp(A[:7]), xp(A[7:500]), xp(A[500:])], exact=exact)
    assert_allclose(arrays.to_numpy(found.mean), batch.mean, atol=1e-12)
    assert_allclose(arrays.to_numpy(found.scatter_about()), batch.scatter_about(), atol=1e-9)


SETTINGS = {
    "everything chosen": {},
    "no shrinkage": {"shrinkage": 0},
    "weak shrinkage": {"shrinkage": 0.01},
    "own units, pooled": {"units": "own", "pooling": 0.3, "dof": 5, "shrinkage": 0.1},
    "linear, chosen": {"span": "linear"},
    "linear, no shrinkage": {"span": "linear", "shrinkage": 0},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("rows", [(150, 130), (9, 8)])
@pytest.mark.filterwarnings("ignore:A .* and B .* share no direction")
def test_float64_angles_agree_to_1e8(xp, rows, settings):
    A, B, Z = pair(*rows)
    expected = JointFrame.fit(A, B, **settings)
    found = JointFrame.fit(xp(A), xp(B), **settings)
    for name in ("units", "shrinkage", "pooling", "dof"):
        assert getattr(found, name) == getattr(expected, name)
    assert same_home(found.c, xp(A))
    assert same_home(found.shifts, xp(A))
    # Directions of one angle are any basis of their space; the length of the shift is not.
    shift = np.linalg.norm(arrays.to_numpy(found.shifts))
    assert shift == pytest.approx(np.linalg.norm(expected.shifts), rel=1e-8)
    for weighting in ("cost", "frame") if found.span == "linear" else ("cost",):
        scored = found.align(xp(Z), weighting=weighting)
        assert same_home(scored.theta, xp(Z))
        assert_allclose(degrees(scored), degrees(expected.align(Z, weighting=weighting)), atol=1e-8)
    left_out, reference = found.leave_one_out(xp(A), xp(B)), expected.leave_one_out(A, B)
    assert same_home(left_out.a.theta, xp(A))
    assert_allclose(degrees(left_out.a), degrees(reference.a), atol=1e-6)
    assert_allclose(degrees(left_out.b), degrees(reference.b), atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("rows", [(150, 130), (9, 8)])
def test_costs_to_several_sets_are_the_same_everywhere(xp, rows, settings):
    A, B, Z = pair(*rows)
    sets = [A, B, Z[: min(rows)]]
    expected = SetCosts.from_summaries([Summary.of(X) for X in sets], **settings)
    found = SetCosts.from_summaries([Summary.of(xp(X)) for X in sets], **settings)
    weights = found.weights(xp(Z))
    assert same_home(weights, xp(Z))
    assert_allclose(arrays.to_numpy(weights), expected.weights(Z), atol=1e-8)
    own = np.zeros(len(A), dtype=int)
    left_out = arrays.to_numpy(found.left_out_costs(xp(A), own))
    assert_allclose(left_out, expected.left_out_costs(A, own), rtol=1e-6)


def test_float32_stays_float32_and_agrees_to_a_thousandth_of_a_degree(xp):
    A, B, Z = pair(p=2000, q=2000, dtype=np.float32)
    expected = JointFrame.fit(A.astype(float), B.astype(float), shrinkage=0.01)
    found = JointFrame.fit(xp(A), xp(B), shrinkage=0.01)
    scored = found.align(xp(Z))
    assert same_home(scored.theta, xp(Z))
    assert_allclose(degrees(scored), degrees(expected.align(Z.astype(float))), atol=1e-3)


# ---- Cholesky-QR ------------------------------------------------------------------------------


def graded(condition, rows=400, d=30, seed=3):
    """A matrix with singular values from 1 to 1/condition."""
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((rows, d)))
    V, _ = np.linalg.qr(rng.standard_normal((d, d)))
    values = np.geomspace(1, 1 / condition, d)
    return (U * values) @ V.T, values


@pytest.mark.parametrize("condition", [1e1, 1e6, 1e9, 1e13])
def test_cholesky_qr_is_as_good_as_householder(xp, condition):
    X, values = graded(condition)
    found = factorizations.qr(xp(X))
    Q, R = arrays.to_numpy(factorizations.explicit(found)), arrays.to_numpy(found.R)
    eps = np.finfo(float).eps
    assert np.abs(Q.T @ Q - np.eye(30)).max() < 100 * eps
    assert np.abs(Q @ R - X).max() < 100 * eps
    assert np.abs(np.linalg.svd(R, compute_uv=False) - values).max() < 100 * eps


@pytest.mark.parametrize("spoil", ["dependent", "zero", "both", "nothing"])
def test_a_factor_exists_whatever_the_rank(xp, spoil):
    X, _ = graded(1e15)
    if spoil in ("dependent", "both"):
        X[:, 5] = X[:, 6]
    if spoil in ("zero", "both"):
        X[:, 9] = 0
    F = arrays.to_numpy(factorizations.triangular_factor(xp(X)))
    found, expected = (np.linalg.svd(x, compute_uv=False) for x in (F, X))
    assert np.abs(found - expected).max() < 100 * np.finfo(float).eps


def test_dependent_columns_have_a_triangular_factor(xp):
    X, _ = graded(10)
    X[:, 3] = X[:, 4]
    R = factorizations.qr(xp(X)).R
    assert_allclose(arrays.to_numpy(R.T @ R), X.T @ X, atol=1e-12)


def test_an_exact_summary_keeps_all_digits_of_near_dependent_rows(xp):
    """Squaring would lose the weakest of directions 1e-10 apart; the passes do not."""
    X, _ = graded(1e10)
    X = X - X.mean(axis=0)
    found = np.linalg.svd(arrays.to_numpy(Summary.of(xp(X)).R), compute_uv=False)
    assert_allclose(found[:-1], np.linalg.svd(X, compute_uv=False)[:-1], rtol=1e-4)


def test_full_precision_leaves_the_users_setting_alone():
    before = torch.get_float32_matmul_precision()
    with arrays.full_precision(torch.zeros(2, 2)):
        assert torch.get_float32_matmul_precision() == before
    assert torch.get_float32_matmul_precision() == before
