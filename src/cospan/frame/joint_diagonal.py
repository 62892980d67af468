"""Symmetric matrices that nearly commute, turned to be as diagonal as one rotation makes them all.

Jacobi's method for several matrices at once: each plane (p, q) is turned by the angle that takes
most off the entries (p, q) of all of them. A round turns planes that do not touch each other
together; the rounds of a sweep meet every pair once, like the players of a tournament.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import STILL
from cospan._types import Floats

__all__ = ["joint_rotation"]


SWEEPS = 30  # the method converges quadratically; ten are many


def joint_rotation(matrices: Floats) -> Floats:
    """Orthogonal T (m, m), so that TᵀGT is nearly diagonal for each of the `matrices` (K, m, m).

    Examples
    --------
    >>> turn = np.linalg.qr([[1.0, 2.0], [3.0, 1.0]])[0]
    >>> matrices = np.stack([turn @ np.diag(d) @ turn.T for d in ([1.0, 3.0], [5.0, 5.0])])
    >>> T = joint_rotation(matrices)
    >>> np.abs((T.T @ matrices @ T)[:, 0, 1]).max() < 1e-12
    np.True_
    """
    G = matrices.copy()
    m = G.shape[1]
    T = np.eye(m)
    for _ in range(SWEEPS):
        largest = 0.0
        for p, q in _rounds(m):
            apart, off = G[:, p, p] - G[:, q, q], 2 * G[:, p, q]
            angle = np.arctan2(2 * (apart * off).sum(axis=0), (apart**2 - off**2).sum(axis=0)) / 4
            _turn(T, p, q, angle)
            _turn(G, p, q, angle)
            _turn(G.transpose(0, 2, 1), p, q, angle)
            largest = max(largest, float(np.abs(angle).max(initial=0.0)))
        if largest < STILL:
            break
    return T


def _rounds(m: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Pairs of 0 … m - 1, in rounds in which none occurs twice; all pairs once."""
    players = np.arange(m + m % 2)
    half = len(players) // 2
    found = []
    for _ in range(len(players) - 1):
        p, q = players[:half], players[: half - 1 : -1]
        playing = (p < m) & (q < m)
        found.append((p[playing], q[playing]))
        players = np.concatenate([players[:1], players[-1:], players[1:-1]])
    return found


def _turn(M: Floats, p: NDArray[np.intp], q: NDArray[np.intp], angle: Floats) -> None:
    """Turn the columns p and q of M, in place."""
    c, s = np.cos(angle), np.sin(angle)
    first, second = M[..., p], M[..., q]
    M[..., p], M[..., q] = c * first + s * second, c * second - s * first
