"""The options of ``cospan reproduce``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cospan.cli.groups import grouped

__all__ = ["Experiments"]


@dataclass(frozen=True)
class Experiments:
    """Which experiments to run, on what, and where the results go."""

    data: str | None = grouped(
        metavar="DIR",
        help="Folder that holds mnist and fashion-mnist, or 'digits' for the small built-in "
        "set (default: COSPAN_DATA, else a download).",
    )
    output: Path | None = grouped(
        "--output",
        "-o",
        metavar="DIR",
        help="Where the results go (default: cospan-reproduction or cospan-embeddings).",
    )
    draws: int = grouped(default=10, min=2, help="Random draws of training images.")
    quick: bool = grouped(
        "--quick", default=False, help="Fewer rows, draws and pairs: a first look."
    )
    embeddings: bool = grouped(
        "--embeddings",
        default=False,
        help="Learned features instead: texts, pictures, two models (needs the extra embed).",
    )
    texts: int = grouped(default=500, min=50, help="Texts of each corpus, with --embeddings.")
