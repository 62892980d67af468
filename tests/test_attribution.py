"""The angle split over features and directions: sums, invariances, planted differences."""

import importlib

import numpy as np
import pytest

from cospan import JointFrame, attribute
from cospan.errors import CospanWarning, InputError
from matrices import low_rank_images, pair_with_angles

SETTINGS = [
    {"shrinkage": "auto"},
    {"shrinkage": 0},
    {"shrinkage": 0, "center": "each", "balance": False},
    {"shrinkage": 1e-3, "center": "none"},
    {"shrinkage": 0.5, "balance": False},
]


def mirrored(theta):
    return -np.cos(2 * np.asarray(theta))


def assert_adds_up(frame, Z, weighting="cost", atol=1e-10):
    parts = attribute(frame, Z, weighting=weighting)
    expected = mirrored(frame.align(np.asarray(Z, float), weighting=weighting).theta)
    np.testing.assert_allclose(parts.total, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(parts.features.sum(axis=1), expected, rtol=0, atol=atol)
    np.testing.assert_allclose(parts.directions.sum(axis=1), expected, rtol=0, atol=atol)
    return parts


# ---- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["cost", "frame"])
@pytest.mark.parametrize("options", SETTINGS)
def test_parts_sum_to_the_angle_of_digits(digits_pair, options, weighting):
    A, B = digits_pair
    frame = JointFrame.fit(A[:90], B[:90], **options)
    rng = np.random.default_rng(0)
    parts = assert_adds_up(frame, np.concatenate([A, B, 16 * rng.random((50, 64))]), weighting)
    assert parts.features.shape == (len(parts), 64)
    assert parts.directions.shape == (len(parts), frame.rank)


@pytest.mark.parametrize("shrinkage", [0.05, 0])
def test_parts_sum_to_the_angle_of_images(mnist, shrinkage):
    frame = JointFrame.fit(mnist.draw(4, 900, 0), mnist.draw(9, 800, 0), shrinkage=shrinkage)
    assert_adds_up(frame, mnist.test_images(4))


@pytest.mark.parametrize("shrinkage", [0, 1e-3, 0.2])
@pytest.mark.parametrize("weighting", ["cost", "frame"])
def test_parts_sum_where_the_rows_do_not_fill_the_space(shrinkage, weighting):
    rng = np.random.default_rng(1)
    A, B = low_rank_images(rng, 40, 12, d=100, dead=20), low_rank_images(rng, 30, 9, d=100, dead=20)
    if not shrinkage:
        B[:, 10:90] += A[:30, 10:90]  # so that something is shared
    frame = JointFrame.fit(A, B, shrinkage=shrinkage)
    assert frame.basis is not None
    # Samples with a part that neither set knows: it costs both alike, or is outside.
    assert_adds_up(frame, np.concatenate([A, B, 20 * rng.standard_normal((20, 100))]), weighting)


def test_parts_of_a_truncated_frame_sum_to_its_angle(digits_pair):
    A, B = digits_pair
    small = JointFrame.fit(A, B).truncate(n=12)
    assert assert_adds_up(small, A).directions.shape[1] == 12


def test_the_formula_of_the_shrunk_matrices(digits_pair):
    """φ_j = z_j [(S̃_A⁻¹ - S̃_B⁻¹) z]_j / (a² + b²), with the matrices written out."""
    A, B = digits_pair
    frame = JointFrame.fit(A, B, shrinkage=0.1)
    left, right = frame.prepared(A, "A"), frame.prepared(B, "B")
    z = B - frame.center
    to_a, to_b = (np.linalg.solve(X.T @ X, z.T).T for X in (left, right))
    costs = np.sum(z * (to_a + to_b), axis=1, keepdims=True)
    np.testing.assert_allclose(attribute(frame, B).features, z * (to_a - to_b) / costs, atol=1e-11)


def test_directions_have_their_own_formula():
    rng = np.random.default_rng(2)
    pair = pair_with_angles(rng, [0.0, 0.3, 0.7, 1.2, np.pi / 2], 12, 14, 7)
    frame = JointFrame.fit(pair.A, pair.B, center="none", balance=False, shrinkage=0)
    Z = rng.standard_normal((30, 7))
    y, c, s = frame.coordinates(Z), frame.c, frame.s
    scored = frame.align(Z)
    costs = (scored.cost_a**2 + scored.cost_b**2)[:, None]
    with np.errstate(divide="ignore"):
        weight = np.where(c > 0, 1 / c**2, 0) - np.where(s > 0, 1 / s**2, 0)
    np.testing.assert_allclose(attribute(frame, Z).directions, y**2 * weight / costs, atol=1e-12)


def test_many_samples_are_explained_in_chunks(digits_pair, monkeypatch):
    A, B = digits_pair
    frame = JointFrame.fit(A, B)
    whole = attribute(frame, A)
    monkeypatch.setattr("cospan.attribution._CHUNK_BYTES", 8 * 64 * 7)
    monkeypatch.setattr("cospan.attribution._CHUNK_ROWS", 1)
    parts = attribute(frame, A)
    np.testing.assert_allclose(parts.features, whole.features, atol=1e-14)
    np.testing.assert_allclose(parts.total, whole.total, atol=1e-14)


# ---- invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", [0, 0.1])
def test_flipping_a_feature_everywhere_flips_nothing(digits_pair, shrinkage):
    A, B = digits_pair
    signs = np.where(np.arange(64) % 3 == 0, -1.0, 1.0)
    parts = attribute(JointFrame.fit(A, B, shrinkage=shrinkage), B)
    flipped = attribute(JointFrame.fit(A * signs, B * signs, shrinkage=shrinkage), B * signs)
    np.testing.assert_allclose(flipped.features, parts.features, atol=1e-9)


def test_swapping_the_sets_changes_every_sign(digits_pair):
    A, B = digits_pair
    parts = attribute(JointFrame.fit(A, B, shrinkage=0.1), A)
    swapped = attribute(JointFrame.fit(B, A, shrinkage=0.1), A)
    np.testing.assert_allclose(swapped.features, -parts.features, atol=1e-11)


def test_rescaling_a_sample_about_the_centre_changes_nothing(digits_pair):
    A, B = digits_pair
    frame = JointFrame.fit(A, B)
    far = frame.center + 100 * (A - frame.center)
    np.testing.assert_allclose(attribute(frame, far).features, attribute(frame, A).features)


def test_the_centre_and_untouched_features_get_exactly_nothing(digits_pair):
    A, B = digits_pair
    frame = JointFrame.fit(A, B)
    Z = np.stack([frame.center, frame.center, A[0]])
    Z[1, 20] += 1.0
    parts = attribute(frame, Z)
    assert not parts.features[0].any()
    assert not parts.directions[0].any()
    assert parts.total[0] == 0
    assert np.flatnonzero(parts.features[1]).tolist() == [20]
    assert parts.features[1, 20] == pytest.approx(parts.total[1])


# ---- planted differences ----------------------------------------------------------------------


PLANTED = [3, 50, 77, 120, 199]


def differing(X, kind):
    """Rows of B: those of A but for five features."""
    X = X.copy()
    five = X[:, PLANTED]
    if kind == "spread":
        X[:, PLANTED] = 3.0 * five
    elif kind == "correlation":
        X[:, PLANTED] = 2.0 * five.mean(axis=1, keepdims=True) + 0.45 * five
    else:
        X[:, PLANTED] = five + 2.0
    return X


@pytest.mark.parametrize("shrinkage", [0.01, 0])
@pytest.mark.parametrize("kind", ["spread", "correlation", "mean"])
def test_a_planted_difference_is_found(kind, shrinkage):
    """5 of 200 features differ: on average they are the top five, for either side's samples."""
    rng = np.random.default_rng(3)
    mix = np.eye(200) + 0.1 * rng.standard_normal((200, 200)) / np.sqrt(200)
    A, B, Z = (rng.standard_normal((n, 200)) @ mix for n in (1500, 1500, 600))
    B = differing(B, kind)
    # About the midpoint a shift of the mean leaves both second moments alike, hence A's mean.
    center = A.mean(axis=0) if kind == "mean" else "pooled"
    frame = JointFrame.fit(A, B, shrinkage=shrinkage, center=center)
    from_b = differing(Z, kind)
    for samples in (Z, from_b, np.concatenate([Z, from_b])):
        if kind != "mean" or samples is from_b:  # A's samples sit at that centre
            top = attribute(frame, samples).top(5)
            assert sorted(effect.column for effect in top) == PLANTED
    pulls = attribute(frame, from_b).features.mean(axis=0)
    if kind != "correlation":
        assert np.all(pulls[PLANTED] > 0)  # towards B


# ---- what goes in and comes out ---------------------------------------------------------------


def test_names_are_kept(digits_pair):
    pd = importlib.import_module("pandas")
    names = [f"px{j}" for j in range(64)]
    A, B = (pd.DataFrame(X, columns=names) for X in digits_pair)
    frame = JointFrame.fit(A, B)
    parts = attribute(frame, A)
    assert parts.feature_names == tuple(names)
    assert {effect.feature for effect in parts.top(64)} == set(names)
    assert parts.top(3) == parts.top(64)[:3]
    sizes = [effect.size for effect in parts.top(64)]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(InputError, match="another order"):
        attribute(frame, A[names[::-1]])


def test_without_names_features_have_their_number(digits_pair):
    parts = attribute(JointFrame.fit(*digits_pair), digits_pair[0])
    assert parts.feature_names == tuple(str(j) for j in range(64))
    for effect in parts.top(3):
        assert effect.feature == str(effect.column)
        assert effect.mean == pytest.approx(parts.features[:, effect.column].mean())
        assert effect.size == pytest.approx(np.abs(parts.features[:, effect.column]).mean())


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float16])
def test_narrow_dtypes_are_explained_in_float64(digits_pair, dtype):
    A, B = digits_pair
    frame = JointFrame.fit(A, B, shrinkage=0.1)
    parts = attribute(frame, A.astype(dtype))
    assert parts.features.dtype == np.float64
    np.testing.assert_allclose(parts.features, attribute(frame, A).features, atol=1e-12)
    assert_adds_up(frame, A.astype(dtype))


@pytest.mark.parametrize("options", [{"shrinkage": 0.1}, {"shrinkage": 0}])
def test_torch_in_torch_out(digits_pair, options):
    torch = importlib.import_module("torch")
    A, B = digits_pair
    expected = attribute(JointFrame.fit(A, B, **options), A)
    tensors = [torch.asarray(X) for X in (A, B)]
    for frame in (JointFrame.fit(A, B, **options), JointFrame.fit(*tensors, **options)):
        for Z in (tensors[0], tensors[0].to(torch.float32)):
            parts = attribute(frame, Z)
            assert isinstance(parts.features, torch.Tensor)
            np.testing.assert_allclose(parts.features.numpy(), expected.features, atol=1e-9)
            assert [e.column for e in parts.top(3)] == [e.column for e in expected.top(3)]


def test_no_samples_have_no_parts(digits_pair):
    parts = attribute(JointFrame.fit(*digits_pair), np.zeros((0, 64)))
    assert len(parts) == 0
    assert parts.features.shape == (0, 64)
    assert repr(parts) == "Attribution(0 samples, 64 features, 64 directions)"
    with pytest.raises(InputError, match="no samples"):
        parts.top(1)


def test_what_is_refused(digits_pair):
    frame = JointFrame.fit(*digits_pair)
    with pytest.raises(InputError, match="Z has 63 features where 64 are expected"):
        attribute(frame, np.ones((2, 63)))
    with pytest.raises(InputError, match="weighting is 'other'"):
        attribute(frame, np.ones((2, 64)), weighting="other")
    with pytest.raises(InputError, match="contains NaN at row 1, column 0"):
        attribute(frame, np.where(np.eye(3, 64, -1) > 0, np.nan, 1.0))
    for n in (0, 1.5, True):
        with pytest.raises(InputError, match="whole number of at least 1"):
            attribute(frame, np.ones((2, 64))).top(n)


def test_one_sided_directions_pull_as_the_unshrunk_angle_does():
    """Slip 6 of the paper's text: what only A has costs only A, so it counts for B."""
    with pytest.warns(CospanWarning, match="share no direction"):
        frame = JointFrame.fit(
            [[1.0, 0, 0]], [[0, 1.0, 0]], center="none", balance=False, shrinkage=0
        )
    parts = attribute(frame, [[2.0, 0, 5], [0, 3.0, 5], [0, 0, 1]])
    np.testing.assert_allclose(parts.features, [[1, 0, 0], [0, -1, 0], [0, 0, 0]])
