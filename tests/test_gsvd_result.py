"""The object that holds the factors: frozen, documented, with a sign rule that is kept."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

import cospan
from cospan import GSVD, gsvd
from cospan.errors import InputError


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.standard_normal((12, 6)), rng.standard_normal((4, 6))


def test_result_is_frozen(pair):
    result = gsvd(*pair)
    with pytest.raises(FrozenInstanceError):
        result.c = None


def test_fields_are_the_same_with_and_without_U_and_V(pair):
    with_factors, without = gsvd(*pair), gsvd(*pair, compute_uv=False)
    assert {field.name for field in fields(GSVD)} == {"c", "s", "H", "U", "V", "blocks"}
    assert type(with_factors) is type(without) is GSVD
    assert without.U is None
    assert without.V is None


def test_arguments_after_the_two_sets_are_keywords(pair):
    with pytest.raises(TypeError):
        gsvd(*pair, 1e-3)


def test_blocks_have_names(pair):
    blocks = gsvd(*pair).blocks
    assert (blocks.r, blocks.k, blocks.t) == tuple(blocks) == (2, 4, 0)
    assert isinstance(blocks, cospan.Blocks)


def test_reconstruct_gives_the_sets_back(pair):
    for given, back in zip(pair, gsvd(*pair).reconstruct(), strict=True):
        assert np.abs(given - back).max() < 1e-14


def test_reconstruct_says_what_is_missing(pair):
    with pytest.raises(InputError, match="compute_uv=True"):
        gsvd(*pair, compute_uv=False).reconstruct()


def test_angles_are_radians_from_0_to_90_degrees(pair):
    result = gsvd(*pair)
    assert result.angles[0] == 0.0
    assert np.array_equal(result.angles, np.arctan2(result.s, result.c))
    assert np.all(np.diff(result.angles) >= 0)
    mirrored = gsvd(pair[1], pair[0])
    assert mirrored.angles[-1] == np.pi / 2


def test_repr_is_one_short_line(pair):
    assert repr(gsvd(*pair)) == "GSVD(rank=6, only A: 2, shared: 4, only B: 0)"


@pytest.mark.parametrize("compute_uv", [True, False])
@pytest.mark.parametrize("shape", [(12, 4, 6), (3, 4, 20), (90, 80, 7), (0, 5, 4)])
def test_largest_entry_of_each_direction_is_positive(shape, compute_uv):
    p, q, d = shape
    rng = np.random.default_rng([1, *shape])
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    H = gsvd(A, B, compute_uv=compute_uv).H
    largest = np.take_along_axis(H, np.abs(H).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)
    # turning every row of the data round turns U and V, not the frame
    turned = gsvd(-A, -B, compute_uv=compute_uv).H
    assert np.abs(turned - H).max() < 1e-12


def test_signs_are_documented():
    assert "largest magnitude" in gsvd.__doc__
