"""A measured value and its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A measured value with its confidence interval.

    Attributes
    ----------
    value : float
        As measured.
    low, high : float
        Ends of the interval.
    confidence : float
        How often such intervals hold the true value, 0.95 for instance.

    Examples
    --------
    >>> from cospan import Estimate
    >>> print(Estimate(0.8, 0.75, 0.84, 0.95))
    0.800 [0.750, 0.840]
    """

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
