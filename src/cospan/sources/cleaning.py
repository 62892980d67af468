"""The same cleaning behind every reader: take a class, deal with gaps, refuse infinities.

Everything works block by block, so that memory stays bounded whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._text import plural
from cospan._warnings import warn
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, listing


def clean(
    reader: Reader, options: Options, size: int, name: str, dropped: list[int] | None = None
) -> Iterator[Chunk]:
    """The reader's blocks as finite float chunks, of uneven size.

    Numbers of rows left out since a value is missing are appended to `dropped`.
    """
    fill = _column_means(reader, options, size, name) if options.missing == "mean" else None
    gaps = _Gaps(reader.owners or reader.feature_names, reader.n_features, name)
    gaps.encodable = reader.encodable
    given = 0
    for block in taken(reader, options, size, name):
        chunk = block._replace(rows=block.rows.astype(reader.dtype, copy=False))
        if not (reader.finite or _all_finite(chunk.rows)):
            _refuse_infinite(chunk, reader.feature_names, name)
            absent = np.isnan(chunk.rows)
            if fill is not None:
                chunk = chunk._replace(rows=np.where(absent, fill, chunk.rows))
            elif options.missing == "drop":
                whole = ~absent.any(axis=1)
                if dropped is not None:
                    dropped.append(len(whole) - int(whole.sum()))
                chunk = chunk.take(whole)
            else:
                gaps.count(absent)
        # After the first gap the rest is read only to count: the message names them all.
        if len(chunk.rows) and not gaps.found:
            given += len(chunk.rows)
            yield chunk
    gaps.refuse_if_any()
    if not given:
        raise SourceError(f'{name}: every row has a missing value, so missing="drop" leaves none.')


def even(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    """The same rows in chunks of `size`, the last one shorter."""
    shelf = _Shelf(size)
    for chunk in chunks:
        start = 0
        while start < len(chunk.rows):
            piece = chunk.take(slice(start, start + size - shelf.filled))
            start += len(piece.rows)
            shelf.put(piece)
            if shelf.filled == size:
                yield shelf.take()
    if shelf.filled:
        yield shelf.take()


_NOTHING = np.empty((0, 0))


class _Shelf:
    """Room for one chunk. A piece that fills it alone is handed on without a copy."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._pieces: list[Chunk] = []
        self._rows: NDArray[Any] | None = None
        self.filled = 0

    def put(self, piece: Chunk) -> None:
        if self._pieces:
            self._copy(piece)
            piece = piece._replace(rows=_NOTHING)
        self._pieces.append(piece)
        self.filled += len(piece.ids)

    def _copy(self, piece: Chunk) -> None:
        # Each piece is let go as soon as it is copied: two chunks' worth is never held at once.
        if self._rows is None:
            first = self._pieces[0]
            self._rows = np.empty((self._size, first.rows.shape[1]), dtype=first.rows.dtype)
            self._rows[: self.filled] = first.rows
            self._pieces[0] = first._replace(rows=_NOTHING)
        self._rows[self.filled : self.filled + len(piece.rows)] = piece.rows

    def take(self) -> Chunk:
        chunk = self._pieces[0]
        if self._rows is not None:
            chunk = Chunk(self._rows[: self.filled], *_beside(self._pieces))
        self._pieces, self._rows, self.filled = [], None, 0
        return chunk


def joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    return Chunk(np.concatenate([chunk.rows for chunk in chunks]), *_beside(chunks))


def classes_in(blocks: Iterable[Any]) -> list[Any]:
    """The different labels of some blocks, sorted as text."""
    values: set[Any] = set()
    for block in blocks:
        if block.labels is not None:
            values.update(np.unique(block.labels).tolist())
    return sorted(values, key=str)


def _beside(chunks: list[Chunk]) -> tuple[Any, ...]:
    """What lies beside the rows of several chunks."""
    _, *columns = zip(*chunks, strict=True)
    return tuple(None if column[0] is None else np.concatenate(column) for column in columns)


def float_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The float type that rows of `dtype` are given as: float32 stays, integers get float64."""
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    kind = {"c": "complex numbers", "O": "Python objects", "V": "records"}.get(dtype.kind)
    raise InputError(f"{name}: holds {kind or dtype}, and rows of real numbers are needed.")


def matches(labels: NDArray[Any], value: object) -> NDArray[np.bool_]:
    """Which labels are `value`, whether it was given as a number or as text.

    >>> matches(np.array([3, 4, 3]), "3")
    array([ True, False,  True])
    """
    if labels.dtype.kind == "b":
        truth = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
        return np.zeros(len(labels), bool) if truth is None else labels == truth
    if labels.dtype.kind in "iuf":
        try:
            number = float(str(value))
        except ValueError:
            return np.zeros(len(labels), bool)
        return np.asarray(labels == number)
    if labels.dtype.kind == "U":
        return np.asarray(labels == str(value))
    texts = [None if label is None else str(label) for label in labels.tolist()]
    return np.array([text == str(value) for text in texts], dtype=bool)


def taken(reader: Any, options: Options, size: int, name: str) -> Iterator[Any]:
    """Blocks with only the rows of the class asked for, or with complete labels."""
    value = options.label_value
    others: set[Any] = set()
    rows = kept = bare = 0
    for block in reader.blocks(size):
        rows += len(block.rows)
        if block.labels is not None and value is not None:
            mask = matches(block.labels, value)
            if not kept and not mask.any():
                others.update(np.unique(block.labels[~_unlabelled(block.labels)]).tolist())
            block = (block if mask.all() else block.take(mask))._replace(labels=None)
        elif block.labels is not None:
            given = len(block.rows)
            block = _labelled(block, options, name)
            bare += given - len(block.rows)
        kept += len(block.rows)
        if len(block.rows):
            yield block
    if not rows:
        raise SourceError(f"{name}: has no rows.")
    if not kept and value is not None:
        raise InputError(
            f"{name}: no row has the label {value!r}; the labels there are "
            f"{listing(sorted(others, key=str), 20)}."
        )
    if not kept:
        raise SourceError(f"{name}: no row has a label.")
    if bare and options.missing != "drop":
        text = "{name}: {rows} have no label and are left out."
        text = text if bare > 1 else "{name}: {rows} has no label and is left out."
        warn(text.format(name=name, rows=plural(bare, "row")), code="no label")


def _unlabelled(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind == "O":
        return np.array([x is None or x != x for x in labels.tolist()], dtype=bool)
    return np.zeros(len(labels), bool)


def _labelled(block: Any, options: Options, name: str) -> Any:
    """The rows that have a label."""
    labels = block.labels
    if labels is None or labels.dtype.kind not in "fO":
        return block
    bare = _unlabelled(labels)
    if bare.any() and options.missing == "error":
        raise InputError(
            f"{name}: {plural(int(bare.sum()), 'row')} without a label, the first of them "
            f'{block.ids[bare][0]}; label them, or leave out missing="error".'
        )
    block = block.take(~bare)
    if labels.dtype.kind == "O" and block.labels is not None and len(block.labels):
        block = block._replace(labels=np.array(block.labels.tolist()))
    return block


def _all_finite(rows: NDArray[Any]) -> bool:
    # A sum is several times cheaper than a mask, and is finite only if every number is; an
    # overflow of large finite numbers falls back to the mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return True
    return bool(np.isfinite(rows).all())


def _refuse_infinite(chunk: Chunk, names: tuple[str, ...] | None, name: str) -> None:
    where = np.argwhere(np.isinf(chunk.rows))
    if len(where):
        row, column = where[0]
        label = names[column] if names else str(column)
        raise InputError(
            f"{name}: column {label!r} is infinite in row {chunk.ids[row]}; "
            "replace or remove infinite values first."
        )


def _column_means(reader: Reader, options: Options, size: int, name: str) -> NDArray[Any]:
    """Mean of each column's present values among the rows taken: one pass."""
    total = np.zeros(reader.n_features)
    count = np.zeros(reader.n_features, dtype=np.int64)
    for block in taken(reader, options, size, name):
        rows = block.rows.astype(reader.dtype, copy=False)
        _refuse_infinite(block._replace(rows=rows), reader.feature_names, name)
        present = ~np.isnan(rows)
        total += np.where(present, rows, 0).sum(axis=0, dtype=np.float64)
        count += present.sum(axis=0)
    if not count.all():
        empty = np.flatnonzero(count == 0)
        names = [reader.feature_names[i] if reader.feature_names else str(i) for i in empty]
        raise InputError(
            f"{name}: column {listing(names)} has no value at all, so there is no mean to put in; "
            f"leave it out with columns=."
        )
    return (total / count).astype(reader.dtype)


class _Gaps:
    """Counts missing values by column, for one message about all of them."""

    def __init__(self, names: tuple[str, ...] | None, n_features: int, source: str) -> None:
        self._names = names
        self._source = source
        self._by_column = np.zeros(n_features, dtype=np.int64)
        self._rows = 0
        self.encodable = False

    @property
    def found(self) -> bool:
        return self._rows > 0

    def count(self, absent: NDArray[np.bool_]) -> None:
        self._by_column += absent.sum(axis=0)
        self._rows += int(absent.any(axis=1).sum())

    def refuse_if_any(self, limit: int = 8) -> None:
        if not self.found:
            return
        counts: dict[str, int] = {}
        for i in np.flatnonzero(self._by_column).tolist():  # a category makes several features
            name = self._names[i] if self._names else str(i)
            counts[name] = max(counts.get(name, 0), int(self._by_column[i]))
        worst = sorted(counts, key=lambda name: -counts[name])
        parts = [f"{name!r} ({counts[name]:,})" for name in worst[:limit]]
        more = f" and {len(worst) - limit:,} more columns" if len(worst) > limit else ""
        raise InputError(
            f"{self._source}: values are missing in {self._rows:,} rows, in column "
            f'{", ".join(parts)}{more}; missing="drop" leaves these rows out, '
            f'missing="mean" puts in the column\'s mean'
            + (', missing="indicator" also a feature that says where.' if self.encodable else ".")
        )
