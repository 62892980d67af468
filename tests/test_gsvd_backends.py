"""The GSVD is written once: other array namespaces get the answers of NumPy, as their own."""

import array_api_strict
import numpy as np
import pytest
import torch

from cospan import gsvd, gsvdvals
from cospan.errors import InputError
from matrices import LAPACK_KINDS, LAPACK_SHAPES, acceptance_ratios, hadamard_pair, lapack_pair

NAMESPACES = {"torch": torch, "strict": array_api_strict}


@pytest.fixture(params=NAMESPACES)
def xp(request):
    return NAMESPACES[request.param]


@pytest.mark.parametrize("kind", [0, 3, 5, 6])
@pytest.mark.parametrize("shape", LAPACK_SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_every_namespace_passes_lapacks_test(xp, shape, kind):
    A, B = lapack_pair(np.random.default_rng([1, kind, *shape]), shape, LAPACK_KINDS[kind])
    result = gsvd(xp.asarray(A), xp.asarray(B))
    expected = gsvd(A, B)
    assert type(result.H) is type(xp.asarray(A))
    if kind in (0, 3):  # the others' smallest singular values sit on the tolerance itself
        assert result.blocks == expected.blocks
    assert max(acceptance_ratios(A, B, result)) < 10


def test_hadamard_pair_is_exact_in_every_namespace(xp):
    A, B, theta = hadamard_pair()
    angles = gsvd(xp.asarray(A), xp.asarray(B)).angles
    assert np.abs(np.asarray(angles) - theta).max() < 1e-14


def test_float32_stays_float32(xp):
    A, B = (x.astype(np.float32) for x in hadamard_pair()[:2])
    c, s = gsvdvals(xp.asarray(A), xp.asarray(B))
    assert c.dtype == s.dtype == xp.float32


def test_bad_entries_are_found_in_every_namespace(xp):
    A, B = np.ones((3, 2)), np.ones((4, 2))
    B[2, 1] = np.nan
    with pytest.raises(InputError, match="B contains NaN at row 2, column 1"):
        gsvd(xp.asarray(A), xp.asarray(B))


def test_nothing_is_written_to(xp):
    A, B = hadamard_pair()[:2]
    given = xp.asarray(A.copy()), xp.asarray(B.copy())
    gsvd(*given)
    assert np.array_equal(np.asarray(given[0]), A)
    assert np.array_equal(np.asarray(given[1]), B)
