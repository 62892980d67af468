"""Where results go, and tables that read well as Markdown and on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

OUT = Path(__file__).parent / "out"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with its columns in line, and its title above."""
    cells = [tuple(one.replace("|", "\\|") for one in row) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, tuple("-" * width for width in widths))
    lines = (
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    )
    return "\n".join([f"**{title}**", "", *(f"| {line} |" for line in lines)])


def write(name: str, title: str, parts: Iterable[str], folder: Path = OUT) -> str:
    """A page in the folder of results, each part printed as soon as it is there; its text."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"# {title}\n"
    for part in parts:
        print(f"{part}\n", flush=True)
        text += f"\n{part}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return text
