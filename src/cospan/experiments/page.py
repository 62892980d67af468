"""`reproduce`: the paper's experiments as one page, with tables and findings of every dataset."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from cospan._version import VERSION
from cospan.errors import InputError
from cospan.experiments.document import (
    Document,
    Picture,
    Section,
    Table,
    made_folder,
    picture,
    write,
)
from cospan.experiments.figures import draw_figures
from cospan.experiments.images import load_images
from cospan.experiments.protocol import COST, DEFAULTS, FRAME, LOGISTIC, RULES
from cospan.experiments.study import PAPER_TABLE, Progress, Row, Study, gather, z_score

INTRODUCTION = (
    "The protocol of the paper: 900 and 800 random training images of two classes, each set "
    "centred at its own mean, the GSVD of the two, no balancing and no shrinkage; every test image "
    "of both classes gets its angle; histograms with 30 bins over 0° to 90°. Beside it the same "
    "rows with this library's defaults (weighted means of each set's rows, calibrated angles, the "
    "distance without bins), and scikit-learn's logistic regression."
)

# A standard deviation of fewer draws says nothing about how far apart two numbers are.
FEW_DRAWS = 5


def document(
    studies: Sequence[Study], pictures: Sequence[Sequence[Picture]], footer: str
) -> Document:
    """The page: what was found, then the tables and the figures of each dataset."""
    return Document(
        "The paper's experiments, reproduced",
        INTRODUCTION,
        tuple(line for study in studies for line in findings(study)),
        tuple(
            Section(study.images.title, tuple(tables(study)), tuple(drawn))
            for study, drawn in zip(studies, pictures, strict=True)
        ),
        footer,
    )


def tables(study: Study) -> list[Table]:
    """Every table of one dataset."""
    return [_fisher_rao(study), _quality(study), _means(study)]


def _pair(study: Study, row: Row) -> str:
    return f"{study.images.classes[row.a]}, {study.images.classes[row.b]}"


def _fisher_rao(study: Study) -> Table:
    """Fisher-Rao beside the printed table, with how many standard deviations apart."""
    rows = []
    rules = [study.rows(rule) for rule in (FRAME, COST, DEFAULTS)]
    few = rules[0][0].draws < FEW_DRAWS
    for frame, cost, ours in zip(*rules, strict=True):
        printed = PAPER_TABLE.get((frame.a, frame.b)) if study.images.name == "mnist" else None
        rows.append(
            (
                _pair(study, frame),
                "—" if printed is None else f"{printed:.3f}",
                _spread(frame),
                "—" if printed is None or few else f"{z_score(frame):.1f}",
                _spread(cost),
                "—" if printed is None or few else f"{z_score(cost):.1f}",
                _spread(ours),
                " + ".join(map(str, study.first_draw(frame.a, frame.b).blocks)),
            )
        )
    directions = "only A + shared + only B"
    header = ("pair", "printed", FRAME, "sd apart", COST, "sd apart", DEFAULTS, directions)
    draws = study.rows(FRAME)[0].draws
    title = f"{study.images.title}: Fisher-Rao distance in radians, {draws} draws (mean ± sd)"
    return Table(title, header, tuple(rows))


def _spread(row: Row) -> str:
    return f"{row.fisher_rao:.3f} ± {row.fisher_rao_sd:.3f}"


def _quality(study: Study) -> Table:
    """Accuracy, F1 and AUC of each rule on the paper's pairs, and the linear CKA of the pair."""
    cka = study.cka()
    rows = [
        (
            _pair(study, row),
            rule,
            f"{row.accuracy:.4f}",
            f"{row.f1:.4f}",
            f"{row.auc:.4f}",
            f"{cka[row.a, row.b]:.3f}",
        )
        for rule in RULES
        for row in study.rows(rule)
    ]
    rows.sort(key=lambda row: row[0])  # stable: the rules keep their order
    title = f"{study.images.title}: telling the test images apart, means over the draws"
    header = ("pair", "rule", "accuracy", "F1", "AUC", "linear CKA")
    return Table(title, header, tuple(rows))


def _means(study: Study) -> Table:
    """Means over every pair of classes."""
    rows = tuple(
        (
            rule,
            f"{study.mean(rule, 'accuracy'):.4f}",
            f"{study.mean(rule, 'auc'):.4f}",
            "—" if rule == LOGISTIC else f"{study.mean(rule, 'fisher_rao'):.3f}",
        )
        for rule in RULES
    )
    title = f"{study.images.title}: means over {len(study.every_pair)} pairs of classes, one draw"
    return Table(title, ("rule", "accuracy", "AUC", "Fisher-Rao"), rows)


def findings(study: Study) -> list[str]:
    """What the numbers say, computed from them."""
    said = []
    if study.images.name == "mnist":
        rows = {(row.a, row.b): row for row in study.rows(FRAME)}
        if next(iter(rows.values())).draws >= FEW_DRAWS:
            worst = max(z_score(row) for row in rows.values())
            said.append(
                f"Frame weighting: the printed distances lie at most {worst:.1f} standard "
                "deviations of a draw from our means."
            )
        ordered = sorted(rows.values(), key=lambda row: -row.fisher_rao)
        order = " > ".join(f"({row.a}, {row.b})" for row in ordered)
        said.append(f"Frame weighting, by falling distance: {order}.")
    better = study.mean(DEFAULTS, "accuracy") - study.mean(LOGISTIC, "accuracy")
    word = "above" if better >= 0 else "below"
    said.append(
        f"{study.images.title}, mean accuracy over {len(study.every_pair)} pairs: the paper's rule "
        f"{study.mean(COST, 'accuracy'):.4f} by cost and {study.mean(FRAME, 'accuracy'):.4f} by "
        f"frame, our defaults {study.mean(DEFAULTS, 'accuracy'):.4f}, which is {abs(better):.4f} "
        f"{word} logistic regression on the same rows."
    )
    return said


def reproduce(
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] = "cospan-reproduction",
    draws: int = 10,
    quick: bool = False,
    progress: Progress | None = None,
) -> str:
    """Repeat the paper's experiments; write figures, tables and a page; return the tables.

    `data` is the folder that holds ``mnist`` and ``fashion-mnist`` (default: ``COSPAN_DATA``, else
    a download), or the word ``"digits"`` for the small digits inside scikit-learn. There are so
    many random `draws` of training images for the paper's pairs; if it is to be `quick`, two, and
    no other pairs. `progress` is called with (what, done, total).
    """
    if draws < 2:
        raise InputError(f"draws is {draws}; at least 2 are needed for a standard deviation.")
    started = time.perf_counter()
    names = ["digits"] if str(data) == "digits" else ["mnist", "fashion-mnist"]
    sets = [load_images(name, data) for name in names]
    folder = made_folder(Path(output))
    draws = min(draws, 2) if quick else draws
    studies = gather(sets, draws=draws, quick=quick, progress=progress)
    pictures = _drawn(studies, progress)
    seconds = time.perf_counter() - started
    footer = f"cospan {VERSION}, {draws} draws, {seconds:.0f} seconds."
    found = document(studies, pictures, footer)
    return f"{found.to_text()}\nPage: {write(found, folder, 'reproduction')}"


def _drawn(studies: Sequence[Study], progress: Progress | None) -> list[list[Picture]]:
    """The figures of each study."""
    drawn: list[list[Picture]] = [[] for _ in studies]
    for own, study in zip(drawn, studies, strict=True):
        for name, caption, figure in draw_figures(study):
            own.append(picture(name, caption, figure))
            if progress is not None:
                progress("Figures", sum(map(len, drawn)), None)
    return drawn
