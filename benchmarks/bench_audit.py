"""Finding flipped labels: `audit_labels` beside cleanlab with 5-fold logistic regression.

    COSPAN_DATA=/path/to/data python benchmarks/bench_audit.py [draws]

1,500 + 1,500 random training images of two classes, 5 % of the labels flipped; the average
precision of each ranking at finding the flipped ones, and its time. cleanlab scores the labels
(its default, self-confidence) by out-of-sample probabilities of a LogisticRegression on pixels
divided by 255, stopped after at most 200 iterations of lbfgs (its warning about that is kept
quiet). Mean over `draws` (default 3).
"""

import sys
import time
import warnings

import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict

from cospan import audit_labels
from cospan.errors import CospanError
from cospan.experiments import load_images

N, FLIPPED = 1500, 0.05
# (data set, classes, by how much cleanlab may be better)
CASES = (
    ("mnist", (4, 9), 0.0),
    ("mnist", (3, 5), 0.0),
    ("fashion-mnist", (2, 4), 0.0),
    ("fashion-mnist", (7, 9), 0.05),
)


def draw(images, classes, seed):
    rng = np.random.default_rng(seed)
    index = [rng.choice(np.flatnonzero(images.train_y == k), N, replace=False) for k in classes]
    wrong = np.zeros(2 * N, dtype=bool)
    wrong[rng.choice(2 * N, round(FLIPPED * 2 * N), replace=False)] = True
    truth = np.repeat([0, 1], N)
    return images.train_x[np.concatenate(index)].astype(float), truth ^ wrong, wrong


def with_cleanlab(X, labels):
    model = LogisticRegression(max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = cross_val_predict(model, X / 255, labels, cv=5, method="predict_proba")
    return 1 - get_label_quality_scores(labels, found)


def with_cospan(X, labels):
    return audit_labels(X, labels).suspicion


def main(draws):
    try:
        sets = {name: load_images(name) for name in ("mnist", "fashion-mnist")}
    except CospanError as error:
        print(f"Not run: {error}")
        return
    print(f"{FLIPPED:.0%} of {2 * N:,} labels flipped, mean of {draws} draws")
    print(f"  {'classes':<22}{'cospan':>9}{'s':>7}{'cleanlab':>11}{'s':>7}")
    for name, classes, allowed in CASES:
        scores, seconds = np.zeros((2, draws)), np.zeros((2, draws))
        for seed in range(draws):
            X, labels, wrong = draw(sets[name], classes, seed)
            for i, way in enumerate((with_cospan, with_cleanlab)):
                start = time.perf_counter()
                suspicion = way(X, labels)
                seconds[i, seed] = time.perf_counter() - start
                scores[i, seed] = average_precision_score(wrong, suspicion)
        ours, theirs = scores.mean(axis=1)
        took = seconds.mean(axis=1)
        line = f"{name} {classes[0]}, {classes[1]}"
        wanted = "above" if allowed == 0 else f"not more than {allowed} below"
        holds = ours > theirs if allowed == 0 else ours >= theirs - allowed
        print(
            f"  {line:<22}{ours:9.3f}{took[0]:7.1f}{theirs:11.3f}{took[1]:7.1f}"
            f"   {wanted} cleanlab: {holds}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
