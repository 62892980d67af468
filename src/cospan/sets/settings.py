"""The settings of a fit: one list of them, with their defaults, for everything that fits.

`JointFrame.fit` and the estimator spell them out; every other function that fits takes them as
keywords (:class:`Given`, which type checkers and editors know). Inside they travel as one
:class:`Settings`, with the preset resolved and what contradicts itself refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

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
    center: Any
    balance: bool
    tol: float | None
    curve: int | str | None


class CostSettings(Given, total=False):
    """The same for K sets: how costs become weights, and whether rows are pictures."""

    weighting: str
    picture: bool


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
    center: Any = "pooled"
    balance: bool = True
    tol: float | None = None
    curve: int | str | None = "auto"

    @classmethod
    def of(cls, **given: Any) -> Settings:
        """The settings, with `preset` resolved where one is named."""
        unknown = next((name for name in given if name not in (*DEFAULTS, "preset")), None)
        if unknown is not None:
            raise TypeError(f"there is no setting {unknown!r}; there are {', '.join(DEFAULTS)}")
        return cls(**settled(given, DEFAULTS))

    def of_the_sets(self) -> dict[str, Any]:
        """The settings listed here, as arguments; classes that add to them have more."""
        return {one.name: getattr(self, one.name) for one in fields(Settings)}


DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(Settings)}
# What `preset="paper"` stands for.
PAPER = {
    "span": "linear",
    "center": "each",
    "balance": False,
    "shrinkage": 0.0,
    "calibrate": False,
    "curve": None,
}


def settled(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a fit: the preset's where one is named, the defaults' for the rest."""
    given = dict(given)
    preset = given.pop("preset", None)
    if preset is None:
        merged = {**defaults, **given}
        if merged["span"] == "affine":
            _refuse_linear_settings(given)
        return merged
    if preset != "paper":
        raise InputError(f"preset is {preset!r}; the only preset is 'paper'.")
    clash = sorted(
        name
        for name, value in PAPER.items()
        if name in given and not (_same(given[name], defaults[name]) or _same(given[name], value))
    )
    if clash:
        raise InputError(
            f'preset="paper" settles {clash[0]} already; leave {clash[0]} out, or '
            f"leave the preset "
            "out and give every setting."
        )
    return {**defaults, **given, **PAPER}


def _same(value: Any, default: Any) -> bool:
    return isinstance(value, type(default)) and value == default


def _refuse_linear_settings(given: Mapping[str, Any]) -> None:
    for name in ("center", "balance"):
        if name in given and not _same(given[name], DEFAULTS[name]):
            raise InputError(
                f'{name} belongs to span="linear"; in the affine span every set has '
                f"its own "
                f'centre and weighs the same. Leave {name} out, or give span="linear".'
            )
