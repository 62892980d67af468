"""Streams: any chunking and any merge order give the batch's angles, in constant memory."""

import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary
from cospan.errors import InputError
from cospan.summary.moments import Moments, MomentTree, merged


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
    monkeypatch.setattr("cospan.summary._BLOCK_ROWS", 50)


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
    a, b = (Summary.of(part)._moments for part in (X, Y))
    both = merged(a, b, factors=True)
    whole = Summary.of(np.concatenate((X, Y)))
    assert both.scatter.shape == (20, 20)
    assert np.all(np.tril(both.scatter, -1) == 0)
    assert_allclose(both.scatter.T @ both.scatter, whole.scatter_about(), rtol=1e-9, atol=1e-9)
    assert both.trace == pytest.approx(whole.trace)


def test_the_tree_is_balanced():
    tree = MomentTree(None)
    X = rows(800)
    for part in np.array_split(X, 11):
        tree.add([part], None)
    assert [level for level, _ in tree._nodes] == [3, 1, 0]
    found = tree.finish()
    assert isinstance(found, Moments)
    assert_allclose(found.mean, X.mean(axis=0), atol=1e-12)


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


def test_a_large_offset_does_not_drown_the_spread():
    X = rows(2000, shift=1e6)
    for exact in (True, False):
        found = Summary.of_chunks(cut(X, (123,)), exact=exact)
        centred = X - X.mean(axis=0)
        assert_allclose(found.scatter_about(), centred.T @ centred, rtol=1e-6, atol=1e-4)


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
    whole, honest = frame.align(Z), frame.left_out(A, "A", sample_weight=np.linspace(0.5, 2, 300))
    monkeypatch.setattr("cospan.frame.scorer._HOST_BYTES", 1)
    assert_allclose(frame.align(Z).theta, whole.theta, atol=1e-12)
    pieces = frame.left_out(A, "A", sample_weight=np.linspace(0.5, 2, 300))
    assert_allclose(pieces.theta, honest.theta, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(monkeypatch, dtype):
    """What a machine of several cores does, on any machine."""
    A, B = rows(900, d=130, dtype=dtype), rows(800, d=130, seed=1, dtype=dtype)
    expected = JointFrame.fit(A, B, shrinkage=0.1)
    monkeypatch.setattr("cospan._arrays.host_threads", lambda *arrays: 3)
    monkeypatch.setattr("cospan._arrays._THREADED_SIZE", 1)
    monkeypatch.setattr("cospan.frame.scorer._HOST_BYTES", 1)
    pair = [Summary.of_chunks(cut(X, (77, 401)), exact=False) for X in (A, B)]
    found = JointFrame.from_summaries(*pair, shrinkage=0.1)
    atol = 1e-8 if dtype == np.float64 else 2e-5  # radians; 1e-3 degrees
    assert_allclose(found.align(A).theta, expected.align(A).theta, atol=atol)
    bad = A.copy()
    bad[700, 3] = np.inf
    with pytest.raises(InputError, match="Inf at row 700, column 3"):
        Summary.of(bad)
