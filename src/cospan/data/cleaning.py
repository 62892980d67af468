"""The same cleaning behind every reader: take a class, deal with gaps and absurd numbers.

Everything works block by block, so that memory stays bounded whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.text import plural
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, listing
from .values import absurd, all_usual


class Cleaning:
    """One pass over a reader: its blocks as finite float chunks, of uneven size."""

    def __init__(self, reader: Reader, options: Options, size: int, name: str) -> None:
        self._reader, self._options, self._size, self._name = reader, options, size, name
        self._unlabelled: list[Note] = []
        self._means: NDArray[Any] | None = None
        self._gaps = np.zeros(reader.n_features, dtype=np.int64)
        self._absurd = np.zeros(reader.n_features, dtype=np.int64)
        self._gapped = self._dropped = 0

    def chunks(self) -> Iterator[Chunk]:
        given = 0
        for block in self._blocks(self._unlabelled):
            whole = self._reader.clean or block.rows.dtype.kind in "biu"
            chunk = block._replace(rows=block.rows.astype(self._reader.dtype, copy=False))
            if not whole and not all_usual(chunk.rows):
                chunk = self._cleaned(chunk)
            # After the first gap the rest is read only to count: the message names them all.
            if len(chunk.rows) and not self._gapped:
                given += len(chunk.rows)
                yield chunk
        if self._gapped:
            raise InputError(self._complaint())
        if not given:
            raise SourceError(
                f'{self._name}: every row has a missing value, so missing="drop" leaves none.'
            )

    def _blocks(self, notes: list[Note]) -> Iterator[Chunk]:
        return taken(self._reader.blocks(self._size), self._options, self._name, notes)

    def _cleaned(self, chunk: Chunk) -> Chunk:
        missing = self._options.missing
        odd = absurd(chunk.rows)
        self._absurd += odd.sum(axis=0)
        absent = np.isnan(chunk.rows)
        if missing == "drop":
            whole = ~(absent | odd).any(axis=1)
            self._dropped += len(whole) - int(whole.sum())
            return chunk.take(whole)
        if absent.any() and missing != "mean":
            self._gaps += absent.sum(axis=0)
            self._gapped += int(absent.any(axis=1).sum())
            return chunk
        if not (absent | odd).any():
            return chunk
        if self._means is None:
            self._means = self._column_means()
        return chunk._replace(rows=np.where(absent | odd, self._means, chunk.rows))

    def _column_means(self) -> NDArray[Any]:
        """Mean of each column's usual values among the rows taken: one pass."""
        reader = self._reader
        total, count = np.zeros(reader.n_features), np.zeros(reader.n_features, dtype=np.int64)
        odd = np.zeros(reader.n_features, dtype=np.int64)
        for block in self._blocks([]):
            rows = block.rows.astype(reader.dtype, copy=False)
            unusual = absurd(rows)
            odd += unusual.sum(axis=0)
            present = ~(np.isnan(rows) | unusual)
            total += np.where(present, rows, 0).sum(axis=0, dtype=np.float64)
            count += present.sum(axis=0)
        empty = np.flatnonzero((count == 0) & (odd == 0))
        if len(empty):
            columns = listing(list(map(self._called, empty.tolist())))
            raise InputError(
                f"{self._name}: column {columns} has no value at all, so there is no mean to put "
                "in; leave it out with columns=."
            )
        return (total / np.maximum(count, 1)).astype(reader.dtype)

    def _called(self, place: int) -> str:
        names = self._reader.owners or self._reader.feature_names
        return names[place] if names else str(place)

    def _complaint(self, limit: int = 8) -> str:
        counts: dict[str, int] = {}
        for i in np.flatnonzero(self._gaps).tolist():  # a category makes several features
            name = self._called(i)
            counts[name] = max(counts.get(name, 0), int(self._gaps[i]))
        worst = sorted(counts, key=lambda name: -counts[name])
        parts = [f"{name!r} ({counts[name]:,})" for name in worst[:limit]]
        more = f" and {len(worst) - limit:,} more columns" if len(worst) > limit else ""
        table = self._reader.owners is not None
        return (
            f"{self._name}: values are missing in {self._gapped:,} rows, in column "
            f'{", ".join(parts)}{more}; missing="drop" leaves these rows out, missing="mean" puts '
            "in the column's mean"
            + (', missing="indicator" also a feature that says where.' if table else ".")
        )

    def absurd(self) -> dict[str, int]:
        """How many absurd values each column had."""
        return {self._called(int(i)): int(self._absurd[i]) for i in np.flatnonzero(self._absurd)}

    def notes(self, given: int) -> list[Note]:
        """What the pass met, of which `given` rows are left."""
        found = list(self._unlabelled)
        if self._dropped:
            said = "rows have" if self._dropped > 1 else "rows has"
            was = "were" if self._dropped > 1 else "was"
            whole = given + self._dropped
            text = f"{self._dropped:,} of {whole:,} {said} a missing value and {was} left out."
            found.append(Note("rows left out", f"{self._name}: {text}"))
        return found


def taken(
    blocks: Iterable[Any], options: Options, name: str, notes: list[Note] | None = None
) -> Iterator[Any]:
    """Blocks with only the rows of the class asked for, or with complete labels."""
    value = options.label_value
    others: set[Any] = set()
    rows = kept = bare = 0
    for block in blocks:
        rows += len(block.ids)
        if block.labels is not None:
            unlabelled = _unlabelled(block.labels)
            if value is not None:
                mask = matches(block.labels, value)
                if not kept and not mask.any():
                    others.update(np.unique(block.labels[~unlabelled]).tolist())
                block = (block if mask.all() else block.take(mask))._replace(labels=None)
            elif unlabelled.any():
                if options.missing == "error":
                    raise InputError(
                        f"{name}: {plural(int(unlabelled.sum()), 'row')} without a label, the "
                        f"first of them {block.ids[unlabelled][0]}; label them, or leave out "
                        'missing="error".'
                    )
                bare += int(unlabelled.sum())
                block = block.take(~unlabelled)
                block = block._replace(labels=np.array(block.labels.tolist()))
        kept += len(block.ids)
        if len(block.ids):
            yield block
    if not rows:
        raise SourceError(f"{name}: has no rows.")
    if not kept and value is not None:
        known = listing(sorted(others, key=str), 20)
        raise InputError(f"{name}: no row has the label {value!r}; the labels there are {known}.")
    if not kept:
        raise SourceError(f"{name}: no row has a label.")
    if bare and options.missing != "drop" and notes is not None:
        said = "have no label and are" if bare > 1 else "has no label and is"
        notes.append(Note("no label", f"{name}: {plural(bare, 'row')} {said} left out.", loud=True))


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


def _unlabelled(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind == "O":
        return np.array([x is None or x != x for x in labels.tolist()], dtype=bool)
    return np.zeros(len(labels), bool)


def even(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    """The same rows in chunks of `size`, the last one shorter."""
    pieces: list[Chunk] = []
    filled = 0
    for chunk in chunks:
        start = 0
        while start < len(chunk.ids):
            piece = chunk.take(slice(start, start + size - filled))
            start += len(piece.ids)
            filled += len(piece.ids)
            pieces.append(piece)
            if filled == size:
                yield joined(pieces)
                pieces, filled = [], 0
    if pieces:
        yield joined(pieces)


def joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    columns = zip(*chunks, strict=True)
    whole: Any = (None if column[0] is None else np.concatenate(column) for column in columns)
    return Chunk(*whole)


def classes_in(blocks: Iterable[Any]) -> list[Any]:
    """The different labels of some blocks, sorted as text."""
    values: set[Any] = set()
    for block in blocks:
        if block.labels is not None:
            values.update(np.unique(block.labels).tolist())
    return sorted(values, key=str)
