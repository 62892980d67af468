"""Directions of a frame: Theorem 2 and its deflation, coefficients, truncation."""

import importlib
import math

import numpy as np
import pytest

import cospan
from cospan import JointFrame, extreme_directions, gsvd, shared_directions, span_view
from cospan.errors import CospanError, InputError
from matrices import pair_with_angles

RAW = {"span": "linear", "center": "none", "balance": False, "shrinkage": 0}


def mixed_pair(seed, *, only_a=2, shared=6, only_b=2, d=14):
    """Rows with directions of all three blocks, and a few features that nobody uses."""
    rng = np.random.default_rng(seed)
    theta = np.concatenate(
        [np.zeros(only_a), rng.uniform(0.1, 1.4, shared), np.full(only_b, math.pi / 2)]
    )
    return pair_with_angles(rng, theta, 20, 25, d, condition=30.0)


def relational_samples(frame, n, seed):
    """Random mixtures of the shared directions, most of them dominated by a few."""
    rng = np.random.default_rng(seed)
    r, k, _ = frame.blocks
    y = rng.standard_normal((n, k)) * rng.exponential(1.0, (n, k)) ** 3
    return y @ frame.H[r : r + k]


def coefficients(frame, found):
    """x and y with Aᵀx = Bᵀy = the direction, for A and B as prepared."""
    F, G = span_view(frame)
    at, size = found.index - frame.blocks.r, found.c * found.s * found.lengths
    return F[:, at] / size, G[:, at] / size


# ---- the table --------------------------------------------------------------------------------


def test_the_table_lists_every_row_of_h():
    pair = mixed_pair(0)
    frame = JointFrame.fit(pair.A, pair.B, **RAW)
    found = frame.directions
    assert len(found) == frame.rank == 10
    assert found.block.tolist() == ["A-only"] * 2 + ["shared"] * 6 + ["B-only"] * 2
    np.testing.assert_allclose(found.angles, pair.theta, atol=1e-12)
    np.testing.assert_allclose(found.degrees, np.rad2deg(found.angles))
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.lengths[:, None] * found.vectors, frame.H, atol=1e-12)


def test_some_of_the_table():
    pair = mixed_pair(1)
    found = JointFrame.fit(pair.A, pair.B, **RAW).directions
    for chosen in (slice(3, 6), [3, 4, 5], np.arange(10) // 3 == 1):
        part = found[chosen]
        assert part.index.tolist() == [3, 4, 5]
        np.testing.assert_array_equal(part.vectors, found.vectors[3:6])
        np.testing.assert_array_equal(part.s, found.s[3:6])
    assert found[-1].block.tolist() == ["B-only"]


def test_names_and_dataframe(digits_pair):
    pd = importlib.import_module("pandas")
    A, B = (pd.DataFrame(X, columns=[f"px{j}" for j in range(64)]) for X in digits_pair)
    found = extreme_directions(JointFrame.fit(A, B), "B", 4)
    assert found.feature_names == tuple(A.columns)
    table = found.to_frame("pandas")
    assert table["direction"].tolist() == [57, 56, 55, 54]  # six pixels are constant
    np.testing.assert_allclose(table["degrees"], found.degrees)


def test_a_frame_in_a_span_has_its_directions_in_feature_space():
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((10, 300)), rng.standard_normal((12, 300))
    frame = JointFrame.fit(A, B, span="linear", shrinkage=0.1)
    assert frame.basis is not None
    found = extreme_directions(frame, "A", 2)
    assert found.vectors.shape == (2, 300)
    # Scoring a direction gives its own angle.
    np.testing.assert_allclose(
        frame.align(found.vectors + frame.center).theta, found.angles, rtol=1e-10
    )


# ---- Theorem 2 --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(50))
def test_no_relational_sample_lies_beyond_the_extremes(seed):
    pair = mixed_pair(seed, only_a=seed % 3, only_b=(seed // 3) % 3, shared=2 + seed % 7)
    frame = JointFrame.fit(pair.A, pair.B, **RAW)
    lowest = extreme_directions(frame, "A").angles[0]
    highest = extreme_directions(frame, "B").angles[0]
    scored = frame.align(relational_samples(frame, 400, seed))
    assert scored.relational.all()
    assert scored.theta.min() >= lowest - 1e-12
    assert scored.theta.max() <= highest + 1e-12
    assert scored.theta.max() - scored.theta.min() > 0.5 * (highest - lowest)  # not idle


def test_extremes_stay_in_the_shared_block_and_come_in_order():
    pair = mixed_pair(4)
    frame = JointFrame.fit(pair.A, pair.B, **RAW)
    assert extreme_directions(frame, "A", 6).index.tolist() == [2, 3, 4, 5, 6, 7]
    assert extreme_directions(frame, "B", 6).index.tolist() == [7, 6, 5, 4, 3, 2]
    near = shared_directions(frame, 6)
    assert sorted(near.index) == [2, 3, 4, 5, 6, 7]
    assert np.all(np.diff(np.abs(near.degrees - 45)) >= 0)


@pytest.mark.parametrize("side", ["A", "B"])
def test_successive_extremes_solve_the_deflated_problem(side):
    """Among pairs Ax = By with x orthogonal to the earlier ones, none goes beyond the next."""
    pair = mixed_pair(5, shared=5)
    frame = JointFrame.fit(pair.A, pair.B, **RAW, keep_uv=True)
    found = extreme_directions(frame, side, 5)
    known = coefficients(frame, found)[0]
    rng = np.random.default_rng(6)
    inverse_a, inverse_b = np.linalg.pinv(pair.A.T), np.linalg.pinv(pair.B.T)
    for i in range(5):
        z = relational_samples(frame, 2000, i)
        z[:500] = found.vectors[i] + 10.0 ** rng.uniform(-4, 0, (500, 1)) * z[:500]
        x = z @ inverse_a.T
        before = np.linalg.qr(known[:, :i])[0]
        size = np.linalg.norm(x, axis=1)
        x = x - (x @ before) @ before.T
        x = x[np.linalg.norm(x, axis=1) > 1e-4 * size]  # of others only rounding is left
        assert len(x) > 1000
        feasible = x @ pair.A
        y = feasible @ inverse_b.T
        # The constraint keeps them relational: both sides represent the same sample.
        np.testing.assert_allclose(y @ pair.B, feasible, atol=1e-9 * np.abs(feasible).max())
        theta = np.arctan2(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
        beyond = theta - found.angles[i] if side == "B" else found.angles[i] - theta
        assert beyond.max() <= 1e-9
        assert beyond.max() >= -1e-3  # some came close


# ---- the coefficients -------------------------------------------------------------------------


def test_coefficients_represent_the_direction_with_both_sets():
    pair = mixed_pair(7)
    frame = JointFrame.fit(pair.A, pair.B, **RAW, keep_uv=True)
    for found in (extreme_directions(frame, "A", 6), shared_directions(frame, 6)):
        x, y = coefficients(frame, found)
        np.testing.assert_allclose(pair.A.T @ x, found.vectors.T, atol=1e-10)
        np.testing.assert_allclose(pair.B.T @ y, found.vectors.T, atol=1e-10)
        sizes = np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0)
        np.testing.assert_allclose(np.arctan2(*sizes), found.angles, atol=1e-12)


def test_x_min_as_printed_in_the_paper_fails_and_the_corrected_one_holds():
    pair = mixed_pair(8)
    factors = gsvd(pair.A, pair.B)
    r = factors.blocks.r
    c, s, u, v = factors.c[r], factors.s[r], factors.U[:, r], factors.V[:, 0]
    right = pair.B.T @ v
    printed, corrected = pair.A.T @ (u * c / s), pair.A.T @ (u * s / c)
    np.testing.assert_allclose(corrected, right, atol=1e-12)
    np.testing.assert_allclose(printed, (c / s) ** 2 * right, atol=1e-12)
    assert np.linalg.norm(printed - right) > 0.5 * np.linalg.norm(right)
    # Ours is the corrected one, for z of length 1 instead of s‖h‖.
    frame = JointFrame.fit(pair.A, pair.B, **RAW, keep_uv=True)
    x, _ = coefficients(frame, extreme_directions(frame, "A"))
    np.testing.assert_allclose(
        np.abs(x[:, 0]), np.abs(u * s / c) / np.linalg.norm(right), atol=1e-12
    )


@pytest.mark.parametrize(
    "options",
    [
        {"shrinkage": 0},
        {"span": "linear", "shrinkage": 0},
        {"span": "linear", "shrinkage": 0, "center": "each", "balance": False},
        {"shrinkage": 0.1, "units": "own"},
        {"shrinkage": 0.1, "units": "common"},
        {"span": "linear", "shrinkage": 0.1},
        {},
    ],
)
@pytest.mark.parametrize("shape", [(30, 25, 12), (30, 5, 12), (6, 7, 40)])
def test_kept_factors_multiply_to_the_prepared_rows(options, shape):
    p, q, d = shape
    rng = np.random.default_rng(10)
    common = rng.standard_normal((9, d))  # so that also few rows share directions
    A = rng.standard_normal((p, 9)) @ common + (p > d) * rng.standard_normal((p, d))
    B = rng.standard_normal((q, 9)) @ common + (q > d) * rng.standard_normal((q, d))
    plain = JointFrame.fit(A, B, **options)
    frame = JointFrame.fit(A, B, **options, keep_uv=True)
    r, k, _ = frame.blocks
    assert frame.blocks == plain.blocks
    np.testing.assert_allclose(frame.c, plain.c, atol=1e-10)
    left, right = frame.prepared(A, "A"), frame.prepared(B, "B")
    scale = max(np.abs(left).max(), np.abs(right).max())
    H = frame.H
    np.testing.assert_allclose(
        frame.U @ (frame.c[: r + k, None] * H[: r + k]), left, atol=1e-11 * scale
    )
    np.testing.assert_allclose(frame.V @ (frame.s[r:, None] * H[r:]), right, atol=1e-11 * scale)
    np.testing.assert_allclose(frame.U.T @ frame.U, np.eye(r + k), atol=1e-11)
    Z = rng.standard_normal((5, d))
    np.testing.assert_allclose(frame.align(Z).theta, plain.align(Z).theta, atol=1e-7)


# ---- truncation -------------------------------------------------------------------------------


@pytest.mark.parametrize("span", ["affine", "linear"])
def test_keeping_what_discriminates(digits_pair, span):
    A, B = digits_pair
    pooling = {"pooling": 0.0} if span == "affine" else {}
    frame = JointFrame.fit(A, B, span=span, **pooling)
    size = frame.differences if span == "affine" else np.abs(frame.angles - math.pi / 4)
    small = frame.truncate(n=25)
    kept = size >= np.sort(size)[-25]
    assert small.rank == np.sum(kept) < frame.rank
    assert small.dropped == frame.rank - small.rank
    assert sum(small.blocks) == small.rank
    np.testing.assert_allclose(small.coordinates(A), frame.coordinates(A)[:, kept])
    np.testing.assert_allclose(small.shifts, frame.shifts[kept], rtol=1e-12)
    # Costs are sums over directions, so what is left out is only missing from the sum.
    a = -frame.shifts[kept] / 2 if span == "affine" else 0.0
    y = frame.coordinates(A)[:, kept] - a
    squared = frame.dof + np.sum((y / small.c) ** 2, axis=1)
    np.testing.assert_allclose(small.align(A).cost_a, np.sqrt(squared))
    whole = small.rank + small.dropped
    assert repr(small).endswith(f"rank {small.rank} of {whole}, shrinkage {frame.shrinkage:g})")


def test_outside_still_means_outside_both_sets():
    pair = mixed_pair(13)
    frame = JointFrame.fit(pair.A, pair.B, **RAW)
    Z = np.random.default_rng(13).standard_normal((20, 14))
    np.testing.assert_allclose(frame.truncate(n=3).align(Z).outside, frame.align(Z).outside)
    assert frame.align(frame.H).outside.max() < 1e-12


def test_directions_off_a_span_go_first():
    rng = np.random.default_rng(14)
    A, B, Z = rng.standard_normal((10, 90)), rng.standard_normal((12, 90)), rng.random((6, 90))
    given = {"span": "linear", "shrinkage": 0.1, "units": "common"}
    frame = JointFrame.fit(A, 2 * B, **given)
    # The same frame with all its 90 directions written out: ten times the rows, more than columns.
    many = [cospan.Summary.of(np.tile(rows, (10, 1)), exact=False) for rows in (A, 2 * B)]
    dense = JointFrame.from_summaries(*many, **given)
    assert frame.basis is not None
    assert dense.rank == 90
    small, expected = frame.truncate(n=15), dense.truncate(n=15)
    assert small.basis is None
    assert small.rank == expected.rank
    assert small.dropped == expected.dropped == 90 - small.rank
    assert frame.truncate(n=frame.rank).dropped == 90 - frame.rank
    assert dense.truncate(n=90) is dense
    np.testing.assert_allclose(small.align(Z).theta, expected.align(Z).theta, atol=1e-7)


def test_of_directions_that_only_one_set_has_the_longer_ones_stay():
    """Neither side is favoured: swapping A and B keeps the same vectors."""
    pair = mixed_pair(16, only_a=4, only_b=4, d=16)
    kept = JointFrame.fit(pair.A, 3 * pair.B, **RAW).truncate(n=4)
    swapped = JointFrame.fit(3 * pair.B, pair.A, **RAW).truncate(n=4)
    assert kept.blocks == swapped.blocks[::-1] == (0, 0, 4)


def test_a_truncated_frame_refuses_leave_one_out(digits_pair):
    A, B = digits_pair
    small = JointFrame.fit(A, B).truncate(n=10)
    with pytest.raises(InputError, match="truncated frame has no leave-one-out angles"):
        small.leave_one_out(A, B)


# ---- other namespaces, and what is refused ----------------------------------------------------


def test_torch_frames_have_torch_directions(digits_pair):
    torch = importlib.import_module("torch")
    A, B = digits_pair
    frame = JointFrame.fit(A, B, shrinkage=0.1)
    there = JointFrame.fit(torch.asarray(A), torch.asarray(B), shrinkage=0.1)
    found = extreme_directions(there, "B", 3)
    assert isinstance(found.vectors, torch.Tensor)
    expected = extreme_directions(frame, "B", 3)
    np.testing.assert_allclose(found.vectors.numpy(), expected.vectors, atol=1e-8)
    small = there.truncate(n=30)
    np.testing.assert_allclose(
        small.align(torch.asarray(A)).theta.numpy(), frame.truncate(n=30).align(A).theta, atol=1e-9
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: extreme_directions(f, "C", 1), "side is 'C'"),
        (lambda f: extreme_directions(f, "A", 0), "n must be a whole number of at least 1, not 0"),
        (lambda f: extreme_directions(f, "A", True), "not True"),
        (lambda f: extreme_directions(f, "A", 7), "n is 7, but the frame has 6 shared directions"),
        (lambda f: shared_directions(f, 2.5), "not 2.5"),
        (lambda f: f.truncate(n=11), "n is 11, but the frame has 10 directions"),
        (lambda f: f.prepared(np.ones((2, 14)), "C"), "side is 'C'"),
    ],
)
def test_what_is_refused(call, message):
    pair = mixed_pair(15)
    frame = JointFrame.fit(pair.A, pair.B, **RAW)
    with pytest.raises(CospanError, match=message):
        call(frame)


def test_nothing_shared_says_so():
    A, B = np.eye(4)[:2], np.eye(4)[2:]
    with pytest.warns(cospan.errors.CospanWarning, match="share no direction"):
        frame = JointFrame.fit(A, B, **RAW)
    with pytest.raises(InputError, match=r"0 shared directions.*fit it with shrinkage > 0"):
        extreme_directions(frame, "A")


@pytest.mark.filterwarnings("ignore:A .* share no direction")
def test_an_empty_side_has_directions():
    A = np.random.default_rng(0).standard_normal((9, 4))
    frame = JointFrame.fit(A, 0 * A, span="linear", center="none", shrinkage=0)
    assert frame.directions.block.tolist() == ["A-only"] * 4
