"""The options of ``cospan reproduce``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Experiments"]


@dataclass(frozen=True)
class Experiments:
    """Which experiments to run, on what, and where the results go."""

    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder that holds mnist and fashion-mnist, or 'digits' for the small built-in "
            "set (default: COSPAN_DATA, else a download).",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Where the results go (default: cospan-reproduction or cospan-embeddings).",
        ),
    ] = None
    draws: Annotated[int, typer.Option(min=2, help="Random draws of training images.")] = 10
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows, draws and pairs: a first look.")
    ] = False
    embeddings: Annotated[
        bool,
        typer.Option(
            "--embeddings",
            help="Learned features instead: texts, pictures, two models (needs the extra embed).",
        ),
    ] = False
    texts: Annotated[int, typer.Option(min=50, help="Texts of each corpus, with --embeddings.")] = (
        500
    )
