"""`reproduce`: run the paper's experiments and write figures, tables and a page."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from cospan import __version__
from cospan.errors import InputError
from cospan.experiments.document import Picture, made_folder, picture, write
from cospan.experiments.figures import draw_figures
from cospan.experiments.images import load_images
from cospan.experiments.page import document
from cospan.experiments.study import Progress, Study, gather


def reproduce(
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] = "cospan-reproduction",
    draws: int = 10,
    quick: bool = False,
    progress: Progress | None = None,
) -> str:
    """Repeat the paper's experiments; write figures, tables and a page; return the tables.

    Parameters
    ----------
    data : path, optional
        Folder that holds ``mnist`` and ``fashion-mnist``; default: ``COSPAN_DATA``, else a
        download. The word ``"digits"`` takes the small digits inside scikit-learn instead.
    output : path
        Folder for the results; made if it is not there.
    draws : int
        Random draws of training images for the paper's pairs.
    quick : bool
        Two draws, and only the paper's pairs.
    progress : callable, optional
        Called with (what, done, total).

    Returns
    -------
    str
        The tables and findings as text, ending with the path of the page.
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
    footer = f"cospan {__version__}, {draws} draws, {seconds:.0f} seconds."
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
