"""Profiles and windows as named tensors and plain settings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.monitoring.effect import Effect
from cospan.monitoring.profile import Profile
from cospan.monitoring.ranks import Ranks
from cospan.monitoring.records import Record
from cospan.monitoring.scatter import scatter_parts
from cospan.summary import Summary

Tensors = dict[str, NDArray[Any]]

EFFECT = 8  # numbers of an Effect


def profile_parts(profile: Profile) -> tuple[dict[str, Any], Tensors]:
    channels, summary = profile.channels, profile.summary
    settings = {
        "name": profile.name,
        "plan": None if profile.plan is None else profile.plan.to_dict(),
        "names": list(channels.names),
        "owners": list(channels.owners),
        "table": [[c.kind, c.column, c.second, c.feature] for c in channels.table],
        "every": None if profile.every is None else str(profile.every),
        "time": profile.time,
        "n": float(summary.n),
        "count": int(summary.count),
        "eps": float(summary.eps),
        "far": float(channels.far),
        "shrinkage": float(channels.shrinkage),
    }
    sketches = (*channels.ranks, channels.cost_ranks)
    own = profile.ranks if channels.ranks is not profile.ranks else ()
    tensors: Tensors = (
        {
            "mean": np.asarray(summary.mean, dtype=np.float64),
            "rows": summary.sample.rows,
            "numbers": channels.numbers.astype(np.int64),
            "indicators": channels.indicators.astype(np.int64),
            "shares": channels.shares.astype(np.int64),
            "levels": _ends(channels.levels),
            "live": channels.live.astype(np.int64),
            "pairs": channels.pairs.astype(np.int32),
            "related": channels.related,
            "variance": channels.variance,
            "center": profile.center,
        }
        | _sketches(sketches, "ranks")
        | (_sketches(own, "own") if own else {})
        | scatter_parts(summary)
        | _cost(profile)
    )
    # Six digits of the reference's own windows are enough: a year of days stays at a few hundred
    # kilobytes. Means and deviations are in units of the whole, lest a date lose its day.
    mean, unit = units_of(summary)
    windows = [
        one._replace(means=(one.means - mean) / unit, deviations=one.deviations / unit)
        for one in profile.windows
    ]
    kept = record_tensors(windows, "windows", len(mean), np.float32)
    return settings, {k: np.ascontiguousarray(v) for k, v in (tensors | kept).items()}


def units_of(summary: Summary) -> tuple[Floats, Floats]:
    """Means and standard deviations of all features, 1 for those that do not vary."""
    variance = np.diag(np.asarray(summary.scatter_about())) / summary.n
    return np.asarray(summary.mean), np.sqrt(np.where(variance > 0, variance, 1.0))


def _sketches(sketches: Sequence[Ranks], name: str) -> Tensors:
    return {
        f"{name}.sizes": np.array([len(one.values) for one in sketches], dtype=np.int64),
        f"{name}.values": np.concatenate([one.values for one in sketches]),
        f"{name}.at": np.concatenate([one.at for one in sketches]),
    }


def _cost(profile: Profile) -> Tensors:
    """What rows cost the reference: nothing where it follows from the summary, as it mostly does.

    A profile that was merged with others has the costs of the first.
    """
    channels = profile.channels
    if all(map(np.array_equal, profile.cost, channels.cost)):
        return {}
    upper = np.triu_indices(len(channels.live))
    return {"cost.mean": channels.cost.mean, "cost.map": channels.cost.map[upper]}


def _ends(groups: Sequence[NDArray[np.intp]]) -> NDArray[np.int64]:
    """The first place and the one behind the last, of groups without gaps."""
    found = [[int(own[0]), int(own[-1]) + 1] for own in groups]
    return np.array(found, dtype=np.int64).reshape(len(groups), 2)


def record_tensors(
    records: Sequence[Record], name: str, width: int, dtype: type[np.floating[Any]] = np.float64
) -> Tensors:
    def table(rows: list[Any], columns: int, kind: Any) -> NDArray[Any]:
        return np.array(rows, dtype=kind).reshape(len(records), columns)

    channels = len(records[0].values) if records else 0
    numbers, pairs = (len(records[0].present), len(records[0].doubt)) if records else (0, 0)
    found: Tensors = {
        f"{name}.counts": table([[r.code, r.rows, r.sampled] for r in records], 3, np.int64),
        f"{name}.values": table([r.values for r in records], channels, dtype),
        f"{name}.present": table([r.present for r in records], numbers, np.int32),
        f"{name}.doubt": table([r.doubt for r in records], pairs, np.float32),
        f"{name}.effect": table([_effect_row(r.effect) for r in records], EFFECT, np.float64),
        f"{name}.means": table([r.means for r in records], width, dtype),
        f"{name}.deviations": table([r.deviations for r in records], width, dtype),
    }
    return found


def _effect_row(effect: Effect) -> list[float]:
    auc = effect.auc
    # A direction that one set lacks is infinitely far off; files hold finite numbers.
    parts = np.nan_to_num([effect.location, effect.scale, effect.shape], posinf=sys.float_info.max)
    return [auc.value, auc.low, auc.high, effect.error, *parts.tolist(), effect.neither]
