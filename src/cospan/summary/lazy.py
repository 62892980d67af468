"""Summaries of Dask collections, merged in a tree on the workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cospan._validate import feature_names_of
from cospan.errors import InputError
from cospan.summary.blocks import (
    block_classes,
    block_summary,
    first_rows,
    labelled_blocks,
    merged,
    merged_classes,
    reduced,
    row_blocks,
    split,
)
from cospan.summary.builder import SummaryOptions
from cospan.summary.summary import Summary


def summary_of(X: Any, sample_weight: Any, options: SummaryOptions) -> Summary:
    """Summary of a Dask array or dataframe, as :meth:`cospan.Summary.of` has it.

    The blocks' own summaries merge on the workers, so that the whole never comes together; only
    the last merged summary comes here.

    Examples
    --------
    >>> import dask.array as da
    >>> from cospan import Summary
    >>> X = np.arange(24.0).reshape(12, 2) ** 2
    >>> Summary.of(da.from_array(X, chunks=(5, 2)))
    Summary(12 rows, 2 features, exact)
    """
    import dask

    name = options.name
    blocks = row_blocks(X, name)
    weights = split(sample_weight, blocks, "sample_weight")
    names = feature_names_of(X)
    numbers = None if options.first_row is None else first_rows(X, blocks)
    leaf = dask.delayed(block_summary, pure=False)
    found: Summary | None = reduced(
        [
            leaf(block, weight, names, _of_block(options, i, len(blocks), numbers))
            for i, (block, weight) in enumerate(zip(blocks, weights, strict=True))
        ],
        merged,
    )
    if found is None:
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    return found


def class_summaries(
    X: Any,
    labels: np.ndarray,
    sample_weight: Any = None,
    *,
    exact: bool = True,
    sample_size: int = 2000,
) -> dict[Any, Summary]:
    """Summaries of the rows of each class, in one pass over the blocks.

    `labels` holds one label per row, on the host: they are small beside the rows.
    """
    import dask

    options = SummaryOptions(exact=exact, sample_size=sample_size)
    names = feature_names_of(X)
    leaf = dask.delayed(block_classes, pure=False)
    parts = enumerate(labelled_blocks(X, labels, sample_weight))
    found: dict[Any, Summary] = reduced(
        [leaf(*part, names, options._replace(seed=i)) for i, part in parts], merged_classes
    )
    return found


def _of_block(
    options: SummaryOptions, i: int, n_blocks: int, numbers: list[int] | None
) -> SummaryOptions:
    """Draws of its own for each block, and a name: the rows that messages count are its own."""
    if n_blocks > 1:
        options = options._replace(name=f"{options.name} (block {i} of {n_blocks}, from 0)")
    if numbers is None or options.first_row is None:
        return options._replace(seed=options.seed + i)
    return options._replace(first_row=options.first_row + numbers[i])
