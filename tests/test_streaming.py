"""Streams: any chunking and any merge order give the batch's angles, in constant memory."""

import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary
from cospan.errors import InputError
from cospan.summary.summary import merged


def rows(n, d=20, seed=0, shift=0.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + shift).astype(dtype)


def cut(X, sizes):
    """X in chunks of these sizes, over and over."""
    start, sizes = 0, itertools.cycle(sizes)
    while start < len(X):
        size = next(sizes)
        yield X[start : start + size]
        start += size


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 50 rows, so that a few hundred make a tree of some depth."""
    monkeypatch.setattr("cospan.summary.builder.BLOCK_ROWS", 50)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shrinkage", [0, 0.01])
@pytest.mark.parametrize("sizes", [(1,), (3, 50, 7), (49, 1, 100), (1000,)])
@pytest.mark.parametrize("exact", [True, False])
def test_any_chunking_gives_the_angles_of_the_batch(exact, sizes, shrinkage):
    if shrinkage == 0 and not exact:
        shrinkage = 0.001
    A, B, Z = rows(777), rows(640, seed=1, shift=3.0), rows(90, seed=2)
    batch = JointFrame.fit(A, B, shrinkage=shrinkage)
    pair = [Summary.of_chunks(cut(X, sizes), exact=exact) for X in (A, B)]
    found = JointFrame.from_summaries(*pair, shrinkage=shrinkage)
    assert_allclose(found.align(Z).theta, batch.align(Z).theta, atol=1e-8)
    left_out = [one.left_out(A, "A").theta for one in (found, batch)]
    assert_allclose(*left_out, atol=1e-8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("span", ["affine", "linear"])
def test_a_stream_chooses_what_the_batch_chooses(exact, span):
    """Units, α, ν and γ, gain and zero: every row of a short stream is in its sample."""
    A, B, Z = rows(777), rows(640, seed=1, shift=3.0), rows(90, seed=2)
    batch = JointFrame.fit(A, B, span=span)
    pair = [Summary.of_chunks(cut(X, (49, 1, 100)), exact=exact) for X in (A, B)]
    found = JointFrame.from_summaries(*pair, span=span)
    for name in ("units", "shrinkage", "dof", "pooling"):
        assert getattr(found, name) == getattr(batch, name)
    assert found.gain == pytest.approx(batch.gain, rel=1e-6)
    assert_allclose(found.align(Z).theta, batch.align(Z).theta, atol=1e-7)


@pytest.mark.usefixtures("small_blocks")
def test_merge_order_does_not_matter():
    X, Y, Z = rows(400), rows(300, seed=1), rows(50, seed=2)
    parts = [Summary.of(part) for part in np.array_split(X, 9)]
    other = Summary.of(Y)
    expected = JointFrame.from_summaries(Summary.of(X), other, shrinkage=0).align(Z).theta
    for order in (range(9), range(8, -1, -1), np.random.default_rng(0).permutation(9)):
        total = parts[order[0]]
        for i in order[1:]:
            total = total + parts[i]
        found = JointFrame.from_summaries(total, other, shrinkage=0).align(Z).theta
        assert_allclose(found, expected, atol=1e-8)


def test_triangles_merge_like_their_rows():
    X, Y = rows(100), rows(80, seed=1, shift=2.0)
    a, b = (Summary.of(part).moments for part in (X, Y))
    both = merged(a, b, factors=True)
    whole = Summary.of(np.concatenate((X, Y)))
    assert both.scatter.shape == (20, 20)
    assert np.all(np.tril(both.scatter, -1) == 0)
    assert_allclose(both.scatter.T @ both.scatter, whole.scatter_about(), rtol=1e-9, atol=1e-9)
    assert both.trace == pytest.approx(whole.moments.trace)


@pytest.mark.parametrize("exact", [True, False])
def test_a_reused_buffer_does_no_harm(exact):
    """A reader may hand out the same memory for every chunk."""
    X = rows(300)

    def chunks():
        buffer = np.empty((45, 20))
        for part in cut(X, (45,)):
            buffer[: len(part)] = part
            yield buffer[: len(part)]

    found = Summary.of_chunks(chunks(), exact=exact)
    assert_allclose(found.scatter_about(), Summary.of(X).scatter_about(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_users_rows_are_not_changed(exact, dtype):
    X = rows(200, dtype=dtype)
    for order in "CF":
        given = np.array(X, order=order)
        Summary.of(given, np.linspace(1, 2, 200), exact=exact)
        Summary.of(given, exact=exact)
        assert np.array_equal(given, X)


def weighted_pair(span):
    A, B, Z = rows(120), rows(100, seed=1, shift=1.0), rows(60, seed=2)
    w = np.random.default_rng(3).integers(0, 4, 120)
    weighted = JointFrame.fit(A, B, sample_weight_a=w, span=span, shrinkage=0.1)
    repeated = JointFrame.fit(np.repeat(A, w, axis=0), B, span=span, shrinkage=0.1)
    return weighted, repeated, A, w, Z


@pytest.mark.parametrize("span", ["affine", "linear"])
def test_weighted_rows_are_repeated_rows(span):
    weighted, repeated, A, w, Z = weighted_pair(span)
    assert weighted.gain == pytest.approx(repeated.gain, rel=1e-9)
    assert_allclose(weighted.align(Z).theta, repeated.align(Z).theta, atol=1e-10)
    kept = w > 0
    left_out = weighted.left_out(A[kept], "A", sample_weight=w[kept])
    assert_allclose(left_out.theta, repeated.left_out(A[kept], "A").theta, atol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"units": "own"}, {"shrinkage": 0}, {"span": "linear"}])
def test_float32_rows_far_from_zero_score_like_float64(settings):
    """Offset 1e6, spread about 1: the same numbers, held in either precision."""
    A, B, Z = (
        (rows(300, d=5, seed=seed, shift=seed) + 1e6).astype(np.float32) for seed in range(3)
    )
    coarse = JointFrame.fit(A, B, **settings)
    fine = JointFrame.fit(A.astype(float), B.astype(float), **settings)
    found, expected = coarse.align(Z), fine.align(Z.astype(float))
    assert np.ptp(expected.degrees) > 30
    assert_allclose(found.degrees, expected.degrees, atol=1e-3)
    left_out = [one.left_out(A.astype(float), "A").degrees for one in (coarse, fine)]
    assert_allclose(*left_out, atol=1e-3)


def test_features_of_very_different_sizes_change_no_angle():
    A, B, Z = rows(60, d=5), rows(50, d=5, seed=1, shift=1.0), rows(40, d=5, seed=2)
    scale = np.array([1, 1, 1e-130, 1, 1e100])
    expected = JointFrame.fit(A, B, units="own").align(Z).degrees
    found = JointFrame.fit(scale * A, scale * B, units="own").align(scale * Z).degrees
    assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("weighted", [False, True])
def test_merging_far_from_zero_loses_no_digits(offset, weighted):
    """A mean near 1e9 is rounded by 1e-7; what merging makes of two must not be."""
    X = rows(2000, d=6, shift=offset)
    X[::2] += 1.0
    near = X - offset  # without rounding: both are of one size
    weight = np.linspace(1, 3, 2000) if weighted else np.ones(2000)
    centred = near - weight @ near / weight.sum()
    expected = (centred.T * weight) @ centred
    parts = [slice(0, 500), slice(500, 1300), slice(1300, 1400), slice(1400, 2000)]
    made = [Summary.of(X[part], weight[part] if weighted else None) for part in parts]
    found = sum(made[1:], made[0]).scatter_about()
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize("exact", [True, False])
def test_memory_does_not_grow_with_the_rows(exact):
    def peak(chunks):
        block = rows(4000, d=64, dtype=np.float32)
        tracemalloc.start()
        Summary.of_chunks((block for _ in range(chunks)), exact=exact)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(24) < 1.2 * peak(8)


def test_scoring_in_pieces_is_scoring(monkeypatch):
    A, B, Z = rows(300), rows(300, seed=1), rows(500, seed=2)
    frame = JointFrame.fit(A, B)
    whole, left_out = frame.align(Z), frame.left_out(A, "A", sample_weight=np.linspace(0.5, 2, 300))
    monkeypatch.setattr("cospan.model.scoring.HOST_ENTRIES", 1)
    assert_allclose(frame.align(Z).theta, whole.theta, atol=1e-12)
    pieces = frame.left_out(A, "A", sample_weight=np.linspace(0.5, 2, 300))
    assert_allclose(pieces.theta, left_out.theta, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(monkeypatch, dtype):
    """What a machine of several cores does, on any machine."""
    A, B = rows(900, d=130, dtype=dtype), rows(800, d=130, seed=1, dtype=dtype)
    expected = JointFrame.fit(A, B, shrinkage=0.1)
    monkeypatch.setattr("cospan.base.arrays.host_threads", lambda *arrays: 3)
    monkeypatch.setattr("cospan.model.scoring.HOST_ENTRIES", 1)
    pair = [Summary.of_chunks(cut(X, (77, 401)), exact=False) for X in (A, B)]
    found = JointFrame.from_summaries(*pair, shrinkage=0.1)
    atol = 1e-8 if dtype == np.float64 else 2e-5  # radians; 1e-3 degrees
    assert_allclose(found.align(A).theta, expected.align(A).theta, atol=atol)
    bad = A.copy()
    bad[700, 3] = np.inf
    with pytest.raises(InputError, match="Inf at row 700, column 3"):
        Summary.of(bad)
