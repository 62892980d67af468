"""What a changed setting does to the angles, and that the study measures it truthfully."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from cospan import JointFrame, angle_histogram, fisher_rao, sensitivity
from cospan.errors import InputError
from cospan.studies import STUDY, Sensitivity


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 5)) * [3, 1, 1, 1, 0.3]
    B = rng.normal(size=(50, 5)) * [1, 3, 1, 1, 0.3] + 0.3
    Z = np.concatenate([rng.normal(size=(30, 5)) * [3, 1, 1, 1, 0.3], rng.normal(size=(30, 5))])
    return A, B, Z


@pytest.fixture(scope="module")
def labels():
    return np.repeat([0, 1], 30)


def row(study, parameter, value=None):
    return next(r for r in study.rows if r.parameter == parameter and value in (None, r.value))


def test_each_measure_equals_two_fits_compared_by_hand(sets, labels):
    A, B, Z = sets
    settings = {"span": "linear", "shrinkage": 0.1}
    study = sensitivity(A, B, Z, over={"center": ["none"]}, labels=labels, **settings)
    first = JointFrame.fit(A, B, **settings).align(Z).theta
    second = JointFrame.fit(A, B, center="none", **settings).align(Z).theta
    change = np.degrees(np.abs(first - second))
    result = row(study, "center", "none")
    np.testing.assert_array_equal(study.theta, first)
    assert result.mean_degrees == pytest.approx(change.mean(), rel=1e-12)
    assert result.q95_degrees == pytest.approx(np.quantile(change, 0.95), rel=1e-12)
    assert result.flips == np.mean((first > math.pi / 4) != (second > math.pi / 4))
    assert result.rank_correlation == pytest.approx(spearmanr(first, second)[0], rel=1e-12)
    assert result.fisher_rao_change == fisher_rao(
        angle_histogram(first, 30), angle_histogram(second, 30)
    )
    assert result.fisher_rao == fisher_rao(
        angle_histogram(second[:30], 30), angle_histogram(second[30:], 30)
    )
    assert result.shrinkage == 0.1


def test_the_reference_stands_first_and_differs_from_itself_by_nothing(sets):
    study = sensitivity(*sets, over={}, shrinkage=0.2)
    (only,) = study.rows
    assert (only.parameter, only.value, only.shrinkage) == ("reference", "", 0.2)
    assert (only.mean_degrees, only.q95_degrees, only.flips, only.fisher_rao_change) == (0, 0, 0, 0)
    assert only.rank_correlation == pytest.approx(1)
    assert math.isnan(only.fisher_rao)
    assert math.isnan(only.auc)


@pytest.mark.parametrize("span", ["affine", "linear"])
def test_the_standing_study_tries_what_the_span_has(sets, labels, span):
    study = sensitivity(*sets, labels=labels, shrinkage=0.1, repeats=1, span=span)
    tried = {**STUDY[span], **STUDY["both"]}
    assert [r.parameter for r in study.rows] == [
        "reference",
        *(name for name, values in tried.items() for _ in values),
    ]
    assert all(0 <= r.mean_degrees <= 90 and 0 <= r.flips <= 1 for r in study.rows)
    assert all(0 <= r.auc <= 1 for r in study.rows)


def test_settings_without_effect_change_nothing(sets):
    A, B, Z = sets
    over = {"noise": [0], "rows": [1.0], "rank": [1.0], "span": ["affine"]}
    study = sensitivity(A, B, Z, over=over, shrinkage=0.1)
    assert max(r.mean_degrees for r in study.rows) < 1e-6


def test_more_noise_and_fewer_rows_change_more(sets):
    study = sensitivity(
        *sets, over={"noise": [0.05, 0.5, 2.0], "rows": [0.9, 0.3]}, shrinkage=0.1, repeats=5
    )
    noise = [r.mean_degrees for r in study.rows if r.parameter == "noise"]
    rows = [r.mean_degrees for r in study.rows if r.parameter == "rows"]
    assert noise == sorted(noise)
    assert rows == sorted(rows)
    assert noise[0] > 0


def test_noise_is_relative_to_the_features(sets):
    A, B, Z = sets
    over = {"noise": [0.5]}
    plain = sensitivity(A, B, Z, over=over, shrinkage=0.1)
    scaled = sensitivity(1000 * A, 1000 * B, 1000 * Z, over=over, shrinkage=0.1)
    for first, second in zip(plain.rows, scaled.rows, strict=True):
        assert second.mean_degrees == pytest.approx(first.mean_degrees, abs=1e-7)


def test_a_setting_does_not_depend_on_its_company(sets):
    alone = sensitivity(*sets, over={"noise": [0.3]}, shrinkage=0.1)
    among = sensitivity(*sets, over={"rows": [0.5], "noise": [1.0, 0.3]}, shrinkage=0.1)
    assert repr(row(alone, "noise", "0.3")) == repr(row(among, "noise", "0.3"))


def test_same_seed_same_bits_other_seed_other_draws(sets):
    over = {"noise": [0.3], "rows": [0.5]}
    studies = [sensitivity(*sets, over=over, shrinkage=0.1, random_state=k) for k in (1, 1, 2)]
    assert repr(studies[0].rows) == repr(studies[1].rows)
    assert repr(studies[0].rows) != repr(studies[2].rows)


def test_what_is_automatic_is_chosen_anew_and_reported(sets):
    study = sensitivity(*sets, over={"span": ["linear"], "shrinkage": [0.3], "dof": [20]})
    A, B, _ = sets
    assert study.rows[0].shrinkage == JointFrame.fit(A, B).shrinkage
    assert row(study, "span").shrinkage == JointFrame.fit(A, B, span="linear").shrinkage
    assert row(study, "dof").shrinkage == JointFrame.fit(A, B, dof=20).shrinkage
    assert row(study, "shrinkage").shrinkage == 0.3


def test_equal_angles_have_no_rank_correlation(sets):
    A, B, _ = sets
    study = sensitivity(A, B, A[:1], over={"units": ["own"]}, shrinkage=0.1)
    assert math.isnan(study.rows[1].rank_correlation)


def test_the_table_has_a_row_for_each_setting(sets):
    study = sensitivity(*sets, over={"noise": [0.1, 0.2]}, shrinkage=0.1)
    table = study.to_frame("pandas")
    assert list(table.columns)[:4] == ["parameter", "value", "shrinkage", "mean_degrees"]
    assert list(map(str, table["value"])) == ["", "0.1", "0.2"]
    assert isinstance(study, Sensitivity)


def test_printed_it_is_an_aligned_table(sets, labels):
    text = str(sensitivity(*sets, over={"noise": [0.1]}, shrinkage=0.1, labels=labels))
    lines = text.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].split()[:3] == ["setting", "α", "mean"]
    assert "noise 0.1" in lines[2]


@pytest.mark.parametrize(
    ("over", "options", "message"),
    [
        (["shrinkage"], {}, "must name settings"),
        ({"shrinkages": [0.1]}, {}, "setting 'shrinkages'"),
        ({"center": "pooled"}, {}, "list of values"),
        ({"noise": [-1]}, {}, "noise is -1"),
        ({"noise": ["much"]}, {}, "noise is 'much'"),
        ({"rank": [2]}, {}, "rank is 2"),
        ({"rows": [1.5]}, {}, "rows is 1.5"),
        ({"shrinkage": [1.5]}, {}, "shrinkage is 1.5"),
        ({"weighting": ["both"]}, {}, "weighting is 'both'"),
        ({}, {"center": "each"}, 'center belongs to span="linear"'),
        ({}, {"labels": [0, 1]}, "60 rows of Z"),
        ({}, {"labels": np.zeros(60)}, "both of them"),
        ({}, {"repeats": 0}, "repeats"),
        ({}, {"random_state": None}, "random_state"),
    ],
)
def test_bad_studies_are_refused_in_one_sentence(sets, over, options, message):
    with pytest.raises(InputError, match=message):
        sensitivity(*sets, over=over, **{"shrinkage": 0.1, **options})


def test_unlike_features_and_empty_samples_are_refused(sets):
    A, B, Z = sets
    with pytest.raises(InputError, match="B"):
        sensitivity(A, B[:, :4], Z)
    with pytest.raises(InputError, match="Z"):
        sensitivity(A, B, Z[:0])


def test_columns_in_another_order_are_refused(sets):
    A, B, Z = (pd.DataFrame(rows) for rows in sets)
    names = [f"x{i}" for i in range(A.shape[1])]
    A.columns = B.columns = names
    Z.columns = names[::-1]
    with pytest.raises(InputError, match="Z has A's columns in another order"):
        sensitivity(A, B, Z, over={"shrinkage": [0.1]})
