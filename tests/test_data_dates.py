"""What dates tell besides the date, stray texts, and numbers that float64 cannot hold."""

import numpy as np
import pandas as pd
import pytest

from cospan import compare
from cospan.data import encode_by, open_source
from cospan.errors import InputError
from opened import learn_plan, opened

N = 400
CLOCK, SPAN = "time of day of t", "time from start to end"


def table(seed=0, start="2024-01-01", days=100, hour=14.0, n=N):
    """Some numbers, and dates whose times of day spread about an hour."""
    rng = np.random.default_rng(seed)
    when = pd.Timestamp(start) + pd.to_timedelta(rng.integers(0, days, n), "D")
    when += pd.to_timedelta(np.round(3600 * rng.normal(hour, 2, n)), "s")
    return pd.DataFrame({"x": rng.normal(size=n), "t": when})


def plan_of(*tables, **options):
    return learn_plan([open_source(one, name=f"s{i}", **options) for i, one in enumerate(tables)])


def changed(found):
    return {one.name for one in found.features.changed}


# The time of day --------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [lambda t: t, lambda t: t.dt.strftime("%d.%m.%Y %H:%M:%S")])
def test_times_of_day_are_hours_to_the_second(write):
    one = table()
    source = opened(one.assign(t=write(one["t"])))
    assert source.plan[CLOCK].of == ("t",)
    true = (one["t"] - one["t"].dt.normalize()).dt.total_seconds() / 3600
    rows = source.read().rows[:, source.feature_names.index(CLOCK)]
    np.testing.assert_allclose(rows % 24, true, rtol=0, atol=1e-9)
    assert len(np.unique(rows)) == true.nunique()  # one time of two days is one number


def test_a_clock_that_is_off_is_told_whether_or_not_the_dates_are_compared():
    for start in ("2024-01-01", "2025-01-01"):
        found = compare(table(0), table(1, start, hour=9.0), n_permutations=19)
        assert CLOCK in changed(found)
        moved = f"'{CLOCK}' moved from 13:56 to 08:57, partly beyond the range of A."
        assert moved in found.verdict.sentences


def test_a_night_is_not_cut_in_two():
    """Times about midnight: the day begins where nothing happens, and means are of the circle."""
    a, b = table(0, hour=24.0), table(1, hour=25.0)
    plan = plan_of(a, b)
    assert 4 <= plan[CLOCK].origin <= 20
    rows = encode_by(open_source(a), plan).read().rows
    assert rows[:, plan.feature_names.index(CLOCK)].std() < 6  # 12 where the night is cut
    found = compare(a, b, n_permutations=19)
    assert f"'{CLOCK}' moved from 23:56 to 00:57." in found.verdict.sentences


def test_times_that_were_lost_are_told():
    a, b = table(0), table(1)
    found = compare(a, b.assign(t=b["t"].dt.normalize()), n_permutations=19)
    assert CLOCK in changed(found)
    exactly = f"'{CLOCK}' is exactly 00:00 in all of B, never in A."
    assert exactly in found.verdict.sentences
    assert "t has no time of day in all of B, never in A." in found.verdict.sentences


def test_pure_dates_get_nothing_new():
    a, b = (one.assign(t=one["t"].dt.normalize()) for one in (table(0), table(1)))
    assert plan_of(a, b).feature_names == ("x", "t")


def test_rows_to_score_may_lack_the_times():
    a, b = table(0), table(1, "2025-01-01")
    found = compare(a, b, b.drop(columns="t")[:50], n_permutations=19)
    assert found.further.n == 50
    assert any("the sets' mean is put in" in note.text for note in found.warnings)


# The time between dates -------------------------------------------------------------------------


def spans(seed, start="2024-01-01", late=0):
    rng = np.random.default_rng(seed)
    begin = pd.Timestamp(start) + pd.to_timedelta(rng.integers(0, 100, N), "D")
    end = begin + pd.to_timedelta(rng.integers(1, 8, N) + late, "D")
    return pd.DataFrame({"x": rng.normal(size=N), "start": begin, "end": end})


def test_a_date_that_moved_against_another_is_told():
    a, b = spans(0), spans(1, late=365)
    assert plan_of(a, b)["end"].kind == "time"
    found = compare(a, b, n_permutations=19)
    assert changed(found) == {SPAN}
    told = f"'{SPAN}' rose from 4 d to 369 d, mostly beyond the range of A."
    assert told in found.verdict.sentences


def test_sets_of_different_times_differ_in_no_span():
    found = compare(spans(0), spans(1, "2025-01-01"), n_permutations=19)
    assert SPAN in found.feature_names
    assert changed(found) == set()


# Periods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("days", "aside"), [(95, True), (40, False)])
def test_periods_that_hardly_overlap_are_set_aside(days, aside):
    start = pd.Timestamp("2024-01-01") + pd.Timedelta(days, "D")
    found = compare(table(1), table(2, start=start))  # a hundred days each
    assert ("t" not in [one.name for one in found.features]) == aside
    assert (found.p > 0.01) == aside
    assert [one.column for one in found.verdict.quality if one.kind == "times"] == ["t"] * aside


# Strays -----------------------------------------------------------------------------------------


def strayed(words, seed=1):
    b = table(seed)[["x"]].assign(y=np.arange(N) / 7, flag=np.arange(N) % 2)
    b["y"] = b["y"].round(3).astype(object)
    b.loc[b.index[: len(words)], "y"] = words
    return b


@pytest.mark.parametrize("how", ["frames", "files", "label"])
def test_a_few_stray_texts_are_missing_however_the_sets_come(how, tmp_path):
    a, b = strayed([]).astype({"y": float}), strayed(["nil"] * 8)
    if how == "label":
        both = pd.concat([a.assign(k="a"), b.assign(k="b")])
        found = compare(both.astype({"y": str}), label="k", n_permutations=19)
    elif how == "files":
        for name, one in (("a", a), ("b", b)):
            one.to_csv(tmp_path / f"{name}.csv", index=False)
        found = compare(tmp_path / "a.csv", tmp_path / "b.csv", n_permutations=19)
    else:
        found = compare(a, b, n_permutations=19)
    assert found.features["y"].kind == "number"
    assert (found.features["y"].a.missing, found.features["y"].b.missing) == (0, 8 / N)
    assert any("'y' has 8 values not readable as a number" in note.text for note in found.warnings)


def test_text_after_the_first_block_of_a_file_is_a_stray_too(tmp_path, monkeypatch):
    monkeypatch.setattr("cospan.data.tables.BLOCK_BYTES", 2000)
    b = strayed([])
    b.loc[b.index[-5:], "y"] = "nil"
    b.to_csv(tmp_path / "b.csv", index=False)
    source = opened(tmp_path / "b.csv")
    assert source.plan["y"].kind == "number"
    rows = source.read().rows
    place = source.feature_names.index("y")
    np.testing.assert_array_equal(rows[:-5, place], np.round(np.arange(N - 5) / 7, 3))
    np.testing.assert_array_equal(np.flatnonzero(rows[:, -1]), np.arange(N - 5, N))


def test_yes_and_no_are_not_one_and_zero():
    a, b = strayed([]), strayed([])
    b["flag"] = b["flag"].map({0: "no", 1: "yes"})
    found = compare(a, b, n_permutations=19)
    assert found.verdict.sentences[0].startswith("flag is a number in A and text in B")


def test_many_texts_like_numbers_are_not_called_numbers():
    texts = [f"17-{i:06d}" for i in range(9000)]  # more than are counted one by one
    with pytest.warns(match="'k' .identifiers: no value repeats"):
        plan_of(pd.DataFrame({"k": texts, "x": np.arange(9000.0)}))


def test_words_for_missing_values_alone_are_an_empty_column():
    with pytest.warns(match="'k' .it has no values"):
        plan = plan_of(pd.DataFrame({"k": ["?", "-", "n/a"] * 20, "x": np.arange(60.0)}))
    assert plan.feature_names == ("x",)


# Writings of dates ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("%Y/%m/%d %H:%M:%S", "date"),
        ("%m/%d/%Y %H:%M", "date"),
        ("%d.%m.%Y %H:%M", "date"),
        ("%d-%m-%Y", "date"),
        ("%m/%d/%Y %I:%M:%S %p", "date"),
        ("%Y-%m-%d %H:%M", "date"),
    ],
)
def test_common_writings_are_dates(form, kind):
    when = table()["t"]
    texts = when.dt.strftime(form)
    source = opened(pd.DataFrame({"t": texts}))
    assert source.plan["t"].kind == kind
    true = (pd.to_datetime(texts, format=form) - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    np.testing.assert_allclose(source.read().rows[:, 0], true, rtol=0, atol=1e-9)


def test_the_order_of_day_and_month_is_not_guessed():
    texts = [f"0{d}/0{m}/2020 10:0{d}" for d in range(1, 10) for m in range(1, 10)]
    with pytest.raises(InputError, match="can be read in several ways"):
        plan_of(pd.DataFrame({"t": texts}))
    made = pd.DataFrame({"t": [*texts, "31/01/2020 9:00"]})
    assert plan_of(made)["t"].reading == "day/month/year"
