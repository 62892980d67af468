"""What a comparison is given becomes two or three sources with one set of features.

Two sets may come as two things, or as two classes of one table (`label`, `a`, `b`). Either way
both end up named differently, with the same features in the same order.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from cospan._warnings import warn
from cospan.errors import InputError
from cospan.sources import Source, check_same_features, encode_together, open_source
from cospan.sources.base import listing

__all__ = ["Sets", "like_sets", "open_sets"]


class Sets(NamedTuple):
    """The sources of a comparison and their names; `z` is None where only two sets are given."""

    a: Source
    b: Source
    z: Source | None
    names: tuple[str, str, str]


def open_sets(
    A: Any,
    B: Any = None,
    Z: Any = None,
    *,
    label: Any = None,
    a: Any = None,
    b: Any = None,
    labels: Any = None,
    names: tuple[str | None, str | None, str | None] = (None, None, None),
    **options: Any,
) -> Sets:
    """Open the sets to compare, and the rows to score with them.

    Parameters
    ----------
    A, B, Z
        Anything :func:`cospan.sources.open_source` takes. Without `B`, two classes of `A`.
    label, a, b
        Where the classes of `A` and `B` stand, and which class to take from each.
    labels
        Where the labels of `Z` stand, or one label a row.
    names : tuple of three str or None
        What to call the sets; default: the classes, the files, or A, B and Z.
    **options
        Passed on to :func:`cospan.sources.open_source`.
    """
    if labels is not None and Z is None:
        raise InputError("labels= belong to Z, and there is no Z; pass the rows they label as Z=.")
    if B is None:
        B, (a, b) = A, _two_classes(A, label, a, b, options)
    elif label is None and (a is not None or b is not None):
        raise InputError("a= and b= name classes; label= must say where the classes stand.")
    first = _open(A, label, a, names[0] or "A", options)
    second = _open(B, label, b, names[1] or "B", options)
    first, second = encode_together([first, second])
    second = check_same_features(first, second)
    third = None
    if Z is not None:
        third = like_sets(_open(Z, labels, None, names[2] or "Z", options), first)
    called = [
        name or (source.name if value is None else str(value))
        for name, source, value in zip(names[:2], (first, second), (a, b), strict=True)
    ]
    if called[0] == called[1]:
        called = [f"{called[0]} (A)", f"{called[1]} (B)"]
    return Sets(
        first, second, third, (called[0], called[1], names[2] or (third.name if third else "Z"))
    )


def _open(obj: Any, label: Any, value: Any, name: str, options: Any) -> Source:
    """A file keeps its own name for messages; a variable has none, so it gets the set's."""
    named = isinstance(obj, (str, os.PathLike, Source))
    return open_source(obj, label=label, label_value=value, name=None if named else name, **options)


def like_sets(source: Source, first: Source) -> Source:
    """Rows to score, with the features of the sets, encoded as the first set is.

    A table may hold further columns: they are left out, with a word.
    """
    plan = first.plan
    if plan is not None and source.table is not None and not source.bound:
        known = {column.name for column in plan.columns}
        further = [name for name in source.table.columns if name not in known]
        if further:
            it = "it is" if len(further) == 1 else "they are"
            warn(f"{source.name}: the sets have no {listing(further)}; {it} left out.")
        source = source.encoded(plan)
    return check_same_features(first, source)


def _two_classes(A: Any, label: Any, a: Any, b: Any, options: Any) -> tuple[Any, Any]:
    """The two classes to take out of one table: those named, or the only two there are."""
    if label is None:
        raise InputError(
            "only one set is given; pass a second one, or label=, a= and b= for two classes of it."
        )
    if a is None or b is None:
        a, b = _only_two(A, label, a, b, options)
    if str(a) == str(b):
        raise InputError(
            f"both sets are class {str(a)!r}; name two different classes as a= and b=."
        )
    return a, b


def _only_two(A: Any, label: Any, a: Any, b: Any, options: Any) -> tuple[Any, Any]:
    found = open_source(A, label=label, **options).classes()
    if len(found) != 2:
        raise InputError(
            f"{label!r} holds {len(found)} classes ({listing(found)}); say which two to compare "
            "with a= and b=."
        )
    first, second = found
    if a is not None:
        return a, second if str(first) == str(a) else first
    if b is not None:
        return (second if str(first) == str(b) else first), b
    return first, second
