"""Separation with honest intervals, and a shift test whose p-values are what they say."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.covariance import empirical_covariance

from cospan import JointFrame, angle_histogram, fisher_rao, hellinger, separation, shift_test
from cospan.distribution import angle_auc, overlap
from cospan.errors import InputError
from cospan.significance import _drawn
from cospan.significance.copies import drop_copies
from cospan.significance.relabelling import VIEWS, Halves, Rows, View, halve, lay_out, table

SIMULATIONS = 200
# 200 simulations at 5 %: 10 expected, and between 3 and 19 in 99.5 % of all seeds.
FEWEST, MOST = 3, 19


def angles(a, b, n, seed):
    return np.random.default_rng(seed).beta(a, b, n) * math.pi / 2


# -- separation ------------------------------------------------------------------------------


def test_values_are_those_of_the_histograms():
    a, b = angles(3, 6, 150, 0), angles(6, 3, 90, 1)
    result = separation(a, b, bins=20)
    P, Q = angle_histogram(a, 20), angle_histogram(b, 20)
    assert result.fisher_rao.value == pytest.approx(fisher_rao(P, Q), abs=1e-12)
    assert result.hellinger.value == hellinger(P, Q)
    assert result.overlap.value == overlap(P, Q)
    assert result.auc.value == angle_auc(a, b)
    assert (result.n_a, result.n_b, result.bins) == (150, 90, 20)


@pytest.mark.parametrize("n", [5, 60, 3000])
def test_intervals_hold_their_value_and_stay_in_range(n):
    result = separation(angles(2, 5, n, 2), angles(5, 2, n, 3), n_bootstrap=200)
    for name, most in (("fisher_rao", math.pi), ("hellinger", 1), ("auc", 1), ("overlap", 1)):
        estimate = getattr(result, name)
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= most + 1e-12
        assert estimate.low < estimate.high
        assert estimate.confidence == 0.95


def test_fisher_rao_and_hellinger_intervals_convert_into_each_other():
    result = separation(angles(2, 5, 80, 4), angles(5, 2, 80, 5))
    for end in ("low", "value", "high"):
        arc, chord = getattr(result.fisher_rao, end), getattr(result.hellinger, end)
        assert arc == pytest.approx(2 * math.acos(1 - chord**2), abs=1e-7)


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [((4, 4), (4, 4), 50), ((4, 4), (5, 4), 200), ((3, 6), (6, 3), 50), ((2, 8), (8, 2), 50)],
)
def test_intervals_cover_the_truth(first, second, n):
    edges = np.linspace(0, 1, 31)
    truth = fisher_rao(*(np.diff(beta.cdf(edges, *shape)) for shape in (first, second)))
    grid = np.linspace(0, 1, 20001)
    auc = np.trapezoid(beta.cdf(grid, *first) * beta.pdf(grid, *second), grid)
    covered = np.zeros(2)
    for seed in range(100):
        result = separation(
            angles(*first, n, [seed, 0]), angles(*second, n, [seed, 1]), n_bootstrap=200
        )
        arc, area = result.fisher_rao, result.auc
        covered += [arc.low - 1e-9 <= truth <= arc.high, area.low <= auc <= area.high]
    assert covered.min() >= 88  # nominal 95 of 100; percentile intervals cover 0 to 20 here


def test_perfect_separation_of_few_angles_is_not_certain():
    result = separation(np.radians([1, 2, 3, 4, 5]), np.radians([85, 86, 87, 88, 89]))
    assert result.auc.value == 1
    assert result.auc.low < 0.95
    assert result.fisher_rao.value == pytest.approx(math.pi)
    assert result.fisher_rao.low < 3


def test_many_angles_share_cells_without_changing_the_interval():
    a, b = angles(3, 4, 20000, 6), angles(4, 3, 20000, 7)
    auc = separation(a, b).auc
    # DeLong's variance of the AUC, from the placements of each group in the other.
    place_a = 1 - np.searchsorted(np.sort(b), a) / len(b)
    place_b = np.searchsorted(np.sort(a), b) / len(a)
    sd = math.sqrt(place_a.var() / len(a) + place_b.var() / len(b))
    assert (auc.high - auc.low) / 2 == pytest.approx(1.96 * sd, rel=0.12)


def test_same_seed_same_bits_and_other_seed_other_interval():
    a, b = angles(3, 5, 40, 8), angles(5, 3, 40, 9)
    assert separation(a, b, random_state=5) == separation(a, b, random_state=5)
    assert separation(a, b, random_state=5) != separation(a, b, random_state=6)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([], [0.1], {}, "theta_a is empty"),
        ([0.1], [], {}, "theta_b is empty"),
        ([0.1, math.nan], [0.2], {}, "theta_a holds 1 NaN"),
        ([0.3, 0.3], [0.3], {}, "constant angles"),
        ([12.0], [80.0], {}, "radians"),
        ([0.1], [0.2], {"confidence": 95}, "confidence"),
        ([0.1], [0.2], {"confidence": math.nan}, "confidence"),
        ([0.1], [0.2], {"n_bootstrap": 0}, "n_bootstrap"),
        ([0.1], [0.2], {"bins": -1}, "bins"),
        ([0.1], [0.2], {"random_state": -1}, "random_state"),
        ([0.1], [0.2], {"random_state": "x"}, "random_state"),
    ],
)
def test_separation_refuses_what_it_cannot_measure(a, b, options, message):
    with pytest.raises(InputError, match=message):
        separation(a, b, **options)


# -- the table behind the shift test ---------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_scores_are_those_of_a_joint_frame_with_a_constant_column(view):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(14, 4)), rng.normal(size=(19, 4)) * 1.3 + 0.4
    halves = halve(lay_out(np.concatenate([A, B])), len(A), (3, 3), rng)
    result = table(halves, view)
    for half in (0, 1):
        train, other = (
            np.column_stack([rows.leading, np.full(len(rows.leading), view.constant)])
            for rows in (halves.rows[half], halves.rows[1 - half])
        )
        in_a = halves.labels[half][0]
        frame = JointFrame.fit(train[in_a], train[~in_a], center="none", shrinkage=view.shrinkage)
        aligned = frame.align(other)
        expected = -np.cos(2 * aligned.theta)
        if view.far_rows_count_more:
            expected = aligned.cost_a**2 - aligned.cost_b**2
        np.testing.assert_allclose(result.held_out[half], expected, rtol=1e-9, atol=1e-10)
        # Its own rows, left out one at a time, agree with the frame's leave-one-out angles.
        left = frame.leave_one_out(train[in_a], train[~in_a])
        if not view.far_rows_count_more:
            means = [np.mean(-np.cos(2 * side.theta)) for side in left]
            assert result.own[half][0] == pytest.approx(means[1] - means[0], rel=1e-9)


def test_every_entry_is_the_statistic_of_its_own_pair_of_labellings():
    rng = np.random.default_rng(1)
    halves = halve(lay_out(rng.normal(size=(40, 3))), 18, (4, 5), rng)
    whole = table(halves, VIEWS[1]).total
    for i, j in [(0, 0), (2, 3), (3, 4)]:
        first, second = halves.labels[0][i : i + 1], halves.labels[1][j : j + 1]
        alone = table(halves._replace(labels=(first, second)), VIEWS[1]).total
        assert alone[0, 0] == pytest.approx(whole[i, j], rel=1e-10)


def test_what_lies_outside_the_leading_directions_costs_the_same_on_both_sides():
    """The third feature is 0 in the first half, so its frame knows only the shrinkage there."""
    view, rng = VIEWS[1], np.random.default_rng(21)
    rows = rng.normal(size=(2, 16, 3)) * [2, 1, 3]
    rows[0, :, 2] = 0
    labels = np.arange(16)[None, :] < 7
    halves = Halves(
        tuple(Rows(half[:, :2], np.sum(half**2, axis=1), 3) for half in rows), (labels, labels)
    )
    with_constant = np.concatenate([rows, np.full((2, 16, 1), view.constant)], axis=2)
    train, other = with_constant
    frame = JointFrame.fit(train[:7], train[7:], center="none", shrinkage=view.shrinkage)
    expected = -np.cos(2 * frame.align(other).theta)
    np.testing.assert_allclose(table(halves, view).held_out[0], expected, rtol=1e-8, atol=1e-10)


def test_entries_to_spare_are_dropped_at_random():
    rng = np.random.default_rng(22)
    drawn = [_drawn(np.arange(8.0), 5, rng) for _ in range(2000)]
    assert all(len(set(part)) == 5 for part in drawn)
    share = np.bincount(np.concatenate(drawn).astype(int), minlength=8) / 2000
    np.testing.assert_allclose(share, 5 / 8, atol=0.05)


def test_wide_rows_keep_their_geometry():
    rng = np.random.default_rng(2)
    for shape in [(12, 300), (400, 300)]:
        rows = rng.normal(size=shape) * np.logspace(0, -4, 300) + 5
        laid = lay_out(rows)
        assert laid.leading.shape[1] == min(128, shape[0] - 1)
        assert np.mean(laid.squared_norm) == pytest.approx(300)
        kept = np.sum(laid.leading**2) / np.sum(laid.squared_norm)
        assert 0.999 < kept <= 1 + 1e-12
        # Distances between rows, which is all that the test sees, up to the common scale.
        ours = np.linalg.norm(laid.leading[0] - laid.leading[1:6], axis=1)
        theirs = np.linalg.norm(rows[0] - rows[1:6], axis=1)
        np.testing.assert_allclose(ours / ours[0], theirs / theirs[0], rtol=1e-3)


def test_halves_hold_all_rows_once_and_labels_keep_their_counts():
    rng = np.random.default_rng(3)
    rows = lay_out(rng.normal(size=(35, 2)))
    halves = halve(rows, 12, (6, 7), rng)
    together = np.concatenate([half.leading for half in halves.rows])
    np.testing.assert_array_equal(np.sort(together[:, 0]), np.sort(rows.leading[:, 0]))
    assert [labels.shape[0] for labels in halves.labels] == [6, 7]
    for labels in halves.labels:
        assert set(labels.sum(axis=1)) == {6}


# -- the shift test --------------------------------------------------------------------------


def unlike_sizes(rng):
    return rng.normal(size=(20, 5)), rng.normal(size=(70, 5))


def wide(rng):
    return rng.normal(size=(14, 40)), rng.normal(size=(18, 40))


def heavy_tails(rng):
    return rng.standard_t(1.5, size=(30, 4)), rng.standard_t(1.5, size=(34, 4))


def copied(rng):
    A, B = rng.normal(size=(24, 4)), rng.normal(size=(30, 4))
    copies = [rng.integers(1, 4, len(X)) for X in (A, B)]
    return np.repeat(A, copies[0], axis=0), np.repeat(B, copies[1], axis=0)


def small_pool(rng):
    pool = rng.normal(size=(25, 4))
    return pool[rng.integers(0, 25, 40)], pool[rng.integers(0, 25, 60)]


@pytest.mark.parametrize("design", [unlike_sizes, wide, heavy_tails, copied, small_pool])
def test_rejections_under_the_null_keep_their_level(design):
    pvalues = [
        shift_test(
            *design(np.random.default_rng([11, seed])), n_permutations=39, random_state=seed
        ).pvalue
        for seed in range(SIMULATIONS)
    ]
    assert FEWEST <= np.count_nonzero(np.array(pvalues) <= 0.05) <= MOST
    assert np.mean(pvalues) == pytest.approx(0.5, abs=0.08)


def test_copies_left_in_would_have_broken_the_level():
    """The control to the test above: with copies kept, the null is rejected far too often."""
    pvalues = [
        shift_test(
            *copied(np.random.default_rng([11, seed])),
            n_permutations=39,
            copies="keep",
            random_state=seed,
        ).pvalue
        for seed in range(60)
    ]
    assert np.count_nonzero(np.array(pvalues) <= 0.05) > 20


def shifted(kind, rng):
    A, B = rng.normal(size=(2, 80, 6))
    if kind == "mean":
        return A, B + 0.5
    if kind == "correlation":
        B[:, 1] = 0.9 * B[:, 0] + math.sqrt(1 - 0.81) * B[:, 1]
        return A, B
    return A, B * [1, 1, 1, 1, 1, 2.5]


@pytest.mark.parametrize(
    ("kind", "view"), [("mean", "mean"), ("correlation", "shape"), ("scale", "spread")]
)
def test_each_kind_of_shift_is_found_and_its_view_named(kind, view):
    result = shift_test(*shifted(kind, np.random.default_rng(4)), n_permutations=199)
    assert result.pvalue == 1 / 200
    assert max(result.views, key=result.views.get) == view
    assert result.effect.low > 0.5
    assert result.statistic == max(result.views.values())
    assert np.all(result.null < result.statistic)


def test_covariance_shift_leaves_means_alone():
    """The design of the benchmark's covariance row: no mean differs, only correlations."""
    A, B = shifted("correlation", np.random.default_rng(5))
    assert np.abs(A.mean(0) - B.mean(0)).max() < 0.45
    assert empirical_covariance(B)[0, 1] > 0.7


def test_p_counts_the_relabellings_that_reach_the_statistic():
    rng = np.random.default_rng(6)
    result = shift_test(rng.normal(size=(30, 3)), rng.normal(size=(40, 3)), n_permutations=150)
    assert result.null.shape == (150,)
    assert result.n_permutations == 150
    reached = np.count_nonzero(result.null >= result.statistic)
    assert result.pvalue == (1 + reached) / 151


@pytest.mark.parametrize("count", [1, 2, 24, 25, 99])
def test_p_is_never_zero_even_for_disjoint_sets(count):
    rng = np.random.default_rng(7)
    A, B = rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 50
    result = shift_test(A, B, n_permutations=count)
    assert result.pvalue == 1 / (1 + count)
    assert result.effect.value > 0.9


def test_same_seed_same_bits():
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(25, 3)), rng.normal(size=(31, 3))
    first, second, other = (shift_test(A, B, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.null, second.null)
    assert (first.pvalue, first.statistic, first.effect) == (
        second.pvalue,
        second.statistic,
        second.effect,
    )
    assert first.statistic != other.statistic


def test_units_and_origin_do_not_matter():
    rng = np.random.default_rng(9)
    A, B = rng.normal(size=(25, 3)), rng.normal(size=(31, 3)) * 1.2
    plain = shift_test(A, B, n_permutations=99)
    for scale, origin in [(1e150, 0.0), (1e-150, 0.0), (3.0, -7.0)]:
        moved = shift_test(scale * (A + origin), scale * (B + origin), n_permutations=99)
        assert moved.pvalue == plain.pvalue
        assert moved.statistic == pytest.approx(plain.statistic, rel=1e-6)


def test_repeating_every_row_changes_nothing():
    rng = np.random.default_rng(10)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(36, 4)) * 1.4
    once = shift_test(A, B, n_permutations=99)
    thrice = shift_test(np.repeat(A, 3, axis=0), np.repeat(B, 3, axis=0), n_permutations=99)
    assert thrice.pvalue == once.pvalue
    assert (once.copies, thrice.copies) == (0, 132)
    assert (thrice.n_a, thrice.n_b) == (30, 36)


def test_the_effect_does_not_grow_with_the_number_of_rows():
    rng = np.random.default_rng(12)
    effects = []
    for n in (400, 1600):
        A, B = rng.normal(size=(2, n, 4))
        effects.append(shift_test(A, B + np.array([0.4, 0, 0, 0]), n_permutations=24).effect)
    truth = 0.611  # Φ(0.4 / √2)
    assert [e.low < truth < e.high for e in effects] == [True, True]
    assert effects[1].high - effects[1].low < 0.6 * (effects[0].high - effects[0].low)


class TestCopies:
    def test_rows_repeated_within_a_set_only_are_copies(self):
        rng = np.random.default_rng(0)
        A, B = rng.normal(size=(20, 3)), rng.normal(size=(25, 3))
        a, b = drop_copies(np.concatenate([A, A[:5]]), np.concatenate([B, B]), "auto")
        np.testing.assert_array_equal(a, A)
        np.testing.assert_array_equal(b, B)

    def test_draws_from_few_values_are_kept(self):
        rng = np.random.default_rng(1)
        A, B = rng.integers(0, 2, (2, 100, 3)).astype(float)
        assert [len(rows) for rows in drop_copies(A, B, "auto")] == [100, 100]

    def test_draws_from_a_pool_are_kept(self):
        rng = np.random.default_rng(2)
        pool = rng.normal(size=(40, 3))
        A, B = pool[rng.integers(0, 40, 60)], pool[rng.integers(0, 40, 90)]
        assert [len(rows) for rows in drop_copies(A, B, "auto")] == [60, 90]

    def test_categories_that_differ_are_kept(self):
        A, B = np.eye(2)[np.repeat([0, 1], [99, 1])], np.eye(2)[np.repeat([0, 1], [1, 99])]
        assert [len(rows) for rows in drop_copies(A, B, "auto")] == [100, 100]

    def test_the_user_has_the_last_word(self):
        A = np.repeat(np.arange(6.0)[:, None], 2, axis=0)
        assert [len(rows) for rows in drop_copies(A, A + 10, "keep")] == [12, 12]
        assert [len(rows) for rows in drop_copies(A, A, "drop")] == [6, 6]

    def test_minus_zero_is_zero(self):
        a, _ = drop_copies(np.array([[0.0, 1], [-0.0, 1]]), np.array([[2.0, 3]]), "drop")
        assert len(a) == 1


@pytest.mark.parametrize(
    ("A", "B", "options", "message"),
    [
        (np.ones((5, 2)), np.ones((6, 2)), {"copies": "keep"}, "constant rows"),
        (np.zeros((0, 2)), np.ones((6, 2)), {}, "A"),
        (np.eye(3), np.eye(6)[:, :3], {}, "A has 3 different rows"),
        (np.eye(6), np.eye(5), {}, "6 features and B has 5"),
        (np.full((6, 2), np.nan), np.eye(6)[:, :2], {}, "A contains NaN"),
        (np.eye(6), np.eye(6) * 2, {"n_permutations": 0}, "n_permutations"),
        (np.eye(6), np.eye(6) * 2, {"n_permutations": 9.5}, "n_permutations"),
        (np.eye(6), np.eye(6) * 2, {"copies": "maybe"}, "copies"),
        (np.eye(6), np.eye(6) * 2, {"confidence": 0}, "confidence"),
        (np.eye(6), np.eye(6) * 2, {"random_state": 1.5}, "random_state"),
    ],
)
def test_shift_test_says_what_is_wrong(A, B, options, message):
    with pytest.raises(InputError, match=message):
        shift_test(A, B, **options)


def test_identical_views_of_one_feature_and_float32_rows_work():
    rng = np.random.default_rng(13)
    A, B = rng.normal(size=(9, 1)).astype(np.float32), rng.normal(size=(8, 1)).astype(np.float32)
    result = shift_test(A, B, n_permutations=19)
    assert 0 < result.pvalue <= 1


def test_a_view_without_any_spread_counts_as_nothing():
    view = View("flat", constant=1.0, shrinkage=0.5, far_rows_count_more=False)
    rng = np.random.default_rng(14)
    halves = halve(lay_out(np.repeat([[-1.0], [1.0]], 8, axis=0)), 8, (2, 2), rng)
    assert np.all(np.isfinite(table(halves, view).total))


def test_tables_with_columns_in_another_order_are_refused():
    rng = np.random.default_rng(0)
    A = pd.DataFrame(rng.normal(size=(20, 3)), columns=["x", "y", "z"])
    B = pd.DataFrame(rng.normal(size=(20, 3)), columns=["z", "y", "x"])
    with pytest.raises(InputError, match="B has A's columns in another order"):
        shift_test(A, B)


def test_results_read_well():
    rng = np.random.default_rng(0)
    found = shift_test(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)))
    assert "null" not in repr(found)  # 999 numbers
    assert "auc 0." in str(separation(rng.random(50), rng.random(60)))
