"""A window's numbers become a judgement: score, alarm, p-value, and what is behind it."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from cospan.base.text import p_text
from cospan.base.tolerance import NOT_ZERO
from cospan.base.types import Floats
from cospan.evidence import Size
from cospan.monitoring.channels import Channel
from cospan.monitoring.levels import Levels
from cospan.monitoring.profile import Profile
from cospan.monitoring.reasons import ALARM, Reason, reasons_of
from cospan.monitoring.records import FEWEST_ROWS, Record, noise_of

#: Expected counts from which a share is close to normal.
_MANY = 25

_SMALLEST = 1e-300
_PART_OF = {
    "mean": "location",
    "spread": "scale",
    "shape": "shape",
    "relation": "shape",
    "given": "shape",
    "beyond": "location",
    "repeats": "scale",
    "new levels": "levels",
}


@dataclass(frozen=True, eq=False)
class WindowResult:
    """One window, judged.

    Attributes
    ----------
    label : str
        When it begins, or which rows it has.
    code : int
        Its number in time.
    rows : int
    effect : Size
        AUC of the leave-one-out angle against the reference, with its interval.
    p : float
        The chance of so large a deviation by sampling alone, adjusted for all that is watched.
        It knows nothing of natural variation between windows; the alarm does.
    score : float
        The largest deviation in units of its level; an alarm where it is above `level`.
    level : float
        1, whatever the reference.
    alarm : bool
    judged : bool
        False for a window of so few rows that nothing can be said: then its score is 0, and there
        are neither an alarm nor reasons.
    location, scale, shape : float
        Shares of the distance to the reference.
    neither : float
        Share of the rows that neither the reference nor the rest of the window explains.
    missing, missing_before : float
        The share of missing values in the column where it rose most over the reference's, here
        and there; `missing_column` says which column that is.
    reasons : tuple of Reason
        The columns, relations and rows that are unusual, the most unusual first.
    columns : mapping of str to float
        For each column the largest ratio of its channels to their levels: the heat map's row.
    z : array
        Every channel's distance from the reference's windows, that of the effect last.

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> later = rng.normal(size=(200, 2)) + [[0.0, 1.0]]
    >>> window = monitor(rng.normal(size=(2000, 2)), later, every="100-rows").windows[0]
    >>> window.rows, window.alarm, window.reasons[0].column
    (100, True, 'x1')
    """

    label: str
    code: int
    rows: int
    effect: Size
    p: float
    score: float
    level: float
    alarm: bool
    judged: bool
    location: float
    scale: float
    shape: float
    neither: float
    missing: float
    missing_before: float
    missing_column: str
    reasons: tuple[Reason, ...]
    columns: dict[str, float]
    z: Floats = field(repr=False)

    @property
    def p_text(self) -> str:
        """The p-value in words; those too small for a number are bounded."""
        return p_text(self.p, _SMALLEST)

    @property
    def mostly(self) -> str:
        """In what it differs most, in a word; empty without reasons."""
        for reason in self.reasons:
            if reason.kind not in ("rows", "effect"):
                return _PART_OF.get(reason.kind, reason.kind)
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON."""
        plain = (
            "label", "rows", "p", "score", "level", "alarm", "judged", "location", "scale", "shape",
            "neither", "missing", "missing_before", "missing_column", "mostly",
        )  # fmt: skip
        found: dict[str, Any] = {key: getattr(self, key) for key in plain}
        found["effect"] = {
            "auc": float(self.effect),
            "low": self.effect.low,
            "high": self.effect.high,
        }
        found["reasons"] = [vars(reason) | {} for reason in self.reasons]
        found["columns"] = dict(self.columns)
        return found


def judge(records: Sequence[Record], profile: Profile, levels: Levels) -> list[WindowResult]:
    """Judge windows by the reference's levels."""
    if not records:
        return []
    values = np.array([np.append(one.values, one.effect.auc) for one in records])
    noise = noise_of(records, profile.channels)
    z = levels.standardised(values, noise)
    # Rows that are separated worse than the reference's own are no alarm.
    z[:, -1] = np.maximum(z[:, -1], 0.0)
    return [
        _judged(one, z[i], values[i], noise[i], profile, levels) for i, one in enumerate(records)
    ]


def _judged(
    record: Record,
    z: Floats,
    values: Floats,
    noise: Floats,
    profile: Profile,
    levels: Levels,
) -> WindowResult:
    every = profile.every
    enough = record.rows >= FEWEST_ROWS
    z = z if enough else np.zeros_like(z)
    ratio = levels.ratios(z)
    score = float(ratio.max())
    table = (*profile.channels.table, Channel("effect", ""))
    parts = np.array([record.effect.location, record.effect.scale, record.effect.shape])
    shares = parts / parts.sum() if 0 < parts.sum() < math.inf else np.zeros(3)
    missing, before, column = _missing(record, profile)
    return WindowResult(
        label=str(record.code) if every is None else every.label(record.code),
        code=record.code,
        rows=record.rows,
        effect=record.effect.auc,
        p=_p_value(record, values, noise, profile) if enough else 1.0,
        score=score,
        level=ALARM,
        alarm=bool(enough and score > ALARM),
        judged=enough,
        location=float(shares[0]),
        scale=float(shares[1]),
        shape=float(shares[2]),
        neither=record.effect.neither,
        missing=missing,
        missing_before=before,
        missing_column=column,
        reasons=reasons_of(record, z, ratio, table, values, profile, levels),
        columns={name: float(ratio[own].max()) for name, own in profile.channels.places.items()},
        z=z,
    )


def _missing(record: Record, profile: Profile) -> tuple[float, float, str]:
    """The share of missing values where it rose most, that of the reference, and the column.

    Where it rose nowhere, the largest share.
    """
    usual = np.asarray(profile.summary.mean)
    places = [c for c in profile.channels.table if c.kind == "missing"]
    rises = [float(record.means[c.feature] - usual[c.feature]) for c in places]
    if not places:
        return 0.0, 0.0, ""
    shares = [float(record.means[c.feature]) for c in places]
    worst = places[int(np.argmax(rises if max(rises) > 0 else shares))]
    share = float(record.means[worst.feature])
    return share, float(usual[worst.feature]), worst.column if share > 0 else ""


def _p_value(record: Record, values: Floats, noise: Floats, profile: Profile) -> float:
    """The smallest p-value of the channels of columns and relations, times their number.

    Shares by Fisher's exact test of the counts; all others are means of bounded functions, close
    to normal. What is beyond the range, and what repeats, is left out: both are larger in few rows
    than in many. So are numbers given the others and whole rows, whose geometry was fitted to the
    profile's rows and so fits others less well; and the share of levels without a feature of their
    own, since those with one were chosen for being frequent in the profile's rows.
    """
    channels, n = profile.channels, profile.summary.n
    error = np.sqrt(noise[:-1] + channels.variance / min(n, profile.ranked_rows))
    z = (values[:-1] - profile.center[:-1]) / error
    log_p = math.log(2) + stats.norm.logsf(np.abs(z))
    here = np.round(channels.share_values(record.means) * record.rows)
    there = np.round(channels.share_values(np.asarray(profile.summary.mean)) * n)
    start = channels.ranked
    log_p[start : start + channels.shared] = _log_fisher(here, record.rows, there, round(n))
    columns = () if profile.plan is None else profile.plan.used
    chosen = [column.features[-1] for column in columns if column.other]
    log_p[start + np.flatnonzero(np.isin(np.array(channels.names)[channels.shares], chosen))] = 0.0
    log_p = log_p[: channels.odd.start]
    smallest = float(log_p.min()) + math.log(len(log_p))
    return math.exp(min(0.0, max(smallest, math.log(sys.float_info.min))))


def _log_fisher(hits: Floats, n: int, others: Floats, m: int) -> Floats:
    """Fisher's exact test that shares of n and of m rows are one: log of twice the smaller tail.

    Where many are expected either way: the normal approximation, less half a count.
    """
    total, both = n + m, hits + others
    expected = both * n / total
    variance = expected * (total - both) * m / (total * max(1, total - 1))
    away = np.maximum(0.0, np.abs(hits - expected) - 0.5)
    found = math.log(2) + stats.norm.logsf(away / np.sqrt(np.maximum(variance, NOT_ZERO)))
    spare = np.minimum(both, total - both) * min(n, m) / total
    for i in np.flatnonzero((spare < _MANY) & (variance > 0)):
        law = stats.hypergeom(total, int(both[i]), n)
        found[i] = math.log(2) + min(law.logcdf(hits[i]), law.logsf(hits[i] - 1))
    return np.where(variance > 0, np.minimum(0.0, found), 0.0)
