"""Columns with gaps, and what a verdict makes of them: relations, kinds, and where to look."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cospan import compare
from cospan.changes import find_changes
from cospan.changes.correlating import correlated, standard_ranks
from cospan.changes.gaps import spread_without_gaps
from cospan.changes.grouping import Rows, columns_of
from cospan.changes.parts import feature_parts
from cospan.data import encode, open_source
from cospan.model import JointFrame
from cospan.significance import shift_test


def encoded(a, b):
    sources = encode([open_source(a, name="A"), open_source(b, name="B")])
    rows = [source.read().rows for source in sources]
    return JointFrame.fit(*rows), rows, sources[0].plan


def compared(a, b):
    frame, rows, plan = encoded(a, b)
    return find_changes(frame, *rows, plan=plan, shift=shift_test(*rows, n_permutations=199))


def storms(n, seed):
    """Only strong winds have a category, and it follows them."""
    rng = np.random.default_rng(seed)
    wind = rng.uniform(20, 160, n)
    category = np.where(wind > 110, np.floor((wind - 100) / 10 + rng.normal(0, 0.3, n)), np.nan)
    return pd.DataFrame(
        {
            "wind": wind,
            "category": category,
            "lat": rng.normal(25, 8, n),
            "day": rng.uniform(0, 30, n),
        }
    )


def stones(n, seed):
    """Three sizes that go together closely, and two columns of their own."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(1.5, 0.2, n)
    sizes = {name: x * rng.normal(1, 0.01, n) for name in "xyz"}
    return pd.DataFrame({**sizes, "table": rng.normal(57, 2, n), "age": rng.normal(9, 2, n)})


class TestRelations:
    def test_correlations_are_spearmans_over_the_rows_that_have_both_values(self):
        rng = np.random.default_rng(0)
        values = rng.normal(size=(300, 4)) + 2 * rng.normal(size=(300, 1))
        masks = [None, values[:, 0] > 0, rng.random(300) < 0.7, None]
        filled = np.column_stack(
            [v if m is None else np.where(m, v, 0) for v, m in zip(values.T, masks, strict=True)]
        )
        ranks, enough = standard_ranks(filled, masks)
        assert enough.all()
        found = correlated(filled, masks, ranks, np.arange(4))
        for i in range(4):
            for k in range(4):
                both = np.ones(300, dtype=bool)
                for mask in (masks[i], masks[k]):
                    both &= True if mask is None else mask
                expected = stats.spearmanr(values[both, i], values[both, k]).statistic
                assert found.r[i, k] == pytest.approx(expected)
                assert found.n[i, k] == np.count_nonzero(both) - 4

    def test_a_shuffled_column_with_gaps_is_found_by_its_values_and_by_its_gaps(self):
        a, b = storms(700, 1), storms(600, 2)
        b["category"] = np.random.default_rng(3).permutation(b["category"])
        found = compared(a, b)
        assert "category" in {one.name for one in found.features.changed}
        first = found.feature_pairs[0]
        assert {first.first, first.second} == {"category is missing", "wind"}
        assert "'category is missing'" in str(found.verdict)
        assert "category scatters" in str(found.verdict)
        assert found.verdict.mostly == "shape"

    def test_new_gaps_are_no_relation(self):
        a, b = storms(700, 4), storms(600, 5)
        b.loc[np.random.default_rng(6).random(600) < 0.3, "category"] = np.nan
        found = compared(a, b)
        assert found.features["category"].change == "missing"
        assert "category is missing" not in {one.first for one in found.feature_pairs.changed}


class TestKinds:
    @pytest.mark.parametrize("before", [0.0, 0.05])
    def test_new_gaps_are_missing_values_and_nothing_else(self, before):
        """Filled values break what x has to do with y and z: still, they are missing values."""
        a, b = stones(900, 0), stones(900, 1)
        for table, share in ((a, before), (b, before + 0.1)):
            table.loc[np.random.default_rng(2).random(900) < share, "x"] = np.nan
        found = compared(a, b)
        assert found.verdict.mostly == "missing"
        assert found.verdict.shares["missing"] > 0.95
        assert found.features["x"].share > 0.95
        assert min(found.verdict.parts.values()) >= 0
        total = sum(one.part for one in found.features)
        assert sum(found.verdict.parts.values()) == pytest.approx(total)

    def test_a_relation_that_broke_beside_new_gaps_is_still_one(self):
        a, b = stones(900, 3), stones(900, 4)
        b.loc[np.random.default_rng(5).random(900) < 0.1, "age"] = np.nan
        b["y"] = np.random.default_rng(6).permutation(b["y"])
        found = compared(a, b)
        assert found.verdict.mostly == "shape"
        assert {one.name for one in found.features.changed} >= {"age", "y"}

    def test_what_gaps_blur_is_not_counted_with_a_spread_that_changed(self):
        """Filled values break the relations of y and z, too: that is no change of scale."""
        tables = []
        for seed in (0, 1):
            rng = np.random.default_rng(seed)
            size = rng.lognormal(0, 0.3, 1500)
            off = 1 + np.array([0, 0.01, 0.02])[:, None] * rng.normal(size=(3, 1500))
            tables.append(pd.DataFrame(dict(zip("xyz", size * off, strict=True))))
        a, b = tables
        b["z"] = b["z"].mean() + 1.15 * (b["z"] - b["z"].mean())
        b.loc[::6, "x"] = np.nan
        found = compared(a, b)
        assert found.verdict.shares["missing"] > 0.8

    def test_gaps_as_frequent_in_both_sets_claim_nothing(self):
        tables = [stones(500, 7), stones(500, 8)]
        for k, table in enumerate(tables):
            table.loc[np.arange(500) % 10 == k, "x"] = np.nan
        frame, rows, plan = encoded(*tables)
        columns = columns_of(plan, plan.feature_names)
        spread = feature_parts(frame).spread
        more = np.array([float(column.name == "x") for column in columns])
        kept = spread_without_gaps(frame, columns, spread, more, Rows(*rows, True))
        np.testing.assert_allclose(kept, spread)

    def test_a_kind_that_only_columns_speak_for_says_so(self):
        """One spread of forty: its column is sure, the shapes of all together are not."""
        rng = np.random.default_rng(9)
        A, B = rng.normal(size=(2, 150, 40))
        B[:, 7] *= 2.2
        test = shift_test(A, B, n_permutations=199)
        unsure = test.__class__(**{**test.__dict__, "parts": {**test.parts, "shape": 0.2}})
        frame = JointFrame.fit(A, B)
        said, doubted = (find_changes(frame, A, B, shift=one).verdict for one in (test, unsure))
        assert said.mostly == doubted.mostly == "shape"
        unsure = "by what single columns say; over all columns it is not certain (p = 0.2)"
        assert unsure in str(doubted)
        assert "not certain" not in str(said) or test.parts["shape"] > 0.05


class TestWords:
    def test_no_fact_is_told_twice(self):
        rng = np.random.default_rng(0)
        rain = rng.exponential(2, 600)
        sky = np.where(rain > 1.5, "rain", np.where(rng.random(600) < 0.8, "sun", "fog"))
        a = pd.DataFrame({"rain": rain, "sky": sky, "wind": rng.normal(size=600)})
        b = a.sample(600, replace=True, random_state=1).assign(wind=rng.normal(size=600))
        b["sky"] = b["sky"].map({"rain": "sun", "sun": "fog", "fog": "rain"})
        sentences = compared(a, b).verdict.sentences
        clauses = [clause.rstrip(".") for one in sentences for clause in one.split("; ")]
        assert len(clauses) == len(set(clauses))
        assert not any("; In " in one or "; The " in one for one in sentences)

    def test_a_difference_that_no_column_accounts_for_says_where_it_is(self):
        """Rows in the corners of a cube with an even number of minus signs: no pair shows it."""
        rng = np.random.default_rng(2)
        A, B = rng.choice([-1.0, 1.0], (2, 800, 3)) * rng.uniform(0.9, 1.1, (2, 800, 3))
        B[:, 2] = np.abs(B[:, 2]) * np.sign(B[:, 0] * B[:, 1])
        test = shift_test(A, B, n_permutations=199)
        surely = test.__class__(**{**test.__dict__, "pvalue": 0.001})
        verdict = find_changes(JointFrame.fit(A, B), A, B, shift=surely).verdict
        assert verdict.features == verdict.pairs == ()
        assert any("have the largest parts in it" in one for one in verdict.sentences)

    def test_no_evidence_is_not_contradicted(self):
        rng = np.random.default_rng(4)
        table = rng.normal(size=(400, 6))
        found = compare(table[:200], table[200:], n_permutations=99)
        assert not found.verdict.differs
        assert "curved" not in str(found.warnings)


def test_a_few_gaps_of_one_set_are_no_large_part_of_a_column_that_moved() -> None:
    """Gaps in 1 % of A's rows and none of B's: by a normal distribution infinitely unlikely."""
    rng = np.random.default_rng(8)
    a, b = (pd.DataFrame(rng.normal(size=(n, 3)), columns=list("xyz")) for n in (4000, 1000))
    a.loc[rng.random(4000) < 0.01, "x"] = np.nan
    b["x"] = 1.2 * b["x"] + 0.8
    found = compare(a, b, n_permutations=19).verdict
    assert found.mostly == "location"
    assert found.shares["missing"] < 0.1
