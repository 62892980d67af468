"""Dask collections: blocks of rows, their summaries merged in a tree, their angles where they are.

Everything that knows of Dask's graphs, but for the cluster itself and the reading of tables: the
methods below that meet a collection (`Summary.of`, `JointFrame.align`) hand it up to here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_rows, as_weights, feature_names_of
from cospan.base.files import whole_file
from cospan.errors import InputError
from cospan.model import Alignment, JointFrame, RowMap, mapped_summary, score_table
from cospan.summary import FoldBuilder, FoldedSummary, Summary, SummaryOptions, of_rows

# Summaries merged by one task of the tree.
_FAN_IN = 4
_COLUMNS = 8  # of a scored block: what an Alignment holds, side by side


# ---- blocks -----------------------------------------------------------------------------------


def reduced(parts: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge delayed parts in a tree on the workers; only its root comes here."""
    import dask

    node = dask.delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [node(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return dask.compute(*parts)[0]


def row_blocks(X: Any, name: str) -> list[Any]:
    """One delayed array or dataframe for each block of rows."""
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return list(X.to_delayed())
    if getattr(X, "ndim", None) != 2:
        raise InputError(f"{name} must have two dimensions (rows are samples).")
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed()[:, 0])


def first_rows(X: Any, blocks: Sequence[Any]) -> list[int]:
    """The number of each block's first row: known for arrays, counted by the workers for tables."""
    import dask

    if not hasattr(X, "columns"):
        sizes = X.chunks[0]
        if any(np.isnan(size) for size in sizes):
            sizes = dask.compute(*(dask.delayed(len)(block) for block in blocks))
    else:
        # One column is enough to count by, and Parquet files then give no other.
        narrow = list(X[[X.columns[0]]].to_delayed())
        counted = narrow if len(narrow) == len(blocks) else blocks
        sizes = dask.compute(*(dask.delayed(len)(block) for block in counted))
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def split(values: Any, blocks: Sequence[Any], name: str) -> list[Any]:
    """One value a row, cut into those of each block; None stays None."""
    import dask

    if values is None:
        return [None] * len(blocks)
    if arrays.is_lazy(values):
        values = values.compute()
    sizes = dask.compute(*(dask.delayed(len)(block) for block in blocks))
    values = np.asarray(values)
    if name == "sample_weight":
        values = as_weights(values, sum(sizes))
    if len(values) != sum(sizes):
        raise InputError(f"{name} has {len(values)} entries for {sum(sizes)} rows.")
    return list(np.split(values, np.cumsum(sizes)[:-1]))


# ---- summaries --------------------------------------------------------------------------------


def summary_of(X: Any, sample_weight: Any, options: SummaryOptions) -> Summary:
    """Summary of a Dask array or dataframe, as :meth:`cospan.Summary.of` has it.

    The blocks' own summaries merge on the workers, so that the whole never comes together; only
    the last merged summary comes here.

    >>> import dask.array as da
    >>> from cospan import Summary
    >>> X = np.arange(24.0).reshape(12, 2) ** 2
    >>> Summary.of(da.from_array(X, chunks=(5, 2)))
    Summary(12 rows, 2 features, exact)
    """
    blocks, names = row_blocks(X, options.name), feature_names_of(X)
    numbers = None if options.first_row is None else first_rows(X, blocks)
    each = [_of_block(options, i, len(blocks), numbers) for i in range(len(blocks))]
    arguments = [(names, one) for one in each]
    return _merged_blocks(blocks, sample_weight, options.name, _block_summary, arguments)


def folded_summary_of(X: Any, options: SummaryOptions, n_folds: int) -> FoldedSummary:
    """The same for the folds that the rows are dealt to by their running number."""
    import dask

    blocks, names = row_blocks(X, options.name), feature_names_of(X)
    numbers = first_rows(X, blocks)
    each = [_of_block(options, i, len(blocks), numbers) for i in range(len(blocks))]
    leaf = dask.delayed(_block_folds, pure=False)
    parts = zip(blocks, each, strict=True)
    found: FoldedSummary | None = reduced(
        [leaf(block, names, one, n_folds) for block, one in parts], _merged
    )
    if found is None:
        raise InputError(f"{options.name} has no rows; at least one sample is needed.")
    return found


def mapped_summary_of(X: Any, sample_weight: Any, mapping: RowMap) -> Summary:
    """Summary of the rows of a Dask collection, mapped where they are; it keeps no sample."""
    import dask

    blocks = row_blocks(X, "X")
    shared = dask.delayed(mapping)  # once in the graph, not once per block
    arguments = [(shared,)] * len(blocks)
    return _merged_blocks(blocks, sample_weight, "X", _mapped_block_summary, arguments)


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
    options, names = SummaryOptions(exact=exact, sample_size=sample_size), feature_names_of(X)
    blocks = row_blocks(X, "X")
    arguments = [(names, options._replace(seed=i)) for i in range(len(blocks))]
    return _merged_classes(blocks, labels, sample_weight, _block_summary, arguments)


def mapped_classes(
    X: Any, labels: np.ndarray, sample_weight: Any, mapping: RowMap
) -> dict[Any, Summary]:
    """The same for rows that go through a map."""
    import dask

    blocks = row_blocks(X, "X")
    arguments = [(dask.delayed(mapping),)] * len(blocks)
    return _merged_classes(blocks, labels, sample_weight, _mapped_block_summary, arguments)


def _merged_blocks(
    blocks: Sequence[Any],
    sample_weight: Any,
    name: str,
    make: Callable[..., Summary | None],
    arguments: Sequence[tuple[Any, ...]],
) -> Summary:
    """What `make` makes of every block and its weights, merged."""
    import dask

    leaf = dask.delayed(make, pure=False)
    parts = zip(blocks, split(sample_weight, blocks, "sample_weight"), arguments, strict=True)
    found: Summary | None = reduced([leaf(block, w, *more) for block, w, more in parts], _merged)
    if found is None:
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    return found


def _merged_classes(
    blocks: Sequence[Any],
    labels: np.ndarray,
    sample_weight: Any,
    make: Callable[..., Summary | None],
    arguments: Sequence[tuple[Any, ...]],
) -> dict[Any, Summary]:
    """The same for the rows of each class."""
    import dask

    leaf = dask.delayed(_block_classes, pure=False)
    weights = split(sample_weight, blocks, "sample_weight")
    parts = zip(blocks, split(labels, blocks, "y"), weights, arguments, strict=True)
    found: dict[Any, Summary] = reduced(
        [leaf(block, own, w, make, *more) for block, own, w, more in parts], _merged_by_class
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


def _block_summary(
    block: Any, weights: np.ndarray | None, names: tuple[str, ...] | None, options: SummaryOptions
) -> Summary | None:
    """Summary of one block; None if it has no rows, or none that count."""
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return replace(of_rows(block, weights, options), feature_names=names)


def _block_folds(
    block: Any, names: tuple[str, ...] | None, options: SummaryOptions, n_folds: int
) -> FoldedSummary | None:
    if len(block) == 0:
        return None
    builder = FoldBuilder(options, n_folds, feature_names=names)
    builder.take(block)
    return builder.finish()


def _mapped_block_summary(
    block: Any, weights: np.ndarray | None, mapping: RowMap
) -> Summary | None:
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return mapped_summary(as_rows(block, "X", d=mapping.n_columns), weights, mapping)


def _block_classes(
    block: Any,
    labels: np.ndarray,
    weights: np.ndarray | None,
    make: Callable[..., Summary | None],
    *more: Any,
) -> dict[Any, Summary]:
    """What `make` makes of the rows of each class, where it makes anything."""
    rows = as_rows(block, "X", allow_empty=True)
    found = {}
    for label in np.unique(labels).tolist():
        own = np.flatnonzero(labels == label)
        weight = None if weights is None else weights[own]
        summary = make(arrays.pick(rows, own), weight, *more)
        if summary is not None:
            found[label] = summary
    return found


def _merged(parts: list[Any]) -> Any:
    found = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def _merged_by_class(parts: list[dict[Any, Summary]]) -> dict[Any, Summary]:
    found: dict[Any, Summary] = {}
    for part in parts:
        for label, summary in part.items():
            found[label] = found[label] + summary if label in found else summary
    return found


# ---- angles -----------------------------------------------------------------------------------


def aligned(
    frame: JointFrame, X: Any, weighting: str, side: str | None = None, sample_weight: Any = None
) -> Alignment:
    """Angles of a Dask collection, of rows of a side left out of it, as lazy arrays."""
    import dask

    rows = _as_array(X, frame, side or "Z")
    weights = () if sample_weight is None else (_weights_like(rows, sample_weight, str(side)),)
    table = rows.map_blocks(
        _mapped_block,
        *weights,
        frame=dask.delayed(_for_workers(frame, side)),  # once in the graph, not once per block
        weighting=weighting,
        side=side,
        chunks=(rows.chunks[0], (_COLUMNS,)),
        meta=np.empty((0, 0)),
    )
    return Alignment(
        theta=table[:, 0],
        cost_a=table[:, 1],
        cost_b=table[:, 2],
        shares=table[:, 3:6],
        outside=table[:, 6],
        relational=table[:, 7] > 0,
        weighting=weighting,
        typicality=frame.typicality if weighting == "cost" else None,
    )


def write_scores(
    frame: JointFrame,
    Z: Any,
    folder: str | Path,
    *,
    weighting: str = "cost",
    side: str | None = None,
    sample_weight: Any = None,
) -> list[Path]:
    """Score a Dask collection and have the workers write the angles to Parquet files.

    Parameters
    ----------
    frame : JointFrame
    Z : Dask array or dataframe
    folder : path
        Every worker must reach it under this name. One file per block, ``part-00000.parquet`` and
        so on, with the columns that :meth:`cospan.Comparison.to_frame` has: in "set" the side, or
        Z; in "id" the index of a dataframe, else the number of the row.
    weighting : {"cost", "frame"}
    side : {"A", "B"}, optional
        For rows the frame was fitted to: leave each out of its own side.
    sample_weight : array-like, optional
        With `side`: the weights used in fitting.

    Returns
    -------
    list of Path
        The files, in the order of the blocks.
    """
    import dask

    if sample_weight is not None and side is None:
        raise InputError("sample_weight belongs to rows that are left out; give their side too.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    blocks = row_blocks(Z, "Z")
    weights = split(sample_weight, blocks, "sample_weight")
    _refuse_left_behind(folder, len(blocks))
    first = [0] * len(blocks) if hasattr(Z, "columns") else first_rows(Z, blocks)
    sent = replace(_for_workers(frame, side), typicality=frame.typicality)
    shared = dask.delayed(sent)
    write = dask.delayed(_write_block, pure=False)
    written = [
        write(shared, block, weight, i, n, weighting, side, folder / f"part-{i:05d}.parquet")
        for i, (block, weight, n) in enumerate(zip(blocks, weights, first, strict=True))
    ]
    return list(dask.compute(*written))


def _refuse_left_behind(folder: Path, n_blocks: int) -> None:
    """Files of an earlier run of more blocks would be read as part of this one."""
    new = {f"part-{i:05d}.parquet" for i in range(n_blocks)}
    left = sorted(path.name for path in folder.glob("part-*.parquet") if path.name not in new)
    if left:
        raise InputError(
            f"{folder} holds {left[0]} of an earlier run, which this one of {n_blocks} blocks "
            "would not replace; empty the folder, or give another."
        )


# ---- on the workers ---------------------------------------------------------------------------


def _scored(
    block: Any,
    weights: np.ndarray | None,
    frame: JointFrame,
    weighting: str,
    side: str | None,
    number: int,
) -> Alignment:
    """A block's alignment."""
    try:
        if side is None:
            found: Alignment = frame.align(block, weighting=weighting)
            return found
        return frame.left_out(block, side, weighting=weighting, sample_weight=weights)
    except InputError as error:  # the rows it counts are those of the block
        raise InputError(f"Block {number} (from 0): {error}") from None


def _mapped_block(*parts: Any, block_id: tuple[int, ...], **settings: Any) -> np.ndarray:
    """A block's alignment as columns, for `map_blocks`; Dask itself says which block it is."""
    block, weights = parts[0], parts[1][:, 0] if len(parts) > 1 else None
    found = _scored(block, weights, number=block_id[0], **settings)
    shares = arrays.to_numpy(found.shares)
    columns = [found.theta, found.cost_a, found.cost_b, *shares.T, found.outside, found.relational]
    return np.column_stack([arrays.to_numpy(column).astype(np.float64) for column in columns])


def _write_block(
    frame: JointFrame,
    block: Any,
    weights: np.ndarray | None,
    number: int,
    first: int,
    weighting: str,
    side: str | None,
    path: Path,
) -> Path:
    """Score a block and write its file; a file that is there is complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = _scored(block, weights, frame, weighting, side, number)
    index = getattr(block, "index", None)
    ids = first + np.arange(len(found)) if index is None else np.asarray(index)
    own = None if side is None else np.full(len(found), "AB".index(side), dtype=np.intp)
    columns = score_table(found, side or "Z", ids, own)
    with whole_file(path) as partial:
        pq.write_table(pa.table(columns), partial)
    return path


# ---- here -------------------------------------------------------------------------------------


def _for_workers(frame: JointFrame, side: str | None) -> JointFrame:
    """The frame as it is sent: without what is as long as the data (U, V, the sorted costs).

    For rows to be left out, with the decompositions that takes, so that no worker repeats them.
    """
    sent = replace(frame, U=None, V=None, typicality=None)
    if sent.curve is not None:
        costs = replace(sent.curve.costs, typicality=None)
        if side is not None:
            costs.leave_one_out_costs.settle()
        plain = replace(sent.curve.plain, typicality=None)
        return replace(sent, curve=replace(sent.curve, costs=costs, plain=plain))
    if side is not None:
        sent.leave_one_out_costs.settle()
    return sent


def _as_array(Z: Any, frame: JointFrame, name: str) -> Any:
    """A Dask array with all columns in each block, checked against the frame."""
    names = feature_names_of(Z)
    if names is not None:
        if frame.feature_names not in (None, names):
            raise InputError(
                f"{name}'s columns are not the frame's, or in another order; "
                "pass the features the frame was fitted to."
            )
        Z = Z.to_dask_array()
    if Z.ndim != 2 or Z.shape[1] != frame.n_features:
        raise InputError(
            f"{name} has shape {Z.shape} where rows of {frame.n_features} features are expected."
        )
    return Z if Z.numblocks[1] == 1 else Z.rechunk({1: -1})


def _weights_like(rows: Any, sample_weight: Any, name: str) -> Any:
    """Weights as a lazy column, cut into blocks as the rows are."""
    import dask.array as da

    if np.isnan(rows.shape[0]):
        raise InputError(
            f"How many rows each block of {name} has is not known yet, so weights cannot be "
            f"matched to them; pass {name}.to_dask_array(lengths=True), or call "
            "compute_chunk_sizes() on the array."
        )
    weights = sample_weight.compute() if arrays.is_lazy(sample_weight) else sample_weight
    column = as_weights(weights, rows.shape[0])[:, None]
    return da.from_array(column, chunks=(rows.chunks[0], (1,)))
