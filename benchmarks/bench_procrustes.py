"""Relative against plain Procrustes on a planted rotation: the figures of docs/procrustes.md.

    python benchmarks/bench_procrustes.py      seconds

20 of 100 dimensions are shared and rotated; X has strong noise in 60 others, Y in the last 20.
The shared part varies alike in all directions ("even"), or with standard deviations from 4 to 0.5
("uneven"). Errors are ‖R̂ - R‖ / ‖R‖ on the shared subspace, means over 5 draws.
"""

import numpy as np
from scipy.linalg import orthogonal_procrustes

from cospan import JointFrame, relative_procrustes

DRAWS = 5


def planted(rng, spread, n=500, noise=20.0, jitter=0.05):
    R = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    w = rng.normal(size=(n, 20)) * spread
    X, Y = jitter * rng.normal(size=(2, n, 100))
    X[:, :20] += w
    Y[:, :20] += w @ R
    X[:, 20:80] += noise * rng.normal(size=(n, 60))
    Y[:, 80:] += noise * rng.normal(size=(n, 20))
    return X, Y, R


def errors(seed, spread):
    X, Y, R = planted(np.random.default_rng(seed), spread)
    frame = JointFrame.fit(X, Y, center="none", shrinkage=1e-3)
    maps = [orthogonal_procrustes(X, Y)[0]]
    for metric in ("frame", "feature"):
        found = relative_procrustes(frame, X, Y, shared_above=0.15, metric=metric)
        maps.append(found.transform(np.eye(100)))
    return [np.linalg.norm(M[:20, :20] - R) / np.linalg.norm(R) for M in maps]


def main():
    print('| shared part | plain Procrustes | `metric="frame"` | `metric="feature"` |')
    print("|---|---|---|---|")
    for name, spread in (("even", 1.0), ("uneven", np.geomspace(4.0, 0.5, 20))):
        plain, frame, feature = np.mean([errors(seed, spread) for seed in range(DRAWS)], axis=0)
        print(f"| {name} | {plain:.3f} | {frame:.3f} | {feature:.3f} |")


if __name__ == "__main__":
    main()
