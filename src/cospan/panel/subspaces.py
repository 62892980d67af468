"""Alignment of what two sets span: CKA and principal angles."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cospan._types import Floats
from cospan.errors import InputError


def linear_cka(X: Floats, Y: Floats) -> float:
    """Linear CKA of two representations of the *same* rows (Kornblith and others, 2019).

    1 where one is a rotated and scaled copy of the other, 0 where no feature of one correlates
    with any of the other. The two may have different numbers of features.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(linear_cka(X, 2 * X[:, ::-1] + 1), 12)
    1.0
    """
    if len(X) != len(Y):
        raise InputError(
            f"CKA compares two representations of the same rows, and there are {len(X)} and "
            f"{len(Y)}; for sets of different rows take covariance_cka."
        )
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return _cosine(np.sum((Y.T @ X) ** 2), X.T @ X, Y.T @ Y)


def covariance_cka(A: Floats, B: Floats) -> float:
    """CKA of two sets of different rows in one feature space: the cosine of their covariances.

    1 where one covariance is a multiple of the other; blind to the means.

    >>> A = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(covariance_cka(A, 3 * A + 7), 12)
    1.0
    """
    S, T = (np.atleast_2d(np.cov(rows, rowvar=False)) for rows in (A, B))
    return _cosine(np.sum(S * T), S, T)


def principal_angles(A: Floats, B: Floats, *, share: float = 0.9) -> Floats:
    """Angles in degrees, falling, between the main principal subspaces of two sets.

    The subspaces have the dimension in which the first of the two reaches `share` of its
    variance. Blind to the means and to how much variance there is.

    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(500, 3)) * [10, 1, 1]
    >>> principal_angles(A, A[:, [1, 0, 2]]).round()
    array([90.])
    """
    spectra = [np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[1:] for rows in (A, B)]
    if any(not values.any() for values, _ in spectra):
        return np.zeros(0)  # a set that does not vary spans nothing
    needed = [
        int(np.searchsorted(np.cumsum(values**2), share * np.sum(values**2))) + 1
        for values, _ in spectra
    ]
    k = min(*needed, *(len(values) for values, _ in spectra))
    angles = scipy.linalg.subspace_angles(*(vectors[:k].T for _, vectors in spectra))
    return np.asarray(np.degrees(angles))


def _cosine(product: float, S: Floats, T: Floats) -> float:
    size = float(np.linalg.norm(S) * np.linalg.norm(T))
    return float(product) / size if size else 0.0
