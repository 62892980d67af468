"""What has to hold for every pair, on 500 pairs of all shapes, ranks, scales and dtypes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from cospan import gsvd, gsvdvals
from matrices import acceptance_ratios, low_rank_images, pair_with_angles

FLOATS = (np.float64, np.float32)


@st.composite
def pairs(draw):
    """Two matrices with prescribed ranks, zero and repeated columns, and norms far apart."""
    d = draw(st.integers(1, 9), label="d")
    p, q = draw(st.integers(0, 10), label="p"), draw(st.integers(0, 10), label="q")
    if p + q == 0:
        p = 1
    dtype = draw(st.sampled_from(FLOATS), label="dtype")
    reach = 150 if dtype is np.float64 else 16
    exponent_a = draw(st.integers(-reach, reach), label="log10 of A")
    gap = draw(st.integers(-reach, reach), label="log10 of B over A")
    exponent_b = min(max(exponent_a + gap, -reach), reach)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    A = _with_rank(rng, p, d, draw(st.integers(0, min(p, d)), label="rank of A"))
    B = _with_rank(rng, q, d, draw(st.integers(0, min(q, d)), label="rank of B"))
    change = draw(st.sampled_from(("none", "zero", "repeat", "same rows")), label="change")
    if change == "zero":
        column = int(rng.integers(d))
        A[:, column] = 0
        B[:, column] = 0
    elif change == "repeat":
        A[:, -1], B[:, -1] = A[:, 0], B[:, 0]
    elif change == "same rows":
        rows = min(p, q)
        B[:rows] = A[:rows]
    return (A * 10.0**exponent_a).astype(dtype), (B * 10.0**exponent_b).astype(dtype)


def _with_rank(rng, n, d, rank):
    # small integers multiply without rounding, so that the rank is what it says
    return (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, d))).astype(float)


def _rank(M):
    top = np.abs(M).max(initial=0)
    return np.linalg.matrix_rank(M / top) if top > 0 else 0


@settings(max_examples=500, derandomize=True, deadline=None, database=None)
@given(pairs())
def test_every_pair_has_a_gsvd_and_swapping_mirrors_it(pair):
    A, B = pair
    result = gsvd(A, B)
    eps = float(np.finfo(A.dtype).eps)
    c, s = (np.asarray(x, np.float64) for x in (result.c, result.s))
    assert np.abs(c**2 + s**2 - 1).max(initial=0) <= 10 * eps
    assert np.all((result.angles >= 0) & (result.angles <= np.pi / 2))
    assert np.all(np.diff(c) <= 0)
    assert np.all(np.diff(s) >= 0)
    r, k, t = result.blocks
    assert result.H.shape == (r + k + t, A.shape[1])
    assert result.U.shape == (len(A), r + k)
    assert result.V.shape == (len(B), k + t)
    assert (r + k, k + t) == (_rank(A), _rank(B))
    assert max(acceptance_ratios(A, B, result, ulp=eps)) < 10
    mirrored = gsvd(B, A)
    assert mirrored.blocks == result.blocks[::-1]
    assert np.abs(mirrored.c - result.s[::-1]).max(initial=0) < 1e4 * eps
    assert np.abs(mirrored.s - result.c[::-1]).max(initial=0) < 1e4 * eps
    assert np.abs(mirrored.angles + result.angles[::-1] - np.pi / 2).max(initial=0) < 1e4 * eps


def known_pair(seed, **options):
    theta = [0.0, 0.0, 0.3, 0.7, 0.8, 1.2, np.pi / 2]
    return pair_with_angles(np.random.default_rng(seed), theta, 11, 9, 10, **options)


def test_prescribed_angles_come_back():
    for seed in range(20):
        A, B, theta = known_pair(seed)
        result = gsvd(A, B)
        assert result.blocks == (2, 4, 1)
        assert np.abs(result.angles - theta).max() < 1e-14


def test_swapping_keeps_the_directions():
    A, B, _ = known_pair(0)
    H, mirrored = gsvd(A, B).H, gsvd(B, A).H[::-1]
    # a direction with an angle of its own is unique up to its sign
    for row in (2, 3, 4, 5, 6):
        agreement = abs(H[row] @ mirrored[row]) / np.linalg.norm(H[row])
        assert np.isclose(agreement, np.linalg.norm(mirrored[row]), rtol=1e-13)


def test_an_invertible_map_of_the_features_leaves_the_angles_alone():
    A, B, theta = known_pair(1)
    features = np.random.default_rng(5).standard_normal((10, 10))
    assert np.abs(gsvd(A @ features, B @ features).angles - theta).max() < 1e-12


def test_order_of_the_rows_does_not_matter():
    A, B, _ = known_pair(2)
    rng = np.random.default_rng(6)
    shuffled = gsvd(A[rng.permutation(len(A))], B[rng.permutation(len(B))])
    assert np.abs(shuffled.angles - gsvd(A, B).angles).max() < 1e-14


def test_scaling_one_set_scales_the_tangents():
    A, B, _ = known_pair(3)
    before, after = gsvd(A, B), gsvd(A, 2.0 * B)
    shared = slice(2, 6)
    ratio = np.tan(after.angles[shared]) / np.tan(before.angles[shared])
    assert np.allclose(ratio, 2.0, rtol=1e-13)


def test_powers_of_two_common_to_both_sets_change_no_bit_of_the_angles():
    A, B, _ = known_pair(4)
    before, after = gsvd(A, B), gsvd(A * 2.0**200, B * 2.0**200)
    assert np.array_equal(before.c, after.c)
    assert np.array_equal(before.s, after.s)
    assert np.array_equal(before.H * 2.0**200, after.H)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gsvdvals_and_gsvd_without_factors_agree_with_gsvd(dtype):
    A, B, _ = (x.astype(dtype) for x in known_pair(5))
    full, short = gsvd(A, B), gsvd(A, B, compute_uv=False)
    c, s = gsvdvals(A, B)
    eps = float(np.finfo(dtype).eps)
    assert short.U is None
    assert short.V is None
    assert short.blocks == full.blocks
    for values in ((short.c, short.s), (c, s)):
        assert np.abs(values[0] - full.c).max() < 20 * eps
        assert np.abs(values[1] - full.s).max() < 20 * eps
    assert np.abs(np.abs(short.H) - np.abs(full.H))[2:].max() < 100 * eps


# ---- the same factors, whoever computes them and on how many threads --------------------------

SHARED_AND_NOT = [0.0] * 5 + list(np.linspace(0.2, 1.4, 9)) + [np.pi / 2] * 4


@pytest.mark.parametrize("d", [18, 24, 90])
def test_a_rotation_of_the_samples_leaves_the_frame_alone(d):
    """Mixing the rows of A among themselves changes every bit of the way, and nothing else."""
    rng = np.random.default_rng(2)
    A, B, _ = pair_with_angles(rng, SHARED_AND_NOT, 40, 35, d, condition=50)
    mixed = [np.linalg.qr(rng.standard_normal((len(X), len(X))))[0] @ X for X in (A, B)]
    f, g = gsvd(A, B), gsvd(*mixed)
    assert np.abs(f.H - g.H).max() < 1e-11
    assert np.abs(f.c - g.c).max() < 1e-13
    assert np.abs(f.H - gsvd(A, B, compute_uv=False).H).max() < 1e-12
    assert f.blocks == (5, 9, 4)
    for rows in (f.H[:5], f.H[14:]):  # the blocks of one side: orthogonal, the longest first
        products = rows @ rows.T
        assert np.abs(products - np.diag(np.diag(products))).max() < 1e-13
        assert np.all(np.diff(np.diag(products)) < 0)


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
