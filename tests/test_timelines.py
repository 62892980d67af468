"""Angles over time or order: what is shown is what the rows have, and chance is not told."""

import json

import numpy as np
import pandas as pd
import pytest

from cospan import JointFrame, compare
from cospan.comparison.timelines import _calendar, _pvalue, sentences
from cospan.report import content_of, to_html, to_markdown

N = 600


def rows(start, *, drift=0.0, seed=0, n=N):
    """Half a year of a machine; from its middle on one column drifts."""
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.integers(0, 180 * 24, n))
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["speed", "load", "heat"])
    table["speed"] += drift * np.clip(hours / hours.max() - 0.5, 0, 1)
    table.insert(0, "measured", pd.Timestamp(start) + pd.to_timedelta(hours // 24, "D"))
    return table


@pytest.fixture(scope="module")
def tables():
    return rows("2024-01-01"), rows("2024-07-01", drift=8, seed=1)


@pytest.fixture(scope="module")
def timed(tables):
    return compare(*tables, name_a="first half", name_b="second half", n_permutations=49)


def test_months_hold_all_rows_with_the_angles_of_the_other_columns(tables, timed):
    (line,) = timed.timelines
    assert line.column == "measured"
    assert line.windows[0] == "2024-01"
    assert line.windows[-1] == "2024-12"
    X = [table.drop(columns="measured").to_numpy() for table in tables]
    # The reference: a frame that never saw the dates.
    frame = JointFrame.fit(*X, units=timed.frame.geometry.units)
    for side, table, own in zip("AB", tables, X, strict=True):
        theta = np.asarray(frame.left_out(own, side).degrees)
        assert sum(one.rows for one in line.moments[side] if one) == N
        for when, one in zip(line.windows, line.moments[side], strict=True):
            inside = (table["measured"].dt.strftime("%Y-%m") == when).to_numpy()
            if one is None:
                assert inside.sum() < 5
                continue
            assert one.rows == inside.sum()
            assert one.median == pytest.approx(np.median(theta[inside]), abs=0.01)
            assert one.like_b == pytest.approx(np.mean(theta[inside] > 45), abs=1e-4)


def test_the_set_that_drifts_is_named_and_the_other_is_not(timed):
    (line,) = timed.timelines
    assert line.changing == ("B",)
    first, last = line.moments["B"][6], line.moments["B"][-1]
    assert last.median > first.median + 20
    (text,) = sentences(line, {"A": "first half", "B": "second half"})
    assert text.startswith("Rows of second half change over measured")


def test_dates_that_would_separate_the_sets_by_themselves_are_not_compared(tables, timed):
    """Training and production are of different times: what else changed is the question."""
    A, B = (table.drop(columns="measured") for table in tables)
    without = compare(A, B, n_permutations=49)
    assert timed.separation == without.separation
    assert timed.shift.pvalue == without.shift.pvalue
    assert [one.name for one in timed.features] == [one.name for one in without.features]
    (remark,) = (text for text in timed.warnings if getattr(text, "code", "") == "times set aside")
    assert remark.startswith(
        "measured is not compared: the dates of second half begin after those of first half"
    )
    assert "measured ends on 2024-06-28" in str(timed.verdict)
    assert remark.remedy == 'numeric="measured" compares it, too.'


def test_dates_are_compared_where_somebody_asks_or_the_sets_overlap(tables):
    A, B = tables
    asked = compare(A, B, numeric="measured", n_permutations=0)
    assert asked.features[0].name == "measured"
    assert asked.separation.auc.value > 0.999
    assert any("measured alone separates" in text for text in asked.warnings)
    overlapping = pd.concat([A.iloc[-1:], B])
    assert "measured" in compare(A, overlapping, n_permutations=0).feature_names


def test_what_is_scored_need_not_have_the_times(tables, tmp_path):
    A, B = tables
    Z = B.drop(columns="measured").iloc[-100:]
    found = compare(A, B, Z, n_permutations=0)
    assert found.groups[2].n == 100
    assert all(one is None for one in found.timelines[0].moments["Z"])


def test_page_markdown_and_json_have_the_same_numbers(timed):
    (line,) = timed.timelines
    (shown,) = content_of(timed).timelines
    assert shown.windows == line.windows
    assert shown.moments == line.moments
    told = json.loads(timed.to_json())["timelines"][0]
    assert told["moments"]["B"][-1]["median"] == line.moments["B"][-1].median
    text = to_markdown(timed)
    last = line.moments["B"][-1]
    assert f"{last.median:.1f}° ({last.low:.1f}° to {last.high:.1f}°)" in text
    assert "## Over measured" in text
    left_out = "Columns that tell the time are left out of these angles"
    assert left_out in text
    assert left_out in to_html(timed)


def test_without_times_the_order_is_told_only_where_it_matters(tables):
    A, B = (table.drop(columns="measured") for table in tables)
    (line,) = compare(A, B, n_permutations=0).timelines
    assert line.column == ""
    assert line.changing == ("B",)
    assert len(line.windows) == 10
    assert sum(one.rows for one in line.moments["A"]) == N
    shuffled = B.sample(frac=1, random_state=0)
    assert compare(A, shuffled, n_permutations=0).timelines == ()


def test_a_number_that_rises_with_the_rows_is_a_time(tables):
    A, B = (table.drop(columns="measured") for table in tables)
    A["step"], B["step"] = np.arange(N) * 1.0, np.arange(N, 2 * N) * 1.0
    (line,) = compare(A, B, n_permutations=0).timelines
    assert line.column == "step"
    ends = [window.split(" to ") for window in line.windows]
    assert [end for _, end in ends[:-1]] == [start for start, _ in ends[1:]]
    assert line.changing == ("B",)


def test_rows_without_a_time_are_in_no_window(tables):
    B = tables[1].copy()
    B.loc[B.index[:60], "measured"] = pd.NaT
    (line,) = compare(tables[0], B, n_permutations=0).timelines
    assert sum(one.rows for one in line.moments["B"] if one) == N - 60


def test_windows_are_longer_where_rows_are_few():
    many, few = np.linspace(0, 27, 900), np.linspace(0, 27, 40)
    assert [len(_calendar(days, [days])[1]) for days in (many, few)] == [28, 5]  # days, weeks


def test_two_years_apart_keep_their_months(tables):
    A, B = tables[0], tables[1].copy()
    B["measured"] += pd.DateOffset(years=3)
    (line,) = compare(A, B, n_permutations=0).timelines
    assert line.windows[0] == "2024-01"
    assert line.changing == ("B",)
    text = to_markdown(compare(A, B, n_permutations=0))
    assert "| 2024-01 |" in text
    assert "| 2025-05" not in text  # nobody measured then


def test_scored_rows_have_a_line_of_their_own(tables):
    A, B = tables
    (line,) = compare(A, B, B.iloc[-100:], n_permutations=0).timelines
    assert set(line.moments) == {"A", "B", "Z"}
    assert sum(one.rows for one in line.moments["Z"] if one) == 100


def test_one_date_for_all_rows_is_no_time(tables):
    A, B = (table.assign(measured=pd.Timestamp("2024-01-01")) for table in tables)
    A["speed"] = B["speed"] = tables[0]["speed"]
    assert compare(A, B, n_permutations=0).timelines == ()


@pytest.mark.parametrize(
    ("days", "labels"),
    [
        (np.linspace(0, 0.4, 900), ["1970-01-01 00:00", "1970-01-01 09:00"]),
        (np.linspace(0, 20, 900), ["1970-01-01", "1970-01-21"]),
        (np.linspace(0, 600, 900), ["1970-01", "1971-08"]),
        (np.linspace(0, 60, 250), ["1969-12-29 to 1970-01-04", "1970-03-02 to 1970-03-08"]),
        (np.linspace(0, 365.25 * 100, 900), ["1970 to 1973", "2070 to 2073"]),
    ],
)
def test_windows_are_as_short_as_they_can_be_told(days, labels):
    codes, found = _calendar(days, [days])
    assert [found[0], found[-1]] == labels
    assert 3 <= len(found) <= 30
    assert codes.min() == 0
    assert codes.max() == len(found) - 1


def test_chance_is_told_as_rarely_as_promised():
    rng = np.random.default_rng(0)
    p = [_pvalue(list(rng.normal(size=(10, 30)))) for _ in range(400)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.03)
