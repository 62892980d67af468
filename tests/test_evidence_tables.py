"""The tables of a comparison: columns and relations, quality, plain types."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from cospan import compare
from cospan.base.text import chance, listed, number, pair_of, share_text
from cospan.data import Chunk, encode, open_source
from cospan.evidence import IN_BOTH, find_changes
from cospan.model import JointFrame
from cospan.wording.findings import value_text
from mixed_tables import mixed, rng


def correlated(n, d, seed=0):
    """Rows with one common factor: every pair of columns has the correlation 0.8."""
    draw = rng(seed)
    return 2 * draw.normal(size=(n, 1)) + draw.normal(size=(n, d))


def bare(rows):
    return Chunk(rows, np.arange(len(rows)))


def compared(a, b, **options):
    sources = encode([open_source(a, name="A"), open_source(b, name="B")])
    rows = [source.read().rows for source in sources]
    options.setdefault("profiles", tuple(source.profiles[0] for source in sources))
    frame = JointFrame.fit(*rows, shrinkage=0.1, pooling=0.0, dof=1.0)
    return find_changes(frame, *map(bare, rows), plan=sources[0].plan, **options)


def simple(A, B):
    return find_changes(JointFrame.fit(A, B, shrinkage=0.1, pooling=0.0, dof=1.0), bare(A), bare(B))


def notes(found, kind):
    return [one for one in found.quality if one.kind == kind]


def test_numbers_of_a_column_are_those_of_its_rows():
    a, b = mixed(300, 1), mixed(300, 2)
    b.loc[:89, "age"] = np.nan
    row = compared(a, b).columns["age"]
    assert row.a.mean == pytest.approx(a["age"].mean())
    assert row.b.deviation == pytest.approx(b["age"].std(ddof=0))
    assert (row.a.missing, row.b.missing) == (0, 0.3)
    spread = math.sqrt((a["age"].var(ddof=0) + b["age"].var(ddof=0)) / 2)
    assert row.difference == pytest.approx((b["age"].mean() - a["age"].mean()) / spread)
    town = compared(a, b).columns["town"]
    assert town.a.levels["Rome"] == pytest.approx((a["town"] == "Rome").mean())


def test_infinite_numbers_become_none_in_plain_types():
    A, B = rng().normal(size=(30, 2)), rng(1).normal(size=(30, 2))
    A[:, 0], B[:, 0] = 1, 2
    found = simple(A, B)
    assert found.columns["x0"].difference == math.inf
    json.dumps(found.to_dict(), allow_nan=False)
    assert "x0 rose from 1 to 2." in found.sentences


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_tables_become_dataframes(backend):
    found = compared(mixed(100, 1), mixed(100, 2))
    frame = found.columns.to_frame(backend)
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names[:4] == ["name", "kind", "change", "changed"]
    assert len(frame) == 6
    assert len(found.feature_pairs.to_frame(backend)) == len(found.feature_pairs)


def test_bare_arrays_have_columns_x0_x1():
    found = simple(rng().normal(size=(50, 2)), rng(1).normal(size=(50, 2)))
    assert sorted(one.name for one in found.columns) == ["x0", "x1"]


def test_random_halves_are_seldom_called_different():
    table = correlated(240, 8, 3)
    table[:, 3] = np.exp(table[:, 3])
    table[:, 5] = table[:, 5] > 2
    columns = [f"x{i}" for i in range(8)]
    frame = JointFrame.fit(table[:120], table[120:], shrinkage=0.3)
    called = 0
    for split in range(60):
        index = rng(split).permutation(240)
        rows = map(bare, (table[index[:120]], table[index[120:]]))
        found = find_changes(frame, *rows, names=columns)
        called += bool(found.columns.changed)
    assert called <= 7  # 60 × 5 %, and twice its standard error


def test_levels_beyond_the_thirty_most_frequent_are_looked_at_too():
    levels = [f"t{i:02d}" for i in range(40)]
    a = pd.DataFrame({"town": levels * 30, "x": rng().normal(size=1200)})
    b = pd.DataFrame({"town": [*levels[:-1], "t00"] * 30, "x": rng(1).normal(size=1200)})
    (note,) = notes(compared(a, b), "vanished levels")
    assert note.levels == ("t39",)


def test_rare_levels_of_many_are_on_one_side_by_chance():
    """Of a thousand levels with eight rows each, some are in one half only: no note of that."""
    draw = rng(2)
    town = draw.permutation(np.repeat([f"t{i}" for i in range(1000)], 8))
    table = pd.DataFrame({"town": town, "x": draw.normal(size=8000)})
    a, b = table[:4000], table[4000:]
    assert len(set(a["town"]) ^ set(b["town"])) >= 3
    found = compared(a, b)
    assert not notes(found, "new levels") + notes(found, "vanished levels")


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
        remarks += sum(one.detail != IN_BOTH for one in simple(A, B).quality)
    assert remarks <= 1  # 4 × 5 %, of which more than 1 is a chance of 2 %


@pytest.mark.parametrize(("values", "noted"), [([-999.0] * 4, 1), ([-999.0, -998, -997, -996], 0)])
def test_a_few_sentinels_are_noted_where_nothing_else_shows_them(values, noted):
    a, b = (mixed(200, seed) for seed in (1, 2))
    b.loc[:3, "hours"] = values
    found = compare(a, b)
    notes = [one for one in found.verdict.quality if one.kind == "outlying"]
    assert [(one.column, one.a, one.rows) for one in notes] == [("hours", -999.0, 4)] * noted
    assert {str(one) for one in notes} <= set(found.verdict.sentences)


def test_gaps_that_one_set_lacks_have_no_relation_there():
    draw = rng(1)
    a, b = (pd.DataFrame(draw.normal(size=(n, 20))).add_prefix("c") for n in (3000, 200))
    a.loc[draw.random(3000) < 0.04, ["c1", "c2"]] = np.nan
    b["c0"] += 2
    assert not [one for one in compare(a, b).findings if one.kind == "relation"]


def test_numbers_in_sentences():
    shown = [number(x) for x in (0, 32.41, 0.00123, 1234.5, 123456, 1e20, -0.5, 3.0)]
    assert shown == ["0", "32.4", "0.00123", "1234", "123,456", "1e+20", "-0.5", "3"]
    assert pair_of(100.001, 100.002) == ("100.001", "100.002")
    assert pair_of(20_000.2, 20_000.4) == ("20,000.2", "20,000.4")
    assert value_text(18262, "date") == "2020-01-01"
    assert share_text(0.001) == "less than 1%"
    assert share_text(0.9999) == "more than 99%"
    assert (chance(0.001), chance(0.043)) == ("p at most 0.001", "p = 0.043")
    assert (chance(1.0), chance(0.005, 199)) == ("p > 0.99", "p at most 0.005")
    assert listed(["a", "b c", "d"], 2) == "a, 'b c' and 1 more"


def test_a_column_without_values_in_one_set_has_a_page(tmp_path):
    """All of a category, a number and a date missing in one of the sets, and in a tiny one."""
    a = mixed(60, 1)
    b = mixed(60, 2).assign(**dict.fromkeys(a.columns[:-1]))
    for sets in ({"a": a, "b": b}, {"a": a, "b": b.head(2), "c": mixed(60, 3)}):
        found = compare(sets, n_permutations=19)
        found.save(tmp_path / "page.html")
        json.loads(found.to_json())


def test_a_column_in_another_unit_keeps_its_relations_though_it_has_gaps():
    draw, tables = rng(8), []
    for unit in (1, 88.4):
        age = draw.normal(60, 10, 1500)
        value = np.exp(0.1 + 0.002 * age + draw.normal(0, 0.3, 1500)) * unit
        value[draw.random(1500) < np.where(age < 60, 0.3, 0.05)] = np.nan
        tables.append(pd.DataFrame({"age": age, "value": value}))
    found = compare(*tables, n_permutations=199)
    assert [one.name for one in found.features.changed] == ["value"]
    assert not found.feature_pairs.changed
    (pair,) = (one for one in found.feature_pairs if "missing" not in one.first + one.second)
    known = [table.dropna().corr("spearman").iloc[0, 1] for table in tables]
    assert np.allclose((pair.r_a, pair.r_b), known, atol=0.05)
