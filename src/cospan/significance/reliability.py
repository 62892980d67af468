"""The fit's part in the error of leave-one-out angles.

A bootstrap of leave-one-out angles takes the frame as given. But the rows that are measured are
the rows that made it: with δ the difference of the sets that a score should follow, and δ + ε the
one it follows, ε of covariance Σ, the measured separation is off from that on new rows by
δ·ε + ‖ε‖² - tr Σ, of variance δᵀΣδ + 2 tr Σ², while rows new to the frame would give
δᵀΣδ + tr Σ², which is what the bootstrap finds. So its variance has to grow by the factor

    2 - reliability,        reliability = δᵀΣδ/(δᵀΣδ + tr Σ²)

The reliability is the correlation, within the sets, of two scores that were fitted to as many
rows each but to different ones. Fits to two halves of the rows give it at half the size, and the
Spearman-Brown formula takes it to the full one. With nothing to tell the sets apart it is 0, and
intervals are √2 times as long; with many rows and a clear difference it is 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan._arrays import to_numpy
from cospan._validate import as_generator, as_rows
from cospan.errors import InputError

if TYPE_CHECKING:
    from cospan.frame import JointFrame

__all__ = ["fit_reliability", "widened"]

Floats = NDArray[np.float64]

# With fewer rows a half has no spread to fit.
_FEWEST_ROWS = 4


def fit_reliability(
    frame: JointFrame, A: Any, B: Any, *, random_state: int | np.random.Generator = 0
) -> float:
    """How much of a frame's angles is the sets' difference and not the noise of its fit.

    Parameters
    ----------
    frame
        Fitted to A and B, or to rows like them and as many.
    A, B
        The rows, or a sample of them, at least four each.
    random_state
        Seed of the halves.

    Returns
    -------
    float
        From 0, nothing but noise, to 1. For :func:`separation` of leave-one-out angles.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import JointFrame
    >>> from cospan.significance import fit_reliability
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 100, 3))
    >>> [round(fit_reliability(JointFrame.fit(A, B + step), A, B + step), 2) for step in (0, 2)]
    [0.02, 1.0]
    """
    rng = as_generator(random_state)
    rows = [np.asarray(to_numpy(as_rows(X, name))) for X, name in ((A, "A"), (B, "B"))]
    for X, name in zip(rows, "AB", strict=True):
        if len(X) < _FEWEST_ROWS:
            raise InputError(f"{name} has {len(X)} rows; halves need at least {_FEWEST_ROWS}.")
    in_first = [rng.permutation(len(X)) < len(X) // 2 for X in rows]
    scores = np.stack([_scores(frame, rows, [f == k for f in in_first]) for k in (True, False)])
    sizes = [len(X) for X in rows]
    parts = [scores[:, : sizes[0]], scores[:, sizes[0] :]]
    centred = np.concatenate([x - x.mean(axis=1, keepdims=True) for x in parts], axis=1)
    length = np.sqrt(np.sum(centred**2, axis=1))
    if not np.all(length > 0):
        return 0.0
    half = max(0.0, float(centred[0] @ centred[1] / (length[0] * length[1])))
    return 2 * half / (1 + half)


def widened(strays: Floats, reliability: float) -> Floats:
    """What replicates stray by, about their mean, with the fit's part in it."""
    middle = strays.mean()
    return np.asarray(middle + math.sqrt(2 - reliability) * (strays - middle))


def _scores(frame: JointFrame, rows: list[Any], used: list[NDArray[np.bool_]]) -> Floats:
    """Log ratios of the costs of all rows in a frame of some of them, those left out of it."""
    half = type(frame).fit(
        *(X[part] for X, part in zip(rows, used, strict=True)), **_settings(frame)
    )
    result = []
    for side, (X, part) in enumerate(zip(rows, used, strict=True)):
        squared = np.empty((len(X), 2))
        own = half.left_out_costs(X[part], np.full(np.count_nonzero(part), side))
        squared[part] = to_numpy(own)
        squared[~part] = to_numpy(half.squared_costs(X[~part]))
        result.append(np.log(squared[:, 0]) - np.log(squared[:, 1]))
    return np.asarray(np.nan_to_num(np.concatenate(result)), dtype=np.float64)


def _settings(frame: JointFrame) -> dict[str, Any]:
    """How the frame was fitted, every choice made."""
    settings = {
        "span": frame.span,
        "units": frame.units,
        "shrinkage": frame.shrinkage,
        "calibrate": False,
    }
    if frame.span == "affine":
        return settings | {"pooling": frame.pooling, "dof": frame.dof}
    mode = frame.center_mode
    return settings | {
        "center": frame.center if mode == "given" else mode,
        "balance": frame.balance,
    }
