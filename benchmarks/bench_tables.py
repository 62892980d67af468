"""Two classes of a real table, nothing asked for: does the angle separate them, and is it right?

Five-fold on every pair of `tables.py`, defaults only. Beside it class-balanced logistic
regression on standardised columns, on the same folds. Printed: AUC, balanced accuracy at 45° (at
probability ½), class-balanced log-loss of the probability, and for pairs of 500 rows or more the
expected calibration error of cos²θ over ten bins of equal size.

    python benchmarks/bench_tables.py            # named columns (dataframes)
    python benchmarks/bench_tables.py --bare     # the same numbers as bare arrays
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cospan import JointFrame
from tables import TablePair, table_pairs

MEASURES = ("AUC", "balanced accuracy", "log-loss")


def ours(A: object, B: object, Z: object) -> np.ndarray:
    # What `compare` and the estimator do by default.
    return np.asarray(JointFrame.fit(A, B, curve="auto").align(Z).probability)


def logistic(A: object, B: object, Z: object) -> np.ndarray:
    model = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=5000)
    )
    model.fit(np.concatenate([A, B]), np.repeat([0, 1], [len(A), len(B)]))
    return np.asarray(model.predict_proba(np.asarray(Z))[:, 1])


def held_out(pair: TablePair, rule: object, bare: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Labels, probabilities of B and the mean AUC over five folds."""
    import pandas as pd

    X = pd.concat([pair.A, pair.B], ignore_index=True)
    label = np.repeat([0, 1], [len(pair.A), len(pair.B)])
    found, aucs = np.zeros(len(label)), []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, label):
        parts = [X.iloc[train[label[train] == k]] for k in (0, 1)] + [X.iloc[test]]
        if bare or rule is logistic:
            parts = [part.to_numpy() for part in parts]
        found[test] = rule(*parts)
        aucs.append(roc_auc_score(label[test], found[test]))
    return label, found, float(np.mean(aucs))


def measures(label: np.ndarray, p: np.ndarray, auc: float) -> tuple[float, float, float]:
    inside = np.clip(p, 1e-15, 1 - 1e-15)
    loss = -np.where(label == 1, np.log(inside), np.log1p(-inside))
    hit = (p > 0.5) == (label == 1)
    both = [np.mean([x[label == k].mean() for k in (0, 1)]) for x in (hit, loss)]
    return auc, float(both[0]), float(both[1])


def calibration_error(label: np.ndarray, p: np.ndarray) -> float:
    """Mean gap between probability and frequency, both classes weighted alike."""
    weight = np.where(label == 1, 0.5 / label.sum(), 0.5 / (1 - label).sum())
    order = np.argsort(p)
    bins = np.searchsorted(np.linspace(0, 1, 11)[1:-1], np.cumsum(weight[order]))
    gaps = [
        weight[part].sum() * abs(np.average((p - label)[part], weights=weight[part]))
        for part in (order[bins == i] for i in range(10))
        if len(part)
    ]
    return float(np.sum(gaps))


def main() -> None:
    bare = "--bare" in sys.argv
    warnings.simplefilter("ignore")
    results, errors, lost = [], [], []
    print(f"{'pair':32} {'rows':>11} {'d':>4}   angle: AUC, acc, loss   logistic: AUC, acc, loss")
    for pair in table_pairs():
        label, p, auc = held_out(pair, ours, bare)
        angle = measures(label, p, auc)
        label, q, auc = held_out(pair, logistic, bare)
        regression = measures(label, q, auc)
        results.append((angle, regression))
        if len(label) >= 500:
            errors.append((calibration_error(label, p), pair.name))
        if regression[0] > 0.98 and angle[0] < 0.97:
            lost.append(pair.name)
        rows = f"{len(pair.A)}+{len(pair.B)}"
        text = "   ".join(" ".join(f"{x:.3f}" for x in one) for one in (angle, regression))
        print(f"{pair.name:32.32} {rows:>11} {pair.A.shape[1]:4}   {text}", flush=True)
    means = np.mean(results, axis=0)
    print(f"\nmean over {len(results)} pairs")
    for i, name in enumerate(MEASURES):
        ahead = means[0, i] < means[1, i] if i == 2 else means[0, i] > means[1, i]
        print(f"  {name:18} angle {means[0, i]:.4f}  logistic {means[1, i]:.4f}  ahead: {ahead}")
    print(
        f"  separated by logistic regression (AUC above .98) and not by the angle: {lost or 'none'}"
    )
    worst = max(errors)
    print(
        f"  calibration error of cos²θ, pairs of 500 rows or more: mean "
        f"{np.mean([e for e, _ in errors]):.3f}, worst {worst[0]:.3f} ({worst[1]})"
    )


if __name__ == "__main__":
    main()
