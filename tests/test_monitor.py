"""Monitoring: a comparison for every window, with memory."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cospan import Monitoring, Profile, compare, monitor
from cospan.errors import CospanError, CospanWarning, InputError, ModelFileError
from cospan.monitoring import result
from cospan.monitoring import windows as cutting
from cospan.monitoring.alarm import blamed, follow
from cospan.monitoring.functions import Watched
from cospan.monitoring.windows import as_every, read_windows
from cospan.report import document_of
from cospan.wording.results import episode_sentence, window_sentences


def table(seed, count, rows=60, start="2020-01-01", daily=0.15):
    """Days of a table whose means vary from day to day."""
    rng = np.random.default_rng(seed)
    n = count * rows
    effect = np.repeat(rng.normal(scale=daily, size=(count, 2)), rows, axis=0)
    temp = 20 + 5 * (rng.normal(size=n) + effect[:, 0])
    day = np.repeat(np.arange(count) * 86_400, rows)
    return pd.DataFrame(
        {
            "time": np.datetime64(start, "s")
            + day
            + np.sort(rng.integers(0, 86_400, (count, rows))).ravel(),
            "temp": temp,
            "dew": 0.8 * temp + 2 * rng.normal(size=n),
            "wind": np.exp(rng.normal(size=n) + effect[:, 1]),
            "site": rng.choice(["north", "south", "west"], size=n, p=[0.5, 0.3, 0.2]),
            "ok": rng.random(n) < 0.9,
        }
    )


@pytest.fixture(scope="module")
def usual():
    return table(0, 40)


@pytest.fixture(scope="module")
def profile(usual):
    return Profile.of(usual, time="time", every="day", name="usual")


@pytest.fixture
def later():
    return table(1, 8, start="2020-03-01")


def kept_of(data, time, every):
    return read_windows(data, time, as_every(every))


def of_window(frame, window):
    inside = (frame.time >= window.start) & (frame.time < window.end)
    return frame[inside].drop(columns="time")


# ---- windows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "period"),
    [("hour", "h"), ("day", "D"), ("week", "W-SUN"), ("month", "M"), ("year", "Y")],
)
def test_windows_are_those_of_the_calendar(every, period):
    rng = np.random.default_rng(0)
    times = pd.Timestamp("1968-03-01") + pd.to_timedelta(rng.integers(0, 10**9, 500), unit="s")
    length = as_every(every)
    codes = length.codes((times - pd.Timestamp(0)).total_seconds().to_numpy() / 86_400)
    starts = times.to_period(period).start_time
    assert [pd.Timestamp(length.start(code)) for code in codes] == list(starts)
    assert all(pd.Timestamp(length.end(c)) > t for c, t in zip(codes, times, strict=True))


@pytest.mark.parametrize("bad", ["fortnight", "0", "-3-rows", "", None, 1.5, "9" * 40])
def test_every_is_a_unit_or_a_number_of_rows(bad):
    with pytest.raises(InputError, match="length of a window"):
        as_every(bad)


def test_windows_do_not_depend_on_the_order_of_days_or_on_blocks(later, monkeypatch):
    whole = kept_of(later, "time", "day")
    monkeypatch.setattr(cutting, "BLOCK_CELLS", 500)
    parts = kept_of(later, "time", "day")
    days = later.time.dt.floor("D")
    mixed = pd.concat([later[days == day] for day in reversed(days.unique())])
    turned = kept_of(mixed, "time", "day")
    assert whole.rows.equals(parts.rows)
    assert whole.rows.equals(turned.rows)
    assert whole.codes.tolist() == turned.codes.tolist()


def test_large_windows_are_thinned_out_at_random(monkeypatch):
    rows = np.arange(20_000.0)[:, None]
    found = kept_of(rows, None, 10_000)
    kept = found.of(0)[:, 0]
    assert (found.counts[0], len(kept)) == (10_000, cutting.WINDOW_ROWS)
    assert np.all(np.diff(kept) > 0)
    assert abs(kept.mean() - 5_000) < 400
    monkeypatch.setattr(cutting, "ALL_BYTES", 8 * 1_000)
    found = kept_of(rows, None, 2_000)
    assert len(found.rows) <= 1_000
    assert found.counts.sum() == 20_000


# ---- a comparison for every window ------------------------------------------------------------


def test_a_window_says_what_compare_says_to_the_digit(profile, later):
    later.loc[later.time >= "2020-03-03", "wind"] *= 4
    later.loc[5:15, "temp"] = np.nan
    found = monitor(profile, later, details="all")
    for window in found.windows[1:4]:
        pair = compare(
            profile.kept_rows, of_window(later, window), name_a="usual", name_b=str(window)
        )
        assert (window.size, window.size.low, window.p) == (pair.size, pair.size.low, pair.p)
        assert window.findings == pair.findings
        assert window.comparison.features.to_dict() == pair.features.to_dict()
    assert found.windows[3].findings[0].column == "wind"


def test_what_a_window_and_its_comparison_both_found_is_there_once(profile, later):
    day = later[later.time >= "2020-03-08"].drop(columns="wind")
    day.loc[day.index[0], "dew"], day["temp"] = np.inf, day["temp"] + 30
    window = monitor(profile, pd.concat([day, day[:20]])).windows[0]
    pair = compare(profile.kept_rows, of_window(pd.concat([day, day[:20]]), window),
                   name_a="usual", name_b=str(window))  # fmt: skip
    assert {"only in", "absurd", "repeated rows", "mean"} <= {one.kind for one in pair.findings}
    assert [one.to_dict() for one in window.findings] == [one.to_dict() for one in pair.findings]


def test_a_window_of_an_array_or_a_text_file_is_compared_as_it_is(tmp_path, usual, later):
    rng = np.random.default_rng(0)
    reference, rows = rng.normal(size=(900, 3)), rng.normal(size=(100, 3)) + 1
    window = monitor(reference, rows, every=50, details="all").windows[0]
    pair = compare(reference, rows[:50])
    assert (window.size, window.p) == (pair.size, pair.p)
    assert [one.column for one in window.findings] == [one.column for one in pair.findings]
    later["wind"] *= 5
    usual.to_csv(tmp_path / "usual.csv", index=False)
    later.to_csv(tmp_path / "later.csv", index=False)
    found = monitor(
        tmp_path / "usual.csv", tmp_path / "later.csv", time="time", every="day", details="all"
    )
    of_window(later, found.windows[0]).to_csv(tmp_path / "day.csv", index=False)
    usual.drop(columns="time").to_csv(tmp_path / "rows.csv", index=False)
    pair = compare(tmp_path / "rows.csv", tmp_path / "day.csv")
    assert (found.windows[0].size, found.windows[0].p) == (pair.size, pair.p)


def test_only_windows_in_alarm_are_compared_unless_all_are_wanted(profile, later):
    later.loc[later.time >= "2020-03-05", "temp"] += 15
    found = monitor(profile, later)
    assert [w.alarm for w in found.windows] == [w.comparison is not None for w in found.windows]
    assert found.windows[-1].alarm
    quiet = found.windows[0]
    assert (quiet.size, quiet.p, quiet.findings) == (None, None, ())
    assert abs(quiet.columns["temp"].mean - of_window(later, quiet).temp.mean()) < 1e-9
    assert quiet.columns["site"].levels["north"] > 0.3
    assert all(w.size is not None for w in monitor(profile, later, details="all").windows)


def test_too_few_windows_cannot_judge_but_are_compared(usual, later):
    later["temp"] += 15
    found = monitor(usual[: 13 * 60], later, time="time", every="day")
    assert {w.status for w in found.windows} == {"cannot judge yet"}
    assert not any(w.alarm for w in found.windows)
    assert found.windows[0].findings[0].column == "temp"
    assert found.sentences[0].startswith("Cannot judge yet: the reference has 13 windows")
    assert found.smallest_seen == {}


# ---- alarms -----------------------------------------------------------------------------------


def test_quiet_days_raise_no_alarm(profile):
    found = monitor(profile, table(5, 60, start="2020-03-01"))
    assert not found.episodes
    assert found.sentences[0] == "No alarm in 60 days."


def faults():
    def moved(t, rng):
        t["temp"] += 8
        return "temp"

    def wider(t, rng):
        t["wind"] **= 2
        return "wind"

    def frozen(t, rng):
        t["dew"] = 15.0
        return "dew"

    def unit(t, rng):
        t["temp"] = t["temp"] * 1.8 + 32
        return "temp"

    def missing(t, rng):
        t.loc[rng.random(len(t)) < 0.3, "wind"] = np.nan
        return "wind"

    def level(t, rng):
        t.loc[rng.random(len(t)) < 0.4, "site"] = "west"
        return "site"

    def new_level(t, rng):
        t.loc[rng.random(len(t)) < 0.1, "site"] = "east"
        return "site"

    def truth(t, rng):
        t["ok"] = ~t["ok"]
        return "ok"

    def shuffled(t, rng):
        t["dew"] = rng.permutation(t["dew"].to_numpy())
        return "dew"

    def gone(t, rng):
        t["wind"] = None
        return "wind"

    return (moved, wider, frozen, unit, missing, level, new_level, truth, shuffled, gone)


@pytest.mark.parametrize("fault", faults(), ids=lambda one: one.__name__)
def test_a_fault_is_seen_named_and_dated(profile, fault):
    rng = np.random.default_rng(2)
    later = table(3, 16, start="2020-03-01")
    bad = later[later.time >= "2020-03-09"].copy()
    column = fault(bad, rng)
    found = monitor(profile, [later[later.time < "2020-03-09"], bad])
    (episode,) = found.episodes
    assert episode.end is None
    assert episode.alarm.start <= np.datetime64("2020-03-13")
    assert abs(episode.start - np.datetime64("2020-03-09")) <= np.timedelta64(5, "D")
    # of a relation that is broken either column may be to blame
    assert episode.columns[0] in ((column, "temp") if column == "dew" else (column,))
    assert episode.findings == episode.alarm.findings


def test_an_episode_ends_and_another_column_inside_is_announced(profile):
    later = table(6, 40, start="2020-03-01")
    later.loc[(later.time >= "2020-03-06") & (later.time < "2020-03-20"), "temp"] += 10
    later.loc[(later.time >= "2020-03-12") & (later.time < "2020-03-18"), "ok"] = False
    (episode,) = monitor(profile, later).episodes
    assert episode.start == np.datetime64("2020-03-06")
    assert abs(episode.end - np.datetime64("2020-03-19")) <= np.timedelta64(5, "D")
    assert set(episode.columns[:2]) == {"temp", "ok"}
    assert any("ok" in names for _, names in episode.announced)


def test_a_small_change_that_lasts_adds_up(profile):
    later = table(7, 40, start="2020-03-01")
    later.loc[later.time >= "2020-03-11", "temp"] += 2.5
    found = monitor(profile, later)
    assert any("temp" in one.columns or "dew" in one.columns for one in found.episodes)
    assert 0.5 < found.smallest_seen[30] < found.smallest_seen[7] < 4


def test_a_weekly_pattern_is_taken_off():
    weekly = np.tile(np.repeat(2 * np.sin(np.arange(7)), 60), 20)
    usual, later = table(8, 56), table(9, 28, start="2020-02-26")
    usual["temp"] += 5 * weekly[: len(usual)]
    later["temp"] += 5 * weekly[: len(later)]
    assert not monitor(usual, later, time="time", every="day").episodes
    later["temp"] -= 5 * weekly[: len(later)]
    later["temp"] += 5 * np.roll(weekly, 180)[: len(later)]
    assert monitor(usual, later, time="time", every="day").episodes


def test_a_rolling_reference_gets_used_to_a_change(profile):
    later = table(10, 100, start="2020-02-10")
    later.loc[later.time >= "2020-02-20", "temp"] += 10
    fixed = monitor(profile, later[later.time < "2020-03-05"])
    rolling = monitor(profile, later, rolling=True)
    assert fixed.episodes[0].end is None
    assert rolling.episodes[0].columns[0] in ("temp", "dew")
    assert rolling.episodes[0].end is not None
    assert not any(w.alarm for w in rolling.windows[-20:])


def test_texts_that_are_cut_are_seen(usual, later):
    rng = np.random.default_rng(0)
    for frame in (usual := usual.copy(), later):
        frame["key"] = [f"K-{x:09d}" for x in rng.integers(0, 10**9, len(frame))]
    late = later.time >= "2020-03-05"
    later.loc[late, "key"] = later.loc[late, "key"].str[:8]
    found = monitor(usual, later, time="time", every="day")
    assert found.episodes[0].columns[0] == "key"


def test_dates_that_move_along_are_watched_from_their_window():
    rng = np.random.default_rng(0)

    def dated(frame):
        sent = frame.time.dt.floor("D") - pd.to_timedelta(rng.gamma(2, 30, len(frame)), "D")
        return frame.assign(sent=sent, list=pd.Timestamp("2019-12-31"))

    usual, later = dated(table(0, 40)), dated(table(1, 30, start="2020-02-10"))
    assert not monitor(usual, later, time="time", every="day").episodes
    late = later.time >= "2020-03-01"
    for column, days in (("sent", 30), ("list", 1)):
        bad = later.copy()
        bad.loc[late, column] -= pd.Timedelta(days=days)
        (episode,) = monitor(usual, bad, time="time", every="day").episodes
        assert episode.columns == (column,)
        assert episode.start == np.datetime64("2020-03-01")
    alone = monitor(usual, later, every=60)  # rows have no time to be counted from
    assert "missing" not in str(alone.sentences)


def test_what_others_leave_of_a_column_is_explained_by_any_that_is_blamed():
    table = [Watched("mean", "x"), Watched("given", "y"), Watched("scatter", "x"),
             Watched("relation", "x", "y"), Watched("relation", "z", "u")]  # fmt: skip
    assert blamed(table, np.array([5.0, 9, 9, 9, -np.inf])) == ("x",)
    assert blamed(table, np.array([5.0, 9, 9, 9, 4])) == ("x", "z", "u")
    assert blamed(table, np.array([-np.inf, 5, 4, 3, -np.inf])) == ("y",)


def test_a_start_is_where_the_deviation_is_clearest():
    z = np.concatenate([np.full(8, 0.9), np.full(4, 6.0)])[:, None]
    (run,) = follow(z, np.full((12, 1), 10.0), 0.8)[1]
    assert (run.start, run.alarm, run.end) == (8, 9, None)


# ---- what is met in a window -------------------------------------------------------------------


def kinds(window):
    return {one.kind for one in window.findings}


def test_no_data_where_data_was_due_is_a_finding(profile, later):
    gap = later[(later.time < "2020-03-03") | (later.time >= "2020-03-05")]
    found = monitor(profile, gap)
    empty = [w for w in found.windows if w.status == "no data"]
    assert [str(w.start) for w in empty] == ["2020-03-03", "2020-03-04"]
    assert kinds(empty[0]) == {"no data"}
    assert "2 days had no data, the last 4 March 2020." in found.sentences
    weekdays = table(0, 60)
    weekdays = weekdays[weekdays.time.dt.day_of_week < 5]
    later = later[later.time.dt.day_of_week < 5]
    found = monitor(weekdays, later, time="time", every="day")
    assert all(w.status == "judged" for w in found.windows)


def test_times_far_outside_are_a_finding_and_not_judged(profile, later):
    later.loc[range(10), "time"] = pd.Timestamp("2204-01-01")
    found = monitor(profile, later)
    assert len(found.windows) == 9
    assert (found.windows[-1].status, kinds(found.windows[-1])) == ("far outside", {"far"})
    assert not any("too few rows" in line for line in found.sentences)


def test_columns_that_come_go_or_change_their_type_are_findings(profile, later):
    other = later.drop(columns="wind").assign(extra=1.0)
    other["dew"] = "n/a?"
    found = monitor(profile, other)
    said = [(one.kind, one.column) for one in found.windows[0].findings]
    assert {("only in", "wind"), ("only in", "extra"), ("retyped", "dew")} <= set(said)
    assert len(said) == len(set(said))
    assert found.windows[0].alarm
    with pytest.raises(InputError, match="no column in common"):
        monitor(profile, later[["time"]].assign(z=1.0))


def test_repeated_windows_and_absurd_values_are_findings(profile, usual, later):
    second = later[later.time < "2020-03-02"].copy()
    again = pd.concat([later, second.assign(time=second.time + pd.Timedelta(days=8))])
    assert kinds(monitor(profile, again).windows[-1]) == {"repeated window"}
    last = usual[-60:].assign(time=usual.time[-60:] + pd.Timedelta(days=30))
    assert kinds(monitor(profile, last).windows[0]) == {"repeated window"}
    flags = [one[one.index % 60 < 12][["time", "ok"]] for one in (usual, table(4, 30))]
    alike = monitor(*flags, time="time", every="day")  # a dozen flags are the same again by chance
    assert not any(window.findings for window in alike.windows)
    later.loc[7, "wind"] = 1e200
    odd = monitor(profile, later).windows[0]
    assert [(one.kind, one.column, one.b) for one in odd.findings] == [("absurd", "wind", 1.0)]
    assert not odd.alarm


# ---- streams ----------------------------------------------------------------------------------


def test_several_files_and_formats_are_one_stream(profile, later, tmp_path):
    half = len(later) // 2
    later[:half].to_parquet(tmp_path / "one.parquet")
    later[half:].to_csv(tmp_path / "two.csv", index=False)
    found = monitor(profile, [tmp_path / "one.parquet", tmp_path / "two.csv"])
    alone = monitor(profile, later)
    assert [w.rows for w in found.windows] == [w.rows for w in alone.windows]
    levels = [[w.level for w in one.windows] for one in (found, alone)]
    np.testing.assert_allclose(*levels, rtol=1e-6)


def test_dask_dataframes_are_windows_too(profile, later):
    dask = pytest.importorskip("dask.dataframe")
    found = monitor(profile, dask.from_pandas(later, npartitions=3))
    np.testing.assert_allclose(
        [w.level for w in found.windows], [w.level for w in monitor(profile, later).windows]
    )


@pytest.mark.parametrize("how", ["%Y/%m/%d %H:%M", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%SZ"])
def test_dates_are_read_as_people_write_them(profile, later, how):
    later["time"] = later["time"].dt.strftime(how)
    found = monitor(profile, later)
    assert [str(w.start) for w in found.windows] == [f"2020-03-0{k}" for k in range(1, 9)]


def test_windows_begin_in_utc_and_rows_without_a_time_are_said(profile, later):
    zoned = later.assign(time=later.time.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    assert [w.rows for w in monitor(profile, zoned).windows] == [60] * 8
    later.loc[2, "time"] = pd.NaT
    with pytest.warns(CospanWarning, match="1 of 480 rows have no time"):
        assert monitor(profile, later).windows[0].rows == 59


def test_small_windows_are_not_judged(profile, later):
    few = later[(later.time >= "2020-03-02") | (later.index < 5)]
    found = monitor(profile, few)
    assert (found.windows[0].status, found.windows[0].rows) == ("few rows", 5)
    assert np.isnan(found.windows[0].level)
    assert monitor(profile, few[:5]).sentences == ("1 day had too few rows: 1 March 2020.",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"every": "week"}, "The reference has windows of day"),
        ({"false_alarms": 0}, "one above 0"),
        ({"false_alarms": True}, "not a number of false alarms"),
        ({"time": "when"}, "has no column 'when'"),
        ({"time": np.zeros(9)}, "time= names a column, and ndarray is no name"),
        ({"details": "some"}, "details is 'some'; it must be one of"),
    ],
)
def test_bad_arguments_get_one_sentence(profile, later, change, message):
    with pytest.raises(InputError, match=message):
        monitor(profile, later, **change)


def test_other_mistakes_get_one_sentence(profile, usual, later, tmp_path):
    with pytest.raises(TypeError, match="monitor has no argument evry=; help"):
        monitor(profile, later, evry="day", columns=["temp"])
    with pytest.raises(InputError, match="How long is a window"):
        monitor(usual, later, time="time")
    with pytest.raises(InputError, match="need times"):
        monitor(usual, later, every="day")
    with pytest.raises(InputError, match="has no column 'time'; it is not a table"):
        monitor(profile, np.zeros((20, 2)))
    with pytest.raises(InputError, match="an array of 3 features, and the reference is"):
        monitor(np.random.default_rng(0).normal(size=(99, 2)), np.zeros((20, 3)), every=10)
    path = profile.save(tmp_path / "usual.cospan")
    with pytest.raises(CospanError, match="is none of CSV"):
        monitor(profile, path)


# ---- files ------------------------------------------------------------------------------------


def same(found, again):
    """All but for rounding: sums may be taken in another order."""
    for a, b in zip(found.windows, again.windows, strict=True):
        assert (str(a), a.rows, a.size, a.p, a.findings) == (
            str(b), b.rows, b.size, b.p, b.findings,
        )  # fmt: skip
        np.testing.assert_allclose(a.level, b.level, rtol=1e-9)
    assert [one.to_dict() for one in found.episodes] == [one.to_dict() for one in again.episodes]
    assert found.sentences == again.sentences


def test_profiles_and_monitorings_survive_the_file(profile, later, tmp_path):
    later.loc[later.time >= "2020-03-05", "temp"] += 15
    read = Profile.load(profile.save(tmp_path / "usual.cospan"))
    assert read.kept_rows.equals(profile.kept_rows)
    assert repr(read) == repr(profile)
    found, again = monitor(profile, later), monitor(tmp_path / "usual.cospan", later)
    same(found, again)
    kept = Monitoring.load(found.save(tmp_path / "watch.cospan"))
    same(found, kept)
    assert (str(found), repr(found)) == (str(kept), repr(kept))
    assert kept.windows[-1].size.low == found.windows[-1].size.low
    pair = compare(tmp_path / "usual.cospan", of_window(later, found.windows[-1]))
    assert pair.size == found.windows[-1].size
    assert compare(profile, of_window(later, found.windows[-1])).p == pair.p
    assert list(found.to_frame()["window"]) == [str(w) for w in found.windows]


def test_damaged_and_foreign_files_give_one_sentence(profile, later, tmp_path):
    path = profile.save(tmp_path / "usual.cospan")
    data = path.read_bytes()
    for broken in (data[:200], data[:-50], data[:500] + b"x" + data[501:], b""):
        path.write_bytes(broken)
        with pytest.raises(ModelFileError, match=r"usual\.cospan: "):
            Profile.load(path)
    monitor(profile, later).save(path)
    assert repr(Profile.load(path)) == repr(profile)


def test_tomorrow_is_added_without_yesterdays_data(profile, later, tmp_path):
    days = [later[later.time.dt.day == k] for k in range(1, 9)]
    path = monitor(profile, pd.concat(days[:6])).save(tmp_path / "watch.cospan")
    for day in days[6:]:
        monitor(path, day).save(path)
        monitor(path, day).save(path)  # once more changes nothing
    found = Monitoring.load(path)
    same(found, monitor(profile, later, name="pandas dataframe"))
    with pytest.warns(CospanWarning, match="2020-03-08 was there already; the rows"):
        assert monitor(found, days[7][:50]).windows[-1].rows == 50
    assert monitor(path, days[7], false_alarms=50).smallest_seen[7] < found.smallest_seen[7]


def test_an_episode_is_dated_by_the_hour_or_the_row():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 2))
    values[400:, 1] += 3
    usual = rng.normal(size=(1200, 2))

    def hourly(rows, start):
        times = pd.Timestamp(start) + pd.to_timedelta(np.arange(len(rows)) // 20, unit="h")
        return pd.DataFrame({"time": times, "x": rows[:, 0], "y": rows[:, 1]})

    reference = hourly(usual, "2020-03-01")
    found = monitor(reference, hourly(values, "2020-03-10"), time="time", every="hour")
    assert found.sentences[0] == "Since 10 March 2020 20:00, y differs from the reference."
    found = monitor(usual, values, every=20)
    assert found.sentences[0] == "Since row 401, x1 differs from the reference."
    one, later = found.episodes[0], replace(found.windows[-1], level=99.0)
    said = episode_sentence(replace(one, announced=((later, ("x0",)),)))
    assert said.endswith("differs from the reference. Clearest from row 581: x0.")
    facts = {fact.label: fact.value for fact in document_of(found).card.facts}
    assert facts["First alarm"] == "row 401"
    assert facts["False alarms to expect"] == "1 in 365 windows"


def test_windows_counted_in_rows_go_on_after_the_last():
    rng = np.random.default_rng(0)
    first = monitor(rng.normal(size=(900, 2)), rng.normal(size=(100, 2)), every=50)
    found = monitor(first, rng.normal(size=(100, 2)))
    assert [w.start for w in found.windows] == [1, 51, 101, 151]
    assert [w.start for w in found.new_windows] == [101, 151]


ADD = "import sys; from cospan import monitor; monitor(*sys.argv[1:3]).save(sys.argv[1])"


def test_two_processes_that_append_at_once_lose_nothing(profile, later, tmp_path):
    days = [later[later.time.dt.day == k] for k in range(1, 9)]
    path = profile.save(tmp_path / "usual.cospan")
    for one in [monitor(path, day) for day in days[:2]]:
        one.save(path)
    assert len(Monitoring.load(path).windows) == 2
    path = monitor(profile, pd.concat(days[:5])).save(tmp_path / "watch.cospan")
    at_once = []
    for k, day in enumerate(days[5:8]):
        day.to_parquet(tmp_path / f"{k}.parquet")
        command = [sys.executable, "-c", ADD, str(path), str(tmp_path / f"{k}.parquet")]
        at_once.append(subprocess.Popen(command))
    assert [one.wait() for one in at_once] == [0, 0, 0]
    assert len(Monitoring.load(path).windows) == 8
    stale = monitor(Monitoring.load(path), days[0])
    monitor(Monitoring.load(path), days[7].assign(time=days[7].time + pd.Timedelta(days=1))).save(
        path
    )
    stale.save(path)
    assert len(Monitoring.load(path).windows) == 9


def test_windows_of_rows_that_are_added_at_once_lose_nothing(tmp_path):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(100, 2)) + shift for shift in (0, 1, 2)]
    path = monitor(rng.normal(size=(900, 2)), parts[0], every=50).save(tmp_path / "watch.cospan")
    at_once = [monitor(path, part) for part in parts[1:]]
    for one in at_once:
        one.save(path)
    at_once[0].save(path)  # once more changes nothing
    found = Monitoring.load(path)
    assert [w.start for w in found.windows] == [1, 51, 101, 151, 201, 251]
    held = [w.columns["x0"].mean for w in found.windows]
    told = np.concatenate(parts)[:, 0].reshape(-1, 50).mean(axis=1)
    np.testing.assert_allclose(held, told)


def test_who_waits_in_vain_is_told(profile, later, tmp_path, monkeypatch):
    monkeypatch.setattr(result, "PATIENCE", 0.1)
    found, path = monitor(profile, later), tmp_path / "watch.cospan"
    with (
        result.locked(path),
        pytest.raises(CospanError, match="another process has been writing to it"),
    ):
        found.save(path)
    assert not path.exists()
    found.save(path)


def test_sentences_on_a_window_call_the_reference_so(profile, later):
    later["temp"] = later["temp"].where(later.index % 5 > 0)
    found = monitor(profile, later)
    said = [text for one in found.windows for text in window_sentences(one)]
    assert any(text.endswith("never in the reference.") for text in said)
    assert not any("Profile of" in text for text in said)
