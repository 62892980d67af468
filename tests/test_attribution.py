"""The angle split over features and directions: sums, invariances, planted differences."""

import importlib

import numpy as np
import pytest

from cospan import JointFrame, attribute
from cospan.errors import CospanWarning, InputError
from matrices import low_rank_images

LINEAR = [
    {"span": "linear", **more}
    for more in (
        {"shrinkage": "auto"},
        {"shrinkage": 0},
        {"shrinkage": 0, "center": "each", "balance": False},
        {"shrinkage": 1e-3, "center": "none"},
        {"shrinkage": 0.5, "balance": False},
        {"shrinkage": 0.1, "calibrate": True},
    )
]
AFFINE = [
    {"curve": None},
    {"shrinkage": 0},
    {"shrinkage": 0.2, "units": "own"},
    {"shrinkage": 0.1, "pooling": 0.4, "dof": 7.0},
    {"shrinkage": 0.1, "pooling": 1.0, "calibrate": False},
]


def balance(frame, Z):
    scored = frame.align(np.asarray(Z, float))
    a, b = scored.cost_a**2, scored.cost_b**2
    return (a - b) / np.where(a + b > 0, a + b, 1.0)


def assert_adds_up(frame, Z, atol=1e-10):
    parts = attribute(frame, Z)
    expected = balance(frame, Z)
    np.testing.assert_allclose(parts.total, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(parts.features.sum(axis=1), expected, rtol=0, atol=atol)
    np.testing.assert_allclose(parts.directions.sum(axis=1), expected, rtol=0, atol=atol)
    return parts


# ---- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [*AFFINE, *LINEAR])
def test_parts_sum_to_the_balance_of_digits(digits_pair, options):
    A, B = digits_pair
    frame = JointFrame.fit(A[:90], B[:90], **options)
    rng = np.random.default_rng(0)
    parts = assert_adds_up(frame, np.concatenate([A, B, 16 * rng.random((50, 64))]))
    assert parts.features.shape == (len(parts), 64)
    assert parts.directions.shape == (len(parts), frame.rank)


@pytest.mark.parametrize("options", [*LINEAR, *AFFINE])
def test_the_base_is_the_balance_at_45_degrees(digits_pair, options):
    """θ > 45° exactly where the total exceeds the base; raw angles have the base 0."""
    A, B = digits_pair
    frame = JointFrame.fit(A[:90], B[:120], **options)
    Z = np.concatenate([A, B])
    parts = attribute(frame, Z)
    theta = frame.align(Z).theta
    assert parts.base == pytest.approx(np.tanh(frame.zero / 2), abs=1e-15)
    if frame.gain == 1 and frame.zero == 0:
        assert parts.base == 0
        np.testing.assert_allclose(parts.total, -np.cos(2 * theta), atol=1e-10)
    clear = np.abs(theta - np.pi / 4) > 1e-9
    np.testing.assert_array_equal(np.sign(parts.pull)[clear], np.sign(theta - np.pi / 4)[clear])


@pytest.mark.parametrize("shrinkage", [0, 1e-3, 0.2])
@pytest.mark.parametrize("span", ["affine", "linear"])
def test_parts_sum_where_the_rows_do_not_fill_the_space(shrinkage, span):
    rng = np.random.default_rng(1)
    A, B = low_rank_images(rng, 40, 12, d=100, dead=20), low_rank_images(rng, 30, 9, d=100, dead=20)
    if not shrinkage:
        B[:, 10:90] += A[:30, 10:90]  # so that something is shared
    frame = JointFrame.fit(A, B, shrinkage=shrinkage, span=span)
    assert frame.basis is not None
    # Samples with a part that neither set knows: it costs both alike, or is outside.
    assert_adds_up(frame, np.concatenate([A, B, 20 * rng.standard_normal((20, 100))]))


@pytest.mark.parametrize("span", ["affine", "linear"])
def test_parts_of_a_truncated_frame_sum_to_its_balance(digits_pair, span):
    A, B = digits_pair
    small = JointFrame.fit(A, B, span=span).truncate(n=12)
    assert assert_adds_up(small, A).directions.shape[1] == 12


@pytest.mark.parametrize("options", [{}, {"units": "own"}, {"pooling": 0.3, "dof": 5.0}])
def test_the_formula_of_the_affine_span(options):
    """φ_j = {(z-μ_A)_j [Σ̃_A⁻¹(z-μ_A)]_j - the same of B} / (a² + b²), from the definitions."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((80, 6)) * [1, 2, 30, 1, 1, 5] + 3
    B = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 6))
    frame = JointFrame.fit(A, B, shrinkage=0.1, **options)
    matrices = [np.cov(X.T, bias=True) for X in (A, B)]
    mean = (matrices[0] + matrices[1]) / 2
    own = options.get("units") == "own"
    T = np.diag(np.diag(mean)) if own else np.trace(mean) / 6 * np.eye(6)
    gamma, nu = options.get("pooling", 0.0), frame.dof
    matrices = [0.9 * ((1 - gamma) * S + gamma * mean) + 0.1 * T for S in matrices]
    Z = rng.standard_normal((9, 6)) * 3
    terms = [
        (Z - X.mean(0)) * np.linalg.solve(S, (Z - X.mean(0)).T).T
        for X, S in zip((A, B), matrices, strict=True)
    ]
    costs = (terms[0] + terms[1]).sum(axis=1, keepdims=True) + 2 * nu
    found = attribute(frame, Z).features
    np.testing.assert_allclose(found, (terms[0] - terms[1]) / costs, atol=1e-11)


def test_directions_have_their_formula_in_the_affine_span(digits_pair):
    A, B = digits_pair
    frame = JointFrame.fit(A, B, shrinkage=0.2, dof=3.0, pooling=0.0)
    y, c, s, half = frame.coordinates(A), frame.c, frame.s, frame.shifts / 2
    a, b = ((y + half) / c) ** 2, ((y - half) / s) ** 2
    costs = (a + b).sum(axis=1, keepdims=True) + 6
    np.testing.assert_allclose(attribute(frame, A).directions, (a - b) / costs, atol=1e-12)


# ---- invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize("span", ["affine", "linear"])
def test_swapping_the_sets_changes_every_sign(digits_pair, span):
    A, B = digits_pair
    parts = attribute(JointFrame.fit(A, B, shrinkage=0.1, span=span), A)
    swapped = attribute(JointFrame.fit(B, A, shrinkage=0.1, span=span), A)
    np.testing.assert_allclose(swapped.features, -parts.features, atol=1e-11)
    assert swapped.base == pytest.approx(-parts.base, abs=1e-9)


def test_adding_a_constant_changes_nothing(digits_pair):
    A, B = digits_pair
    offset = np.linspace(-50, 70, 64)
    parts = attribute(JointFrame.fit(A, B, shrinkage=0.1), A)
    moved = attribute(JointFrame.fit(A + offset, B + offset, shrinkage=0.1), A + offset)
    np.testing.assert_allclose(moved.features, parts.features, atol=1e-11)
    assert moved.base == pytest.approx(parts.base, abs=1e-10)


def test_own_units_make_the_units_of_a_column_not_matter(digits_pair):
    A, B = digits_pair
    scale = np.geomspace(1e-3, 1e4, 64)
    options = {"shrinkage": 0.1, "units": "own"}
    parts = attribute(JointFrame.fit(A, B, **options), A)
    scaled = attribute(JointFrame.fit(A * scale, B * scale, **options), A * scale)
    np.testing.assert_allclose(scaled.features, parts.features, atol=1e-10)


def test_a_constant_feature_gets_exactly_nothing():
    rng = np.random.default_rng(6)
    A, B, Z = (rng.standard_normal((n, 5)) for n in (50, 40, 20))
    A[:, 2] = B[:, 2] = 7.5
    for units in ("own", "common"):
        parts = attribute(JointFrame.fit(A, B, units=units), Z)
        assert not parts.features[:, 2].any()
        assert parts.features[:, [0, 1, 3, 4]].all()


def test_what_lies_off_the_span_pulls_nowhere():
    """Added to a sample it costs both sets alike: only the sum of the costs changes."""
    rng = np.random.default_rng(7)
    A, B, z = (
        rng.standard_normal((8, 30)),
        rng.standard_normal((7, 30)) + 1,
        rng.standard_normal(30),
    )
    frame = JointFrame.fit(A, B, shrinkage=0.2, units="common")
    off = np.linalg.qr(frame.H.T, mode="complete")[0][:, -1] * 5
    plain, moved = attribute(frame, np.stack([z, z + off])).directions
    costs = (frame.squared_costs(np.stack([z, z + off]))).sum(axis=1)
    assert costs[1] > costs[0] + 10
    np.testing.assert_allclose(moved * costs[1], plain * costs[0], atol=1e-9)


def test_the_centre_of_the_linear_span_and_untouched_features_get_exactly_nothing(digits_pair):
    A, B = digits_pair
    frame = JointFrame.fit(A, B, span="linear")
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


@pytest.mark.parametrize("shrinkage", [0.01, 0, "auto"])
@pytest.mark.parametrize("kind", ["spread", "correlation", "mean"])
def test_a_planted_difference_is_found(kind, shrinkage):
    """5 of 200 features differ: on average they are the top five, for either side's samples."""
    rng = np.random.default_rng(3)
    mix = np.eye(200) + 0.1 * rng.standard_normal((200, 200)) / np.sqrt(200)
    A, B, Z = (rng.standard_normal((n, 200)) @ mix for n in (1500, 1500, 600))
    B = differing(B, kind)
    plain = {} if shrinkage == "auto" else {"pooling": 0.0, "dof": 1.0}
    frame = JointFrame.fit(A, B, shrinkage=shrinkage, **plain)
    from_b = differing(Z, kind)
    for samples in (Z, from_b, np.concatenate([Z, from_b])):
        top = attribute(frame, samples).top(5)
        assert sorted(map(int, top)) == PLANTED
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
    assert set(parts.top(64)) == set(names)
    assert parts.top(3) == parts.top(64)[:3]
    with pytest.raises(InputError, match="another order"):
        attribute(frame, A[names[::-1]])


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
            assert parts.top(3) == expected.top(3)


def test_no_samples_have_no_parts(digits_pair):
    parts = attribute(JointFrame.fit(*digits_pair), np.zeros((0, 64)))
    assert len(parts) == 0
    assert parts.features.shape == (0, 64)
    assert repr(parts) == "Attribution(0 samples, 64 features, 58 directions)"
    with pytest.raises(InputError, match="no samples"):
        parts.top(1)


def test_what_is_refused(digits_pair):
    frame = JointFrame.fit(*digits_pair)
    with pytest.raises(InputError, match="Z has 63 features where 64 are expected"):
        attribute(frame, np.ones((2, 63)))
    with pytest.raises(InputError, match="contains NaN at row 1, column 0"):
        attribute(frame, np.where(np.eye(3, 64, -1) > 0, np.nan, 1.0))
    blob, ring = np.random.default_rng(0).normal(size=(2, 300, 2))
    ring /= np.linalg.norm(ring, axis=1, keepdims=True) / 1.4
    curved = JointFrame.fit(blob, ring, curve="auto")
    with pytest.raises(InputError, match=r"explain frame\.plain"):
        attribute(curved, blob)
    assert len(attribute(curved.plain, blob)) == 300
    for n in (0, 1.5, True):
        with pytest.raises(InputError, match="whole number of at least 1"):
            attribute(frame, np.ones((2, 64))).top(n)


def test_one_sided_directions_pull_as_the_unshrunk_angle_does():
    """Slip 6 of the paper's text: what only A has costs only A, so it counts for B."""
    with pytest.warns(CospanWarning, match="share no direction"):
        frame = JointFrame.fit(
            [[1.0, 0, 0]], [[0, 1.0, 0]], span="linear", center="none", balance=False, shrinkage=0
        )
    parts = attribute(frame, [[2.0, 0, 5], [0, 3.0, 5], [0, 0, 1]])
    np.testing.assert_allclose(parts.features, [[1, 0, 0], [0, -1, 0], [0, 0, 0]])
