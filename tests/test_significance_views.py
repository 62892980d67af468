"""What the shift test is made of: units, labellings, features, combination, held-out scores."""

import numpy as np
import pytest
from scipy.special import eval_legendre
from scipy.stats import gamma, rankdata

from cospan import shift_test
from cospan.distribution import rank_auc
from cospan.significance.combining import combine, holm, rank_pvalue, standardise
from cospan.significance.copies import BOTH, IN_A, IN_B, row_kinds, settle_copies
from cospan.significance.effect import SPLITS, cross_fit, held_out_effect, quarters
from cospan.significance.residuals import Relations
from cospan.significance.shift import contrasts
from cospan.significance.views import VIEWS, Coordinates, statistic, witness

BY_NAME = {view.name: view for view in VIEWS}


def pair(n_a=30, n_b=40, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_a, d)) + 3, rng.normal(size=(n_b, d)) * np.arange(1, d + 1)


def features(name, at, rows):
    return np.hstack(list(BY_NAME[name].blocks(at, rows)))


class TestUnits:
    def test_different_rows_are_units_of_one_stratum(self):
        A, B = pair()
        units = settle_copies(A, B, "auto")
        np.testing.assert_array_equal(units.rows, np.concatenate([A, B]))
        np.testing.assert_array_equal(units.places, np.repeat([IN_A, IN_B], [30, 40]))
        assert set(units.strata) == {0}

    def test_repeated_rows_are_one_unit_and_exchanged_with_rows_as_frequent(self):
        A, B = pair()
        a, b = np.concatenate([A, A[:5], A[:2]]), np.concatenate([B, B[:3], A[7:9]])
        units = settle_copies(a, b, "auto")
        np.testing.assert_array_equal(units.rows, np.concatenate([A, B]))
        expected = np.ones(70, dtype=int)
        expected[:5], expected[:2], expected[7:9], expected[30:33] = 2, 3, 2, 2
        np.testing.assert_array_equal(units.strata, expected)
        assert list(np.flatnonzero(units.places == BOTH)) == [7, 8]

    def test_rows_in_both_sets_keep_their_places_when_they_are_two_rows(self):
        A, B = pair()
        units = settle_copies(A, np.concatenate([B, A[:4]]), "auto")
        sets, unit = units.apart()
        assert (np.sum(sets.places == IN_A), np.sum(sets.places == IN_B)) == (30, 44)
        np.testing.assert_array_equal(sets.rows, units.rows[unit])
        assert np.all(sets.strata[np.isin(unit, np.arange(4))] < 0)
        fixed = contrasts(sets, 20, np.random.default_rng(0))[:, sets.strata < 0]
        assert np.all(fixed == fixed[0])

    @pytest.mark.parametrize(
        "draw",
        [
            lambda rng: rng.poisson(3, size=(60, 1)),
            lambda rng: rng.poisson(2, size=(60, 4)),
            lambda rng: rng.integers(0, 2, size=(60, 3)),
            lambda rng: np.eye(6)[rng.integers(0, 6, 60)],
            lambda rng: np.eye(2)[rng.permutation(np.repeat([0, 1], [59, 1]))],
        ],
        ids=["counts", "counts of four", "yes or no", "categories", "two categories"],
    )
    def test_rows_that_meet_by_chance_are_draws(self, draw):
        rng = np.random.default_rng(1)
        A, B = draw(rng).astype(float), draw(rng).astype(float)
        assert len(settle_copies(A, B, "auto").rows) == 120

    @pytest.mark.parametrize(
        "draw",
        [
            lambda rng: rng.normal(size=(40, 1)),
            lambda rng: rng.normal(size=(40, 5)).round(1),
            lambda rng: rng.poisson(3, size=(40, 8)),
            lambda rng: np.column_stack([rng.normal(size=40), rng.integers(0, 2, 40)]),
        ],
        ids=["numbers", "rounded numbers", "many counts", "a number and a category"],
    )
    def test_rows_that_would_not_meet_by_chance_are_copies(self, draw):
        rng = np.random.default_rng(2)
        A, B = (np.repeat(draw(rng).astype(float), 2, axis=0) for _ in range(2))
        assert len(settle_copies(A, B, "auto").rows) <= 80

    def test_the_user_has_the_last_word(self):
        A = np.repeat(np.arange(6.0)[:, None], 2, axis=0)
        assert len(settle_copies(A, A + 10, "keep").rows) == 24
        dropped = settle_copies(A, np.concatenate([A[2:], A + 10]), "drop")
        assert list(dropped.places) == [IN_A] + [BOTH] * 5 + [IN_B] * 6
        assert set(dropped.strata) == {0}

    def test_minus_zero_is_zero(self):
        units = settle_copies(np.array([[0.0, 1], [-0.0, 1]]), np.array([[2.0, 3]]), "drop")
        assert len(units.rows) == 2


def test_equal_rows_and_no_others_are_of_one_kind():
    rng = np.random.default_rng(11)
    rows = rng.integers(0, 3, size=(3000, 7)).astype(float)
    rows[:5] = -rows[:5] * 0.0  # zeros of both signs are one value
    found = row_kinds(rows)
    expected = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    assert len(np.unique(found)) == len(np.unique(expected)) > 1000
    assert len(np.unique(np.column_stack([found, expected]), axis=0)) == len(np.unique(expected))
    tiny = 1 + np.arange(20_000.0)[:, None] * 2.0**-52  # rows that differ in the last bits only
    assert len(np.unique(row_kinds(tiny))) == 20_000


class TestContrasts:
    def test_they_give_differences_of_means_and_permute_within_strata(self):
        A, B = pair()
        units = settle_copies(np.concatenate([A, A[:6]]), np.concatenate([B, B[:5]]), "auto")
        found = contrasts(units, 200, np.random.default_rng(3))
        np.testing.assert_allclose(found[0] @ units.rows, A.mean(0) - B.mean(0))
        np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
        twice = units.strata == 2
        assert np.all(np.sum(found[:, twice] > 0, axis=1) == 6)
        # Every arrangement is as likely: each of the eleven doubled rows is A's in 6 of 11.
        share = np.mean(found[1:, twice] > 0, axis=0)
        np.testing.assert_allclose(share, 6 / 11, atol=0.15)

    def test_many_rows_in_single_precision_give_the_same_statistic(self):
        A, B = pair(700, 600)
        units = settle_copies(A, B, "auto")
        at, found = Coordinates.fit(units.rows), contrasts(units, 5, np.random.default_rng(4))
        assert found.dtype == np.float32
        exact = np.where(found > 0, 1 / 700, -1 / 600)
        for view in VIEWS:
            ours, theirs = (statistic(view, at, units.rows, x) for x in (found, exact))
            np.testing.assert_allclose(ours, theirs, rtol=1e-4)


class TestFeatures:
    def test_location_has_standardised_columns(self):
        rows = np.concatenate(pair())
        found = features("location", Coordinates.fit(rows), rows)
        np.testing.assert_allclose(found, (rows - rows.mean(0)) / rows.std(0))

    def test_discriminant_is_the_distance_under_the_pooled_covariance(self):
        """With all its ridge: the statistic is δᵀ(R + 0.001 I)⁻¹δ for the correlations R."""
        A, B = pair()
        rows = np.concatenate([A, B])
        at = Coordinates.fit(rows)
        z = at.columns(rows)
        step = z[:30].mean(0) - z[30:].mean(0)
        expected = step @ np.linalg.solve(z.T @ z / 70 + 0.001 * np.eye(5), step)
        truth = contrasts(settle_copies(A, B, "keep"), 0, np.random.default_rng(0))
        assert statistic(BY_NAME["discriminant"], at, rows, truth)[0] == pytest.approx(expected)

    def test_spread_has_the_eigenvalues_of_the_difference_of_second_moments(self):
        A, B = pair()
        rows = np.concatenate([A, B])
        at = Coordinates.fit(rows)
        along = at.along(at.columns(rows), 0.25, 0.1)
        moments = [x.T @ x / len(x) for x in (along[:30], along[30:])]
        expected = np.sum(np.linalg.eigvalsh(moments[0] - moments[1]) ** 4)
        truth = contrasts(settle_copies(A, B, "keep"), 0, np.random.default_rng(0))
        assert statistic(BY_NAME["spread"], at, rows, truth)[0] == pytest.approx(expected)

    def test_length_is_the_squared_one_of_standardised_rows(self):
        rows = np.concatenate(pair())
        expected = np.sum(((rows - rows.mean(0)) / rows.std(0)) ** 2, axis=1)
        found = features("length", Coordinates.fit(rows), rows)
        np.testing.assert_allclose(found[:, 0], expected)

    @pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
    def test_slopes_are_the_derivatives_of_sizes(self, view):
        apart = np.random.default_rng(7).normal(size=(2, 10))  # 10 = 4 · 5/2: a matrix, too
        steps = 1e-6 * np.eye(10)
        slopes = [
            [view.size.of(one + s)[0] - view.size.of(one - s)[0] for s in steps]
            for one in apart[:, None]
        ]
        ours = view.size.slope(apart)
        ratio = np.array(slopes) / ours
        np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-4)

    def test_margins_and_pairs_are_legendre_polynomials_of_midranks(self):
        rows = np.concatenate(pair()).round(0)  # with ties
        at = Coordinates.fit(rows)
        x = 2 * (rankdata(rows, axis=0) - 0.5) / 70 - 1
        P = [np.sqrt(2 * k + 1) * eval_legendre(k, x) for k in range(5)]
        np.testing.assert_allclose(features("margins", at, rows), np.hstack(P[1:]), atol=1e-9)
        i, j = np.triu_indices(5, 1)
        blocks = [P[1][:, i] * P[1][:, j], P[1][:, i] * P[2][:, j], P[2][:, i] * P[1][:, j]]
        np.testing.assert_allclose(features("pairs", at, rows), np.hstack(blocks), atol=1e-9)

    def test_no_label_is_looked_at(self):
        rows = np.concatenate(pair())
        order = np.random.default_rng(5).permutation(70)
        at, other = Coordinates.fit(rows), Coordinates.fit(rows[order])
        for name in BY_NAME:
            ours, theirs = features(name, at, rows)[order], features(name, other, rows[order])
            np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-8)

    def test_columns_of_one_unit_keep_it(self):
        rng = np.random.default_rng(6)
        pixels = np.clip(rng.normal(8, [1, 2, 4, 8, 8, 8], size=(300, 6)), 0, 16)
        pixels[:2] = [[0.0], [16.0]]  # all columns span 0 to 16
        at = Coordinates.fit(pixels)
        np.testing.assert_allclose(at.common / at.scale, (at.common / at.scale)[0])
        assert np.mean(at.common**2) == pytest.approx(1)
        assert set(Coordinates.fit(pixels * np.logspace(0, 5, 6)).common) == {1.0}

    def test_wide_rows_are_looked_at_along_their_leading_directions(self):
        rng = np.random.default_rng(7)
        rows = rng.normal(size=(30, 600)) * np.logspace(0, -3, 600)
        at = Coordinates.fit(rows)
        sizes = {name: features(name, at, rows).shape[1] for name in BY_NAME}
        assert sizes["location"] == 600
        assert sizes["margins"] == 4 * 29  # as many directions as 30 rows have
        assert sizes["pairs"] == 3 * 20 * 19 / 2
        assert np.all(np.isfinite(features("spread", at, rows)))

    @pytest.mark.parametrize("ties", [0, 600])
    def test_one_feature_stands_for_four_polynomials_of_an_indicator(self, ties):
        """The statistic is what the four would have given, in single precision too."""
        rng = np.random.default_rng(8)
        A, B = (rng.random((n + ties, 3)) < [0.5, 0.1, 0.9] for n in (30, 40))
        rows = np.concatenate([A, B]).astype(float)
        x = 2 * (rankdata(rows, axis=0) - 0.5) / len(rows) - 1
        P = np.hstack([np.sqrt(2 * k + 1) * eval_legendre(k, x) for k in range(1, 5)])
        expected = np.sum(np.abs(P[: len(A)].mean(0) - P[len(A) :].mean(0)) ** 2.5)
        truth = contrasts(settle_copies(A * 1.0, B * 1.0, "keep"), 0, rng)
        at = Coordinates.fit(rows)
        assert features("margins", at, rows).shape[1] == 3
        found = statistic(BY_NAME["margins"], at, rows, truth)[0]
        assert found == pytest.approx(expected, rel=1e-4)

    def test_weights_share_out_one(self):
        even, uneven = Coordinates.fit(pair()[0]), Coordinates.fit(np.outer(np.arange(9.0), [1, 2]))
        assert uneven.evenness == pytest.approx(0.5)
        for at in (even, uneven):
            assert sum(view.weight(at) for view in VIEWS[:-1]) == pytest.approx(1)


class TestCombination:
    def test_tails_are_those_of_a_gamma_distribution(self):
        values = np.random.default_rng(8).chisquare(4, 4000)
        found = 10 ** -combine({"one": values}, {"one": 1.0})
        np.testing.assert_allclose(found, gamma.sf(values, 2, scale=2), atol=0.02)

    def test_it_is_the_weighted_harmonic_mean(self):
        rng = np.random.default_rng(9)
        views, weights = {"a": rng.chisquare(3, 50), "b": rng.chisquare(9, 50)}, {"a": 3, "b": 1}
        alone = {name: 10 ** -combine({name: x}, {name: 1.0}) for name, x in views.items()}
        expected = 4 / (3 / alone["a"] + 1 / alone["b"])
        np.testing.assert_allclose(10 ** -combine(views, weights), expected)

    def test_every_labelling_is_treated_alike(self):
        rng = np.random.default_rng(10)
        views, weights = {"a": rng.chisquare(3, 50), "b": rng.chisquare(9, 50)}, {"a": 3, "b": 1}
        order = rng.permutation(50)
        moved = combine({name: x[order] for name, x in views.items()}, weights)
        np.testing.assert_allclose(moved, combine(views, weights)[order])

    def test_ties_count_against_the_true_labels(self):
        assert rank_pvalue(np.array([2.0, 2.0 - 1e-13, 1.0, 3.0])) == 0.75
        assert not standardise(np.full(4, 0.1 + 0.2)).any()

    def test_holm(self):
        assert holm({"a": 0.02, "b": 0.5, "c": 0.02}) == {"a": 0.06, "b": 0.5, "c": 0.06}
        assert holm({"a": 0.9, "b": 0.6}) == {"a": 1.0, "b": 1.0}


class TestEffect:
    def test_the_witness_of_location_is_the_difference_of_means(self):
        A, B = pair()
        rows, units = np.concatenate([A, B]), settle_copies(A, B, "keep")
        at, truth = Coordinates.fit(rows), contrasts(units, 0, np.random.default_rng(0))
        view = BY_NAME["discriminant"]
        z = features("discriminant", at, rows)
        expected = z @ (z[30:].mean(0) - z[:30].mean(0))
        np.testing.assert_allclose(witness(view, at, rows, truth)[:, 0], expected)

    @pytest.mark.parametrize("counts", [(4, 0, 4), (1, 3, 1), (2, 5, 30)])
    def test_each_set_has_rows_in_each_quarter(self, counts):
        places = np.repeat([IN_A, BOTH, IN_B], counts)
        quarter = quarters(places, np.random.default_rng(11))
        for other in (IN_A, IN_B):
            assert set(quarter[places != other]) == {0, 1, 2, 3}

    def test_held_out_rows_have_no_part_in_their_score(self):
        A, B = pair(40, 40)
        rows, in_a = np.concatenate([A, B]), np.arange(80) < 40
        at, quarter = Coordinates.fit(rows), np.resize([0, 2, 1, 3], 80)
        before = cross_fit(at, rows, in_a, quarter[None])[0]
        changed = rows.copy()
        changed[quarter >= 2] = changed[quarter >= 2][::-1]
        after = cross_fit(at, changed, in_a, quarter[None])[0]
        np.testing.assert_allclose(before[quarter < 2, 0], after[quarter < 2, 0])

    @pytest.mark.parametrize("step", [0.0, 0.3, 1.2])
    def test_the_interval_holds_the_auc_on_new_rows(self, step):
        held = 0
        for seed in range(150):
            rng = np.random.default_rng([12, seed])
            A, B = rng.normal(size=(40, 3)), rng.normal(size=(50, 3)) + step
            new = np.concatenate([rng.normal(size=(500, 3)), rng.normal(size=(500, 3)) + step])
            rows, units = np.concatenate([A, B]), settle_copies(A, B, "keep")
            at, in_a = Coordinates.fit(rows), units.places == IN_A
            splits = np.stack([quarters(units.places, rng) for _ in range(SPLITS)])
            found = held_out_effect(at, rows, in_a, splits, 0.95, rng)
            scores = cross_fit(
                at,
                np.concatenate([rows, new]),
                np.append(in_a, np.zeros(1000, dtype=bool)),
                np.hstack([splits, np.full((SPLITS, 1000), -1)]),
            )[:, 90:]
            truth = np.mean([rank_auc(x[:500, k], x[500:, k]) for x in scores for k in (0, 1)])
            held += found.low <= truth <= found.high
        assert 135 <= held <= 149  # 142.5 expected

    def test_several_splits_are_scored_as_each_alone(self):
        A, B = pair(40, 40)
        rows, in_a = np.concatenate([A, B]), np.arange(80) < 40
        at, rng = Coordinates.fit(rows), np.random.default_rng(13)
        places = np.where(in_a, IN_A, IN_B).astype(np.int8)
        splits = np.stack([quarters(places, rng) for _ in range(3)])
        together = cross_fit(at, rows, in_a, splits)
        for one, quarter in zip(together, splits, strict=True):
            np.testing.assert_allclose(one, cross_fit(at, rows, in_a, quarter[None])[0])

    def test_the_effect_hardly_hangs_on_the_halves(self):
        rng = np.random.default_rng(14)
        A, B = rng.normal(size=(300, 4)), rng.normal(size=(300, 4)) + 0.2
        found = [shift_test(A, B, n_permutations=9, random_state=seed).effect for seed in range(10)]
        values = [one.value for one in found]
        assert all(one.low <= value <= one.high for one in found for value in values)


class TestRelations:
    """What most rows keep is found whatever the others do, and only where it is there."""

    @pytest.mark.parametrize("broken", [0, 30, 140])
    def test_a_robust_fit_settles_on_what_most_rows_keep(self, broken):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(300, 5))
        rows[:, 4] = rows[:, 0] - 2 * rows[:, 1]
        rows[:broken, 4] = rng.normal(size=broken) * 2
        columns = (rows - rows.mean(0)) / rows.std(0)
        found = Relations.fit(columns)
        far = found.distances(columns)
        assert {4} <= set(np.flatnonzero(np.any(found.weights == 1, axis=1))) <= {0, 1, 4}
        assert np.all(far[broken:] < 1)
        assert np.all(np.median(far[:broken], axis=0) > 5) if broken else True

    def test_columns_that_others_leave_open_have_none(self):
        rng = np.random.default_rng(1)
        rows = np.concatenate(pair())
        at = Coordinates.fit(rng.normal(size=(200, 6)))
        assert at.relations.weights.shape == (6, 0)
        assert features("relations", at, rng.normal(size=(10, 6))).shape == (10, 0)
        few = Coordinates.fit(np.repeat(rows[:9, :1], 2, axis=1))  # too few rows to fit any
        assert few.relations.weights.shape[1] == 0

    def test_indicators_and_columns_at_one_value_are_companions_only(self):
        rng = np.random.default_rng(2)
        flag, rare = rng.random((2, 400)) < [[0.5], [0.05]]
        rows = np.column_stack(
            [flag, rare * rng.normal(size=400), 3.0 * flag + rng.normal(0, 0.1, 400)]
        )
        found = Coordinates.fit(rows).relations
        assert found.weights.shape == (3, 1)
        assert found.weights[2, 0] == 1

    def test_distances_are_of_the_rows_and_not_of_their_units(self):
        rng = np.random.default_rng(3)
        rows = rng.normal(size=(200, 3)) @ np.array([[1, 1, 0], [0, 0.1, 0], [0, 0, 1]])
        ours = features("relations", Coordinates.fit(rows), rows)
        units = np.array([1e-3, 40.0, 7.0])
        theirs = features("relations", Coordinates.fit(rows * units + 5), rows * units + 5)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
