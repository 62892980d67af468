"""Wrong labels in the benchmark's design tables: `audit_labels` beside cleanlab.

    python paper/audit.py              # what is kept is not run again
    python paper/audit.py --again      # after a change of audit_labels
    python paper/audit.py --print

Of 12 tables of the design half 5 % of the labels are flipped at random, in three draws. cleanlab
ranks labels by self-confidence, its default, of out-of-sample probabilities: of logistic regression
and of gradient boosting. Average precision is that of finding the flipped labels. `audit_labels`
flags rows at a stated precision of 50 % and of 80 %: what the precision was, and the recall, beside
the recall that cleanlab's rankings have where they are as precise as that. Precision is that of
all flags of a draw over all tables, as a user who checks them all would see it.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmark import encoded
from cospan import audit_labels
from tables import Pair, pairs

RESULTS = Path(__file__).parent / "results" / "audit.json"
FLIPPED, DRAWS, TABLES, MOST_ROWS = 0.05, 3, 12, 2_000
PRECISIONS = (0.5, 0.8)
CLEANLAB = {
    "cleanlab, logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2000)
    ),
    "cleanlab, boosting": HistGradientBoostingClassifier(random_state=0),
}


def chosen() -> list[Pair]:
    """One pair of each of the first tables of the design half that have enough rows."""
    found: dict[str, Pair] = {}
    for pair in pairs("design"):
        if pair.table not in found and len(pair.rows(MOST_ROWS)[1]) >= 500:
            found[pair.table] = pair
        if len(found) == TABLES:
            break
    return list(found.values())


def flipped(y: np.ndarray, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which some are flipped, and which."""
    wrong = np.zeros(len(y), dtype=bool)
    wrong[np.random.default_rng(draw).permutation(len(y))[: round(FLIPPED * len(y))]] = True
    return np.where(wrong, 1 - y, y), wrong


def by_cleanlab(model: object, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    from cleanlab.rank import get_label_quality_scores  # only where it is run

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(model, X, labels, cv=folds, method="predict_proba")
    return 1 - get_label_quality_scores(labels, p)


def run(pair: Pair, draw: int, kept: dict[str, object]) -> dict[str, object]:
    """Suspicions of every rule, as far as they are not kept, and what is flagged."""
    X, y = encoded(pair)
    X, y = X.iloc[:MOST_ROWS], y[:MOST_ROWS]
    labels, wrong = flipped(y, draw)
    found = {"pair": pair.name, "draw": draw, "rows": len(y), **kept}
    for name, model in CLEANLAB.items():
        if name not in found:
            suspicion = by_cleanlab(model, X.to_numpy(), labels)
            found[name] = {
                "ap": round(float(average_precision_score(wrong, suspicion)), 4),
                "order": np.flatnonzero(wrong[np.argsort(-suspicion, kind="stable")]).tolist(),
            }
    if "cospan" not in found:
        audits = {at: audit_labels(X, labels, precision=at) for at in PRECISIONS}
        suspicion = audits[0.5].suspicion
        found["cospan"] = {
            "ap": round(float(average_precision_score(wrong, suspicion)), 4),
            "rate": round(audits[0.5].noise_rate, 4),
            "flags": {
                str(at): [int(audit.flagged.sum()), int(wrong[audit.flagged].sum())]
                for at, audit in audits.items()
            },
        }
    return found


def recall_at(order: list[int], precision: float) -> float:
    """The largest share of flips in a beginning of a ranking that is as precise as that.

    `order` are the places of the flips in the ranking.
    """
    counts = np.arange(1, len(order) + 1)
    enough = counts / (np.asarray(order) + 1) >= precision
    return float(counts[enough].max(initial=0)) / len(order)


def table(results: list[dict]) -> pd.DataFrame:
    """Average precision of each rule, a line for each pair."""
    rules = ["cospan", *CLEANLAB]
    lines = [{"pair": one["pair"], **{rule: one[rule]["ap"] for rule in rules}} for one in results]
    return pd.DataFrame(lines).groupby("pair", sort=False).mean()


def flags(results: list[dict]) -> pd.DataFrame:
    """What is flagged at each stated precision, and what cleanlab's rankings would have had."""
    lines = []
    for at in PRECISIONS:
        counts = np.array([one["cospan"]["flags"][str(at)] for one in results])
        flips = np.array([len(one["cleanlab, boosting"]["order"]) for one in results])
        line = {
            "stated precision": at,
            "precision": counts[:, 1].sum() / max(counts[:, 0].sum(), 1),
            "recall": np.mean(counts[:, 1] / flips),
        }
        for rule in CLEANLAB:
            line[f"recall of {rule}"] = np.mean([recall_at(x[rule]["order"], at) for x in results])
        lines.append({**line, "runs without a flag": f"{np.sum(counts[:, 0] == 0)}/{len(counts)}"})
    return pd.DataFrame(lines).set_index("stated precision")


def kept() -> list[dict]:
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="run audit_labels also where kept")
    parser.add_argument("--print", action="store_true", dest="only_print")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {(one["pair"], one["draw"]): one for one in kept()}
    for draw in range(0 if given.only_print else DRAWS):
        for pair in chosen():
            known = results.get((pair.name, draw), {})
            if given.again:
                known.pop("cospan", None)
            if "cospan" not in known:
                found = results[pair.name, draw] = run(pair, draw, known)
                RESULTS.write_text(json.dumps(list(results.values()), indent=0), "utf-8")
                print(pair.name, draw, {rule: found[rule]["ap"] for rule in ("cospan", *CLEANLAB)})
    found = table(list(results.values()))
    print(found.round(3).to_string(), found.mean().round(3).to_string(), sep="\nmean\n")
    print(flags(list(results.values())).round(3).T.to_string())


if __name__ == "__main__":
    main()
