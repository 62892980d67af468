"""`reproduce`: run the paper's experiments and write figures, tables and a page."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cospan import __version__
from cospan._files import whole_file, write_text
from cospan.errors import InputError
from cospan.experiments.figures import draw_figures
from cospan.experiments.images import load_images
from cospan.experiments.page import Picture, findings, tables, to_html, to_markdown
from cospan.experiments.study import Progress, Study, gather

__all__ = ["reproduce"]


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
    folder = _made(Path(output))
    draws = min(draws, 2) if quick else draws
    studies = gather(sets, draws=draws, quick=quick, progress=progress)
    pictures = _written_figures(studies, folder, progress)
    seconds = time.perf_counter() - started
    footer = f"cospan {__version__}, {draws} draws, {seconds:.0f} seconds."
    write_text(folder / "reproduction.md", to_markdown(studies, pictures, footer))
    write_text(folder / "reproduction.html", to_html(studies, pictures, footer))
    write_text(folder / "reproduction.json", json.dumps(_as_json(studies), indent=1))
    return _as_text(studies, footer, folder / "reproduction.html")


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}.") from error
    return folder


def _written_figures(
    studies: Sequence[Study], folder: Path, progress: Progress | None
) -> list[Picture]:
    pictures: list[Picture] = []
    for study in studies:
        for name, caption, figure in draw_figures(study):
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=110)
            with whole_file(folder / f"{name}.png") as path:
                path.write_bytes(buffer.getvalue())
            pictures.append(Picture(f"{name}.png", caption, buffer.getvalue()))
            if progress is not None:
                progress("Figures", len(pictures), None)
    return pictures


def _as_json(studies: Sequence[Study]) -> dict[str, Any]:
    return {
        "version": __version__,
        "tables": [
            {"title": table.title, "header": table.header, "rows": table.rows}
            for study in studies
            for table in tables(study)
        ],
        "findings": [line for study in studies for line in findings(study)],
    }


def _as_text(studies: Sequence[Study], footer: str, page: Path) -> str:
    lines = []
    for study in studies:
        for table in tables(study):
            cells = [table.header, *table.rows]
            widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
            lines += [table.title, ""]
            lines += [
                "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
                for row in cells
            ]
            lines.append("")
    lines += [line for study in studies for line in findings(study)]
    return "\n".join([*lines, "", footer, f"Page: {page}"])
