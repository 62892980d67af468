"""What is said of a set's own rows comes from models that these rows had no part in."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cospan import JointFrame, compare
from cospan.data import open_source
from cospan.errors import InputError
from cospan.summary import (
    Summary,
    SummaryBuilder,
    SummaryOptions,
    best_salt,
    dealt_by_key,
    dealt_by_number,
    fold_count,
)

SETTLED = {"units": "own", "shrinkage": 0.2, "pooling": 0.0, "dof": 1.0, "curve": None}
QUICK = {"n_permutations": 19}


def pair(n=150, m=120, d=4, shift=0.8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)) * 1.2 + shift


# ---- dealing ----------------------------------------------------------------------------------


def test_folds_are_of_one_size_and_do_not_depend_on_chunks():
    whole = dealt_by_number(np.arange(1003), 5)
    assert_array_equal(np.sort(np.bincount(whole)), [200, 200, 201, 201, 201])
    parts = [dealt_by_number(np.arange(i, min(i + 17, 1003)), 5) for i in range(0, 1003, 17)]
    assert_array_equal(np.concatenate(parts), whole)
    assert np.corrcoef(whole[:-1], whole[1:])[0, 1] < 0.1


def test_rows_of_one_key_share_a_fold():
    keys = np.random.default_rng(0).integers(0, 9, 200).astype(np.uint64)
    salt = best_salt([keys, keys[:50]], 5)
    dealt = dealt_by_key(keys, 5, salt)
    assert len(set(zip(keys.tolist(), dealt.tolist(), strict=True))) == len(set(keys.tolist()))
    assert np.bincount(dealt).max() < 120
    assert best_salt([keys, keys[:1]], 5) is None


def test_very_wide_data_has_two_folds_unless_its_rows_are_few():
    assert [fold_count(d, n) for d, n in ((4096, None), (5000, 9999), (5000, 300))] == [5, 2, 5]


@pytest.mark.parametrize(("n", "d"), [(60, 3), (30, 200)])
@pytest.mark.parametrize("exact", [True, False])
def test_folds_merge_to_the_summary_of_all_rows(n, d, exact):
    X = np.random.default_rng(0).normal(5, 2, size=(n, d))
    builder = SummaryBuilder(SummaryOptions(exact, sample_size=100, numbered=True), n_folds=5)
    for start in range(0, n, 7):
        builder.take(X[start : start + 7])
    folds, dealt = builder.folded(), dealt_by_number(np.arange(n), 5)
    others = [(folds.whole, X), *((folds.without(k), X[dealt != k]) for k in range(5))]
    for found, rows in others:
        expected = Summary.of(rows, exact=exact)
        assert found.count == len(rows) == len(found.sample)
        assert_allclose(found.mean, expected.mean, rtol=1e-13)
        assert_allclose(found.scatter_about(), expected.scatter_about(), atol=1e-10 * n)


# ---- scores -----------------------------------------------------------------------------------


def test_own_rows_are_scored_by_the_frame_of_the_other_folds():
    A, B = pair()
    found = compare(A, B, **SETTLED, **QUICK)
    for fold in range(5):
        a, b = (dealt_by_number(np.arange(len(X)), 5) for X in (A, B))
        frame = JointFrame.fit(A[a != fold], B[b != fold], **SETTLED)
        for group, X, dealt in ((found.groups[0], A, a), (found.groups[1], B, b)):
            mine, scored = dealt == fold, frame.align(X[dealt == fold])
            assert_array_equal(group.dealt, dealt)
            assert_allclose(group.alignment.cost_a[mine], scored.cost_a, rtol=1e-10)
            assert_allclose(group.alignment.cost_b[mine], scored.cost_b, rtol=1e-10)


def test_a_row_says_nothing_about_itself_nor_about_its_fold():
    """A row that becomes another changes no cost of the rows in its fold."""
    A, B = pair()
    before = compare(A, B, **SETTLED, **QUICK)
    dealt = before.groups[0].dealt
    A[3] = 9.0
    after = compare(A, B, **SETTLED, **QUICK)
    same = (dealt == dealt[3]) & (np.arange(len(A)) != 3)
    one, other = before.groups[0].alignment, after.groups[0].alignment
    assert_allclose(other.cost_a[same], one.cost_a[same], rtol=1e-12)
    assert np.abs(other.cost_a[dealt != dealt[3]] / one.cost_a[dealt != dealt[3]] - 1).max() > 1e-3


def test_chunks_give_the_same_scores():
    A, B = pair(900, 700)
    found = compare(A, B, **SETTLED, **QUICK)
    chunked = compare(
        open_source(A, chunk_rows=31), open_source(B, chunk_rows=50), **SETTLED, **QUICK
    )
    for mine, group in zip(chunked.groups, found.groups, strict=True):
        assert_allclose(mine.alignment.theta, group.alignment.theta, atol=1e-10)
        assert_allclose(mine.typicality, group.typicality, atol=1e-10)


def test_more_sets_and_classes_of_one_table_have_the_same_folds():
    A, B = pair()
    two = compare(A, B, **QUICK)
    many = compare({"A": A, "B": B})
    table = pd.DataFrame(np.concatenate([A, B])).assign(y=["A"] * len(A) + ["B"] * len(B))
    assert float(many.pair("A", "B").size) == pytest.approx(float(two.size), abs=1e-9)
    classes = compare(table, label="y", units="common")
    sets = compare({"A": A, "B": B}, units="common")
    assert_allclose(classes.weights, sets.weights, atol=1e-9)


# ---- size and gain ----------------------------------------------------------------------------


def test_equal_data_have_no_size_and_no_gain():
    A, _ = pair()
    found = compare(A, A, **QUICK)
    assert found.size == 0.5
    assert found.frame.gain == 0
    assert_allclose(found.groups[0].alignment.degrees, 45)


def test_levels_of_one_distribution_are_not_told_apart():
    """Leave-one-out would: each row's label leaks back into its level."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 20)
    drawn = [rng.choice(19, (n, 3), p=share / share.sum()) for n in (60, 600)]
    found = compare(*(pd.DataFrame(x.astype(str), columns=list("xyz")) for x in drawn), **QUICK)
    assert found.size.low < 0.5 < found.size.high
    assert found.frame.gain == 0
    assert_allclose(found.frame.align(np.zeros((1, found.frame.n_features))).degrees, 45)


def test_levels_that_differ_are():
    rng = np.random.default_rng(0)
    share = np.array([0.5, 0.29, 0.11, 0.06, 0.04])
    drawn = [rng.choice(list("abcde"), 300, p=p) for p in (share, share[::-1])]
    found = compare(*(pd.DataFrame({"level": x}) for x in drawn), **QUICK)
    assert 0.86 < found.size < 0.93
    assert found.frame.gain > 0


def test_repeated_rows_share_a_fold_and_count_once():
    A, B = pair(shift=0.3)
    found = compare(np.repeat(A, 3, axis=0), np.repeat(B, 3, axis=0), **QUICK)
    dealt = found.groups[0].dealt.reshape(-1, 3)
    assert_array_equal(dealt[:, 0], dealt[:, 2])
    once = compare(A, B, **QUICK).size
    assert found.size.high - found.size.low > 0.8 * (once.high - once.low)


# ---- groups -----------------------------------------------------------------------------------


def patients(seed, n=300, each=10):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n // each), each)
    rows = 2 * rng.normal(size=(n // each, 3))[who] + 0.3 * rng.normal(size=(n, 3))
    return pd.DataFrame(rows, columns=list("abc")).assign(who=[f"{seed}-{k}" for k in who])


def test_groups_stay_together_and_their_sets_are_not_told_apart():
    A, B = patients(1), patients(2)
    found = compare(A, B, groups="who", **QUICK)
    assert found.feature_names == ("a", "b", "c")
    assert found.size.low < 0.5 < found.size.high
    assert found.p > 0.05
    dealt = pd.Series(found.groups[0].dealt).groupby(A.who).nunique()
    assert dealt.max() == 1
    rows = [X.drop(columns="who") for X in (A, B)]
    assert compare(*rows, **QUICK).size.low > 0.6  # rows of one patient know each other
    arrays = compare(*rows, groups=[A.who.to_numpy(), B.who.to_numpy()], **QUICK)
    assert float(arrays.size) == float(found.size)
    many = compare({"A": A, "B": B, "C": patients(3)}, groups="who")
    assert many.pair("A", "B").size.low < 0.5
    both = pd.concat([A.assign(y="A"), B.assign(y="B")])
    assert float(compare(both, label="y", groups="who", **QUICK).size) == float(found.size)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("nobody", "no column is called 'nobody'"),
        ([np.zeros(300)], "an array for each of the 2 sets"),
        ([np.zeros(5), np.zeros(300)], "one entry for each row"),
        ([np.zeros(300), np.arange(300)], "has one group in a set"),
    ],
)
def test_bad_groups_get_one_sentence(groups, message):
    with pytest.raises(InputError, match=message):
        compare(patients(1), patients(2), groups=groups)


# ---- typicality -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["normal", "t2", "log-normal"])
def test_far_out_rows_are_found_whatever_the_tails(kind):
    rng = np.random.default_rng(0)
    draw = {
        "t2": lambda n: rng.standard_t(2, size=(n, 10)),
        "log-normal": lambda n: np.exp(rng.normal(size=(n, 10))),
    }.get(kind, lambda n: rng.normal(size=(n, 10)))
    A, B, new = draw(200), draw(200), draw(200)
    unit = np.subtract(*np.quantile(A, (0.75, 0.25), axis=0)) / 1.35
    found = compare(A, B, np.concatenate([new, new + 8 * unit]), **QUICK)
    usual = found.further.typicality[:, 0]
    assert np.mean(usual[:200] <= 0.1) <= 0.16
    assert np.mean(usual[200:] <= 0.01) >= 0.85


def test_curved_maps_of_many_rows_are_judged_out_of_fold():
    """Two peaks against one, of the same mean and variance: only a curved map tells them apart."""
    rng = np.random.default_rng(5)
    one = rng.normal(size=(1_500, 2))
    two = np.column_stack([rng.choice([-1, 1], 1_500) + 0.2 * rng.normal(size=1_500), one[:, 1]])
    assert compare(one, two, n_permutations=19).size > 0.7
    assert compare(one, two, n_permutations=19, curve=None).size < 0.6
