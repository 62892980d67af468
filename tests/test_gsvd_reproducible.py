"""The same pair gives the same factors, whoever computes them and on how many threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from cospan import gsvd
from matrices import low_rank_images, pair_with_angles

SHARED_AND_NOT = [0.0] * 5 + list(np.linspace(0.2, 1.4, 9)) + [np.pi / 2] * 4


def pair(seed=0, d=24):
    known = pair_with_angles(np.random.default_rng(seed), SHARED_AND_NOT, 40, 35, d, condition=50)
    return known.A, known.B


@pytest.mark.parametrize("d", [18, 24, 90])
def test_one_sided_blocks_are_orthogonal_and_fall(d):
    f = gsvd(*pair(1, d))
    assert f.blocks == (5, 9, 4)
    for rows in (f.H[:5], f.H[14:]):
        products = rows @ rows.T
        lengths = np.sqrt(np.diag(products))
        assert np.abs(products - np.diag(np.diag(products))).max() < 1e-13
        assert np.all(np.diff(lengths) < 0)


@pytest.mark.parametrize("d", [18, 24, 90])
def test_a_rotation_of_the_samples_leaves_the_frame_alone(d):
    """Mixing the rows of A among themselves changes every bit of the way, and nothing else."""
    A, B = pair(2, d)
    rng = np.random.default_rng(3)
    mixed = [np.linalg.qr(rng.standard_normal((len(X), len(X))))[0] @ X for X in (A, B)]
    f, g = gsvd(A, B), gsvd(*mixed)
    assert np.abs(f.H - g.H).max() < 1e-11
    assert np.abs(f.c - g.c).max() < 1e-13


def test_blocks_are_the_same_with_and_without_left_factors():
    A, B = pair(4)
    f, g = gsvd(A, B), gsvd(A, B, compute_uv=False)
    assert np.abs(f.H - g.H).max() < 1e-12


FACTORS = ("c", "s", "H", "U", "V")


@pytest.mark.parametrize("case", ["gauss", "images"])
def test_threads_do_not_matter(case):
    rng = np.random.default_rng(5)
    if case == "gauss":
        A, B = rng.standard_normal((450, 400)), rng.standard_normal((350, 400))
    else:
        A, B = (low_rank_images(rng, n, rank, 300) for n, rank in ((260, 150), (250, 140)))
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(gsvd(A, B))
    one, two = results
    r, k, _ = one.blocks
    assert one.blocks == two.blocks
    assert np.abs(one.c - two.c).max() < 1e-15
    assert np.abs(one.s - two.s).max() < 1e-15
    scale = np.abs(one.H).max()
    assert np.abs(one.H - two.H)[:r].max(initial=0) < 1e-8 * scale
    assert np.abs(one.H - two.H)[r + k :].max(initial=0) < 1e-8 * scale
