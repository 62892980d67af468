"""What changed between two sets: columns, pairs of columns, the verdict."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, stats

from cospan import compare
from cospan._numbers import chance, correlations, number, pair_of, share_text
from cospan.changes import feature_parts, find_changes, size_of
from cospan.changes.grouping import Rows, columns_of
from cospan.changes.measuring import measure
from cospan.changes.relations import changed_relations
from cospan.changes.spreads import spread_apart
from cospan.changes.twosample import adjusted, compare_levels, compare_ordered, log_fisher
from cospan.changes.ways import name_change
from cospan.changes.wording import listed, of_hundred, value_text
from cospan.data import encode, open_source
from cospan.errors import InputError
from cospan.model import JointFrame
from cospan.significance import Estimate, shift_test

GREEK = set("αβγδεζηθικλμνξοπρστυφχψωΑΒΓΔΕΘΛΞΠΣΦΨΩ")


def rng(seed=0):
    return np.random.default_rng(seed)


def correlated(n, d, seed=0):
    """Rows with one common factor: every pair of columns has the correlation 0.8."""
    draw = rng(seed)
    return 2 * draw.normal(size=(n, 1)) + draw.normal(size=(n, d))


def mixed(n, seed=0):
    """A table with every kind of column."""
    draw = rng(seed)
    age = draw.normal(40, 10, n)
    return pd.DataFrame(
        {
            "age": age,
            "pay": 100 * age + draw.normal(0, 300, n),
            "hours": draw.exponential(8, n),
            "town": draw.choice(["Rome", "Oslo", "Bonn"], n, p=[0.5, 0.3, 0.2]),
            "open": draw.random(n) < 0.3,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 900, n), "D"),
        }
    )


def compared(a, b, **options):
    sources = encode([open_source(a, name="A"), open_source(b, name="B")])
    rows = [source.read().rows for source in sources]
    options.setdefault("profiles", tuple(source.profiles[0] for source in sources))
    frame = JointFrame.fit(*rows, shrinkage=0.1, pooling=0.0, dof=1.0)
    return find_changes(frame, *rows, plan=sources[0].plan, **options)


def simple(A, B, **options):
    return find_changes(JointFrame.fit(A, B, shrinkage=0.1, pooling=0.0, dof=1.0), A, B, **options)


# ---- the tests themselves -----------------------------------------------------------------------


@pytest.mark.parametrize("n_a", [40, 150])
def test_mean_spread_and_gap_are_the_classical_rank_tests(n_a):
    draw = rng(1)
    A, B = draw.normal(size=(n_a, 5)), 0.3 + 1.2 * draw.normal(size=(150, 5))
    found = compare_ordered(A, B)
    wilcoxon = stats.mannwhitneyu(A, B, use_continuity=False, method="asymptotic").pvalue
    mood = [stats.mood(A[:, j], B[:, j]).pvalue for j in range(5)]
    gaps = [stats.ks_2samp(A[:, j], B[:, j]).statistic for j in range(5)]
    # A skewed tail in place of the normal one moves p-values a little where sizes differ.
    loose = 1e-9 if n_a == 150 else 0.03
    np.testing.assert_allclose(np.exp(found.mean), wilcoxon, rtol=max(loose, 1e-9))
    np.testing.assert_allclose(np.exp(found.spread), mood, rtol=max(loose, 1e-6))
    np.testing.assert_allclose(found.distance, gaps, rtol=1e-12)
    for j in range(5):
        at = found.at[j]
        assert (A[:, j] <= at).mean() == pytest.approx(found.below_a[j])
        assert (B[:, j] <= at).mean() == pytest.approx(found.below_b[j])
    np.testing.assert_allclose(np.abs(found.below_a - found.below_b), gaps)


def test_ranks_see_no_monotone_map():
    A, B = rng().normal(size=(80, 3)), 0.4 + rng(1).normal(size=(90, 3))
    plain, bent = compare_ordered(A, B), compare_ordered(np.exp(A), np.exp(B))
    for name, x, y in zip(plain._fields, plain, bent, strict=True):
        np.testing.assert_array_equal(np.exp(x) if name == "at" else x, y)


@pytest.mark.parametrize("sizes", [(100, 100), (15, 400), (6, 60)])
@pytest.mark.parametrize(
    "draw",
    [
        lambda r, s: np.exp(2 * r.normal(size=s)),
        lambda r, s: r.poisson(0.5, s),
        lambda r, s: (r.random(s) < 0.03) * r.normal(size=s),
    ],
    ids=["heavy tails", "counts", "rare values"],
)
def test_the_level_is_kept_for_every_distribution(sizes, draw):
    """6,000 columns without a change: p-values of 1 % and 5 % are no more frequent than that."""
    X = np.asarray(draw(rng(5), (sum(sizes), 6000)), dtype=float)
    found = compare_ordered(X[: sizes[0]], X[sizes[0] :])
    for log_p in (found.mean, found.spread, found.shape):
        for level in (0.05, 0.01):
            most = level + 4 * math.sqrt(level / 6000)
            assert (log_p <= math.log(level)).mean() <= most


@pytest.mark.parametrize(
    "table", [(3, 20, 5, 30), (0, 20, 9, 30), (10, 20, 1, 900), (1, 20, 4, 900), (20, 20, 0, 30)]
)
def test_fisher_is_twice_the_smaller_tail(table):
    k, n, other, m = table
    count = stats.hypergeom(n + m, k + other, n)
    exact = min(1.0, 2 * min(count.cdf(k), count.sf(k - 1)))
    assert float(np.exp(log_fisher(*table))[0]) == pytest.approx(exact, rel=1e-9)


def test_fisher_is_certain_of_nothing_where_nothing_happens():
    assert log_fisher([0, 20], 20, [0, 30], 30).tolist() == [0.0, 0.0]


def test_levels_are_tested_together_and_each():
    a, b = np.array([50.0, 40, 10, 0]), np.array([48.0, 41, 1, 10])
    log_p, levels = compare_levels(a, b)
    assert np.argmin(levels) == 3
    assert log_p < math.log(0.01)
    assert compare_levels(a, a)[0] > math.log(0.5)
    assert compare_levels(a, np.zeros(4))[0] == 0.0


def test_two_levels_are_one_fisher_test():
    log_p, _ = compare_levels(np.array([30.0, 10]), np.array([15.0, 25]))
    assert log_p == pytest.approx(float(log_fisher(30, 40, 15, 40)[0]))


def test_adjustment_is_benjamini_and_hochbergs():
    p = rng(2).random(40) ** 3
    np.testing.assert_allclose(np.exp(adjusted(np.log(p))), stats.false_discovery_control(p))
    all_there_are = stats.false_discovery_control(np.append(p, np.ones(360)))
    np.testing.assert_allclose(np.exp(adjusted(np.log(p), 400)), all_there_are[:40])


def test_strong_evidence_still_has_an_order():
    A = rng().normal(size=(20_000, 2))
    B = rng(1).normal(size=(20_000, 2)) + np.array([3, 4])
    found = compare_ordered(A, B)
    assert -math.inf < found.mean[1] < found.mean[0] < -1000


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda x: x + 0.6, "mean"),
        (lambda x: 1.6 * x, "spread"),
        (lambda x: np.sign(x) * math.sqrt(np.mean(x**2)), "shape"),
    ],
)
def test_a_change_is_named(change, word):
    x = rng(3).normal(size=(800, 1))
    assert name_change(x[:400], change(x[400:])) == [(word,)]


def test_sets_without_a_common_level_are_compared_level_by_level():
    """Where all frequent levels are of one set, a test of all together would divide by zero."""
    log_p, levels = compare_levels(np.array([100.0, 100.0, 0.0]), np.array([0.0, 0.0, 20.0]))
    assert log_p <= math.log(2) + levels.min() < -50


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0, 3.0, 10.0])
def test_the_spread_is_tested_wherever_the_sets_lie(shift):
    """Mood's test about the middle of both sets is blind from 1 sd on."""
    A, B = rng(1).normal(size=(150, 40)), rng(2).normal(size=(150, 40))
    for side in (1, -1):
        found = measured_tests(A, side * shift + 1.6 * B)
        assert np.mean(found["spread"] <= 0.01) >= 0.9


@pytest.mark.parametrize("draw", ["normal", "standard_exponential", "poisson"])
def test_a_shift_alone_is_no_change_of_spread(draw):
    A, B = (np.asarray(getattr(rng(k), draw)(size=(100, 400)), float) for k in (1, 2))
    found = measured_tests(A, B + 2)
    assert np.mean(found["mean"] <= 0.05) > 0.99
    assert np.mean(found["spread"] <= 0.05) <= 0.075


def test_the_spread_beside_the_mean_adds_no_false_columns():
    A, B = (np.exp(rng(k).normal(size=(12, 4000))) for k in (1, 2))
    pure, beside = compare_ordered(A, B), spread_apart(compare_ordered(A, B), A, B)
    assert np.any(beside.spread < pure.spread)
    smallest = [np.minimum(one.mean, one.spread) for one in (pure, beside)]
    np.testing.assert_array_equal(*smallest)


def measured_tests(A, B):
    """p-values of every column by test."""
    columns = columns_of(None, [f"x{i}" for i in range(A.shape[1])])
    found = measure(columns, Rows(A, B, True), None)
    return {key: np.exp([one.tests[key] for one in found]) for key in ("mean", "spread")}


def test_a_column_that_changed_in_two_ways_has_two_words():
    A, B = rng(1).normal(50, 5, size=(200, 3)), rng(2).normal(50, 5, size=(200, 3))
    B[:, 1] = 80 + 2 * (B[:, 1] - 50)
    found = simple(A, B)
    assert found.features[0].change == "mean and spread"
    assert found.features[0].ways == ("mean", "spread")
    told = next(s for s in found.verdict.sentences if s.startswith("x1 rose from "))
    assert re.search(r"\d sd, and spreads [\d.]+ times as wide \(sd ", told)


def test_values_that_were_equal_stay_so_when_aligned():
    x = rng(4).poisson(1.0, (40_000, 1)) / 7
    assert name_change(x[:20_000], x[20_000:] + 0.05 * x.std()) == [("mean",)]


# ---- the parts of D -----------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(200, 6), (30, 80)], ids=["tall", "few rows"])
@pytest.mark.parametrize("units", ["own", "common"])
def test_parts_add_up_and_none_is_negative(n, d, units):
    A, B = correlated(n, d), correlated(n, d, 1) * np.linspace(0.5, 2, d) + 0.3
    frame = JointFrame.fit(A, B, units=units, shrinkage=0.2)
    parts = feature_parts(frame)
    assert abs(parts.total.sum() - frame.parts.total) <= 1e-10 * max(1, frame.parts.total)
    assert abs(parts.location.sum() - frame.parts.location) <= 1e-10 * frame.parts.total
    assert (parts.total >= 0).all()


def test_parts_are_value_times_pull():
    """Against the same rule written with covariances and scipy's generalized eigenvectors."""
    A, B = correlated(200, 4), correlated(200, 4, 1) * [1, 2, 1, 0.5] + [0, 0.5, 0.2, 0]
    frame = JointFrame.fit(A, B, units="own", shrinkage=0.2)
    covariances = [np.cov(X.T, bias=True) for X in (A, B)]
    target = np.diag(np.diag(covariances[0] + covariances[1])) / 2
    first, second = (0.8 * S + 0.2 * target for S in covariances)
    W, step = first + second, B.mean(0) - A.mean(0)
    size = np.abs(step * np.linalg.solve(W, step))
    location = 0.25 * step @ np.linalg.solve(W, step) * size / size.sum()
    share, g = linalg.eigh(second, W)
    size = np.abs(g * (W @ g))
    spread = size / size.sum(axis=0) @ (-0.25 * np.log(4 * share * (1 - share)))
    parts = feature_parts(frame)
    np.testing.assert_allclose(parts.location, location, rtol=1e-8)
    np.testing.assert_allclose(parts.spread, spread, rtol=1e-8)


def test_one_moved_column_gets_the_whole_location_part():
    """Even among near copies, whose directions all point to each other."""
    A = correlated(300, 5)
    B = A.copy()
    B[:, 3] += 1.0
    parts = feature_parts(JointFrame.fit(A, B, shrinkage=0.01))
    assert parts.location[3] > (1 - 1e-9) * parts.location.sum() > 0


def test_the_scaled_column_has_the_largest_spread_part():
    A, B = correlated(400, 5), correlated(400, 5, 1)
    B[:, 2] *= 2
    assert np.argmax(feature_parts(JointFrame.fit(A, B, shrinkage=0.05)).spread) == 2


def test_parts_do_not_depend_on_units_or_on_who_is_a():
    A, B = correlated(150, 4), correlated(150, 4, 1) + np.array([0, 0.5, 0, 0])
    options = {"units": "own", "shrinkage": 0.2, "pooling": 0.0}
    plain = feature_parts(JointFrame.fit(A, B, **options)).total
    scale = np.array([1e-3, 1, 50, 1e6])
    scaled = feature_parts(JointFrame.fit(A * scale, B * scale, **options)).total
    turned = feature_parts(JointFrame.fit(B, A, **options)).total
    np.testing.assert_allclose(scaled, plain, rtol=1e-7)
    np.testing.assert_allclose(turned, plain, rtol=1e-9)


def test_a_constant_column_has_no_part():
    A, B = correlated(60, 3), correlated(60, 3, 1)
    A[:, 1] = B[:, 1] = 7
    assert feature_parts(JointFrame.fit(A, B)).total[1] == 0


def test_sets_without_a_common_direction_are_infinitely_different():
    A, B = np.zeros((20, 3)), np.zeros((20, 3))
    A[:, 0], B[:, 1] = rng().normal(size=20), rng(1).normal(size=20)
    A[:, 2], B[:, 2] = rng(2).normal(size=20), rng(3).normal(size=20)
    parts = feature_parts(JointFrame.fit(A, B, shrinkage=0.0))
    assert parts.total[0] == parts.total[1] == math.inf
    assert math.isfinite(parts.total[2])


# ---- columns ------------------------------------------------------------------------------------


def shifted(b):
    return b.assign(age=b["age"] + 5), "age", "mean"


def scaled(b):
    return b.assign(age=40 + 1.5 * (b["age"] - 40)), "age", "spread"


def shuffled(b):
    return b.assign(pay=rng(9).permutation(b["pay"].to_numpy())), "pay", "relation"


def collapsed(b):
    return b.assign(town="Rome"), "town", "levels"


def opened(b):
    return b.assign(open=True), "open", "levels"


def later(b):
    return b.assign(since=b["since"] + pd.Timedelta(days=200)), "since", "mean"


def gone(b):
    return b.assign(hours=b["hours"].where(rng(8).random(len(b)) > 0.3)), "hours", "missing"


@pytest.mark.parametrize("change", [shifted, scaled, shuffled, collapsed, opened, later, gone])
def test_the_changed_column_is_first_and_named_rightly(change):
    b, column, word = change(mixed(284, 2))
    found = compared(mixed(284, 1), b)
    first = found.features[0]
    if word == "relation":
        assert {"age", "pay"} >= {one.name for one in found.features.changed} > set()
    else:
        assert (first.name, [one.name for one in found.features.changed]) == (column, [column])
    assert first.change == word
    assert found.verdict.differs
    assert column in found.verdict.sentences[-1] or column in " ".join(found.verdict.sentences)


def test_nothing_is_called_where_nothing_changed():
    found = compared(mixed(284, 11), mixed(284, 12))
    assert found.features.changed == ()
    assert {one.change for one in found.features} == {"none"}
    assert not found.verdict.differs
    assert found.verdict.sentences[0].startswith("There is no evidence that A and B differ (p")


def test_random_halves_are_seldom_called_different():
    table = correlated(240, 8, 3)
    table[:, 3] = np.exp(table[:, 3])
    table[:, 5] = table[:, 5] > 2
    columns = [f"x{i}" for i in range(8)]
    frame = JointFrame.fit(table[:120], table[120:], shrinkage=0.3)
    called = 0
    for split in range(60):
        index = rng(split).permutation(240)
        found = find_changes(frame, table[index[:120]], table[index[120:]], names=columns)
        called += bool(found.features.changed)
    assert called <= 7  # 60 × 5 %, and twice its standard error


def test_columns_made_of_one_are_one_row_and_their_parts_add_up():
    a, b = mixed(200, 5), mixed(200, 6)
    sources = encode([open_source(a), open_source(b)])
    rows = [source.read().rows for source in sources]
    frame = JointFrame.fit(*rows)
    found = find_changes(frame, *rows, plan=sources[0].plan)
    assert sorted(one.name for one in found.features) == sorted(a.columns)
    assert abs(sum(one.part for one in found.features) - frame.parts.total) < 1e-8
    assert sum(found.verdict.parts.values()) == pytest.approx(frame.parts.total)


def test_numbers_are_those_of_all_rows_where_profiles_have_them():
    a, b = mixed(300, 1), mixed(300, 2)
    b.loc[:89, "age"] = np.nan
    row = compared(a, b).features["age"]
    assert row.a.mean == pytest.approx(a["age"].mean())
    assert row.b.deviation == pytest.approx(b["age"].std(ddof=0))
    assert (row.a.missing, row.b.missing) == (0, 0.3)
    spread = math.sqrt((a["age"].var(ddof=0) + b["age"].var(ddof=0)) / 2)
    assert row.difference == pytest.approx((b["age"].mean() - a["age"].mean()) / spread)
    town = compared(a, b).features["town"]
    assert town.a.levels["Rome"] == pytest.approx((a["town"] == "Rome").mean())


def test_the_sample_is_measured_where_there_are_no_profiles():
    a, b = mixed(300, 1), mixed(300, 2)
    b.loc[:89, "age"] = np.nan
    with_profiles, without = compared(a, b), compared(a, b, profiles=None)
    for x, y in zip(with_profiles.features, without.features, strict=True):
        assert (x.name, x.p, x.distance) == (y.name, y.p, y.distance)
        assert x.b.mean == pytest.approx(y.b.mean, nan_ok=True)
        assert x.b.missing == pytest.approx(y.b.missing)


def test_filled_values_are_not_looked_at():
    """30 % of a column gone at random: it is missing more often, and nothing else happened."""
    a, b = mixed(400, 1), mixed(400, 2)
    b["pay"] = b["pay"].where(rng(3).random(400) > 0.3)
    found = compared(a, b)
    tests = found.features["pay"].tests
    assert tests["missing"] < 1e-20
    assert min(tests["mean"], tests["spread"], tests["shape"], tests["relation"]) > 0.01
    assert found.feature_pairs.changed == ()


def test_values_filled_without_an_indicator_are_found_out():
    a, b = mixed(300, 1), mixed(300, 2)
    b["age"] = b["age"].where(rng(3).random(300) > 0.3)
    sources = encode([open_source(x, missing="mean") for x in (a, b)])
    rows = [source.read().rows for source in sources]
    found = find_changes(JointFrame.fit(*rows, shrinkage=0.1), *rows, plan=sources[0].plan)
    assert (found.features[0].name, found.features[0].change) == ("age", "missing")


def test_order_and_direction_of_the_input_do_not_matter():
    A, B = correlated(150, 6), correlated(150, 6, 1) + np.array([0, 0.6, 0, 0, 0.3, 0])
    names = list("uvwxyz")
    plain = simple(A, B, names=names).features
    order = rng().permutation(6)
    other = simple(A[:, order], B[:, order], names=[names[j] for j in order]).features
    turned = simple(B, A, names=names).features
    for one in plain:
        assert one.p == pytest.approx(other[one.name].p)
        assert one.part == pytest.approx(other[one.name].part, rel=1e-6)
        assert one.p == pytest.approx(turned[one.name].p)
        assert one.difference == pytest.approx(-turned[one.name].difference)
    assert [one.name for one in plain] == [one.name for one in other]


def test_vectors_are_one_column():
    a = pd.DataFrame({"v": list(rng().normal(size=(150, 5))), "x": rng(1).normal(size=150)})
    B = rng(2).normal(size=(150, 5)) + np.array([0, 0, 0, 1, 0])
    b = pd.DataFrame({"v": list(B), "x": rng(3).normal(size=150)})
    found = compared(a, b)
    first = found.features[0]
    assert (first.name, first.kind, first.change, first.level) == ("v", "vector", "mean", "v[3]")
    assert "v changed, most of all at v[3]." in found.verdict.sentences


def test_pulls_are_grouped_like_parts():
    a, b = mixed(100, 1), mixed(100, 2)
    sources = encode([open_source(a), open_source(b)])
    rows = [source.read().rows for source in sources]
    frame = JointFrame.fit(*rows, shrinkage=0.1)
    pulls = np.arange(float(frame.n_features))
    found = find_changes(frame, *rows, plan=sources[0].plan, pulls=pulls)
    town = list(sources[0].plan.features_of("town"))
    assert found.features["town"].pull == pulls[town].sum()


# ---- pairs --------------------------------------------------------------------------------------


def test_correlations_are_spearmans():
    A, B = correlated(120, 4), rng(1).normal(size=(130, 4))
    found = simple(A, B, names=list("abcd")).feature_pairs
    assert len(found) == found.tried == found.total == 6
    a, b = (stats.spearmanr(X).statistic for X in (A, B))
    for pair in found:
        i, k = ("abcd".index(x) for x in (pair.first, pair.second))
        assert pair.r_a == pytest.approx(a[i, k])
        assert pair.r_b == pytest.approx(b[i, k])
        assert pair.changed


def test_moved_scaled_and_bent_columns_keep_their_relations():
    A, B = correlated(200, 4), correlated(200, 4, 1)
    bent = B.copy()
    bent[:, 1] = np.exp(B[:, 1]) + 5
    plain, other = (simple(A, X).feature_pairs for X in (B, bent))
    assert [(p.first, p.z) for p in plain] == [(p.first, p.z) for p in other]


def test_a_column_that_was_shuffled_accounts_for_all_its_pairs():
    A, B = np.split(correlated(600, 8, 4), 2)
    B[:, 5] = rng(2).permutation(B[:, 5])
    found = simple(A, B)
    assert len(found.feature_pairs.changed) == 7
    assert [(one.name, one.change) for one in found.features.changed] == [("x5", "relation")]
    assert "no longer go together: rank correlation 0.8" in str(found.verdict)


def test_a_column_that_was_flipped_lets_no_other_pair_pass_by_chance():
    """Its pairs are true discoveries, and would make the others' threshold a generous one."""
    names = [f"x{i}" for i in range(25)]
    columns = columns_of(None, names)
    passed = []
    for seed in range(10):
        A, B = np.split(correlated(600, 25, seed), 2)
        B[:, 5] *= -1
        found = changed_relations(columns, names, Rows(A, B, True), np.ones(25), 0.05)
        mine = [pair for pair in found.pairs.changed if "x5" in (pair.first, pair.second)]
        assert len(mine) == 24
        assert next(iter(found.leads)) == 5
        passed += [pair for pair in found.pairs.changed if pair not in mine]
    assert len(passed) <= 2


def test_two_columns_that_part_are_both_named():
    A, B = rng().normal(size=(300, 5)), rng(1).normal(size=(300, 5))
    A[:, 1] += 2 * A[:, 0]
    found = simple(A, B)
    assert {one.name for one in found.features.changed if one.change == "relation"} <= {"x0", "x1"}
    assert {found.feature_pairs[0].first, found.feature_pairs[0].second} == {"x0", "x1"}
    sentences = found.verdict.sentences
    assert len(set(sentences)) == len(sentences)


def test_directions_find_the_pairs_among_many_columns():
    A, B = correlated(400, 100), correlated(400, 100, 1)
    B[:, 41] = rng(2).permutation(B[:, 41])
    frame = JointFrame.fit(A, B, shrinkage=0.1, pooling=0.0, dof=1.0)
    found = find_changes(frame, A, B)
    assert found.feature_pairs.tried < found.feature_pairs.total == 4950
    assert "x41" in (found.feature_pairs[0].first, found.feature_pairs[0].second)
    assert (found.features[0].name, found.features[0].change) == ("x41", "relation")


def test_directions_find_one_pair_among_many_columns():
    A, B = rng().normal(size=(500, 100)), rng(1).normal(size=(500, 100))
    A[:, 41] += A[:, 3]
    A[:, 41] /= math.sqrt(2)
    found = simple(A, B).feature_pairs
    assert {found[0].first, found[0].second} == {"x3", "x41"}
    assert found[0].changed


def test_a_few_rows_of_a_rare_level_are_no_evidence():
    """25 rows of a level that always go with another in A; in B, 3 of them do not."""
    draw = rng(6)
    A, B = draw.normal(size=(300, 3)), draw.normal(size=(300, 3))
    for X, apart in ((A, 0), (B, 3)):
        X[:, 0] = X[:, 1] = np.arange(300) < 25
        X[:apart, 1] = 0
    found = simple(A, B).feature_pairs
    assert found.changed == ()
    assert (found[0].r_a, found[0].r_b) == pytest.approx((1, 0.933), abs=1e-3)


def test_columns_without_variety_have_no_relations():
    A, B = np.zeros((50, 3)), np.zeros((50, 3))
    A[:3, 0], B[:4, 1] = 1, 1
    A[:, 2], B[:, 2] = rng().normal(size=50), rng(1).normal(size=50)
    names = ("x0", "x1", "x2")
    found = changed_relations(columns_of(None, names), names, Rows(A, B, True), np.ones(3), 0.05)
    assert (len(found.pairs), found.leads) == (0, {})
    assert found.log_p.tolist() == [0, 0, 0]


def test_relations_count_only_by_the_pairs_that_a_column_accounts_for():
    """x0 accounts for all of its pairs; x1 has one more that hardly changed, beside its mean."""
    A, B = rng(1).normal(size=(3000, 6)), rng(2).normal(size=(3000, 6))
    B[:, 4] += 0.3 * B[:, 1]
    for Z in (A, B):
        Z[:, 1:4] += 2 * Z[:, :1]
    B[:, 0] = rng(3).permutation(B[:, 0])
    B[:, 1] += 0.7
    one = simple(A, B).features["x1"]
    assert one.pair is not None
    assert {one.pair.first, one.pair.second} == {"x1", "x4"}
    assert one.tests["relation"] == pytest.approx(5 * one.pair.p)
    assert one.ways[0] == "mean"


def test_shares_that_look_alike_have_a_decimal():
    a, b = (
        pd.DataFrame({"x": rng(k).normal(size=40_000), "y": 1.0 * (np.arange(40_000) % 3)})
        for k in (1, 2)
    )
    a.loc[:959, "x"], b.loc[:759, "x"] = np.nan, np.nan
    told = " ".join(compared(a, b).verdict.sentences)
    assert "x is missing in 2.4 % of A's rows and 1.9 % of B's." in told


# ---- data quality -------------------------------------------------------------------------------


def notes(found, code):
    return [note for note in found.quality if note.code == code]


def test_quality_names_levels_constants_ranges_and_scales():
    a, b = mixed(200, 1), mixed(200, 2)
    b["town"] = b["town"].replace("Bonn", "Paris")
    b["hours"] = 4.0
    b["pay"] = b["pay"] * 1000
    b.loc[0, "age"] = 999.0
    found = compared(a, b)
    assert [n.column for n in notes(found, "new levels")] == ["town"]
    assert "Paris in B only" in notes(found, "new levels")[0].text
    assert "Bonn in A only" in notes(found, "vanished levels")[0].text
    assert notes(found, "constant")[0].text == ("hours is 4 in every row of B, but varies in A.")
    assert [n.column for n in notes(found, "scale")] == ["pay"]
    assert "times as large in B as in A: perhaps another unit." in notes(found, "scale")[0].text
    assert [(n.column, n.b) for n in notes(found, "range")] == [("age", 999)]
    assert all(note.differs for note in found.quality)


@pytest.mark.parametrize("unit", [1.609, 0.4536, 88.4, 1 / 60])
def test_values_in_another_unit_are_told_by_how_many_times(unit):
    """Miles, pounds, a laboratory's units and minutes: all quantiles say the same."""
    A, B = (np.round(rng(seed).gamma(9, 2, size=(3000, 2)), 1) + 0.5 for seed in (1, 2))
    B[:, 0] *= unit
    (note,) = notes(simple(A, B), "scale")
    times, (more, less) = (unit, "BA") if unit > 1 else (1 / unit, "AB")
    said = note.text.split()
    assert float(said[3]) == pytest.approx(times, rel=0.03 if unit == 88.4 else 0.005)
    assert " ".join(said[4:]) == f"times as large in {more} as in {less}: perhaps another unit."


@pytest.mark.parametrize("times", [1.3, 1.609, 6.0, 50.0])
def test_classes_with_larger_values_have_no_other_unit(times):
    """Their spreads grow as well, but not as far: a unit would leave the shape alone."""
    A, B = rng(1).lognormal(1, 1, size=(1000, 2)), rng(2).lognormal(1, 0.5, size=(1000, 2))
    B[:, 0] *= times * A[:, 0].mean() / B[:, 0].mean()
    assert notes(simple(A, B), "scale") == []


def test_quality_counts_duplicates_within_and_across():
    A, B = rng().normal(size=(100, 3)), rng(1).normal(size=(100, 3))
    A[50:] = A[:50]
    B[:30] = A[:30]
    found = simple(A, B)
    (within,) = notes(found, "duplicates")
    (across,) = notes(found, "shared rows")
    assert (within.a, within.b) == (0.5, 0)
    assert (across.a, across.b) == (0.6, 0.3)


def test_quality_finds_nothing_in_clean_tables():
    found = simple(rng().normal(size=(200, 4)), rng(1).normal(size=(200, 4)))
    assert len(found.quality) == 0


def test_missing_rates_are_told_beside_a_stronger_change():
    a, b = mixed(300, 1), mixed(300, 2)
    b["age"] = (b["age"] + 40).where(rng(3).random(300) > 0.3)
    found = compared(a, b)
    assert found.features[0].change == "mean and missing"
    assert [(n.column, n.a) for n in notes(found, "missing")] == [("age", 0)]
    told = next(s for s in found.verdict.sentences if s.startswith("age rose"))
    assert " sd, and is missing in 0 % of A's rows and " in told


def test_levels_beyond_the_thirty_most_frequent_are_looked_at_too():
    levels = [f"t{i:02d}" for i in range(40)]
    a = pd.DataFrame({"town": levels * 30, "x": rng().normal(size=1200)})
    b = pd.DataFrame({"town": [*levels[:-1], "t00"] * 30, "x": rng(1).normal(size=1200)})
    (note,) = notes(compared(a, b), "vanished levels")
    assert "t39 in A only" in note.text


def test_levels_are_counted_among_the_known_values():
    """Of 800 rows two have a pool of quality Fa: chance. Forty are more, of 48 known values."""
    draw = rng(4)

    def house(n, levels):
        quality = [*levels, *[None] * (n - len(levels))]
        return pd.DataFrame({"pool": quality, "x": draw.normal(size=n)})

    few = compared(house(800, ["Ex"] * 4), house(800, ["Ex"] * 4 + ["Fa"] * 2))
    assert not notes(few, "new levels")
    (note,) = notes(
        compared(house(800, ["Ex"] * 30), house(800, ["Ex"] * 8 + ["Fa"] * 40)), "new levels"
    )
    assert note.text == "pool has Fa in B only (83 % of its known values), not in A."
    assert note.b == pytest.approx(40 / 48)


def test_rare_levels_of_many_are_on_one_side_by_chance():
    """Of a thousand levels with eight rows each, some are in one half only: no note of that."""
    draw = rng(2)
    town = draw.permutation(np.repeat([f"t{i}" for i in range(1000)], 8))
    table = pd.DataFrame({"town": town, "x": draw.normal(size=8000)})
    a, b = table[:4000], table[4000:]
    assert len(set(a["town"]) ^ set(b["town"])) >= 3
    found = compared(a, b)
    assert not notes(found, "new levels") + notes(found, "vanished levels")


# ---- the verdict --------------------------------------------------------------------------------


def test_sentences_have_the_users_units():
    a, b = mixed(284, 1), mixed(284, 2)
    b["age"] = b["age"] - a["age"].mean() + 5 + b["age"].mean()
    text = str(compared(a, b.assign(town="Rome"), set_names=("train", "test")).verdict)
    assert "In town the share of Rome rose from" in text
    assert "to 100 %; Oslo and Bonn are gone." in text
    assert "age fell from" in text or "age rose from" in text
    text = str(compared(a, later(mixed(284, 2))[0]).verdict)
    assert "since is later on average: 2021-0" in text
    text = str(compared(a, gone(mixed(284, 2))[0], set_names=("train", "test")).verdict)
    assert "hours is missing in 0 % of train's rows and 3" in text
    text = str(compared(a, opened(mixed(284, 2))[0]).verdict)
    assert "of A's rows and 100 % of B's." in text


def test_a_verdict_tells_how_sure_how_much_and_in_what():
    A, B = correlated(284, 5), correlated(284, 5, 1)
    B[:, 2] += 1
    shift = shift_test(A, B, n_permutations=999)
    auc = Estimate(0.69, 0.65, 0.73, 0.95)
    verdict = simple(A, B, auc=auc, shift=shift).verdict
    assert verdict.differs
    assert verdict.pvalue == shift.pvalue
    assert (verdict.size, verdict.size_low, verdict.size_high) == ("medium", "medium", "large")
    assert verdict.mostly == "location"
    assert verdict.sentences[0] == f"A and B differ ({chance(shift.pvalue)})."
    assert "69 are ordered correctly (95 % interval 65 to 73; by chance 50)" in verdict.sentences[1]
    assert verdict.features[0] == "x2"


def test_one_column_may_decide_against_the_shift_test():
    A, B = rng().normal(size=(150, 4)), rng(1).normal(size=(150, 4))
    B[:, 0] += 0.8
    shift = shift_test(A, A + 1e-9, n_permutations=99)
    verdict = simple(A, B, shift=shift).verdict
    assert shift.pvalue > 0.05
    assert verdict.differs
    assert "differ in single columns" in verdict.sentences[0]
    same = simple(A, rng(7).normal(size=(150, 4)), shift=shift).verdict
    assert (same.differs, same.pvalue, same.size, same.mostly) == (False, shift.pvalue, "none", "")


def test_a_weak_hint_is_called_one_and_never_stated_as_a_fact():
    A, B = rng(3).normal(size=(150, 4)), rng(4).normal(size=(150, 4))
    shift = shift_test(A, A + 1e-9, n_permutations=99)
    for step in np.linspace(0.2, 0.5, 60):
        moved = B + np.array([step, 0, 0, 0])
        found = simple(A, moved, shift=shift)
        if 0.01 < found.features[0].p_adjusted <= 0.05:
            break
    assert not found.verdict.differs
    hint = found.verdict.sentences.index(
        f"A single column is a weak hint to the contrary "
        f"({chance(found.features[0].p_adjusted)}, adjusted for 4 columns), perhaps by chance."
    )
    assert found.verdict.sentences[hint + 1].startswith("x0 rose from")


@pytest.mark.parametrize(
    ("change", "part"),
    [(collapsed, "levels"), (gone, "missing"), (shifted, "location")],
)
def test_mostly_in_what(change, part):
    found = compared(mixed(284, 1), change(mixed(284, 2))[0])
    assert found.verdict.mostly == part
    assert found.verdict.shares[part] > 0.5
    assert sum(found.verdict.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("change", [shifted, scaled, shuffled, collapsed, opened, later, gone])
def test_columns_and_kinds_share_one_difference(change):
    """Both are sums of one table, so what a verdict says of a kind its columns bear out."""
    found = compared(mixed(284, 1), change(mixed(284, 2))[0])
    verdict, columns = found.verdict, found.features
    assert sum(one.share for one in columns) == pytest.approx(1)
    real = {kind: part for kind, part in verdict.parts.items() if kind != "rest"}
    assert sum(verdict.parts.values()) == pytest.approx(sum(one.part for one in columns))
    for kind, share in verdict.shares.items():
        assert share == pytest.approx(real[kind] / sum(real.values()))
    for kind in ("levels", "missing"):
        named = sum(one.share for one in columns if one.change == kind)
        assert verdict.shares.get(kind, 0.0) == pytest.approx(named)
    total = sum(real.values())
    assert all(one.share * total <= one.part * (1 + 1e-9) for one in columns)


def test_a_moved_column_has_the_difference_whatever_else_strays():
    """Of 30 columns one moved: most of D strays by chance, and is not shared out."""
    A, B = correlated(284, 30), correlated(284, 30, 1)
    B[:, 4] += 0.8 * B[:, 4].std()
    found = simple(A, B, shift=shift_test(A, B, n_permutations=199))
    assert found.features["x4"].part < 0.5 * sum(one.part for one in found.features)
    assert found.features["x4"].share > 0.7
    assert found.verdict.mostly == "location"


def test_a_rare_level_does_not_outweigh_a_moved_column():
    """A level that only B has, in 2 % of its rows, is far from normal: D alone calls it huge."""
    a, b = mixed(400, 1), shifted(mixed(400, 2))[0]
    b.loc[:23, "town"] = "Lima"
    found = compared(a, b)
    assert found.features["town"].changed
    assert found.features["age"].share > found.features["town"].share
    assert found.verdict.mostly == "location"


def test_no_share_of_a_difference_that_is_not_there():
    found = compared(mixed(284, 11), mixed(284, 12))
    assert all(math.isnan(one.share) for one in found.features)
    assert found.verdict.parts["rest"] == pytest.approx(sum(one.part for one in found.features))
    assert found.verdict.shares == {}


def test_no_greek_letters_and_plain_types_everywhere():
    found = compared(mixed(284, 1), collapsed(gone(mixed(284, 2))[0])[0], auc=None)
    content = json.dumps(found.to_dict(), allow_nan=False)
    assert not GREEK & set(content)
    assert json.loads(content)["features"][0]["name"] in ("town", "hours")


def test_infinite_numbers_become_none_in_plain_types():
    A, B = rng().normal(size=(30, 2)), rng(1).normal(size=(30, 2))
    A[:, 0], B[:, 0] = 1, 2
    found = simple(A, B)
    assert found.features["x0"].difference == math.inf
    json.dumps(found.to_dict(), allow_nan=False)
    assert "x0 rose from 1 to 2." in found.verdict.sentences


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_tables_become_dataframes(backend):
    found = compared(mixed(100, 1), mixed(100, 2))
    frame = found.features.to_frame(backend)
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names[:4] == ["name", "kind", "change", "changed"]
    assert len(frame) == 6
    assert len(found.feature_pairs.to_frame(backend)) == len(found.feature_pairs)


def test_sizes_have_stated_cuts():
    assert [size_of(x) for x in (0.3, 0.559, 0.56, 0.64, 0.71)] == [
        "none",
        "none",
        "small",
        "medium",
        "large",
    ]
    for cut, d in ((0.56, 0.2), (0.64, 0.5), (0.71, 0.8)):
        assert abs(stats.norm.cdf(d / math.sqrt(2)) - cut) < 0.005


def test_numbers_in_sentences():
    shown = [number(x) for x in (0, 32.41, 0.00123, 1234.5, 123456, 1e20, -0.5, 3.0)]
    assert shown == ["0", "32.4", "0.00123", "1234", "123,456", "1e+20", "-0.5", "3"]
    assert pair_of(100.001, 100.002) == ("100.001", "100.002")
    assert pair_of(20_000.2, 20_000.4) == ("20,000.2", "20,000.4")
    assert value_text(18262, "date") == "2020-01-01"
    assert share_text(0.001) == "less than 1 %"
    assert share_text(0.9999) == "more than 99 %"
    assert (chance(0.001), chance(0.043), chance(1.0)) == ("p at most 0.001", "p = 0.043", "p = 1")
    assert listed(["a", "b c", "d"], 2) == "a, 'b c' and 1 more"


# ---- what users pass ----------------------------------------------------------------------------


def test_bad_input_gets_one_sentence():
    A, B = rng().normal(size=(40, 3)), rng(1).normal(size=(40, 3))
    frame = JointFrame.fit(A, B)
    with pytest.raises(InputError, match="There are 2 names for 3 features; give one for each"):
        find_changes(frame, A, B, names=["a", "b"])
    plan = encode([open_source(pd.DataFrame({"a": [1.0, 2.0]}))])[0].plan
    with pytest.raises(InputError, match="The plan makes 1 features and the frame has 3"):
        find_changes(frame, A, B, plan=plan, names=list("abc"))
    with pytest.raises(InputError, match="2"):
        find_changes(frame, A[:, :2], B)
    with pytest.raises(InputError, match='span="affine"'):
        find_changes(JointFrame.fit(A, B, span="linear"), A, B)


def test_bare_arrays_have_columns_x0_x1():
    found = simple(rng().normal(size=(50, 2)), rng(1).normal(size=(50, 2)))
    assert sorted(one.name for one in found.features) == ["x0", "x1"]


def test_very_wide_rows_are_sampled():
    A, B = rng().normal(size=(2, 600, 3000))
    B[:, 17] += 0.6
    frame = JointFrame.fit(A[:60], B[:60], shrinkage=0.3, pooling=0.0, dof=1.0)
    found = find_changes(frame, A, B)
    assert found.features[0].name == "x17"


def test_dropped_rows_are_counted_and_only_the_others_described():
    """Rows with a gap left out as asked: told for each set, and gone from every number."""
    a, b = mixed(300, 1), mixed(300, 2)
    b.loc[:89, "hours"] = np.nan
    b.loc[:89, "age"] += 100
    found = compare(a, b, name_a="old", name_b="new", missing="drop", n_permutations=0)
    kept = b.dropna()
    assert [note.text for note in found.warnings if "left out" in note.text] == [
        "new: 90 of 300 rows have a missing value and were left out."
    ]
    assert found.features["age"].b.mean == pytest.approx(kept["age"].mean())
    assert found.features["age"].b.high == pytest.approx(kept["age"].max())
    assert found.features["hours"].b.missing == 0
    assert not found.verdict.differs


@pytest.mark.parametrize(
    "draw",
    [
        lambda r, s: r.normal(size=s),
        lambda r, s: np.exp(1.5 * r.normal(size=s)),
        lambda r, s: r.poisson(0.15, s).astype(float),
        lambda r, s: r.standard_cauchy(s),
    ],
    ids=["normal", "lognormal", "rare counts", "cauchy"],
)
def test_no_remark_on_what_is_chance_among_many_columns(draw):
    """20 + 20 rows of 250 columns: ranges, constants and scales differ somewhere, all by chance."""
    remarks = 0
    for seed in range(4):
        A, B = draw(rng([seed, 1]), (20, 250)), draw(rng([seed, 2]), (20, 250))
        remarks += sum(note.differs for note in simple(A, B).quality)
    assert remarks <= 1  # 4 × 5 %, of which more than 1 is a chance of 2 %


def test_one_impossible_value_is_worth_a_remark():
    a, b = mixed(200, 1), mixed(200, 2)
    b.loc[3, "age"] = -999
    notes = [note for note in compared(a, b).quality if note.code == "range"]
    assert [note.column for note in notes] == ["age"]
    assert "age goes to -999 in B; in A it stays between" in notes[0].text


def test_yes_and_no_are_called_so():
    a, b = mixed(200, 1), mixed(200, 2)
    word = {True: "yes", False: "no"}
    a, b = a.assign(open=a["open"].map(word)), b.assign(open="yes")
    found = compared(a, b)
    assert "open is yes in 3" in str(found.verdict)
    assert "is yes in every row of B, but varies in A." in found.quality.notes[0].text


def test_a_column_without_values_in_one_set_is_missing_and_nothing_else():
    a, b = mixed(200, 1), mixed(200, 2)
    for column in a.columns:
        found = compared(a, b.assign(**{column: b[column].where(b["age"] > 1e9)}))
        first = found.features[0]
        assert (first.name, first.change) == (column, "missing")
        assert {note.code for note in found.quality if note.column} == {"missing"}
        text = f"{column} is missing in 0 % of A's rows and 100 % of B's."
        assert sum(column in line for line in found.verdict.sentences) == 1
        assert text in found.verdict.sentences


# ---- one relation for two columns ---------------------------------------------------------------


def related(n, seed, broken):
    """Three categories that depend on one number; `broken` draws them anew."""
    draw = rng(seed)
    x = draw.normal(size=n)
    by = draw.normal(size=n) if broken else x
    return pd.DataFrame(
        {
            "x": x,
            "side": np.where(by > 0, "left", "right"),
            "size": np.select([by < -0.5, by < 0.5], ["small", "middle"], "large"),
            "alone": draw.choice(["p", "q"], n),
        }
    )


def test_two_columns_have_one_relation_however_many_levels():
    a, b = related(400, 1, False), related(400, 2, True)
    b["size"] = related(400, 3, True)["size"]
    found = compared(a, b)
    pairs = [{p.first_column, p.second_column} for p in found.feature_pairs.changed]
    assert len(pairs) == found.feature_pairs.n_changed == 3
    for pair in ({"x", "side"}, {"x", "size"}, {"side", "size"}):
        assert pairs.count(pair) == 1
    assert found.feature_pairs.total == found.feature_pairs.tried == 6


def test_relations_of_levels_keep_their_level():
    """p-values of the strongest levels count for as many pairs as there are."""
    small = 0
    for seed in range(60):
        a, b = related(80, 2 * seed, False), related(80, 2 * seed + 1, False)
        small += bool(compared(a, b).feature_pairs.n_changed)
    assert small <= 6


def test_the_verdict_says_how_many_more_relations_changed():
    factor = rng(1).normal(size=(300, 1))
    A = factor + 0.3 * rng(2).normal(size=(300, 5))
    found = simple(A, rng(3).normal(size=(300, 5)))
    told = [s for s in found.verdict.sentences if "rank correlation" in s]
    left = found.feature_pairs.n_changed - len(told)
    assert left > 1
    assert f"{left} more relations between columns changed." in found.verdict.sentences


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (0.5, 0.7, ("0.50", "0.70")),
        (0.9991, 0.9951, ("0.999", "0.995")),
        (-0.001, 0.001, ("-0.001", "0.001")),
        (0.3, 0.3, ("0.30", "0.30")),
        (-0.001, -0.001, ("0.00", "0.00")),
    ],
)
def test_different_correlations_look_different(a, b, text):
    assert correlations(a, b) == text


# ---- how much -----------------------------------------------------------------------------------


def test_few_rows_are_not_said_to_be_alike():
    A, B = rng(1).normal(size=(5, 3)), rng(2).normal(size=(5, 3))
    said = str(compare(A, B).verdict)
    assert "There are too few rows to say that they are alike" in said
    assert "cannot be separated" not in said
    A, B = rng(1).normal(size=(400, 3)), rng(2).normal(size=(400, 3))
    assert "too few rows" not in str(compare(A, B, n_permutations=99).verdict)


@pytest.mark.parametrize("value", [0.002, 0.5, 0.987, 0.996, 1.0])
def test_an_auc_is_written_in_one_way(value):
    auc = Estimate(value, value, value, 0.95)
    A = rng(1).normal(size=(50, 2))
    text = str(simple(A, A + 3, auc=auc).verdict)
    told = of_hundred(value)
    assert f", {told} are ordered correctly (95 % interval {told} to {told}; by chance 50)" in text


def test_many_columns_without_names_are_not_told_one_by_one():
    A, B = rng(1).normal(size=(300, 64)), rng(2).normal(size=(300, 64))
    B[:, 7] += 1
    B[:, 8] = 0.3 * B[:, 8] + B[:, 7]
    told = simple(A, B)
    text = str(told.verdict)
    assert "x7" not in text
    assert f"{len(told.features.changed)} of the 64 changed by themselves too." in text
    named = str(simple(A, B, names=[f"score {k}" for k in range(64)]).verdict)
    assert "'score 7' rose from" in named
    few = str(simple(A[:, :12], B[:, :12]).verdict)
    assert "x7 rose from" in few


def test_another_shape_is_said_in_shares_that_anybody_can_count():
    A = rng(1).normal(size=(600, 2))
    B = rng(2).normal(size=(600, 2))
    B[:, 0] = np.sign(B[:, 0]) * np.sqrt(np.mean(B[:, 0] ** 2)) + 0.01 * rng(3).normal(size=600)
    found = simple(A, B)
    one = found.features["x0"]
    assert one.change == "shape"
    at, a, b = one.farthest
    assert ((A[:, 0] <= at).mean(), (B[:, 0] <= at).mean()) == pytest.approx((a, b))
    assert abs(a - b) == pytest.approx(one.distance)
    assert f"it is at most {number(at)} in {share_text(a)} of A's rows and" in str(found.verdict)


def test_an_interval_narrower_than_a_count_has_digits():
    A = rng(1).normal(size=(50, 2))
    text = str(simple(A, A + 3, auc=Estimate(0.8502, 0.8471, 0.8537, 0.95)).verdict)
    assert "(95 % interval 84.7 to 85.4; by chance 50)" in text
