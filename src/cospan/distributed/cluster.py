"""A scheduler of Dask's to send work to, and files that its workers read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cospan.errors import InputError, MissingDependencyError

__all__ = ["on_cluster", "read_lazily"]


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
