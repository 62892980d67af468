"""A window as it is kept: a few numbers for each channel, no rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cospan.base.tails import tail_p_values
from cospan.base.types import Floats, Index
from cospan.distribution import twice_below
from cospan.evidence import Size
from cospan.model import JointFrame, below_rate
from cospan.monitoring.channels import OF_NUMBERS, Channels, Cost
from cospan.monitoring.moments import each_left_out, restricted
from cospan.monitoring.ranks import excess
from cospan.summary import RowSample, Summary

_TWO_SIDED = 1.959963984540054
#: The share of false alarms among rows that are called like neither set.
NEITHER_RATE = 0.05
#: Rows of each side whose angles are compared, at most: the AUC is then right to 0.02.
COMPARED_ROWS = 500


class Effect(NamedTuple):
    """A window against the reference.

    `auc` is the leave-one-out AUC of the angle, with its interval; `error` its standard error;
    `location`, `scale` and `shape` are the parts of the distance D of the two; `neither` is the
    share of the window's rows that neither set explains.
    """

    auc: Size
    error: float
    location: float
    scale: float
    shape: float
    neither: float


def shrinkage_for(rows: float, features: int) -> float:
    """The weight of the target of covariances: small with many rows, large with few.

    The noise of a correlation matrix of d features from n rows is of the size d/n; leave-one-out
    angles are honest for any value.
    """
    return min(0.9, max(0.01, features / (features + rows)))


def effect_of(
    reference: Summary, rows: Floats, window: Summary, live: Index, shrinkage: float
) -> Effect:
    """Compare a window with a reference, of which these are some rows."""
    a, b = (restricted(one, live) for one in (reference.without_sample(), window))
    if b.count < 2:
        return _nothing()
    frame = JointFrame.from_summaries(
        a,
        b.without_sample(),
        units="own",
        shrinkage=shrinkage,
        pooling=0.0,
        dof=float(len(live)),
        calibrate=False,
    )
    mine = b.sample.rows[:COMPARED_ROWS]
    theirs = rows[:COMPARED_ROWS, live]
    squared_b = np.asarray(frame.left_out_costs(mine, np.ones(len(mine), dtype=np.intp)))
    squared_a = np.asarray(frame.left_out_costs(theirs, np.zeros(len(theirs), dtype=np.intp)))
    ratios = [np.log(x[:, 0]) - np.log(x[:, 1]) for x in (squared_a, squared_b)]
    value, error = _auc(*ratios)
    parts = frame.parts
    return Effect(
        Size(value, max(0.0, value - _TWO_SIDED * error), min(1.0, value + _TWO_SIDED * error)),
        error,
        float(parts.location),
        float(parts.scale),
        float(parts.shape),
        _neither(squared_a, squared_b),
    )


def _nothing() -> Effect:
    return Effect(Size(0.5, 0.0, 1.0), 0.5, 0.0, 0.0, 0.0, 0.0)


def _auc(a: Floats, b: Floats) -> tuple[float, float]:
    """The AUC and its standard error (DeLong), never less than that of one pair too few."""
    # Both sorted: looking up values in order is several times faster.
    a, b = np.sort(a), np.sort(b)
    n, m = len(a), len(b)
    of_b, of_a = twice_below(a, b) / (2 * n), 1 - twice_below(b, a) / (2 * m)
    value = float(of_b.mean())
    variance = float(of_a.var() / max(1, n - 1) + of_b.var() / max(1, m - 1))
    return value, math.sqrt(max(variance, 0.25 / (n * m)))


def _neither(squared_a: Floats, squared_b: Floats) -> float:
    """The share of B's rows that are unusual for both sets (Benjamini and Hochberg).

    By the tails of the costs: no rank among the few rows of a window could be small enough.
    """
    usual = [
        tail_p_values(squared_b[:, k], own[:, k]) for k, own in enumerate((squared_a, squared_b))
    ]
    return float(below_rate(np.maximum(*usual), NEITHER_RATE).mean())


#: Windows with fewer rows are not judged, and say nothing about what is usual.
FEWEST_ROWS = 8
#: Rows of the reference that its ranks are taken from, at most.
RANKED_ROWS = 50_000


class Record(NamedTuple):
    """One window.

    `values` are its channels, `present` the sampled rows that have a value in each column of
    numbers, `doubt` the variance of its relations by its own rows; `means` and `deviations` are
    those of all features over all rows.
    """

    code: int
    rows: int
    sampled: int
    values: Floats
    present: Floats
    doubt: Floats
    means: Floats
    deviations: Floats
    effect: Effect


def record_of(
    code: int,
    window: Summary,
    channels: Channels,
    reference: Summary,
    rows: Floats,
    *,
    cost: Cost | None = None,
) -> Record:
    """Measure a window; `rows` are the reference's, and `cost` what a row costs it."""
    sample = window.sample.rows
    found = channels.measure(window, sample, cost)
    means, deviations = _moments(window, channels)
    return Record(
        code,
        window.count,
        len(sample),
        *found,
        means,
        deviations,
        effect_of(reference, rows, window, channels.live, channels.shrinkage),
    )


def _moments(window: Summary, channels: Channels) -> tuple[Floats, Floats]:
    """Means and deviations of all features; of numbers with gaps, those of the rows without."""
    means = np.array(window.mean, dtype=np.float64)
    variance = np.diag(np.asarray(window.scatter_about())) / window.n
    deviations = np.sqrt(np.maximum(variance, 0.0))
    rows = window.sample.rows
    for j, gap in zip(channels.numbers.tolist(), channels.gaps.tolist(), strict=True):
        if gap >= 0 and means[gap] > 0 and (there := rows[:, gap] == 0).any():
            means[j], deviations[j] = rows[there, j].mean(), rows[there, j].std()
    return means, deviations


def noise_of(records: Sequence[Record], channels: Channels) -> Floats:
    """The sampling variance of every channel of windows, that of the effect last."""
    found = [
        np.append(
            channels.noise(one.rows, one.sampled, one.present, one.doubt), one.effect.error**2
        )
        for one in records
    ]
    return np.array(found).reshape(len(records), len(channels.table) + 1)


def reference_records(
    windows: Sequence[tuple[int, Summary]], whole: Summary, channels: Channels
) -> tuple[Record, ...]:
    """Every window of a reference against the reference without it."""
    kept = [(code, part) for code, part in windows if part.count >= FEWEST_ROWS]
    if len(kept) < 2:
        return ()
    others = each_left_out([part for _, part in kept])
    # Which window each sampled row of the reference is from: rows are numbered window by window.
    ends = np.cumsum([part.count for _, part in windows])
    place = np.searchsorted(ends, whole.sample.index, "right")
    codes = np.array([code for code, _ in windows])[place]
    beyond = _beyond_others([part.sample.rows for _, part in kept], channels)
    found = []
    for k, ((code, part), rest) in enumerate(zip(kept, others, strict=True)):
        rows = whole.sample.rows[codes != code]
        if not len(rows):
            rows = whole.sample.rows
        cost = Cost.of(rest, channels.live, channels.shrinkage)
        record = record_of(code, part, channels, rest, rows, cost=cost)
        record.values[channels.odd][:: len(OF_NUMBERS)] = beyond[k]
        record = _without_itself(record, channels, part.n / (part.n + rest.n))
        # To the digits that a file keeps: six are enough, and a profile is the same once read.
        found.append(record._replace(values=record.values.astype(np.float32).astype(np.float64)))
    return tuple(found)


def _beyond_others(samples: Sequence[Floats], channels: Channels) -> list[Floats]:
    """For windows of a reference: how far each number is beyond the other windows' range."""
    columns = [_with_gaps(rows, channels) for rows in samples]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a window may have no value at all
        low = np.array([np.nanmin(own, axis=0) for own in columns])
        high = np.array([np.nanmax(own, axis=0) for own in columns])
    found, width = [], np.fmax.reduce(high, axis=0) - np.fmin.reduce(low, axis=0)
    for k, own in enumerate(columns):
        rest = np.arange(len(columns)) != k
        first, last = np.fmin.reduce(low[rest], axis=0), np.fmax.reduce(high[rest], axis=0)
        count = np.maximum(np.isfinite(own).sum(axis=0), 1)
        found.append(np.nansum(excess(own, first, last, width), axis=0) / count)
    return found


def _with_gaps(rows: Floats, channels: Channels) -> Floats:
    """The numbers of rows, NaN where they are missing."""
    columns = rows[:, channels.numbers].copy()
    for k, gap in enumerate(channels.gaps.tolist()):
        if gap >= 0:
            columns[rows[:, gap] > 0, k] = np.nan
    return columns


def _without_itself(record: Record, channels: Channels, share: float) -> Record:
    """Mean ranks in the reference without the window.

    A window's mean rank among its own rows is 0 by definition, so its mean rank in the whole is
    (1 - share) times that in the others; the further scores follow it closely.
    """
    values = record.values.copy()
    values[: channels.ranked] /= 1 - share
    return record._replace(values=values)


def pooled_rows(samples: Sequence[RowSample]) -> Floats:
    """One uniform sample of all windows' rows, as large as theirs allow, in random order."""
    bound = min(sample.bound for sample in samples)
    priority = np.concatenate([sample.priority for sample in samples])
    rows = np.concatenate([sample.rows for sample in samples])
    kept = np.flatnonzero(priority <= bound)
    kept = kept[np.argsort(priority[kept], kind="stable")[:RANKED_ROWS]]
    return np.asarray(rows[kept])
