"""Separation with honest intervals, and a shift test whose p-values are what they say."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, norm

from cospan import (
    JointFrame,
    angle_histogram,
    compare,
    fisher_rao,
    hellinger,
    separation,
    shift_test,
)
from cospan.distribution import angle_auc, overlap
from cospan.errors import InputError
from cospan.significance import fit_reliability
from cospan.significance.copies import settle_copies
from cospan.significance.parts import part_pvalues
from cospan.significance.views import Coordinates

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
            angles(*first, n, [seed, 0]),
            angles(*second, n, [seed, 1]),
            bins=30,
            n_bootstrap=200,
        )
        arc, area = result.fisher_rao, result.auc
        covered += [arc.low - 1e-9 <= truth <= arc.high, area.low <= auc <= area.high]
    assert covered.min() >= 88  # nominal 95 of 100; percentile intervals cover 0 to 20 here


def test_perfect_separation_of_few_angles_is_not_certain():
    result = separation(np.radians([1, 2, 3, 4, 5]), np.radians([85, 86, 87, 88, 89]), bins=30)
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
        ([0.1], [0.2], {"reliability": 1.5}, "reliability"),
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


# -- the fit's part in intervals ------------------------------------------------------------------


def test_less_reliable_angles_have_wider_intervals_about_the_same_value():
    a, b = angles(4, 4, 100, 20), angles(5, 4, 100, 21)
    known, doubtful = separation(a, b), separation(a, b, reliability=0.0)
    assert doubtful.auc.value == known.auc.value
    ends = [[math.log(x / (1 - x)) for x in (e.auc.low, e.auc.high)] for e in (known, doubtful)]
    inner = math.log(known.auc.value / (1 - known.auc.value))
    # On the scale of log-odds, but for the source's pseudo-observations.
    widths = [high - low for low, high in ends]
    assert widths[1] / widths[0] == pytest.approx(math.sqrt(2), rel=0.01)
    assert ends[1][0] < ends[0][0] < inner < ends[0][1] < ends[1][1]
    arcs = [e.fisher_rao.high - e.fisher_rao.value for e in (known, doubtful)]
    assert arcs[1] / arcs[0] == pytest.approx(math.sqrt(2), rel=0.01)  # but for the bias


@pytest.mark.parametrize("bins", [None, 30])
@pytest.mark.parametrize("sizes", [(40, 70), (60, 60)])
def test_a_pair_has_the_same_interval_whichever_set_is_called_a(bins, sizes):
    rng = np.random.default_rng(3)
    a, b = (
        rng.beta(*shape, n) * math.pi / 2 for shape, n in zip(((2, 4), (4, 3)), sizes, strict=True)
    )
    one, other = (
        separation(*pair, bins=bins) for pair in ((a, b), (math.pi / 2 - b, math.pi / 2 - a))
    )
    for name in ("fisher_rao", "hellinger", "auc", "overlap"):
        x, y = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose((x.low, x.value, x.high), (y.low, y.value, y.high), atol=1e-12)


def test_constant_angles_separate_nothing():
    found = separation(np.full(20, math.pi / 4), np.full(30, math.pi / 4))
    assert (found.auc.value, found.fisher_rao.value, found.overlap.value) == (0.5, 0, 1)


def test_reliability_is_the_correlation_of_scores_fitted_to_other_rows():
    """Two frames of 60 + 60 rows each; a frame of as many estimates how well they agree."""
    rng = np.random.default_rng(22)
    step = np.array([0.7, 0, 0, 0])
    settings = {"shrinkage": 0.3, "units": "own", "pooling": 0.0, "dof": 4.0}
    expected, found = [], []
    for _ in range(20):
        pairs = [(rng.normal(size=(60, 4)), rng.normal(size=(60, 4)) + step) for _ in range(2)]
        frames = [JointFrame.fit(*pair, **settings) for pair in pairs]
        new = rng.normal(size=(1000, 4))  # rows of one set
        ratios = [np.log(np.divide(*frame.squared_costs(new).T)) for frame in frames]
        expected.append(np.corrcoef(*ratios)[0, 1])
        found.append(fit_reliability(frames[0], *pairs[0], random_state=rng))
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.1)


@pytest.mark.parametrize("span", ["affine", "linear"])
def test_reliability_needs_no_setting_of_its_own(span):
    rng = np.random.default_rng(23)
    A, B = rng.normal(size=(2, 80, 3)) * [[[1.0, 1, 1]], [[4.0, 1, 1]]]
    frame = JointFrame.fit(A, B, span=span)
    assert fit_reliability(frame, A, B) > 0.8
    assert fit_reliability(frame, A, A[::-1] + 0.0) < 0.6
    with pytest.raises(InputError, match="A has 3 rows"):
        fit_reliability(frame, A[:3], B)


def test_leave_one_out_intervals_hold_what_new_rows_show():
    held = 0
    for seed in range(60):
        rng = np.random.default_rng([24, seed])
        A, B = rng.normal(size=(40, 5)), rng.normal(size=(50, 5))
        frame = JointFrame.fit(A, B, shrinkage=0.3, units="own", pooling=0.0, dof=1.0)
        own = frame.leave_one_out(A, B)
        auc = separation(
            own.a.theta,
            own.b.theta,
            n_bootstrap=200,
            reliability=fit_reliability(frame, A, B),
        ).auc
        held += auc.low - 1e-12 <= 0.5 <= auc.high + 1e-12
    assert held >= 53  # 57 expected


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


def partly_common(rng):
    """A few rows stand in both sets, and both sets are resampled: 0.1 rejected most of these."""
    rows = rng.normal(size=(65, 4))
    A, B = rows[:30], np.concatenate([rows[:5], rows[30:]])
    return A[rng.integers(0, 30, 50)], B[rng.integers(0, 40, 60)]


def counts(rng):
    return tuple(rng.poisson(2, size=(n, 3)).astype(float) for n in (40, 60))


@pytest.mark.parametrize(
    "design", [unlike_sizes, wide, heavy_tails, copied, small_pool, partly_common, counts]
)
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
    A, B = rng.normal(size=(2, 160, 6))
    if kind == "mean":
        return A, B + np.array([1.0, 0, 0, 0, 0, 0])
    if kind == "weak direction":  # a step across two columns that otherwise go together
        for X in (A, B):
            X[:, 1] = X[:, 0] + 0.7 * X[:, 1]
        return A, B + np.array([0.25, -0.25, 0, 0, 0, 0])
    if kind == "scale":
        return A, B * 1.5
    if kind == "a broken sum":  # x2 = x0 + x1/20 in A; in B with another x1 of the same kind
        for X, x1 in ((A, A[:, 1]), (B, rng.permutation(B[:, 1]))):
            X[:, 2] = X[:, 0] + x1 / 20
        return A, B
    if kind == "rows of a new kind":  # in a direction that is no column's
        B[:20] = 0.3 * B[:20] + np.outer(rng.choice([-1, 1], 20), np.full(6, 1.6))
        return A, B
    if kind == "skewness":
        return A, rng.exponential(size=(160, 6)) - 1
    B[:, 1] = 0.9 * (B[:, 0] ** 2 - 1) / math.sqrt(2) + math.sqrt(1 - 0.81) * B[:, 1]
    return A, B


@pytest.mark.parametrize(
    ("kind", "view"),
    [
        ("mean", "location"),
        ("weak direction", "discriminant"),
        ("scale", "length"),
        ("rows of a new kind", "spread"),
        ("skewness", "margins"),
        ("parabola", "pairs"),
        ("a broken sum", "relations"),
    ],
)
def test_each_kind_of_shift_is_found_and_its_view_named(kind, view):
    result = shift_test(*shifted(kind, np.random.default_rng(4)), n_permutations=199)
    assert result.pvalue == 1 / 200
    assert max(result.views, key=result.views.get) == view
    # Of 160 rows 20 are new: a score that knew them would have an AUC of 0.5 + 20/320.
    assert result.effect.value > (0.52 if kind == "rows of a new kind" else 0.55)
    assert np.all(result.null < result.statistic)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (lambda B: B + 0.5, {"location"}),
        (lambda B: B * 1.5, {"scale"}),
        (lambda B: B * [2, 0.5, 1, 1], {"shape"}),
        (lambda B: B * 1.5 + 0.7, {"location", "scale"}),
        (lambda B: B * [2, 0.5, 1, 1] + 0.7, {"location", "shape"}),
    ],
)
@pytest.mark.parametrize("sizes", [(80, 120), (150, 60)])
def test_the_parts_that_differ_are_named_and_no_others(change, differs, sizes):
    rng = np.random.default_rng(15)
    A, B = (rng.normal(size=(n, 4)) for n in sizes)
    parts = shift_test(A, change(B), n_permutations=199).parts
    assert {name for name, p in parts.items() if p <= 0.05} == differs


def test_parts_keep_their_level_when_another_part_differs():
    """Twelve rows in a hundred would be expected if scale were tested without its own mean."""
    wrong = np.zeros(2)
    for seed in range(SIMULATIONS):
        rng = np.random.default_rng([16, seed])
        A, B = rng.normal(size=(30, 3)), rng.normal(size=(90, 3)) * [2, 0.5, 1] + 1
        parts = shift_test(A, B, n_permutations=59, random_state=seed).parts
        C = rng.normal(size=(90, 3)) * 2
        other = shift_test(A, C, n_permutations=59, random_state=seed).parts
        wrong += [parts["scale"] <= 0.05, min(other["location"], other["shape"]) <= 0.05]
    assert wrong.max() <= MOST


def test_units_of_single_columns_do_not_matter():
    rng = np.random.default_rng(17)
    A, B = rng.normal(size=(60, 4)), rng.normal(size=(50, 4)) * [1, 1.5, 1, 1] + [0.3, 0, 0, 0]
    units = np.array([1e-6, 1.0, 1e3, 1e9])
    plain = shift_test(A * [1, 2, 4, 8], B * [1, 2, 4, 8], n_permutations=99)
    moved = shift_test(A * units + 5, B * units + 5, n_permutations=99)
    assert moved.pvalue == plain.pvalue
    assert moved.parts == plain.parts
    for name, value in plain.views.items():
        assert moved.views[name] == pytest.approx(value, rel=1e-5)


def test_constant_columns_are_ignored():
    rng = np.random.default_rng(18)
    A, B = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) * 1.3
    padded = [np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X))]) for X in (A, B)]
    plain, more = shift_test(A, B, n_permutations=99), shift_test(*padded, n_permutations=99)
    assert (more.pvalue, more.parts, more.effect) == (plain.pvalue, plain.parts, plain.effect)


def test_identical_sets_do_not_differ():
    rng = np.random.default_rng(19)
    A = rng.normal(size=(50, 3))
    found = shift_test(A, A[::-1], n_permutations=99)
    assert found.pvalue == 1
    assert set(found.parts.values()) == {1.0}
    assert found.effect.low < 0.5 < found.effect.high


def test_p_counts_the_relabellings_that_reach_the_statistic():
    rng = np.random.default_rng(6)
    result = shift_test(rng.normal(size=(30, 3)), rng.normal(size=(40, 3)), n_permutations=150)
    assert result.null.shape == (150,)
    assert result.n_permutations == 150
    reached = np.count_nonzero(result.null >= result.statistic)
    assert result.pvalue == (1 + reached) / 151


@pytest.mark.parametrize("count", [9, 24, 25, 99])
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
    assert not np.array_equal(first.null, other.null)


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


def test_levels_of_one_category_count_as_one_column():
    """Their columns exclude each other: taken as independent, honest draws would be copies."""
    rng = np.random.default_rng(0)
    levels = [np.eye(k)[rng.integers(0, k, 600)] for k in (3, 4, 5)]
    rows = np.hstack(levels)
    assert len(settle_copies(rows[:300], rows[300:], "auto").rows) == 600
    copied = np.repeat(rng.normal(size=(100, 3)), 6, axis=0)
    assert len(settle_copies(copied[:300], copied[300:], "auto").rows) == 100


def test_angles_that_tell_nothing_have_an_interval_all_the_same():
    """All at 45°: an AUC of one half, known no better than ranks of so many rows know it."""
    for n, m in ((30, 30), (300, 100)):
        found = separation(np.full(n, np.pi / 4), np.full(m, np.pi / 4), n_bootstrap=50)
        ranks = np.random.default_rng(0).normal(size=(4000, n + m)).argsort(axis=1).argsort(axis=1)
        aucs = (ranks[:, n:].sum(axis=1) - m * (m - 1) / 2) / (n * m)
        assert found.auc.value == 0.5
        assert np.mean((found.auc.low <= aucs) & (aucs <= found.auc.high)) == pytest.approx(
            0.95, abs=0.015
        )
        assert found.fisher_rao.value == found.fisher_rao.low == 0 < found.fisher_rao.high
        assert found.overlap.low < found.overlap.value == found.overlap.high == 1
        # The three ends belong to the same two normal distributions.
        apart = np.sqrt(2) * norm.ppf(found.auc.high)
        assert found.overlap.low == pytest.approx(2 * norm.cdf(-apart / 2))
        assert np.cos(found.fisher_rao.high / 2) == pytest.approx(np.exp(-(apart**2) / 8))


def test_rows_left_out_as_copies_are_told():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
    A[40:] = A[:20]
    found = compare(A, B)
    assert found.shift.copies == 20
    text = "20 of the 120 rows tested repeat another row of their set"
    assert any(note.text.startswith(text) for note in found.warnings)
    assert found.to_dict()["shift_test"]["rows"] == {"a": 40, "b": 60, "copies_left_out": 20}
    assert not any("repeat another" in note.text for note in compare(A[:40], B).warnings)


@pytest.mark.parametrize(("a", "b"), [(5, 5), (5, 300), (20, 300), (30, 30)])
def test_parts_keep_their_level_with_few_rows_and_categories(a, b):
    """Twenty features, half of them levels: directions made by few rows must not answer."""
    rng = np.random.default_rng(0)
    small = np.zeros(3)
    for _ in range(60):
        numbers = rng.normal(size=(a + b, 10))
        levels = (rng.random((a + b, 10)) < 0.15).astype(float)
        rows = np.hstack([numbers, levels])
        parts = shift_test(rows[:a], rows[a:], n_permutations=99).parts
        small += [parts[key] <= 0.05 for key in ("location", "scale", "shape")]
    assert np.all(small / 60 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60))


@pytest.mark.parametrize(
    ("draw", "n_a", "n_b", "d"),
    [("lognormal", 20, 20, 10), ("lognormal", 40, 40, 20), ("normal", 20, 200, 5)],
)
def test_scale_and_shape_keep_their_level_with_few_skewed_rows(draw, n_a, n_b, d):
    """Once 33 % and 21 % of shape, and 16 % of scale, were below 0.05 by chance."""
    rng, n = np.random.default_rng(7), n_a + n_b
    in_a = np.arange(n) < n_a
    true = np.where(in_a, 1 / n_a, -1 / n_b)
    small = []
    for _ in range(150):
        X = getattr(rng, draw)(size=(n, d))
        labels = np.stack([true, *(rng.permutation(true) for _ in range(99))])
        found = part_pvalues(Coordinates.fit(X), X, in_a, labels)
        small.append([found["scale"] <= 0.05, found["shape"] <= 0.05])
    assert np.all(np.mean(small, axis=0) <= 0.13)


def test_a_step_across_correlated_columns_is_one_of_location():
    """Hardly one in either column, but a large one in what the first leaves open of the second."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 200, 4))
    for X, step in ((A, 0.0), (B, 0.08)):
        X[:, 1] = X[:, 0] + 0.1 * X[:, 1] + step
    found = shift_test(A, B, n_permutations=199)
    assert found.parts["location"] == pytest.approx(3 / 200)
    assert min(found.parts["scale"], found.parts["shape"]) > 0.05
