"""The scatter of a profile's features in a file: no zeros, and of wide data only a factor.

Features that never vary (the indicators of columns without gaps, for one) have none. With fewer
rows than features the rest is Fᵀ F with as many rows in F as there are rows, or fewer, by a pivoted
Cholesky decomposition of the correlations: ten rows of a thousand columns take eighty kilobytes
and not four megabytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.errors import ModelFileError
from cospan.monitoring.entries import Entries
from cospan.summary import Summary

__all__ = ["read_scatter", "scatter_parts"]


def scatter_parts(summary: Summary) -> dict[str, NDArray[Any]]:
    """The scatter as tensors."""
    scatter = np.asarray(summary.scatter_about())
    varying = np.flatnonzero(np.diag(scatter) > 0)
    inner = scatter[np.ix_(varying, varying)]
    places = {"scatter.varying": varying.astype(np.int64)}
    if summary.count < len(varying):
        factor = _factor(inner)
        if 2 * len(factor) < len(inner):
            return places | {"scatter.factor": factor}
    return places | {"scatter": inner[np.triu_indices(len(inner))]}


def _factor(scatter: Floats) -> Floats:
    """F with Fᵀ F = scatter, with as few rows as its rank.

    Of the correlations, since a tolerance relative to the largest variance would lose the
    features with small units.
    """
    from scipy.linalg.lapack import dpstrf

    unit = np.sqrt(np.diag(scatter))
    triangle, order, rank, _ = dpstrf(scatter / unit / unit[:, None])
    factor = np.zeros((rank, len(unit)))
    factor[:, order - 1] = np.triu(triangle)[:rank]
    return np.asarray(factor * unit)


def read_scatter(read: Entries, d: int) -> Floats:
    """The scatter of a file's `d` features."""
    varying = read.whole("scatter.varying", "varying", least=0, below=d)
    if np.any(np.diff(varying) <= 0):
        raise ModelFileError("The file's array 'scatter.varying' is out of its range.")
    m = len(varying)
    if "scatter.factor" in read.tensors:
        factor = read.floats("scatter.factor", "rows", m)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            inner = factor.T @ factor
    else:
        upper = np.triu_indices(m)
        inner = np.zeros((m, m))
        inner[upper] = read.floats("scatter", len(upper[0]))
        inner = inner + np.triu(inner, 1).T
    if np.any(np.diag(inner) < 0) or not np.isfinite(inner).all():
        raise ModelFileError("The file's scatter is out of its range.")
    scatter = np.zeros((d, d))
    scatter[np.ix_(varying, varying)] = inner
    return scatter
