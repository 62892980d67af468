"""Profiles in a comparison: a reference that was summarised before, wherever a file may stand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cospan._surface import option
from cospan._text import number
from cospan._warnings import Remark
from cospan.errors import InputError
from cospan.sources import EncodingPlan, Source
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.monitoring import Profile

__all__ = ["KeptProfile", "as_profile", "said_by_sketches", "with_plan"]

#: Columns named in the sentence about a profile without rows.
MOST_REASONS = 5


class KeptProfile(NamedTuple):
    """A profile in place of rows; where it keeps none, drawn ones stand in for them."""

    profile: Profile

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def plan(self) -> EncodingPlan | None:
        return self.profile.plan

    @property
    def summary(self) -> Summary:
        return self.profile.with_rows

    @property
    def drawn(self) -> bool:
        return not self.profile.keeps_rows


def as_profile(thing: Any) -> Profile | None:
    """The profile that a thing is, or that is in the file it names; else None."""
    from cospan.monitoring import Profile
    from cospan.monitoring.files import is_profile_file

    if isinstance(thing, str | os.PathLike) and is_profile_file(thing):
        thing = Profile.load(thing)
    return thing if isinstance(thing, Profile) else None


def said_by_sketches(profile: Profile, other: Summary, name: str) -> Remark:
    """What can be said of a set and a profile without rows, and what cannot."""
    text = (
        f"The profile of {profile.name} keeps no rows: rows drawn from its summary stand in for "
        "them (called drawn 0, drawn 1, …), so there are no permutation p-value, no intervals of "
        "single columns and no rows of it to look at."
    )
    found = profile.judged(other)
    if found.judged:
        unusual = " ".join(reason.text for reason in found.reasons[:MOST_REASONS])
        text += f" By its sketches {name} differs with a p-value of {number(found.p)}"
        text += f": {unusual}" if unusual else "."
    return Remark("rows drawn", text, f"A profile made with {option('rows', 2000)} has all of it.")


def with_plan(parts: Sequence[Any], plans: Sequence[EncodingPlan | None]) -> list[Any]:
    """All tables encoded by the profiles' plan."""
    plan = plans[0]
    if any(other != plan for other in plans):
        raise InputError("The profiles were made with different plans; make one like the other.")
    if plan is None:
        return list(parts)
    return [
        part.encoded(plan) if isinstance(part, Source) and not part.bound else part
        for part in parts
    ]
