"""The settings of a fit: one list of them, with their defaults, for everything that fits.

`JointFrame.fit` and the estimator spell them out; every other function that fits takes them as
keywords (:class:`Given`, which type checkers and editors know). Inside they travel as one
:class:`Settings`, with the preset resolved and what contradicts itself refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypedDict

from cospan.base.checks import as_flag, as_option, as_shrinkage, is_real
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Option, Record
from cospan.errors import InputError


class Given(TypedDict, total=False):
    """Settings as keywords: any of them, for ``**settings: Unpack[Given]``."""

    span: str
    units: str
    shrinkage: float | str
    pooling: float | str
    dof: float | str
    calibrate: bool | None
    preset: str | None
    center: str
    balance: bool
    tol: float | None
    curve: str | None


class Fixed(NamedTuple):
    """What the caller fixed (a value) and what is left to the data (None)."""

    units: str | None
    shrinkage: float | None
    pooling: float | None
    dof: float | None


@dataclass(frozen=True)
class Settings:
    """How sets are prepared, chosen for and calibrated; see :meth:`cospan.JointFrame.fit`.

    >>> Settings.of(preset="paper").span
    'linear'
    """

    span: str = "affine"
    units: str = "auto"
    shrinkage: float | str = "auto"
    pooling: float | str = "auto"
    dof: float | str = "auto"
    calibrate: bool | None = None
    center: str = "pooled"
    balance: bool = True
    tol: float | None = None
    curve: str | None = "auto"

    @classmethod
    def of(cls, **given: Option) -> Settings:
        """The settings, with `preset` resolved where one is named."""
        unknown = next((name for name in given if name not in (*DEFAULTS, "preset")), None)
        if unknown is not None:
            raise TypeError(f"there is no setting {unknown!r}; there are {', '.join(DEFAULTS)}")
        return cls(**settled(given, DEFAULTS))

    def of_the_sets(self) -> Record:
        """The settings listed here, as arguments; classes that add to them have more."""
        return {one.name: getattr(self, one.name) for one in fields(Settings)}

    def fixed(self) -> Fixed:
        """What is fixed, checked, and what is left to the data; "auto" is left to it."""
        units = as_option(self.units, "units", ("auto", "own", "common"))
        alpha = as_shrinkage(self.shrinkage)
        pooling = _number(self.pooling, "pooling", 1.0)
        if alpha == 0:
            if pooling:
                raise InputError(
                    f"pooling needs a shrinkage; give shrinkage={FAST_SHRINKAGE:g}, or pooling=0."
                )
            pooling = 0.0
        dof = _number(self.dof, "dof", math.inf)
        if self.span != "affine":
            for name, asked in (("pooling", pooling), ("units", units == "own"), ("dof", dof)):
                if asked:
                    raise InputError(
                        f'{name} belongs to span="affine"; leave it out with span="linear".'
                    )
            units, pooling, dof = "common", 0.0, 0.0
        return Fixed(
            units=None if units == "auto" else units,
            shrinkage=None if isinstance(alpha, str) else float(alpha),
            pooling=pooling,
            dof=dof,
        )

    def calibrates(self) -> bool:
        """Whether to calibrate: by default in the affine span; the paper's angle is raw."""
        if self.calibrate is None:
            return self.span == "affine"
        return as_flag(self.calibrate, "calibrate")

    def curves(self) -> bool:
        """Whether to look for a curve."""
        if self.curve not in (None, "auto"):
            raise InputError(f"curve is {str(self.curve)[:40]}; it must be 'auto' or None.")
        return self.curve == "auto"


DEFAULTS: Record = {one.name: one.default for one in fields(Settings)}
# What `preset="paper"` stands for.
PAPER = {
    "span": "linear", "center": "each", "balance": False, "shrinkage": 0.0, "calibrate": False,
    "curve": None,
}  # fmt: skip


def settled(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Record:
    """The settings of a fit: the preset's where one is named, the defaults' for the rest."""
    given = dict(given)
    preset = given.pop("preset", None)
    if preset is None:
        merged = {**defaults, **given}
        for name in ("center", "balance") if merged["span"] == "affine" else ():
            if name in given and not _same(given[name], DEFAULTS[name]):
                raise InputError(
                    f'{name} belongs to span="linear"; in the affine span every set has its own '
                    f'centre and weighs the same. Leave {name} out, or give span="linear".'
                )
        return merged
    if preset != "paper":
        raise InputError(f"preset is {preset!r}; the only preset is 'paper'.")
    for name in sorted(PAPER.keys() & given.keys()):
        if not (_same(given[name], defaults[name]) or _same(given[name], PAPER[name])):
            raise InputError(
                f'preset="paper" settles {name} already; leave {name} out, or leave the preset '
                "out and give every setting."
            )
    return {**defaults, **given, **PAPER}


def _same(value: object, default: object) -> bool:
    return isinstance(value, type(default)) and value == default


def _number(value: object, name: str, most: float) -> float | None:
    """A number up to `most`, from 0 on or, where there is no such end, above it; None: "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    endless = most == math.inf
    if is_real(value) and 0 <= value <= most and (not endless or 0 < value < most):
        return float(value)
    wanted = "a number above 0" if endless else f"a number from 0 to {most:g}"
    raise InputError(f"{name} is {value!r}; it must be {wanted}, or 'auto'.")
