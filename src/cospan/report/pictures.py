"""Pictures of rows: averages, a strip from one set to the other, those to check, typical ones."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator

import numpy as np

from cospan.base.text import plural, share_text
from cospan.base.types import Floats
from cospan.errors import CospanError
from cospan.model import prototypes

from .columns import NO_SET, Subject
from .document import Picture, Pictures, Section

#: Pictures of a strip at each end and in the middle, those to check, typical ones of a set.
STRIP, CHECKED, TYPICAL = 5, 16, ("most typical", "second", "third")
#: The longest side of a picture.
LONGEST_SIDE = 48
#: What is black and what is white: all but the extremes.
LIMITS = (0.001, 0.999)
#: From A's colour over a light grey to B's; readable on a light and on a dark page.
BLUE, MIDDLE, ORANGE = (10, 102, 173), (244, 243, 240), (189, 75, 6)


class Gallery:
    """Rows of two or more sets as pictures, all with the same black and white."""

    def __init__(self, subject: Subject) -> None:
        self.subject, found = subject, subject.found
        assert found.image_shape is not None
        height, width, *rest = found.image_shape
        self._shape = height, width, rest[0] if rest else 1
        self._rows = [np.asarray(chunk.rows, dtype=np.float64) for chunk in found.samples]
        self._limits = np.quantile(np.concatenate(self._rows), LIMITS)
        self.means = [rows.mean(axis=0) for rows in self._rows]

    def of(self, row: Floats, title: str, text: str = "", look: int | None = None) -> Picture:
        """A row in grey or in colour; `look` is the number of its set."""
        low, high = self._limits
        bright = np.clip((row - low) / max(high - low, 1e-300), 0, 1).reshape(self._shape)
        colours = bright[..., :3] if self._shape[2] in (3, 4) else bright.mean(axis=-1)
        mark = "" if look is None else self.subject.looks[look]
        return Picture(_png(255 * colours), title, text, mark)

    def _difference(self, title: str, text: str) -> Picture:
        """The averages' difference: A's colour where A is brighter, B's where B is."""
        apart = (self.means[1] - self.means[0]).reshape(self._shape).mean(axis=-1)[..., None]
        part = apart / (np.abs(apart).max() or 1.0)
        ends = np.where(part < 0, np.array(BLUE), np.array(ORANGE))
        return Picture(_png(MIDDLE + np.abs(part) * (ends - MIDDLE)), title, text)

    def averages(self) -> Pictures:
        """The averages of the sets; of two their difference, too."""
        pairs = enumerate(zip(self.subject.names, self.means, strict=True))
        named = [(k, f"Average of {name}", mean) for k, (name, mean) in pairs]
        pictures = [self.of(mean, words, words, k) for k, words, mean in named]
        if not self.subject.many:
            a, b = self.subject.names
            words = f"Difference: blue is brighter in {a}, orange in {b}"
            pictures.append(self._difference(f"Difference of {a} and {b}", words))
        return Pictures(pictures)

    def sections(self) -> Iterator[Section]:
        """What there is to look at below the card."""
        if not self.subject.many:
            yield self._strip()
        yield from self._to_check()
        if not self.subject.many:
            yield self._typical()

    def _strip(self) -> Section:
        """From the clearest A over borderline ones to the clearest B."""
        (a, b), rows = self.subject.names, self.subject.examples
        n = STRIP if len(rows) >= 3 * STRIP else max(1, len(rows) // 3)
        inner = sorted(rows[n:-n], key=lambda one: abs(one.score - 0.5))[:n]
        pictures = []
        for one in (*rows[:n], *sorted(inner, key=lambda one: one.score), *rows[-n:]):
            title = f"{one.id} of {(a, b)[one.own]}, {share_text(one.score)} {b}"
            pictures.append(self.of(one.values, title, look=one.own))
        words = (f"← clearest {a}", "borderline", f"clearest {b} →")
        lead = "The line above a picture is its true set. Borderline pictures are in the middle."
        title, strip = f"From the clearest {a} to the clearest {b}", Pictures(pictures, "", words)
        return Section("strip", "From A to B", title, lead, (strip,), keys=True)

    def _to_check(self) -> Iterator[Section]:
        """Pictures whose set and look disagree, or that look like no set."""
        names, n = self.subject.found.names, len(self.subject.found.rows)
        called = dict(zip(names, self.subject.names, strict=True))
        pictures = []
        for row in self.subject.found.rows[:CHECKED]:
            if row.values is not None:
                like = "unlike all sets" if row.kind == NO_SET else f"looks like {called[row.like]}"
                look = names.index(row.set) if row.set in names else None
                title, text = f"{row.id} of {called.get(row.set, row.set)}", f"{like}, no. {row.id}"
                pictures.append(self.of(np.asarray(row.values), title, text, look))
        if pictures:
            title = f"{plural(n, 'picture')} {'deserves' if n == 1 else 'deserve'} a look"
            lead = "Their set and look disagree, or no set finds them usual. Check label or scan."
            lead += f" The first {len(pictures)} are shown." if len(pictures) < n else ""
            yield Section("rows", "To check", title, lead, (Pictures(pictures),), keys=True)

    def _typical(self) -> Section:
        """What the model would draw for each set, beside real pictures near its average."""
        found, blocks = self.subject.found, []
        for k, (name, rows, mean) in enumerate(
            zip(self.subject.names, self._rows, self.means, strict=True)
        ):
            pictures = []
            try:
                drawn = np.asarray(prototypes(found.frame, "AB"[k], 1).points)[0]
                pictures.append(self.of(drawn, f"Drawn {name}", "drawn", k))
            except CospanError:  # nothing separates the sets, or the span is linear
                pass
            nearest = np.argsort(((rows - mean) ** 2).sum(axis=1), kind="stable")
            for word, i in zip(TYPICAL, nearest, strict=False):
                pictures.append(self.of(rows[i], f"Typical {name}", word, k))
            blocks.append(Pictures(pictures, name))
        title = f"The most typical {' and '.join(self.subject.names)}"
        lead = "First the picture the model would draw, then real ones nearest to the average."
        return Section("typical", "Typical", title, lead, tuple(blocks))


def _png(pixels: Floats) -> str:
    """Pixels from 0 to 255, (height, width) or (height, width, 3), as a small PNG in base64."""
    from PIL import Image

    image = Image.fromarray(np.rint(pixels).astype(np.uint8))
    image = image.reduce(-(-max(image.size) // LONGEST_SIDE))
    made = io.BytesIO()
    image.save(made, "PNG", optimize=True)
    return base64.b64encode(made.getvalue()).decode("ascii")
