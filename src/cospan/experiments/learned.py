"""`reproduce_embeddings`: texts, pictures and two models in learned features, as one page."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cospan import __version__
from cospan._validate import as_count
from cospan.embedding import load_text_model
from cospan.experiments.document import made_folder, write
from cospan.experiments.embeddings import CORPORA, TextPair, compare_texts
from cospan.experiments.images import Images, load_images
from cospan.experiments.learned_page import document
from cospan.experiments.pictures import PAIRS, PicturePair, compare_pictures
from cospan.experiments.study import Progress
from cospan.experiments.two_models import Shared, models_of_pictures, models_of_texts

HALVES = 20  # random halves of a set, whose p-values must look uniform
FEWEST_TEXTS = 50  # of each corpus: below, halves of them say nothing


@dataclass(frozen=True)
class _Sizes:
    texts: int
    halves: int
    pictures: int  # training pictures of each class
    epochs: int
    pairs: int | None  # of classes in each dataset; None takes all


def reproduce_embeddings(
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] = "cospan-embeddings",
    texts: int = 500,
    quick: bool = False,
    model: Any = None,
    progress: Progress | None = None,
) -> str:
    """Compare texts, pictures and models in learned features; write a page; return its tables.

    Parameters
    ----------
    data, output, progress
        As for :func:`cospan.experiments.reproduce`.
    texts : int
        Texts of each corpus.
    quick : bool
        At most 150 texts of each corpus, five random halves, one pair of each set of pictures.
    model : optional
        The text model, as for :func:`cospan.embed_texts`.
    """
    started = time.perf_counter()
    texts = as_count(texts, "texts", least=FEWEST_TEXTS)
    sizes = _sizes(texts, str(data) == "digits", quick)
    # What may be missing is asked for before the long work, and before a folder is made.
    run = model if callable(model) else load_text_model(model)
    names = ["digits"] if str(data) == "digits" else ["mnist", "fashion-mnist"]
    sets = [load_images(name, data) for name in names]
    for make in CORPORA.values():
        make(1)
    folder = made_folder(Path(output))
    found = _run(sets, sizes, run, progress or (lambda *_: None))
    seconds = time.perf_counter() - started
    footer = f"cospan {__version__}, {sizes.texts} texts of each corpus, {seconds:.0f} seconds."
    page = document(*found, footer)
    return f"{page.to_text()}\nPage: {write(page, folder, 'embeddings')}"


def _sizes(texts: int, small: bool, quick: bool) -> _Sizes:
    epochs = 20 if small else 3  # of a thousand pictures, or of ten thousand
    if quick:
        return _Sizes(min(texts, 150), 5, 300, epochs, 1)
    return _Sizes(texts, HALVES, 900, epochs, None)


def _run(
    sets: Sequence[Images], sizes: _Sizes, model: Any, progress: Progress
) -> tuple[list[TextPair], list[PicturePair], list[Shared]]:
    halves, epochs = sizes.halves, sizes.epochs
    topics = CORPORA["topics"](sizes.texts)
    pairs = [partial(compare_texts, name, model, n=sizes.texts, halves=halves) for name in CORPORA]
    pictures = [
        partial(compare_pictures, images, pair, n=sizes.pictures, epochs=epochs, halves=halves)
        for images in sets
        for pair in PAIRS[images.name][: sizes.pairs]
    ]
    models: list[Callable[[], Any]] = [lambda: [models_of_texts([*topics.a, *topics.b], model)]]
    models += [partial(models_of_pictures, images, epochs=epochs) for images in sets]
    return (
        list(_counted("Texts", progress, pairs)),
        list(_counted("Pictures", progress, pictures)),
        [one for some in _counted("Models", progress, models) for one in some],
    )


def _counted(what: str, progress: Progress, steps: Sequence[Callable[[], Any]]) -> Iterator[Any]:
    """Each step's result; says beforehand and after each how many are done."""
    progress(what, 0, len(steps))
    for done, step in enumerate(steps, 1):
        yield step()
        progress(what, done, len(steps))
