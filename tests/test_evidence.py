"""One engine of evidence: a valid p-value, the columns to blame, and one size with an interval."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes

from cospan import angle_histogram, compare, fisher_rao, hellinger, separation, shift_test
from cospan.errors import InputError
from cospan.evidence import Finding, Fold, Reading, Size, find, size_of
from cospan.evidence.engine import _alike
from cospan.evidence.size import delong, overlap, rank_auc
from cospan.evidence.test import _rare_z
from cospan.wording.findings import _WRITERS, sentence
from cospan.wording.results import of_hundred, size_sentence
from mixed_tables import mixed, rng


def read(rows):
    return [Reading(j, "", values) for j, values in enumerate(np.asarray(rows, dtype=float).T)]


def found_in(A, B, **options):
    return find([f"x{j}" for j in range(A.shape[1])], read(A), read(B), **options)


# ---- the p-value --------------------------------------------------------------------------------

NULLS = {
    "normal": lambda draw, n: draw.normal(size=(n, 4)),
    "heavy tails": lambda draw, n: draw.standard_t(2, size=(n, 3)),
    "rare levels": lambda draw, n: (draw.random((n, 5)) < [0.5, 0.1, 0.05, 0.02, 0.01]).astype(
        float
    ),
    "correlated": lambda draw, n: draw.normal(size=(n, 1)) + 0.1 * draw.normal(size=(n, 6)),
    "fewer rows than columns": lambda draw, n: draw.normal(size=(n, 40)),
}


@pytest.mark.parametrize("draw", NULLS.values(), ids=NULLS)
def test_p_values_are_uniform_where_labels_mean_nothing(draw):
    p = [
        shift_test(draw(rng([seed, 1]), 16), draw(rng([seed, 2]), 24), n_permutations=39).pvalue
        for seed in range(100)
    ]
    # 100 draws at 10 %: more than 18 are a chance of 1 in 200, 27 of the 250 at most .25 likewise
    assert np.sum(np.array(p) <= 0.1) <= 18
    assert np.sum(np.array(p) <= 0.5) <= 64


@pytest.mark.parametrize("count", [19, 24, 99])
def test_p_is_never_zero_even_for_disjoint_sets(count):
    A, B = rng(7).normal(size=(40, 3)), rng(8).normal(size=(40, 3)) + 50
    assert shift_test(A, B, n_permutations=count).pvalue == 1 / (1 + count)


def test_exchanging_the_sets_flips_the_signs_and_keeps_the_rest():
    A, B = mixed(300, 1), mixed(300, 2)
    B["age"] += 5
    B["pay"] = B["pay"].sample(frac=1, random_state=0).to_numpy()
    one, other = compare(A, B), compare(B, A)
    assert one.p == other.p == 0.001
    assert one.size == pytest.approx(other.size, abs=1e-9)
    assert [f.column for f in one.findings] == [f.column for f in other.findings]
    for first, second in zip(one.findings, other.findings, strict=True):
        assert first.kind == second.kind
        assert (first.a, first.b) == pytest.approx((second.b, second.a), nan_ok=True, abs=1e-6)
        assert first.z == pytest.approx(-second.z, rel=1e-3)
        assert first.effect == pytest.approx(-second.effect, rel=1e-3, abs=1e-6)


def test_what_is_found_prints_as_words():
    A, B = rng(0).normal(size=(2, 100, 2))
    B[:, 1] += 3
    found = shift_test(A, B)  # a test has no size
    assert str(found).startswith("A and B differ.\n")
    assert str(found.findings[0]).startswith("x1 rose from ")
    assert str(compare(A, B).features).startswith("<Table: 1 of 2 rows changed")


def test_the_order_of_rows_and_columns_does_not_matter():
    A, B = rng(1).normal(size=(150, 5)), rng(2).normal(size=(170, 5))
    B[:, 3] += 1
    plain, order = found_in(A, B), rng(3).permutation(5)
    mixed_up = found_in(rng(4).permutation(A), rng(5).permutation(B))
    other = found_in(A[:, order], B[:, order])
    own = [k for k, one in enumerate(plain.evidence.functions) if one.family < 2]
    np.testing.assert_allclose(mixed_up.evidence.z[own], plain.evidence.z[own], atol=1e-4)
    assert plain.pvalue == mixed_up.pvalue == other.pvalue
    assert [f.column for f in plain.findings] == [f.column for f in mixed_up.findings] == ["x3"]
    assert [order[int(f.column[1:])] for f in other.findings] == [3]


def test_units_do_not_matter():
    A, B = rng(17).normal(size=(60, 4)), rng(18).normal(size=(50, 4)) * [1, 1.5, 1, 1]
    plain = found_in(A, B, permutations=99)
    units = np.array([1e-6, 3.0, 1e3, 1e9])
    moved = found_in(A * units + 0.5 * units, B * units + 0.5 * units, permutations=99)
    assert moved.pvalue == plain.pvalue
    np.testing.assert_allclose(moved.evidence.z, plain.evidence.z, atol=1e-3)


def test_the_same_seed_gives_the_same_bits():
    A, B = rng(8).normal(size=(25, 3)), rng(9).normal(size=(31, 3))
    same = [shift_test(A, B, random_state=3) for _ in range(2)]
    assert same[0] == same[1]


def test_no_column_is_named_where_the_whole_is_not():
    for seed in range(30):
        A, B = rng([seed, 1]).normal(size=(40, 5)), rng([seed, 2]).normal(size=(40, 5)) + 0.15
        found = found_in(A, B, permutations=99)
        assert found.differs or not found.findings
        if found.pvalue > 1.5 / (1 + found.n_permutations):
            assert (found.evidence.adjusted >= found.pvalue).all()


def test_adjusted_p_values_rise_with_what_is_less_sure():
    A, B = rng(1).normal(size=(100, 6)), rng(2).normal(size=(100, 6)) + np.linspace(0, 1, 6)
    evidence = found_in(A, B).evidence
    p = evidence.adjusted[np.argsort(evidence.log_p, kind="stable")]
    assert (np.diff(p) >= 0).all()
    assert 0 < p[0] <= p[-1] <= 1


def test_rare_counts_have_their_hypergeometric_mid_p():
    n, k, n_a = 60, 7, 25
    law = stats.hypergeom(n, k, n_a)
    x = np.arange(k + 1)
    up, down = law.sf(x - 1) - law.pmf(x) / 2, law.cdf(x) - law.pmf(x) / 2
    z = np.where(up < 0.5, -stats.norm.ppf(up), stats.norm.ppf(down))
    np.testing.assert_allclose(_rare_z(n, k, n_a), z, rtol=1e-9)


def test_large_sets_count_all_their_rows():
    A, B = rng(1).normal(size=(2, 40_000, 3))
    B[:, 1] += 0.05  # 1.8 standard errors in the rows that are relabelled, 7 in all
    found = shift_test(A, B)
    assert found.pvalue == 0.001
    assert [one.column for one in found.findings] == ["x1"]
    assert found.findings[0].rows == 80_000


def test_a_comparison_of_very_many_rows_counts_all_of_them():
    """Of a set 100,000 rows are kept, and 2,500 relabelled: these are no evidence."""
    A, B = rng(3).normal(size=(2, 400_000, 3))
    B[:, 1] += 0.03
    found = compare(A, B, curve=None)
    assert found.p == 0.001
    assert [one.column for one in found.findings] == ["x1"]


def test_levels_and_gaps_of_very_many_rows_are_all_counted():
    """Seven in a thousand more of a level and of gaps: no evidence in the rows that are kept."""

    def table(seed, more):
        draw = rng(seed)
        kind = np.where(draw.random(120_000) < 0.2 + more, "b", "a")
        gaps = draw.random(120_000) < 0.1 + more
        return pd.DataFrame({"kind": kind, "x": np.where(gaps, np.nan, draw.normal(size=120_000))})

    found = compare(table(0, 0.0), table(1, 0.007))
    assert {(one.kind, one.column) for one in found.findings} == {
        ("level", "kind"),
        ("missing", "x"),
    }


def test_groups_of_rows_are_relabelled_together():
    """Rows of a patient resemble each other: forty patients are no 400 rows."""
    alone, together = 0, 0
    for seed in range(20):
        draw = rng(seed)
        patient = np.repeat(np.arange(40), 10)
        X = draw.normal(size=(40, 2))[patient] + 0.5 * draw.normal(size=(400, 2))
        A, B = X[:200], X[200:]
        alone += shift_test(A, B, n_permutations=39).pvalue <= 0.05
        together += shift_test(A, B, n_permutations=39, groups=patient).pvalue <= 0.05
    assert alone >= 15
    assert together <= 4
    with pytest.raises(InputError, match="one label for each of the 400 rows"):
        shift_test(A, B, groups=patient[:7])


@pytest.mark.parametrize(
    ("A", "B", "options", "message"),
    [
        (np.ones((5, 2)), np.ones((6, 2)), {}, "constant rows"),
        (np.zeros((0, 2)), np.ones((6, 2)), {}, "A"),
        (np.eye(3), np.eye(6)[:, :3], {}, "A has 3 rows"),
        (np.eye(6), np.eye(5), {}, "B has 5 features where 6 are expected"),
        (np.full((6, 2), np.nan), np.eye(6)[:, :2], {}, "A contains NaN"),
        (np.eye(6), np.eye(6) * 2, {"n_permutations": 18}, "n_permutations"),
        (np.eye(6), np.eye(6) * 2, {"n_permutations": 99.5}, "n_permutations"),
        (np.eye(6), np.eye(6) * 2, {"random_state": 1.5}, "random_state"),
    ],
)
def test_shift_test_says_what_is_wrong(A, B, options, message):
    with pytest.raises(InputError, match=message):
        shift_test(A, B, **options)


def test_tables_with_columns_in_another_order_are_refused():
    A = pd.DataFrame(rng().normal(size=(20, 3)), columns=["x", "y", "z"])
    with pytest.raises(InputError, match="B has A's columns in another order"):
        shift_test(A, A[["z", "y", "x"]])


# ---- what is to blame ---------------------------------------------------------------------------


def patients():
    table = load_diabetes(as_frame=True, scaled=False).data
    return table.assign(sex=table["sex"].map({1.0: "f", 2.0: "m"}))


TABLES = {
    "made": (lambda: (mixed(700, 1), mixed(700, 2)), "age", "pay", "town", "Oslo"),
    "patients": (
        lambda: (patients().iloc[::2], patients().iloc[1::2].reset_index(drop=True)),
        "bmi", "s4", "sex", "f",
    ),
}  # fmt: skip


def shifted(b, x, y, g, level):
    return b.assign(**{x: (b[x] + 0.8 * b[x].std()).round(1)}), "mean", x


def widened(b, x, y, g, level):
    return b.assign(**{x: b[x].mean() + 2 * (b[x] - b[x].mean())}), "spread", x


def collapsed(b, x, y, g, level):
    return b.assign(**{g: level}), "level", g


def missing(b, x, y, g, level):
    return b.assign(**{x: b[x].where(rng(8).random(len(b)) > 0.2)}), "missing", x


def sentinel(b, x, y, g, level):
    return b.assign(**{x: b[x].where(rng(8).random(len(b)) > 0.2, -999.0)}), "value", x


def rounded(b, x, y, g, level):
    return b.assign(**{x: b[x].round(-1)}), "rounding", x


def permuted(b, x, y, g, level):
    return b.assign(**{y: rng(9).permutation(b[y].to_numpy())}), None, y


def copied(b, x, y, g, level):
    return b.assign(**{x: b[y]}), "copy", x


def swapped(b, x, y, g, level):
    return b.assign(**{x: b[y], y: b[x]}), "swap", x


def subgroup(b, x, y, g, level):
    inside = b[g] == level
    return b.assign(**{x: b[x].where(~inside, b[x] + 1.5 * b[x].std())}), "where", x


FAULTS = [
    shifted, widened, collapsed, missing, sentinel, rounded, permuted, copied, swapped, subgroup,
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_named_first(fault, table):
    halves, *columns = TABLES[table]
    a, b = halves()
    b, kind, column = fault(b, *columns)
    found = compare(a, b, curve=None)
    first = found.findings[0]
    assert found.p <= 0.002
    if kind == "swap":
        assert {first.column, first.second} == set(columns[:2])
    elif kind is None:  # a broken relation may be blamed on either of the two
        assert column in (first.column, first.second)
    else:
        assert first.column == column
    if kind == "where":
        assert first.where == (columns[2], columns[3]) or first.second == columns[2]
        inside = [t.loc[t[columns[2]] == columns[3], column].mean() for t in (a, b)]
        assert (first.a, first.b) == pytest.approx(inside) or first.kind not in ("mean", "inside")
    elif kind in ("copy", "swap", "missing", "level", "value", "mean"):
        assert first.kind == kind


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_repeat_are_said_first_and_do_not_bend_the_rest(table):
    a, b = TABLES[table][0]()
    n = len(b) // 3
    b = pd.concat([b, b.iloc[:n]], ignore_index=True)
    found = compare(a, b, curve=None)
    assert (found.findings[0].kind, found.findings[0].detail) == ("repeated rows", "within B")
    assert found.findings[0].a == n
    assert len(found.findings) == 1
    assert f"{n} rows of B repeat an earlier row; otherwise" in str(found.verdict)


def test_rows_repeat_in_sets_that_differ_in_every_column_too():
    A, B = rng(0).normal(size=(2, 200, 3))
    A[:40] = A[40:80]
    assert compare(A, B + 5).findings[0].detail == "within A"


def test_copies_are_seen_among_rows_that_only_one_column_tells_apart():
    draw = np.random.default_rng(0)
    some = (draw.integers(1, 12, (2, 200, 3)) * (draw.random((2, 200, 1)) < 0.95)).astype(float)
    A, B = np.concatenate([some, draw.random((2, 200, 1))], axis=2)
    B[:40] = B[40:80]
    assert shift_test(A, B, n_permutations=99).findings[0].kind == "repeated rows"


def test_rows_that_meet_by_chance_are_no_copies():
    A, B = rng(1).integers(0, 3, (2, 300, 2)).astype(float)
    assert shift_test(A, B).findings == ()


def test_categories_that_differ_are_no_copies():
    draw = rng(3)
    A, B = (
        pd.DataFrame({f"c{j}": np.where(draw.random(500) < p, "yes", "no") for j in range(3)})
        for p in (0.2, 0.6)
    )
    found = compare(A, B)
    assert found.p == 0.001
    assert {one.kind for one in found.findings} == {"level"}


def test_rows_that_a_torn_column_keeps_apart_in_the_other_set_are_no_copies():
    draw = rng(3)
    kinds = draw.normal(size=(400, 4))
    kinds[:, 3] = kinds[:, 0]
    A, B = (kinds[draw.integers(0, 400, 200)] for _ in range(2))
    B[:, 3] = draw.permutation(B[:, 3])
    found = shift_test(A, B).findings
    assert found[0].kind != "repeated rows"
    assert {one.column for one in found} <= {"x0", "x3"}


def test_sets_are_unlike_in_a_frequent_value_whatever_the_order_of_values():
    codes = rng(4).integers(0, 8, 1000).astype(float)
    assert _alike(codes, 500)
    gaps, near = codes.copy(), codes.copy()
    gaps[500:][codes[500:] == 7] = np.nan
    near[500:][codes[500:] == 4] = 5  # hardly any distance in order
    assert not _alike(gaps, 500)
    assert not _alike(near, 500)
    assert _alike(rng(5).normal(size=1000), 500)
    assert not _alike(np.round(codes + np.repeat([0, 1], 500)), 500)


@pytest.mark.filterwarnings("ignore:Left out")
def test_names_tell_copies_from_rows_of_equal_numbers():
    a, b = (with_texts(400, seed)[["note"]] for seed in (1, 2))
    for k, one in enumerate((a, b)):
        one["x"], one["y"] = rng(k).integers(0, 12, (2, 400))
    assert compare(a, b).findings == ()
    b.iloc[:40] = b.iloc[40:80].to_numpy()
    (first,) = compare(a, b).findings
    assert (first.kind, first.detail) == ("repeated rows", "within B")
    assert 40 <= first.a < 50  # some repeat by chance


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_copy_is_seen_whatever_its_gaps_and_its_scale(scale):
    draw = rng(4)
    A, B = (pd.DataFrame(draw.normal(size=(400, 3)), columns=list("xyz")) for _ in range(2))
    A["y"], B["y"] = A["y"] - A["x"], scale * B["y"].where(draw.random(400) > 0.2)
    B["x"] = B["y"]
    first = compare(A, B).findings[0]
    assert first.kind == "copy"
    assert {first.column, first.second} == {"x", "y"}


def test_findings_are_in_the_order_of_their_p_values():
    A, B = rng(5).normal(size=(2, 500, 6))
    A[:, 1] += 2 * A[:, 0]
    A[:, 1] /= 5**0.5
    B[:, 3] += 0.35
    found = shift_test(A, B).findings
    assert found[0].column in ("x0", "x1")
    assert found[1].column == "x3"
    assert found[0].p < found[1].p


def test_a_relation_that_turns_round_is_found_and_neither_column_by_itself():
    A, B = rng(1).normal(size=(2, 300, 4))
    A[:, 1], B[:, 1] = A[:, 1] + A[:, 0], B[:, 1] - B[:, 0]
    found = compare(A, B)
    first = found.findings[0]
    assert {first.column, first.second} == {"x0", "x1"}
    (pair,) = found.feature_pairs.changed
    assert (pair.first, pair.second) == ("x0", "x1")
    assert pair.r_a > 0.6
    assert pair.r_b < -0.6


def test_a_category_that_fits_no_number_any_more_is_named_and_not_a_number_in_it():
    draw = rng(6)
    A, B = (pd.DataFrame({"g": draw.choice(["u", "v", "w"], 600)}) for _ in range(2))
    for one in (A, B):
        for name in "xyz":
            one[name] = draw.normal(size=600) + 2 * (one["g"] == "u")
    B["g"] = B["g"].map({"u": "v", "v": "w", "w": "u"})
    assert [one.column for one in compare(A, B, curve=None).findings] == ["g"]


def test_a_number_that_moved_against_another_says_how_far():
    A = rng(5).normal(100, 20, size=(400, 1))
    B = A[::-1]
    A, B = (np.hstack([X, 0.1 * X + rng(k).normal(0, 0.3, X.shape)]) for k, X in enumerate((A, B)))
    B[:, 1] += 0.25  # an eighth of its spread, and most of what the other column leaves open
    first = compare(A, B).findings[0]
    assert (first.kind, {first.column, first.second}) == ("given", {"x0", "x1"})
    assert abs(first.b - first.a) == pytest.approx(0.25 if first.column == "x1" else 2.5, rel=0.15)


def flown(n, seed):
    """Flights of three airports: the time in the air follows the distance."""
    draw = rng(seed)
    miles = draw.choice([200.0, 700.0, 1100.0, 2500.0], n, p=[0.3, 0.3, 0.3, 0.1])
    to = np.array(["BOS", "ORD", "MIA", "LAX"])[np.searchsorted([200, 700, 1100, 2500], miles)]
    time = 20 + 0.12 * miles + draw.normal(0, 6, n)
    airport = draw.choice(["EWR", "JFK", "LGA"], n)
    return pd.DataFrame({"miles": miles, "to": to, "time": time, "airport": airport})


def test_what_moved_everywhere_is_not_said_of_one_level():
    """Headwinds take longer the further it is: most in one destination, and in the others, too."""
    a, b = flown(900, 1), flown(900, 2)
    b["time"] += 0.008 * b["miles"]
    (first,) = compare(a, b, curve=None).findings
    assert (first.column, first.where) == ("time", None)


def test_what_moved_in_one_level_is_said_of_it_alone():
    a, b = flown(900, 1), flown(900, 2)
    b["time"] += 8.0 * (b["to"] == "LAX")
    (first,) = compare(a, b, curve=None).findings
    assert (first.column, first.where or (first.second, first.detail)) == ("time", ("to", "LAX"))


def test_columns_that_only_look_like_each_other_are_not_swapped():
    """Each has the other's distribution in B, but its own relation to the rest."""
    a, b = (pd.DataFrame(rng(k).normal(size=(400, 3)), columns=["x", "y", "rest"]) for k in (1, 2))
    for table, x, y in ((a, 0, 3), (b, 3, 0)):
        table["x"] = x + 0.8 * table["rest"] + 0.6 * table["x"]
        table["y"] += y
    assert {one.kind for one in compare(a, b, curve=None).findings} == {"mean"}
    b["x"], b["y"] = b["y"] + 3, b["x"] - 3
    (first,) = compare(a, b, curve=None).findings
    assert (first.kind, set(first.columns)) == ("swap", {"x", "y"})


def test_rare_values_of_a_text_have_no_made_up_name():
    draw = rng(2)
    a, b = (pd.DataFrame({"note": [f"n{k}" for k in draw.zipf(1.2, 900) % 400],
                          "x": draw.normal(size=900)}) for _ in range(2))  # fmt: skip
    b["note"] = b["note"].where(~b["note"].isin([f"n{k}" for k in range(9, 400)]), "n1")
    found = compare(a, b, curve=None)
    assert "(other)" not in str(found)
    assert "note" in found.verdict.features


def test_truth_values_are_spelled_as_the_user_spells_them():
    a, b = mixed(500, 1), mixed(500, 2)
    for table in (a, b):
        table["open"] = np.where(table["open"], "Yes", "No")
    b.loc[b["open"] == "Yes", "hours"] += 12
    assert compare(a, b, curve=None).findings[0].where == ("open", "Yes")


def test_a_total_that_is_no_sum_any_more_is_found():
    A, B = rng(1).normal(10, 2, size=(2, 400, 3))
    A, B = (np.column_stack([X, X.sum(axis=1)]) for X in (A, B))
    B[:24, 3] += rng(2).normal(0, 3, 24)
    found = shift_test(A, B)
    assert found.pvalue <= 0.01


# ---- texts, dates, units ------------------------------------------------------------------------

WORDS = ("red", "green", "Äpfel", "fast", "slow", "one", "two")


def with_texts(n, seed):
    draw = rng([seed, 9])
    notes = [" ".join(draw.choice(WORDS, draw.integers(3, 9))) for _ in range(n)]
    ids = [f"AB-{k:08d}" for k in draw.permutation(10**6)[:n]]
    return mixed(n, seed).assign(ref=ids, note=notes)


TEXT_FAULTS = {
    "cut": ("ref", lambda text: text.str[:7], "length"),
    "capitals": ("note", lambda text: text.str.upper(), "capitals"),
    "encoded again": ("note", lambda text: text.str.replace("Ä", "Ã¤"), None),
    "padded": ("note", lambda text: text + "   ", "blanks"),
}


@pytest.mark.filterwarnings("ignore:Left out")
@pytest.mark.parametrize("fault", TEXT_FAULTS)
def test_texts_that_are_written_differently_are_named(fault):
    column, change, part = TEXT_FAULTS[fault]
    a, b = with_texts(500, 1), with_texts(500, 2)
    some = rng(3).random(500) < 0.2
    b.loc[some, column] = change(b.loc[some, column])
    found = compare(a, b, curve=None)
    (first,) = found.findings
    assert (found.p, first.kind, first.column) == (0.001, "text", column)
    assert part in (None, first.part)
    assert found.features[column].kind == "text"
    assert found.verdict.shares == {}
    json.loads(found.to_json())


@pytest.mark.filterwarnings("ignore:Left out")
def test_texts_that_are_gone_are_missing():
    a, b = with_texts(500, 1), with_texts(500, 2)
    b.loc[::5, "note"] = None
    (first,) = compare(a, b, curve=None).findings
    assert (first.kind, first.column, first.b) == ("missing", "note", 0.2)


def test_dates_have_a_day_of_the_week():
    a, b = mixed(500, 1), mixed(500, 2)
    sundays = b["since"].dt.day_of_week == 6
    b.loc[sundays, "since"] += pd.Timedelta(days=1)
    first = compare(a, b, curve=None).findings[0]
    assert (first.kind, first.column, first.part) == ("level", "since", "weekday")
    assert first.detail in ("Sunday", "Monday")


def test_another_unit_is_a_change_of_the_average_beyond_the_range():
    draw = rng(5)
    A, B = (np.column_stack([draw.normal(size=400), draw.gamma(40, 0.5, 400)]) for _ in range(2))
    B[:, 1] *= 1000
    first = compare(A, B, curve=None).findings[0]
    assert (first.column, first.kind) == ("x1", "mean")
    assert first.beyond > 0.9


def test_what_could_have_been_seen_is_seen_in_four_of_five():
    """A shift by the smallest change, in fresh rows of the same kind."""
    smallest = found_in(*rng(0).normal(size=(2, 200, 5))).smallest["x1"]
    named = 0
    for seed in range(40):
        A, B = rng([seed, 1]).normal(size=(2, 200, 5))
        B[:, 1] += smallest.mean
        named += "x1" in {one.column for one in found_in(A, B, permutations=199).findings}
    assert 26 <= named <= 39  # 80 % of 40, and two and a half standard errors


def test_no_difference_says_what_would_have_been_seen():
    found = compare(mixed(300, 3), mixed(300, 4), curve=None)
    said = [one for one in found.verdict.sentences if "would most likely have been seen" in one]
    assert (found.verdict.differs, len(said)) == (False, 1)
    assert found.verdict.smallest["town"].share == pytest.approx(0.15, abs=0.03)


# ---- the size -----------------------------------------------------------------------------------


def angles(a, b, n, seed):
    return rng(seed).beta(a, b, n) * math.pi / 2


def test_distances_are_those_of_the_histograms():
    a, b = angles(3, 6, 150, 0), angles(6, 3, 90, 1)
    result = separation(a, b, bins=20)
    P, Q = angle_histogram(a, 20), angle_histogram(b, 20)
    assert (result.fisher_rao, result.hellinger) == (fisher_rao(P, Q), hellinger(P, Q))
    assert result.overlap == overlap(P, Q)
    assert result.auc == pytest.approx(rank_auc(a, b), abs=1e-12)
    assert (result.n_a, result.n_b) == (150, 90)


@pytest.mark.parametrize("n", [5, 60, 3000])
def test_the_interval_holds_its_value_and_stays_in_range(n):
    size = separation(angles(2, 5, n, 2), angles(5, 2, n, 3)).auc
    assert 0 <= size.low < size <= size.high <= 1
    assert size > 0.7
    turned = separation(math.pi / 2 - angles(5, 2, n, 3), math.pi / 2 - angles(2, 5, n, 2)).auc
    assert (turned, turned.low, turned.high) == pytest.approx((size, size.low, size.high))


def test_the_interval_covers_the_truth():
    truth, n, missed = stats.norm.cdf(0.5 / math.sqrt(2)), 60, 0
    for seed in range(300):
        draw = rng(seed)
        folds = [Fold(draw.normal(size=n), draw.normal(0.5, size=n))]
        size = size_of(folds)
        missed += not size.low <= truth <= size.high
    assert missed <= 26  # 5 % of 300 are 15, and three standard errors


def test_a_perfect_separation_of_few_rows_is_not_certain():
    size = size_of([Fold(np.arange(6.0), np.arange(10.0, 16.0))])
    assert size == size.high == 1
    assert 0.5 < size.low < 0.9


def test_the_variance_is_delongs():
    a, b = rng(1).normal(size=40), rng(2).normal(0.5, size=50)
    above = [(b > x).mean() for x in a]
    below = [(a < y).mean() for y in b]
    variance = np.var(above, ddof=1) / 40 + np.var(below, ddof=1) / 50
    assert delong(Fold(a, b)) == pytest.approx((np.mean(above), variance))


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([], [0.1], {}, "theta_a must be one row of angles"),
        ([0.1], [], {}, "theta_b must be one row of angles"),
        ([0.1, math.nan], [0.2], {}, "theta_a must be one row of angles"),
        ([12.0], [80.0], {}, "radians"),
        ([0.1], [0.2], {"bins": -1}, "bins"),
    ],
)
def test_separation_refuses_what_it_cannot_measure(a, b, options, message):
    with pytest.raises(InputError, match=message):
        separation(a, b, **options)


# ---- a comparison -------------------------------------------------------------------------------


def test_a_comparison_has_one_p_value_one_size_and_findings():
    A, B = mixed(300, 1), mixed(300, 2)
    B["age"] += 6
    found = compare(A, B)
    assert found.p == found.verdict.pvalue == 0.001
    assert found.size == found.verdict.auc
    assert 0.5 < found.size.low < found.size < found.size.high < 1
    assert found.findings == found.verdict.findings
    assert found.verdict.rows_tested == (300, 300)
    assert found.verdict.features[0] == found.features[0].name == "age"


def test_the_linear_span_has_findings_and_no_parts():
    A, B = rng(1).normal(size=(2, 200, 4))
    B[:, 2] *= 3
    found = compare(A, B, preset="paper")
    assert (found.p, found.findings[0].column) == (0.001, "x2")
    assert found.verdict.shares == {}
    json.loads(found.to_json())


def test_too_few_rows_have_no_p_value_and_say_so():
    found = compare(rng(1).normal(size=(3, 2)), rng(2).normal(size=(30, 2)))
    assert math.isnan(found.p)
    assert found.findings == ()
    said = [str(note) for note in found.warnings]
    assert "There is no p-value: a test needs at least 4 rows in each set." in said
    assert found.verdict.sentences[0] == "There are too few rows to test whether A and B differ."
    told = json.loads(found.to_json())
    (pair,) = told["pairs"]
    assert told["p"] is pair["p"] is pair["changes"]["verdict"]["pvalue"] is None


def test_so_few_relabellings_are_refused():
    A, B = rng(1).normal(size=(2, 20, 2))
    with pytest.raises(InputError, match="n_permutations must be a whole number of at least 19"):
        compare(A, B, n_permutations=18)


def test_many_sets_have_findings_for_every_pair():
    tables = {name: mixed(200, seed) for seed, name in enumerate("abc")}
    tables["c"]["hours"] += 6
    found = compare(tables)
    assert not found.pair("a", "b").verdict.differs
    assert found.pair("a", "c").verdict.features == ("hours",)
    assert found.sizes[0, 2] > found.sizes[0, 1]


# ---- as data, and in words ----------------------------------------------------------------------


def measured(seed):
    draw = rng(seed)
    speed = draw.normal(90, 5, 600)
    table = {"speed": speed, "end": 0.9 * speed + draw.normal(0, 0.5, 600)}
    return pd.DataFrame({**table, "score": draw.integers(0, 8, 600)})


def test_a_few_absurd_values_are_said_as_such():
    """Few rows, whatever else moves a little; in columns of few values, too; shares are of rows."""
    a, b = measured(1), measured(2)
    b.loc[:17, "speed"] *= 1000
    (found,) = compare({"ref": a, "new": b}).findings
    assert str(found) == "speed is outside the range of ref in 3% of new."
    a, b = measured(1), measured(2)
    b.loc[:17, "score"] = -999
    a.loc[300:, "score"] = b.loc[300:, "score"] = np.nan
    (found,) = compare({"ref": a, "new": b}).findings
    assert str(found) == "score is exactly -999 in 3% of new, never in ref."


def test_whole_numbers_of_few_values_confine_a_change():
    a, b = measured(1), measured(2)
    b.loc[b["score"] == 5, "speed"] += 8
    found = compare(a.drop(columns="end"), b.drop(columns="end")).findings
    assert [one.where for one in found] == [("score", "5")]


def test_findings_are_plain_data():
    A, B = mixed(300, 1), mixed(300, 2)
    B["age"] += 6
    B.loc[::7, "hours"] = np.nan
    rows = [one.to_dict() for one in compare(A, B).findings]
    again = json.loads(json.dumps(rows, allow_nan=False))
    assert [row["kind"] for row in again] == ["mean", "missing"]
    assert {*again[0], "sets", "of"} == set(Finding.__dataclass_fields__)


SENTENCES = {
    "age rose from 32.4 to 45.1.": Finding("mean", "age", a=32.4, b=45.1),
    "age rose from 32 to 45, partly beyond the range of June.": Finding(
        "mean", "age", a=32.0, b=45.0, beyond=0.3
    ),
    "age varies 20% less in July.": Finding("spread", "age", a=1.0, b=0.8),
    "age varies 3 times as much in July.": Finding("spread", "age", a=1.0, b=3.0),
    "age does not vary in July.": Finding("spread", "age", a=1.0, b=0.0),
    "Rows with age up to 40 rose from 35% to 46%.": Finding(
        "shape", "age", detail="40.0", a=0.35, b=0.46
    ),
    "Rows with age up to 41 fell from 72% to 1%.": Finding(
        "shape", "age", detail="41.0", a=0.72, b=0.01, beyond=0.05
    ),
    "age is outside the range of June in 30% of July.": Finding(
        "shape", "age", detail="42.0", a=0.9, b=0.6, beyond=0.3
    ),
    "town = Oslo fell from 30% to 20%.": Finding("level", "town", detail="Oslo", a=0.3, b=0.2),
    "town is Rome in 5% of July, never in June.": Finding(
        "level", "town", detail="Rome", a=0.0, b=0.05
    ),
    "Sundays in day fell from 14% to 2%.": Finding(
        "level", "day", detail="Sunday", part="weekday", a=0.14, b=0.02
    ),
    "age is exactly -999 in 8% of July, never in June.": Finding(
        "value", "age", detail="-999.0", a=0.0, b=0.08
    ),
    "age is missing in 11% of July, never in June.": Finding("missing", "age", a=0.0, b=0.11),
    "age is missing in 11% of July, up from 4%.": Finding("missing", "age", a=0.04, b=0.11),
    "age is a whole number in 2% of July, down from 100%.": Finding(
        "rounding", "age", detail="1", a=1.0, b=0.02
    ),
    "note has fewer characters in July: 20 on average, 40 in June.": Finding(
        "text", "note", part="length", a=40.0, b=20.0
    ),
    "note has more capitals in July: 9 on average, 2 in June.": Finding(
        "text", "note", part="capitals", a=2.0, b=9.0
    ),
    "pay has 3 infinite or absurd values in July, counted as missing.": Finding(
        "absurd", "pay", a=0.0, b=3.0
    ),
    "For the same pay, age is 4.2 higher in July.": Finding("given", "age", "pay", a=30.1, b=34.3),
    "age follows pay less closely in July.": Finding("scatter", "age", "pay", a=1.0, b=1.4),
    "sum follows from the other columns, but not in 5% of July.": Finding(
        "identity", "sum", a=0.0, b=0.05
    ),
    "The correlation of age and pay rose from 0.16 to 0.37.": Finding(
        "relation", "age", "pay", a=0.16, b=0.37
    ),
    "The curved relation of age and pay is stronger in July.": Finding(
        "relation", "age", "pay", detail="²", a=0.01, b=0.4
    ),
    "Where town = Oslo, age rose from 40 to 45.": Finding(
        "inside", "age", "town", detail="Oslo", a=40.0, b=45.0
    ),
    "Where town = Oslo, age varies 20% less in July.": Finding(
        "inside", "age", "town", detail="Oslo", part="spread", a=1.0, b=0.8
    ),
    "age equals pay in 9% of July, up from 2%.": Finding(
        "relation", "age", "pay", detail="equal", a=0.02, b=0.09
    ),
    "Rare values of town fell from 30% to 20%.": Finding(
        "level", "town", detail="(other)", a=0.3, b=0.2
    ),
    "age is a copy of pay in July.": Finding("copy", "age", "pay", a=0.0, b=1.0),
    "age and pay look swapped in July.": Finding("swap", "age", "pay"),
    "60 rows of July repeat an earlier row.": Finding("repeated rows", detail="within B", a=60.0),
    "60 rows of July are also in June.": Finding("repeated rows", detail="in both", a=60.0),
    "age rose from 40 to 45, but only where town = Oslo.": Finding(
        "mean", "age", a=40.0, b=45.0, where=("town", "Oslo")
    ),
    "town has values in July that June does not have: Ulm (5% of the rows).": Finding(
        "new levels", "town", a=0.0, b=0.05, levels=("Ulm",)
    ),
    "town has values in June that July does not have: Rome and Oslo (5% of the rows).": Finding(
        "vanished levels", "town", a=0.05, b=0.0, levels=("Rome", "Oslo")
    ),
    "pay does not vary in June.": Finding("constant", "pay", detail="in A", a=0.0, b=3.0),
    "age is 7 in every row.": Finding("constant", "age", detail="in both", a=7.0, b=7.0),
    "age is -999 in 5 rows of July; in June it is at least 0.": Finding(
        "outlying", "age", detail="in B", a=-999.0, b=0.0, rows=5
    ),
    "day is written as 1.2.2024 in June and as 2/1/2024 in July.": Finding(
        "writing", "day", levels=("1.2.2024", "2/1/2024")
    ),
    "day ends on 2024-01-01 in June and begins on 2024-01-11 in July: it is not compared.": Finding(
        "times", "day", a=19723.0, b=19733.0
    ),
    "There is no data in July, where data was due.": Finding("no data"),
    "60 rows of July are far outside all other times.": Finding("far", rows=60),
    "1 row of July is far outside all other times.": Finding("far", rows=1),
    "July has the same rows as May.": Finding("repeated window", detail="May"),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_every_kind_of_finding_has_its_sentence(text):
    assert sentence(SENTENCES[text], ("June", "July")) == text
    assert sentence(SENTENCES[text], ("data/June.csv", "July.parquet")) == text
    assert len(text.split()) <= 25


def test_two_constants_differ_in_their_values():
    rng = np.random.default_rng(0)
    sets = []
    for n, step, year in ((100, 0.0, 2020), (200, 0.5, 2021)):
        z = rng.normal(size=n)
        sets.append(pd.DataFrame({"x": z + step, "z": z, "year": year}))
    found = compare(*sets, keep=["year"], n_permutations=99)
    assert "year rose from 2020 to 2021." in found.verdict.sentences


def test_no_kind_is_without_a_sentence():
    schema = {"only in", "renamed", "retyped", "lacking"}  # said by the data room
    assert {one.kind for one in SENTENCES.values()} == set(_WRITERS) - schema


@pytest.mark.parametrize(("kind", "factor", "step"), [("spread", 1.43, 0.0), ("mean", 1.0, 5.5)])
def test_whole_numbers_that_are_none_any_more_are_said_after_what_they_became(kind, factor, step):
    A, B = np.round(50 + 12 * rng(2).normal(size=(2, 300, 2)))
    B[:, 1] = 50 + step + factor * (B[:, 1] - 50)
    (first,) = compare(A, B, curve=None, n_permutations=99).findings
    assert (first.kind, first.column) == (kind, "x1")


def test_the_average_is_said_first_where_it_moved_by_a_standard_deviation():
    draw = rng(0)
    A, B = draw.normal(size=(400, 2)), draw.normal(size=(40, 2))
    B[:, 1] = 2 + 0.3 * B[:, 1]
    first, *_ = compare(A, B, curve=None, n_permutations=99).findings
    assert (first.kind, first.column) == ("mean", "x1")


def test_dates_and_times_are_in_their_own_units():
    later = Finding("mean", "day", a=19723.0, b=19733.0, of="date")
    assert sentence(later, ("A", "B")) == "day moved from 2024-01-01 to 2024-01-11."
    clock = Finding("mean", "at", a=23.5, b=0.5, of="time of day")
    assert sentence(clock, ("A", "B")) == "at moved from 23:30 to 00:30."


def test_sizes_in_words():
    assert size_sentence(Size(0.85)).endswith("which is which 85 times in 100 (guessing: 50).")
    assert [of_hundred(x) for x in (0.5, 0.996, 1.0)] == ["50", "over 99", "100"]


def test_levels_may_have_any_characters():
    """A relation of levels is held by their names, whatever these are made of."""
    draw = rng(0)
    a, b = (pd.DataFrame({"unit": draw.choice(["m²", "a\0b"], 300), "x": draw.normal(size=300)})
            for _ in range(2))  # fmt: skip
    b["x"] += 3.0 * (b["unit"] == "m²") - 1.5
    found = compare(a, b, n_permutations=99)
    assert found.p <= 0.05
    assert {found.findings[0].column, found.findings[0].second} <= {"unit", "x", ""}
