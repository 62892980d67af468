"""What a reader should know before believing the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cospan._text import plural
from cospan._warnings import Remark, heard, warn
from cospan.comparison.auditing import Audited
from cospan.comparison.fitting import Model
from cospan.comparison.opening import Opened
from cospan.comparison.scoring import Group
from cospan.frame import JointFrame
from cospan.sources.base import listing

FEW_ROWS = 30
# Of a comparison whose rows are scored with curved features.
CURVED = "The difference is curved: means, spreads and correlations show only a part of it."
WORTH_SAYING = 0.05  # a share of rows that deserves a remark


@contextmanager
def heard_warnings() -> Iterator[list[Remark]]:
    """Passes warnings on at the end, each once; the list then holds what cospan warned of."""
    texts: list[Remark] = []
    try:
        with heard() as caught:
            yield texts
    finally:  # after an error too: a column left out may be the reason
        texts.extend(dict.fromkeys(caught))
        for text in texts:
            warn(text)


def collect_remarks(
    opened: Opened,
    model: Model,
    groups: Sequence[Group],
    audited: Audited,
    heard: Sequence[Remark],
    *,
    differs: bool = True,
) -> tuple[Remark, ...]:
    """The remarks on a comparison, those of the sources first; `differs`: there is evidence."""
    sources = [*opened.sets.sources, *([opened.further] if opened.further is not None else [])]
    found = [Remark.of(note) for source in sources for note in source.notes]
    found += heard
    for group in groups:
        found += _of_group(group, model)
    found += _constant(opened, model)
    if model.curve is not None and differs:
        found.append(Remark("curved", CURVED))
    flagged = float(np.mean(np.asarray(audited.audit.flagged)))
    if flagged > WORTH_SAYING:
        text = (
            "{share:.0%} of the rows look more like another set.",
            "{share:.0%} of the rows look more like the other set.",
            "{share:.0%} of the labelled rows look more like the other set.",
        )[2 if audited.of == "z" else int(model.geometry.n_sets == 2)]
        found.append(Remark("rows elsewhere", text.format(share=flagged)))
    return tuple(dict.fromkeys(found))


def _of_group(group: Group, model: Model) -> Iterator[Remark]:
    if group.own is not None and group.total < FEW_ROWS:
        rows = plural(group.total, "row")
        text = "{name} has only {rows}: expect wide intervals."
        yield Remark("few rows", text.format(name=group.name, rows=rows))
    if group.sampled:
        text = "Of {name} a uniform sample of {rows} was scored, not all {total:,}."
        rows = plural(group.n, "row")
        remedy = "score_all=True scores every one."
        said = text.format(name=group.name, rows=rows, total=group.total)
        yield Remark("sampled", said, remedy)
    if isinstance(model, JointFrame) and group.kept.alignment is not None and model.blocks.k:
        astray = 1 - float(np.mean(np.asarray(group.kept.alignment.relational)))
        if astray > WORTH_SAYING:
            text = (
                "{share:.0%} of the rows of {name} reach outside what both sets span; without "
                "shrinkage their angles mislead."
            )
            remedy = 'Give shrinkage="auto".'
            yield Remark("outside the sets", text.format(share=astray, name=group.name), remedy)


def _constant(opened: Opened, model: Model) -> Iterator[Remark]:
    first = opened.sets.first
    constant = model.geometry.constant_features
    if first is None or first.feature_names is None or first.image_shape or not len(constant):
        return
    plan = first.plan
    own = set() if plan is None else {c.indicator_name for c in plan.used if c.indicator}
    names = [first.feature_names[j] for j in constant if first.feature_names[j] not in own]
    if not names:  # nothing is missing: no column of the user's is constant
        return
    text = "Constant in all sets, and kept out: {names}."
    if model.geometry.n_sets == 2:
        text = "Constant in both sets, and kept out: {names}."
    yield Remark("constant columns", text.format(names=listing(names)))
