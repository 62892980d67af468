"""What two sets differ in: the parts add up to the Bhattacharyya distance of the normal fits."""

import math

import numpy as np
import pytest

from cospan import JointFrame
from cospan.errors import InputError
from test_affine import covariances
from test_frame import pair

SETTINGS = [
    {"shrinkage": 0},
    {"shrinkage": 0.1, "units": "common"},
    {"shrinkage": 0.3, "units": "own"},
    {"shrinkage": 0.3, "units": "own", "pooling": 0.7, "dof": 40.0},
]


def bhattacharyya(A, B, options):
    """⅛ δᵀΣ⁻¹δ and ½ log(|Σ|/√(|Σ_A||Σ_B|)) with Σ the mean of both, from the definitions."""
    S = covariances((A, B), {**options, "pooling": 0.0})
    mean = (S[0] + S[1]) / 2
    step = B.mean(0) - A.mean(0)
    logs = [np.linalg.slogdet(one)[1] for one in (mean, *S)]
    return step @ np.linalg.solve(mean, step) / 8, (logs[0] - (logs[1] + logs[2]) / 2) / 2


SHAPES = [(60, 50, 12), (300, 40, 7), (9, 12, 40)]


@pytest.mark.parametrize(
    ("options", "shape"),
    # Without shrinkage, sets of few rows lie in different spaces.
    [(x, y) for x in SETTINGS for y in SHAPES if x["shrinkage"] or y[0] > y[2]],
)
def test_the_parts_add_up_to_the_bhattacharyya_distance(options, shape):
    """Whatever the pooling, which is a choice for scoring."""
    A, B, _ = pair(*shape, seed=3)
    frame = JointFrame.fit(A, B, **options)
    of_means, of_spreads = bhattacharyya(A, B, options)
    parts = frame.parts
    assert parts.location == pytest.approx(of_means, rel=1e-9)
    assert parts.scale + parts.shape == pytest.approx(of_spreads, rel=1e-9)
    assert parts.total == pytest.approx(of_means + of_spreads, rel=1e-9)
    assert float(np.sum(frame.differences)) == pytest.approx(parts.total, rel=1e-12)
    assert min(parts.location, parts.scale, parts.shape) >= 0


@pytest.mark.parametrize("options", SETTINGS)
def test_every_direction_has_its_own_part(options):
    A, B, _ = pair()
    frame = JointFrame.fit(A, B, **options)
    expected = 0.25 * frame.shifts**2 - 0.5 * np.log(np.sin(2 * frame.angles))
    np.testing.assert_allclose(frame.differences, expected, atol=1e-12)
    assert np.all(frame.differences >= 0)
    np.testing.assert_array_equal(frame.directions.differences, frame.differences)
    # A shift is the step between the means, in coordinates of the frame.
    np.testing.assert_allclose(frame.shifts @ frame.H, B.mean(0) - A.mean(0), atol=1e-10)


def test_identical_sets_differ_in_nothing():
    A, _, _ = pair()
    parts = JointFrame.fit(A, A).parts
    np.testing.assert_allclose(parts, (0, 0, 0), atol=1e-12)


def test_a_pure_shift_is_all_location():
    A, _, _ = pair()
    parts = JointFrame.fit(A, A + np.linspace(0, 2, 12), shrinkage=0.1).parts
    assert parts.location > 0.1
    assert parts.scale == pytest.approx(0, abs=1e-12)
    assert parts.shape == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("factor", [0.5, 1.3, 7.0])
def test_a_pure_change_of_scale_is_all_scale(factor):
    A, _, _ = pair()
    B = A.mean(0) + factor * (A - A.mean(0))
    parts = JointFrame.fit(A, B, shrinkage=0).parts
    assert parts.location == pytest.approx(0, abs=1e-12)
    assert parts.shape == pytest.approx(0, abs=1e-10)
    # D of N(0, 1) and N(0, f²), twelve times.
    assert parts.scale == pytest.approx(6 * math.log((1 + factor**2) / (2 * factor)), rel=1e-9)


def test_spreads_that_trade_places_are_all_shape():
    A, _, _ = pair()
    A = A - A.mean(0)
    factors = np.repeat([2.0, 0.5], 6)
    whitened = A @ np.linalg.inv(np.linalg.cholesky(np.cov(A.T, bias=True))).T
    parts = JointFrame.fit(whitened, whitened * factors, shrinkage=0).parts
    assert parts.location == pytest.approx(0, abs=1e-12)
    assert parts.scale == pytest.approx(0, abs=1e-12)
    assert parts.shape == pytest.approx(6 * math.log(5 / 4), rel=1e-9)


def test_swapping_the_sets_keeps_the_parts():
    A, B, _ = pair()
    there, back = (
        JointFrame.fit(A, B, shrinkage=0.1).parts,
        JointFrame.fit(B, A, shrinkage=0.1).parts,
    )
    np.testing.assert_allclose(there, back, rtol=1e-10)


def test_off_the_span_of_few_rows_directions_count_as_alike():
    """The same frame with all its 40 directions written out has the same parts."""
    A, B, _ = pair(9, 12, 40)
    frame = JointFrame.fit(A, 2 * B, shrinkage=0.2, units="common")
    S = covariances((A, 2 * B), {"shrinkage": 0.2})
    tau = 0.5 * np.log(np.linalg.eigvals(np.linalg.solve(S[0], S[1])).real)
    parts = frame.parts
    assert len(frame.differences) < 40
    assert parts.scale == pytest.approx(20 * math.log(math.cosh(tau.mean())), rel=1e-8)


def test_a_direction_that_only_one_set_has_is_infinitely_far():
    A = np.random.default_rng(0).standard_normal((20, 3))
    B = A * [1, 1, 0]
    parts = JointFrame.fit(A, B, shrinkage=0).parts
    assert parts.total == math.inf


def test_the_linear_span_has_no_such_parts():
    A, B, _ = pair()
    frame = JointFrame.fit(A, B, span="linear")
    with pytest.raises(InputError, match='belong to span="affine"'):
        frame.parts  # noqa: B018
    with pytest.raises(InputError, match='belong to span="affine"'):
        frame.differences  # noqa: B018
    assert frame.directions.differences is None
