"""Labels that conflict with their angle, and importance weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score

from cospan import JointFrame, audit_labels, importance_weights
from cospan.comparison import LabelAudit
from cospan.errors import InputError


def flipped_pair(X, y, first, second, rate=0.05, seed=0):
    """Rows of two classes, their labels with a part of them flipped, and which ones."""
    chosen = (y == first) | (y == second)
    X, y = X[chosen], y[chosen]
    rng = np.random.default_rng(seed)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(len(y), round(rate * len(y)), replace=False)] = True
    return X, np.where(wrong, first + second - y, y), wrong


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def test_flipped_labels_of_two_classes_are_found(digits):
    X, y, wrong = flipped_pair(*digits, 4, 9)
    audit = audit_labels(X, y)
    assert average_precision_score(wrong, audit.suspicion) > 0.95
    assert audit.flagged[wrong].mean() > 0.6
    assert wrong[audit.flagged].mean() > 0.9
    assert_array_equal(audit.suggested[wrong & audit.flagged], (13 - y)[wrong & audit.flagged])


def test_flipped_labels_of_ten_classes_are_found(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(len(y), 90, replace=False)] = True
    noisy = np.where(wrong, (y + rng.integers(1, 10, len(y))) % 10, y)
    audit = audit_labels(X, noisy)
    assert average_precision_score(wrong, audit.suspicion) > 0.95
    assert np.mean(audit.suggested[wrong] == y[wrong]) > 0.9
    assert wrong[audit.flagged].mean() == pytest.approx(0.8, abs=0.1)  # as is stated
    shares = np.bincount(noisy) / len(noisy)
    surer = LabelAudit.from_weights(audit.weights, noisy, range(10), precision=0.97, shares=shares)
    assert wrong[surer.flagged].mean() > 0.93
    assert audit.weights.shape == (len(y), 10)
    assert audit.theta is None


def test_clean_labels_raise_few_flags(digits):
    X, y = digits
    assert audit_labels(X, y).flagged.mean() < 0.005


@pytest.mark.parametrize("distance", [0.0, 1.2, 3.0])
def test_overlapping_classes_with_clean_labels_raise_no_flags(distance):
    """Rows on the wrong side are what the overlap leads one to expect."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 5))
    X[y == 1, 0] += distance
    assert audit_labels(X, y).flagged.mean() < 0.01


def test_the_noise_rate_is_estimated(digits):
    X, y, wrong = flipped_pair(*digits, 3, 8)
    assert audit_labels(X, y).noise_rate == pytest.approx(wrong.mean(), abs=0.025)
    assert audit_labels(X, np.where(wrong, 11 - y, y)).noise_rate < 0.005


def test_on_mnist_flipped_labels_are_found(mnist):
    X = np.vstack([mnist.draw(digit, 300, seed=1) for digit in (3, 5)])[:, ::2]
    X, y, wrong = flipped_pair(X, np.repeat([3, 5], 300), 3, 5)
    audit = audit_labels(X, y, shrinkage=0.5)
    assert average_precision_score(wrong, audit.suspicion) > 0.85


def test_the_angles_are_the_frames_own(digits):
    X, y, _ = flipped_pair(*digits, 4, 9)
    audit = audit_labels(X, y, shrinkage=0.2)
    frame = JointFrame.fit(X[y == 4], X[y == 9], shrinkage=0.2)
    loo = frame.leave_one_out(X[y == 4], X[y == 9])
    assert_allclose(audit.theta[y == 4], loo.a.theta, atol=1e-9)
    assert_allclose(audit.theta[y == 9], loo.b.theta, atol=1e-9)
    ratio = (np.sum(y == 9) + 1) / (np.sum(y == 4) + 1)  # one class is a little more common
    assert_allclose(audit.suspicion[y == 4], _share(ratio * np.tan(loo.a.theta) ** 2), atol=1e-9)
    assert_allclose(
        audit.suspicion[y == 9], 1 - _share(ratio * np.tan(loo.b.theta) ** 2), atol=1e-9
    )


def _share(odds):
    return odds / (1 + odds)


def test_the_order_of_the_rows_does_not_matter(digits):
    X, y, _ = flipped_pair(*digits, 3, 8)
    order = np.random.default_rng(0).permutation(len(y))
    there, back = audit_labels(X, y, shrinkage=0.1), audit_labels(X[order], y[order], shrinkage=0.1)
    assert_allclose(back.suspicion, there.suspicion[order], atol=1e-9)
    assert_array_equal(back.flagged, there.flagged[order])


def test_a_row_does_not_vouch_for_its_own_label(digits):
    """With few rows, in-sample angles hide a wrong label that leave-one-out angles show."""
    X, y = digits
    X, y = np.vstack([X[y == 4][:25], X[y == 9][:25]]), np.repeat([4, 9], 25)
    noisy = y.copy()
    noisy[3] = 9
    audit = audit_labels(X, noisy, shrinkage=0.001)
    frame = JointFrame.fit(X[noisy == 4], X[noisy == 9], shrinkage=0.001)
    assert audit.order[0] == 3
    assert frame.align(X[[3]]).theta[0] > np.pi / 4  # flattered: "fits its label"


def test_text_labels_and_the_table(digits):
    X, y, wrong = flipped_pair(*digits, 4, 9)
    names = np.where(y == 4, "four", "nine")
    audit = audit_labels(X.tolist(), names.tolist())
    assert set(audit.suggested) <= {"four", "nine"}
    table = audit.to_frame("pandas")
    assert list(table.columns) == ["row", "label", "suggested", "suspicion", "flagged"]
    assert table["suspicion"].is_monotonic_decreasing
    assert table["label"].tolist() == names[table["row"]].tolist()
    assert wrong[table["row"].to_numpy()[:10]].all()
    assert repr(audit) == f"LabelAudit({len(y)} labels, {audit.flagged.sum()} flagged)"


def overlapping(n=400, seed=0):
    """Labels drawn with probabilities that are known: nothing is flipped."""
    rng = np.random.default_rng(seed)
    lean = 1 / (1 + np.exp(-3 * rng.normal(size=n)))
    return np.column_stack([1 - lean, lean]), (rng.random(n) < lean).astype(int)


def test_suspicion_is_one_minus_the_probability_of_the_label():
    weights, own = overlapping()
    audit = LabelAudit.from_weights(weights, own, ["a", "b"])
    assert_allclose(audit.suspicion, 1 - weights[np.arange(400), own])
    assert audit.suggested.tolist() == np.array(["a", "b"])[weights.argmax(axis=1)].tolist()
    assert audit.noise_rate < 0.02
    assert not audit.flagged.any()


@pytest.mark.parametrize("K", [2, 3])
def test_probabilities_of_a_mislabel_are_frequencies(K):
    """Of labels said to be flipped with a probability near p, a share p is."""
    rng = np.random.default_rng(1)
    score = 4 * rng.normal(size=(20_000, K))
    weights = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    truth = (rng.random((len(weights), 1)) > weights.cumsum(axis=1)).sum(axis=1)
    truth = np.minimum(truth, K - 1)
    wrong = rng.random(len(truth)) < 0.1
    own = np.where(wrong, (truth + rng.integers(1, K, len(truth))) % K, truth)
    audit = LabelAudit.from_weights(weights, own, np.arange(K))
    assert audit.noise_rate == pytest.approx(0.1, abs=0.01)
    for low in np.arange(0, 1, 0.2):
        inside = (audit.mislabelled >= low) & (audit.mislabelled < low + 0.2)
        error = 0.01 + 3 * np.sqrt(0.25 / inside.sum())
        assert abs(wrong[inside].mean() - audit.mislabelled[inside].mean()) < error


def test_a_common_class_is_more_probable_beforehand():
    """Of ten rows nine are of one class: then most flips are filed under the other."""
    rng = np.random.default_rng(1)
    true = (rng.random(2000) < 0.1).astype(int)
    X = rng.normal(size=(2000, 3)) + 2 * true[:, None]
    wrong = rng.random(2000) < 0.05
    audit = audit_labels(X, np.where(wrong, 1 - true, true))
    equally = 1 - audit.weights[np.arange(2000), audit.labels]
    assert average_precision_score(wrong, equally) < 0.6
    assert average_precision_score(wrong, audit.suspicion) > 0.85
    share = np.mean(audit.labels)
    odds = audit.weights[:, 1] / audit.weights[:, 0] * share / (1 - share)
    probable = np.where(audit.labels == 1, odds, 1) / (1 + odds)
    assert_allclose(1 - audit.suspicion, probable, atol=2e-3)  # every class has one row more


@pytest.mark.parametrize(("distance", "share"), [(8.0, 0.1), (10.0, 0.02), (20.0, 0.1)])
def test_flips_across_an_empty_gap_are_found(distance, share):
    """The labels alone fit a nature that errs as often: the gap says that it does not."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 4))
    X[:, 0] += distance * y
    wrong = np.zeros(300, dtype=bool)
    wrong[rng.choice(300, round(share * 300), replace=False)] = True
    audit = audit_labels(X, np.where(wrong, 1 - y, y))
    assert_array_equal(audit.flagged, wrong)
    assert audit.noise_rate == pytest.approx(share, abs=0.01)


def test_what_the_columns_do_not_show_is_no_flip():
    """A label that hangs on other things levels off at 35 and 65 %, as flips would have it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    y = rng.random(3000) < 0.35 + 0.3 / (1 + np.exp(-8 * x[:, 0]))
    assert not audit_labels(x, y).flagged.any()


def test_blurred_probabilities_are_sharpened():
    """Flips make a calibrated gain too small; the rows that stand out are found all the same."""
    weights, own = overlapping(2000)
    rng = np.random.default_rng(2)
    wrong = rng.random(2000) < 0.05
    blurred = weights**0.5 / (weights**0.5).sum(axis=1, keepdims=True)
    first = LabelAudit.from_weights(weights, own ^ wrong, [0, 1])
    second = LabelAudit.from_weights(blurred, own ^ wrong, [0, 1])
    assert_allclose(first.mislabelled, second.mislabelled, atol=1e-3)


def test_a_higher_precision_flags_fewer(digits):
    X, y, _ = flipped_pair(*digits, 4, 9)
    found = [audit_labels(X, y, shrinkage=0.2, precision=p).flagged for p in (0.3, 0.5, 0.9)]
    assert found[0].sum() >= found[1].sum() >= found[2].sum() > 0
    assert not (found[2] & ~found[1]).any()


@pytest.mark.parametrize(("n_classes", "n", "d"), [(2, 200, 5), (5, 500, 20), (3, 90, 150)])
def test_labels_without_meaning_are_not_flagged(n_classes, n, d):
    rng = np.random.default_rng(n)
    names = np.array(list("abcde"))
    audit = audit_labels(rng.normal(size=(n, d)), names[rng.integers(0, n_classes, n)])
    assert not audit.flagged.any()
    assert ("a", "b") in audit.inseparable
    assert "inseparable pair" in repr(audit)


def test_only_inseparable_classes_keep_quiet(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    halves = np.where(y == 4, rng.permutation(np.resize([4, 40], len(y))), y)  # one class as two
    kept = y < 5
    labels = halves[kept]
    planted = np.flatnonzero(labels == 0)[:2]
    labels[planted] = 3
    audit = audit_labels(X[kept], labels)
    assert audit.inseparable == ((4, 40),)
    assert audit.flagged[planted].all()
    pairs = zip(audit.labels[audit.flagged], audit.suggested[audit.flagged], strict=True)
    assert not any({one, other} == {4, 40} for one, other in pairs)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0] * 10, "only one class"),
        ([0] * 9 + [1], "Class 1 has a single row"),
        ([0, 1] * 4, r"shape \(8,\) where \(10,\)"),
        ([0, 1] * 4 + [0, None], "no label at row 9"),
        ([0.0, 1.0] * 4 + [np.nan, 1.0], "no label at row 8"),
        (np.array([0, "a"] * 5, dtype=object), "different kinds"),
        (np.array(["a"] * 9 + ["b"], dtype=object), "Class 'b' has a single row"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(InputError, match=message):
        audit_labels(X, labels)


def test_bad_options_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.repeat([0, 1], 10)
    with pytest.raises(InputError, match="precision is 2"):
        audit_labels(X, y, precision=2)
    frame = JointFrame.fit(X[:10], X[10:], shrinkage=0.1)
    with pytest.raises(InputError, match="clip is 0"):
        importance_weights(frame, X[:10], clip=0)
    with pytest.raises(InputError, match="no rows"):
        importance_weights(frame, X[:0])


# ---- importance weights -----------------------------------------------------------------------


def test_importance_weights_are_normalised_tan_squared():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(300, 3)) * [2, 1, 1], rng.normal(size=(200, 3)) * [1, 2, 1]
    frame = JointFrame.fit(A, B, shrinkage=0.01)
    found = importance_weights(frame, A, clip=None)
    ratio = np.tan(frame.leave_one_out(A, B).a.theta) ** 2
    assert_allclose(found.weights, ratio / ratio.mean(), rtol=1e-10)
    assert found.clipped == 0
    assert found.effective_size == pytest.approx(ratio.sum() ** 2 / (ratio**2).sum())
    new = importance_weights(frame, A, leave_one_out=False, clip=2.0)
    ratio = np.minimum(np.tan(frame.align(A).theta) ** 2, 2.0)
    assert_allclose(new.weights, ratio / ratio.mean(), rtol=1e-10)
    assert new.clipped == pytest.approx(np.mean(ratio == 2.0))
    assert found.effective_size < new.effective_size < 300


def test_weighting_lowers_the_test_error_under_covariate_shift():
    """The example of docs/audit.md."""
    rng = np.random.default_rng(0)

    def target(X):
        return np.hypot(X[:, 0], 2 * X[:, 1])

    A = rng.normal(size=(2000, 2)) * [2.0, 0.7]
    B = rng.normal(size=(2000, 2)) * [0.7, 2.0]
    weights = importance_weights(JointFrame.fit(A, B), A).weights

    def error(sample_weight):
        model = LinearRegression().fit(np.abs(A), target(A), sample_weight)
        return np.mean((model.predict(np.abs(B)) - target(B)) ** 2)

    assert error(weights) < 0.25 * error(None)


@pytest.mark.parametrize("true_class", [0, 1])
def test_flips_in_one_direction_only_are_found(true_class):
    """Sick people filed as healthy, and never the other way round: no common rate fits."""
    recalls, precisions = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 300)
        X = rng.normal(size=(600, 5))
        X[y == 1, 0] += 4
        labels = y.copy()
        labels[rng.choice(np.flatnonzero(y == true_class), 30, replace=False)] = 1 - true_class
        wrong = labels != y
        audit = audit_labels(X, labels, precision=0.8)
        recalls.append(audit.flagged[wrong].mean())
        precisions.append(wrong[audit.flagged].mean())
    assert min(recalls) > 0.6
    assert np.mean(precisions) > 0.8
    assert 0.03 < audit.noise_rate < 0.07
