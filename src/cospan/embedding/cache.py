"""Embeddings on disk, found again by the model's and the text's content.

One SQLite file: written in transactions, so that a killed process leaves it whole, and read by
several processes. It holds digests and numbers, never a text.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def default_cache() -> Path:
    """``COSPAN_CACHE``, or the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("COSPAN_CACHE") or Path(home) / "cospan") / "embeddings.sqlite"


class EmbeddingCache:
    """Rows that were computed before, in a file in the user's cache folder (or ``COSPAN_CACHE``).

    A file that cannot be used is a cache that stays empty: embeddings are then computed each time.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = EmbeddingCache(Path(folder) / "rows.sqlite")
    ...     cache.put("model", [b"a text"], np.array([[1.0, 2.0]], dtype=np.float32))
    ...     cache.get("model", [b"a text", b"another"])
    [array([1., 2.], dtype=float32), None]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_cache() if path is None else Path(path)

    def get(self, model: str, items: Sequence[bytes]) -> list[Rows | None]:
        """The rows that are known, None for the others."""
        keys = [_digest(model, item) for item in items]
        known: dict[bytes, bytes] = {}
        try:
            with _opened(self.path) as base:
                for start in range(0, len(keys), 500):
                    part = keys[start : start + 500]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT key, row FROM rows WHERE key IN ({marks})"
                    known.update(base.execute(query, part))
        except (sqlite3.Error, OSError):
            return [None] * len(items)
        return [_row(known.get(k)) for k in keys]

    def put(self, model: str, items: Sequence[bytes], rows: Rows) -> None:
        """Remember rows, one for each item."""
        values = [
            (_digest(model, item), np.ascontiguousarray(row, dtype="<f4").tobytes())
            for item, row in zip(items, rows, strict=True)
        ]
        try:
            with _opened(self.path) as base:
                base.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", values)
                base.commit()
        except (sqlite3.Error, OSError):
            return  # a cache that cannot be written is no reason to fail


def _row(stored: object) -> Rows | None:
    """A row as it was stored; None for anything else, as if it were not there."""
    if not isinstance(stored, bytes) or not stored or len(stored) % 4:
        return None
    found = np.frombuffer(stored, dtype="<f4")
    return found if np.isfinite(found).all() else None


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that is closed again; `sqlite3`'s own context manager leaves it open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")  # SQLite would wait for a pipe
    with closing(sqlite3.connect(path, timeout=10)) as base:
        base.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB)")
        # Views and triggers are programs, which need not end; ours has none.
        query = "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"
        if base.execute(query).fetchone()[0]:
            raise sqlite3.DatabaseError("not a cache of cospan's")
        yield base


def _digest(model: str, item: bytes) -> bytes:
    return hashlib.sha256(model.encode() + b"\0" + item).digest()
