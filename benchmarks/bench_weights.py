"""Importance weights under covariate shift: the odds of the angle beside logistic regression's.

    python benchmarks/bench_weights.py [draws]

A has labels, B is what the model will meet; both follow y = f(x) + noise with a curved f. A linear
model is fitted to A by weighted least squares, and its squared error on fresh rows of B is
printed relative to the error with logistic-regression weights: the odds of a LogisticRegression
on the features and their squares and products (standardised, C = 1). Five features, 1,000 rows of
each set, the median of `draws` (default 20) draws. Must hold: at most 1.1 in every design.
"""

import sys

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from cospan import JointFrame, importance_weights

N, D = 1000, 5


def mean_shift(rng, n):
    return rng.normal(size=(n, D)), rng.normal(size=(n, D)) + np.array([1.0, 0.5, 0, 0, 0])


def narrower(rng, n):
    return 1.5 * rng.normal(size=(n, D)), 0.9 * rng.normal(size=(n, D))


def rotated(rng, n):
    A = rng.normal(size=(n, D)) * [2.0, 0.7, 1, 1, 1]
    return A, rng.normal(size=(n, D)) * [0.7, 2.0, 1, 1, 1]


def proportions(rng, n):
    centres = np.zeros((2, D))
    centres[1, :2] = 3.0
    return tuple(
        rng.normal(size=(n, D)) + centres[(rng.random(n) < share).astype(int)]
        for share in (0.2, 0.8)
    )


DESIGNS = {
    "mean shift": mean_shift,
    "narrower spread": narrower,
    "rotated spread": rotated,
    "cluster proportions": proportions,
}


def target(X, rng):
    curved = np.hypot(X[:, 0], 2 * X[:, 1]) + 0.5 * X[:, 1] ** 2 + np.sin(X[:, 2])
    return curved + 0.3 * rng.normal(size=len(X))


def logistic_weights(A, B):
    model = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(2, include_bias=False),
        LogisticRegression(max_iter=1000),
    )
    model.fit(np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)]))
    p = model.predict_proba(A)
    return np.minimum(p[:, 1] / p[:, 0], 20.0)


def one(design, seed):
    rng = np.random.default_rng(seed)
    A, B = design(rng, N)
    _, fresh = design(rng, 5 * N)
    found = importance_weights(JointFrame.fit(A, B), A)
    y, truth = target(A, rng), target(fresh, rng)
    errors = []
    for weights in (found.weights, logistic_weights(A, B), None):
        model = LinearRegression().fit(A, y, sample_weight=weights)
        errors.append(np.mean((model.predict(fresh) - truth) ** 2))
    return errors[0] / errors[1], errors[2] / errors[1], found.effective_size / N, found.clipped


def main(draws):
    print(f"{'design':<22}{'odds of θ':>10}{'unweighted':>12}{'effective':>11}{'clipped':>9}")
    for name, design in DESIGNS.items():
        ratio, plain, size, clipped = np.median([one(design, s) for s in range(draws)], axis=0)
        holds = ratio <= 1.1
        print(
            f"{name:<22}{ratio:10.3f}{plain:12.3f}{size:11.2f}{clipped:9.1%}   "
            f"at most 1.1: {holds}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
