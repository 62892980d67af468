"""Profiles in a comparison: a reference that was summarised before, wherever a file may be given.

A profile that keeps no rows is compared by rows drawn from its summary. They place angles; they are
no evidence, so nothing is tested with them, and a remark says what the profile's sketches say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cospan._warnings import Remark
from cospan.changes.columns import LEVEL
from cospan.changes.verdict import Verdict, said_verdict
from cospan.data import EncodingPlan, Table, encode_by
from cospan.errors import InputError
from cospan.significance import Estimate
from cospan.summary import Summary

#: Columns named in the sentence about a profile without rows.
MOST_REASONS = 5


class KeptProfile(NamedTuple):
    """What a comparison needs of a profile.

    `judge` says what is unusual in another set, by the profile's sketches: it is there where the
    profile keeps no rows, and drawn ones stand in for them.
    """

    name: str
    plan: EncodingPlan | None
    summary: Summary
    judge: Callable[[Summary], Any] | None = None


def as_profile(thing: Any) -> KeptProfile | None:
    """The profile that a thing is, or that is in the file it names; else None."""
    from cospan.monitoring import Profile
    from cospan.monitoring.files import is_profile_file

    if isinstance(thing, str | os.PathLike) and is_profile_file(thing):
        thing = Profile.load(thing)
    if not isinstance(thing, Profile):
        return None
    judge = None if thing.keeps_rows else thing.judged
    return KeptProfile(thing.name, thing.plan, thing.with_rows, judge)


def verdict_by_sketches(
    profile: KeptProfile, other: Summary, auc: Estimate, names: tuple[str, str]
) -> Verdict | None:
    """The verdict on a set and a profile without rows; the sets are called `names`.

    By the sampling of rows alone, as a whole window would be judged; None with too few rows.
    """
    found = None if profile.judge is None else profile.judge(other)
    if found is None or not found.judged:
        return None
    clear = [one for one in found.reasons if one.ratio > 1]
    return said_verdict(
        found.p,
        found.mostly,
        [name for name, ratio in found.columns.items() if ratio > 1],
        [f"{one.column} and {one.second}" for one in clear if one.kind == "relation"],
        [f"Against the profile of {profile.name}: {one.text}" for one in clear],
        auc,
        names,
    )


def said_by_sketches(profile: KeptProfile, other: Summary, name: str) -> Remark:
    """What can be said of a set and a profile without rows, and what cannot."""
    text = (
        "The profile of {name} keeps no rows: rows drawn from its summary stand in for them "
        "(drawn 0, drawn 1, …), so there is no test by permutation, no list of changed columns, "
        "and no row of it to look at."
    )
    said = [text.format(name=profile.name)]
    found = None if profile.judge is None else profile.judge(other)
    if found is not None and found.judged:
        text = "By its sketches {name} differs with a p-value of {p}."
        if found.p >= LEVEL:
            text = "By its sketches there is no evidence that {name} differs (p = {p})."
        elif found.reasons:
            text = "By its sketches {name} differs with a p-value of {p}: {reasons}"
        reasons = " ".join(reason.text for reason in found.reasons[:MOST_REASONS])
        said.append(text.format(name=name, p=found.p_text, reasons=reasons))
    remedy = "A profile made with rows=2000 has all that."
    return Remark("rows drawn", " ".join(said), remedy)


def with_plan(
    parts: Sequence[Any], plans: Sequence[EncodingPlan | None], names: Sequence[str]
) -> list[Any]:
    """All tables encoded by the profiles' plan."""
    plan = plans[0]
    if any(other != plan for other in plans):
        raise InputError("The profiles were made with different plans; make one like the other.")
    if plan is None:
        return list(parts)
    return [
        encode_by(part, plan, name=name) if isinstance(part, Table) else part
        for part, name in zip(parts, names, strict=True)
    ]
