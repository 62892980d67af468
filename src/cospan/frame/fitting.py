"""Two prepared sets, decomposed: what a frame is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE
from cospan._validate import as_tol
from cospan.decomposition import GSVD, decompose
from cospan.errors import InputError
from cospan.sets import Geometry, PreparedSets, WorkingSets, choose
from cospan.sets.asking import as_asked
from cospan.sets.prepared import check_enough
from cospan.summary import Summary

__all__ = ["DEFAULTS", "Fitted", "compressed", "fitted", "pseudo_inverse", "settled"]

DEFAULTS: dict[str, Any] = {
    "span": "affine",
    "units": "auto",
    "shrinkage": "auto",
    "pooling": "auto",
    "dof": "auto",
    "calibrate": None,
    "center": "pooled",
    "balance": True,
    "tol": None,
}
# What `preset="paper"` stands for.
PAPER = {
    "span": "linear",
    "center": "each",
    "balance": False,
    "shrinkage": 0.0,
    "calibrate": False,
}


class Fitted(NamedTuple):
    """The decomposition of two sets in working coordinates."""

    working: WorkingSets
    geometry: Geometry
    factors: GSVD
    basis: Array | None


def settled(given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The settings of a fit: the preset's where one is named, the defaults' for the rest."""
    given = dict(given)
    preset = given.pop("preset", None)
    if preset is None:
        merged = {**defaults, **given}
        if merged["span"] == "affine":
            _refuse_linear_settings(given)
        return merged
    if preset != "paper":
        raise InputError(f"preset is {preset!r}; the one there is is 'paper'.")
    clash = sorted(
        name
        for name, value in PAPER.items()
        if name in given and not (_same(given[name], defaults[name]) or _same(given[name], value))
    )
    if clash:
        raise InputError(
            f"preset='paper' settles {clash[0]} already; leave {clash[0]} out, or leave the preset "
            "out and give every setting."
        )
    return {**defaults, **given, **PAPER}


def _same(value: Any, default: Any) -> bool:
    return isinstance(value, type(default)) and value == default


def _refuse_linear_settings(given: dict[str, Any]) -> None:
    for name, default in (("center", "pooled"), ("balance", True)):
        if name in given and not _same(given[name], default):
            raise InputError(
                f'{name} belongs to span="linear"; in the affine span every set has its own '
                f'centre and weighs the same. Leave {name} out, or give span="linear".'
            )


def fitted(summaries: Sequence[Summary], labels: Sequence[str], settings: dict[str, Any]) -> Fitted:
    """Prepare, choose and decompose."""
    prepared = PreparedSets(
        summaries,
        span=settings["span"],
        center=settings["center"],
        balance=settings["balance"],
        tol=as_tol(settings["tol"]),
        labels=labels,
    )
    asked = as_asked(
        prepared,
        settings["units"],
        settings["shrinkage"],
        settings["pooling"],
        settings["dof"],
        settings.get("picture", False),
    )
    choice = choose(prepared, asked)
    check_enough(prepared, choice.shrinkage, FAST_SHRINKAGE)
    working = choice.working
    geometry = working.geometry(shrinkage=choice.shrinkage, pooling=choice.pooling, dof=choice.dof)
    left, right = (working.shrunk(k, choice.shrinkage) for k in (0, 1))
    tol = geometry.tol
    if choice.shrinkage == 0 and tol is None:
        tol = working.tolerance()
    factors = decompose(left, right, tol=tol, compute_uv=False)
    return Fitted(working, geometry, *compressed(factors, working.basis))


def compressed(factors: GSVD, basis: Array | None) -> tuple[GSVD, Array | None]:
    """A frame that does not fill its space, in an orthonormal basis of its own span."""
    if factors.rank == factors.H.shape[1]:
        return factors, basis
    orthogonal = arrays.qr(factors.H.T)
    inner = orthogonal.apply(arrays.identity(factors.rank, factors.H))
    inside = GSVD(factors.c, factors.s, orthogonal.R.T, None, None, factors.blocks)
    return inside, inner if basis is None else arrays.matmul(basis, inner)


def pseudo_inverse(core: Array) -> Array:
    """Inverse of the square frame: a triangular solve behind a QR."""
    orthogonal = arrays.qr(core.T)
    eye = arrays.identity(core.shape[0], core)
    # core = Rᵀ Qᵀ, hence core⁻¹ = Q R⁻ᵀ
    return orthogonal.apply(arrays.solve_triangular_transposed(orthogonal.R, eye))
