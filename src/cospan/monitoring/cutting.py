"""Sources become windows: here, or by the workers where the rows are a Dask dataframe.

Every partition is encoded and cut into windows where it is; windows of several partitions merge in
a tree, and only its root comes here: a summary for each window, whatever the number of rows.
Windows counted in rows go on from one partition to the next, and times given as an array belong to
the rows in their order: those are read here, one partition at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cospan._warnings import Remark, heard, warn
from cospan.data import EncodingPlan, Source, Table
from cospan.monitoring.reading import check_columns, timed_rows
from cospan.monitoring.timing import Every
from cospan.monitoring.windows import Passed, Windows, cut, finished, gathered

#: Partitions merged by one task.
FAN_IN = 4
#: Every partition may have the same to say.
MOST_REMARKS = 5


def windows_of(
    sources: Sequence[Source | Table],
    plan: EncodingPlan | None,
    time: Any,
    every: Every,
    *,
    seed: int = 0,
    name: str = "data",
    passed: Passed | None = None,
) -> Windows:
    """All rows of the sources as windows, in one pass; `passed` is as in `windows.cut`."""
    apart: list[Any] = [getattr(source, "partitions", None) for source in sources]
    if plan is None or not every.timed or not isinstance(time, str) or None in apart:
        blocks = timed_rows(sources, plan, time, bare=True)
        width = 0 if plan is None else plan.n_features
        return cut(blocks, every, seed=seed, name=name, width=width, passed=passed)
    for source in sources:
        check_columns(source, plan)  # before the workers begin
    columns = list(dict.fromkeys([*plan.inputs, time]))
    parts = [part for partitions in apart for part in partitions(columns)]
    found, remarks = _by_workers(parts, plan, time, every, seed, name)
    for remark in list(dict.fromkeys(remarks))[:MOST_REMARKS]:
        warn(remark)
    return finished(found, name)


def _by_workers(
    parts: Sequence[Any], plan: EncodingPlan, time: str, every: Every, seed: int, name: str
) -> tuple[Windows, list[Remark]]:
    import dask

    leaf, node = dask.delayed(_cut, pure=False), dask.delayed(_merged, pure=False)
    tasks = [leaf(part, plan, time, every, seed, name) for part in parts]
    while len(tasks) > 1:
        tasks = [node(tasks[i : i + FAN_IN]) for i in range(0, len(tasks), FAN_IN)]
    found: tuple[Windows, list[Remark]] = dask.compute(tasks[0])[0]
    return found


def _cut(
    part: Any, plan: EncodingPlan, time: str, every: Every, seed: int, name: str
) -> tuple[Windows, list[Remark]]:
    """The windows of one partition, and what was remarked; called on a worker."""
    from cospan.data.lazy import local_table

    with heard() as remarks:
        blocks = timed_rows([local_table(part, name)], plan, time, bare=True) if len(part) else ()
        found = gathered(blocks, every, seed=seed, width=plan.n_features)
    return found, remarks


def _merged(parts: list[tuple[Windows, list[Remark]]]) -> tuple[Windows, list[Remark]]:
    first, remarks = parts[0]
    for other, more in parts[1:]:
        first.merge(other)
        remarks = [*remarks, *more]
    return first, remarks
