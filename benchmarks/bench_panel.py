"""Other measures and synthetic rows: time, validity, and what planted rows are found.

Run it with ``python benchmarks/bench_panel.py [time|level|planted]``; all three by default.
"""

import argparse
import time

import numpy as np
import scipy.stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import average_precision_score

from cospan.measures import fidelity, measure_panel


def timing() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 5_000, 50))
    start = time.perf_counter()
    panel = measure_panel(A, B)
    print(f"panel of 5,000 + 5,000 rows x 50: {time.perf_counter() - start:.1f} s (at most 30)")
    for measure in sorted(panel.measures, key=lambda one: -one.seconds):
        print(f"  {measure.name:20} {measure.seconds:6.2f} s")


def level(simulations: int) -> None:
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {}
    for seed in range(simulations):
        panel = measure_panel(*rng.standard_t(3, size=(2, 80, 5)), random_state=seed)
        for measure in panel.measures:
            if measure.p_value is not None:
                found.setdefault(measure.name, []).append(measure.p_value)
    allowed = scipy.stats.binom.ppf(0.975, simulations, 0.05) / simulations
    print(f"null, {simulations} simulations, t with 3 degrees of freedom (at most {allowed:.3f}):")
    for name, p_values in found.items():
        print(f"  {name:20} p <= .05 in {np.mean(np.array(p_values) <= 0.05):.3f}")


def copula(real: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Synthetic rows with the columns' own distributions and Gaussian relations."""
    latent = scipy.stats.norm.ppf((scipy.stats.rankdata(real, axis=0) - 0.5) / len(real))
    related = np.corrcoef(latent, rowvar=False)
    drawn = rng.multivariate_normal(np.zeros(real.shape[1]), related, len(real))
    share = scipy.stats.norm.cdf(drawn)
    return np.column_stack([np.quantile(r, q) for r, q in zip(real.T, share.T, strict=True)])


def planted(draws: int) -> None:
    print("planted rows, average precision (at least .95):")
    for load in (load_breast_cancer, load_wine, load_diabetes):
        real = load().data
        scores = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            synthetic, sd = copula(real, rng), real.std(axis=0)
            index = rng.permutation(len(real))
            copies, strange = index[:8], index[8:16]
            synthetic[copies] = real[copies] + 0.02 * sd * rng.normal(size=(8, real.shape[1]))
            sign = rng.choice([-1, 1], size=(8, real.shape[1]))
            synthetic[strange] = real[strange] + 4 * sd * sign
            found = fidelity(real, synthetic)
            scores.append(
                (
                    average_precision_score(np.isin(np.arange(len(real)), copies), -found.copying),
                    average_precision_score(np.isin(np.arange(len(real)), strange), found.distance),
                    np.mean(np.isin(copies, found.copies)),
                    np.mean(np.isin(strange, found.impossible)),
                )
            )
        copy, odd, listed, named = np.mean(scores, axis=0)
        print(
            f"  {load.__name__[5:]:14} copies {copy:.3f} (listed {listed:.2f})   "
            f"impossible {odd:.3f} (listed {named:.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["time", "level", "planted"])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    if given.part in (None, "time"):
        timing()
    if given.part in (None, "planted"):
        planted(given.draws)
    if given.part in (None, "level"):
        level(given.simulations)


if __name__ == "__main__":
    main()
