"""Relative Procrustes: a planted shared rotation, invariances; and the span view."""

import importlib
from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg

from cospan import JointFrame, relative_procrustes, span_view
from cospan.errors import CospanError, CospanWarning, InputError
from matrices import orthonormal, pair_with_angles

SHARED, D = 20, 100


class Planted(NamedTuple):
    """Paired rows with a rotated shared part, and the ground truth."""

    X: np.ndarray
    Y: np.ndarray
    R: np.ndarray  # (20, 20), in the coordinates of Q
    Q: np.ndarray  # (100, 20), orthonormal columns: the shared subspace


def planted(seed=0, n=500, *, noise=20.0, jitter=0.05):
    """y = x R in 20 of 100 dimensions; strong noise that X has in 60 others, and Y in 20."""
    rng = np.random.default_rng(seed)
    turn, R = orthonormal(rng, D, D), orthonormal(rng, SHARED, SHARED)
    w = rng.standard_normal((n, SHARED))
    own_x, own_y = np.zeros((2, n, 80))
    own_x[:, :60] = noise * rng.standard_normal((n, 60))
    own_y[:, 60:] = noise * rng.standard_normal((n, 20))
    X = np.hstack([w, own_x]) + jitter * rng.standard_normal((n, D))
    Y = np.hstack([w @ R, own_y]) + jitter * rng.standard_normal((n, D))
    return Planted(X @ turn.T, Y @ turn.T, R, turn[:, :SHARED])


def error(operator, case):
    """Of a map of the features (rows times it), on the planted subspace: ‖QᵀMQ - R‖ / ‖R‖."""
    return np.linalg.norm(case.Q.T @ operator @ case.Q - case.R) / np.linalg.norm(case.R)


def operator_of(found):
    """The map of the features behind `transform`: what it does to the unit vectors."""
    center = found.frame.center
    return found.transform(center + np.eye(D)) - center


# ---- the planted rotation ---------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "shrinkage"), [(0, 0), (1, 0.005)])
def test_a_planted_rotation_is_recovered_where_plain_procrustes_fails(seed, shrinkage):
    case = planted(seed)
    frame = JointFrame.fit(case.X, case.Y, shrinkage=shrinkage)
    found = relative_procrustes(frame, case.X, case.Y)
    plain, _ = scipy.linalg.orthogonal_procrustes(case.X, case.Y)
    assert len(found.used) == SHARED
    assert error(operator_of(found), case) < 0.1
    assert error(plain, case) > 0.5
    assert found.residual < 0.5


def test_it_works_for_other_rows_than_the_frame_was_fitted_to():
    case, fresh = planted(5, n=1000), planted(5, n=1000)
    fit, pairs, rest = slice(0, 500), slice(500, 800), slice(800, 1000)
    frame = JointFrame.fit(case.X[fit], case.Y[fit], shrinkage=0.005)
    found = relative_procrustes(frame, case.X[pairs], case.Y[pairs])
    moved, target = found.transform(fresh.X[rest]), fresh.Y[rest]
    before = np.linalg.norm((fresh.X[rest] - target) @ case.Q)
    assert np.linalg.norm((moved - target) @ case.Q) < 0.5 * before


# ---- what it is -------------------------------------------------------------------------------


def test_it_is_scipys_procrustes_in_the_shared_coordinates():
    case = planted(6)
    frame = JointFrame.fit(case.X, case.Y, shrinkage=0.01)
    found = relative_procrustes(frame, case.X, case.Y, shared_above=0.4)
    kept = np.minimum(frame.c, frame.s) > 0.4
    assert found.used.tolist() == np.flatnonzero(kept).tolist()
    left, right = frame.coordinates(case.X)[:, kept], frame.coordinates(case.Y)[:, kept]
    rotation, _ = scipy.linalg.orthogonal_procrustes(left, right)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-10)
    expected = np.linalg.norm(left @ rotation - right) / np.linalg.norm(right)
    assert found.residual == pytest.approx(expected)


@pytest.mark.parametrize("shrinkage", [0, 0.01])
def test_transform_rotates_the_shared_part_and_nothing_else(shrinkage):
    case = planted(7)
    frame = JointFrame.fit(case.X, case.Y, shrinkage=shrinkage)
    found = relative_procrustes(frame, case.X, case.Y)
    moved = found.transform(case.X)
    np.testing.assert_allclose(
        found.coordinates(moved), found.coordinates(case.X) @ found.rotation, atol=1e-8
    )
    others = np.setdiff1d(np.arange(frame.rank), found.used)
    np.testing.assert_allclose(
        frame.coordinates(moved)[:, others], frame.coordinates(case.X)[:, others], atol=1e-8
    )
    size = np.linalg.norm(found.coordinates(case.Y))
    left_over = np.linalg.norm(found.coordinates(moved) - found.coordinates(case.Y)) / size
    assert left_over == pytest.approx(found.residual)


def test_the_rotation_is_orthogonal_and_undone_by_swapping():
    case = planted(8)
    frame = JointFrame.fit(case.X, case.Y, shrinkage=0.01)
    there = relative_procrustes(frame, case.X, case.Y).rotation
    back = relative_procrustes(frame, case.Y, case.X).rotation
    np.testing.assert_allclose(there.T @ there, np.eye(SHARED), atol=1e-12)
    np.testing.assert_allclose(there @ back, np.eye(SHARED), atol=1e-10)


def test_equal_rows_need_no_rotation():
    case = planted(12, jitter=1.0)
    frame = JointFrame.fit(case.X, case.Y, shrinkage=0.01)
    found = relative_procrustes(frame, case.X, case.X, shared_above=0)
    assert len(found.used) == D
    np.testing.assert_allclose(found.rotation, np.eye(D), atol=1e-10)
    assert found.residual < 1e-12
    np.testing.assert_allclose(found.transform(case.X), case.X, atol=1e-8)


def test_few_rows_of_many_features():
    rng = np.random.default_rng(9)
    X, Y = rng.standard_normal((2, 30, 90))
    frame = JointFrame.fit(X, Y, shrinkage=0.2)
    assert frame.basis is not None
    with pytest.warns(CospanWarning, match="30 pairs of rows do not fix a rotation of 61"):
        found = relative_procrustes(frame, X, Y, shared_above=0)
    assert found.transform(X).shape == (30, 90)


def test_torch_and_lists_go_in():
    torch = importlib.import_module("torch")
    case = planted(10, n=120)
    frame = JointFrame.fit(case.X, case.Y, shrinkage=0.01)
    expected = relative_procrustes(frame, case.X, case.Y)
    for X, Y in (
        (torch.asarray(case.X), torch.asarray(case.Y)),
        (case.X.tolist(), case.Y.tolist()),
    ):
        found = relative_procrustes(frame, X, Y)
        np.testing.assert_allclose(found.rotation, expected.rotation)
        np.testing.assert_allclose(found.transform(X), expected.transform(case.X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, X: relative_procrustes(f, X, X[1:]), "X has 40 rows and Y has 39"),
        (lambda f, X: relative_procrustes(f, X[:, 1:], X), "X has 63 features where 64"),
        (lambda f, X: relative_procrustes(f, X, X, shared_above=2), "shared_above is 2"),
        (lambda f, X: relative_procrustes(f.truncate(n=9), X, X, shared_above=0.7), "No direction"),
        (lambda f, X: span_view(f), r"fit it with JointFrame.fit\(..., keep_uv=True\)"),
    ],
)
def test_what_is_refused(digits_pair, call, message):
    A, B = digits_pair
    with pytest.raises(CospanError, match=message) as refused:
        call(JointFrame.fit(A, B, shrinkage=0.1), A[:40])
    assert isinstance(refused.value, InputError)


# ---- the span view ----------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", [0, 0.1])
@pytest.mark.parametrize("seed", range(2))
def test_every_latent_gives_one_sample_on_both_sides(seed, shrinkage):
    rng = np.random.default_rng(seed)
    pair = pair_with_angles(rng, [0.0, 0.2, 0.6, 0.9, 1.3, np.pi / 2], 15, 18, 9)
    raw = {"span": "linear", "center": "none", "balance": False}
    frame = JointFrame.fit(pair.A, pair.B, **raw, shrinkage=shrinkage, keep_uv=True)
    A, B = frame.prepared(pair.A, "A"), frame.prepared(pair.B, "B")
    F, G = span_view(frame)
    r, k, _ = frame.blocks
    w = rng.standard_normal((k, 50))
    z = A.T @ F @ w
    np.testing.assert_allclose(B.T @ G @ w, z, atol=1e-11)
    shared = slice(r, r + k)
    weights = (frame.c * frame.s)[shared]
    np.testing.assert_allclose(z, frame.H[shared].T @ (weights[:, None] * w), atol=1e-11)
    # The coefficients are the smallest ones, so their sizes give the angle.
    sizes = np.linalg.norm(F @ w, axis=0), np.linalg.norm(G @ w, axis=0)
    np.testing.assert_allclose(np.arctan2(*sizes), frame.align(z.T).theta, atol=1e-10)


def test_every_relational_pair_arises_from_a_latent():
    rng = np.random.default_rng(11)
    pair = pair_with_angles(rng, [0.0, 0.3, 0.8, 1.1, np.pi / 2], 10, 12, 8)
    raw = {"span": "linear", "center": "none", "balance": False}
    frame = JointFrame.fit(pair.A, pair.B, **raw, shrinkage=0, keep_uv=True)
    F, G = span_view(frame)
    z = rng.standard_normal((6, 3)) @ frame.H[1:4]
    x, y = z @ np.linalg.pinv(pair.A), z @ np.linalg.pinv(pair.B)
    w = np.linalg.lstsq(np.vstack([F, G]), np.hstack([x, y]).T)[0]
    np.testing.assert_allclose(F @ w, x.T, atol=1e-11)
    np.testing.assert_allclose(G @ w, y.T, atol=1e-11)
