"""Angles of Dask collections: lazy arrays, or files that the workers write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan import _arrays as arrays
from cospan._files import whole_file
from cospan._validate import as_weights, feature_names_of
from cospan.alignment import Alignment
from cospan.errors import InputError
from cospan.summary.lazy import row_blocks, split

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame

# Columns of a scored block: what an Alignment holds, side by side.
_COLUMNS = ("theta", "cost_a", "cost_b", "share_a", "share_shared", "share_b", "outside")


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
        chunks=(rows.chunks[0], (len(_COLUMNS) + 1,)),
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
        so on, with the columns row (number within the block), theta (degrees), cost_a, cost_b,
        share_a, share_shared, share_b, outside, relational.
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
    shared = dask.delayed(_for_workers(frame, side))
    write = dask.delayed(_write_block, pure=False)
    written = [
        write(shared, block, weight, i, weighting, side, str(folder / f"part-{i:05d}.parquet"))
        for i, (block, weight) in enumerate(zip(blocks, weights, strict=True))
    ]
    return [Path(path) for path in dask.compute(*written)]


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


def _score_table(
    block: Any,
    weights: np.ndarray | None,
    frame: JointFrame,
    weighting: str,
    side: str | None,
    number: int,
) -> np.ndarray:
    """A block's alignment as columns."""
    try:
        if side is None:
            found: Alignment = frame.align(block, weighting=weighting)
        else:
            found = frame.left_out(block, side, weighting=weighting, sample_weight=weights)
    except InputError as error:  # the rows it counts are those of the block
        raise InputError(f"Block {number} (from 0): {error}") from None
    shares = arrays.to_numpy(found.shares)
    columns = [found.theta, found.cost_a, found.cost_b, *shares.T, found.outside, found.relational]
    return np.column_stack([arrays.to_numpy(column).astype(np.float64) for column in columns])


def _mapped_block(*parts: Any, block_id: tuple[int, ...], **settings: Any) -> np.ndarray:
    """:func:`_score_table` for `map_blocks`; Dask itself says which block it is."""
    block, weights = parts[0], parts[1][:, 0] if len(parts) > 1 else None
    return _score_table(block, weights, number=block_id[0], **settings)


def _write_block(
    frame: JointFrame,
    block: Any,
    weights: np.ndarray | None,
    number: int,
    weighting: str,
    side: str | None,
    path: str,
) -> str:
    """Score a block and write its file; a file that is there is complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = _score_table(block, weights, frame, weighting, side, number)
    columns: dict[str, np.ndarray] = {"row": np.arange(len(table))}
    columns |= {name: table[:, i] for i, name in enumerate(_COLUMNS)}
    columns["theta"] = np.rad2deg(columns["theta"])
    columns["relational"] = table[:, -1] > 0
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
        return replace(sent, curve=sent.curve.sent(leaving=side is not None))
    if side is not None:
        sent.leaving().settle()
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
