"""Frames with some of their directions only: what discriminates, or what is shared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cospan import _arrays as arrays
from cospan._validate import is_real
from cospan.decomposition import Blocks
from cospan.errors import InputError
from cospan.frame.directions import check_count

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame


def truncated(
    frame: JointFrame, *, band: float | None, n: int | None, shared_above: float | None
) -> JointFrame:
    """The frame with some of its directions only; see :meth:`JointFrame.truncate`."""
    kept = _kept(frame, band, n, shared_above)
    if not kept.any():
        raise InputError(
            "No direction would be left; choose a narrower band or a lower shared_above."
        )
    if kept.all() and (shared_above is not None or not frame.off_space_variance or band == 0):
        return frame
    index = np.flatnonzero(kept)
    r, k, _ = frame.blocks
    in_block = [int(part.sum()) for part in np.split(kept, [r, r + k])]
    dropped = frame.rank - len(index)
    core, inverse = arrays.pick(frame.core, index), arrays.pick(frame.inverse, index, axis=1)
    basis = frame.basis
    if basis is not None and shared_above is None and frame.off_space_variance:
        # All directions off the span lie at exactly 45°, so the band takes them along, and the
        # two products of scoring in a span become one.
        dropped += frame.geometry.n_varying - int(basis.shape[1])
        core, inverse, basis = arrays.matmul(core, basis.T), arrays.matmul(basis, inverse), None
    return replace(
        frame,
        c=arrays.pick(frame.c, index),
        s=arrays.pick(frame.s, index),
        blocks=Blocks(*in_block),
        core=core,
        inverse=inverse,
        basis=basis,
        U=None if frame.U is None else arrays.pick(frame.U, index[index < r + k], axis=1),
        V=None if frame.V is None else arrays.pick(frame.V, index[index >= r] - r, axis=1),
        dropped=frame.dropped + dropped,
        typicality=None,  # what its training rows cost, left out, is not known
    )


def _kept(
    frame: JointFrame, band: float | None, n: int | None, shared_above: float | None
) -> np.ndarray:
    """Mask of the directions to keep."""
    if sum(x is not None for x in (band, n, shared_above)) != 1:
        raise InputError("Give exactly one of band, n and shared_above.")
    distance = np.abs(arrays.to_numpy(frame.angles) - math.pi / 4)
    if band is not None:
        _check_between(band, "band", math.pi / 4, "radians, for instance math.radians(10)")
        return distance >= band
    if shared_above is not None:
        return shared_mask(frame, shared_above)
    check_count(n, frame.rank, "direction")
    kept = np.zeros(frame.rank, dtype=bool)
    if frame.geometry.affine:
        distance = arrays.to_numpy(frame.differences)
    # Directions that only one set has are all equally far from 45°: the longer one goes first.
    length = np.linalg.norm(arrays.to_numpy(frame.core), axis=1)
    kept[np.lexsort((-length, -distance))[:n]] = True
    return kept


def shared_mask(frame: JointFrame, shared_above: float) -> np.ndarray:
    """Which directions have min(c, s) above a threshold."""
    _check_between(shared_above, "shared_above", math.sqrt(0.5), "below √½, the value at 45°")
    weakest = np.minimum(arrays.to_numpy(frame.c), arrays.to_numpy(frame.s))
    return np.asarray(weakest > shared_above)


def _check_between(value: object, name: str, top: float, what: str) -> None:
    if not is_real(value) or not 0 <= value < top:
        raise InputError(f"{name} is {value!r}; it must lie in [0, {top:.4f}): {what}.")
