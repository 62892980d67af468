"""One plan for every kind of table: the same features, the same rows to the bit, in any chunks."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from cospan.data import EncodingPlan, encode, encode_by, open_source
from cospan.errors import CospanWarning
from opened import learn_plan, opened

pytestmark = pytest.mark.filterwarnings("ignore:Left out")


def mixed(n, seed, towns=("Rome", "Oslo", "Bern")):
    """A table with columns of every kind, gaps in most of them."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01", "s") + rng.integers(0, 10**7, n).astype("timedelta64[s]")

    def gappy(values, share=0.1):
        return pa.array(values, mask=rng.random(n) < share)

    return pa.table(
        {
            "age": gappy(rng.normal(40, 10, n)),
            "visits": rng.integers(0, 20, n),
            "member": gappy(rng.random(n) < 0.4),
            "town": gappy(rng.choice(towns, n)),
            "street": [f"street {i}" for i in (rng.pareto(1, n) * 5).astype(int).clip(0, 400)],
            "price": [f"{v:.2f}".replace(".", ",") for v in rng.gamma(2, 20, n)],
            "churn": gappy(rng.choice(["Yes", "No"], n)),
            "since": gappy(days),
            "income": gappy(rng.lognormal(10, 1, n), 0.3),
            "customer_id": np.arange(n) + 1000 * seed,
            "email": [f"{i}-{seed}@example.org" for i in range(n)],
        }
    )


N = 700
A, B = mixed(N, 1), mixed(N // 2, 2, ("Rome", "Kyiv"))


def _csv(table, path):
    pa_csv.write_csv(table, path)
    return path


def _parquet(table, path):
    pq.write_table(table, path, row_group_size=100)
    return path


def _arrow(table, path):
    feather.write_feather(table, str(path), chunksize=90)
    return path


def _dask(table, path):
    import dask.dataframe as dd

    return dd.from_pandas(table.to_pandas(), npartitions=4)


KINDS = {
    "pandas": lambda table, path: table.to_pandas(),
    "pandas objects": lambda table, path: table.to_pandas().astype(
        {"town": object, "street": object, "churn": object}
    ),
    "pandas categories": lambda table, path: table.to_pandas().astype(
        {"town": "category", "street": "category", "churn": "category"}
    ),
    "polars": lambda table, path: pl.from_arrow(table),
    "polars categories": lambda table, path: pl.from_arrow(table).with_columns(
        pl.col("town", "street").cast(pl.Categorical)
    ),
    "dict of columns": lambda table, path: {n: table[n].to_pylist() for n in table.column_names},
    "csv": lambda table, path: _csv(table, path.with_suffix(".csv")),
    "parquet": lambda table, path: _parquet(table, path.with_suffix(".parquet")),
    "arrow file": lambda table, path: _arrow(table, path.with_suffix(".arrow")),
    "dask": _dask,
}


def both(make=lambda table, path: table, tmp_path=None, **options):
    paths = [tmp_path / name if tmp_path else None for name in ("a", "b")]
    things = [make(table, path) for table, path in zip((A, B), paths, strict=True)]
    return encode([open_source(t, name=n, **options) for t, n in zip(things, "ab", strict=True)])


@pytest.fixture(scope="module")
def reference():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CospanWarning)
        return both()


@pytest.mark.parametrize("chunk_rows", [64, None])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_plan_and_the_same_rows(
    kind, chunk_rows, reference, tmp_path
):
    options = {} if kind == "dask" else {"chunk_rows": chunk_rows}
    sources = both(KINDS[kind], tmp_path, **options)
    assert sources[0].plan == reference[0].plan == sources[1].plan
    for source, expected in zip(sources, reference, strict=True):
        for _ in range(2):
            np.testing.assert_array_equal(source.read().rows, expected.read().rows)


def test_the_plan_of_the_mixed_table(reference):
    plan = reference[0].plan
    assert {column.name: column.kind for column in plan.columns} == {
        "age": "number", "visits": "number", "member": "boolean", "town": "category",
        "street": "category", "price": "number", "churn": "boolean", "since": "date",
        "time of day of since": "time of day",
        "income": "number", "customer_id": "left out", "email": "left out",
    }  # fmt: skip
    shares = [table["town"].to_pandas().value_counts(normalize=True) for table in (A, B)]
    share = sum(one.reindex(["Rome", "Kyiv", "Bern", "Oslo"]).fillna(0) for one in shares)
    assert plan["town"].levels == tuple(share.sort_values(ascending=False).index)
    assert plan["price"].reading == "comma"
    rows = reference[1].read().rows
    assert np.isfinite(rows).all()
    town = [plan.feature_names.index(f"town = {name}") for name in plan["town"].levels]
    expected = B["town"].to_pandas()
    for place, name in zip(town, plan["town"].levels, strict=True):
        np.testing.assert_array_equal(rows[expected.notna(), place], expected.dropna() == name)
    gaps = plan.feature_names.index("income is missing")
    np.testing.assert_array_equal(rows[:, gaps], B["income"].is_null())


def test_each_set_has_its_profile(reference):
    for source, table in zip(reference, (A, B), strict=True):
        (profile,) = source.profiles
        assert profile["age"].rows == table.num_rows
        income, frame = profile["income"], table.to_pandas()
        assert income.missing == frame.income.isna().sum()
        assert (income.low, income.high) == (frame.income.min(), frame.income.max())
        assert profile["town"].levels == frame.town.value_counts().to_dict()
        assert len(profile["email"].levels) == table.num_rows


def test_classes_of_one_table_are_sets(tmp_path):
    table = pa.concat_tables([A, B]).append_column("set", pa.array(["a"] * N + ["b"] * (N // 2)))
    _csv(table, tmp_path / "x.csv")
    apart = encode(
        [open_source(table, label="set", label_value=value, drop=["email"]) for value in "ab"]
    )
    assert apart[0].plan["town"].fill == both()[0].plan["town"].fill
    for obj in (table, tmp_path / "x.csv"):
        (whole,) = encode([open_source(obj, label="set", drop=["email"])])
        assert whole.plan == apart[0].plan
        assert [profile["age"].rows for profile in whole.profiles] == [N, N // 2]
        chunk = whole.read()
        np.testing.assert_array_equal(chunk.rows[chunk.labels == "b"], apart[1].read().rows)
        assert whole.classes() == ["a", "b"]


# A new table, by a plan that was saved -------------------------------------------------------


def test_a_saved_plan_applies_to_a_new_table(reference):
    plan = EncodingPlan.from_dict(reference[0].plan.to_dict())
    names = B.column_names[::-1]
    more = B.select(names).append_column("extra", pa.array(["?"] * B.num_rows))
    again = encode_by(open_source(more), plan)
    np.testing.assert_array_equal(again.read().rows, reference[1].read().rows)
    without = more.drop_columns(["email", "customer_id"])
    np.testing.assert_array_equal(
        encode_by(open_source(without), plan).read().rows, reference[1].read().rows
    )


def test_what_the_sets_did_not_have_is_counted_and_told(reference):
    plan = learn_plan([open_source({"t": ["a", "b"], "x": [1.0, 3.0], "y": ["1,5", "2"]})])
    new = {"t": ["a", "zebra", None], "x": [None, 5.0, 6.0], "y": ["3,5", "many", "1"]}
    source = encode_by(open_source(new, name="Z"), plan)
    np.testing.assert_array_equal(
        source.read().rows, [[1, 0, 2, 3.5], [0, 0, 5, 1.75], [0.5, 0.5, 6, 1]]
    )
    notes = " ".join(map(str, source.notes))
    assert "Z: 't' has 1 new value, such as 'zebra'; counted as no known level." in notes
    assert "Z: 'y' has 1 value not readable as a number, such as 'many'" in notes
    assert "Z: 'x' has 1 missing value where the sets had none" in notes
    source.read()
    assert " ".join(map(str, source.notes)) == notes  # the counts are of one pass


def test_unseen_levels_are_other_where_there_is_one(reference):
    plan = reference[0].plan
    table = B.set_column(
        B.schema.get_field_index("street"), "street", pa.array(["nowhere"] * B.num_rows)
    )
    rows = encode_by(open_source(table), plan).read().rows
    np.testing.assert_array_equal(rows[:, plan.feature_names.index("street = other")], 1)


# No pass where none is needed ----------------------------------------------------------------


# CSV -----------------------------------------------------------------------------------------


def test_a_category_of_a_csv_may_look_like_numbers_first(tmp_path, monkeypatch):
    monkeypatch.setattr("cospan.data.tables.BLOCK_BYTES", 200)
    (tmp_path / "x.csv").write_text("\n".join(["zone,x", *(["07,1"] * 100), "B1,2"]))
    source = opened(tmp_path / "x.csv", categorical=["zone"])
    assert source.feature_names == ("zone = 07", "zone = B1", "x")


# Dask ----------------------------------------------------------------------------------------


def test_dask_frames_are_read_as_others_are(reference):
    import dask.dataframe as dd

    lazy = encode([open_source(_dask(A, None), name="a"), open_source(B, name="b")])
    np.testing.assert_array_equal(lazy[0].read().rows, reference[0].read().rows)
    gappy = pd.DataFrame({"x": [1.0, None, 3.0, 4.0], "t": list("abab")})
    frame = dd.from_pandas(gappy, npartitions=2)
    np.testing.assert_array_equal(opened(frame).read().rows, opened(gappy).read().rows)
    lacking = encode_by(open_source(frame[["x"]]), opened(gappy).plan)
    assert [change.kind for change in lacking.changes] == ["lacking"]


# Comparisons ---------------------------------------------------------------------------------


def test_the_command_line_takes_names_between_commas_and_repeated(tmp_path):
    import json

    from typer.testing import CliRunner

    from cospan import cli

    rng = np.random.default_rng(0)
    for name in "ab":
        columns = {"zone": rng.integers(1, 4, 60), "wing": rng.integers(0, 3, 60)}
        columns |= {name: rng.normal(size=60) for name in "xyz"}
        pa_csv.write_csv(pa.table(columns), tmp_path / f"{name}.csv")
    arguments = ["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--json"]
    arguments += ["--categorical", "zone,wing", "--drop", "x", "--drop", "y"]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.output
    names = json.loads(done.stdout)["features"]
    assert sorted(names) == [*(f"wing = {i}" for i in range(3)), "z", *(
        f"zone = {i}" for i in range(1, 4))]  # fmt: skip


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """What learning and reading take at most, for ten times the rows."""
    peaks = []
    for n in (20_000, 200_000):
        path = _parquet(mixed(n, 5), tmp_path / f"{n}.parquet")
        source = opened(path, chunk_rows=5_000)
        tracemalloc.start()
        for chunk in source.chunks():
            assert len(chunk.rows) <= 5_000
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0], peaks
