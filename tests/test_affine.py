"""The affine span, the default: a sample as a weighted mean of a set's rows; calibrated angles."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

from cospan import JointFrame, Summary, gsvd
from cospan.errors import InputError
from cospan.model import SetCosts, angles_of, fit_calibration
from test_frame import pair

# Every choice made, so that a test is about the one it names.
PLAIN = {"units": "common", "shrinkage": 0.1, "pooling": 0.0, "dof": 1.0}
SETTINGS = [
    {"shrinkage": 0, "dof": 1.0},
    PLAIN,
    {**PLAIN, "units": "own"},
    {**PLAIN, "pooling": 0.4, "dof": 7.0},
    {**PLAIN, "pooling": 1.0, "calibrate": False},
    {},
]


def covariances(sets, options):
    """Σ̃ of every set from the definitions: shrunk towards T, then pooled."""
    found = [np.cov(X.T, bias=True) for X in sets]
    alpha, gamma = options.get("shrinkage", 0), options.get("pooling", 0)
    mean = sum(found) / len(found)
    d = len(mean)
    own = options.get("units") == "own"
    T = np.diag(np.diag(mean)) if own else np.trace(mean) / d * np.eye(d)
    shrunk = [(1 - alpha) * S + alpha * T for S in found]
    return [(1 - gamma) * S + gamma * sum(shrunk) / len(shrunk) for S in shrunk]


def squared_cost(Z, X, S, dof):
    away = Z - X.mean(axis=0)
    return dof + np.einsum("ij,ij->i", away, np.linalg.solve(S, away.T).T)


# ---- what a cost is ---------------------------------------------------------------------------


def test_the_cost_is_that_of_the_smallest_weights_whose_mean_is_the_sample():
    """cost² = p‖u‖² of the smallest u with Aᵀu = z and 1ᵀu = 1."""
    A, B, Z = pair()
    scored = JointFrame.fit(A, B, shrinkage=0, dof=1.0).align(Z)
    for X, cost in ((A, scored.cost_a), (B, scored.cost_b)):
        rows = np.hstack([X, np.ones((len(X), 1))])
        target = np.hstack([Z, np.ones((len(Z), 1))])
        u = np.linalg.lstsq(rows.T, target.T, rcond=None)[0]
        np.testing.assert_allclose(X.T @ u, Z.T, atol=1e-10)
        np.testing.assert_allclose(cost**2, len(X) * np.sum(u**2, axis=0), rtol=1e-9)


def test_at_its_own_mean_a_set_is_cheapest_and_costs_one():
    A, B, Z = pair()
    frame = JointFrame.fit(A, B, **PLAIN)
    at_means = frame.align(np.stack([A.mean(0), B.mean(0)]))
    assert at_means.cost_a[0] == pytest.approx(1, abs=1e-12)
    assert at_means.cost_b[1] == pytest.approx(1, abs=1e-12)
    assert frame.align(Z).cost_a.min() > 1


@pytest.mark.parametrize("options", SETTINGS[:-1])
def test_costs_are_quadratic_forms_about_each_mean(options):
    A, B, Z = pair()
    scored = JointFrame.fit(A, B, **options).align(Z)
    S_A, S_B = covariances((A, B), options)
    np.testing.assert_allclose(scored.cost_a**2, squared_cost(Z, A, S_A, options["dof"]), rtol=1e-9)
    np.testing.assert_allclose(scored.cost_b**2, squared_cost(Z, B, S_B, options["dof"]), rtol=1e-9)


@pytest.mark.parametrize("dof", [1.0, 6.0])
@pytest.mark.parametrize("alpha", [0, 0.1])
def test_it_is_the_papers_cost_with_one_more_column(alpha, dof):
    """In d + 1 coordinates every theorem of the paper holds as it stands."""
    A, B, Z = pair()
    d = A.shape[1]
    options = {**PLAIN, "shrinkage": alpha, "dof": dof, "calibrate": False}
    T = (np.trace(np.cov(A.T, bias=True)) + np.trace(np.cov(B.T, bias=True))) / (2 * d)

    def augmented(X):
        mean = X.mean(axis=0)
        blocks = [np.sqrt((1 - alpha) / len(X)) * (X - mean), np.sqrt(alpha * T) * np.eye(d)]
        rows = np.vstack(blocks if alpha else blocks[:1])
        last = np.append(mean, 1.0) / np.sqrt(dof)
        return np.vstack([np.hstack([rows, np.zeros((len(rows), 1))]), last])

    left, right = augmented(A), augmented(B)
    more = np.hstack([Z, np.ones((len(Z), 1))])
    factors = gsvd(left, right)
    y = np.linalg.solve(factors.H.T, more.T).T
    scored = JointFrame.fit(A, B, **options).align(Z)
    np.testing.assert_allclose(scored.cost_a, np.linalg.norm(y / factors.c, axis=1), rtol=1e-8)
    np.testing.assert_allclose(scored.cost_b, np.linalg.norm(y / factors.s, axis=1), rtol=1e-8)
    raw = {"span": "linear", "center": "none", "balance": False, "shrinkage": 0}
    linear = JointFrame.fit(left, right, **raw).align(more)
    np.testing.assert_allclose(scored.theta, linear.theta, atol=1e-9)


# ---- what changes nothing ---------------------------------------------------------------------


@pytest.mark.parametrize("options", SETTINGS)
def test_swapping_the_sets_mirrors_theta(options):
    A, B, Z = pair()
    there = JointFrame.fit(A, B, **options)
    back = JointFrame.fit(B, A, **options)
    np.testing.assert_allclose(there.align(Z).theta, np.pi / 2 - back.align(Z).theta, atol=1e-9)
    assert there.zero == pytest.approx(-back.zero, abs=1e-9)
    assert there.gain == pytest.approx(back.gain, rel=1e-9)


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_adding_a_constant_changes_nothing(options, size):
    A, B, Z = pair()
    offset = size * np.linspace(-3, 5, 12)
    plain = JointFrame.fit(A, B, **options).align(Z).theta
    moved = JointFrame.fit(A + offset, B + offset, **options).align(Z + offset).theta
    np.testing.assert_allclose(moved, plain, atol=1e-8)


@pytest.mark.parametrize("calibrate", [True, False])
def test_without_shrinkage_an_invertible_map_changes_nothing(calibrate):
    A, B, Z = pair()
    M = np.random.default_rng(3).standard_normal((12, 12)) + 3 * np.eye(12)
    options = {"shrinkage": 0, "calibrate": calibrate}
    plain = JointFrame.fit(A, B, **options)
    mapped = JointFrame.fit(A @ M, B @ M, **options)
    np.testing.assert_allclose(mapped.align(Z @ M).theta, plain.align(Z).theta, atol=1e-8)
    np.testing.assert_allclose(mapped.c, plain.c, atol=1e-10)
    np.testing.assert_allclose(mapped.differences, plain.differences, atol=1e-8)


def test_an_orthogonal_map_changes_nothing_in_common_units():
    A, B, Z = pair()
    M = np.linalg.qr(np.random.default_rng(3).standard_normal((12, 12)))[0]
    options = {"units": "common"}
    plain = JointFrame.fit(A, B, **options).align(Z).theta
    mapped = JointFrame.fit(A @ M, B @ M, **options).align(Z @ M).theta
    np.testing.assert_allclose(mapped, plain, atol=1e-9)


def test_in_own_units_the_unit_of_a_column_changes_nothing():
    A, B, Z = pair()
    scale = np.geomspace(1e-6, 1e5, 12)
    plain = JointFrame.fit(A, B, units="own")
    scaled = JointFrame.fit(A * scale, B * scale, units="own")
    assert scaled.shrinkage == plain.shrinkage
    np.testing.assert_allclose(scaled.align(Z * scale).theta, plain.align(Z).theta, atol=1e-9)
    common = [JointFrame.fit(A * x, B * x, **PLAIN).align(Z * x).theta for x in (1.0, scale)]
    assert np.abs(common[0] - common[1]).max() > 0.05  # so the promise is not idle


@pytest.mark.parametrize("options", SETTINGS)
def test_row_order_changes_nothing_and_repeating_rows_no_cost(options):
    A, B, Z = pair()
    expected = JointFrame.fit(A, B, **options).align(Z)
    shuffled = np.random.default_rng(2).permutation(A)
    found = JointFrame.fit(shuffled, B, **options).align(Z)
    np.testing.assert_allclose(found.theta, expected.theta, atol=1e-10)
    if options:  # what is left to the data may be chosen otherwise with more rows
        found = JointFrame.fit(np.repeat(A, 3, axis=0), B, **options).align(Z)
        np.testing.assert_allclose(found.cost_a, expected.cost_a, rtol=1e-10)


def test_constant_features_take_no_part():
    A, B, Z = pair()
    wide = [np.insert(X, [4, 7], [3.0, -1.0], axis=1) for X in (A, B, Z)]
    plain, padded = JointFrame.fit(A, B), JointFrame.fit(*wide[:2])
    assert padded.geometry.constant_features.tolist() == [4, 8]
    np.testing.assert_allclose(padded.align(wide[2]).theta, plain.align(Z).theta, atol=1e-10)
    wide[2][:, 4] = 1e6  # a value that no set has ever seen costs nothing either
    np.testing.assert_allclose(padded.align(wide[2]).theta, plain.align(Z).theta, atol=1e-10)


@pytest.mark.parametrize("options", SETTINGS)
def test_no_direction_has_a_constant_feature(options):
    """Not even where both sets are alike, and every direction lies at 45°."""
    A, B, Z = pair()
    wide = [np.insert(X, [4, 7], [3.0, -1.0], axis=1) for X in (A, B, Z)]
    plain, padded = (JointFrame.fit(*sets, **options) for sets in ((A, B), wide[:2]))
    assert padded.rank == plain.rank == 12
    assert padded.constant_features.tolist() == [4, 8]
    assert np.abs(padded.H[:, [4, 8]]).max() < 1e-14
    np.testing.assert_allclose(padded.angles, plain.angles, atol=1e-10)
    np.testing.assert_allclose(padded.parts, plain.parts, atol=1e-10)
    np.testing.assert_allclose(
        padded.leave_one_out(*wide[:2]).a.theta, plain.leave_one_out(A, B).a.theta, atol=1e-9
    )
    y = padded.coordinates(wide[2])
    np.testing.assert_allclose(np.abs(y), np.abs(plain.coordinates(Z)), atol=1e-9)
    np.testing.assert_allclose(y @ padded.H + padded.center, wide[2], atol=1e-9)
    alike = JointFrame.fit(wide[0], wide[0], **options)
    assert np.abs(alike.H[:, [4, 8]]).max() < 1e-14
    kept = JointFrame.fit(*wide[:2], **options, keep_uv=True)
    sides = ((wide[0], "A", kept.U, kept.c), (wide[1], "B", kept.V, kept.s))
    for rows, side, left, weight in sides:
        np.testing.assert_allclose(left * weight @ kept.H, kept.prepared(rows, side), atol=1e-9)


# ---- the calibrated angle ---------------------------------------------------------------------


@pytest.mark.parametrize("options", [*SETTINGS, {"span": "linear", "calibrate": True}])
def test_theta_is_a_monotone_function_of_the_raw_ratio(options):
    """log tan²θ = β (ℓ - ℓ₀): the order, the extremes and the theorems stand."""
    A, B, Z = pair()
    frame = JointFrame.fit(A, B, **options)
    scored = frame.align(np.vstack([A, B, Z]))
    assert frame.gain > 0
    np.testing.assert_allclose(
        2 * np.log(np.tan(scored.theta)), frame.gain * (scored.log_ratio - frame.zero), atol=1e-8
    )
    order = np.argsort(scored.raw_theta)
    assert np.all(np.diff(scored.theta[order]) >= 0)
    np.testing.assert_allclose(scored.log_ratio, 2 * np.log(scored.cost_a / scored.cost_b))


def test_the_calibration_is_the_balanced_logistic_fit_with_smoothed_targets():
    rng = np.random.default_rng(4)
    ell = np.concatenate([rng.normal(-0.5, 1.0, 40), rng.normal(0.8, 1.5, 90)])
    own = np.repeat([0, 1], [40, 90])
    sizes = np.array([40, 90])[own]
    target = np.where(own == 1, sizes + 1, 1) / (sizes + 2)

    def loss(parameters):
        score = parameters[0] * (ell - parameters[1])
        each = target * np.logaddexp(0, -score) + (1 - target) * np.logaddexp(0, score)
        return np.sum(each / sizes)

    best = scipy.optimize.minimize(loss, [1.0, 0.0], tol=1e-12).x
    log_odds = np.stack([-ell, 0 * ell], axis=1)  # -log cost² of A and of B
    found = fit_calibration(log_odds, own, np.ones(130))
    assert found.gain == pytest.approx(best[0], rel=1e-5)
    assert found.zero == pytest.approx(best[1], abs=1e-5)
    theta = angles_of(np.exp(ell), np.ones_like(ell), found)
    probability = 1 / (1 + np.exp(-found.gain * (ell - found.zero)))
    np.testing.assert_allclose(np.sin(theta) ** 2, probability, rtol=1e-10)


@pytest.mark.parametrize("pooling", [0.0, 0.4, 1.0])
def test_bare_summaries_take_the_likelihood_ratio_of_two_student_distributions(pooling):
    """Without rows to leave out: β = (ν + d)/2, ℓ₀ = (log|Σ̃_B| - log|Σ̃_A|)/(ν + d)."""
    A, B, Z = pair()
    options = {**PLAIN, "dof": 4.0, "pooling": pooling}
    bare = [Summary.of(X, sample_size=0) for X in (A, B)]
    frame = JointFrame.from_summaries(*bare, **options)
    S = covariances((A, B), options)
    log_det = [np.linalg.slogdet(one)[1] for one in S]
    assert frame.gain == (4 + 12) / 2
    assert frame.zero == pytest.approx((log_det[1] - log_det[0]) / 16, abs=1e-10)
    # Σ̃ about ν: the cost ν + z'Σ̃⁻¹z is ν (1 + z'Σ̃⁻¹z/ν), the kernel of t_ν with that shape.
    density = [
        scipy.stats.multivariate_t(X.mean(axis=0), one, df=4).logpdf(Z)
        for X, one in zip((A, B), S, strict=True)
    ]
    theta = frame.align(Z).theta
    np.testing.assert_allclose(2 * np.log(np.tan(theta)), density[1] - density[0], atol=1e-9)


@pytest.mark.parametrize("pooling", [0.0, 0.5, 1.0])
def test_bare_summaries_of_three_sets_weigh_by_their_student_densities(pooling):
    A, B, Z = pair()
    sets, options = (A, B, 2 * A + 1), {**PLAIN, "dof": 4.0, "pooling": pooling}
    bare = [Summary.of(X, sample_size=0) for X in sets]
    density = [
        scipy.stats.multivariate_t(X.mean(axis=0), one, df=4).logpdf(Z)
        for X, one in zip(sets, covariances(sets, options), strict=True)
    ]
    found = SetCosts.from_summaries(bare, **options).weights(Z)
    np.testing.assert_allclose(found, scipy.special.softmax(density, axis=0).T, atol=1e-9)


@pytest.mark.parametrize(("p", "q"), [(20, 2000), (300, 300)])
def test_sizes_do_not_tilt_the_angle_where_nothing_differs(p, q):
    """The raw angle of 20 rows against 2,000 puts every fresh row on B's side."""
    rng = np.random.default_rng(0)
    A, B, Z = (rng.standard_normal((n, 40)) for n in (p, q, 500))
    frame = JointFrame.fit(A, B, **PLAIN)
    calibrated = frame.align(Z)
    assert abs(np.degrees(calibrated.theta.mean()) - 45) < 5
    if p < q:
        assert np.mean(calibrated.raw_theta > np.pi / 4) > 0.95


# ---- leave-one-out ----------------------------------------------------------------------------


def test_the_formula_of_a_single_row():
    """cost² = ν + (n/(n-1))² h / (1 - κh), from the design."""
    A, B, _ = pair()
    n, alpha, options = len(A), 0.1, {**PLAIN, "calibrate": False}
    found = JointFrame.fit(A, B, **options).left_out(A, "A").cost_a ** 2
    T = (np.trace(np.cov(A.T, bias=True)) + np.trace(np.cov(B.T, bias=True))) / 24
    G = (1 - alpha) * np.cov(A.T, bias=True) + alpha * (n - 1) / n * T * np.eye(12)
    x = A - A.mean(0)
    h = (n - 1) / n * np.einsum("ij,ij->i", x, np.linalg.solve(G, x.T).T)
    kappa = (1 - alpha) * n / (n - 1) ** 2
    np.testing.assert_allclose(found, 1 + (n / (n - 1)) ** 2 * h / (1 - kappa * h), rtol=1e-10)


# ---- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [10, 1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sets_far_apart_keep_their_digits(apart, dtype):
    """Multiplied out, squares of far positions would lose the cost of a row near its own set."""
    rng = np.random.default_rng(6)
    A, B, Z = (rng.standard_normal((n, 4)) for n in (200, 150, 40))
    B[:, 0] += apart
    Z = Z.astype(dtype)
    frame = JointFrame.fit(A, B, **{**PLAIN, "units": "own", "calibrate": False})
    S = covariances((A, B), {**PLAIN, "units": "own"})
    scored = frame.align(Z)
    # Multiplying out loses at most √eps of a cost of 1 in the precision it is done in: float64
    # from about 100 spreads on. Taking off the midpoint loses eps · apart.
    used = dtype if apart <= 100 else np.float64
    rtol = np.sqrt(np.finfo(used).eps) + 10 * np.finfo(float).eps * apart
    near = squared_cost(Z.astype(float), A, S[0], 1.0)
    np.testing.assert_allclose(scored.cost_a**2, near, rtol=rtol)
    far = squared_cost(Z.astype(float), B, S[1], 1.0)
    np.testing.assert_allclose(scored.cost_b**2, far, rtol=1e-5)
    assert np.all(scored.theta < 0.5)


def test_a_large_common_offset_costs_no_digits():
    rng = np.random.default_rng(7)
    A, B, Z = (rng.integers(-9, 10, (n, 5)).astype(float) for n in (100, 80, 30))
    offset = np.float64(2**30)  # the rows are integers: adding it is exact
    plain, moved = JointFrame.fit(A, B, **PLAIN), JointFrame.fit(A + offset, B + offset, **PLAIN)
    np.testing.assert_allclose(moved.align(Z + offset).theta, plain.align(Z).theta, atol=1e-6)


# ---- the preset, and what is refused ----------------------------------------------------------


def test_the_papers_preset_is_one_word():
    A, B, Z = pair()
    paper = JointFrame.fit(A, B, preset="paper")
    spelled = JointFrame.fit(A, B, span="linear", center="each", balance=False, shrinkage=0)
    assert (paper.span, paper.geometry.center_mode, paper.geometry.balance, paper.shrinkage) == (
        "linear",
        "each",
        False,
        0,
    )
    for weighting in ("cost", "frame"):
        theta = [frame.align(Z, weighting=weighting).theta for frame in (paper, spelled)]
        np.testing.assert_array_equal(*theta)
    # The theorem's own formula: coefficients of the sample in rows less their mean.
    x, y = (np.linalg.lstsq((X - X.mean(0)).T, Z.T, rcond=None)[0] for X in (A, B))
    expected = np.arctan2(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
    np.testing.assert_allclose(paper.align(Z).theta, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": "each"}, 'center belongs to span="linear"'),
        ({"balance": False}, 'balance belongs to span="linear"'),
        ({"span": "curved"}, "span is 'curved'"),
        ({"preset": "other"}, "preset is 'other'"),
        ({"preset": "paper", "shrinkage": 0.5}, "settles shrinkage already"),
        ({"span": "linear", "pooling": 0.5}, 'pooling belongs to span="affine"'),
        ({"span": "linear", "dof": 3.0}, 'dof belongs to span="affine"'),
        ({"span": "linear", "units": "own"}, 'units belongs to span="affine"'),
        ({"units": "metres"}, "units is 'metres'"),
        ({"pooling": 1.5}, "pooling is 1.5; it must be a number from 0 to 1"),
        ({"dof": 0}, "dof is 0; it must be a number above 0"),
        ({"calibrate": "yes"}, "calibrate"),
    ],
)
def test_what_is_refused(options, message):
    A, B, _ = pair()
    with pytest.raises(InputError, match=message):
        JointFrame.fit(A, B, **options)
