"""An alarm for rows that come one by one, valid at any time: conformal test martingales.

- Rows of the reference are set aside, drawn at random, for calibration; the scorer (means,
  covariance) is made of the others. As long as nothing changes, the rows of the stream and those
  set aside are exchangeable, and any score ranks them fairly.
- Scores: what a row costs the reference, and its value in each feature. The rank of a row's score
  among the rows set aside and all earlier rows of the stream, ties broken at random, is a p-value;
  the p-values of a score are independent and uniform, exactly, for any number of rows set aside.
  Scores are rounded to a fixed grid, so that memory does not grow with the stream.
- Bets are placed on each score's p-values (`martingale`); an alarm is raised where one of the K
  capitals reaches K/level.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import LEAST_COST, NOT_ZERO
from cospan._types import Floats
from cospan._validate import as_count, as_seed
from cospan.data import EncodingPlan, encode
from cospan.errors import InputError
from cospan.monitoring.choosing import varying
from cospan.monitoring.cost import Cost
from cospan.monitoring.martingale import Bettors
from cospan.monitoring.moments import without_rows
from cospan.monitoring.reading import full_plan, opened, timed_rows
from cospan.monitoring.timing import Every
from cospan.monitoring.windows import cut
from cospan.summary import Summary

Cells = NDArray[np.intp]

#: Rows of the reference that are set aside: at most these, and at most half of it.
CALIBRATION_ROWS = 1_000
#: Cells of the grid that scores are rounded to, and its ends (of the inverse hyperbolic sine).
CELLS = 2_048
REACH = 12.0
#: Rows ranked together.
BLOCK = 64
_SHRINKAGE = 0.01


class SequentialAlarm:
    """Watches a stream of rows; the chance of ever raising a false alarm is at most `level`.

    Make one with :meth:`of`, feed it with :meth:`update`.

    Attributes
    ----------
    level : float
    rows : int
        Rows seen so far.
    alarm_at : int or None
        The row of the stream, counted from 1, at which the alarm was raised.
    column : str
        The column whose values raised it; empty for whole rows.
    evidence : float
        The largest capital so far over that at which the alarm is raised: an alarm at 1.

    Examples
    --------
    >>> from cospan.monitoring import SequentialAlarm
    >>> rng = np.random.default_rng(0)
    >>> alarm = SequentialAlarm.of(rng.normal(size=(5000, 3)))
    >>> alarm.update(rng.normal(size=(2000, 3)))
    False
    >>> alarm.update(rng.normal(size=(500, 3)) + [0, 1, 0])
    True
    >>> alarm.column, 2000 < alarm.alarm_at < 2100
    ('x1', True)
    """

    def __init__(
        self,
        level: float,
        plan: EncodingPlan | None,
        names: tuple[str, ...],
        scorer: Summary,
        aside: Floats,
        seed: int,
    ) -> None:
        self.level = level
        self.plan = plan
        self.names = names
        self.rows = 0
        self.alarm_at: int | None = None
        self.column = ""
        self.evidence = 0.0
        variances = np.diag(np.asarray(scorer.scatter_about())) / scorer.n
        self._mean = np.asarray(scorer.mean)
        self._live = varying(scorer)
        self._unit = np.where(variances > 0, np.sqrt(np.maximum(variances, NOT_ZERO)), 1.0)
        self._cost = Cost.of(scorer, self._live, _SHRINKAGE)
        self._owners = plan.owners if plan is not None else names
        self._counts = np.zeros((1 + len(names), CELLS), dtype=np.int64)
        self._bettors = Bettors(1 + len(names))
        self._rng = np.random.default_rng([seed, 1])
        self._remember(self._cells(aside))

    @classmethod
    def of(
        cls,
        reference: Any,
        *,
        level: float = 0.05,
        calibration: int = CALIBRATION_ROWS,
        seed: int = 0,
        **options: Any,
    ) -> SequentialAlarm:
        """Prepare to watch.

        Parameters
        ----------
        reference : anything that :func:`cospan.data.open_source` takes
            Rows as they usually are; those of the stream are taken as exchangeable with them.
        level : float
            The chance of ever raising a false alarm.
        calibration : int
            Rows set aside at random, to rank the stream's rows among; at most half of them all.
        seed : int
        **options
            For the sources: columns, categorical, numeric, drop, strict.
        """
        if not (isinstance(level, int | float | np.number) and 0 < level < 1):
            raise InputError(f"level is {level!r}; it must be a number between 0 and 1.")
        size = min(as_count(calibration, "calibration"), CALIBRATION_ROWS)
        seed = as_seed(seed, "seed")
        sources = opened(reference, None, **options)
        plan = full_plan(sources)
        whole = cut(timed_rows(sources, plan, None), Every("rows", 2**62), seed=seed).parts[0]
        if whole.count < 4:
            raise InputError(f"The reference has {whole.count} rows; at least four are needed.")
        names = plan.feature_names if plan is not None else encode(sources)[0].feature_names
        names = names or tuple(f"x{j}" for j in range(whole.n_features))
        aside = whole.sample.rows[: min(size, whole.count // 2)]
        return cls(float(level), plan, names, without_rows(whole, aside), aside, seed)

    def update(self, rows: Any) -> bool:
        """Take further rows of the stream; True once the alarm has been raised."""
        for block in timed_rows(opened(rows, None), self.plan, None):
            if block.rows.shape[1] != len(self.names):
                raise InputError(
                    f"The stream has {block.rows.shape[1]} features and the reference "
                    f"{len(self.names)}."
                )
            for start in range(0, len(block.rows), BLOCK):
                self._take(block.rows[start : start + BLOCK])
        return self.alarm_at is not None

    def _take(self, rows: Floats) -> None:
        cells = self._cells(rows)
        capital = self._bettors.play(self._p_values(cells))
        self._remember(cells)
        reached = capital - math.log(capital.shape[1] / self.level)
        self.evidence = max(self.evidence, math.exp(min(700.0, float(reached.max()))))
        if self.alarm_at is None and (reached >= 0).any():
            row = int(np.flatnonzero((reached >= 0).any(axis=1))[0])
            score = int(np.argmax(reached[row]))
            self.alarm_at = self.rows + row + 1
            self.column = "" if score == 0 else self._owners[score - 1]
        self.rows += len(rows)

    def _cells(self, rows: Floats) -> Cells:
        """The cell of every score of rows, (n, scores): the cost first, then the features."""
        cost = np.log(self._cost.squared(rows[:, self._live]) / len(self._live) + LEAST_COST)
        values = np.arcsinh((rows - self._mean) / self._unit)
        at = np.concatenate([cost[:, None], values], axis=1)
        return np.clip((at + REACH) * (CELLS / (2 * REACH)), 0, CELLS - 1).astype(np.intp)

    def _remember(self, cells: Cells) -> None:
        for score in range(cells.shape[1]):
            self._counts[score] += np.bincount(cells[:, score], minlength=CELLS)

    def _p_values(self, cells: Cells) -> Floats:
        """Smoothed conformal p-values: of each row among all before it and itself."""
        n, K = cells.shape
        known = np.concatenate(
            [np.zeros((K, 1), dtype=np.int64), np.cumsum(self._counts, axis=1)], axis=1
        )
        score = np.arange(K)
        below = known[score, cells].astype(np.float64)
        equal = (known[score, cells + 1] - known[score, cells]).astype(np.float64)
        earlier = np.tril(np.ones((n, n), dtype=bool), -1)[:, :, None]
        below += (earlier & (cells[None, :, :] < cells[:, None, :])).sum(axis=1)
        equal += (earlier & (cells[None, :, :] == cells[:, None, :])).sum(axis=1)
        total = int(self._counts[0].sum()) + np.arange(n)[:, None] + 1
        return np.asarray((below + self._rng.random((n, K)) * (equal + 1)) / total)
