"""K prepared sets: leave-one-out against refits, calibration, choices, agreement with frames."""

import inspect
import itertools
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from cospan import AlignmentAngleClassifier, JointFrame, Summary
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.comparison.opening import Options
from cospan.errors import CospanWarning, InputError
from cospan.model import (
    Calibration,
    Given,
    PreparedSets,
    SetCosts,
    Settings,
    WorkingSets,
    calibrated_weights,
)
from cospan.model.choice import SHRINKAGE_GRID, left_out_grid, pooled_costs

SETTINGS = {
    "chosen": {},
    "affine": {"shrinkage": 0.2, "pooling": 0.0, "dof": 1.0},
    "own units": {"units": "own", "shrinkage": 0.1},
    "pooled": {"shrinkage": 0.2, "pooling": 0.4, "dof": 3.0},
    "all pooled": {"shrinkage": 0.2, "pooling": 1.0},
    "linear": {"span": "linear", "shrinkage": 0.1},
    "linear, sizes count": {"span": "linear", "shrinkage": 0.1, "balance": False},
    "linear, own centres": {"span": "linear", "shrinkage": 0.1, "center": "each"},
    "linear, own centres, sizes count": {
        "span": "linear",
        "shrinkage": 0.1,
        "center": "each",
        "balance": False,
    },
    "linear, no centre": {"span": "linear", "shrinkage": 0.2, "center": "none"},
    "unshrunk": {"shrinkage": 0.0},
    "unshrunk, linear": {"span": "linear", "shrinkage": 0.0},
}


def drawn(K, n, d, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n + 3 * k, d)) * (1 + 0.3 * k) + 0.5 * k for k in range(K)]


def refitted_costs(g, parts, o, x):
    """Squared costs of x to sets made of `parts`; units, centre, α, γ and ν are those of `g`."""
    per_unit = np.asarray(g.per_unit())
    about = origin = means = [np.asarray(part.mean) for part in parts]
    if not g.affine:  # a centre of all sets stays where it is
        about = means if g.center_mode == "each" else [np.asarray(g.center)] * len(parts)
        origin = [about[o]] * len(parts)
    shrunk = []
    for part, centre in zip(parts, about, strict=True):
        moments = np.asarray(part.scatter_about(centre, 1 / part.n if g.balance else 1.0))
        moments = moments * np.outer(per_unit, per_unit)
        shrunk.append((1 - g.shrinkage) * moments + g.shrinkage * np.eye(len(per_unit)))
    found = []
    for k in range(len(parts)):
        pooled = np.tensordot(g.mixing()[k], np.stack(shrunk), axes=1)
        z = (x - origin[k]) * per_unit
        found.append(z @ np.linalg.solve(pooled, z) + (g.dof if g.affine else 0.0))
    return np.array(found)


# Without shrinkage, rows fewer than features have no refit to compare with.
CASES = [
    pytest.param(settings, n, d, id=f"{name}, {shape}")
    for name, settings in SETTINGS.items()
    for shape, n, d in (("tall", 30, 5), ("wide", 12, 40))
    if shape == "tall" or settings.get("shrinkage") != 0
]


@pytest.mark.parametrize(("settings", "n", "d"), CASES)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_equals_a_refit_without_it(settings, n, d, K, weighted):
    sets = drawn(K, n, d)
    rng = np.random.default_rng(1)
    weights = [rng.choice([0.5, 1, 2, 3], len(x)) if weighted else np.ones(len(x)) for x in sets]
    made = [Summary.of(x, w if weighted else None) for x, w in zip(sets, weights, strict=True)]
    model = SetCosts.from_summaries(made, **settings)
    own = np.repeat(np.arange(K), [len(x) for x in sets])
    X, w = np.concatenate(sets), np.concatenate(weights)
    found = model.left_out_costs(X, own, sample_weight=w if weighted else None)
    for i in range(0, len(X), max(1, len(X) // 6)):
        left = w.copy()
        left[i] -= min(1.0, left[i])
        parts = [Summary.of(X[own == k], left[own == k]) for k in range(K)]
        expected = refitted_costs(model.geometry, parts, own[i], X[i])
        assert_allclose(found[i], expected, rtol=1e-9)


# ---- two sets are K = 2 -----------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_two_sets_cost_what_their_frame_says(settings):
    A, B = drawn(2, 30, 5)
    a, b = Summary.of(A), Summary.of(B)
    frame = JointFrame.from_summaries(a, b, **settings)
    costs = SetCosts.from_summaries([a, b], **settings)
    assert costs.geometry.shrinkage == frame.shrinkage
    assert (costs.geometry.pooling, costs.geometry.dof) == (frame.pooling, frame.dof)
    Z = np.random.default_rng(2).normal(size=(40, 5)) * 2
    assert_allclose(costs.squared_costs(Z), frame.squared_costs(Z), rtol=1e-9)
    own = np.repeat([0, 1], [len(A), len(B)])
    X = np.concatenate([A, B])
    assert_allclose(costs.left_out_costs(X, own), frame.left_out_costs(X, own), rtol=1e-9)
    assert_allclose(costs.weights(Z), frame.align(Z).posterior, atol=1e-9)


def test_the_order_of_the_sets_does_not_matter():
    parts = [Summary.of(x) for x in drawn(3, 40, 4)]
    Z = np.random.default_rng(0).normal(size=(20, 4))
    there = SetCosts.from_summaries(parts).weights(Z)
    back = SetCosts.from_summaries(parts[::-1]).weights(Z)
    assert_allclose(back[:, ::-1], there, atol=1e-9)


# ---- calibration ------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_identical_sets_are_not_separated_at_all(K):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = SetCosts.from_summaries([Summary.of(X) for _ in range(K)])
    assert model.geometry.calibration.gain == 0
    assert_array_equal(model.weights(X), np.full((60, K), 1 / K))
    if K == 2:
        frame = JointFrame.fit(X, X.copy())
        assert frame.gain == 0
        assert_allclose(frame.align(X).degrees, 45, atol=1e-12)
        assert_allclose(frame.leave_one_out(X, X).a.degrees, 45, atol=1e-12)


def test_probabilities_sum_to_one_whatever_the_costs():
    squared = np.array([[0.0, 0, 0], [np.inf, 1, 2], [1e-200, 1e200, 1], [3, 3, 3]])
    for calibration in (Calibration(), Calibration(2.5, (0.5, -0.2, -0.3)), Calibration(0.0)):
        weights = calibrated_weights(squared, calibration)
        assert np.isfinite(weights).all()
        assert_allclose(weights.sum(axis=1), 1)


# ---- choices ----------------------------------------------------------------------------------


def test_the_grid_of_shrinkage_begins_where_fast_summaries_are_allowed():
    assert SHRINKAGE_GRID[0] == FAST_SHRINKAGE
    assert all(x < y < 1 for x, y in itertools.pairwise(SHRINKAGE_GRID))


def test_equal_sets_choose_the_defaults():
    """Noise chooses no α and no ν. (One standard error suffices for units and pooling.)"""
    rng = np.random.default_rng(0)
    for _ in range(5):
        A, B = rng.normal(size=(80, 6)), rng.normal(size=(80, 6))
        frame = JointFrame.fit(A, B, units="common", pooling=0)
        assert (frame.shrinkage, frame.dof) == (0.3, 1.0)


def test_a_change_of_scale_alone_chooses_many_degrees_of_freedom():
    rng = np.random.default_rng(0)
    frame = JointFrame.fit(rng.normal(size=(400, 8)), 1.5 * rng.normal(size=(400, 8)))
    assert frame.dof > 1


@pytest.mark.parametrize("constant", [False, True])
def test_without_shrinkage_the_degrees_of_freedom_are_still_left_to_the_data(constant):
    """α of 0 and a small one end at the same ν, also beside columns that say nothing."""
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(300, 10)), 1.3 * rng.normal(size=(300, 10))]
    if constant:
        sets = [np.c_[x, np.full(len(x), 7.0), 2 * x[:, 0]] for x in sets]
    free, fixed = (
        SetCosts.from_summaries([Summary.of(x) for x in sets], shrinkage=alpha).geometry
        for alpha in (0, FAST_SHRINKAGE)
    )
    frame = JointFrame.fit(*sets, shrinkage=0)
    assert frame.dof == free.dof == fixed.dof > 90
    assert free.calibration.gain == pytest.approx(fixed.calibration.gain, rel=0.01)
    assert frame.gain == pytest.approx(free.calibration.gain, rel=1e-9)


@pytest.mark.parametrize("total", [0.5, 1.0])
def test_weights_that_sum_to_one_row_are_told(total):
    """A weight is a count, and here nothing is left when one row leaves."""
    A, B = drawn(2, 40, 3)
    weights = np.full(len(A), total / len(A))
    with pytest.warns(CospanWarning, match=r"40 rows sum to .*Multiply the weights so that they"):
        JointFrame.fit(A, B, sample_weight_a=weights)
    JointFrame.fit(A, B, sample_weight_a=weights * 40 / total)  # says nothing
    JointFrame.fit(A[:1], B)  # one row is one row


def test_without_shrinkage_nothing_is_pooled():
    sets = drawn(2, 40, 4)
    assert JointFrame.fit(*sets, shrinkage=0).pooling == 0
    with pytest.raises(InputError, match=r"pooling needs a shrinkage; give shrinkage=0\.001"):
        JointFrame.fit(*sets, shrinkage=0, pooling=0.5)


def test_in_sample_angles_flatter_and_left_out_ones_do_not():
    """Two samples of one distribution: leave-one-out angles do not separate them."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 40)), rng.standard_normal((60, 40))
    label = np.repeat([0, 1], 60)
    frame = JointFrame.fit(A, B, shrinkage=0.05, calibrate=False)
    in_sample = np.concatenate([frame.align(A).theta, frame.align(B).theta])
    left = np.concatenate([part.theta for part in frame.leave_one_out(A, B)])
    assert roc_auc_score(label, in_sample) > 0.99
    assert abs(roc_auc_score(label, left) - 0.5) < 0.15


@pytest.mark.parametrize(
    "function", [JointFrame.fit, AlignmentAngleClassifier], ids=lambda one: one.__qualname__
)
def test_whatever_fits_first_lists_every_setting_with_its_default(function):
    listed = inspect.signature(function).parameters
    settings = {one.name: one.default for one in fields(Settings)}
    if function == JointFrame.fit:
        settings["curve"] = None  # a frame is fitted for its directions, too
    assert {name: listed[name].default for name in settings} == settings


@pytest.mark.parametrize("options", [Given, Options], ids=lambda one: one.__name__)
def test_settings_as_keywords_are_those_of_a_fit(options):
    assert {one.name for one in fields(Settings)} | {"preset"} <= set(options.__annotations__)


def test_a_setting_that_is_none_is_named():
    rows = np.random.default_rng(0).normal(size=(2, 20, 3))
    with pytest.raises(TypeError, match="no setting 'shrinkige'"):
        SetCosts.from_summaries([Summary.of(one) for one in rows], shrinkige=0.3)


@pytest.mark.parametrize("d", [6, 60], ids=["few features", "more features than rows"])
@pytest.mark.parametrize("pooling", [0.0, 0.4, 1.0])
def test_settings_are_tried_with_the_costs_they_are_scored_with(d, pooling):
    """Choices rest on exact leave-one-out costs, also with few rows and pooled covariances."""
    rng = np.random.default_rng(3)
    sets = [rng.normal(size=(n, d)) + 0.3 * k for k, n in enumerate((9, 14, 20))]
    summaries = [Summary.of(X) for X in sets]
    working = WorkingSets(PreparedSets(summaries), "common")
    trial = working.trial(100)
    if pooling == 0:
        tried = left_out_grid(working, trial, np.array([0.2]))[0]
    else:
        tried = pooled_costs(working, [working.matrix(k) for k in range(3)], trial, 0.2, pooling)
    costs = SetCosts.from_summaries(
        summaries, units="common", shrinkage=0.2, pooling=pooling, dof=1.0
    )
    at = costs.geometry.means[trial.own]
    inside = trial.rows if working.basis is None else trial.rows @ working.basis.T
    rows = at + inside * costs.geometry.unit  # sampled, so in an order of their own
    assert_allclose(tried.T + 1.0, costs.left_out_costs(rows, trial.own), rtol=1e-9)


@pytest.mark.parametrize("d", [5, 80])
def test_what_is_chosen_is_calibrated_as_if_it_had_been_given(d):
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(60, d)), 1.5 * rng.normal(size=(50, d)) + 0.5
    chosen = JointFrame.fit(A, B, curve=None)
    given = JointFrame.fit(
        A, B, units=chosen.units, shrinkage=chosen.shrinkage, pooling=chosen.pooling, dof=chosen.dof
    )
    assert chosen.gain > 0
    assert_allclose((chosen.gain, chosen.zero), (given.gain, given.zero), rtol=1e-7)


def test_a_little_pooling_is_found_where_all_of_it_is_worse():
    X, y = load_digits(return_X_y=True)
    summaries = [Summary.of(X[y == k]) for k in (3, 5, 8, 9)]
    chosen = SetCosts.from_summaries(summaries).geometry
    assert 0 < chosen.pooling < 0.75


@pytest.mark.parametrize(("p", "q", "d"), [(10, 100, 500), (30, 20, 3000)])
def test_few_rows_of_one_distribution_choose_nothing(p, q, d):
    """Own units hold a part of every row that is left out: with few rows they look too good."""
    moved = 0
    for draw in range(8):
        rng = np.random.default_rng([draw, p, d])
        frame = JointFrame.fit(rng.normal(size=(p, d)), rng.normal(size=(q, d)))
        found = (frame.units, frame.shrinkage, frame.dof, frame.pooling)
        moved += found != ("common", 0.3, 1.0, 0.0)
    assert moved <= 1


def test_rows_that_count_double_try_settings_like_rows_that_occur_twice():
    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(40, 4)), rng.normal(size=(40, 4)) + 0.7
    weighted = JointFrame.fit(A, B, sample_weight_a=np.full(40, 2.0))
    doubled = JointFrame.fit(np.repeat(A, 2, axis=0), B)
    assert weighted.shrinkage == doubled.shrinkage
    assert_allclose((weighted.gain, weighted.zero), (doubled.gain, doubled.zero), rtol=1e-7)
