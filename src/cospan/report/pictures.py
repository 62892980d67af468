"""The document of pictures: averages, a strip from one set to the other, pictures to check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cospan.base.text import plural, share_text
from cospan.base.types import Floats
from cospan.comparison import Comparison
from cospan.errors import CospanError
from cospan.headlines import headline, sets_lead
from cospan.model import prototypes

from . import charts
from .document import (
    Block,
    Card,
    Document,
    Fact,
    Fold,
    Headline,
    Picture,
    Pictures,
    Section,
    Table,
)
from .pair import big_of, columns_section, footer_of, keys_of, score_charts, sure_fact
from .png import PictureShape, grey_row, limits_of, signed_row
from .sections import made_section, parts_section, quality_notes, quality_section
from .sets import Example, examples_of, many_card, pair_sections, pairs_section

#: Pictures of a strip at each end and in the middle, those to check, typical ones of a set.
STRIP, CHECKED, TYPICAL = 5, 16, 3
PIXELS = 10
NO_SET = "like no set"


class _Gallery:
    """Pictures of rows in one shape, all with the same black and white."""

    def __init__(self, found: Comparison) -> None:
        assert found.image_shape is not None
        self._shape = PictureShape.of(found.image_shape)
        self._rows = [np.asarray(chunk.rows, dtype=np.float64) for chunk in found.samples]
        self._limits = limits_of(self._rows)
        self.means = [rows.mean(axis=0) for rows in self._rows]

    def of(self, row: Floats, title: str, text: str = "", mark: str = "") -> Picture:
        return Picture(grey_row(row, self._shape, self._limits), title, text, mark)

    def difference(self, a: Floats, b: Floats, title: str, text: str) -> Picture:
        return Picture(signed_row(b - a, self._shape), title, text)

    def typical(self, k: int) -> list[Floats]:
        """The real pictures that are nearest to their set's average."""
        far = ((self._rows[k] - self.means[k]) ** 2).sum(axis=1)
        return [self._rows[k][i] for i in np.argsort(far, kind="stable")[:TYPICAL]]


def pictures_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """Two sets of pictures, or more."""
    gallery = _Gallery(found)
    last = [*quality_section(found), made_section(found, command, files)]
    if len(found.names) > 2:
        averages = tuple(
            gallery.of(mean, f"Average of {name}", name, charts.LOOKS[k % 5])
            for k, (name, mean) in enumerate(zip(found.names, gallery.means, strict=True))
        )
        section = Section("averages", "Averages", "The average picture of each set", "",
                          (Pictures(averages),))  # fmt: skip
        sections = [section, pairs_section(found), *pair_sections(found),
                    *_to_check(found, gallery), *last]  # fmt: skip
        return Document(many_card(found), tuple(sections), found.to_dict(), footer_of(found))
    examples = examples_of(found)
    sections = [
        _strip(found, gallery, examples),
        *_to_check(found, gallery),
        *_typical(found, gallery),
    ]
    if found.verdict.differs:
        sections += parts_section(found)
    pixels = columns_section(found, {})
    table = pixels.blocks[0]
    assert isinstance(table, Table)
    keep = (0, 1, 3, 5)  # no drawings: a pixel is a place, not a story
    small = Table(tuple(table.heads[k] for k in keep),
                  tuple(tuple(row[k] for k in keep) for row in table.rows[:PIXELS]))  # fmt: skip
    fold = Fold("Single pixels", f"the {len(small.rows)} that differ most", (small,))
    made = last.pop()
    sections += [*last, Section(made.id, made.name, made.title, "", (fold, *made.blocks))]
    return Document(_card(found, gallery), tuple(sections), found.to_dict(), footer_of(found))


def _card(found: Comparison, gallery: _Gallery) -> Card:
    a, b = found.names
    items = (
        gallery.of(gallery.means[0], f"Average of {a}", f"Average of {a}", "a"),
        gallery.of(gallery.means[1], f"Average of {b}", f"Average of {b}", "b"),
        gallery.difference(
            gallery.means[0], gallery.means[1], f"Difference of {a} and {b}",
            f"Difference: blue is brighter in {a}, orange in {b}",
        ),
    )  # fmt: skip
    rows, notes = found.rows, quality_notes(found)
    about = "look like the other set" if any(r.kind != "like no set" for r in rows) else (
        "like neither set" if rows else "none looks odd")  # fmt: skip
    facts = (
        sure_fact(found),
        Fact("Pixels changed", f"{len(found.features.changed):,} of {len(found.features):,}",
             "adjusted for all", "made"),
        Fact("Pictures to check", f"{len(rows):,}", about, "rows" if rows else ""),
        Fact("Data quality", plural(len(notes), "note"), notes[0][0].lower() if notes else
             "nothing odd", "quality" if notes else ""),
    )  # fmt: skip
    top = Headline(headline(found), sets_lead(found), keys_of(found))
    return Card(
        top, big_of(found), score_charts(found), (), (Pictures(items),), facts, side_first=True
    )


def _strip(found: Comparison, gallery: _Gallery, examples: Sequence[Example]) -> Section:
    """From the clearest A over borderline ones to the clearest B."""
    a, b = found.names
    ends = STRIP if len(examples) >= 3 * STRIP else max(1, len(examples) // 3)
    inner = examples[ends:-ends]
    middle = sorted(sorted(inner, key=lambda one: abs(one.score - 0.5))[:ends],
                    key=lambda one: one.score)  # fmt: skip
    shown = [*examples[:ends], *middle, *examples[-ends:]]
    items = tuple(
        gallery.of(one.values, f"{one.id} of {found.names[one.own]}, {share_text(one.score)} {b}",
                   "", charts.LOOKS[one.own])
        for one in shown
    )  # fmt: skip
    words = (f"← clearest {a}", "borderline", f"clearest {b} →")
    lead = "The line above a picture is its true set. Borderline pictures are in the middle."
    title = f"From the clearest {a} to the clearest {b}"
    return Section("strip", "From A to B", title, lead, (Pictures(items, "", True, words),), True)


def _to_check(found: Comparison, gallery: _Gallery) -> list[Section]:
    """Pictures whose set and look disagree, or that look like no set."""
    rows = [row for row in found.rows if row.values is not None]
    if not rows:
        return []
    look = {name: charts.LOOKS[k % 5] for k, name in enumerate(found.names)}
    items = tuple(
        gallery.of(
            np.asarray(row.values), f"{row.id} of {row.set}",
            f"{row.id}: {f'looks like {row.like}' if row.kind != NO_SET else 'unlike all sets'}",
            look.get(row.set, ""),
        )
        for row in rows[:CHECKED]
    )  # fmt: skip
    n = len(found.rows)
    title = f"{plural(n, 'picture')} {'deserves' if n == 1 else 'deserve'} a look"
    lead = "Pictures whose set and look disagree, or that no set finds usual. Check label or scan."
    return [Section("rows", "To check", title, lead, (Pictures(items),))]


def _typical(found: Comparison, gallery: _Gallery) -> list[Section]:
    """What the model would draw for each set, beside real pictures near its average."""
    blocks: list[Block] = []
    for k, name in enumerate(found.names):
        items = []
        if found.fitted.geometry.affine:
            try:
                drawn = np.asarray(prototypes(found.frame, "AB"[k], 1).points)[0]
                items.append(gallery.of(drawn, f"Drawn {name}", "drawn"))
            except CospanError:  # nothing separates the sets: there is no extreme
                pass
        words = ("most typical", "second", "third")
        items += [gallery.of(row, f"Typical {name}", word)
                  for row, word in zip(gallery.typical(k), words, strict=False)]  # fmt: skip
        blocks.append(Pictures(tuple(items), name))
    title = f"The most typical {found.names[0]} and {found.names[1]}"
    lead = "First the picture the model would draw, then real ones nearest to their set's average."
    return [Section("typical", "Typical", title, lead, tuple(blocks))]
