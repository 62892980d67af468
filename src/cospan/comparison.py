"""The whole way in one call: two sets in, everything about them out.

:func:`compare` opens its arguments as sources, summarises them, fits the joint frame, scores
every row (a set's own rows by leave-one-out), tests, audits and explains. What it finds is a
:class:`Comparison`: plain frozen data that the terminal, the report and the pictures read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._scoring import ScoredGroup

if TYPE_CHECKING:
    from .audit import LabelAudit
    from .frame import JointFrame
    from .significance import Separation, ShiftTest

__all__ = ["Comparison", "ScoredGroup"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`compare` found out about two sets.

    Parameters
    ----------
    name_a, name_b : str
        What the two sets are called.
    frame : JointFrame
        The joint frame of the two sets; ``frame.align`` scores more rows.
    group_a, group_b : ScoredGroup
        The rows of A and of B, scored by leave-one-out.
    group_z : ScoredGroup or None
        The rows of Z, where some were given.
    separation : Separation
        How far apart the angles of A and of B lie, with confidence intervals.
    shift : ShiftTest or None
        Whether A and B may be samples of one distribution; None where it was not asked for or
        where there are too few rows.
    audit : LabelAudit or None
        Labels that conflict with their angle. Its rows are the kept rows of `group_z` where
        labels were given for Z (``audit_of == "z"``); otherwise those of `group_a` followed by
        those of `group_b`, with the set's name as the label (``audit_of == "sets"``).
    effect_a, effect_b : ndarray of shape (d,)
        Mean attribution of each feature over rows of A and of B: what it adds to -cos 2θ there.
    feature_names : tuple of str
        One name per feature, ``x0``, ``x1``, … where the data has none.
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) where a row is a picture.
    settings : dict
        The settings used, ready for JSON.
    warnings : tuple of str
        What a reader should know before believing the numbers.
    version : str
        The version of cospan that made this.
    seconds : float
        How long it took.
    audit_of : str
        ``"sets"`` or ``"z"``: which rows `audit` is about.
    """

    name_a: str
    name_b: str
    frame: JointFrame
    group_a: ScoredGroup
    group_b: ScoredGroup
    group_z: ScoredGroup | None
    separation: Separation
    shift: ShiftTest | None
    audit: LabelAudit | None
    effect_a: NDArray[np.float64]
    effect_b: NDArray[np.float64]
    feature_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None
    settings: dict[str, object]
    warnings: tuple[str, ...]
    version: str
    seconds: float
    audit_of: str = "sets"

    @property
    def groups(self) -> tuple[ScoredGroup, ...]:
        """The scored groups: A, B and, where there is one, Z."""
        both = (self.group_a, self.group_b)
        return both if self.group_z is None else (*both, self.group_z)

    @property
    def audit_ids(self) -> NDArray[Any]:
        """Identifiers of the rows of `audit`, in its order."""
        if self.audit_of == "z" and self.group_z is not None:
            return self.group_z.ids
        if self.group_a.ids.dtype.kind == self.group_b.ids.dtype.kind:
            return np.concatenate([self.group_a.ids, self.group_b.ids])
        return np.concatenate([self.group_a.ids.astype(str), self.group_b.ids.astype(str)])

    def __repr__(self) -> str:
        z = "" if self.group_z is None else f", {self.group_z.n} scored"
        return (
            f"<Comparison of {self.name_a!r} ({self.group_a.total} rows) with {self.name_b!r} "
            f"({self.group_b.total} rows){z}: Fisher-Rao {self.separation.fisher_rao.value:.3f}>"
        )

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file, and return its path."""
        from .report import save_html  # the report reads comparisons, so it comes in late

        return save_html(self, path)
