"""Profiles that were made like another, and merged: each looks like its own rows."""

import os

import numpy as np
import pandas as pd
import pytest

from cospan import Monitoring, Profile, Summary, compare, monitor
from cospan.cli.gates import values_of
from cospan.errors import ModelFileError
from cospan.model_file.container import packed, unpacked
from cospan.monitoring.files import FORMAT_VERSION, PROFILE

# A profile without rows says so in every comparison.
pytestmark = pytest.mark.filterwarnings("ignore:The profile of")


def rows(seed, n=2000, move=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 1.0]])
    return spread * x + move


def mixed(seed, n=1600, move=0.0, gaps=0.1):
    """A table with numbers that are often 0 or missing, levels and truth values."""
    rng = np.random.default_rng(seed)
    shares = [0.6 - 0.4 * gaps, 0.3, 0.1 + 0.4 * gaps]
    value = np.where(rng.random(n) < 0.3, move, rng.normal(size=n) + move)
    return pd.DataFrame(
        {
            "value": value,
            "size": np.where(rng.random(n) < gaps, np.nan, np.exp(value / 2 + rng.normal(size=n))),
            "site": rng.choice(["north", "south", "west"], n, p=shares),
            "ok": rng.random(n) < 0.7,
        }
    )


@pytest.fixture(scope="module")
def apart():
    """Profiles of two different sets, the second one like the first; and the sets."""
    x, y = rows(1), rows(2, move=1.0)
    first = Profile.of(x, every=100)
    return first, Profile.of(y, every=100, like=first), x, y


@pytest.fixture(scope="module")
def both(apart):
    return apart[0].merge(apart[1])


@pytest.mark.parametrize("move", [0.5, 1.0])
def test_a_profile_like_another_is_compared_by_its_own_rows(apart, move):
    first, _, x, _ = apart
    y = rows(2, move=move)
    expected = compare(x, y).separation.auc.value
    found = compare(first, Profile.of(y, like=first)).separation.auc.value
    assert found == pytest.approx(expected, abs=0.03)


def test_rows_drawn_for_a_merged_profile_have_the_distribution_of_all_rows(both, apart):
    everything = np.vstack(apart[2:])
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        there = np.mean(everything < np.quantile(both.rows, level, axis=0), axis=0)
        np.testing.assert_allclose(there, level, atol=0.04)
    found, expected = np.corrcoef(both.rows.T), np.corrcoef(everything.T)
    np.testing.assert_allclose(found, expected, atol=0.06)


def test_a_column_that_varies_only_in_the_second_profile_varies_in_its_rows():
    x, y = rows(1), rows(2)
    x[:, 2] = 5.0
    second = Profile.of(y, like=Profile.of(x))
    np.testing.assert_allclose(second.rows.std(axis=0), y.std(axis=0), rtol=0.1)


def test_a_merged_profile_is_that_of_all_rows(both, apart):
    everything = np.vstack(apart[2:])
    whole = Profile.of(everything, every=100)
    np.testing.assert_allclose(both.summary.mean, whole.summary.mean, rtol=1e-12)
    np.testing.assert_allclose(
        both.summary.scatter_about(), whole.summary.scatter_about(), rtol=1e-10
    )
    assert len(both.windows) == len(whole.windows)
    for merged, made, values in zip(both.ranks, whole.ranks, everything.T, strict=True):
        at = np.quantile(values, np.linspace(0.01, 0.99, 50))
        np.testing.assert_allclose(merged.of(at), made.of(at), atol=0.02)


def test_what_is_usual_is_the_mean_over_all_rows(both, apart):
    """The channels' functions are those of the first profile, their means those of all rows."""
    everything = np.vstack(apart[2:])
    whole = Profile.of(everything, every=100)
    channels = both.channels
    measured = channels.measure(whole.summary, everything).values
    scores = slice(0, channels.ranked)
    np.testing.assert_allclose(both.center[:-1][scores], measured[scores], atol=1e-12)
    pairs = slice(channels.ranked, channels.odd.start)
    np.testing.assert_allclose(both.center[:-1][pairs], measured[pairs], atol=1e-12)
    # The first profile's own rows are measured by the costs of the others.
    np.testing.assert_allclose(both.center[:-1], measured, atol=0.015)
    of_numbers = [channels.ranks[k].of(everything[:, k]) for k in range(3)]
    np.testing.assert_allclose(channels.variance[scores][::4], np.var(of_numbers, axis=1))


def test_gaps_levels_and_frequent_values_merge():
    x, y = mixed(1), mixed(2, move=2.0, gaps=0.4)
    first = Profile.of(x, every=100)
    merged = first.merge(Profile.of(y, every=100, like=first))
    everything = pd.concat([x, y], ignore_index=True)
    again = Profile.of(everything, every=100, like=first)  # the same functions, in one pass
    np.testing.assert_allclose(merged.summary.mean, again.summary.mean, rtol=1e-12)
    kinds = np.array([channel.kind for channel in merged.channels.table])
    away = np.abs(merged.center - again.center)[:-1]
    assert away[np.isin(kinds, ["mean", "spread", "shape", "levels", "missing"])].max() < 1e-6
    assert away[kinds == "relation"].max() < 0.02
    assert away[kinds == "repeats"].max() < 0.1
    shuffled = everything.sample(frac=1, random_state=0)
    assert merged.judged(Profile.of(shuffled, rows=4000, like=first).summary).p > 0.01


def test_a_merged_profile_finds_its_own_rows_usual(both, apart):
    _, _, x, y = apart
    shuffled = np.vstack([x, y])[np.random.default_rng(3).permutation(4000)]
    found = both.judged(Profile.of(shuffled, rows=4000).summary)
    assert found.p > 0.05
    assert not found.reasons
    for later in (shuffled[:1000], rows(4, 1000), rows(5, 1000, move=1.0)):
        assert len(monitor(both, later).alarms) <= 1
    for part, windows in ((x, both.windows[:20]), (y, both.windows[20:])):
        seen = monitor(both, part).records
        measured = [np.mean([one.effect.auc.value for one in some]) for some in (seen, windows)]
        assert measured[0] == pytest.approx(measured[1], abs=0.04)


def test_a_merged_profile_still_raises_alarms(both):
    later = rows(6, 1000, move=1.0)
    later[500:, 1] = rows(7, 500, move=5.0)[:, 1]
    assert [window.alarm for window in monitor(both, later).windows] == [False] * 5 + [True] * 5


def test_the_order_of_merging_does_not_matter(apart):
    first, second, _, _ = apart
    third = Profile.of(rows(3, 1500, move=-2.0, spread=2.0), every=100, like=first)
    a = first.merge(second).merge(third)
    b = first.merge(third.merge(second))
    c = third.merge(second).merge(first)
    for other in (b, c):
        np.testing.assert_allclose(other.summary.mean, a.summary.mean, atol=1e-12)
        np.testing.assert_allclose(other.center, a.center, atol=2e-3)
        ratio = other.channels.variance / a.channels.variance
        relation = np.array([channel.kind == "relation" for channel in a.channels.table])
        np.testing.assert_allclose(ratio[~relation], 1, rtol=1e-9)
        np.testing.assert_allclose(ratio[relation], 1, rtol=0.5)  # of very different sets
        for x, y in zip(a.ranks, other.ranks, strict=True):
            at = np.linspace(-4, 4, 80)
            np.testing.assert_allclose(x.of(at), y.of(at), atol=0.02)
    aucs = [np.sort([one.effect.auc.value for one in some.windows]) for some in (a, b, c)]
    np.testing.assert_allclose(aucs[1].mean(), aucs[0].mean(), atol=0.01)
    np.testing.assert_allclose(aucs[2].mean(), aucs[0].mean(), atol=0.01)


def test_very_different_rows_merge(apart):
    first = apart[0]
    y = rows(2, move=1e6, spread=1e3)
    y[:, 1] = 7.0
    merged = first.merge(Profile.of(y, every=100, like=first))
    assert np.isfinite(merged.rows).all()
    assert merged.judged(Profile.of(np.vstack([apart[2], y]), rows=4000).summary).p > 0.05
    assert len(monitor(merged, y[:1000]).alarms) <= 1


def test_one_profile_that_keeps_rows_and_one_that_does_not_merge_to_one_without(apart):
    first, _, _, y = apart
    merged = first.merge(Profile.of(y, every=100, like=first, rows=500))
    assert not merged.keeps_rows
    assert np.abs(merged.rows.mean(axis=0) - 0.5).max() < 0.15


@pytest.mark.parametrize("swapped", [False, True])
def test_a_profile_without_rows_has_a_verdict_and_gates(apart, swapped):
    first, _, _, _ = apart
    changed, same = rows(8, 1000) + np.array([0.0, 0.5, 0.0]), rows(9, 1000)
    found, other = (
        compare(*((data, first) if swapped else (first, data))) for data in (changed, same)
    )
    assert found.changes is None
    assert found.verdict.differs
    assert found.verdict.mostly == "location"
    assert "x1" in found.verdict.features
    assert any("x1 rose from" in sentence for sentence in found.verdict.sentences)
    assert values_of(found)["p"].value == found.verdict.pvalue < 1e-4
    assert values_of(found)["features"].value == len(found.verdict.features)
    assert not other.verdict.differs
    assert "There is no evidence" in str(other.verdict)
    assert values_of(other)["features"].value == 0


def test_two_profiles_without_rows_are_not_tested(apart):
    assert compare(*apart[:2]).verdict is None


def test_files_keep_the_profiles_own_sketches(both, apart, tmp_path):
    first, second, x, _ = apart
    for made in (first, second, both):
        read = Profile.load(made.save(tmp_path / "p.cospan"))
        np.testing.assert_array_equal(read.rows, made.rows)
        np.testing.assert_array_equal(read.center, made.center)
        a, b = monitor(made, x[:500]), monitor(read, x[:500])
        assert a.to_dict() == b.to_dict()
        assert os.path.getsize(tmp_path / "p.cospan") < 100_000
    kept = [Profile.load(one.save(tmp_path / f"{k}.cospan")) for k, one in enumerate(apart[:2])]
    again = kept[0].merge(kept[1])
    np.testing.assert_allclose(again.center, both.center, atol=1e-12)
    aucs = [[one.effect.auc.value for one in some.windows] for some in (again, both)]
    np.testing.assert_allclose(aucs[0], aucs[1], atol=1e-3)


def test_a_monitoring_is_the_same_once_read(tmp_path):
    x, later = mixed(1), mixed(2, n=500, move=0.5)
    made = monitor(Profile.of(x, every=100), later)
    read = Monitoring.load(made.save(tmp_path / "m.cospan"))
    assert read.to_dict() == made.to_dict()


def test_files_of_another_format_are_refused_in_a_sentence(both, tmp_path):
    path = both.save(tmp_path / "other.cospan")
    parts = unpacked(path.read_bytes(), PROFILE, FORMAT_VERSION)
    path.write_bytes(packed(parts, PROFILE, 1))
    with pytest.raises(ModelFileError, match=r"other\.cospan: .*format version 1 and .* again"):
        Profile.load(path)


def test_a_set_like_a_profiles_is_rarely_called_different():
    """Ranks come from a sample of a large set: what that leaves open counts in the p-value."""
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(30):
        a, b = (
            np.column_stack([rng.normal(size=(4000, 3)), rng.integers(0, 9, 4000)])
            for _ in range(2)
        )
        p_values.append(Profile.of(a).judged(Summary.of(b)).p)
    assert np.mean(np.array(p_values) < 0.05) <= 0.15
    assert np.median(p_values) > 0.3
