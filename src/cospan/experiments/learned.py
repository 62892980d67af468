"""`reproduce_embeddings`: texts, pictures and two models in learned features, as one page."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cospan import plots
from cospan._numbers import p_text
from cospan._text import printable
from cospan._validate import as_count
from cospan._version import VERSION
from cospan.embedding import load_text_model
from cospan.experiments.document import (
    Document,
    Picture,
    Section,
    Table,
    figure_of,
    made_folder,
    picture,
    write,
)
from cospan.experiments.embeddings import CORPORA, TextPair, compare_texts, uniformity
from cospan.experiments.images import Images, load_images
from cospan.experiments.pictures import PAIRS, PicturePair, compare_pictures
from cospan.experiments.study import Progress
from cospan.experiments.two_models import Shared, models_of_pictures, models_of_texts

INTRODUCTION = (
    "Three questions. Do the angles of single texts mean something in the space of a sentence "
    "model, and are they as good as logistic regression on the same rows? Are pictures separated "
    "better in the features of a small network, which learned from other classes, than in pixels? "
    "And what do two models' features of the same rows share? Random halves of one set are "
    "compared as well, where nothing differs: their p-values must look uniform, which a "
    "Kolmogorov-Smirnov test checks."
)
AMBIGUOUS = 10
LONGEST = 160  # characters of a text that are shown
SUSPICIOUS = 0.01  # p of uniformity below which a row is worth a second look


def document(
    texts: Sequence[TextPair],
    pictures: Sequence[PicturePair],
    models: Sequence[Shared],
    footer: str,
) -> Document:
    """The page: what was found, then texts, pictures and models."""
    return Document(
        "Learned features",
        INTRODUCTION,
        (*_said_of_texts(texts), *_said_of_pictures(pictures), *_said_of_models(models)),
        (
            Section(
                "Texts",
                (_texts(texts), *(_ambiguous(pair) for pair in texts)),
                (_angles_of_texts(texts),),
            ),
            Section("Pictures", (_pictures(pictures),), (_angles_of_pictures(pictures),)),
            Section("Two models, the same rows", (_models(models),), ()),
        ),
        footer,
    )


def _texts(pairs: Sequence[TextPair]) -> Table:
    rows = tuple(
        (
            f"{pair.corpus.title}: {' and '.join(pair.corpus.names)}",
            f"{len(pair.corpus.a)} + {len(pair.corpus.b)}",
            f"{pair.auc:.3f}",
            f"{pair.logistic:.3f}",
            _p(pair.null_p),
            f"{pair.seconds:.1f}",
        )
        for pair in pairs
    )
    halves = f"{len(pairs[0].null_p)} random halves: p of uniformity"
    header = ("corpora", "texts", "AUC of the angle", "of logistic regression", halves, "seconds")
    return Table("Texts: leave-one-out angles", header, rows, "texts.csv")


def _ambiguous(pair: TextPair) -> Table:
    rows = tuple(
        (f"{degrees:.1f}°", name, printable(text, LONGEST))
        for degrees, name, text in pair.most_ambiguous(AMBIGUOUS)
    )
    title = f"The {len(rows)} most ambiguous texts, {pair.corpus.title}"
    file = f"ambiguous-{pair.corpus.title.removeprefix('two ')}.csv"
    return Table(title, ("angle", "from", "text"), rows, file)


def _pictures(pairs: Sequence[PicturePair]) -> Table:
    rows = tuple(
        (
            f"{pair.images.title}: {' and '.join(pair.names)}",
            *(
                cell
                for space in (pair.pixels, pair.features)
                for cell in (f"{space.angle:.4f}", f"{space.logistic:.4f}", _p(space.null_p))
            ),
        )
        for pair in pairs
    )
    header = tuple(
        f"{space}: {what}"
        for space in ("pixels", "features")
        for what in ("angle", "logistic regression", "p of uniformity")
    )
    title = f"Pictures: test AUC, and {len(pairs[0].pixels.null_p)} random halves"
    return Table(title, ("classes", *header), rows, "pictures.csv")


def _models(found: Sequence[Shared]) -> Table:
    rows = tuple(
        (
            " and ".join(one.names),
            f"{one.cka:.3f} ({one.cka_shuffled:.3f})",
            f"{one.directions[0]} of {one.directions[1]}",
            f"{one.residual:.3f} ({one.residual_shuffled:.3f})",
            f"{one.found:.1%} of {one.rows} ({one.found_shuffled:.1%})",
        )
        for one in found
    )
    header = ("models", "linear CKA", "shared directions", "residual", "partner is the nearest")
    title = "Two models, the same rows (in brackets: rows paired wrongly)"
    return Table(title, header, rows, "models.csv")


def _p(p_values: tuple[float, ...]) -> str:
    p = uniformity(p_values)
    return "—" if math.isnan(p) else p_text(p, 0.001)


# ---- what they say -----------------------------------------------------------------------------


def _said_of_texts(pairs: Sequence[TextPair]) -> list[str]:
    worst = min(pair.auc - pair.logistic for pair in pairs)
    said = [
        "Texts: the AUC of the angles is at "
        + (f"least {worst:.3f} above" if worst >= 0 else f"most {-worst:.3f} below")
        + f" that of logistic regression, for {len(pairs)} pairs of corpora."
    ]
    return said + _said_of_halves("Texts", [pair.null_p for pair in pairs])


def _said_of_pictures(pairs: Sequence[PicturePair]) -> list[str]:
    better = sum(pair.features.angle > pair.pixels.angle for pair in pairs)
    said = [
        f"Pictures: the angle tells {better} of {len(pairs)} pairs of classes apart better in "
        "features of a network that learned from other classes than in pixels."
    ]
    p_values = [space.null_p for pair in pairs for space in (pair.pixels, pair.features)]
    return said + _said_of_halves("Pictures", p_values)


def _said_of_halves(what: str, p_values: Sequence[tuple[float, ...]]) -> list[str]:
    tests = [uniformity(some) for some in p_values if some]
    if not tests:
        return []
    # The smallest of several p-values is judged with their number in mind.
    least = min(1.0, len(tests) * min(tests))
    word = "do not look" if least < SUSPICIOUS else "look"
    return [
        f"{what}, random halves: the p-values {word} uniform (smallest p of {len(tests)} tests, "
        f"times {len(tests)}: {least:.3f})."
    ]


def _said_of_models(found: Sequence[Shared]) -> list[str]:
    return [
        f"{one.names[0]} and {one.names[1]}: {one.found:.0%} of {one.rows} rows that had no part "
        f"in the rotation find their partner as the nearest row (by chance {1 / one.rows:.1%})."
        for one in found
    ]


# ---- figures -----------------------------------------------------------------------------------


def _angles_of_texts(pairs: Sequence[TextPair]) -> Picture:
    figure = figure_of(4.6 * len(pairs), 3.2)
    for i, pair in enumerate(pairs, 1):
        ax = figure.add_subplot(1, len(pairs), i)
        plots.plot_angles(*pair.angles, names=pair.corpus.names, ax=ax)
        ax.set_title(pair.corpus.title)
    return picture("angles-texts", "Leave-one-out angles of the texts.", figure)


def _angles_of_pictures(pairs: Sequence[PicturePair]) -> Picture:
    figure = figure_of(9.5, 2.8 * len(pairs))
    for i, pair in enumerate(pairs):
        for j, (space, found) in enumerate((("pixels", pair.pixels), ("features", pair.features))):
            ax = figure.add_subplot(len(pairs), 2, 2 * i + j + 1)
            plots.plot_angles(*found.theta, names=pair.names, ax=ax)
            ax.set_title(f"{pair.images.title}, {space}")
    caption = "Angles of test pictures in pixels (left) and in learned features (right)."
    return picture("angles-pictures", caption, figure)


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

    `data`, `output` and `progress` are as for :func:`cospan.experiments.reproduce`, `model` as for
    :func:`cospan.embed_texts`. There are so many `texts` of each corpus; if it is to be `quick`, at
    most 150, five random halves, and one pair of each set of pictures.
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
    footer = f"cospan {VERSION}, {sizes.texts} texts of each corpus, {seconds:.0f} seconds."
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
