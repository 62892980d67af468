"""AlignmentAngleClassifier: scikit-learn's own checks, agreement with the frame, its choices."""

import io
import math
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from cospan import AlignmentAngleClassifier, JointFrame, Summary
from cospan.errors import InputError
from cospan.model import SetCosts


def test_scikit_learn_checks():
    checks = check_estimator(AlignmentAngleClassifier(), on_skip=None)
    skipped = {check["check_name"] for check in checks if check["status"] == "skipped"}
    assert {check["status"] for check in checks} <= {"passed", "skipped"}
    assert skipped <= {"check_array_api_input"}  # made by the next test
    assert len(checks) > 50


ARRAY_API_CHECKS = """
from sklearn.utils.estimator_checks import estimator_checks_generator
from cospan import AlignmentAngleClassifier
for estimator, check in estimator_checks_generator(AlignmentAngleClassifier()):
    if "array_api" in check.func.__name__:
        check(estimator)
        print(check.func.__name__)
"""


def test_scikit_learn_checks_with_the_array_api_switched_on():
    """The switch is read when SciPy is imported, hence another process."""
    command = [sys.executable, "-c", ARRAY_API_CHECKS]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() in ([], ["check_array_api_input"])  # older ones have no such check


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def pair(digits):
    X, y = digits
    chosen = (y == 4) | (y == 9)
    return X[chosen], np.where(y[chosen] == 4, "four", "nine")


# ---- the estimator says what the geometry says ------------------------------------------------


def test_two_classes_are_the_joint_frame(pair):
    X, y = pair
    model = AlignmentAngleClassifier().fit(X, y)
    frame = JointFrame.fit(X[y == "four"], X[y == "nine"])
    assert model.shrinkage_ == frame.shrinkage
    expected = frame.align(X)
    assert_allclose(model.transform(X)[:, 0], expected.theta, atol=1e-10)
    assert_allclose(model.transform(X)[:, 1], expected.cost_a, rtol=1e-9)
    assert_allclose(model.predict_proba(X), expected.posterior, atol=1e-10)
    assert_array_equal(model.predict(X), np.array(["four", "nine"])[expected.predict()])


def test_more_classes_are_the_model_to_each(digits):
    X, y = digits
    model = AlignmentAngleClassifier(shrinkage=0.3).fit(X[:800], y[:800])
    summaries = [Summary.of(X[:800][y[:800] == k]) for k in range(10)]
    weights = SetCosts.from_summaries(summaries, shrinkage=0.3).weights(X[800:])
    assert_allclose(model.predict_proba(X[800:]), weights, atol=1e-9)
    assert_array_equal(model.predict(X[800:]), weights.argmax(axis=1))
    assert model.score(X[800:], y[800:]) > 0.93
    assert model.decision_function(X[:5]).shape == (5, 10)
    assert model.model_.geometry.shrinkage == 0.3


def test_weak_shrinkage_keeps_all_digits(pair):
    X, y = pair
    frame = JointFrame.fit(X[y == "four"], X[y == "nine"], shrinkage=0)
    model = AlignmentAngleClassifier(shrinkage=0).fit(X, y)
    assert_allclose(model.transform(X)[:, 0], frame.align(X).theta, atol=1e-12)


# ---- fitting in parts, with weights -----------------------------------------------------------


@pytest.mark.parametrize("shrinkage", ["auto", 0.0])
def test_partial_fit_of_all_parts_is_fit(digits, shrinkage):
    X, y = digits
    X, y = X[y < 3], y[y < 3]
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    whole = AlignmentAngleClassifier(shrinkage=shrinkage).fit(X, y)
    parts = AlignmentAngleClassifier(shrinkage=shrinkage)
    for start in range(0, len(X), 100):
        batch = slice(start, start + 100)
        parts.partial_fit(X[batch], y[batch], classes=[0, 1, 2] if start == 0 else None)
    assert parts.shrinkage_ == whole.shrinkage_
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-8)


def test_partial_fit_continues_after_fit_and_changes_the_answer(pair):
    X, y = pair
    model = AlignmentAngleClassifier(shrinkage=0.1).fit(X[:100], y[:100])
    before = model.predict_proba(X)
    model.partial_fit(X[100:], y[100:])
    whole = AlignmentAngleClassifier(shrinkage=0.1).fit(X, y)
    assert np.abs(before - whole.predict_proba(X)).max() > 0.01
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_a_class_may_come_late(pair):
    X, y = pair
    model = AlignmentAngleClassifier(shrinkage=0.1)
    model.partial_fit(X[y == "four"], y[y == "four"], classes=["four", "nine"])
    with pytest.raises(InputError, match="'nine' has no rows yet"):
        model.predict(X)
    model.partial_fit(X[y == "nine"], y[y == "nine"])
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_of_two_counts_like_a_row_that_occurs_twice(digits, n_classes):
    X, y = digits
    X, y = X[y < n_classes], y[y < n_classes]
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    a = AlignmentAngleClassifier().fit(X, y, sample_weight=weight)
    b = AlignmentAngleClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert a.shrinkage_ == b.shrinkage_
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-8)


# ---- threshold, span, calibration ---------------------------------------------------------


def test_the_threshold_cuts_the_angle(pair):
    X, y = pair
    model = AlignmentAngleClassifier(threshold=0.6, shrinkage=0.1).fit(X, y)
    theta = model.transform(X)[:, 0]
    assert_array_equal(model.predict(X) == "nine", theta > 0.6)
    assert_allclose(model.decision_function(X), theta - 0.6)


def test_a_shift_alone_separates_classes():
    """About one centre, clouds on either side of it are mirror images; about their own, not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)) + np.repeat([[0.0], [2.0]], 300, axis=0)
    y = np.repeat([0, 1], 300)
    assert AlignmentAngleClassifier(span="linear").fit(X, y).score(X, y) < 0.7
    assert AlignmentAngleClassifier().fit(X, y).score(X, y) > 0.97


def test_the_papers_settings_are_reachable(pair):
    X, y = pair
    A, B = X[y == "four"], X[y == "nine"]
    options = {"span": "linear", "center": "each", "balance": False, "shrinkage": 0.01}
    model = AlignmentAngleClassifier(**options).fit(X, y)
    expected = JointFrame.fit(A, B, **options).align(X)
    assert_allclose(model.transform(X)[:, 0], expected.theta, atol=1e-9)


def test_raw_weights_are_those_of_the_costs(digits):
    """Without calibration w ∝ 1/cost², as the paper has it."""
    X, y = digits
    model = AlignmentAngleClassifier(calibrate=False, shrinkage=0.3).fit(X, y)
    inverse = 1 / model.model_.squared_costs(X[:50])
    expected = inverse / inverse.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X[:50]), expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_frequencies(n_classes):
    """Overlapping classes: of the samples given a probability near p, a share p is right."""
    rng = np.random.default_rng(0)
    scales = [[1.0, 2.0, 0.7], [2.0, 1.0, 0.7], [1.0, 1.0, 1.6]][:n_classes]
    X = np.vstack([rng.normal(size=(4000, 3)) * scale for scale in scales])
    y = np.repeat(np.arange(n_classes), 4000)
    train = np.arange(len(y)) % 2 == 0
    model = AlignmentAngleClassifier().fit(X[train], y[train])
    raw = AlignmentAngleClassifier(calibrate=False).fit(X[train], y[train])
    hit = y[~train, None] == np.arange(n_classes)

    def gap(proba):
        bins = np.minimum((proba * 10).astype(int), 9)
        means = [(proba[bins == b].mean(), hit[bins == b].mean()) for b in np.unique(bins)]
        sizes = [np.mean(bins == b) for b in np.unique(bins)]
        return sum(s * abs(p - q) for s, (p, q) in zip(sizes, means, strict=True))

    proba = model.predict_proba(X[~train])
    assert_allclose(proba.sum(axis=1), 1)
    assert gap(proba) < 0.03
    # Raw weights squeezed to equal shares would be frequencies too; these say more.
    surprise = [-np.log(p[hit]).mean() for p in (proba, raw.predict_proba(X[~train]))]
    assert surprise[0] < surprise[1]


# ---- scikit-learn's tools ---------------------------------------------------------------------


def test_pipeline_grid_search_and_cross_validation(pair):
    X, y = pair
    search = GridSearchCV(
        make_pipeline(StandardScaler(with_std=False), AlignmentAngleClassifier()),
        {
            "alignmentangleclassifier__shrinkage": [0.01, 0.2],
            "alignmentangleclassifier__threshold": [math.pi / 4, 0.8],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.97
    assert cross_val_score(AlignmentAngleClassifier(shrinkage=0.1), X, y, cv=3).mean() > 0.97
    calibrated = CalibratedClassifierCV(AlignmentAngleClassifier(shrinkage=0.1), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.98


def test_dataframes_keep_their_names(pair):
    X, y = pair
    table = pd.DataFrame(X, columns=[f"pixel{i}" for i in range(64)])
    model = AlignmentAngleClassifier(shrinkage=0.1).fit(table, y).set_output(transform="pandas")
    out = model.transform(table)
    assert list(out.columns) == ["theta", "cost_four", "cost_nine", "shared"]
    assert model.model_.feature_names == tuple(table.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[table.columns[::-1]])
    X3, y3 = load_iris(return_X_y=True)
    many = AlignmentAngleClassifier(shrinkage=0.1).fit(X3, y3)
    assert list(many.get_feature_names_out()) == ["weight_0", "weight_1", "weight_2"]


def test_pickle_and_joblib_keep_everything(pair):
    X, y = pair
    model = AlignmentAngleClassifier(threshold=0.7).fit(X, y)
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(stream)):
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        again.partial_fit(X[:10], y[:10])
        assert again.score(X, y) > 0.99


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shrinkage": 1.5}, r"shrinkage is 1.5; it must be a number in \[0, 1\) or 'auto'"),
        ({"threshold": 2.0}, r"threshold is 2.0; it must be an angle"),
        ({"threshold": True}, r"threshold is True"),
        ({"center": "each"}, r'center belongs to span="linear"'),
        ({"balance": False}, r'balance belongs to span="linear"'),
        ({"span": "linear", "center": "median"}, r"center is 'median'"),
        ({"span": "curved"}, r"span is 'curved'"),
        ({"units": "metres"}, r"units is 'metres'"),
        ({"pooling": 2}, r"pooling is 2"),
        ({"dof": 0}, r"dof is 0; it must be a number above 0, or 'auto'"),
        ({"calibrate": "isotonic"}, r"calibrate is 'isotonic'"),
        ({"tol": "small"}, r"tol is 'small'"),
    ],
)
def test_bad_parameters_are_refused_at_fit(pair, options, message):
    with pytest.raises(InputError, match=message):
        AlignmentAngleClassifier(**options).fit(*pair)


def test_bad_labels_are_refused(pair, digits):
    X, y = pair
    with pytest.raises(InputError, match="one class only, 'four'; a classifier needs two"):
        AlignmentAngleClassifier().fit(X, np.full(len(X), "four"))
    with pytest.raises(InputError, match="first call to partial_fit needs classes"):
        AlignmentAngleClassifier().partial_fit(X, y)
    with pytest.raises(InputError, match="'nine', which is not among"):
        AlignmentAngleClassifier().partial_fit(X, y, classes=["four", "five"])
    model = AlignmentAngleClassifier(shrinkage=0.1).fit(X, y)
    with pytest.raises(InputError, match="not those of the first call"):
        model.partial_fit(X, y, classes=["four", "six"])
    with pytest.raises(InputError, match="10 classes have no common angle to cut"):
        AlignmentAngleClassifier(threshold=0.7).fit(*digits)
    with pytest.raises(InputError, match="leave out rows without a label"):
        AlignmentAngleClassifier().fit(X[:20], np.resize(np.array(["a", None], dtype=object), 20))
    with pytest.raises(InputError, match="'four' has no rows"):
        AlignmentAngleClassifier().fit(X, y, sample_weight=(y == "nine").astype(float))


def test_an_unfitted_estimator_says_so(pair):
    with pytest.raises(NotFittedError):
        AlignmentAngleClassifier().predict(pair[0])
    assert not hasattr(AlignmentAngleClassifier(), "model_")


def test_what_is_not_there_yet_is_no_attribute():
    """hasattr, and a notebook's display, must work before every class has rows."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = AlignmentAngleClassifier().partial_fit(X, ["a"] * 20, classes=["a", "b"])
    assert not hasattr(model, "model_")
    assert model._repr_html_()
    with pytest.raises(InputError, match="Class 'b' has no rows yet"):
        model.predict(X)


def test_a_refused_first_partial_fit_leaves_nothing_behind():
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1, 2, 3]
    model = AlignmentAngleClassifier()
    with pytest.raises(InputError, match="not among the classes"):
        model.partial_fit(X, [0, 1] * 10, classes=[5, 6])
    assert set(model.partial_fit(X, [0, 1] * 10, classes=[0, 1]).predict(X)) <= {0, 1}
