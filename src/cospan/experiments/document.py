"""A page of tables and figures, written as Markdown, as one HTML file, as JSON and as text."""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cospan._files import whole_file, write_text
from cospan._json import json_text
from cospan._packages import needed
from cospan._version import VERSION
from cospan.errors import InputError
from cospan.report.html import rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure as the bytes of a PNG file."""

    file: str
    caption: str
    png: bytes

    @property
    def base64(self) -> str:
        return base64.b64encode(self.png).decode("ascii")


@dataclass(frozen=True)
class Table:
    """Cells as they are shown. A table with a `file` name is also written as CSV."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    file: str = ""

    def to_csv(self) -> str:
        made = io.StringIO()
        csv.writer(made, lineterminator="\n").writerows([self.header, *self.rows])
        return made.getvalue()


@dataclass(frozen=True)
class Section:
    title: str
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Document:
    """What was done, what came out in sentences, and the tables and figures behind them."""

    title: str
    introduction: str
    findings: tuple[str, ...]
    sections: tuple[Section, ...]
    footer: str

    @property
    def tables(self) -> list[Table]:
        return [table for section in self.sections for table in section.tables]

    def to_markdown(self) -> str:
        """The page as Markdown; figures are files beside it."""
        parts = [f"# {self.title}", self.introduction, *(f"- {line}" for line in self.findings)]
        for section in self.sections:
            parts.append(f"## {section.title}")
            for table in section.tables:
                parts += [f"**{table.title}**", _markdown_table(table)]
            parts += [f"![{one.caption}]({one.file})\n\n{one.caption}" for one in section.pictures]
        return "\n\n".join([*parts, self.footer]) + "\n"

    def to_html(self) -> str:
        """The page as one HTML file with its figures inside; no scripts, nothing to fetch."""
        return rendered("experiments", ["base", "experiments"], page=self)

    def to_json(self) -> str:
        tables = [
            {"title": table.title, "header": table.header, "rows": table.rows}
            for table in self.tables
        ]
        found = {"version": VERSION, "tables": tables, "findings": self.findings}
        return json_text(found)

    def to_text(self) -> str:
        """The tables and the findings, for a terminal."""
        lines = []
        for table in self.tables:
            cells = [table.header, *table.rows]
            widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
            lines += [table.title, ""]
            lines += [
                "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
                for row in cells
            ]
            lines.append("")
        return "\n".join([*lines, *self.findings, "", self.footer])


def made_folder(path: Path) -> Path:
    """The folder for the results; made if it is not there, once all is there to write them."""
    with needed("A page of experiments"):
        import_module("jinja2")
        import_module("matplotlib")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}.") from error
    return path


def figure_of(width: float, height: float) -> Figure:
    """An empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def picture(name: str, caption: str, figure: Figure) -> Picture:
    """A figure, drawn."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return Picture(f"{name}.png", caption, buffer.getvalue())


def write(document: Document, folder: Path, stem: str) -> Path:
    """All files of a page, each whole or not at all; the path of the HTML file, written last."""
    for section in document.sections:
        for one in section.pictures:
            with whole_file(folder / one.file) as path:
                path.write_bytes(one.png)
    for table in document.tables:
        if table.file:
            write_text(folder / table.file, table.to_csv())
    write_text(folder / f"{stem}.md", document.to_markdown())
    write_text(folder / f"{stem}.json", document.to_json())
    return write_text(folder / f"{stem}.html", document.to_html())


def _markdown_table(table: Table) -> str:
    lines = [table.header, tuple("---" for _ in table.header), *table.rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
