"""Comparison → :class:`ReportContent`, the one frozen object that every format is written from.

Whatever the size of the data, the content is small: angles are counts in 900 bins, samples are a
few per bin, directions at most 64. :attr:`ReportContent.sampling` says what was left out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.distribution import bin_posterior

from . import _words
from ._cut import best_cut
from ._directions import Direction, Spectrum, spectrum_of
from ._encode import PictureShape
from ._samples import Conflict, Pictures, Sample, Samples, samples_of
from ._text import clean
from ._words import Number

if TYPE_CHECKING:
    from cospan.comparison import Comparison

__all__ = [
    "Conflict",
    "Direction",
    "FeatureEffect",
    "Group",
    "Number",
    "Pictures",
    "ReportContent",
    "Sample",
    "Spectrum",
    "content_of",
]

FINE_BINS = 900
TOP_EFFECTS = 12


@dataclass(frozen=True)
class Group:
    """One set of scored rows: ``key`` is A, B or Z, ``counts`` has a bin per tenth of a degree."""

    key: str
    name: str
    rows: int
    scored: int
    counts: tuple[int, ...]
    median: float
    leave_one_out: bool


@dataclass(frozen=True)
class FeatureEffect:
    """Mean part of a feature in the balance of the costs, over rows of A and of B."""

    feature: str
    in_a: float
    in_b: float


@dataclass(frozen=True)
class ReportContent:
    """Everything a report says, in plain values that JSON can carry.

    Parameters
    ----------
    title : str
        The two names.
    verdict : tuple of str
        Two plain sentences.
    numbers : tuple of Number
        The measures, with their intervals where they have one.
    warnings : tuple of str
        What a reader should know before believing the numbers.
    groups : tuple of Group
        A, B and, where rows were scored, Z.
    best_cut : int
        The threshold with the best mean recall of A and B, in tenths of a degree.
    bins : int
        Bins of the histograms drawn; 900 is a multiple of it.
    posterior : tuple of float or None
        Share of A in each bin drawn, sets of equal size assumed; None where no row fell.
    spectrum : Spectrum
        Angles of the directions and the directions drawn.
    effects : tuple of FeatureEffect
        The features that separate the sets most, strongest first.
    effect_pictures : dict or None
        The same as two pictures, where rows are pictures.
    samples : tuple of Sample
        Rows shown one by one.
    features : tuple of str
        Names of the features that the samples speak of.
    pictures : Pictures or None
        The samples' pictures, where rows are pictures.
    conflicts : tuple of Conflict
        Rows that look like the other set, most suspicious first.
    n_conflicts : int or None
        How many there are in all; None where nobody looked.
    labelled : bool
        Whether these rows have labels of their own, or only the set they are in.
    settings : tuple of (str, str)
        Settings and values.
    sampling : tuple of str
        What was counted in full and what was sampled.
    version : str
        Version of cospan.
    """

    title: str
    verdict: tuple[str, ...]
    numbers: tuple[Number, ...]
    warnings: tuple[str, ...]
    groups: tuple[Group, ...]
    best_cut: int
    bins: int
    posterior: tuple[float | None, ...]
    spectrum: Spectrum
    effects: tuple[FeatureEffect, ...]
    effect_pictures: dict[str, Any] | None
    samples: tuple[Sample, ...]
    features: tuple[str, ...]
    pictures: Pictures | None
    conflicts: tuple[Conflict, ...]
    n_conflicts: int | None
    labelled: bool
    settings: tuple[tuple[str, str], ...]
    sampling: tuple[str, ...]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """The content as nested dicts and tuples, ready for ``json.dumps``."""
        return {"format": "cospan report", "format_version": 1, **asdict(self)}

    def group(self, key: str) -> Group:
        """The group with this key (``"A"``, ``"B"`` or ``"Z"``)."""
        return next(group for group in self.groups if group.key == key)


def content_of(comparison: Comparison) -> ReportContent:
    """Reduce a comparison to what its report says."""
    shape = None
    if comparison.image_shape is not None:
        shape = PictureShape.of(comparison.image_shape)
    bins = _drawn_bins(comparison)
    groups = _groups(comparison)
    samples = samples_of(comparison, bins, shape)
    names = {group.key: group.name for group in groups}
    return ReportContent(
        title=f"{_words.isolated(names['A'])} and {_words.isolated(names['B'])}",
        verdict=_words.verdict(comparison, names),
        numbers=_words.numbers(comparison),
        warnings=_words.warnings(comparison),
        groups=groups,
        best_cut=best_cut(comparison).step,
        bins=bins,
        posterior=_posterior(groups, bins),
        spectrum=spectrum_of(comparison, shape),
        effects=_effects(comparison),
        effect_pictures=_effect_pictures(comparison, shape),
        samples=samples.samples,
        features=samples.features,
        pictures=samples.pictures,
        conflicts=samples.conflicts,
        n_conflicts=samples.n_conflicts,
        labelled=comparison.audit_of == "z",
        settings=_words.settings(comparison),
        sampling=_sampling(comparison, samples, shape),
        version=comparison.version,
    )


def _drawn_bins(comparison: Comparison) -> int:
    bins = comparison.separation.bins or 30
    return bins if FINE_BINS % bins == 0 and bins <= 90 else 30


def _groups(comparison: Comparison) -> tuple[Group, ...]:
    return tuple(
        Group(
            key=key,
            name=clean(name),
            rows=int(scored.total),
            scored=int(scored.n),
            counts=tuple(int(count) for count in scored.counts),
            median=_median(np.asarray(scored.counts)),
            leave_one_out=bool(scored.leave_one_out),
        )
        for key, name, scored in _words.named_groups(comparison)
    )


def _median(counts: np.ndarray[Any, Any]) -> float:
    """Median angle in degrees, read off the counts of all rows."""
    if counts.sum() == 0:
        return 45.0
    half = np.searchsorted(np.cumsum(counts), counts.sum() / 2)
    return round((float(half) + 0.5) * 90 / FINE_BINS, 2)


def _posterior(groups: tuple[Group, ...], bins: int) -> tuple[float | None, ...]:
    a, b = (
        np.asarray(group.counts).reshape(bins, -1).sum(axis=1) / max(group.scored, 1)
        for group in groups[:2]
    )
    return tuple(None if np.isnan(p) else round(float(p), 5) for p in bin_posterior(a, b))


def _effects(comparison: Comparison) -> tuple[FeatureEffect, ...]:
    difference = np.abs(comparison.effect_b - comparison.effect_a)
    strongest = np.argsort(-difference, kind="stable")[:TOP_EFFECTS]
    return tuple(
        FeatureEffect(
            feature=clean(comparison.feature_names[index]),
            in_a=float(f"{comparison.effect_a[index]:.4g}"),
            in_b=float(f"{comparison.effect_b[index]:.4g}"),
        )
        for index in strongest
        if difference[index] > 0
    )


def _effect_pictures(comparison: Comparison, shape: PictureShape | None) -> dict[str, Any] | None:
    if shape is None:
        return None
    from ._encode import base64_of, signed_bytes

    pictures = shape.shrink(np.stack([comparison.effect_a, comparison.effect_b]))
    both, scale = signed_bytes(pictures[None])  # one scale for both, so that they compare
    data = base64_of(both)
    return {
        "height": shape.height,
        "width": shape.width,
        "scale": float(f"{scale[0]:.4g}"),
        "data": data,
    }


def _sampling(
    comparison: Comparison, samples: Samples, shape: PictureShape | None
) -> tuple[str, ...]:
    lines = list(_words.counted(comparison))
    lines.append(_words.shown(samples, comparison))
    if shape is not None and shape.block > 1:
        height, width, _ = shape.full
        lines.append(
            f"Pictures of {height} × {width} pixels are drawn at {shape.height} × {shape.width}: "
            f"blocks of {shape.block} × {shape.block} pixels are averaged."
        )
    return tuple(lines)
