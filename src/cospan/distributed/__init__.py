"""Dask collections: summaries by a tree of merges on the workers, angles where the rows are.

Nothing but summaries travels: a factor of d × d numbers for each block of rows, merged in pairs
or fours until one is left. Scoring sends the frame to every block once and leaves the angles
there, as lazy arrays or as files that the workers write. Every task is a pure function of its
block, so a scheduler that loses a worker computes its share again elsewhere.

Any scheduler of Dask serves: threads, processes, or a ``distributed.Client`` on a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan import _arrays as arrays
from cospan._files import whole_file
from cospan._validate import as_option, feature_names_of
from cospan.alignment import Alignment
from cospan.distributed.blocks import (
    block_classes,
    block_summary,
    merged,
    merged_classes,
    reduced,
    row_blocks,
    split,
)
from cospan.errors import InputError, MissingDependencyError
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.frame import JointFrame

__all__ = [
    "align",
    "class_summaries",
    "left_out",
    "on_cluster",
    "read_lazily",
    "summary_of",
    "write_scores",
]

# Columns of a scored block: what an Alignment holds, side by side.
_COLUMNS = ("theta", "cost_a", "cost_b", "share_a", "share_shared", "share_b", "outside")


def summary_of(
    X: Any,
    sample_weight: Any = None,
    *,
    exact: bool = True,
    rank: int | None = None,
    sample_size: int = 2000,
    seed: int = 0,
    name: str = "X",
) -> Summary:
    """Summary of a Dask array or dataframe, as :meth:`cospan.Summary.of` has it.

    The blocks' own summaries merge on the workers, so that the whole never comes together; only
    the last merged summary comes here.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from cospan import Summary
    >>> X = np.arange(24.0).reshape(12, 2) ** 2
    >>> Summary.of(da.from_array(X, chunks=(5, 2)))
    Summary(12 rows, 2 features, exact)
    """
    import dask

    blocks = row_blocks(X, name)
    weights = split(sample_weight, blocks, "sample_weight")
    options = {"exact": exact, "rank": rank, "sample_size": sample_size, "name": name}
    names = feature_names_of(X)
    leaf = dask.delayed(block_summary, pure=False)
    found: Summary | None = reduced(
        [
            leaf(block, weight, names, seed + i, {**options, "name": _of_block(name, i, blocks)})
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

    `labels` holds one label a row, on the host: they are small beside the rows.
    """
    import dask

    blocks = row_blocks(X, "X")
    options = {"exact": exact, "sample_size": sample_size, "name": "X"}
    names = feature_names_of(X)
    leaf = dask.delayed(block_classes, pure=False)
    parts = zip(
        blocks,
        split(labels, blocks, "y"),
        split(sample_weight, blocks, "sample_weight"),
        strict=True,
    )
    found: dict[Any, Summary] = reduced(
        [leaf(*part, names, i, options) for i, part in enumerate(parts)], merged_classes
    )
    return found


def align(frame: JointFrame, Z: Any, *, weighting: str = "cost") -> Alignment:
    """:meth:`cospan.JointFrame.align` of a Dask collection: an Alignment of lazy arrays."""
    return _lazy_alignment(frame, Z, weighting, None)


def left_out(frame: JointFrame, X: Any, side: str, *, weighting: str = "cost") -> Alignment:
    """:meth:`cospan.JointFrame.left_out` of a Dask collection: an Alignment of lazy arrays."""
    return _lazy_alignment(frame, X, weighting, as_option(side, "side", ("A", "B")))


def write_scores(
    frame: JointFrame,
    Z: Any,
    folder: str | Path,
    *,
    weighting: str = "cost",
    side: str | None = None,
) -> list[Path]:
    """Score a Dask collection and have the workers write the angles to Parquet files.

    Parameters
    ----------
    frame : JointFrame
    Z : Dask array or dataframe
    folder : path
        Every worker must reach it under this name. One file a block, ``part-00000.parquet`` and
        so on, with the columns row (number within the block), theta (degrees), cost_a, cost_b,
        share_a, share_shared, share_b, outside, relational.
    weighting : {"cost", "frame"}
    side : {"A", "B"}, optional
        For rows the frame was fitted to: leave each out of its own side.

    Returns
    -------
    list of Path
        The files, in the order of the blocks.
    """
    import dask

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    blocks = row_blocks(Z, "Z")
    _refuse_left_behind(folder, len(blocks))
    shared = dask.delayed(_without_left_factors(frame))
    write = dask.delayed(_write_block, pure=False)
    written = [
        write(shared, block, i, weighting, side, str(folder / f"part-{i:05d}.parquet"))
        for i, block in enumerate(blocks)
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


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Inside the block, Dask's work goes to the scheduler at `address` (None: stays here)."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "A Dask scheduler needs the package distributed; install cospan[dask]."
        ) from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {address} ({error}); give it as tcp://host:port."
        ) from error
    with client:
        yield


def read_lazily(path: str | Path) -> Any:
    """A Dask dataframe of Parquet or CSV files that every worker can read at `path`.

    Parameters
    ----------
    path : str or Path
        A file, a folder of Parquet files, or a pattern such as ``"data/*.csv"``.
    """
    try:
        import dask.dataframe as dd
    except ImportError:
        raise MissingDependencyError(
            "Reading files by Dask workers needs dask; install cospan[dask]."
        ) from None

    text = str(path)
    if text.endswith((".csv", ".csv.gz")):
        return dd.read_csv(text)
    if text.endswith((".parquet", ".pq")) or Path(text).is_dir():
        return dd.read_parquet(text)
    raise InputError(
        f"{text}: Dask workers read Parquet and CSV files only; convert it to Parquet."
    )


def _of_block(name: str, number: int, blocks: list[Any]) -> str:
    """What messages call a block: the rows they count are those of the block."""
    return name if len(blocks) == 1 else f"{name} (block {number} of {len(blocks)}, from 0)"


# ---- scoring ----------------------------------------------------------------------------------


def _without_left_factors(frame: JointFrame) -> JointFrame:
    """The frame without U and V, which scoring does not need and which have the data's length."""
    return replace(frame, U=None, V=None)


def _scored(frame: JointFrame, block: Any, weighting: str, side: str | None) -> Alignment:
    if side is None:
        found: Alignment = frame.align(block, weighting=weighting)
        return found
    return frame.left_out(block, side, weighting=weighting)


def _score_table(
    block: Any, frame: JointFrame, weighting: str, side: str | None, block_id: tuple[int, ...]
) -> np.ndarray:
    """A block's alignment as columns; Dask itself says which block it is."""
    try:
        found = _scored(frame, block, weighting, side)
    except InputError as error:  # the rows it counts are those of the block
        raise InputError(f"Block {block_id[0]} (from 0): {error}") from None
    shares = arrays.to_numpy(found.shares)
    columns = [found.theta, found.cost_a, found.cost_b, *shares.T, found.outside, found.relational]
    return np.column_stack([arrays.to_numpy(column).astype(np.float64) for column in columns])


def _lazy_alignment(frame: JointFrame, Z: Any, weighting: str, side: str | None) -> Alignment:
    import dask

    as_option(weighting, "weighting", ("cost", "frame"))
    rows = _as_array(Z, frame)
    table = rows.map_blocks(
        _score_table,
        frame=dask.delayed(_without_left_factors(frame)),  # once in the graph, not once a block
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


def _as_array(Z: Any, frame: JointFrame) -> Any:
    """A Dask array with all columns in each block, checked against the frame."""
    names = feature_names_of(Z)
    if names is not None:
        if frame.feature_names not in (None, names):
            raise InputError(
                "Z's columns are not the frame's, or in another order; "
                "pass the features the frame was fitted to."
            )
        Z = Z.to_dask_array()
    if Z.ndim != 2 or Z.shape[1] != frame.n_features:
        raise InputError(
            f"Z has shape {Z.shape} where rows of {frame.n_features} features are expected."
        )
    return Z if Z.numblocks[1] == 1 else Z.rechunk({1: -1})


def _write_block(
    frame: JointFrame, block: Any, number: int, weighting: str, side: str | None, path: str
) -> str:
    """Score a block and write its file; a file that is there is whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = _score_table(block, frame, weighting, side, (number,))
    columns: dict[str, np.ndarray] = {"row": np.arange(len(table))}
    columns |= {name: table[:, i] for i, name in enumerate(_COLUMNS)}
    columns["theta"] = np.rad2deg(columns["theta"])
    columns["relational"] = table[:, -1] > 0
    with whole_file(path) as partial:
        pq.write_table(pa.table(columns), partial)
    return path
