"""The size out of fold: is it honest where nothing differs, and does its interval hold the truth?

    python benchmarks/bench_size.py [nulls] [coverage] [typicality] [time] [--draws N]

- nulls: two samples of one distribution, six designs, 100 draws each. How often is the interval of
  the size above 0.5 (at most 6 %), and what is the log-loss of the saved model on 4,000 new rows
  (at most .70)? And one category of five levels with a true AUC of .9: the mean size.
- coverage: normal rows, one of five columns shifted; 400 draws each. The truth is the mean AUC, on
  20,000 new rows, of models fitted to four fifths. At least 88 % each and 93 % on average.
- typicality: how often has a new row p ≤ .1 (at most 11 %), and how many rows that were moved by 8
  robust deviations in every column have p ≤ .01 (at least 90 %)?
- time: processor time of the folds in fits (at most 2.5 from 1,000 rows on, 6 below).

Without a name all of them; with --draws fewer.
"""

import sys
import time

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata

from cospan import JointFrame
from cospan.base.arrays import one_blas_thread
from cospan.comparison.opening import Settings, open_sets
from cospan.comparison.reading import read_sets
from cospan.comparison.scoring import fit_models, size_between, usual_rows
from cospan.summary import dealt_by_number
from parallel import each

NEW = 4000
TRUTH_ROWS = 20_000


class Compared:
    """What `compare` has of two sets before it looks for columns."""

    def __init__(self, A, B, Z=None, usual=False):
        opened = open_sets({}, A, B, Z, called=("A", "B"))
        settings = Settings.of()
        read = read_sets(opened, settings.are_exact(None, opened.first.n_features), None)
        started = time.process_time()
        scorer = fit_models(read, settings, picture=False)
        self.seconds_of_models = time.process_time() - started
        self.usual = usual_rows(read) if usual else None
        scorer = scorer._replace(usual=self.usual)
        self.own = [scorer.score(one.kept, own=k) for k, one in enumerate(read.sets)]
        self.by_values = not read.copies
        self.size = size_between(*self.own, 0, 1, copies=read.copies)
        self.new = None if opened.further is None else opened.further.read().rows
        self.model, self.folds = scorer.model, scorer.folds


def auc(a, b):
    ranks = rankdata(np.concatenate([a, b]))
    return (ranks[len(a) :].sum() - len(b) * (len(b) + 1) / 2) / (len(a) * len(b))


# ---- nulls ------------------------------------------------------------------------------------


def zipf(rng, n, columns=3, levels=30):
    share = 1 / np.arange(1, levels + 1)
    drawn = rng.choice(levels, size=(n, columns), p=share / share.sum())
    return pd.DataFrame({f"c{j}": [f"v{x}" for x in drawn[:, j]] for j in range(columns)})


def uniform_levels(rng, n, columns, levels):
    drawn = rng.integers(levels, size=(n, columns))
    return pd.DataFrame({f"c{j}": [f"v{x}" for x in drawn[:, j]] for j in range(columns)})


def mixed(rng, n):
    table = zipf(rng, n, columns=2, levels=8)
    for j in range(4):
        table[f"x{j}"] = rng.normal(size=n)
    return table


def numbers(rng, n, d, df=None):
    return rng.normal(size=(n, d)) if df is None else rng.standard_t(df, size=(n, d))


NULLS = {
    "three zipf categories 60/600": (zipf, 60, 600),
    "one category of 5 levels 300/300": (lambda r, n: uniform_levels(r, n, 1, 5), 300, 300),
    "four of 4 levels 300/300": (lambda r, n: uniform_levels(r, n, 4, 4), 300, 300),
    "mixed 60/600": (mixed, 60, 600),
    "t2 50/50": (lambda r, n: numbers(r, n, 5, 2), 50, 50),
    "384 normal features 60/180": (lambda r, n: numbers(r, n, 384), 60, 180),
}


def log_loss(model, new, n_a):
    p = np.asarray(model.align(new).probability)
    return -0.5 * (np.log1p(-p[:n_a]).mean() + np.log(p[n_a:]).mean())


def nulls(draws):
    for name, (draw, n, m) in NULLS.items():

        def one(seed, draw=draw, n=n, m=m):
            rng = np.random.default_rng([seed, n, m])
            found = Compared(draw(rng, n), draw(rng, m), draw(rng, NEW))
            loss = log_loss(found.model, found.new, NEW // 2)
            return found.size.low > 0.5, float(found.size), loss, found.by_values

        above, sizes, losses, kinds = zip(*each(one, range(draws)), strict=True)
        say(
            f"null, {name:<34} above .5 in {np.mean(above):5.1%} (at most 6%), size "
            f"{np.mean(sizes):.3f}, log-loss {np.mean(losses):.4f} (at most .70), dealt by values "
            f"in {np.mean(kinds):.0%}"
        )

    def of_levels(seed):
        rng = np.random.default_rng(seed)
        a, b = (rng.choice(5, 300, p=p) for p in five_levels())
        tables = [pd.DataFrame({"c": [f"v{x}" for x in one]}) for one in (a, b)]
        return float(Compared(*tables).size)

    sizes = each(of_levels, range(draws))
    say(
        f"one category of 5 levels, true AUC {true_auc(*five_levels()):.3f}: size "
        f"{np.mean(sizes):.3f} ({min(sizes):.3f} to {max(sizes):.3f}; mean within .88 to .92)"
    )


def five_levels():
    """Shares of five levels in two sets, whose best AUC is .9."""
    a = np.array([0.4962, 0.2932, 0.1068, 0.0599, 0.0439])
    return a, a[::-1]


def true_auc(a, b):
    order = np.argsort(b / a)
    a, b = a[order], b[order]
    return sum(a[i] * (b[i + 1 :].sum() + b[i] / 2) for i in range(len(a)))


# ---- coverage ---------------------------------------------------------------------------------


def coverage(draws):
    shares = []
    for n, m in ((50, 50), (200, 200), (1000, 1000), (40, 400)):
        for shift in (0.0, 0.3, 0.5, 0.8):
            step = np.array([shift, 0, 0, 0, 0])

            def one(seed, step=step, n=n, m=m):
                rng = np.random.default_rng([seed, n, m])
                A, B = rng.normal(size=(n, 5)), rng.normal(size=(m, 5)) + step
                found = Compared(A, B)
                new = rng.normal(size=(TRUTH_ROWS, 5))
                new[TRUTH_ROWS // 2 :] += step
                squared = found.folds[seed % len(found.folds)].squared_costs(new)
                score = np.log(squared[:, 0] / squared[:, 1])
                truth = auc(score[: TRUTH_ROWS // 2], score[TRUTH_ROWS // 2 :])
                return float(found.size), found.size.low, found.size.high, truth

            size, low, high, truth = np.transpose(each(one, range(draws)))
            inside = np.mean((low <= truth.mean()) & (truth.mean() <= high))
            shares.append(inside)
            say(
                f"coverage, {n}/{m}, shift {shift}: truth {truth.mean():.3f}, mean size "
                f"{size.mean():.3f}, inside {inside:.1%} (at least 88%), mean width "
                f"{np.mean(high - low):.3f}"
            )
    say(f"coverage on average {np.mean(shares):.1%} (at least 93%)")


# ---- typicality -------------------------------------------------------------------------------


def correlated(rng, n, d, rho, shape):
    common = rng.normal(size=(n, 1))
    normal = np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.normal(size=(n, d))
    return shape(normal)


def as_t2(x):
    u = norm.cdf(x)
    return (2 * u - 1) / np.sqrt(2 * u * (1 - u))


PLAIN, LOGNORMAL = (lambda x: x), np.exp
DESIGNS = {
    "normal, r = 0": (10, 0.0, PLAIN),
    "normal, r = .5": (10, 0.5, PLAIN),
    "normal, r = .8": (10, 0.8, PLAIN),
    "t2": (10, 0.0, as_t2),
    "log-normal": (10, 0.0, LOGNORMAL),
    "0/1 and counts": (10, 0.0, lambda x: np.where(np.arange(10) < 5, x > 1, np.floor(np.exp(x)))),
}


def typicality(draws, n=200):
    for name, (d, rho, shape) in DESIGNS.items():

        def one(seed, d=d, rho=rho, shape=shape):
            rng = np.random.default_rng(seed)
            A = correlated(rng, n, d, rho, shape)
            B = correlated(rng, n, d, rho, shape)
            found = Compared(A, B, usual=True)
            new = correlated(rng, 200, d, rho, shape)
            unit = np.subtract(*np.quantile(A, (0.75, 0.25), axis=0)) / 1.35
            unit = np.where(unit > 0, unit, A.std(axis=0))
            dealt = dealt_by_number(np.arange(len(new)), 5)
            p = [
                found.usual.ranks.p_values(found.usual.squared_costs(rows, dealt))[:, 0]
                for rows in (new, new + 8 * unit)
            ]
            own = found.own[0].typicality[:, 0]
            return np.mean(p[0] <= 0.1), np.mean(p[1] <= 0.01), np.mean(own <= 0.1)

        low, far, own = np.mean(each(one, range(draws)), axis=0)
        say(
            f"typicality, {name:<20} P(p <= .1) of new rows {low:.3f} (at most .11), of "
            f"own rows {own:.3f}; moved rows found {far:.1%} (at least 90%)"
        )


# ---- time -------------------------------------------------------------------------------------


def times(repeats):
    for n, d, curved in (
        (100, 5, 0), (500, 20, 0), (500, 20, 1), (800, 100, 0),
        (1000, 5, 0), (2000, 20, 0), (2000, 20, 1), (5000, 100, 0), (2000, 400, 0), (60, 2000, 0),
    ):  # fmt: skip
        rng = np.random.default_rng(0)
        A, B = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        B[:, 0] += 0.5
        if curved:
            B[:, 1] = np.sign(B[:, 1]) * (1 + 0.2 * B[:, 1])
        models, alone = [], []
        for _ in range(repeats):
            found = Compared(A, B, usual=True)
            started = time.process_time()
            JointFrame.fit(A, B, curve="auto")
            alone.append(time.process_time() - started)
            models.append(found.seconds_of_models)
        kind = "curved" if found.model.curve is not None else "plain"
        folds, most = min(models) / min(alone) - 1, 2.5 if n >= 1000 else 6
        say(
            f"time, {n} + {n} rows of {d}, {kind}: JointFrame.fit {min(alone):.3f} s, all models "
            f"{min(models):.3f} s, folds = {folds:.2f} fits (at most {most})"
        )


def say(text):
    print(text, flush=True)


PARTS = {
    "nulls": (nulls, 100),
    "coverage": (coverage, 400),
    "typicality": (typicality, 50),
    "time": (times, 3),
}


def main(arguments):
    draws = None
    if "--draws" in arguments:
        place = arguments.index("--draws")
        draws = int(arguments[place + 1])
        arguments = arguments[:place] + arguments[place + 2 :]
    with one_blas_thread():
        for name in arguments or PARTS:
            part, usually = PARTS[name]
            part(usually if draws is None else draws)


if __name__ == "__main__":
    main(sys.argv[1:])
