"""How a report was made: the command or the call, versions, and hashes of the files read."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan.base.text import p_text
from cospan.comparison.settings import Settings

from ._text import clean
from .pieces import Measure, SetInfo, Setting

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ManyComparison
    from cospan.panel import Panel
    from cospan.studies import Sensitivity

VERSIONS = ("numpy", "scipy", "scikit-learn")
DECIDED = ("exact", "score_all")  # by the data, where they were left open
SETTLED_BY_PRESET = (
    "span", "units", "shrinkage", "pooling", "dof", "calibrate", "center", "balance", "tol", "curve"
)  # fmt: skip

MOST_BYTES = 2_000_000_000  # larger files are not read once more


@dataclass(frozen=True)
class Origin:
    """Where a comparison came from, as far as its caller knows, and what else was measured.

    `panel` is what ``Comparison.panel()`` returned, `study` what :func:`cospan.sensitivity` did.
    """

    command: str | None = None
    files: Sequence[str | os.PathLike[str]] = ()
    panel: Panel | None = None
    study: Sensitivity | None = None

    def measures(self) -> tuple[Measure, ...]:
        """What other measures say."""
        found = () if self.panel is None else self.panel.measures
        return tuple(
            Measure(
                one.name,
                "not computed" if one.value is None else f"{one.value:.3g}",
                "" if one.p_value is None else f"p {p_text(one.p_value)}",
                f"{one.meaning} {one.note}".strip(),
            )
            for one in found
        )

    def settings(self) -> tuple[Setting, ...]:
        """How far angles move under other settings; the first row of a study is the reference."""
        rows = () if self.study is None else self.study.rows[1:]
        return tuple(
            Setting(
                clean(f"{row.parameter} {row.value}", 60),
                round(float(row.mean_degrees), 2),
                round(float(row.q95_degrees), 2),
                round(float(row.flips), 4),
            )
            for row in rows
        )

    def read(self) -> tuple[tuple[str, str], ...]:
        """Name, and size and hash, of each file; what is not a file is left out.

        >>> Origin(files=["no such file"]).read()
        ()
        """
        paths = [Path(file) for file in self.files]
        return tuple((clean(path.name), _size_and_hash(path)) for path in paths if path.is_file())


def _size_and_hash(path: Path) -> str:
    size = path.stat().st_size
    text = f"{size:,} bytes"
    if size > MOST_BYTES:
        return text
    with path.open("rb") as file:
        return f"{text}, SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def made_of(
    c: Comparison | ManyComparison, call: str, sets: Sequence[SetInfo], origin: Origin
) -> dict[str, Any]:
    """How a comparison was made: the command or the call, with what was not left open; its inputs.

    Versions and the time it took are there, too.
    """
    settings = c.settings
    usual: Mapping[str, Any] = Settings.of().as_dict()
    by_preset = SETTLED_BY_PRESET if settings.get("preset") else ()
    given = [
        f"{clean(key, 40)}={clean(repr(value), 80)}"
        for key, value in settings.items()
        if key not in (*DECIDED, *by_preset) and value != usual.get(key)
    ]
    how = ("Python", f"cospan.{', '.join([call, *given])})")
    if origin.command:
        how = ("Command", clean(origin.command, 2_000))
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in VERSIONS)
    text, d = "{n:,} rows, {d:,} features", c.fitted.n_features
    inputs = tuple((f"{s.key}: {s.name}", text.format(n=s.rows, d=d)) for s in sets)
    made = (
        how,
        ("Versions", f"cospan {c.version}, Python {platform.python_version()}, {versions}"),
        ("Time taken", f"{c.seconds:.1f} s"),
    )
    return {"made": made, "inputs": (*inputs, *origin.read())}
