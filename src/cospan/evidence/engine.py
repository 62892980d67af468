"""From rows of two sets, read in the same way, to all that is evidence of a difference.

Rows repeated beyond chance are set apart, functions of a row are learned from the rest and weighed
under relabellings, and the columns to blame are described. `shift_test` asks for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cospan.base.arrays import one_blas_thread, to_numpy
from cospan.base.checks import as_count, as_rows, as_seed, check_names, feature_names_of
from cospan.base.rows import Keys, row_keys, text_keys
from cospan.base.types import Array, Bools, Floats, Index, Values
from cospan.errors import InputError

from .blame import blame_columns
from .columns import TEXT, Column, columns_of, read_columns, read_texts
from .findings import IN_BOTH, Finding, check_quality, described, rows_taken
from .functions import OWN, SHARES, Function, Reading, RowFunctions, deviation, kolmogorov
from .size import Size
from .test import RARE, Evidence, Labellings, mean_z, share_z, weigh
from .verdict import Smallest, Verdict, feature_table, pair_table

if TYPE_CHECKING:
    from cospan.data import Chunk, EncodingPlan, SchemaChange, SetProfile
    from cospan.model import JointFrame

#: Rows of a set behind the labellings; differences of single columns are those of all rows given.
SAMPLE = 2_500
#: Where the first relabellings give a p-value above this, they are all there are: one of at most
#: 0.05 is still one of all. They are left out where any |z| is beyond the last.
FIRST, NOTHING, CLEARLY = 199, 0.1, 5.0
#: The power of what would have been seen, and the least spread of a share that it counts with.
POWER, LEAST_SHARE = 0.8, 0.1
#: With fewer rows in a set, or relabellings, no p-value can be at most 0.05.
FEWEST_ROWS, FEWEST_LABELLINGS = 4, 19
#: z from which pairs of equal rows are said to be repeated, beside exceeding every labelling, and
#: being so many times as many as independent columns explain: categories meet by chance.
REPEATED, EXPLAINED = 4.0, 2.0
#: The Kolmogorov-Smirnov distance, times √(n_a n_b / n), that one column in 10,000 has by chance.
UNLIKE = 2.2
#: Columns are left out in at most so many groups, against so many labellings.
LEFT_OUT, FEW_LABELLINGS = 20, 99


def find_changes(
    frame: JointFrame,
    A: Chunk,
    B: Chunk,
    *,
    names: Sequence[str] | None = None,
    plan: EncodingPlan | None = None,
    profiles: tuple[SetProfile, SetProfile] | None = None,
    auc: Size | None = None,
    set_names: tuple[str, str] = ("A", "B"),
    schema: Sequence[SchemaChange] = (),
    permutations: int = 999,
    seed: int = 0,
) -> Verdict:
    """Find what changed between the two sets of a frame.

    `A` and `B` are encoded rows of both, all of them or random samples. `names` are the
    features' (by default the frame's, or x0, x1, …); `plan` says how the user's columns became
    features, else every feature is a column of numbers. `profiles` say how values are written, and
    which levels there are, over all rows. What is not the same in both sets by the `schema` comes
    first.
    """
    a, b = (
        np.asarray(to_numpy(as_rows(one.rows, name, d=frame.n_features)), dtype=np.float64)
        for one, name in ((A, "A"), (B, "B"))
    )
    watched = A.watched, B.watched
    parts = () if plan is None or any(part is None for part in watched) else plan.watched
    texts = [Column(name, TEXT, ()) for name in dict.fromkeys(name for name, _ in parts)]
    names = names or frame.feature_names or [f"x{i}" for i in range(frame.n_features)]
    columns = (*columns_of(plan, names, profiles), *texts)
    read = [
        [*read_columns(columns, rows), *read_texts(columns, parts, part)]
        for rows, part in zip((a, b), watched, strict=True)
    ]
    found = Verdict()
    if min(len(a), len(b)) >= FEWEST_ROWS:
        with one_blas_thread():  # many small products: threads would wait for each other
            found = find(
                [column.name for column in columns], *read, permutations=permutations, seed=seed,
                keys=joined_keys([A.merged, B.merged]),
                groups=joined_keys(
                    [None if one.groups is None else text_keys(one.groups) for one in (A, B)]
                ),
            )  # fmt: skip
    table = feature_table(columns, read, found)
    quality, shares = check_quality(table, profiles), _shares(frame, found, texts)
    usual = _absurd_in_both(schema, dict(zip(set_names, frame.geometry.sizes, strict=True)))
    ahead, odd = (
        [Finding(one.kind, one.column, one.second, str(one).rstrip(".")) for one in schema
         if (one in usual) is in_both]
        for in_both in (False, True)
    )  # fmt: skip
    kinds = {one.name: one.kind for one in table}
    every = (*ahead, *found.findings)
    every = tuple(replace(x, sets=set_names, of=kinds.get(x.column, "number")) for x in every)
    return replace(
        found, columns=table, quality=(*quality, *odd), auc=auc, shares=shares, sets=set_names,
        findings=every,
    )  # fmt: skip


def _absurd_in_both(
    schema: Sequence[SchemaChange], rows: Mapping[str, float]
) -> list[SchemaChange]:
    """Absurd values of which both sets have about as many: odd, and no change."""
    held: dict[str, list[SchemaChange]] = {}
    for one in schema:
        held.setdefault(one.column, []).extend([one] if one.kind == "absurd" else [])
    found: list[SchemaChange] = []
    for both in held.values():
        counts = [(one.counts[0], max(one.counts[0], rows[one.sets[0]])) for one in both]
        if len(both) == 2 and abs(share_z(*counts[0], *counts[1])) < REPEATED:
            found += both
    return found


def joined_keys(keys: Sequence[Keys | None]) -> Keys | None:
    """The keys of several sets' rows; None where one has none."""
    known = [one for one in keys if one is not None]
    return np.concatenate(known) if len(known) == len(keys) else None


def _shares(frame: JointFrame, found: Verdict, texts: Sequence[Column]) -> dict[str, float]:
    """What share of the difference is location, scale and shape; texts and the linear span have
    none.
    """
    changed = {one.column for one in found.findings}
    only_texts = changed and changed <= {one.name for one in texts}
    if not found.differs or only_texts or not frame.geometry.affine:
        return {}
    whole = frame.parts
    if not 0 < whole.total < math.inf:
        return {}
    return {kind: getattr(whole, kind) / whole.total for kind in ("location", "scale", "shape")}


def find(
    names: Sequence[str],
    a: Sequence[Reading],
    b: Sequence[Reading],
    *,
    permutations: int = 999,
    seed: int = 0,
    groups: Values | None = None,
    keys: Keys | None = None,
) -> Verdict:
    """Find what differs between two sets of rows, read in the same way; see `find_changes`."""
    n = len(a[0].values), len(b[0].values)
    first, second = ([one for one in side if one.related] for side in (a, b))
    repeated, kept = repeated_rows(first, second, keys, permutations, seed)
    if not repeated and len(first) < len(a):  # names tell rows of equal numbers apart
        repeated, kept = repeated_rows(a, b, keys, permutations, seed)
    if min(map(len, kept)) < FEWEST_ROWS:  # hardly anything but copies
        kept = np.arange(n[0]), np.arange(n[1])
    rng = np.random.default_rng(seed)
    drawn = [
        rows if len(rows) <= SAMPLE else np.sort(rng.choice(rows, SAMPLE, replace=False))
        for rows in kept
    ]
    pooled = [
        one._replace(values=np.concatenate([one.values[drawn[0]], other.values[drawn[1]]]))
        for one, other in zip(a, b, strict=True)
    ]
    functions = RowFunctions.learn(names, pooled)
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
        groups = np.concatenate([groups[: n[0]][drawn[0]], groups[n[0] :][drawn[1]]])
    sizes = len(drawn[0]), len(drawn[1])
    values = rows_taken(a, kept[0]), rows_taken(b, kept[1])
    over_all = _of_all_rows(functions, *values)
    sampled = sizes != tuple(map(len, kept)) and groups is None
    clear = max(map(abs, over_all.values()), default=0.0) > CLEARLY
    counts = {permutations} if clear else {permutations, min(FIRST, permutations)}
    for count in sorted(counts):
        labellings = Labellings.draw(*sizes, count, seed, groups)
        evidence = weigh(functions, labellings, over_all if sampled else {})
        if evidence.p > NOTHING:
            break
    blamed, order = blame_columns(functions, evidence, sizes[0])
    found = [described(one, functions, values, sizes) for one in blamed]
    p, least = evidence.p, 3 / (permutations + 1)
    if any(one.detail != IN_BOTH for one in repeated):  # else the sets are only alike
        p = min(p, least)
    again = (replace(one, p=least) for one in repeated)
    return Verdict(
        pvalue=p,
        rows_tested=sizes,
        n_permutations=permutations if repeated else count,
        findings=(*again, *found),
        order=tuple(functions.names[k] for k in order),
        feature_pairs=pair_table(evidence, functions, sizes[0]),
        smallest=_smallest_seen(functions, evidence, values),
        evidence=evidence,
    )


def _of_all_rows(
    functions: RowFunctions, a: Sequence[Reading], b: Sequence[Reading]
) -> dict[Function, float]:
    """z of the columns' own functions over all rows."""
    found = {}
    for (function, x), (_, y) in zip(functions.own(a), functions.own(b), strict=True):
        x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        z = 0.0
        if function.kind in SHARES:
            z = share_z(float(x.sum()), len(x), float(y.sum()), len(y))
        elif len(x) and len(y):
            z = mean_z(np.concatenate([x, y]), len(x))
        found[function] = z
    return found


def _smallest_seen(
    functions: RowFunctions, evidence: Evidence, values: tuple[list[Reading], list[Reading]]
) -> dict[str, Smallest]:
    """What would have been seen with a power of 80 %, from the spread of each column."""
    needed = np.full(len(functions.names), math.nan)
    own = evidence.family == OWN
    needed[evidence.first[own]] = evidence.needed[own] + special.ndtri(POWER)
    found: dict[str, Smallest] = {}
    for x, y in zip(*values, strict=True):
        name, both = functions.names[x.column], np.concatenate([x.values, y.values])
        known = both[~np.isnan(both)]
        if name in found or not len(known) or not x.related:
            continue
        error = float(needed[x.column]) * math.sqrt(len(both) / (len(x.values) * len(y.values)))
        share = 1 - len(known) / len(both)
        if x.levels is not None:
            share = float(np.unique(known, return_counts=True)[1].max() / len(both))
        share = min(1.0, error * max(math.sqrt(share * (1 - share)), LEAST_SHARE))
        mean = error * deviation(known) if x.levels is None else math.nan
        found[name] = Smallest(mean, share)
    return {name: found.get(name, Smallest()) for name in functions.names}


def shift_test(
    A: Array,
    B: Array,
    *,
    n_permutations: int = 999,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Verdict:
    """Test whether the rows of A and of B come from one distribution: the verdict, without a size.

    The means of many functions of a row are compared with those of relabelled rows. The p-value
    of independent rows is valid whatever the distribution, the sizes and the dimension: under "no
    shift" it falls below 0.05 in at most 5% of the cases. The units of the columns do not matter.

    Parameters
    ----------
    A, B
        Two sets of rows with the same features, at least four rows each, without missing values.
    n_permutations
        Relabellings behind the p-value, at least 19; it is at least 1 / (1 + n_permutations).
        Where the first 199 give more than 0.1, they are all that is drawn.
    groups
        One label for each row, A's first: rows of one group belong together (a patient, a day),
        and whole groups are relabelled. Without it rows are taken as drawn independently.
    random_state
        Seed of the relabellings; the same seed gives the same bits.

    Examples
    --------
    >>> from cospan import shift_test
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(80, 5)), rng.normal(size=(120, 5)) * [1, 1, 1, 1, 3]
    >>> found = shift_test(A, B)
    >>> found.pvalue, found.findings[0].column, found.findings[0].kind
    (0.001, 'x4', 'spread')
    >>> shift_test(A, rng.normal(size=(120, 5))).pvalue > 0.05
    True
    """
    a = np.asarray(to_numpy(as_rows(A, "A")), dtype=np.float64)
    b = np.asarray(to_numpy(as_rows(B, "B", d=a.shape[1])), dtype=np.float64)
    names = feature_names_of(A)
    check_names(B, names, "B", whose="A's")
    n, name = min((len(a), "A"), (len(b), "B"))
    if n < FEWEST_ROWS:
        raise InputError(
            f"{name} has {n} rows; the shift test needs at least {FEWEST_ROWS} in each set."
        )
    if np.all(a == a[0]) and np.all(b == a[0]):
        raise InputError("All rows of A and B are equal: constant rows cannot be compared.")
    belongs = None if groups is None else np.asarray(groups)
    if belongs is not None and belongs.shape != (len(a) + len(b),):
        raise InputError(
            f"groups has shape {belongs.shape}; give one label for each of the "
            f"{len(a) + len(b)} rows, A's first."
        )
    read = [[Reading(j, "", values) for j, values in enumerate(rows.T)] for rows in (a, b)]
    count = as_count(n_permutations, "n_permutations", least=FEWEST_LABELLINGS)
    with one_blas_thread():
        return find(
            names or [f"x{j}" for j in range(a.shape[1])], *read,
            permutations=count, seed=as_seed(random_state), groups=belongs,
        )  # fmt: skip


# ---- rows that are repeated more often than exchanging labels explains ------------------------


def repeated_rows(
    a: Sequence[Reading], b: Sequence[Reading], keys: Keys | None, permutations: int, seed: int
) -> tuple[tuple[Finding, ...], tuple[Index, Index]]:
    """Where rows are repeated beyond chance, and the rows that are left without the copies.

    Pairs of equal rows within A, within B and across are counted against relabelled rows.
    """
    n_a, n_b = len(a[0].values), len(b[0].values)
    columns = [np.concatenate([x.values, y.values]) for x, y in zip(a, b, strict=True)]
    if keys is not None:
        columns.append(np.unique(keys, return_inverse=True)[1].astype(np.float64))
    key = row_keys(columns)
    pairs, z, beyond = _pairs(key, n_a, permutations, seed)
    beyond &= pairs > EXPLAINED * _by_chance(columns, n_a)
    if beyond.any():  # rows of sets that differ in a column meet within each set only
        alike = [x for x in columns if _alike(x, n_a)]
        if 0 < len(alike) < len(columns):
            beyond &= _pairs(row_keys(alike), n_a, permutations, seed)[2]
        # Or in its relations: then only other pairs come back where it is left out.
        share = np.array([n_a**2, n_b**2, 2 * n_a * n_b]) / (n_a + n_b) ** 2
        for out in np.array_split(np.arange(len(alike)), max(1, min(len(alike), LEFT_OUT))):
            rest = [values for k, values in enumerate(alike) if k not in out]
            if rest and beyond.any():
                left, still, _ = _pairs(row_keys(rest), n_a, FEW_LABELLINGS, seed)
                back = left - pairs
                beyond &= (still > REPEATED / 2) | (EXPLAINED * back > share * back.sum())
    if not beyond.any():
        return (), (np.arange(n_a), np.arange(n_b))
    again_a, again_b = _again(key[:n_a]), _again(key[n_a:])
    across = np.isin(key[n_a:], key[:n_a])
    copies = again_a.sum(), again_b.sum(), across.sum()
    found = tuple(
        Finding("repeated rows", detail=where, a=float(copies[k]), z=float(z[k]), rows=n_a + n_b)
        for k, where in enumerate(("within A", "within B", IN_BOTH))
        if beyond[k]
    )
    drop_b = again_b | across if beyond[2] else again_b
    return found, (np.flatnonzero(~again_a), np.flatnonzero(~drop_b))


def _pairs(key: Keys, n_a: int, permutations: int, seed: int) -> tuple[Floats, Floats, Bools]:
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
    return pairs[0], z, (z > REPEATED) & (pairs[0] > pairs[1:].max(axis=0))


def _alike(values: Floats, n_a: int) -> bool:
    """Whether a column is distributed alike in both sets, and no frequent value is in one more."""
    n, n_b = len(values), len(values) - n_a
    if kolmogorov(values[:n_a], values[n_a:])[0] > UNLIKE * math.sqrt(n / (n_a * n_b)):
        return False
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)
    beyond = np.bincount(code[:n_a], minlength=len(count)) - count * n_a / n
    variance = count * (1 - count / n) * n_a * n_b / n**2
    return bool((np.abs(beyond) <= CLEARLY * np.sqrt(variance))[count >= RARE].all())


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


def _again(key: Keys) -> Bools:
    """Rows that equal an earlier one."""
    again = np.ones(len(key), dtype=bool)
    again[np.unique(key, return_index=True)[1]] = False
    return again
