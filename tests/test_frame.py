"""The joint frame in the paper's linear span, and what every frame promises.

The affine span, the default, has its theorems in test_affine.py.
"""

import importlib
import warnings

import numpy as np
import pytest

from cospan import JointFrame, Summary, gsvd
from cospan.errors import CospanWarning, InputError

CENTERS = ["pooled", "each", "none"]


def mean_variance(frame):
    """What shrinkage pulls towards, over the features that vary."""
    unit = frame.geometry.unit
    return np.mean(unit[unit > 0] ** 2)


def pair(p=60, q=50, d=12, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((p, d)) * np.linspace(0.1, 3, d)
    B = rng.standard_normal((q, d)) @ rng.standard_normal((d, d)) * 0.5 + 0.5
    return A, B, rng.standard_normal((25, d))


def linear(A, B, **options):
    return JointFrame.fit(A, B, span="linear", **options)


def weights_of(A, B, balance):
    return (1 / len(A), 1 / len(B)) if balance else (1.0, 1.0)


def moments(X, center, weight):
    return weight * (X - center).T @ (X - center)


def prepared_matrices(frame, A, B):
    """S̃_A and S̃_B straight from the definition."""
    d, alpha = A.shape[1], frame.shrinkage
    w_a, w_b = weights_of(A, B, frame.geometry.balance)
    S_A, S_B = moments(A, frame.geometry.about(0), w_a), moments(B, frame.geometry.about(1), w_b)
    lam = (np.trace(S_A) + np.trace(S_B)) / (2 * d)
    assert mean_variance(frame) == pytest.approx(lam, rel=1e-12)
    return tuple((1 - alpha) * S + alpha * lam * np.eye(d) for S in (S_A, S_B))


def quadratic(Z, S):
    return np.einsum("ij,ij->i", Z, np.linalg.solve(S, Z.T).T)


# ---- the angle --------------------------------------------------------------------------------


def test_theorem_1_costs_are_minimum_norm_coefficients():
    """For z in both row spaces: θ = arctan(‖x‖/‖y‖) with Ax = By = z and x, y of least norm."""
    rng = np.random.default_rng(1)
    shared = rng.standard_normal((6, 15))
    A = rng.standard_normal((20, 6)) @ shared + 0
    A = np.vstack([A, rng.standard_normal((2, 15))])
    B = np.vstack([rng.standard_normal((10, 6)) @ shared, rng.standard_normal((3, 15))])
    frame = linear(A, B, center="none", balance=False, shrinkage=0)
    assert tuple(frame.blocks) == (2, 6, 3)
    Z = rng.standard_normal((40, 6)) @ shared
    x = np.linalg.lstsq(A.T, Z.T, rcond=1e-10)[0]
    y = np.linalg.lstsq(B.T, Z.T, rcond=1e-10)[0]
    expected = np.arctan2(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
    alignment = frame.align(Z)
    np.testing.assert_allclose(alignment.theta, expected, atol=1e-10)
    np.testing.assert_allclose(alignment.cost_a, np.linalg.norm(x, axis=0), rtol=1e-9)
    assert alignment.relational.all()


@pytest.mark.parametrize("options", [{"span": "linear"}, {"calibrate": False}])
def test_posterior_identities_of_raw_angles(options):
    A, B, Z = pair()
    alignment = JointFrame.fit(A, B, **options).align(Z)
    a, b = alignment.cost_a, alignment.cost_b
    posterior = alignment.posterior
    np.testing.assert_allclose(alignment.raw_theta, alignment.theta, rtol=1e-14)
    np.testing.assert_allclose(posterior[:, 0], b**2 / (a**2 + b**2), rtol=1e-12)
    np.testing.assert_allclose(posterior[:, 1], alignment.probability, rtol=1e-14)
    np.testing.assert_allclose(posterior.sum(1), 1, rtol=1e-14)
    ratio = posterior[:, 0] / posterior[:, 1]
    np.testing.assert_allclose(ratio, 1 / np.tan(alignment.theta) ** 2, rtol=1e-10)


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("shrinkage", [0, 0.01, 0.3])
class TestEverySetting:
    def fit(self, A, B, center, balance, shrinkage):
        return linear(A, B, center=center, balance=balance, shrinkage=shrinkage)

    def test_costs_are_quadratic_forms(self, center, balance, shrinkage):
        A, B, Z = pair()
        frame = self.fit(A, B, center, balance, shrinkage)
        S_A, S_B = prepared_matrices(frame, A, B)
        alignment = frame.align(Z)
        np.testing.assert_allclose(
            alignment.cost_a**2, quadratic(Z - frame.center, S_A), rtol=1e-10
        )
        np.testing.assert_allclose(
            alignment.cost_b**2, quadratic(Z - frame.center, S_B), rtol=1e-10
        )

    @pytest.mark.parametrize("weighting", ["cost", "frame"])
    def test_swapping_the_sets_mirrors_theta(self, center, balance, shrinkage, weighting):
        A, B, Z = pair()
        there = self.fit(A, B, center, balance, shrinkage).align(Z, weighting=weighting)
        back = self.fit(B, A, center, balance, shrinkage).align(Z, weighting=weighting)
        np.testing.assert_allclose(there.theta, np.pi / 2 - back.theta, atol=1e-11)


@pytest.mark.parametrize("weighting", ["cost", "frame"])
def test_on_a_single_direction_both_weightings_give_its_own_angle(weighting):
    A, B, _ = pair()
    frame = linear(A, B, center="none", shrinkage=0.05)
    alignment = frame.align(frame.H, weighting=weighting)
    np.testing.assert_allclose(alignment.theta, frame.angles, atol=1e-10)


@pytest.mark.parametrize("weighting", ["cost", "frame"])
@pytest.mark.parametrize("shrinkage", [0, 0.02])
def test_row_order_and_repetition_change_nothing_in_balanced_sets(weighting, shrinkage):
    A, B, Z = pair()
    expected = linear(A, B, shrinkage=shrinkage).align(Z, weighting=weighting).theta
    shuffled = np.random.default_rng(2).permutation(A)
    for other in (shuffled, np.repeat(A, 3, axis=0)):
        theta = linear(other, B, shrinkage=shrinkage).align(Z, weighting=weighting).theta
        np.testing.assert_allclose(theta, expected, atol=1e-11)


def test_an_invertible_map_leaves_the_unshrunk_cost_angle_alone():
    A, B, Z = pair()
    M = np.random.default_rng(3).standard_normal((12, 12)) + 3 * np.eye(12)
    plain = linear(A, B, shrinkage=0).align(Z).theta
    mapped = linear(A @ M, B @ M, shrinkage=0).align(Z @ M).theta
    np.testing.assert_allclose(mapped, plain, atol=1e-9)


def test_shrinkage_is_the_gsvd_of_rows_with_a_ridge_below():
    A, B, Z = pair()
    alpha = 0.07
    frame = linear(A, B, shrinkage=alpha)
    ridge = np.sqrt(alpha * mean_variance(frame)) * np.eye(12)
    left = np.vstack([np.sqrt((1 - alpha) / len(A)) * (A - frame.center), ridge])
    right = np.vstack([np.sqrt((1 - alpha) / len(B)) * (B - frame.center), ridge])
    factors = gsvd(left, right)
    assert tuple(factors.blocks) == tuple(frame.blocks) == (0, 12, 0)
    y = np.linalg.lstsq(factors.H.T, (Z - frame.center).T, rcond=None)[0].T
    expected = np.arctan2(
        np.linalg.norm(y / factors.c, axis=1), np.linalg.norm(y / factors.s, axis=1)
    )
    np.testing.assert_allclose(frame.align(Z).theta, expected, atol=1e-12)
    np.testing.assert_allclose(frame.coordinates(Z) ** 2, y**2, atol=1e-9)


# ---- samples that one set, or both, cannot represent ------------------------------------------


def test_without_shrinkage_the_formula_turns_the_wrong_way_and_says_so():
    """Slip 6: e₁ lies in A's own direction, b = 0 by the pseudo-inverse, hence 90°."""
    A, B = np.eye(3)[:2], np.eye(3)[1:]
    unshrunk = linear(A, B, center="none", shrinkage=0).align(np.eye(3))
    assert unshrunk.degrees[0] == pytest.approx(90)
    np.testing.assert_array_equal(unshrunk.relational, [False, True, False])
    np.testing.assert_allclose(unshrunk.shares, np.eye(3), atol=1e-12)
    shrunk = linear(A, B, center="none", shrinkage=0.01).align(np.eye(3))
    assert shrunk.degrees[0] < 10
    assert shrunk.degrees[2] > 80
    assert shrunk.relational.all()


def test_what_lies_outside_both_sets_is_measured():
    A = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    B = np.array([[2.0, 0, 0, 0], [1, 1, 0, 0]])
    frame = linear(A, B, center="none", shrinkage=0)
    alignment = frame.align([[1.0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 5]])
    np.testing.assert_allclose(alignment.outside, [0, 0.5, 1], atol=1e-14)
    np.testing.assert_array_equal(alignment.relational, [True, False, False])
    assert alignment.theta[2] == np.pi / 4


@pytest.mark.parametrize("weighting", ["cost", "frame"])
def test_the_centre_is_nobodys(weighting):
    A, B, _ = pair()
    for shrinkage in (0, 0.1):
        frame = linear(A, B, shrinkage=shrinkage)
        alignment = frame.align(frame.center[None, :], weighting=weighting)
        assert alignment.theta[0] == np.pi / 4
        assert alignment.cost_a[0] == alignment.cost_b[0] == 0


def test_few_rows_share_no_direction_and_a_warning_says_what_to_do():
    A, B, _ = pair(4, 5, 12)
    settings = [{"span": "linear", "center": center} for center in CENTERS]
    for options in ({}, *settings):
        with pytest.warns(CospanWarning, match="share no direction.*more rows, or shr") as told:
            JointFrame.fit(A, B, shrinkage=0, **options)
        with pytest.warns(CospanWarning, match="share no direction") as told_too:
            JointFrame.from_summaries(Summary.of(A), Summary.of(B), shrinkage=0, **options)
        assert told[0].filename == told_too[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JointFrame.fit(A, B)


def test_a_row_alone_in_its_direction_is_not_explained_by_the_others():
    A = np.vstack([np.eye(3)[:2], 2 * np.eye(3)[:2], np.eye(3)[2:]])
    B = np.random.default_rng(0).standard_normal((9, 3))
    frame = linear(A, B, center="none", shrinkage=0)
    assert frame.leave_one_out(A, B).a.theta[4] == pytest.approx(np.pi / 2)


# ---- summaries, chunks, dtypes ----------------------------------------------------------------


def test_a_fast_summary_agrees_under_shrinkage_and_is_refused_without():
    A, B, Z = pair(300, 200)
    fast = [Summary.of(X, exact=False) for X in (A, B)]
    for alpha in (1e-3, 0.1):
        expected = JointFrame.fit(A, B, shrinkage=alpha).align(Z).degrees
        frame = JointFrame.from_summaries(*fast, shrinkage=alpha)
        np.testing.assert_allclose(frame.align(Z).degrees, expected, atol=1e-9)
    with pytest.raises(InputError, match=r"fast summary.*at least 0\.001"):
        JointFrame.from_summaries(*fast, shrinkage=1e-4)


def test_float32_samples_stay_float32_and_agree():
    A, B, Z = pair(300, 200)
    frame = JointFrame.fit(A, B)
    single = frame.align(Z.astype(np.float32))
    assert single.theta.dtype == np.float32
    np.testing.assert_allclose(single.degrees, frame.align(Z).degrees, atol=1e-3)
    unshrunk = JointFrame.fit(A, B, shrinkage=0).align(Z.astype(np.float32))
    assert unshrunk.theta.dtype == np.float64  # weak directions need the digits


def test_the_rank_of_float32_rows_is_judged_by_their_own_eps():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((20, 30))
    A = (rng.standard_normal((80, 12)) @ factors[:12]).astype(np.float32)
    B = (rng.standard_normal((80, 12)) @ factors[8:]).astype(np.float32)
    frame = linear(A, B, center="none", shrinkage=0)
    assert tuple(frame.blocks) == (8, 4, 8)
    widened = linear(A.astype(float), B.astype(float), center="none", shrinkage=0)
    assert widened.rank > 20  # rounding errors taken for directions


def test_dead_columns_are_harmless():
    A, B, Z = pair()
    index = [0, 3, 20, *range(4, 13)]
    wide = [np.zeros((len(X), 25)) for X in (A, B, Z)]
    for padded, X in zip(wide, (A, B, Z), strict=True):
        padded[:, index] = X
    expected = JointFrame.fit(A, B, shrinkage=0).align(Z).theta
    frame = JointFrame.fit(wide[0], wide[1], shrinkage=0)
    assert frame.rank == 12
    np.testing.assert_allclose(frame.align(wide[2]).theta, expected, atol=1e-10)


# ---- accuracy on real images ------------------------------------------------------------------

ACCURACY = [
    ("mnist", 4, 9, 0.978),
    ("mnist", 0, 7, 0.995),
    ("mnist", 1, 5, 0.99),
    ("mnist", 3, 9, 0.977),
    ("fashion", 0, 7, 0.996),
    ("fashion", 7, 9, 0.952),
]


@pytest.mark.parametrize(("dataset", "a", "b", "least"), ACCURACY)
def test_default_accuracy_on_images(dataset, a, b, least, request):
    images = request.getfixturevalue(dataset)
    tests = [images.test_images(digit) for digit in (a, b)]
    accuracy = []
    for seed in range(3):
        frame = JointFrame.fit(images.draw(a, 900, seed), images.draw(b, 800, seed))
        right = [frame.align(Z).predict() == label for label, Z in enumerate(tests)]
        accuracy.append(np.concatenate(right).mean())
    print(f"{dataset} {a} against {b}: accuracy {np.mean(accuracy):.4f}, at least {least} wanted")
    assert np.mean(accuracy) >= least


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": "mean"}, "center is 'mean'; it must be one of 'pooled'"),
        ({"balance": "no"}, "balance"),
        ({"shrinkage": 1.0}, r"shrinkage is 1\.0"),
        ({"shrinkage": "much"}, "shrinkage is 'much'"),
        ({"shrinkage": -0.1}, "shrinkage is -0.1"),
        ({"tol": 2.0}, r"tol is 2\.0"),
    ],
)
def test_unknown_options_are_named(options, message):
    A, B, _ = pair()
    with pytest.raises(InputError, match=message):
        linear(A, B, **options)


def test_bad_data_is_located():
    A, B, Z = pair()
    broken = A.copy()
    broken[3, 5] = np.nan
    with pytest.raises(InputError, match="A contains NaN at row 3, column 5"):
        JointFrame.fit(broken, B)
    with pytest.raises(InputError, match="A has 12 features and B has 11"):
        JointFrame.fit(A, B[:, :11])
    frame = JointFrame.fit(A, B)
    with pytest.raises(InputError, match="Z has 3 features where 12"):
        frame.align(Z[:, :3])
    with pytest.raises(InputError, match=r"reshape\(1, -1\)"):
        frame.align(Z[0])
    with pytest.raises(InputError, match="weighting is 'both'"):
        frame.align(Z, weighting="both")
    with pytest.raises(InputError, match="Inf at row 7"):
        frame.align(np.vstack([Z[:7], np.full((1, 12), np.inf)]))
    with pytest.raises(InputError, match="nothing to compare"):
        JointFrame.fit(np.ones((4, 3)), np.ones((5, 3)))


def test_columns_in_another_order_are_refused():
    pd = importlib.import_module("pandas")
    A, B, Z = (pd.DataFrame(X[:, :3], columns=["x", "y", "z"]) for X in pair())
    frame = JointFrame.fit(A, B)
    assert frame.feature_names == ("x", "y", "z")
    with pytest.raises(InputError, match="another order"):
        frame.align(Z[["y", "x", "z"]])
    with pytest.raises(InputError, match=r"missing: \['z'\]"):
        frame.align(Z.rename(columns={"z": "w"}))
    for call in (
        frame.coordinates,
        lambda X: frame.left_out(X, "A"),
        lambda X: frame.prepared(X, "A"),
    ):
        with pytest.raises(InputError, match="another order"):
            call(A[["y", "x", "z"]])
    with pytest.raises(InputError, match="'x' and 'y'"):
        JointFrame.fit(A, B[["y", "x", "z"]])


def test_the_unbalanced_pooled_centre_is_the_mean_of_all_rows():
    A, B, _ = pair()
    frame = linear(A, B, balance=False, shrinkage=0.1)
    np.testing.assert_allclose(frame.center, np.vstack([A, B]).mean(axis=0), rtol=1e-12)
    for fit in (linear, JointFrame.fit):
        middle = (A.mean(0) + B.mean(0)) / 2
        np.testing.assert_allclose(fit(A, B, shrinkage=0.1).center, middle, rtol=1e-12)


@pytest.mark.parametrize("shrinkage", [0.05, 1e-3])
def test_float32_is_wide_enough_in_a_span_and_for_rows_left_out(shrinkage):
    """What lies off a span is a small difference of norms, divided by αλ."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((10, 512))
    A, B, Z = (
        rng.standard_normal((n, 10)) * spread @ mixing + 0.05 * rng.standard_normal((n, 512))
        for n, spread in ((100, 1.0), (100, np.linspace(0.5, 1.5, 10)), (9, 1.0))
    )
    frame = JointFrame.fit(A, B, shrinkage=shrinkage)
    single = frame.align(Z.astype(np.float32)).degrees
    np.testing.assert_allclose(single, frame.align(Z).degrees, atol=1e-3)
    for X in (A[:, :512], A[:, :20]):
        frame = JointFrame.fit(X, B[:, : X.shape[1]], shrinkage=shrinkage)
        exact = frame.left_out(X, "A").degrees
        np.testing.assert_allclose(
            frame.left_out(X.astype(np.float32), "A").degrees, exact, atol=1e-3
        )


def test_shrinkage_stands_in_for_directions_that_a_tolerance_drops():
    A, B, _ = pair(d=5)
    weak = np.diag([1.0, 1, 1, 0, 0])
    alignment = linear(A @ weak, B @ weak, center="none", shrinkage=1e-30).align(np.eye(5))
    np.testing.assert_allclose(alignment.degrees[3:], 45, atol=1e-6)


def test_a_row_of_weight_two_loses_one_of_its_occurrences():
    A, B, _ = pair()
    weights = np.full(len(A), 2.0)
    weighted = JointFrame.fit(A, B, shrinkage=0.1, sample_weight_a=weights)
    repeated = JointFrame.fit(np.repeat(A, 2, axis=0), B, shrinkage=0.1)
    np.testing.assert_allclose(
        weighted.left_out(A, "A", sample_weight=weights).theta,
        repeated.left_out(A, "A").theta,
        atol=1e-11,
    )


def test_an_alignment_is_a_sequence():
    A, B, Z = pair()
    alignment = JointFrame.fit(A, B).align(Z)
    assert [len(one) for one in alignment] == [1] * 25
    assert alignment[-1].theta[0] == alignment.theta[-1]
    np.testing.assert_array_equal(alignment[alignment.theta > 0.8].theta.min() > 0.8, True)
    assert len(alignment[[]]) == 0
    with pytest.raises(IndexError):
        alignment[25]
    framed = linear(A, B).align(Z, weighting="frame")
    with pytest.raises(InputError, match="different weightings"):
        type(alignment).concatenate([alignment, framed])


def test_the_threshold_itself_belongs_to_a():
    A, B, Z = pair()
    alignment = JointFrame.fit(A, B).align(Z)
    theta = float(alignment.theta[3])
    assert alignment.predict(theta)[3] == 0
    assert alignment.predict(np.nextafter(theta, 0))[3] == 1
