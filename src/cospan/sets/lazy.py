"""Summaries of the mapped rows of Dask collections: the map goes to the rows, not the rows here."""

from __future__ import annotations

from typing import Any

import numpy as np

from cospan._validate import as_rows
from cospan.curves import RowMap
from cospan.errors import InputError
from cospan.sets import curved
from cospan.summary import Summary
from cospan.summary.lazy import (
    by_class,
    labelled_blocks,
    merged,
    merged_classes,
    reduced,
    row_blocks,
    split,
)


def mapped_summary(X: Any, sample_weight: Any, mapping: RowMap) -> Summary:
    """Summary of the rows of a Dask collection, mapped where they are; it keeps no sample."""
    import dask

    blocks = row_blocks(X, "X")
    weights = split(sample_weight, blocks, "sample_weight")
    leaf = dask.delayed(_mapped_block, pure=False)
    shared = dask.delayed(mapping)  # once in the graph, not once per block
    found: Summary | None = reduced(
        [leaf(block, weight, shared) for block, weight in zip(blocks, weights, strict=True)], merged
    )
    if found is None:
        raise InputError("X has no rows; at least one sample is needed.")
    return found


def _mapped_block(block: Any, weights: np.ndarray | None, mapping: RowMap) -> Summary | None:
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return curved.mapped_summary(as_rows(block, "X", d=mapping.n_columns), weights, mapping)


def mapped_classes(
    X: Any, labels: np.ndarray, sample_weight: Any, mapping: RowMap
) -> dict[Any, Summary]:
    """The same for the rows of each class."""
    import dask

    parts = labelled_blocks(X, labels, sample_weight)
    leaf, shared = dask.delayed(_mapped_block_classes, pure=False), dask.delayed(mapping)
    found: dict[Any, Summary] = reduced([leaf(*part, shared) for part in parts], merged_classes)
    return found


def _mapped_block_classes(
    block: Any, labels: np.ndarray, weights: np.ndarray | None, mapping: RowMap
) -> dict[Any, Summary]:
    rows = as_rows(block, "X", d=mapping.n_columns, allow_empty=True)
    return by_class(rows, labels, weights, lambda X, w: _mapped_block(X, w, mapping))
