"""Rows that look like another set, or that have the other set's label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.audit import LabelAudit, shares_of
from cospan.base.notes import Note
from cospan.comparison.reading import as_text
from cospan.comparison.scoring import Group
from cospan.data import listing
from cospan.errors import InputError
from cospan.evidence import RowsToCheck

LOOKS_ELSEWHERE = 0.8  # a row looks like another set that is four times as probable as its own


class Audited(NamedTuple):
    """The audit, and whether it is of the labels of further rows (``"z"``) or of the ``"sets"``."""

    audit: LabelAudit
    of: str
    notes: tuple[Note, ...] = ()


def audit_rows(
    groups: Sequence[Group],
    names: Sequence[str],
    further: Group | None = None,
    classes: tuple[Any, ...] = (),
) -> Audited:
    """Rows against their sets, or the labels of `further` rows where some are to be checked.

    Angles that do not separate two sets are no evidence against any row of them.
    """
    weights = np.concatenate([group.kept.weights for group in groups])
    own = np.repeat(np.arange(len(groups)), [len(group.kept.ids) for group in groups])
    if further is None or further.kept.labels is None:
        audit = LabelAudit.from_weights(weights, own, np.array(names))
        return Audited(looking_elsewhere(audit), "sets")
    labels = np.asarray(further.kept.labels)
    sides = sides_of_labels(labels, (names[0], names[1]), classes)
    known = sides >= 0
    audit = LabelAudit.from_weights(
        further.kept.weights[known],
        sides[known],
        np.array(names),
        labels=labels[known],
        reference=(weights, own),
        shares=shares_of(sides[known], 2),
    )
    if known.all():
        return Audited(audit, "z")
    audit = _among_others(audit, known, labels, further.kept.weights)
    return Audited(audit, "z", (_of_others(labels[~known], further.name),))


def _of_others(labels: NDArray[Any], name: str) -> Note:
    others = sorted({as_text(label) for label in labels.tolist()})
    text = (
        "{name}: {n:,} row is labelled {labels}, which is no set; its label is not checked."
        if len(labels) == 1
        else "{name}: {n:,} rows are labelled {labels}, which is no set; their labels are not "
        "checked."
    )
    text = text.format(name=name, n=len(labels), labels=listing(others))
    return Note("labels not checked", text, loud=True)


def _among_others(
    audit: LabelAudit, known: NDArray[np.bool_], labels: NDArray[Any], weights: NDArray[Any]
) -> LabelAudit:
    """The audit of some rows as that of all: nothing is said against the labels of others."""
    found: dict[str, Any] = {"labels": labels, "weights": weights}
    for key in ("suspicion", "mislabelled", "flagged"):
        own = getattr(audit, key)
        found[key] = np.zeros(len(known), own.dtype)
        found[key][known] = own
    found["suggested"] = labels.astype(object)
    found["suggested"][known] = audit.suggested
    return replace(audit, **found)


def looking_elsewhere(audit: LabelAudit) -> LabelAudit:
    """The audit of rows that have a set and no label: flagged is what looks like another set.

    A label may be flipped, and the audit asks whether it is. A file is what it is: its rows that
    look like another file's are worth a look, mistake or not.
    """
    own, best = 1 - audit.suspicion, audit.weights.max(axis=1, initial=0.0)
    alike = {frozenset(map(str, pair)) for pair in audit.inseparable}
    pairs = zip(audit.labels.tolist(), audit.suggested.tolist(), strict=True)
    apart = [frozenset(map(str, pair)) not in alike for pair in pairs]
    flagged = (best > own) & (best >= LOOKS_ELSEWHERE * (best + own)) & np.array(apart, dtype=bool)
    return replace(audit, flagged=flagged)


def sides_of_labels(
    labels: NDArray[Any], names: tuple[str, str], classes: tuple[Any, ...]
) -> NDArray[np.intp]:
    """0 for a label that means A, 1 for B, -1 for one that means neither.

    A label may be the set's name, the class taken for it, or 0 and 1.

    >>> sides_of_labels(np.array(["dog", "cat", "dog"]), ("cat", "dog"), (None, None))
    array([1, 0, 1])
    """
    texts = np.array([as_text(label) for label in np.asarray(labels).tolist()])
    found = set(texts.tolist())
    called = names, tuple(as_text(x) for x in classes if x is not None)
    meant = [pair for pair in (*called, ("0", "1")) if found <= set(pair)]
    for pair in (*meant, *(pair for pair in called if found & set(pair))):
        return np.where(np.isin(texts, pair), texts == pair[1], -1).astype(np.intp)
    unknown = sorted(found - set(names))
    raise InputError(
        f"labels hold {listing(unknown)}; each label must be {names[0]!r} or {names[1]!r}, the "
        f"names of the sets. Call these as the labels do, with name_a= and "
        f"name_b=, or use 0 and 1."
    )


def rows_to_check(audited: Audited, groups: Sequence[Group], names: Sequence[str]) -> RowsToCheck:
    """How many rows of two sets look like the other set, and how many of all groups like neither.

    Labels of further rows have an audit of their own: then none of the sets is counted.
    """
    audit = audited.audit
    flagged = np.asarray(audit.flagged) & (audited.of == "sets")
    a, b = (int(np.sum(flagged & (np.asarray(audit.labels) == name))) for name in names)
    return RowsToCheck(a, b, int(sum(group.neither.sum() for group in groups)))
