"""Which rows a report shows, and what it says about each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._encode import PictureShape, base64_of, signed_bytes, unsigned_bytes
from ._text import clean
from ._words import named_groups

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ScoredGroup

__all__ = ["Conflict", "Contribution", "Pictures", "Sample", "Samples", "bin_of", "samples_of"]

PER_BIN = 30  # samples of one group in one bin of the histogram
PICTURE_BYTES = 2_000_000  # of all pictures together, in base64
MOST_CONFLICTS = 200
TOP_FEATURES = 6
LONGEST_ID = 80  # characters


@dataclass(frozen=True)
class Contribution:
    """A feature's value in a row and its part in the balance of the costs: negative pulls to A.

    ``feature`` is a place in the list of names that goes with the samples.
    """

    feature: int
    value: float
    pull: float


@dataclass(frozen=True)
class Sample:
    """One row: its angle in degrees, its bin, its shares (A-only, shared, B-only) and why."""

    group: str
    id: str
    theta: float
    bin: int
    shares: tuple[float, float, float]
    outside: float
    picture: int | None
    features: tuple[Contribution, ...]


@dataclass(frozen=True)
class Pictures:
    """Pictures of the samples and of their attributions, a byte a value, one after another.

    ``data`` has ``height × width × channels`` bytes for each picture, 0 … 255 for values from
    ``low`` to ``high``. ``attribution`` has ``height × width`` bytes each, 128 for no pull, 255
    and 1 for the strongest pull of that picture to B and to A.
    """

    height: int
    width: int
    channels: int
    low: float
    high: float
    count: int
    data: str
    attribution: str | None


@dataclass(frozen=True)
class Conflict:
    """A row that looks like the other set; ``sample`` is its place among the samples.

    ``label`` is its set, or the label it was given.
    """

    sample: int
    label: str
    suggested: str
    suspicion: float


@dataclass(frozen=True)
class Samples:
    """The samples of a report, with their pictures and the conflicts among them."""

    samples: tuple[Sample, ...]
    features: tuple[str, ...]
    pictures: Pictures | None
    conflicts: tuple[Conflict, ...]
    n_conflicts: int | None


def bin_of(theta: NDArray[Any], bins: int) -> NDArray[np.intp]:
    """The bin of each angle (radians) among `bins` equal ones over [0°, 90°], as in the counts."""
    fine: NDArray[np.intp] = np.clip(np.degrees(theta) * 10, 0, 899).astype(np.intp)
    return fine // (900 // bins)


def samples_of(comparison: Comparison, bins: int, shape: PictureShape | None) -> Samples:
    """Pick rows evenly from every bin of every group, and all rows in conflict up to a limit."""
    flagged, n_conflicts = _flagged(comparison)
    per_bin = _per_bin(comparison, bins, shape)
    samples: list[Sample] = []
    names = _Names(comparison.feature_names)
    place: dict[tuple[str, int], int] = {}
    drawn: list[tuple[ScoredGroup, int]] = []
    for key, _, group in named_groups(comparison):
        wanted = [row for where, row in flagged if where == key]
        shown = {int(row): i for i, row in enumerate(group.row_index)}
        for row in pick(group, bins, per_bin, wanted):
            value = shown.get(row) if group.rows is not None else None
            picture = None
            if value is not None and shape is not None:
                picture = len(drawn)
                drawn.append((group, value))
            features = () if shape is not None else _top_features(names, group, value)
            place[key, row] = len(samples)
            samples.append(_sample(key, group, row, bins, picture, features))
    return Samples(
        tuple(samples),
        tuple(names.used),
        _pictures(drawn, shape),
        _conflicts(comparison, flagged, place),
        n_conflicts,
    )


def pick(group: ScoredGroup, bins: int, per_bin: int, wanted: Iterable[int] = ()) -> list[int]:
    """Kept rows to show: `per_bin` of each bin, evenly spread, preferring those with values."""
    where = bin_of(group.alignment.theta, bins)
    shown = np.zeros(len(where), dtype=bool)
    if group.rows is not None:
        shown[group.row_index] = True
    chosen = set(wanted)
    for index in range(bins):
        inside = np.flatnonzero(where == index)
        with_values = inside[shown[inside]]
        chosen.update(_spread(with_values, per_bin))
        chosen.update(_spread(inside[~shown[inside]], per_bin - len(with_values)))
    return sorted(chosen, key=lambda row: (float(group.alignment.theta[row]), row))


def _spread(items: NDArray[np.intp], n: int) -> list[int]:
    if n <= 0 or len(items) <= n:
        return items.tolist() if n > 0 else []
    picked = items[np.linspace(0, len(items) - 1, n).round().astype(np.intp)]
    return list(picked.tolist())


def _per_bin(comparison: Comparison, bins: int, shape: PictureShape | None) -> int:
    """Samples per bin: as many as the page has room for, at most :data:`PER_BIN`."""
    if shape is None:
        return PER_BIN
    pixels = shape.height * shape.width
    bytes_each = (pixels * (3 if shape.colour else 1) + pixels) * 4 / 3
    filled = sum(
        len(np.unique(bin_of(group.alignment.theta, bins)))
        for _, _, group in named_groups(comparison)
    )
    return int(np.clip(PICTURE_BYTES / (bytes_each * max(filled, 1)), 1, PER_BIN))


def _sample(
    key: str,
    group: ScoredGroup,
    row: int,
    bins: int,
    picture: int | None,
    features: tuple[Contribution, ...],
) -> Sample:
    alignment = group.alignment
    a, shared, b = (round(float(share), 4) for share in alignment.shares[row])
    return Sample(
        group=key,
        id=clean(group.ids[row], LONGEST_ID),
        theta=round(float(np.degrees(alignment.theta[row])), 3),
        bin=int(bin_of(alignment.theta[row : row + 1], bins)[0]),
        shares=(a, shared, b),
        outside=round(float(alignment.outside[row]), 4),
        picture=picture,
        features=features,
    )


class _Names:
    """The feature names in use, each once: a long name in a thousand rows costs its length once."""

    def __init__(self, all_names: tuple[str, ...]) -> None:
        self.all_names = all_names
        self.places: dict[int, int] = {}
        self.used: list[str] = []

    def place(self, index: int) -> int:
        if index not in self.places:
            self.places[index] = len(self.used)
            self.used.append(clean(self.all_names[index]))
        return self.places[index]


def _top_features(names: _Names, group: ScoredGroup, value: int | None) -> tuple[Contribution, ...]:
    if value is None or group.rows is None or group.attribution is None:
        return ()
    pulls = np.asarray(group.attribution[value], dtype=np.float64)
    strongest = np.argsort(-np.abs(pulls), kind="stable")[:TOP_FEATURES]
    return tuple(
        Contribution(
            feature=names.place(int(index)),
            value=float(f"{group.rows[value, index]:.4g}"),
            pull=float(f"{pulls[index]:.3g}"),
        )
        for index in strongest
        if pulls[index] != 0
    )


def _pictures(drawn: list[tuple[ScoredGroup, int]], shape: PictureShape | None) -> Pictures | None:
    if shape is None or not drawn:
        return None
    rows = np.stack([group.rows[value] for group, value in drawn if group.rows is not None])
    pictures = shape.shrink(rows, keep_colour=True)
    low, high = (float(bound) for bound in np.quantile(pictures, (0.001, 0.999)))
    attributions = [group.attribution[v] for group, v in drawn if group.attribution is not None]
    explained = None
    if len(attributions) == len(drawn):
        explained = base64_of(signed_bytes(shape.shrink(np.stack(attributions)))[0])
    return Pictures(
        height=shape.height,
        width=shape.width,
        channels=3 if shape.colour else 1,
        low=float(f"{low:.4g}"),
        high=float(f"{high:.4g}"),
        count=len(drawn),
        data=base64_of(unsigned_bytes(pictures, low, high)),
        attribution=explained,
    )


def _flagged(comparison: Comparison) -> tuple[list[tuple[str, int]], int | None]:
    """(group, row) of the flagged rows, most suspicious first, and how many there are."""
    audit = comparison.audit
    if audit is None:
        return [], None
    flagged = np.flatnonzero(audit.flagged)
    order = flagged[np.argsort(-np.asarray(audit.suspicion)[flagged], kind="stable")]
    return [_place(comparison, int(row)) for row in order[:MOST_CONFLICTS]], len(flagged)


def _place(comparison: Comparison, row: int) -> tuple[str, int]:
    """Group and row within it of a row of the audit."""
    if comparison.audit_of == "z":
        return "Z", row
    n_a = len(comparison.group_a.ids)
    return ("A", row) if row < n_a else ("B", row - n_a)


def _conflicts(
    comparison: Comparison, flagged: list[tuple[str, int]], place: dict[tuple[str, int], int]
) -> tuple[Conflict, ...]:
    audit = comparison.audit
    if audit is None:
        return ()
    offset = {"A": 0, "B": len(comparison.group_a.ids), "Z": 0}
    return tuple(
        Conflict(
            sample=place[key, row],
            label=clean(audit.labels[offset[key] + row]),
            suggested=clean(audit.suggested[offset[key] + row]),
            suspicion=float(f"{audit.suspicion[offset[key] + row]:.4g}"),
        )
        for key, row in flagged
    )
