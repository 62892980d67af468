"""Data opened and encoded in one step, with its warnings, as most tests want it."""

from cospan.data import EncodingPlan, Source, encode, notes_of, open_source
from cospan.errors import warn


def encoded(tables) -> list[Source]:
    """Several sets, encoded together."""
    sources = encode(tables)
    warn(notes_of(sources))
    return sources


def opened(obj, **options) -> Source:
    """One set by itself as rows of numbers."""
    return encoded([open_source(obj, **options)])[0]


def learn_plan(tables) -> EncodingPlan:
    """The plan for several tables."""
    return encoded(tables)[0].plan
