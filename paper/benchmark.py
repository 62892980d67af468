"""The angle beside six classifiers on the pairs of `tables.py`: same rows, encoding and folds.

    python paper/benchmark.py                       # the design half; what is kept is not run again
    python paper/benchmark.py --half evaluation     # once, at the end
    python paper/benchmark.py --print               # what was kept, and nothing is run
    python paper/benchmark.py --again --models 'angle, plain' 'angle, curved'   # after a change

Every table is encoded once, without its labels, by cospan's plan (categories one column a level,
dates as days, gaps filled by the mean beside a column that says where). Five folds at random, at
most 2,000 rows of a class. Classes count alike in everything: the models are told so (class
weights or equal priors), accuracy is balanced, and log-loss and calibration error weigh both
classes by one half. Whatever a model tunes, it tunes on inner folds of its training rows, by that
same log-loss. Results are kept in `results/benchmark.csv`, a line for each pair and model.

AUC is the mean over folds; the other measures are of all rows, each judged by the fold that did
not see it. The calibration error is the mean gap between probability and frequency over ten bins
of equal size. Seconds are the processor's, for five fits with everything they tune.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cospan import AlignmentAngleClassifier
from cospan.data import encode, open_source
from tables import Pair, pairs

RESULTS = Path(__file__).parent / "results" / "benchmark.csv"
MEASURES = ("auc", "accuracy", "loss", "calibration", "seconds")
FOLDS, INNER_FOLDS = 5, 3
MOST_ROWS = 2_000  # of a class
MOST_VECTORS = 1_500  # rows that support vectors are fitted to; their time grows with the square
TREES = 200
ITERATIONS = 150  # of boosting, at most; how many, inner folds decide

Probability = np.ndarray
Rule = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame], Probability]


# ---- measures -----------------------------------------------------------------------------------


def class_weights(y: np.ndarray) -> np.ndarray:
    """Weights of rows, of which each class has one half."""
    share = y.mean()
    return np.where(y == 1, 0.5 / share, 0.5 / (1 - share)) / len(y)


def log_loss(y: np.ndarray, p: Probability) -> float:
    inside = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-class_weights(y) @ np.where(y == 1, np.log(inside), np.log1p(-inside)))


def calibration_error(y: np.ndarray, p: Probability) -> float:
    weight = class_weights(y)
    order = np.argsort(p, kind="stable")
    bins = np.searchsorted(np.linspace(0, 1, 11)[1:-1], np.cumsum(weight[order]))
    return sum(abs(weight[order[bins == i]] @ (p - y)[order[bins == i]]) for i in range(10))


def measured(y: np.ndarray, p: Probability, aucs: list[float], seconds: float) -> dict[str, float]:
    hits = class_weights(y) @ np.where(p == 0.5, 0.5, (p > 0.5) == (y == 1))
    found = (np.mean(aucs), hits, log_loss(y, p), calibration_error(y, p), seconds)
    return dict(zip(MEASURES, map(float, found), strict=True))


# ---- models -------------------------------------------------------------------------------------


def tuned(models: list, X: np.ndarray, y: np.ndarray) -> object:
    """The model of the smallest log-loss on inner folds, fitted to all rows."""
    splits = list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1).split(X, y))

    def loss(model: object) -> float:
        return sum(
            log_loss(y[test], model.fit(X[train], y[train]).predict_proba(X[test])[:, 1])
            for train, test in splits
        )

    return min(models, key=loss).fit(X, y) if len(models) > 1 else models[0].fit(X, y)


def standardised(*models: object) -> Rule:
    def rule(X: pd.DataFrame, y: np.ndarray, Z: pd.DataFrame) -> Probability:
        candidates = [make_pipeline(StandardScaler(), model) for model in models]
        return tuned(candidates, X.to_numpy(), y).predict_proba(Z.to_numpy())[:, 1]

    return rule


def angle(curve: str | None) -> Rule:
    def rule(X: pd.DataFrame, y: np.ndarray, Z: pd.DataFrame) -> Probability:
        return AlignmentAngleClassifier(curve=curve).fit(X, y).predict_proba(Z)[:, 1]

    return rule


def forest(X: pd.DataFrame, y: np.ndarray, Z: pd.DataFrame) -> Probability:
    """The size of leaves is chosen by what the trees say about rows they did not see."""
    found = [
        RandomForestClassifier(
            TREES, min_samples_leaf=leaf, class_weight="balanced", oob_score=True, random_state=0
        ).fit(X.to_numpy(), y)
        for leaf in (1, 5)
    ]
    best = min(found, key=lambda model: log_loss(y, model.oob_decision_function_[:, 1]))
    return best.predict_proba(Z.to_numpy())[:, 1]


def boosting(X: pd.DataFrame, y: np.ndarray, Z: pd.DataFrame) -> Probability:
    """Depth, rate and the number of iterations by inner folds."""
    rows = X.to_numpy()
    splits = list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1).split(rows, y))
    best = (np.inf, {})
    for depth in (2, 6):
        for rate in (0.05, 0.15):
            given = {"max_depth": depth, "learning_rate": rate}
            losses = np.zeros(ITERATIONS)
            for train, test in splits:
                model = boosted(ITERATIONS, **given).fit(rows[train], y[train])
                stages = model.staged_predict_proba(rows[test])
                losses += [log_loss(y[test], stage[:, 1]) for stage in stages]
            found = (losses.min(), {"iterations": int(losses.argmin()) + 1, **given})
            best = min(best, found, key=lambda one: one[0])
    return boosted(**best[1]).fit(rows, y).predict_proba(Z.to_numpy())[:, 1]


def boosted(iterations: int, **given: float) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=iterations, early_stopping=False, class_weight="balanced", random_state=0, **given
    )


def support_vectors(X: pd.DataFrame, y: np.ndarray, Z: pd.DataFrame) -> Probability:
    """Penalty and width by inner folds, whose scores also give the probabilities (Platt)."""
    scaler = StandardScaler().fit(X)
    few = np.random.default_rng(0).permutation(len(y))[:MOST_VECTORS]
    rows, labels = scaler.transform(X)[few], y[few]
    splits = list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1).split(rows, labels))
    best = (np.inf, None, None)
    for penalty in (1.0, 10.0):
        for width in (0.3, 1.0):
            model = SVC(C=penalty, gamma=width / rows.shape[1], class_weight="balanced")
            scores = np.empty(len(labels))
            for train, test in splits:
                scores[test] = model.fit(rows[train], labels[train]).decision_function(rows[test])
            platt = LogisticRegression(C=np.inf, class_weight="balanced")
            platt.fit(scores[:, None], labels)
            loss = log_loss(labels, platt.predict_proba(scores[:, None])[:, 1])
            best = min(best, (loss, model, platt), key=lambda one: one[0])
    scores = best[1].fit(rows, labels).decision_function(scaler.transform(Z))
    return best[2].predict_proba(scores[:, None])[:, 1]


MODELS: dict[str, Rule] = {
    "angle, curved": angle("auto"),
    "angle, plain": angle(None),
    "logistic regression": standardised(
        *(
            LogisticRegression(C=c, class_weight="balanced", solver="newton-cholesky")
            for c in (0.001, 0.01, 0.1, 1.0, 10.0)
        )
    ),
    "LDA": standardised(
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=(0.5, 0.5))
    ),
    "QDA": standardised(
        *(
            QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=r, priors=(0.5, 0.5))
            for r in (0.01, 0.1, 0.3, 0.6)
        )
    ),
    "random forest": forest,
    "boosting": boosting,
    "support vectors": support_vectors,
}


# ---- running ------------------------------------------------------------------------------------


def encoded(pair: Pair) -> tuple[pd.DataFrame, np.ndarray]:
    """All rows of a pair as numbers, by one plan that has not seen the labels."""
    table, y = pair.rows(MOST_ROWS)
    (source,) = encode([open_source(table)])
    X = pd.DataFrame(source.read().rows, columns=list(source.feature_names), dtype=np.float64)
    return X.loc[:, X.nunique() > 1], y


def judged(rule: Rule, X: pd.DataFrame, y: np.ndarray) -> dict[str, float]:
    """A model's measures on rows that it did not see."""
    p, aucs, began = np.empty(len(y)), [], time.process_time()
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        p[test] = rule(X.iloc[train], y[train], X.iloc[test])
        aucs.append(roc_auc_score(y[test], p[test]))
    return measured(y, p, aucs, time.process_time() - began)


def kept() -> pd.DataFrame:
    """Everything that was run so far."""
    columns = ["half", "table", "pair", "rows_a", "rows_b", "features", "model", *MEASURES]
    return pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=columns)


def forget(half: str, models: list[str]) -> None:
    """Take these models' results of a half out of what is kept."""
    results = kept()
    gone = (results["half"] == half) & results["model"].isin(models)
    results[~gone].to_csv(RESULTS, index=False)


def run(half: str, models: list[str]) -> Iterator[dict[str, object]]:
    """What is not kept yet, in an order that is not the list's: any part of it is a fair sample."""
    done = set(zip(kept()["pair"], kept()["model"], strict=True))
    for pair in sorted(pairs(half), key=lambda one: hashlib.sha256(one.name.encode()).digest()):
        missing = [model for model in models if (pair.name, model) not in done]
        if not missing:
            continue
        X, y = encoded(pair)
        about = {"half": half, "table": pair.table, "pair": pair.name, "rows_a": np.sum(y == 0)}
        for model in missing:
            found = judged(MODELS[model], X, y)
            rounded = {name: f"{value:.5g}" for name, value in found.items()}
            yield {**about, "rows_b": y.sum(), "features": X.shape[1], "model": model, **rounded}


def keep(row: dict[str, object]) -> None:
    first = not RESULTS.exists()
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
        if first:
            writer.writeheader()
        writer.writerow(row)


# ---- printing -----------------------------------------------------------------------------------


def summary(results: pd.DataFrame, half: str, ours: str = "angle, curved") -> pd.DataFrame:
    """For each model its means over tables, their standard errors, and how often `ours` is ahead.

    A table's pairs are averaged first: pairs of one table are not independent.
    """
    here = results[results["half"] == half]
    whole = here.groupby("pair")["model"].nunique() == here["model"].nunique()
    here = here[here["pair"].map(whole)]
    tables = here.groupby(["model", "table"])[list(MEASURES)].mean()
    found = {}
    for model in here["model"].unique():
        of = tables.loc[model]
        row = {name: of[name].mean() for name in MEASURES}
        for name in MEASURES[:-1]:
            ahead = (of[name] - tables.loc[ours][name]) * (1 if name in MEASURES[:2] else -1)
            row[f"{name} gap"] = ahead.mean()
            row[f"{name} error"] = ahead.std(ddof=1) / np.sqrt(len(ahead))
            row[f"{name} wins"] = int((ahead < 0).sum())
            row[f"{name} losses"] = int((ahead > 0).sum())
        found[model] = {"tables": len(of), **row}
    return pd.DataFrame(found).T


def shown(results: pd.DataFrame, half: str) -> str:
    if not (results["half"] == half).any():
        return f"{half}: nothing is kept"
    found = summary(results, half)
    count = results[results["half"] == half]["pair"].nunique()
    lines = [
        f"{half}: {count} pairs of {int(found['tables'].iloc[0])} tables, means over tables",
        f"{'':20} {'AUC':>6} {'accuracy':>8} {'log-loss':>8} {'calibr.':>7} {'seconds':>7}   "
        "the curved angle less this: AUC, log-loss, wins and losses in each",
    ]
    for model, row in found.sort_values("auc", ascending=False).iterrows():
        gap = (
            ""
            if model == "angle, curved"
            else (
                f"{-row['auc gap']:+.4f} ± {row['auc error']:.4f}  "
                f"{row['loss gap']:+.4f} ± {row['loss error']:.4f}  "
                f"{row['auc wins']:.0f}:{row['auc losses']:.0f} {row['loss wins']:.0f}:"
                f"{row['loss losses']:.0f}"
            )
        )
        lines.append(
            f"{model:20} {row['auc']:6.4f} {row['accuracy']:8.4f} {row['loss']:8.4f} "
            f"{row['calibration']:7.4f} {row['seconds']:7.1f}   {gap}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("design", "evaluation"), default="design")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--again", action="store_true", help="run also what is kept")
    parser.add_argument("--print", action="store_true", dest="only_print")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # what a model says about a hard table is in its measures
    if given.again:
        forget(given.half, given.models)
    if not given.only_print:
        for row in run(given.half, given.models):
            keep(row)
            text = " ".join(f"{row[name]:>8}" for name in MEASURES)
            print(f"{row['pair'][:60]:60} {row['model']:20} {text}", flush=True)
    for half in ("design", "evaluation"):
        print(shown(kept(), half))


if __name__ == "__main__":
    main()
