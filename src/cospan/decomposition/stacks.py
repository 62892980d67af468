"""Stacks of pairs, (..., p, d) and (..., q, d), as NumPy's linear algebra takes them.

Pairs of one stack may have different ranks, so the result is a sequence of GSVDs first and
stacked arrays only where those exist.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.decomposition.result import GSVD
from cospan.errors import InputError


@dataclass(frozen=True, eq=False)
class GSVDStack:
    """The GSVDs of a stack of pairs: index it for one of them, or ask for stacked factors.

    Attributes
    ----------
    shape : tuple of int
        The leading dimensions of A and B.
    members : tuple of GSVD
        All of them, in the order of memory.

    Examples
    --------
    >>> from cospan import gsvd
    >>> rng = np.random.default_rng(0)
    >>> f = gsvd(rng.standard_normal((4, 9, 3)), rng.standard_normal((4, 8, 3)))
    >>> f, f[2], f.c.shape, f.H.shape
    (GSVDStack(4 pairs), GSVD(rank=3, only A: 0, shared: 3, only B: 0), (4, 3), (4, 3, 3))
    """

    shape: tuple[int, ...]
    members: tuple[GSVD, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[GSVD]:
        return iter(self.members)

    def __getitem__(self, index: int | tuple[int, ...]) -> GSVD:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise IndexError(f"this stack has {len(self.shape)} dimensions; give as many indices")
        flat = 0
        for i, n in zip(index, self.shape, strict=True):
            if not -n <= i < n:
                raise IndexError(f"index {i} is out of range for {n} pairs")
            flat = flat * n + i % n
        return self.members[flat]

    def __repr__(self) -> str:
        return f"GSVDStack({' x '.join(map(str, self.shape))} pairs)"

    def _stacked(self, name: str) -> Array:
        parts = [getattr(f, name) for f in self.members]
        if any(part is None for part in parts):
            raise InputError(f"This stack has no {name}; use gsvd(..., compute_uv=True).")
        if len({part.shape for part in parts}) > 1:
            raise InputError(
                f"The pairs' {name} differ in shape, as their ranks do; index them one by one."
            )
        xp = arrays.namespace(parts[0])
        return xp.reshape(xp.stack(parts), (*self.shape, *parts[0].shape))

    c = property(lambda self: self._stacked("c"), doc="Cosines, (..., m).")
    s = property(lambda self: self._stacked("s"), doc="Sines, (..., m).")
    angles = property(lambda self: self._stacked("angles"), doc="Angles in radians, (..., m).")
    values = property(lambda self: self._stacked("values"), doc="c/s, falling, (..., m).")
    H = property(lambda self: self._stacked("H"), doc="Frames, (..., m, d).")
    U = property(lambda self: self._stacked("U"), doc="Left factors of A, (..., p, r + k).")
    V = property(lambda self: self._stacked("V"), doc="Left factors of B, (..., q, k + t).")


def is_stack(A: Any, B: Any) -> bool:
    """Have both more than two dimensions? A stack and a single matrix make no pairs."""
    deep = [len(getattr(one, "shape", ())) > 2 and arrays.is_array(one) for one in (A, B)]
    flat = [len(getattr(one, "shape", ())) == 2 for one in (A, B)]
    for name, other, k in (("A", "B", 0), ("B", "A", 1)):
        if deep[k] and flat[1 - k]:
            stack, one = (A, B) if k == 0 else (B, A)
            raise InputError(
                f"{name} is a stack of matrices (shape {tuple(stack.shape)}) and {other} a single "
                f"one (shape {tuple(one.shape)}); repeat {other} for each of them, with "
                f"np.broadcast_to({other}, {(*stack.shape[:-2], *one.shape)})."
            )
    return all(deep)


def of_stack(A: Array, B: Array, one: Callable[[Any, Any], Any]) -> GSVDStack:
    """`one` for every pair."""
    shape = tuple(A.shape[:-2])
    if shape != tuple(B.shape[:-2]):
        raise InputError(
            f"A is a stack of shape {shape} and B of {tuple(B.shape[:-2])}; "
            "both need the same leading dimensions."
        )
    if not math.prod(shape):
        raise InputError(f"A and B are empty stacks, of shape {shape}; give at least one pair.")
    members = []
    for index in itertools.product(*(range(n) for n in shape)):
        try:
            members.append(one(A[(*index, ...)], B[(*index, ...)]))
        except InputError as error:
            place = ", ".join(map(str, index))
            raise InputError(f"Pair [{place}] of the stack: {error}") from None
    return GSVDStack(shape, tuple(members))


def stacked_values(f: GSVDStack) -> tuple[Array, Array]:
    """c and s of all pairs; where ranks differ, NaN stands for what a pair does not have."""
    most = max(member.rank for member in f.members)
    found = []
    for values in ("c", "s"):
        rows = [_padded(getattr(member, values), most) for member in f.members]
        xp = arrays.namespace(rows[0])
        found.append(xp.reshape(xp.stack(rows), (*f.shape, most)))
    return found[0], found[1]


def _padded(values: Array, n: int) -> Array:
    xp = arrays.namespace(values)
    return xp.concat((values, arrays.zeros((n - values.shape[0],), values) * xp.nan))
