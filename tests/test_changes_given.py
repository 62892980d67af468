"""Columns that moved given the others: what is said equals an ordinary regression."""

from __future__ import annotations

import numpy as np
import pytest

from cospan import JointFrame, compare
from cospan.changes import find_changes
from cospan.data import encode, open_source


def _trips(rng, n, minutes, slope=0.125):
    miles = rng.uniform(100, 900, n)
    passengers = rng.normal(150, 20, n)
    return np.column_stack([miles, slope * miles + minutes + rng.normal(0, 4, n), passengers])


def _given(A, B, names=("miles", "minutes", "passengers")):
    found = find_changes(JointFrame.fit(A, B), A, B, names=list(names))
    return [one for one in found.verdict.sentences if one.startswith("Given")], found


def test_the_amount_is_the_coefficient_of_the_set_in_a_regression():
    rng = np.random.default_rng(0)
    A, B = _trips(rng, 600, 20), _trips(rng, 400, 30)
    sentences, _ = _given(A, B)
    both = np.concatenate([A, B])
    design = np.column_stack([np.ones(1000), both[:, [0, 2]], np.repeat([0, 1], [600, 400])])
    coefficients, rest, *_ = np.linalg.lstsq(design, both[:, 1], rcond=None)
    sd = np.sqrt(rest[0] / (1000 - 4))
    assert sentences == [
        "Given the other columns, miles above all, minutes is higher in B than in A: by "
        f"{coefficients[3]:.3g} on average, {coefficients[3] / sd:.2g} sd of what they leave open."
    ]


def test_it_does_not_depend_on_units_and_turns_with_the_sets():
    rng = np.random.default_rng(1)
    A, B = _trips(rng, 500, 20), _trips(rng, 500, 30)
    (there,), _ = _given(A, B)
    (back,), _ = _given(B, A)
    assert back == there.replace("higher", "lower")
    units = np.array([1609.344, 60.0, 1.0])
    (scaled,), _ = _given(A * units, B * units)
    assert scaled.split(" sd")[0].split(", ")[-1] == there.split(" sd")[0].split(", ")[-1]


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_said_of_sets_that_do_not_differ(seed):
    rng = np.random.default_rng(seed)
    assert _given(_trips(rng, 300, 20), _trips(rng, 300, 20))[0] == []


def test_nothing_is_said_where_a_column_moved_by_itself():
    rng = np.random.default_rng(2)
    A, B = _trips(rng, 500, 20), _trips(rng, 500, 20)
    B[:, 2] += 40
    sentences, found = _given(A, B)
    assert sentences == []
    assert found.verdict.features[0] == "passengers"


def test_a_column_that_is_a_copy_of_another_says_nothing():
    rng = np.random.default_rng(3)
    A, B = (np.repeat(rng.normal(size=(200, 1)), 2, axis=1) for _ in range(2))
    B[:, 1] += 1e-3
    for sentence in _given(A, B, ("x", "copy"))[0]:
        assert "nan" not in sentence
        assert "inf" not in sentence


# ---- relations that one set breaks ---------------------------------------------------------------


def _sales(rng, n, noise=0.0):
    """A date that is its year and its month, and a price that follows a size."""
    year, month = rng.integers(2000, 2015, n), rng.integers(1, 13, n)
    size = rng.lognormal(5, 1, n)
    price = 3 * size * rng.lognormal(0, 0.05, n)
    date = year + (month - 1) / 12 + noise * rng.normal(size=n)
    return np.column_stack([year, month, date, size, price]).astype(float)


SALES = ["year", "month", "date", "size", "price"]


def _found(A, B, names=SALES, **options):
    return find_changes(JointFrame.fit(A, B), A, B, names=list(names), **options)


@pytest.mark.parametrize("broken", [1, 2, 4])
def test_a_shuffled_column_is_the_one_that_scatters(broken):
    rng = np.random.default_rng(0)
    A, B = _sales(rng, 500), _sales(rng, 400)
    B[:, broken] = rng.permutation(B[:, broken])
    found = _found(A, B)
    (one,) = (one for one in found.features if one.broken)
    # Of two columns that only go with each other nobody can say which one was shuffled.
    assert SALES[broken] in (one.name, one.broken.companion)
    assert one.name == SALES[broken] or broken != 1
    assert one.changed
    assert "relation" in one.ways
    assert one.broken.b > 2 * one.broken.a
    assert one.to_dict()["scatter"] == {
        "a": one.broken.a,
        "b": one.broken.b,
        "given": one.broken.companion,
    }
    assert one.broken.sentence(("A", "B")) in str(found.verdict)
    assert found.verdict.mostly == "shape"


def test_an_exact_relation_is_called_one_and_no_ratio_is_printed():
    rng = np.random.default_rng(1)
    A, B = _sales(rng, 500), _sales(rng, 500)
    A[:, 1] = rng.permutation(A[:, 1])
    (one,) = (one.broken for one in _found(A, B).features if one.broken)
    assert one.sentence(("A", "B")).startswith("The other columns, ")
    said = " give month exactly in most rows of B, but not in A: half of its rows are more than"
    assert said in one.sentence(("A", "B"))


def test_the_distances_are_medians_of_a_prediction_that_anybody_can_make():
    rng = np.random.default_rng(2)
    A, B = _sales(rng, 800, noise=0.05), _sales(rng, 800, noise=0.05)
    B[:, 1] = rng.permutation(B[:, 1])
    one = _found(A, B).features["month"].broken
    others = np.delete(A, 1, axis=1)
    design = np.column_stack([np.ones(len(A)), others - others.mean(axis=0)])
    left = A[:, 1] - design @ np.linalg.lstsq(design, A[:, 1], rcond=None)[0]
    assert one.a == pytest.approx(np.median(np.abs(left)), rel=0.1)
    assert one.b == pytest.approx(np.median(np.abs(B[:, 1] - np.median(B[:, 1]))), rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_relations_that_both_sets_keep_are_not_named(seed):
    rng = np.random.default_rng(seed)
    A, B = _sales(rng, 300), _sales(rng, 150)
    moved = B * np.array([1, 1, 1, 100, 1]) + np.array([3, 0, 3, 0, 0])  # units, and later years
    for other in (B, moved):
        assert [one.name for one in _found(A, other).features if one.broken] == []


def test_filled_gaps_break_no_relation():
    rng = np.random.default_rng(4)
    pd = pytest.importorskip("pandas")
    a, b = (pd.DataFrame(_sales(rng, 500), columns=SALES) for _ in range(2))
    b.loc[rng.random(500) < 0.1, "date"] = np.nan
    sources = encode([open_source(x, name=n) for x, n in ((a, "A"), (b, "B"))])
    rows = [source.read().rows for source in sources]
    found = find_changes(JointFrame.fit(*rows), *rows, plan=sources[0].plan)
    assert [one.name for one in found.features if one.broken] == []
    assert found.features["date"].change == "missing"


def test_what_is_exact_but_for_a_step_has_no_number_of_sd():
    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(2, 400, 3))
    for X, step in ((A, 0.0), (B, 0.4)):
        X[:, 2] = X[:, 0] + X[:, 1] + step + 1e-7 * rng.normal(size=400)
    (sentence,) = _given(A, B, ("left", "right", "sum"))[0]
    assert sentence.endswith("by 0.4 on average, and they leave nothing else open.")


@pytest.mark.parametrize("swapped", [False, True])
def test_a_copied_column_is_equal_to_another_and_that_one_is_not_blamed(swapped):
    """Years in the role are overwritten by years at the company: those did not change."""
    rng = np.random.default_rng(6)
    A, B = (np.column_stack([x, x * rng.random(600)]).round() for x in rng.gamma(2, 4, (2, 600)))
    A, B = (np.column_stack([x, rng.normal(size=600)]) for x in (A, B))
    B[:, 1] = B[:, 0]
    if swapped:
        A, B = B, A
    found = _found(A, B, ("company", "role", "other"))
    assert [one.name for one in found.features.changed] == ["role"]
    share = 100 * np.mean((B if swapped else A)[:, 0] == (B if swapped else A)[:, 1])
    here, there = ("A", "B") if swapped else ("B", "A")
    said = f"role equals company in 100 % of {here}'s rows and {share:.0f} % of {there}'s"
    about = [text for text in found.verdict.sentences if "company" in text]
    assert about == [text for text in about if text.startswith(said)] != []


def test_a_category_may_say_most_about_a_column():
    """A post code is given by the state, whose levels the city, the region, … give as well."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)

    def sold(n, codes):
        state = rng.integers(0, 20, n)
        city, code = state * 3 + rng.integers(0, 3, n), codes[state] + rng.integers(0, 500, n)
        text = {
            "segment": rng.choice(list("xyz"), n),
            "city": [f"C{k:03d}" for k in city],
            "state": [f"S{k:02d}" for k in state],
            "region": np.array(list("NESW"))[state % 4],
        }
        more = {"profit": rng.normal(0, 60, n), "discount": state % 5 / 10}
        return pd.DataFrame(text | {"code": code} | more | {"sales": rng.lognormal(3, 1, n)})

    codes = 1000 * rng.permutation(20)
    a, b = sold(800, codes), sold(800, codes)
    b["code"] = rng.permutation(b["code"])
    verdict = compare(a, b, n_permutations=9).verdict
    (said,) = (text for text in verdict.sentences if "above all" in text)
    assert said.startswith("Given the other columns, state above all, code scatters ")
