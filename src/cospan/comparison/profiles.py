"""Profiles in a comparison: a reference that was summarised before, wherever a file may stand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from cospan._surface import option
from cospan.errors import InputError
from cospan.sources import EncodingPlan, Source
from cospan.summary import Summary

__all__ = ["KeptProfile", "as_profile", "with_plan"]


class KeptProfile(NamedTuple):
    """What a comparison needs of a profile that keeps rows."""

    name: str
    plan: EncodingPlan | None
    summary: Summary


def as_profile(thing: Any) -> KeptProfile | None:
    """The profile that a thing is, or that is in the file it names; else None."""
    from cospan.monitoring import Profile
    from cospan.monitoring.files import is_profile_file

    if isinstance(thing, str | os.PathLike) and is_profile_file(thing):
        thing = Profile.load(thing)
    if not isinstance(thing, Profile):
        return None
    if not thing.keeps_rows:
        raise InputError(
            f"The profile of {thing.name} keeps no rows, and a comparison needs some; make it with "
            f"{option('rows', 2000)}, or use it for monitoring."
        )
    return KeptProfile(thing.name, thing.plan, thing.summary)


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
