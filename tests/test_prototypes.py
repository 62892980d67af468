"""The most A-like and the most B-like points: Theorem 2 in one dimension more, and deflation."""

import importlib

import numpy as np
import pytest

from cospan import JointFrame, prototypes
from cospan.errors import InputError
from test_frame import pair

SETTINGS = [
    {},
    {"shrinkage": 0},
    {"shrinkage": 0.2, "units": "own", "dof": 5.0},
    {"shrinkage": 0.1, "pooling": 0.5},
    {"shrinkage": 0.1, "calibrate": False},
]


def beyond(theta, extreme, side):
    """How far angles go past an extreme; above 0 would refute it."""
    return extreme - theta if side == "A" else theta - extreme


@pytest.mark.parametrize("side", ["A", "B"])
@pytest.mark.parametrize("options", SETTINGS)
def test_no_point_whatever_lies_beyond_the_first(options, side):
    A, B, _ = pair()
    frame = JointFrame.fit(A, B, **options)
    found = prototypes(frame, side)
    best = found.alignment.theta[0]
    rng = np.random.default_rng(0)
    point = found.points[0]
    scale = 10.0 ** rng.uniform(-4, 4, (4000, 1))
    tried = np.vstack(
        [
            A,
            B,
            point + scale * rng.standard_normal((4000, 12)) * A.std(0),
            frame.center + scale * (point - frame.center),
        ]
    )
    past = beyond(frame.align(tried).theta, best, side)
    assert past.max() <= 1e-12
    assert past.max() >= -1e-6  # some came close


@pytest.mark.parametrize("side", ["A", "B"])
@pytest.mark.parametrize("dof", [1.0, 4.0])
def test_each_next_one_is_the_extreme_among_points_orthogonal_to_those_before(side, dof):
    """Weights u of a point as a mean of A's rows (smallest ones); orthogonal ones only."""
    A, B, _ = pair()
    frame = JointFrame.fit(A, B, shrinkage=0.1, dof=dof, pooling=0.0)
    found = prototypes(frame, side, 6)
    angles = found.alignment.theta
    assert np.all(np.diff(angles) >= 0) if side == "A" else np.all(np.diff(angles) <= 0)
    # ⟨u, v⟩ of two points' weights: ν + (z - μ)ᵀ Σ̃⁻¹ (w - μ), the form in d + 1 coordinates.
    half, weight = frame.shifts / 2, 1 / frame.c**2
    places = frame.coordinates(found.points) + half
    products = dof + (places * weight) @ places.T
    size = np.sqrt(np.diag(products))
    off = products / np.outer(size, size) - np.eye(6)
    assert np.abs(off).max() < 1e-8
    rng = np.random.default_rng(1)
    for i in range(1, 6):
        # Points w with ν + (y_j)ᵀ diag(weight) w = 0 for all j before i.
        normal, limit = places[:i] * weight, -dof * np.ones(i)
        start = places[i] + 10.0 ** rng.uniform(-3, 2, (3000, 1)) * rng.standard_normal((3000, 12))
        inside = start - np.linalg.lstsq(normal, (start @ normal.T - limit).T, rcond=None)[0].T
        np.testing.assert_allclose(inside @ normal.T, np.tile(limit, (3000, 1)), atol=1e-7)
        theta = frame.align((inside - half) @ frame.H + frame.center).theta
        past = beyond(theta, angles[i], side)
        assert past.max() <= 1e-9
        assert past.max() >= -1e-3


def test_means_that_lie_apart_put_the_prototypes_beyond_them():
    """Equal spreads: the extremes lie on the line through the means, outside them."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 3))
    X = (X - X.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    frame = JointFrame.fit(X, X + np.array([3.0, 0, 0]), shrinkage=0.1, dof=1.0, pooling=0.0)
    a, b = (prototypes(frame, side).points[0] for side in "AB")
    np.testing.assert_allclose([a[1:], b[1:]], 0, atol=1e-8)
    # (1 + x²)/(1 + (3 - x)²) has its minimum and maximum where x² - 3x - 1 = 0.
    np.testing.assert_allclose([a[0], b[0]], (3 + np.array([-1, 1]) * 13**0.5) / 2, atol=1e-6)


def test_constant_features_keep_their_value():
    A, B, _ = pair()
    A, B = (np.insert(X, 4, 3.5, axis=1) for X in (A, B))
    points = prototypes(JointFrame.fit(A, B, shrinkage=0.1), "A", 4).points
    np.testing.assert_allclose(points[:, 4], 3.5, rtol=1e-14)


def test_few_rows_have_prototypes_in_their_span():
    A, B, Z = pair(8, 10, 40)
    frame = JointFrame.fit(A, B, shrinkage=0.2)
    assert frame.basis is not None
    found = prototypes(frame, "B", 3)
    assert found.points.shape == (3, 40)
    theta = frame.align(np.vstack([A, B, Z, found.points[0] + 0.1 * Z])).theta
    assert theta.max() <= found.alignment.theta[0] + 1e-12


def test_torch_frames_have_torch_prototypes():
    torch = importlib.import_module("torch")
    A, B, _ = pair()
    expected = prototypes(JointFrame.fit(A, B, shrinkage=0.1), "A", 2)
    frame = JointFrame.fit(torch.asarray(A), torch.asarray(B), shrinkage=0.1)
    found = prototypes(frame, "A", 2)
    assert isinstance(found.points, torch.Tensor)
    np.testing.assert_allclose(found.points.numpy(), expected.points, atol=1e-6)
    assert len(found.points) == len(found.alignment) == 2


@pytest.mark.parametrize(
    ("side", "n", "options", "message"),
    [
        ("C", 1, {}, "side is 'C'"),
        ("A", 0, {}, "n must be a whole number of at least 1, not 0"),
        ("A", 13, {}, "n is 13, but the frame has 12 directions"),
        ("A", 1, {"span": "linear"}, 'Prototypes belong to span="affine"'),
    ],
)
def test_what_is_refused(side, n, options, message):
    A, B, _ = pair()
    with pytest.raises(InputError, match=message):
        prototypes(JointFrame.fit(A, B, **options), side, n)


def test_without_shrinkage_both_sets_need_every_direction():
    A = np.random.default_rng(0).standard_normal((20, 3))
    frame = JointFrame.fit(A, A * [1, 1, 0], shrinkage=0)
    with pytest.raises(InputError, match="fit the frame with shrinkage"):
        prototypes(frame, "A")
