"""Stacks of pairs: each as by itself, and factors stacked where they can be."""

import array_api_strict
import numpy as np
import pytest
import torch

import cospan
from cospan import gsvd, gsvdvals
from cospan.errors import InputError

FACTORS = ("c", "s", "angles", "values", "H", "U", "V")


def stack(seed=0, shape=(2, 3), p=9, q=8, d=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((*shape, p, d)), rng.standard_normal((*shape, q, d))


@pytest.mark.parametrize("xp", [np, torch, array_api_strict], ids=["numpy", "torch", "strict"])
def test_every_pair_of_a_stack_is_decomposed_by_itself(xp):
    A, B = (xp.asarray(X) for X in stack())
    f = gsvd(A, B)
    assert isinstance(f, cospan.GSVDStack)
    assert f.shape == (2, 3)
    assert len(f) == 2
    for i in range(2):
        for j in range(3):
            one = gsvd(A[i, j, ...], B[i, j, ...])
            for name in FACTORS:
                expected = np.asarray(getattr(one, name))
                assert np.array_equal(np.asarray(getattr(f[i, j], name)), expected)
                assert np.array_equal(np.asarray(getattr(f, name))[i, j], expected)
    assert f[-1, -1] is f.members[-1]
    assert [g.rank for g in f] == [5] * 6


def test_different_ranks_are_no_obstacle():
    A, B = stack(1, (3,))
    A[1, :, 0] = B[1, :, 0] = 0
    f = gsvd(A, B)
    assert [g.rank for g in f] == [5, 4, 5]
    with pytest.raises(InputError, match="index them one by one"):
        _ = f.H
    c, s = gsvdvals(A, B)
    assert c.shape == s.shape == (3, 5)
    assert np.argwhere(np.isnan(c)).tolist() == [[1, 4]]


def test_options_reach_every_pair():
    A, B = stack(2, (2,))
    f = gsvd(A, B, compute_uv="V", full_matrices=True)
    assert f.V.shape == (2, 8, 8)
    with pytest.raises(InputError, match="no U"):
        _ = f.U


def test_bad_stacks_get_one_sentence():
    A, B = stack(3, (2,))
    with pytest.raises(InputError, match="same leading dimensions"):
        gsvd(A, B[:1])
    with pytest.raises(InputError, match="empty stacks"):
        gsvd(A[:0], B[:0])
    B[1, 3, 2] = np.nan
    with pytest.raises(InputError, match=r"Pair \[1\] of the stack: B contains NaN at row 3"):
        gsvd(A, B)
    with pytest.raises(InputError, match="A is a stack of matrices"):
        gsvd(A, B[0])
    f = gsvd(A, A)
    for index in (2, (0, 0)):
        with pytest.raises(IndexError):
            f[index]


@pytest.mark.parametrize("first", ["A", "B"])
def test_a_stack_and_a_single_matrix_are_told_from_each_other(first):
    stack, one = np.ones((3, 5, 4)), np.ones((6, 4))
    pair = (stack, one) if first == "A" else (one, stack)
    other = "B" if first == "A" else "A"
    with pytest.raises(
        InputError, match=rf"{first} is a stack .* and {other} a single one"
    ) as told:
        gsvd(*pair)
    assert f"np.broadcast_to({other}, (3, 6, 4))" in str(told.value)
