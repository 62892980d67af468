"""Finding flipped labels: `audit_labels` beside cleanlab with 5-fold logistic regression.

    COSPAN_DATA=/path/to/data python benchmarks/bench_audit.py [draws] [clean] [flips] [one-way]

5 % of the labels are flipped to another class, in rows of random order: where a class stands at
one end of the table, its flipped rows would meet in one fold, and the other folds train without
them. Printed: the average precision of both rankings at
finding the flipped ones (the mean of `draws`, default 3; half as many for images), and what
`audit_labels` flags: how many of the flipped ones, and how many of the flagged are flipped.
cleanlab scores labels (its default, self-confidence) by out-of-sample probabilities of a
LogisticRegression on standardised columns, or on pixels divided by 255. Then clean labels: the
share that is flagged. Then flips from one class only. Must hold: average precision at least
cleanlab's less 0.02 in each case and ahead on the mean; at most 1 % of clean labels flagged.
"""

import sys
import warnings

import numpy as np
from cleanlab.rank import get_label_quality_scores
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cospan import audit_labels
from cospan.errors import CospanError
from pictures import load_images

FLIPPED = 0.05
COLUMNS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def tables():
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    X, y = load_digits(return_X_y=True)
    yield "digits: 8 or not", X, (y == 8).astype(int)
    penguins = load_penguins().dropna()
    yield "penguins by sex", penguins[COLUMNS], (penguins["sex"] == "male").to_numpy().astype(int)


def images(n=1500):
    for name in ("mnist", "fashion-mnist"):
        try:
            data = load_images(name)
        except CospanError as error:
            print(f"Not run: {error}")
            continue
        rng = np.random.default_rng(0)
        members = [np.flatnonzero(data.train_y == k) for k in (7, 9)]
        index = np.concatenate([rng.choice(one, n, replace=False) for one in members])
        yield f"{name} 7, 9", data.train_x[index].astype(float), data.train_y[index].astype(int)


def flipped(X, y, seed, source=None):
    """Rows in random order, labels of which some are flipped (of class `source` only), which."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    X, y = np.asarray(X, dtype=float)[order], np.asarray(y)[order]
    classes, own = np.unique(y, return_inverse=True)
    wrong = np.zeros(len(y), dtype=bool)
    pool = np.arange(len(y)) if source is None else np.flatnonzero(own == source)
    wrong[rng.choice(pool, round(FLIPPED * len(y)), replace=False)] = True
    other = (own + rng.integers(1, len(classes), len(y))) % len(classes)
    return X, np.where(wrong, other, own), wrong


def with_cleanlab(X, labels):
    X = np.asarray(X, dtype=float)
    many = X.shape[1] > 100
    X = X / 255 if many else X
    model = LogisticRegression(max_iter=200 if many else 2000)
    model = model if many else make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = cross_val_predict(model, X, labels, cv=5, method="predict_proba")
    return 1 - get_label_quality_scores(labels, found)


def flips(draws):
    print(f"{FLIPPED:.0%} of the labels flipped")
    print(f"  {'data':<20}{'cospan':>8}{'cleanlab':>10}{'recall':>8}{'precision':>11}{'rate':>7}")
    means = []
    for cases, repeats in ((tables(), draws), (images(), max(1, draws // 2))):
        for name, X, y in cases:
            found = []
            for seed in range(repeats):
                rows, labels, wrong = flipped(X, y, seed)
                audit = audit_labels(rows, labels)
                right = wrong[audit.flagged].mean() if audit.flagged.any() else 1.0
                found.append(
                    [
                        average_precision_score(wrong, audit.suspicion),
                        average_precision_score(wrong, with_cleanlab(rows, labels)),
                        audit.flagged[wrong].mean(),
                        right,
                        audit.noise_rate,
                    ]
                )
            ours, theirs, recall, precision, rate = np.mean(found, axis=0)
            means.append((ours, theirs))
            print(
                f"  {name:<20}{ours:8.3f}{theirs:10.3f}{recall:8.2f}{precision:11.2f}{rate:7.3f}"
                f"   at least cleanlab's less 0.02: {ours >= theirs - 0.02}",
                flush=True,
            )
    ours, theirs = np.mean(means, axis=0)
    print(f"  {'mean':<20}{ours:8.3f}{theirs:10.3f}   ahead: {ours > theirs}")


def clean(draws):
    print("\nClean labels: the share that is flagged")
    for distance in (1.0, 1.2, 1.4, 3.0):
        shares = []
        for seed in range(10 * draws):
            rng = np.random.default_rng(seed)
            y = np.repeat([0, 1], 300)
            X = rng.normal(size=(600, 5))
            X[y == 1, 0] += distance
            shares.append(audit_labels(X, y).flagged.mean())
        print(
            f"  two normal classes {distance} sd apart: {np.mean(shares):.2%} on average, "
            f"{np.max(shares):.2%} at most",
            flush=True,
        )
    cases = [*tables(), ("iris", *load_iris(return_X_y=True))]
    for name, X, y in cases:
        share = audit_labels(X, y).flagged.mean()
        print(f"  {name}: {share:.2%}   at most 1 %: {share <= 0.01}", flush=True)


def one_way(draws):
    print(f"\n{FLIPPED:.0%} of the labels flipped, all of one class")
    print(f"  {'data':<20}{'class':>6}{'recall':>8}{'precision':>11}{'rate':>7}")
    for name, X, y in tables():
        for source in np.unique(y)[:2]:
            found = []
            for seed in range(draws):
                rows, labels, wrong = flipped(X, y, seed, source)
                audit = audit_labels(rows, labels)
                right = wrong[audit.flagged].mean() if audit.flagged.any() else 1.0
                found.append([audit.flagged[wrong].mean(), right, audit.noise_rate])
            recall, precision, rate = np.mean(found, axis=0)
            print(f"  {name:<20}{source!s:>6}{recall:8.2f}{precision:11.2f}{rate:7.3f}", flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    draws = numbers[0] if numbers else 3
    sections = {"clean": clean, "flips": flips, "one-way": one_way}
    chosen = [word for word in sys.argv[1:] if word in sections] or sections
    for word in chosen:
        sections[word](draws)
