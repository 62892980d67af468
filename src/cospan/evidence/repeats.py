"""Rows that are repeated more often than exchanging labels explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cospan.base.keys import Keys, row_keys
from cospan.base.types import Floats

from .functions import Reading, kolmogorov

#: z from which pairs of equal rows are said to be repeated, beside exceeding every labelling, and
#: being so many times as many as independent columns explain: categories meet by chance.
CLEARLY, EXPLAINED = 4.0, 10.0
#: The Kolmogorov-Smirnov distance, times √(n_a n_b / n), that one column in 10,000 has by chance.
UNLIKE = 2.2
#: Columns are left out in at most so many groups, against so many labellings.
LEFT_OUT, FEW_LABELLINGS = 20, 99
IN_BOTH = "in both"
WHERE = ("within A", "within B", IN_BOTH)


@dataclass(frozen=True)
class Repeated:
    """Where rows are repeated beyond chance, and the rows that are left without the copies."""

    findings: tuple[tuple[str, int, float], ...]  # where, how many rows repeat another, z
    kept_a: NDArray[np.intp]
    kept_b: NDArray[np.intp]


def repeated_rows(
    a: Sequence[Reading],
    b: Sequence[Reading],
    keys: Keys | None,
    permutations: int,
    seed: int,
) -> Repeated:
    """Count pairs of equal rows within A, within B and across, against relabelled rows."""
    n_a, n_b = len(a[0].values), len(b[0].values)
    columns = [np.concatenate([x.values, y.values]) for x, y in zip(a, b, strict=True)]
    if keys is not None:
        columns.append(np.unique(keys, return_inverse=True)[1].astype(np.float64))
    key = row_keys(columns)
    pairs, z, beyond = _pairs(key, n_a, permutations, seed)
    beyond &= pairs > EXPLAINED * _by_chance(columns, n_a)
    if beyond.any():  # rows of sets that differ in a column meet within each set only
        limit = UNLIKE * np.sqrt((n_a + n_b) / (n_a * n_b))
        alike = [x for x in columns if kolmogorov(x[:n_a], x[n_a:]) <= limit]
        if 0 < len(alike) < len(columns):
            beyond &= _pairs(row_keys(alike), n_a, permutations, seed)[2]
        # Or in its relations: then the other set's pairs come back where it is left out.
        for out in np.array_split(np.arange(len(alike)), min(len(alike), LEFT_OUT)):
            rest = [values for k, values in enumerate(alike) if k not in out]
            if rest and beyond.any():
                left, _, still = _pairs(row_keys(rest), n_a, FEW_LABELLINGS, seed)
                beyond &= still | (left > 2 * pairs)
    if not beyond.any():
        return Repeated((), np.arange(n_a), np.arange(n_b))
    again_a, again_b = _again(key[:n_a]), _again(key[n_a:])
    across = np.isin(key[n_a:], key[:n_a])
    copies = again_a.sum(), again_b.sum(), across.sum()
    found = tuple((WHERE[k], int(copies[k]), float(z[k])) for k in range(3) if beyond[k])
    drop_b = again_b | across if beyond[2] else again_b
    return Repeated(found, np.flatnonzero(~again_a), np.flatnonzero(~drop_b))


def _pairs(
    key: Keys, n_a: int, permutations: int, seed: int
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Pairs of equal rows within A, within B and across, their z, and which are beyond chance."""
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(count[group] > 1)
    if len(rows) < 4:
        return np.zeros(3), np.zeros(3), np.zeros(3, dtype=bool)
    group = np.unique(group[rows], return_inverse=True)[1]
    rng, size = np.random.default_rng(seed), np.bincount(group)
    pairs = np.empty((permutations + 1, 3))  # the true labels, then random ones
    for k in range(permutations + 1):
        place = rows if k == 0 else rng.choice(len(key), len(rows), replace=False)
        in_a = np.bincount(group, place < n_a, minlength=len(size))
        in_b = size - in_a
        pairs[k] = in_a @ (in_a - 1) / 2, in_b @ (in_b - 1) / 2, in_a @ in_b
    z = (pairs[0] - pairs[1:].mean(axis=0)) / np.maximum(pairs[1:].std(axis=0), 0.5)
    return pairs[0], z, (z > CLEARLY) & (pairs[0] > pairs[1:].max(axis=0))


def _by_chance(columns: Sequence[Floats], n_a: int) -> Floats:
    """Pairs of equal rows within A, within B and across if columns were independent."""
    n_b = len(columns[0]) - n_a
    found = np.array([n_a * (n_a - 1) / 2, n_b * (n_b - 1) / 2, float(n_a * n_b)])
    for values in columns:
        code = np.unique(values, return_inverse=True)[1]  # one NaN
        k = int(code.max()) + 1
        p = np.bincount(code[:n_a], minlength=k) / n_a
        q = np.bincount(code[n_a:], minlength=k) / n_b
        found *= [p @ p, q @ q, p @ q]
    return found


def _again(key: Keys) -> NDArray[np.bool_]:
    """Rows that equal an earlier one."""
    again = np.ones(len(key), dtype=bool)
    again[np.unique(key, return_index=True)[1]] = False
    return again
