"""Dask collections: angles as lazy arrays or files that the workers write; mapped summaries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan import _arrays as arrays
from cospan._files import whole_file
from cospan._validate import as_rows, as_weights, feature_names_of
from cospan.errors import InputError
from cospan.model.alignment import Alignment, score_table
from cospan.model.curved import mapped_summary
from cospan.model.curves import RowMap
from cospan.summary import Summary
from cospan.summary.lazy import (
    by_class,
    first_rows,
    labelled_blocks,
    merged,
    merged_classes,
    reduced,
    row_blocks,
    split,
)

if TYPE_CHECKING:
    from cospan.model.frame import JointFrame


_COLUMNS = 8  # of a scored block: what an Alignment holds, side by side


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
            costs.leave_one_out_costs().settle()
        plain = replace(sent.curve.plain, typicality=None)
        return replace(sent, curve=replace(sent.curve, costs=costs, plain=plain))
    if side is not None:
        sent.leave_one_out_costs().settle()
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


# ---- summaries of mapped rows: the map goes to the rows ---------------------------------------


def lazy_mapped_summary(X: Any, sample_weight: Any, mapping: RowMap) -> Summary:
    """Summary of the rows of a Dask collection, mapped where they are; it keeps no sample."""
    import dask

    blocks = row_blocks(X, "X")
    weights = split(sample_weight, blocks, "sample_weight")
    leaf = dask.delayed(_summary_of_block, pure=False)
    shared = dask.delayed(mapping)  # once in the graph, not once per block
    found: Summary | None = reduced(
        [leaf(block, weight, shared) for block, weight in zip(blocks, weights, strict=True)], merged
    )
    if found is None:
        raise InputError("X has no rows; at least one sample is needed.")
    return found


def _summary_of_block(block: Any, weights: np.ndarray | None, mapping: RowMap) -> Summary | None:
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return mapped_summary(as_rows(block, "X", d=mapping.n_columns), weights, mapping)


def mapped_classes(
    X: Any, labels: np.ndarray, sample_weight: Any, mapping: RowMap
) -> dict[Any, Summary]:
    """The same for the rows of each class."""
    import dask

    parts = labelled_blocks(X, labels, sample_weight)
    leaf, shared = dask.delayed(_classes_of_block, pure=False), dask.delayed(mapping)
    found: dict[Any, Summary] = reduced([leaf(*part, shared) for part in parts], merged_classes)
    return found


def _classes_of_block(
    block: Any, labels: np.ndarray, weights: np.ndarray | None, mapping: RowMap
) -> dict[Any, Summary]:
    rows = as_rows(block, "X", d=mapping.n_columns, allow_empty=True)
    return by_class(rows, labels, weights, lambda X, w: _summary_of_block(X, w, mapping))
