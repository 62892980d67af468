"""The alarm for rows that come one by one: valid at any time."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from cospan.errors import InputError
from cospan.monitoring import SequentialAlarm
from cospan.monitoring.martingale import BETS, Bettors, _log_bets, reserve
from cospan.monitoring.moments import without_rows
from cospan.summary import Summary


def test_every_bet_is_fair():
    for k in range(BETS):
        total, _ = integrate.quad(
            lambda p, k=k: float(np.exp(_log_bets(np.array([[p]])))[0, 0, k]), 0, 1
        )
        assert abs(total - 1) < 1e-10


def test_the_reserve_only_falls_and_never_ends():
    left = reserve(np.arange(0, 10_000_000, 1000))
    assert left[0] == 1
    assert (np.diff(left) < 0).all()
    assert left[-1] > 0


def test_capital_is_the_mixture_over_bets_and_beginnings():
    """Computed in blocks, it is Σ over beginnings j and bets of what entered times Π f from j."""
    p = np.random.default_rng(0).random((40, 2))
    whole = Bettors(2).play(p)
    bettors = Bettors(2)
    pieces = np.concatenate([bettors.play(p[:7]), bettors.play(p[7:8]), bettors.play(p[8:])])
    np.testing.assert_allclose(pieces, whole, atol=1e-12)
    bets = np.exp(_log_bets(p))
    left = reserve(np.arange(41))
    pools = np.zeros((2, BETS))
    for n in range(40):
        pools = (pools + (left[n] - left[n + 1]) / BETS) * bets[n]
        np.testing.assert_allclose(np.exp(whole[n]), pools.sum(axis=1) + left[n + 1], rtol=1e-10)


def test_mean_capital_stays_one():
    rng = np.random.default_rng(1)
    capital = np.exp(Bettors(20_000).play(rng.random((30, 20_000))))
    assert abs(capital[-1].mean() - 1) < 4 * capital[-1].std() / np.sqrt(20_000)


def test_ville_holds():
    """The chance of ever reaching 1/level is at most the level."""
    rng = np.random.default_rng(2)
    capital = Bettors(2_000).play(rng.random((1_000, 2_000)))
    assert np.mean(capital.max(axis=0) >= np.log(20)) <= 0.05


def test_p_values_are_independent_and_uniform():
    rng = np.random.default_rng(3)
    alarm = SequentialAlarm.of(rng.normal(size=(300, 2)), calibration=20)
    found = []
    for _ in range(20):
        cells = alarm._cells(rng.normal(size=(50, 2)))
        found.append(alarm._p_values(cells))
        alarm._remember(cells)
    p = np.concatenate(found)
    for k in range(3):
        assert stats.kstest(p[:, k], "uniform").pvalue > 0.01
        assert abs(stats.spearmanr(p[1:, k], p[:-1, k]).statistic) < 4 / np.sqrt(len(p))


def test_p_values_do_not_depend_on_the_block():
    """Each row is ranked among all before it, in its block and before."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 2))
    made = [SequentialAlarm.of(rng.normal(size=(100, 2)), calibration=30) for _ in range(1)]
    alarm = made[0]
    cells = alarm._cells(rows)
    alarm._rng = np.random.default_rng(0)
    whole = alarm._p_values(cells)
    held = [int(alarm._counts[0, :c].sum()) for c in cells[:, 0]]
    for i in (0, 10, 59):
        below = held[i] + np.count_nonzero(cells[:i, 0] < cells[i, 0])
        equal = alarm._counts[0, cells[i, 0]] + np.count_nonzero(cells[:i, 0] == cells[i, 0]) + 1
        total = 30 + i + 1
        assert below / total <= whole[i, 0] <= (below + equal) / total


def test_the_scorer_knows_nothing_of_the_rows_set_aside():
    X = np.random.default_rng(5).normal(size=(50, 3))
    rest = without_rows(Summary.of(X, exact=False), X[:20])
    np.testing.assert_allclose(rest.mean, X[20:].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(rest.scatter_about(), 29 * np.cov(X[20:].T), atol=1e-10)


def test_false_alarms_are_rare_and_changes_are_seen_soon():
    rng = np.random.default_rng(6)
    false = 0
    for seed in range(20):
        alarm = SequentialAlarm.of(rng.normal(size=(600, 3)), seed=seed)
        false += alarm.update(rng.normal(size=(1_000, 3)))
        if seed < 5 and alarm.alarm_at is None:
            rows = rng.normal(size=(400, 3))
            rows[:, 2] += 1
            assert alarm.update(rows)
            assert 1_000 < alarm.alarm_at < 1_200
            assert alarm.column == "x2"
            assert alarm.evidence >= 1
    assert false <= 3


def test_a_broken_relation_is_seen_in_whole_rows():
    rng = np.random.default_rng(7)
    common = rng.normal(size=(4_000, 1))
    X = common + 0.3 * rng.normal(size=(4_000, 3))
    alarm = SequentialAlarm.of(X[:3_000])
    assert not alarm.update(X[3_000:])
    broken = np.stack([rng.permutation(x) for x in X[:1_000].T], axis=1)
    assert alarm.update(broken)
    assert alarm.column == ""


def test_tables_of_mixed_columns_are_watched():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.normal(size=2_000), "kind": rng.choice(["a", "b"], 2_000)})
    alarm = SequentialAlarm.of(frame[:1_500])
    assert not alarm.update(frame[1_500:])
    assert alarm.update(frame.assign(kind="a")[:300])
    assert alarm.column == "kind"


@pytest.mark.parametrize("level", [0, 1, -1, "high", None])
def test_the_level_is_a_probability(level):
    with pytest.raises(InputError, match="level is"):
        SequentialAlarm.of(np.zeros((10, 2)), level=level)


def test_other_features_are_refused():
    rng = np.random.default_rng(0)
    alarm = SequentialAlarm.of(rng.normal(size=(100, 3)))
    with pytest.raises(InputError, match="2 features and the reference 3"):
        alarm.update(rng.normal(size=(10, 2)))
    with pytest.raises(InputError, match="at least four"):
        SequentialAlarm.of(rng.normal(size=(3, 2)))
