"""Monitoring: windows against a reference, alarm levels from the reference's own windows."""

import dataclasses
import os
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import cospan
from cospan import Monitoring, Profile, Summary, monitor
from cospan.errors import CospanWarning, InputError, ModelFileError
from cospan.model_file.container import packed
from cospan.model_file.reader import Parts
from cospan.monitoring.channels import Cost, related
from cospan.monitoring.episodes import episodes_of
from cospan.monitoring.files import FORMAT_VERSION, PROFILE, profile_parts
from cospan.monitoring.levels import _alarms, _beyond, _spread, _without_each, levels_of
from cospan.monitoring.moments import each_left_out, without_rows
from cospan.monitoring.ranks import legendre, legendre_means, ranks_of
from cospan.monitoring.reading import Timed
from cospan.monitoring.reasons import reason_text
from cospan.monitoring.timing import as_every
from cospan.monitoring.windows import cut, windows_of


def days(start, count, rows, rng):
    """Times of `rows` rows on each of `count` days."""
    first = np.datetime64(start, "s")
    day = np.repeat(np.arange(count) * 86_400, rows)
    return first + day + np.sort(rng.integers(0, 86_400, (count, rows))).ravel()


def table(rng, count, rows=120, start="2020-01-01"):
    """Days of a table whose means vary from day to day."""
    n = count * rows
    daily = np.repeat(rng.normal(scale=0.15, size=(count, 2)), rows, axis=0)
    temp = 20 + 5 * (rng.normal(size=n) + daily[:, 0])
    dew = 0.8 * temp + 2 * rng.normal(size=n)
    return pd.DataFrame(
        {
            "time": days(start, count, rows, rng),
            "temp": temp,
            "dew": dew,
            "wind": np.exp(rng.normal(size=n) + daily[:, 1]),
            "site": rng.choice(["north", "south", "west"], size=n, p=[0.5, 0.3, 0.2]),
            "ok": rng.random(n) < 0.9,
        }
    )


@pytest.fixture(scope="module")
def usual():
    return table(np.random.default_rng(0), 40)


@pytest.fixture(scope="module")
def profile(usual):
    return Profile.of(usual, time="time", every="day", rows=1000, name="usual")


@pytest.fixture
def later():
    return table(np.random.default_rng(1), 8, start="2020-03-01")


# ---- windows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "period"),
    [("hour", "h"), ("day", "D"), ("week", "W-SUN"), ("month", "M"), ("year", "Y")],
)
def test_windows_are_those_of_the_calendar(every, period):
    times = pd.date_range("1969-11-20 23:00", "1973-03-02", freq="7h")
    unit = as_every(every)
    codes = unit.codes(times.to_numpy().astype("datetime64[us]").astype(np.int64) / 86_400e6)
    expected = times.to_period(period)
    for code in np.unique(codes):
        inside = expected[codes == code]
        assert inside.nunique() == 1
        begin = str(inside[0].start_time)
        assert begin.startswith(unit.label(int(code)))
    assert len(np.unique(codes)) == expected.nunique()


@pytest.mark.parametrize("bad", ["fortnight", 0, -3, "0-rows", 2.5, None])
def test_every_is_a_unit_or_a_number_of_rows(bad):
    with pytest.raises(InputError, match="not the length of a window; give every="):
        as_every(bad)


def test_windows_do_not_depend_on_chunks_or_order():
    rng = np.random.default_rng(0)
    rows, time = rng.normal(size=(3000, 3)), rng.uniform(0, 10, 3000)
    every = as_every("day")
    shuffled = cut([Timed(rows, time)], every)
    order = np.argsort(time)
    pieces = [Timed(rows[order][i : i + 77], time[order][i : i + 77]) for i in range(0, 3000, 77)]
    chunked = cut(pieces, every)
    for (code, a), (other, b) in zip(shuffled.ordered(), chunked.ordered(), strict=True):
        inside = rows[np.floor(time) == code]
        assert code == other
        assert a.count == b.count == len(inside)
        for one in (a, b):
            np.testing.assert_allclose(one.mean, inside.mean(axis=0), atol=1e-12)
            np.testing.assert_allclose(
                one.scatter_about(), (len(inside) - 1) * np.cov(inside.T), atol=1e-9
            )


def test_columns_of_zeros_cost_nothing_and_change_nothing():
    """Indicators at the end are left out of blocks where none of them is set."""
    rows = np.random.default_rng(0).normal(size=(600, 5))
    rows[:, 3:] = 0
    rows[500, 4] = 1
    blocks = [rows[i : i + 150] for i in range(0, 600, 150)]
    narrow = [block if block[:, 3:].any() else block[:, :3] for block in blocks]
    plain, padded = (
        cut([Timed(one, None) for one in rows], as_every(200), width=5) for rows in (blocks, narrow)
    )
    for (_, a), (_, b) in zip(plain.ordered(), padded.ordered(), strict=True):
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-15)
        np.testing.assert_allclose(a.scatter_about(), b.scatter_about(), atol=1e-10)
        assert b.sample.rows.shape[1] == 5


def test_samples_shrink_where_windows_are_many(monkeypatch):
    monkeypatch.setattr("cospan.monitoring.windows.SAMPLE_BYTES", 8 * 2 * 1000)
    rows = np.random.default_rng(0).normal(size=(4000, 2))
    found = cut([Timed(rows[i : i + 50], None) for i in range(0, 4000, 50)], as_every(100))
    assert len(found.parts) == 40
    assert sum(len(part.sample) for part in found.parts.values()) <= 2 * 1000
    assert all(part.count == 100 for part in found.parts.values())


def test_the_reference_without_a_window_is_what_is_left():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3)) + n for n in (5, 30, 2, 11)]
    found = each_left_out([Summary.of(x, exact=False) for x in parts])
    for i, one in enumerate(found):
        rest = np.concatenate([x for j, x in enumerate(parts) if j != i])
        np.testing.assert_allclose(one.mean, rest.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(one.scatter_about(), (len(rest) - 1) * np.cov(rest.T), rtol=1e-9)


# ---- what is watched --------------------------------------------------------------------------


def test_a_summary_without_some_rows_is_that_of_the_others():
    X = np.random.default_rng(5).normal(size=(50, 3))
    rest = without_rows(Summary.of(X, exact=False), X[:20])
    np.testing.assert_allclose(rest.mean, X[20:].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(rest.scatter_about(), 29 * np.cov(X[20:].T), atol=1e-10)


def test_ranks_are_mid_ranks():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 9, 500).astype(float)
    expected = 2 * (stats.rankdata(few) - 0.5) / len(few) - 1
    np.testing.assert_allclose(ranks_of(few).of(few), expected, atol=1e-12)
    many = np.where(rng.random(20_000) < 0.3, 0.0, rng.normal(size=20_000))
    expected = 2 * (stats.rankdata(many) - 0.5) / len(many) - 1
    np.testing.assert_allclose(ranks_of(many).of(many), expected, atol=0.02)
    assert abs(ranks_of(many).of(np.zeros(1))[0] - expected[many == 0][0]) < 1e-12


def test_scores_of_ranks_are_legendre_polynomials():
    u = np.linspace(-1, 1, 11)
    for k, score in enumerate(legendre(u), start=1):
        np.testing.assert_allclose(score, np.polynomial.Legendre.basis(k)(u), atol=1e-14)


def test_means_of_scores_leave_out_what_is_missing():
    rng = np.random.default_rng(0)
    u, there = rng.uniform(-1, 1, (50, 3)), (rng.random((50, 3)) < 0.6).astype(float)
    there[:, 2] = 0
    found = legendre_means(u, there)
    for k in range(2):
        expected = [score.mean() for score in legendre(u[there[:, k] > 0, k])]
        np.testing.assert_allclose(found[k], expected, atol=1e-12)
    np.testing.assert_array_equal(found[2], 0)
    np.testing.assert_allclose(legendre_means(u)[0], [s.mean() for s in legendre(u[:, 0])])


def test_cost_is_the_squared_mahalanobis_distance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
    cost = Cost.of(Summary.of(X, exact=False), np.arange(3), 0.0)
    inverse = np.linalg.inv(np.cov(X.T, bias=True))
    away = X - X.mean(axis=0)
    squared, given = cost.away(X)
    for found in (squared, cost.squared(X)):
        np.testing.assert_allclose(found, np.einsum("ij,jk,ik->i", away, inverse, away))
    # Given the others: what a regression on them leaves, in units of its own deviation.
    rest = away[:, 0] - away[:, 1:] @ np.linalg.lstsq(away[:, 1:], away[:, 0], rcond=None)[0]
    np.testing.assert_allclose(given[:, 0], rest / rest.std(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cost.unit[0], rest.std())


# ---- levels -----------------------------------------------------------------------------------


def test_every_window_is_judged_without_itself():
    rng = np.random.default_rng(0)
    y, s2 = rng.normal(size=(12, 5)), rng.uniform(0.01, 0.4, (12, 5))
    sizes, variance = rng.integers(20, 90, 12).astype(float), rng.uniform(1, 2, 5)
    z = _without_each(y, s2, sizes, variance).z(y, s2)
    for i in range(12):
        keep = np.arange(12) != i
        mean, natural = _spread(y[keep], s2[keep], sizes[keep])
        m = sizes[keep].sum() ** 2 / (sizes[keep] ** 2).sum()
        error = natural * (1 + 1 / m) + s2[i] + variance / sizes[keep].sum()
        np.testing.assert_allclose(z[i], (y[i] - mean) / np.sqrt(error), rtol=1e-10)


@pytest.mark.parametrize(("m", "rate"), [(39, 0.05), (99, 0.05), (399, 0.01)])
def test_the_ranks_keep_their_rate_whatever_the_distribution(m, rate):
    """P(a family's score of one more window > its level) ≤ rate, if the two are independent."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(4000):
        scores = np.arctan(np.abs(rng.standard_cauchy((2, m + 1))))
        levels, method = _alarms(scores[:, :-1], rate, 4.0)
        assert method == "rank"
        alarms += any(scores[:, -1] > levels)
    assert alarms / 4000 <= rate + 3 * np.sqrt(rate / 4000)
    assert alarms / 4000 >= rate - 2 / (m + 1) - 3 * np.sqrt(rate / 4000)


def test_long_tails_keep_the_stated_rate_where_ranks_cannot_promise_it():
    """Windows that vary like t with three degrees of freedom, in two families."""
    rng = np.random.default_rng(0)
    m, rate, alarms, years = 30, 0.02, 0, 1000
    kinds = ["mean"] * 4 + ["missing"] * 4
    noise = np.full((m, 8), 0.01)
    for _ in range(years):
        y = 0.2 * rng.standard_t(3, size=(m + 5, 8))
        level = levels_of(y[:m], noise, np.full(m, 100.0), np.ones(8), np.zeros(8), rate, kinds)
        assert level.method == "t"
        alarms += np.count_nonzero(level.ratios(level.standardised(y[m:], noise[:5])) > 1)
    assert alarms / (5 * years) <= rate + 3 * np.sqrt(rate / (5 * years))


def test_what_happened_once_to_one_column_does_not_hide_everything_else():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.2, 0.9, size=(2, 60))
    scores[0, 7] = 70.0
    (first, second), method = _alarms(scores, 1 / 365, 4.0)
    assert (first, method) == (4.0, "t")
    assert 1 <= second < 1.5
    scores[0, 7] = 5.0  # one window of sixteen that the tail is made of
    (first, again), _ = _alarms(scores, 1 / 365, 4.0)
    assert (first < 3, again) == (True, second)
    scores[0, 7] = 70.0
    factors, method = _alarms(scores, 0.033, 4.0)  # ranks could promise it, at a level of 70
    assert method == "t"
    assert factors.max() <= 4


def test_a_tail_is_continued_by_hill_and_weissman():
    scores = np.array([0.5, 0.4, 1.6, 0.8, 0.4, 0.4, 3.2, 0.4])  # 8 windows: the 4 largest, by hand
    index = (np.log(8) + np.log(4) + np.log(2) + np.log(1.25)) / 4
    assert _beyond(scores, 0.01, 5.0) == pytest.approx(0.4 * (4 / (9 * 0.01)) ** index)


@pytest.mark.parametrize("m", [12, 60, 300])
def test_the_tail_of_a_t_distribution_is_left_to_its_limit(m):
    """Deviations at the quantiles of t, of which a score of 1 is the limit; and their squares."""
    z = stats.t.isf((np.arange(m) + 0.5) / (2 * m), m - 2)
    limit = stats.t.isf(1e-4, m - 1)
    assert _beyond(z / limit, 1e-3, limit) == 1
    longer = z * (z / np.median(z))  # logarithms of twice the size
    assert _beyond(longer / limit, 1e-3, limit) > 1.5


@pytest.mark.parametrize("power", [2, 4, 10])
def test_a_tail_that_is_a_power_is_found(power):
    m, rate = 900, 1e-4
    scores = 0.3 * (np.arange(1, m + 1) / (m + 1)) ** (-1 / power)
    assert _beyond(scores, rate, 10.0) == pytest.approx(
        0.3 * rate ** (-1 / power), rel=0.25 / power
    )


def test_scores_of_nothing_are_no_tail():
    """Two windows of a hundred have a gap at all: the others' zeros are not where a tail begins."""
    scores = np.zeros(100)
    assert _beyond(scores, 1e-3, 4.0) <= 1
    scores[[3, 7]] = 0.4, 0.5
    assert _beyond(scores, 1e-3, 4.0) < 1.5
    (factor,), _ = _alarms(scores[None], 1e-3, 4.0)
    assert 1 <= factor < 1.5


def test_wild_categories_do_not_hide_that_a_column_without_gaps_has_some():
    rng = np.random.default_rng(0)
    m, kinds = 60, ["levels"] * 3 + ["missing"] * 3
    y, noise = rng.standard_t(2, size=(m, 6)), np.full((m, 6), 0.04)
    y[:, 3:] = 0.0
    sizes = np.full(m, 25.0)
    own = levels_of(y, noise, sizes, np.ones(6), np.zeros(6), 1 / 365, kinds).own
    np.testing.assert_allclose(own[3:], stats.t.isf(1 / 365 / 12, m - 1))
    assert own[:3].min() > 1.5 * own[3]


@pytest.mark.parametrize("m", [12, 60])
def test_long_tails_of_all_families_keep_about_the_stated_rate(m):
    """Where nothing was above 1 in a short reference, its tail is no shorter for that."""
    rng = np.random.default_rng(m)
    rate, alarms, years = 0.02, 0, 300
    kinds = ["mean"] * 10 + ["relation"] * 10 + ["levels"] * 10
    for _ in range(years):
        y = np.exp(0.5 * rng.normal(size=(m + 10, 30)))
        noise = np.full((m + 10, 30), 0.01)
        level = levels_of(
            y[:m], noise[:m], np.full(m, 100.0), np.ones(30), np.ones(30), rate, kinds
        )
        score = level.ratios(level.standardised(y[m:], noise[m:])).max(axis=1)
        alarms += np.count_nonzero(score > 1)
    assert alarms / (10 * years) <= 1.5 * rate


def test_a_family_in_which_nothing_ever_happened_keeps_a_level():
    """Ranks among zeros are 0, and a level of 0 is no level."""
    (first, second), method = _alarms(
        np.stack([np.linspace(0.1, 0.9, 99), np.zeros(99)]), 0.05, 4.0
    )
    assert (method, second) == ("rank", 0.8)
    assert first == pytest.approx(np.linspace(0.1, 0.9, 99)[97])
    rng = np.random.default_rng(0)
    usual = pd.DataFrame({"x": rng.normal(size=9900), "y": 1.0})
    later = pd.DataFrame({"x": rng.normal(size=100), "y": 1.0})
    (window,) = monitor(usual, later, every=100, false_alarms=20).windows
    assert np.isfinite(window.score)
    assert np.isfinite(list(window.columns.values())).all()


def test_one_wild_window_of_one_channel_leaves_the_other_families_alone():
    rng = np.random.default_rng(0)
    m, kinds = 60, ["mean", "mean", "missing", "relation"]
    y, noise = rng.normal(scale=0.1, size=(m, 4)), np.full((m, 4), 0.01)
    settings = (noise, np.full(m, 100.0), np.ones(4), np.zeros(4), 1 / 365, kinds)
    calm = levels_of(y, *settings).own
    y[7, 0] = 5.0
    wild = levels_of(y, *settings).own
    np.testing.assert_allclose(wild[2:], calm[2:])
    assert wild[0] > 3 * calm[0]


@pytest.mark.parametrize("m", [6, 20, 60])
def test_few_windows_keep_the_stated_rate_if_windows_vary_normally(m):
    rng = np.random.default_rng(m)
    rate, channels, alarms, years = 0.02, 30, 0, 600
    noise = np.full((m, channels), 0.01)
    for _ in range(years):
        y = rng.normal(scale=np.sqrt(0.04 + 0.01), size=(m + 5, channels))
        level = levels_of(
            y[:m], noise, np.full(m, 100.0), np.ones(channels), np.zeros(channels), rate,
            ["mean"] * channels,
        )  # fmt: skip
        assert level.method == ("rank" if (m + 1) * rate >= 1 else "t")
        score = level.ratios(level.standardised(y[m:], noise[:5])).max(axis=1)
        alarms += np.count_nonzero(score > 1)
    assert alarms / (5 * years) <= rate + 3 * np.sqrt(rate / (5 * years))


def test_natural_variation_widens_the_level_and_sampling_noise_does_not_count_twice():
    rng = np.random.default_rng(0)
    m = 400
    noise = np.full((m, 1), 0.09)
    y = rng.normal(scale=0.3, size=(m, 1))
    settings = (noise, np.full(m, 50.0), np.ones(1), np.zeros(1), 0.05, ["mean"])
    assert levels_of(y, *settings).natural[0] < 0.02
    y = rng.normal(scale=np.sqrt(0.09 + 0.16), size=(m, 1))
    level = levels_of(y, *settings)
    assert abs(level.natural[0] - 0.16) < 0.04


# ---- monitoring -------------------------------------------------------------------------------


def test_quiet_days_raise_no_alarm(profile, later):
    found = monitor(profile, later)
    assert len(found.windows) == 8
    assert found.alarms == ()
    assert found.verdict == "No alarm in 8 windows."
    assert "1 false alarm per year" in found.promise
    assert [w.label for w in found.windows][:2] == ["2020-03-01", "2020-03-02"]
    assert all(w.rows == 120 for w in found.windows)


def shifted(t):
    t["temp"] += 8
    t["dew"] += 6.4


def wider(t):
    t["wind"] = np.exp(2.5 * np.log(t["wind"]))


def dead(t):
    t["wind"] = 1.0


def unit_error(t):
    t["wind"] *= 1000


def collapsed(t):
    t["site"] = "north"


def gaps(t):
    t.loc[t.index[::5], "dew"] = np.nan


def broken(t):
    t["dew"] = t["dew"].sample(frac=1, random_state=0).to_numpy()


def new_level(t):
    t.loc[t.index[::3], "site"] = "east"


DRIFTS = {
    shifted: ("mean", {"temp", "dew"}),
    wider: ("spread", {"wind"}),
    dead: ("repeats", {"wind"}),
    unit_error: ("mean", {"wind"}),
    collapsed: ("levels", {"site"}),
    gaps: ("missing", {"dew"}),
    broken: ("relation", {"temp", "dew"}),
    new_level: ("new levels", {"site"}),
}


@pytest.mark.filterwarnings("ignore::cospan.errors.CospanWarning")
@pytest.mark.parametrize("drift", DRIFTS, ids=lambda f: f.__name__)
def test_a_drift_is_seen_in_its_first_window_and_named(profile, later, drift):
    kind, columns = DRIFTS[drift]
    changed = later[later.time >= "2020-03-05"].copy()
    drift(changed)
    found = monitor(profile, [later[later.time < "2020-03-05"], changed])
    assert [w.alarm for w in found.windows] == [False] * 4 + [True] * 4
    first = found.windows[4].reasons[0]
    assert {first.column, first.second} & columns
    if kind is not None:
        kinds = {r.kind for r in found.windows[4].reasons if {r.column, r.second} & columns}
        assert kind in kinds
    (episode,) = found.episodes
    assert episode.since == "2020-03-05"
    assert episode.until == ""
    assert episode.text.startswith("since 2020-03-05: ")
    assert set(episode.columns) & columns
    assert found.windows[4].p < 1e-6


def test_missing_values_that_the_reference_never_had_are_seen(profile, later):
    gaps(later)
    found = monitor(profile, later)
    window = found.windows[0]
    assert window.missing_column == "dew"
    assert abs(window.missing - 0.2) < 0.02
    assert any("dew is missing in" in reason.text for reason in window.reasons)


def test_effect_and_parts_are_those_of_the_comparison(profile, later):
    later["temp"] += 7
    window = monitor(profile, later).windows[0]
    assert window.effect.low < window.effect < window.effect.high
    assert window.effect > 0.75
    assert abs(window.location + window.scale + window.shape - 1) < 1e-9
    assert window.mostly == "location"


def test_an_episode_ends_and_began_before_its_first_alarm(profile):
    rng = np.random.default_rng(5)
    data = table(rng, 20, start="2020-04-01")
    day = (data.time - pd.Timestamp("2020-04-01")).dt.days
    data["temp"] += np.select([day == 5, day.between(6, 9)], [2.0, 12.0], 0.0)
    found = monitor(profile, data)
    assert [e.since for e in found.episodes] in (["2020-04-06"], ["2020-04-07"])
    assert found.episodes[0].until == "2020-04-10"
    assert " to 2020-04-10: " in found.episodes[0].text


def test_a_warm_spell_before_is_no_part_of_a_change_of_units():
    """The beginning is that of the channel that raised the alarm, not of the one that names it."""
    rng = np.random.default_rng(0)

    def temperatures(days):
        return (np.asarray(days)[:, None] + rng.normal(size=(len(days), 100))).reshape(-1, 1)

    usual = temperatures(3 * rng.normal(size=60))
    later = temperatures([0, -1, 1, 0, 4, 4, 4, 3, 3, 2, 3, 4])
    later[800:] = later[800:] * 1.8 + 32
    (episode,) = monitor(usual, later, every=100).episodes
    assert episode.text == "since rows 801 to 900: mostly location: x0"


def watched(z, column="weather", kind="levels"):
    """Windows of one channel with these z and a level of 4, as episodes see them."""
    columns = [column] * len(z) if isinstance(column, str) else column
    return [
        SimpleNamespace(
            label=f"w{i}",
            alarm=abs(size) > 4,
            score=abs(size) / 4,
            mostly=kind,
            reasons=[SimpleNamespace(column=name, second="", ratio=abs(size) / 4, channel=0)],
            z=np.array([size]),
        )
        for i, (size, name) in enumerate(zip(z, columns, strict=True))
    ]


def test_an_episode_that_goes_on_below_the_level_is_one():
    # The second run is dated back to where the first one ended: 3.5 is on the way to 5.
    (one,) = episodes_of(watched([0, 5, 6, 3.5, 3.5, 3.5, 5, 5, 0]))
    assert (one.since, one.until, one.windows) == ("w1", "w7", 7)
    assert one.text == "w1 to w7: mostly levels: weather"
    (one,) = episodes_of(watched([0, 5, 6, 0, 3.5, 3.5, 5, 5]))  # one quiet window is no end
    assert one.text == "since w1: mostly levels: weather"


def test_episodes_with_quiet_windows_between_or_of_something_else_stay_two():
    z = [0, 5, 6, 3.5, 3.5, 3.5, 5, 5, 0]
    assert len(episodes_of(watched([0, 5, 6, 0, 0, 3.5, 5, 5, 0]))) == 2
    assert len(episodes_of(watched([0, 5, 6, 0, 0, 0, -5, -5, 0]))) == 2
    other = [*["weather"] * 5, *["wind"] * 4]
    first, second = episodes_of(watched(z, other))
    assert (first.until, second.since) == ("w2", "w3")
    assert (first.columns, second.columns) == (("weather",), ("wind",))
    kinds = [*watched(z)[:5], *watched(z, kind="missing")[5:]]
    assert [one.mostly for one in episodes_of(kinds)] == ["levels", "missing"]


def test_results_come_as_tables_and_plain_values(profile, later):
    import json

    found = monitor(profile, later)
    frame = found.to_frame(backend="pandas")
    assert list(frame["window"]) == [w.label for w in found.windows]
    assert {"auc", "auc_low", "auc_high", "p", "score", "alarm", "neither"} <= set(frame.columns)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["windows"]) == 8
    assert plain["method"] == "t"
    assert repr(found).startswith("<Monitoring of ")


def test_without_windows_of_the_reference_levels_allow_for_sampling_only(usual, later):
    bare = Profile.of(usual.drop(columns="time"), rows=500)
    found = monitor(bare, later, time="time", every="day")
    assert found.levels.method == "sampling"
    assert "too few windows" in found.promise


def test_levels_and_geometry_that_were_chosen_on_a_profile_are_no_difference():
    """The 30 most frequent of 51 levels are so by chance: in other rows they are rarer."""
    draw = np.random.default_rng(0)
    small = 0
    for _ in range(12):
        table = pd.DataFrame(draw.normal(size=(1200, 12)), columns=[f"x{i}" for i in range(12)])
        table["state"] = draw.choice([f"s{i:02}" for i in range(51)], 1200)
        (window,) = monitor(Profile.of(table[:600]), table[600:], every=600).windows
        small += window.p < 0.05
    assert small <= 2


def test_a_set_like_a_profiles_is_rarely_called_different():
    """Ranks come from a sample of a large set: what that leaves open counts in the p-value."""
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(30):
        a, b = (
            np.column_stack([rng.normal(size=(4000, 3)), rng.integers(0, 9, 4000)])
            for _ in range(2)
        )
        p_values.append(monitor(Profile.of(a), b, every=4000).windows[0].p)
    assert np.mean(np.array(p_values) < 0.05) <= 0.15
    assert np.median(p_values) > 0.3


def test_a_stuck_instrument_and_values_never_seen_are_named_though_means_wander():
    rng = np.random.default_rng(2)

    def weeks(count):
        level = np.repeat(np.cumsum(rng.normal(size=count)) * 0.2, 100)
        return pd.DataFrame({"x": np.sin(level) + 0.2 * rng.normal(size=100 * count)})

    reference = Profile.of(weeks(60), every=100)
    stuck, beyond = weeks(1), weeks(1)
    stuck["x"] = float(reference.summary.mean[0])
    beyond.loc[:40, "x"] = 7.0 + rng.normal(size=41)
    (window,) = monitor(reference, stuck).windows
    assert window.alarm
    assert "in every row; usually it varies" in window.reasons[0].text
    (window,) = monitor(reference, beyond).windows
    assert window.alarm
    assert "x has values far beyond the range of the reference" in window.reasons[0].text


def weather_like(rng, days, rows=60):
    """Two columns that wander together by more than they differ, and one with storms."""
    n = days * rows
    slow = np.repeat(np.cumsum(rng.normal(size=days)), rows)
    slow = 10 * np.sin(slow)
    storm = np.repeat(np.where(rng.random(days) < 0.02, 30.0, 0.0), rows)
    return pd.DataFrame(
        {
            "pressure": 1015 + slow + rng.normal(size=n),
            "temp": 20 + 2 * np.repeat(rng.normal(size=days), rows) + rng.normal(size=n),
            "gust": rng.gamma(2.0, size=n) + storm * rng.random(n),
        }
    ).assign(dew=lambda t: t.temp - 5 + 0.3 * rng.normal(size=n))


def test_another_unit_is_seen_in_every_window_though_another_column_has_storms():
    rng = np.random.default_rng(3)
    profile = Profile.of(weather_like(rng, 120), every=60)
    assert len(monitor(profile, weather_like(rng, 40)).alarms) <= 1
    changed = weather_like(rng, 40)
    changed["pressure"] *= 0.0295
    found = monitor(profile, changed)
    assert len(found.alarms) == 40
    assert {window.reasons[0].column for window in found.windows} == {"pressure"}
    assert "mostly location: pressure" in found.episodes[0].text


def test_a_column_that_does_not_fit_the_others_is_named_though_its_own_values_are_usual():
    rng = np.random.default_rng(4)
    profile = Profile.of(weather_like(rng, 120), every=60)
    changed = weather_like(rng, 20)
    changed["dew"] += 3.0  # less than it differs from day to day
    found = monitor(profile, changed)
    assert len(found.alarms) == 20
    for window in found.windows:
        (reason,) = window.reasons
        assert reason.kind == "given"
        assert "dew" in (reason.column, reason.second)
    first = next(w.reasons[0] for w in found.windows if w.reasons[0].column == "dew")
    assert found.episodes[0].since == found.windows[0].label
    said = r"dew does not fit (temp and )?the other columns: it is [\d.]+ higher on average"
    assert re.match(said, first.text)


def test_the_reference_is_worded_by_its_own_shares(profile, usual, later):
    later["site"] = "north"
    text = monitor(profile, later).windows[0].reasons[0].text
    share = 100 * np.mean(usual.site == "north")
    assert f"from {share:.0f}% to 100% of the rows" in text


def test_missing_values_are_counted_from_what_is_usual():
    rng = np.random.default_rng(3)
    t = pd.DataFrame({"x": rng.normal(size=4000), "y": rng.normal(size=4000)})
    t.loc[rng.random(4000) < 0.6, "y"] = np.nan
    (window,) = monitor(Profile.of(t[:3600], every=400, rows=500), t[3600:]).windows
    assert abs(window.missing_before - 0.6) < 0.03
    assert abs(window.missing - window.missing_before) < 0.1
    assert window.missing_column == "y"


# ---- sources ----------------------------------------------------------------------------------


def test_several_files_and_formats_are_one_stream(profile, later, tmp_path):
    later[:500].to_parquet(tmp_path / "a.parquet")
    later[500:].to_csv(tmp_path / "b.csv", index=False)
    found = monitor(profile, [tmp_path / "a.parquet", tmp_path / "b.csv"])
    whole = monitor(profile, later)
    for one, other in zip(found.windows, whole.windows, strict=True):
        assert one.label == other.label
        assert one.rows == other.rows
        np.testing.assert_allclose(one.z, other.z, atol=1e-8)


def test_dask_dataframes_are_windows_too(profile, later):
    dd = pytest.importorskip("dask.dataframe")
    found = monitor(profile, dd.from_pandas(later, npartitions=3))
    whole = monitor(profile, later)
    assert [w.rows for w in found.windows] == [w.rows for w in whole.windows]
    np.testing.assert_allclose(found.windows[3].z, whole.windows[3].z, atol=1e-8)


def test_dask_partitions_become_windows_where_they_are(profile, usual, later):
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(usual, npartitions=6)
    made = Profile.of(parts, time="time", every="day")
    np.testing.assert_allclose(made.summary.mean, profile.summary.mean, rtol=1e-10)
    assert [r.rows for r in made.windows] == [r.rows for r in profile.windows]
    seen = []

    def asked(columns):
        seen.append(tuple(columns))
        return to_delayed(columns)

    source = cospan.data.open_source(dd.from_pandas(later, npartitions=5), drop=["time"])
    to_delayed = source.partitions
    source.partitions = asked
    source.batches = None  # so that no row can be read here
    windows = windows_of([source], profile.plan, "time", as_every("day"))
    assert [part.count for _, part in windows.ordered()] == [120] * 8
    assert seen == [("temp", "dew", "wind", "site", "ok", "time")]
    later.loc[5, "time"] = pd.NaT
    with pytest.warns(CospanWarning, match="1 of 960 rows have no time"):
        monitor(profile, dd.from_pandas(later, npartitions=5))
    later["time"] = later["time"].fillna(later["time"].min())
    with pytest.warns(CospanWarning, match="dew is not in dask; it counts as missing there"):
        monitor(profile, dd.from_pandas(later.drop(columns="dew"), npartitions=5))


def test_columns_and_zones_that_the_reference_does_not_have_are_told(profile, later, usual):
    with pytest.warns(CospanWarning, match="new is in pandas dataframe only"):
        monitor(profile, later.assign(new=1.0))
    with pytest.warns(CospanWarning, match="windows begin and end in UTC"):
        monitor(profile, later.assign(time=later.time.dt.tz_localize("Europe/Berlin")))
    texts = later.time.dt.strftime("%Y-%m-%dT%H:%M:%S") + "+02:00"
    with pytest.warns(CospanWarning, match="windows begin and end in UTC"):
        monitor(profile, later.assign(time=texts))


@pytest.mark.parametrize("zone", ["Z", "+02:00"])
def test_times_of_which_some_have_a_zone_are_told_wherever_they_stand(zone, tmp_path):
    rows = 40_000  # several blocks: the first has no zone in it
    time = pd.date_range("2020-01-01", periods=rows, freq="min").strftime("%Y-%m-%dT%H:%M:%S")
    x = np.random.default_rng(0).normal(size=(rows, 60))
    data = pd.DataFrame(x).add_prefix("x").assign(time=time)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Profile.of(data, time="time", every="day")
    data.loc[rows - 5 :, "time"] += zone
    with pytest.warns(CospanWarning, match="some times of 'time' have a time zone and others"):
        Profile.of(data, time="time", every="day")
    path = tmp_path / "mixed.csv"
    data[["time", "x0"]].to_csv(path, index=False)
    with pytest.warns(CospanWarning, match="others have none; the latter are taken to be in UTC"):
        Profile.of(path, time="time", every="day")


@pytest.mark.parametrize("how", ["%Y/%m/%d", "%d.%m.%Y"])
def test_dates_are_read_as_people_write_them(profile, later, how):
    expected = monitor(profile, later.assign(time=later.time.dt.floor("D")))
    found = monitor(profile, later.assign(time=later.time.dt.strftime(how)))
    assert [w.label for w in found.windows] == [w.label for w in expected.windows]
    assert [w.effect for w in found.windows] == [w.effect for w in expected.windows]


def test_a_profile_is_no_data(profile, tmp_path):
    path = profile.save(tmp_path / "usual.cospan")
    with pytest.raises(InputError, match="is a profile, which holds no data"):
        monitor(profile, path)
    (tmp_path / "not.cospan").write_text("hello")
    with pytest.raises(ModelFileError, match="not a cospan model file"):
        monitor(tmp_path / "not.cospan", path)


def test_times_may_be_given_beside_an_array():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(900, 2)), days("2021-01-01", 9, 100, rng)
    bare = Profile.of(rng.normal(size=(2000, 2)), rows=500)
    found = monitor(bare, X, time=time, every="day")
    assert len(found.windows) == 9
    with pytest.raises(InputError, match="899 times"):
        monitor(bare, X, time=time[:-1], every="day")


def test_rows_without_a_time_are_left_out_and_told(profile, later):
    later.loc[3, "time"] = pd.NaT
    with pytest.warns(CospanWarning, match="1 of 960 rows have no time"):
        found = monitor(profile, later)
    assert found.windows[0].rows == 119
    assert len(found.notes) == 1


def test_dates_are_no_features(usual):
    more = usual.assign(due=usual.time)
    with pytest.warns(CospanWarning, match="'due' is left out"):
        found = Profile.of(more, time="time", every="day")
    assert "due" not in found.channels.owners


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "when"}, "has no column 'when'"),
        ({"every": "fortnight"}, "'fortnight' is not the length of a window; give every="),
        ({"every": "week"}, "windows of one day and every= asks for windows of one week"),
        ({"time": "site"}, "is not a date"),
        ({"time": "temp"}, "not dates"),
        ({"false_alarms": 0}, "above 0"),
        ({"false_alarms": True}, "True is not a number of false alarms"),
        ({"false_alarms": 10**400}, "is not a number of false alarms"),
    ],
)
def test_bad_arguments_get_one_sentence(profile, later, change, message):
    with pytest.raises(InputError, match=message):
        monitor(profile, later, **change)


def test_arguments_that_there_are_not_name_the_function_that_was_called(profile, later):
    with pytest.raises(TypeError, match="monitor has no argument fals_alarms=; did you mean fal"):
        monitor(profile, later, fals_alarms=2)
    with pytest.raises(TypeError, match="monitor has no argument columnz=; did you mean columns="):
        monitor(later, later, every="day", columnz=["temp"])
    with pytest.raises(TypeError, match=r"^Profile\.of has no argument evry=; did you mean every="):
        Profile.of(later, time="time", evry="day")
    with pytest.raises(TypeError, match=r"no argument quux=; help\(cospan\.Profile\.of\) lists"):
        Profile.of(later, quux=1)


def test_a_monitoring_that_goes_on_refuses_what_is_no_number_of_alarms(profile, later):
    with pytest.raises(InputError, match="True is not a number of false alarms"):
        monitor(monitor(profile, later), later, false_alarms=True)


def test_columns_that_are_missing_are_named(profile, later):
    with pytest.warns(CospanWarning, match="dew is not in pandas dataframe; it counts as missing"):
        found = monitor(profile, later.drop(columns="dew"))
    assert any("dew is missing in 100%" in str(one.reasons) for one in found.windows)
    with pytest.raises(InputError, match="How long is a window"):
        monitor(later, later)
    with pytest.raises(InputError, match="needs every="):
        Profile.of(later, time="time")
    with pytest.raises(InputError, match="Windows of one day need times"):
        monitor(later.drop(columns="time"), later.drop(columns="time"), every="day")


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 9])
def test_small_windows_are_measured_and_hardly_judged(profile, later, rows):
    later["temp"] += 100.0
    found = monitor(profile, later[:rows])
    (window,) = found.windows
    assert window.rows == rows
    assert np.isfinite(window.z).all()
    assert window.alarm == window.judged == (rows >= 8)
    if rows < 8:  # no word that it is far off beside the word that it is no alarm
        assert window.score == 0
        assert not window.reasons
        assert not any(window.columns.values())
        assert found.verdict == "1 window of fewer than 8 rows cannot be judged."


@pytest.mark.filterwarnings("ignore::cospan.errors.CospanWarning")
@pytest.mark.parametrize(
    ("column", "value"),
    [("temp", np.nan), ("temp", 1e12), ("temp", "abc"), ("site", 7), ("site", None), ("ok", "?!")],
)
def test_a_column_of_nonsense_is_an_alarm_and_no_accident(profile, later, column, value):
    import json

    later[column] = value
    found = monitor(profile, later)
    assert len(found.alarms) == 8
    assert any(column in (r.column, r.second) for r in found.windows[0].reasons)
    json.dumps(found.to_dict(), allow_nan=False)


def test_values_that_cannot_be_watched_get_one_sentence(profile, later):
    with pytest.warns(match="temp is infinite, .* in 960 rows"):
        found = monitor(profile, later.assign(temp=np.inf))
    assert any("temp is missing in 100%" in str(one.reasons) for one in found.windows)
    with pytest.raises(InputError, match=r"No column of the reference varies \(array\)"):
        monitor(np.ones((50, 2)), np.ones((50, 2)), every=10)


# ---- profiles and files -----------------------------------------------------------------------


def test_profiles_survive_the_file(usual, later, tmp_path):
    made = Profile.of(usual, time="time", every="day")
    path = made.save(tmp_path / "usual.cospan")
    read = Profile.load(path)
    assert os.path.getsize(path) < 300_000
    np.testing.assert_array_equal(read.summary.sample.rows, made.summary.sample.rows)
    assert read.plan == made.plan
    assert repr(read) == repr(made)
    a, b = monitor(made, later), monitor(path, later)
    for one, other in zip(a.windows, b.windows, strict=True):
        np.testing.assert_allclose(one.z, other.z, atol=1e-4)
        assert one.effect == other.effect
        assert one.p == pytest.approx(other.p)
    bare = usual.drop(columns="time")
    kept = Profile.load(Profile.of(bare, rows=50).save(tmp_path / "kept.cospan"))
    assert kept.summary.sample.rows.shape[0] == 50
    assert made.save(tmp_path / "again.cospan").read_bytes() == path.read_bytes()


def test_a_monitoring_is_the_same_once_read(profile, later, tmp_path):
    made = monitor(profile, later)
    read = Monitoring.load(made.save(tmp_path / "m.cospan"))
    assert read.to_dict() == made.to_dict()


@pytest.mark.parametrize("version", [1, FORMAT_VERSION - 1])
def test_files_of_another_format_are_refused_in_a_sentence(profile, version, tmp_path):
    path = tmp_path / "old.cospan"
    path.write_bytes(packed(Parts(*profile_parts(profile)), PROFILE, version))
    with pytest.raises(ModelFileError, match=r"old\.cospan: .*format version \d.*make the file"):
        Profile.load(path)


def test_a_file_without_rows_is_refused(profile, tmp_path):
    path = tmp_path / "bare.cospan"
    settings, tensors = profile_parts(profile)
    tensors["rows"] = tensors["rows"][:0]
    path.write_bytes(packed(Parts(settings, tensors), PROFILE, FORMAT_VERSION))
    with pytest.raises(ModelFileError, match=r"bare\.cospan: The file holds no rows"):
        Profile.load(path)


def test_damaged_files_give_one_sentence(usual, tmp_path):
    path = Profile.of(usual.drop(columns="time")).save(tmp_path / "usual.cospan")
    data = path.read_bytes()
    for broken_data in (data[:100], data[:-3], data[:2000] + b"x" + data[2001:], b"", b"{}"):
        (tmp_path / "bad.cospan").write_bytes(broken_data)
        with pytest.raises(ModelFileError, match=r"bad\.cospan"):
            Profile.load(tmp_path / "bad.cospan")
    with pytest.raises(ModelFileError, match="is a cospan profile file, not a cospan monitoring"):
        Monitoring.load(path)
    with pytest.raises(ModelFileError, match="not a cospan model file"):
        cospan.load(path)
    with pytest.raises(ModelFileError, match="Cannot read"):
        Profile.load(tmp_path / "none.cospan")


def test_a_monitoring_takes_tomorrows_window_without_yesterdays_data(profile, later, tmp_path):
    yesterday = later[later.time < "2020-03-05"]
    tomorrow = later[later.time >= "2020-03-05"]
    path = monitor(profile, yesterday, false_alarms=2).save(tmp_path / "m.cospan")
    found = monitor(path, tomorrow)
    whole = monitor(profile, later, false_alarms=2)
    assert found.false_alarms == 2
    for one, other in zip(found.windows, whole.windows, strict=True):
        assert one.label == other.label
        assert one.alarm == other.alarm
        np.testing.assert_allclose(one.z, other.z, atol=1e-4)
    again = monitor(found, tomorrow)  # the same windows once more take their own place
    assert [w.label for w in again.windows] == [w.label for w in whole.windows]
    with pytest.raises(InputError, match=r"begun with false_alarms=2\.0"):
        monitor(path, tomorrow, false_alarms=5)


def test_a_window_that_is_replaced_by_other_rows_is_said(profile, later):
    found = monitor(profile, later)
    with pytest.warns(CospanWarning, match="was there already, with"):
        monitor(found, later[5:])


def test_levels_are_kept_as_data_grow(profile, later):
    found = monitor(profile, later)
    assert dataclasses.is_dataclass(found)
    assert monitor(found, later).levels is found.levels


def test_windows_counted_in_rows_go_on_after_the_last():
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    began = monitor(rows[:2000], rows[2000:2500], every="250-rows")
    found = monitor(began, rows[2500:])
    assert [one.label for one in found.windows] == [
        "rows 1 to 250", "rows 251 to 500", "rows 501 to 750", "rows 751 to 1,000",
    ]  # fmt: skip
    np.testing.assert_array_equal(found.records[0].values, began.records[0].values)


def test_windows_that_rows_come_late_for_are_measured_again():
    """Time-ordered windows are measured while rows are read; the result is that of any order."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"t": days("2024-01-01", 12, 60, rng), "x": rng.normal(size=720)})
    profile = Profile.of(table, time="t", every="day", rows=100)
    late = pd.concat([table[60:], table[:60]])
    for a, b in zip(monitor(profile, table).windows, monitor(profile, late).windows, strict=True):
        np.testing.assert_allclose(a.z, b.z, rtol=1e-9)
    parts = [table[:400], table[400:], table[100:200].assign(x=9.0)]
    whole = monitor(profile, pd.concat(parts, ignore_index=True))
    pieces = monitor(profile, parts)
    assert [w.rows for w in pieces.windows] == [w.rows for w in whole.windows]
    for a, b in zip(whole.windows, pieces.windows, strict=True):
        np.testing.assert_allclose(a.z, b.z, rtol=1e-9, atol=1e-9)


def test_a_window_in_which_a_column_does_not_vary_says_nothing_about_its_relations():
    """Games are played in summer only: two columns that are the same are so in winter, too."""
    rng = np.random.default_rng(6)

    def years(count):
        month = np.repeat(np.arange(12 * count) % 12, 30)
        game = ((month > 3) & (month < 9) & (rng.random(len(month)) < 0.6)).astype(int)
        return pd.DataFrame({"x": rng.normal(size=len(month)), "home": game, "away": game})

    found = monitor(years(7), years(3), every=30, false_alarms=365 / 12)
    assert len(found.alarms) <= 3
    assert not any(r.kind == "relation" for w in found.windows for r in w.reasons if r.ratio > 1)


def test_a_small_rise_of_a_large_number_is_said_in_enough_digits():
    rng = np.random.default_rng(7)
    usual = pd.DataFrame({"year": 2016.5 + 0.1 * rng.random(6000)})
    later = pd.DataFrame({"year": 2016.8 + 0.1 * rng.random(100)})
    (window,) = monitor(usual, later, every=100).windows
    assert re.fullmatch(
        r"year rose from 2016\.5\d to 2016\.8\d on average\.", window.reasons[0].text
    )


def test_a_relation_that_breaks_is_dated_by_the_channel_that_shows_it():
    """Values that no longer go together may have the means that they had."""
    rng = np.random.default_rng(8)
    profile = Profile.of(weather_like(rng, 120), every=60)
    changed = weather_like(rng, 30)
    late = changed["dew"].to_numpy()[60 * 20 :].reshape(-1, 60)
    changed.loc[60 * 20 :, "dew"] = np.concatenate([rng.permutation(x) for x in late])
    found = monitor(profile, changed)
    assert len(found.alarms) >= 10
    assert found.episodes[-1].since == found.windows[20].label
    assert {"temp", "dew"} & set(found.episodes[-1].columns)


def test_gaps_make_no_relations():
    """What stands for a missing value is the same in every row: gaps are told, not relations."""
    rng = np.random.default_rng(0)
    n = 8000
    kind = rng.choice(["car", "foot"], n, p=[0.85, 0.15])
    race = rng.choice(["W", "B", "Unknown"], n, p=[0.45, 0.35, 0.2]).astype(object)
    race[kind == "foot"] = None
    table = pd.DataFrame({"kind": kind, "race": race, "x": rng.normal(size=n)})
    later = table[6000:].copy()
    later.loc[later.race == "Unknown", "race"] = None
    found = monitor(table[:6000], later, every=400)
    for window in found.windows:
        assert window.alarm
        assert window.reasons[0].column == "race"
        assert window.reasons[0].kind in ("missing", "levels")
        assert not any(reason.kind == "relation" for reason in window.reasons)
    profile = found.profile
    (level,) = [
        k
        for k, c in enumerate(profile.channels.table)
        if c.kind == "levels" and profile.channels.names[c.feature] == "race = Unknown"
    ]
    said = reason_text(profile.channels.table[level], level, found.records[0], profile, 0.0, 0.0)
    assert re.match(r"'race = Unknown' fell from 1\d% to 0% of the rows", said)


def test_relations_are_those_of_the_rows_that_have_both_values():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3))
    x[:, 1] += x[:, 0]
    there = (rng.random(x.shape) < 0.7).astype(float)
    found = related(np.where(there > 0, x, 7.0), there)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = (there[:, i] > 0) & (there[:, j] > 0)
        assert found.r[i, j] == pytest.approx(np.corrcoef(x[both, i], x[both, j])[0, 1])
        assert found.rows[i, j] == both.sum()


def test_a_few_rows_make_no_relation():
    """Two rare things that one row has both: a correlation of 1, and no evidence of anything."""
    rng = np.random.default_rng(2)
    n = 50 * 60
    table = pd.DataFrame({"x": rng.normal(size=n)})
    for name in ("urgent", "password"):
        table[name] = (rng.random(n) < 0.01).astype(int)
    later = table[:200].copy().reset_index(drop=True)
    later[["urgent", "password"]] = 0
    later.loc[[3, 57, 58], ["urgent", "password"]] = (
        1  # one row of the first window, two of the next
    )
    for window in monitor(table, later, every=50).windows:
        assert not any(reason.kind == "relation" for reason in window.reasons)
        assert window.p > 1e-3


def test_rare_levels_that_meet_by_chance_have_honest_p_values():
    """Two levels of one row in a hundred each: three rows of a thousand may well have both."""
    rng = np.random.default_rng(3)
    x = np.zeros((1000, 2))
    x[:10, 0], x[7:17, 1] = 1, 1
    rare = related(x, None).of(0, 1)
    usual = related(rng.normal(size=(1000, 2)), None).of(0, 1)
    assert rare.r / np.sqrt(rare.noise(np.zeros(1))) < 2.5  # not 9
    assert usual.noise(np.zeros(1)) == pytest.approx(1e-3, rel=0.3)
    broken = rng.normal(size=(1000, 2))  # as far from a relation of 0.9 as Fisher's scale has it
    assert related(broken, None).of(0, 1).noise(np.full(1, 0.9)) < 1e-4


def test_numbers_in_sentences_have_the_digits_of_their_difference():
    """A year of 2016.84 that becomes 2017.51 is not said to rise from 2017 to 2018."""
    rng = np.random.default_rng(9)
    usual = pd.DataFrame({"year": 2016.84 + 0.2 * rng.normal(size=6000)})
    usual.loc[rng.random(6000) < 0.5, "year"] = np.nan
    later = pd.DataFrame({"year": 2017.51 + 0.2 * rng.normal(size=400)})
    later.loc[::2, "year"] = np.nan
    profile = Profile.of(usual, every=200)
    for window in monitor(profile, later).windows:
        text = window.reasons[0].text
        assert re.fullmatch(r"year rose from 2016\.8[345] to 2017\.[45]\d? on average\.", text)
    wide = pd.DataFrame({"year": 2016.84 + 0.6 * rng.normal(size=200)})
    wide.loc[::2, "year"] = np.nan
    found = monitor(profile, wide)
    (place,) = [k for k, c in enumerate(profile.channels.table) if c.kind == "spread"]
    said = reason_text(profile.channels.table[place], place, found.records[0], profile, 0.0, 0.0)
    # Of the rows that have a value
    assert re.fullmatch(
        r"year varies more: standard deviation 0\.\d+, usually 0\.(19|20?)\d?\.", said
    )
