"""Location, scale and shape: a p-value for each part of the difference.

The Bhattacharyya distance of two sets splits into location, scale (all directions wider or
narrower by one factor) and shape (what remains). To second order about equality the parts are

* location: the difference of the means, of columns and along the directions of all rows (time in
  the air may fall for the same distance, and hardly in itself),
* scale: the difference of the mean squared lengths of the rows, about their own mean, in
  directions of equal variance,
* shape: the difference of the second moments, without what a common factor changes; and of how
  far rows are from the relations that most of them keep (`residuals`), beside their lengths,

and these are what is permuted here: linear in the labels, so that all relabellings are one
matrix product. A part's p-value must not answer for the other parts. So location is studentised
with variances of its own in each set; scale is studentised, and permutes rows less the mean of
their set; shape does so with rows that are also divided by the scale of their set. What is done to
the true sets, taking off the mean and the scale, is done to the relabelled ones again: few rows fit
their own mean and scale well, and the true labelling would stand out by that alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import NOT_ZERO, least_error, rank_in_gram
from cospan._types import Bools, Floats
from cospan.significance.combining import combine, rank_pvalue
from cospan.significance.views import Coordinates, principal

__all__ = ["part_pvalues"]


# As in the view of the same name: between many small differences and a single large one.
_LOCATION_POWER = 2.25
# Directions whose second moments are compared.
_MAX_SHAPE = 20
# Rows of the smaller set for each column from which on it weighs as much as the larger one.
_ROWS, _ROWS_SHAPE = 3, 20
# Share of the mean variance under the variances of directions.
_FLOOR = 0.1
# One relation of many may be broken. Rows nearer to it than a thousandth of what is usual keep it.
_RELATION_POWER, _NEAR = 3.0, 1e-6
# A row that is nearly all of a direction's variance is taken to leave so much of it.
_LEAST_LEFT = 0.1


def part_pvalues(
    at: Coordinates, rows: Floats, in_a: Bools, contrasts: NDArray[np.floating]
) -> dict[str, float]:
    """A permutation p-value for each of location, scale and shape, not yet adjusted."""
    columns = at.columns(rows)
    share = float(np.mean(in_a))
    residuals = (columns * at.common).copy()
    for member in (in_a, ~in_a):
        residuals[member] -= residuals[member].mean(axis=0)
    fewest, width = min(np.count_nonzero(in_a), np.count_nonzero(~in_a)), residuals.shape[1]
    # Both sets weigh the same, as in the frame: else a change of shape would pass for one of scale.
    # Few rows of one set would then make the directions, and fit them better than other rows do.
    even = np.where(in_a, 0.5 / share, 0.5 / (1 - share))
    weights = [even if fewest >= n * width else np.ones(len(rows)) for n in (_ROWS, _ROWS_SHAPE)]
    along, _ = _at_equal_variance(residuals, weights[0])
    steps = {
        "columns": _studentised(columns, share, contrasts, _LOCATION_POWER),
        "across": _studentised(_across(at, columns), share, contrasts, 2.0),
    }
    shapes = {"moments": _shape(*_at_equal_variance(residuals, weights[1]), in_a, share, contrasts)}
    if fewest >= _ROWS_SHAPE * width:
        shapes["relations"] = _relations(at, columns, in_a, contrasts)
    return {
        "location": rank_pvalue(combine(steps, dict.fromkeys(steps, 1.0))),
        "scale": rank_pvalue(_scale(along, weights[0] / len(rows), share, contrasts)),
        "shape": 1.0 if fewest <= min(width, _MAX_SHAPE)  # too few rows for as many directions
        else rank_pvalue(combine(shapes, dict.fromkeys(shapes, 1.0))),
    }  # fmt: skip


def _at_equal_variance(residuals: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Coordinates along the directions of weighted rows, divided by their deviations; and these."""
    directions, variances = principal(residuals * np.sqrt(weight)[:, None])
    damped = variances + _FLOOR * np.sum(variances) / residuals.shape[1]
    return residuals @ (directions / np.sqrt(damped)), np.sqrt(damped)


def _across(at: Coordinates, columns: Floats) -> Floats:
    """Coordinates along all directions that vary: a step across correlated columns is a step here.

    The directions are those of all rows, whatever their labels, so that the test stays exact.
    """
    varying = at.variances > rank_in_gram(float(at.variances[0]), len(columns))
    return np.asarray((columns * at.common) @ at.directions[:, varying])


def _studentised(
    values: Floats, share: float, contrasts: NDArray[np.floating], power: float
) -> Floats:
    """Σ |t|^power of Welch's t of each column, for every labelling; `share` of the rows are A's."""
    values = values - values.mean(axis=0)
    difference = _apart(contrasts, values)
    t = difference / _errors(values, difference, share, contrasts)
    return np.asarray(np.sum(np.abs(t) ** power, axis=1))


def _errors(
    values: Floats, difference: Floats, share: float, contrasts: NDArray[np.floating]
) -> Floats:
    """Welch's standard errors of the differences of the means of centred values."""
    n, mean_square = len(values), np.mean(values**2, axis=0)
    difference_of_squares = _apart(contrasts, values**2)
    error = np.zeros_like(difference)
    for weight, size in ((1 - share, share * n), (-share, (1 - share) * n)):
        variance = mean_square + weight * difference_of_squares - (weight * difference) ** 2
        error += np.maximum(variance, 0) / size
    return np.asarray(np.sqrt(np.maximum(error, least_error(mean_square, n))))


def _scale(along: Floats, part: Floats, share: float, contrasts: NDArray[np.floating]) -> Floats:
    """Welch's t of the squared lengths; in every labelling about the mean of each set.

    `part` is each row's part in the covariance that makes the directions. Few rows with a large
    part fit them well and are short for that reason: each length is that in the covariance
    without the row itself.
    """
    squared = np.sum(along**2, axis=1)
    squared = (squared / np.maximum(1 - part * squared, _LEAST_LEFT))[:, None]
    middle = float(np.mean(squared))
    difference = _apart(contrasts, squared - middle)
    between = np.sum(_apart(contrasts, along) ** 2, axis=1, keepdims=True)
    about = []
    for weight, size in ((1 - share, share * len(along)), (-share, (1 - share) * len(along))):
        own = middle + weight * difference - weight**2 * between
        about.append(own * size / (size - 1))  # the mean took one degree of freedom
    t = (about[0] - about[1]) / _errors(squared - middle, difference, share, contrasts)
    return np.asarray(np.abs(t)[:, 0])


def _shape(
    along: Floats, deviations: Floats, in_a: Bools, share: float, contrasts: NDArray[np.floating]
) -> Floats:
    """Squared difference of the second moments that no common factor explains.

    In every labelling each set is taken about its own mean and in its own scale, as in the true
    one: else the true one would stand out by that alone.
    """
    squared = np.sum(along**2, axis=1, keepdims=True)
    scale = np.where(in_a, np.mean(squared[in_a]), np.mean(squared[~in_a]))
    along = along / np.sqrt(scale)[:, None]
    lengths = np.sum(along**2, axis=1, keepdims=True)
    apart = _apart(contrasts, along)
    tilt = np.sqrt(deviations)  # halfway between strong directions alone and all alike
    kept = (along * tilt)[:, :_MAX_SHAPE]
    first, second = np.triu_indices(kept.shape[1])
    off = np.where(first == second, 1, np.sqrt(2))
    products = kept[:, first] * kept[:, second] * off
    tilted = (apart * tilt)[:, :_MAX_SHAPE]
    of_means = tilted[:, first] * tilted[:, second] * off
    common, difference = products.mean(axis=0), _apart(contrasts, products)
    moments, by_length = [], _apart(contrasts, lengths)
    for weight in (1 - share, -share):
        size = lengths.mean() + weight * by_length - weight**2 * np.sum(apart**2, axis=1)[:, None]
        second_moments = common + weight * difference - weight**2 * of_means
        moments.append(second_moments / np.maximum(size, NOT_ZERO))
    difference = moments[0] - moments[1]
    explained = (difference @ common) ** 2 / (common @ common)
    return np.asarray(np.sum(difference**2, axis=1) - explained)


def _relations(
    at: Coordinates, columns: Floats, in_a: Bools, contrasts: NDArray[np.floating]
) -> Floats:
    """Welch's t of how far rows are from each relation, less how far from the middle of all.

    As logarithms: what multiplies all columns by one factor adds the same to both. About the
    median of each set: rows far out move a mean further than most residuals are wide.
    """
    found = []
    for values in (at.relations.residuals(columns), columns):
        away = values.copy()
        for member in (in_a, ~in_a):
            away[member] -= np.median(values[member], axis=0)
        found.append(away**2)
    squared = np.sum(found[1], axis=1, keepdims=True)
    # All rows may be in the middle.
    far = np.maximum(squared + _NEAR * np.median(squared), NOT_ZERO)
    left = np.log(found[0] + _NEAR) - np.log(far)
    return _studentised(left, float(np.mean(in_a)), contrasts, _RELATION_POWER)


def _apart(contrasts: NDArray[np.floating], values: Floats) -> Floats:
    """Differences of the means, for every labelling, in the labellings' precision."""
    return np.asarray(contrasts @ values.astype(contrasts.dtype, copy=False), dtype=np.float64)
