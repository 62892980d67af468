"""The shift test: could two sets of rows come from one distribution?

If they do, the labels could be exchanged among the rows without changing anything. So the statistic
of the true labels has every rank among those of random relabellings with the same chance, whatever
the distribution, the sizes and the dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cospan._arrays import Array, to_numpy
from cospan._text import plural
from cospan._types import Floats
from cospan._validate import (
    as_confidence,
    as_count,
    as_generator,
    as_option,
    as_rows,
    check_names,
    feature_names_of,
)
from cospan.errors import InputError
from cospan.significance.bootstrap import Estimate
from cospan.significance.combining import combine, holm, rank_pvalue, standardise
from cospan.significance.copies import (
    BOTH,
    IN_A,
    IN_B,
    Hashes,
    Units,
    both_merged,
    settle_copies,
)
from cospan.significance.effect import SPLITS, held_out_effect, quarters
from cospan.significance.parts import part_pvalues
from cospan.significance.views import (
    SINGLE_PRECISION,
    VIEWS,
    Coordinates,
    statistic,
    views_with_features,
)

# Halves and quarters of each set are compared: with fewer rows, a quarter would be empty.
_FEWEST_ROWS = 4


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """Whether two sets of rows can come from one distribution.

    Attributes
    ----------
    statistic : float
        How far the true labels stand out, over all views: -log10 of the weighted harmonic mean of
        the views' tail probabilities. It is compared with `null`; it is not a p-value itself.
    pvalue : float
        (1 + k) / (1 + n_permutations), where k relabellings stand out at least as far. Never 0.
    null : array, (n_permutations,)
        The statistic of the relabellings.
    effect : Estimate
        AUC on held-out rows: how well the view and the direction that one half of the rows
        favours tell the sets of the other half apart, on average over several ways to halve
        the sets. 0.5 = not at all, 1 = perfectly. Like the p-value it counts rows without
        `copies`.
    views : mapping
        How far the true labels stand out in each view, in standard deviations of the
        relabellings: ``"location"``, means of columns; ``"discriminant"``, means in all
        directions; ``"spread"``, covariances; ``"length"``, the rows' squared lengths, so scale
        and rows far out; ``"margins"``, skewness, tails and modes of columns; ``"pairs"``, the
        dependence of two columns; ``"relations"``, what other columns leave of a column.
    parts : mapping
        A p-value for each of ``"location"``, ``"scale"`` and ``"shape"``, adjusted (Holm) so that
        all three can be read at once.
    n_permutations : int
        How many relabellings.
    n_a, n_b : int
        Rows compared, without copies.
    copies : int
        Rows left out because they repeat another row of their set.

    Examples
    --------
    >>> from cospan import shift_test
    >>> rng = np.random.default_rng(0)
    >>> found = shift_test(rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) * 2)
    >>> found.pvalue, min(found.parts, key=found.parts.get)
    (0.001, 'scale')
    """

    statistic: float
    pvalue: float
    null: Floats = field(repr=False)
    effect: Estimate
    views: Mapping[str, float]
    parts: Mapping[str, float]
    n_permutations: int
    n_a: int
    n_b: int
    copies: int


def shift_test(
    A: Array,
    B: Array,
    *,
    n_permutations: int = 999,
    copies: str = "auto",
    merged: tuple[Hashes | None, Hashes | None] = (None, None),
    confidence: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> ShiftTest:
    """Test whether the rows of A and of B come from one distribution.

    Means of many features of the rows are compared, in seven views, with those of relabelled
    rows. The p-value is exact whatever the distribution, the sizes and the dimension: under "no
    shift" it falls below 0.05 in 5 % of the cases. The units of the columns do not matter.

    Parameters
    ----------
    A, B
        Two sets of rows with the same features, at least four rows each. Rows are taken as drawn
        independently of each other.
    n_permutations
        Relabellings behind the p-value; its smallest value is 1 / (1 + n_permutations).
    copies
        What to make of identical rows. ``"keep"``: they are draws of their own, as with
        categories or counts. ``"drop"``: within a set they are copies of one draw, keep one of
        each. ``"auto"``: keep them where rows meet by chance; elsewhere keep one of each in a
        set, and permute labels only among rows that A and B together hold equally often, which
        is right for copies and for draws.
    merged
        For A and B a number for each row: rows are identical where it is equal, too. For rows that
        tell less than the data they were made of, as where rare levels have one feature.
    confidence
        Confidence level of the effect's interval.
    random_state
        Seed of the relabellings, the halves and the bootstrap; the same seed gives the same bits.

    See Also
    --------
    separation : how far apart two groups of angles are.

    Examples
    --------
    >>> from cospan import shift_test
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(80, 5))
    >>> B = rng.normal(size=(120, 5)) * [1, 1, 1, 1, 3]
    >>> found = shift_test(A, B)
    >>> found.pvalue
    0.001
    >>> found.parts
    {'location': 0.684, 'scale': 0.003, 'shape': 0.003}
    >>> shift_test(A, rng.normal(size=(120, 5))).pvalue
    0.325
    """
    a, b = _rows(A, "A"), _rows(B, "B")
    if a.shape[1] == b.shape[1]:
        check_names(B, feature_names_of(A), "B", whose="A's")
    units = _units(a, b, copies, both_merged(*merged))
    count = as_count(n_permutations, "n_permutations")
    confidence = as_confidence(confidence)
    rng = as_generator(random_state)
    at = Coordinates.fit(units.rows)
    labels = contrasts(units, count, rng)
    seen = {view.name: statistic(view, at, units.rows, labels) for view in VIEWS}
    weights = {view.name: view.weight(at) for view in views_with_features(at)}
    combined = combine(seen, dict.fromkeys(seen, 0.0) | weights)
    sets, unit = units.apart()
    in_a = sets.places == IN_A
    if not np.array_equal(unit, np.arange(len(units.rows))):
        labels = contrasts(sets, count, rng)
    splits = np.stack([quarters(units.places, rng)[unit] for _ in range(SPLITS)])
    return ShiftTest(
        statistic=float(combined[0]),
        pvalue=rank_pvalue(combined),
        null=combined[1:],
        effect=held_out_effect(at, sets.rows, in_a, splits, confidence, rng),
        views={name: float(standardise(values)[0]) for name, values in seen.items()},
        parts=holm(part_pvalues(at, sets.rows, in_a, labels)),
        n_permutations=count,
        n_a=int(np.count_nonzero(in_a)),
        n_b=int(np.count_nonzero(~in_a)),
        copies=len(a) + len(b) - len(in_a),
    )


def _units(a: Floats, b: Floats, copies: str, merged: Hashes | None) -> Units:
    """The units of both sets, checked."""
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"A has {a.shape[1]} features and B has {b.shape[1]}; both sets need the same features."
        )
    units = settle_copies(a, b, as_option(copies, "copies", ("auto", "drop", "keep")), merged)
    for other, name in ((IN_B, "A"), (IN_A, "B")):
        size = int(np.count_nonzero(units.places != other))
        if size < _FEWEST_ROWS:
            raise InputError(
                f"{name} has {plural(size, 'different row')}; the shift test needs at least "
                f"{_FEWEST_ROWS} in each set."
            )
    if np.all(units.rows == units.rows[0]):
        raise InputError("All rows of A and B are equal: constant rows cannot be compared.")
    return units


def _rows(X: Array, name: str) -> Floats:
    return np.asarray(to_numpy(as_rows(X, name)), dtype=np.float64)


def contrasts(units: Units, count: int, rng: np.random.Generator) -> NDArray[np.floating]:
    """Weights that turn values into their mean over A minus that over B, (1 + count, units).

    The first row belongs to the true places; the others permute them within each stratum.
    """
    places = np.tile(units.places, (1 + count, 1))
    for stratum in np.unique(units.strata[units.strata >= 0]):
        where = np.flatnonzero(units.strata == stratum)
        places[1:, where] = rng.permuted(places[1:, where], axis=1)
    n_a = np.count_nonzero(units.places != IN_B)
    n_b = np.count_nonzero(units.places != IN_A)
    weights = np.empty(3)
    weights[[IN_A, IN_B, BOTH]] = 1 / n_a, -1 / n_b, 1 / n_a - 1 / n_b
    if len(units.places) >= SINGLE_PRECISION:
        return weights.astype(np.float32)[places]
    return weights[places]
