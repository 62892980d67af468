"""A window's numbers become a judgement: score, alarm, p-value, and what is behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospan._text import number
from cospan._tolerance import NOT_ZERO
from cospan._types import Floats
from cospan.monitoring.chance import p_value
from cospan.monitoring.channels import Channel
from cospan.monitoring.levels import Levels
from cospan.monitoring.profile import Profile
from cospan.monitoring.records import FEWEST_ROWS, Record, noise_of
from cospan.monitoring.wording import reason_text
from cospan.significance import Estimate

__all__ = ["Reason", "WindowResult", "judge"]


#: Reasons kept for a window.
MOST_REASONS = 8
#: A channel is a reason from this share of its level on, even where another one raised the alarm.
WORTH_NAMING = 0.8
#: Where only whole rows are unusual, the column that is furthest off is named from this share on.
WORTH_SUSPECTING = 0.4
PARTS = ("location", "scale", "shape")
_SMALLEST = 1e-300
_PART_OF = {
    "mean": "location",
    "spread": "scale",
    "shape": "shape",
    "relation": "shape",
    "beyond": "location",
    "repeats": "scale",
    "new levels": "levels",
}
#: From these changes on, in standard deviations and as a ratio of them, a change of the ranks is
#: named after the mean or the spread.
_STEP, _RATIO = 0.3, 1.2
#: Of a mean rank in [-1, 1]: the average row is where one in four rows of the reference was.
_FAR = 0.5


@dataclass(frozen=True)
class Reason:
    """One thing that is unusual in a window."""

    #: ``"mean"``, ``"spread"``, ``"shape"``, ``"beyond"`` (the reference's range), ``"repeats"``
    #: (one value), ``"levels"``, ``"new levels"``, ``"missing"``, ``"relation"``, ``"rows"`` or
    #: ``"effect"``
    kind: str
    #: The user's column; of a relation, both
    column: str
    second: str
    z: float  # how far from the reference's windows, in units of their natural variation
    #: How far the column's most unusual channel is, in units of the alarm level: above 1 it raises
    #: an alarm
    ratio: float
    text: str  # a sentence
    channel: int  # which of the profile's channels it is


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
    effect : Estimate
        AUC of the leave-one-out angle against the reference, with its interval.
    p : float
        The chance of so large a deviation by sampling alone, adjusted for all that is watched.
        It knows nothing of natural variation between windows; the alarm does.
    score : float
        The largest deviation in units of its level; an alarm where it is above `level`.
    level : float
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
    """

    label: str
    code: int
    rows: int
    effect: Estimate
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
        return number(self.p) if self.p > _SMALLEST else f"less than {_SMALLEST:g}"

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
            "auc": self.effect.value,
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
    values = np.array([np.append(one.values, one.effect.auc.value) for one in records])
    noise = noise_of(records, profile.channels)
    z = levels.standardised(values, noise)
    # Rows that are separated worse than the reference's own are no alarm.
    z[:, -1] = np.maximum(z[:, -1], 0.0)
    return [
        _judged(one, z[i], values[i], noise[i], profile, levels) for i, one in enumerate(records)
    ]


def _judged(
    record: Record, z: Floats, values: Floats, noise: Floats, profile: Profile, levels: Levels
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
        p=p_value(record, values, noise, profile) if enough else 1.0,
        score=score,
        level=levels.alarm,
        alarm=bool(enough and score > levels.alarm),
        judged=enough,
        location=float(shares[0]),
        scale=float(shares[1]),
        shape=float(shares[2]),
        neither=record.effect.neither,
        missing=missing,
        missing_before=before,
        missing_column=column,
        reasons=_reasons(record, z, ratio / levels.alarm, table, values, profile, levels),
        columns=_by_column(ratio / levels.alarm, table),
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


def _by_column(ratio: Floats, table: Sequence[Channel]) -> dict[str, float]:
    found: dict[str, float] = {}
    for value, channel in zip(ratio.tolist(), table, strict=True):
        for column in (channel.column, channel.second):
            if column:
                found[column] = max(found.get(column, 0.0), value)
    return found


def _reasons(
    record: Record,
    z: Floats,
    ratio: Floats,
    table: Sequence[Channel],
    values: Floats,
    profile: Profile,
    levels: Levels,
) -> tuple[Reason, ...]:
    """What is unusual: for each column its most unusual channel; relations of other columns."""
    named: set[str] = set()
    found: list[Reason] = []
    for i in np.argsort(-ratio, kind="stable").tolist():
        channel = table[i]
        whole = bool(found) and all(one.kind in ("rows", "effect") for one in found)
        least = WORTH_SUSPECTING if whole else WORTH_NAMING
        if ratio[i] < least or len(found) == MOST_REASONS:
            break
        about = {channel.column, channel.second} - {""} or {channel.kind}
        if about & named:
            continue
        named |= about
        strongest = float(ratio[i])
        moved = np.abs(values - levels.mean)
        i = _plainest(i, ratio, moved, table, record, profile)
        channel = table[i]
        text = reason_text(channel, i, record, profile, float(values[i]), float(levels.mean[i]))
        found.append(
            Reason(channel.kind, channel.column, channel.second, float(z[i]), strongest, text, i)
        )
    # What columns and relations explain need not be said of the rows once more.
    narrow = [reason for reason in found if reason.kind not in ("rows", "effect")]
    return tuple(narrow or found)


def _plainest(
    i: int,
    ratio: Floats,
    moved: Floats,
    table: Sequence[Channel],
    record: Record,
    profile: Profile,
) -> int:
    """The channel that says best what happened to a column of numbers.

    Ranks that have moved far have all their scores changed, that of the shape too.
    """
    if table[i].kind not in ("mean", "spread", "shape", "beyond"):
        return i
    j = table[i].feature
    own = [k for k, c in enumerate(table) if c.feature == j and c.kind in ("mean", "spread")]
    variance = float(np.asarray(profile.summary.scatter_about())[j, j]) / profile.summary.n
    if variance <= 0 or len(own) < 2:
        return i
    step = abs(float(record.means[j] - np.asarray(profile.summary.mean)[j])) / math.sqrt(variance)
    wide = max(float(record.deviations[j]), NOT_ZERO) / math.sqrt(variance)
    if moved[own[0]] >= _FAR or (ratio[own[0]] >= WORTH_NAMING and step >= _STEP):
        return own[0]
    if ratio[own[1]] >= WORTH_NAMING and max(wide, 1 / wide) >= _RATIO:
        return own[1]
    return i
