"""Dask collections give what the same rows in memory give, on any scheduler."""

import importlib
import os
import pickle
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary, compare
from cospan.data import encode, open_source
from cospan.distributed import _for_workers
from cospan.errors import InputError

# A cluster of Dask's leaves sockets to the garbage collector now and then: not ours to close.
needs_cluster = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def rows(n, d=12, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + shift


def lazy(X, size=70):
    return da.from_array(X, chunks=(size, X.shape[1]))


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("size", [7, 70, 1000])
def test_any_blocks_give_the_same_summary(exact, size):
    X = rows(600)
    found, expected = Summary.of(lazy(X, size), exact=exact), Summary.of(X, exact=True)
    assert found.exact == exact
    assert (found.n, found.count) == (600, 600)
    assert_allclose(found.mean, expected.mean, atol=1e-12)
    assert_allclose(found.scatter_about(), expected.scatter_about(), rtol=1e-9, atol=1e-9)


def test_the_sample_is_of_all_rows_and_knows_their_numbers():
    X = rows(500)
    sample = Summary.of(lazy(X), sample_size=100).sample
    assert len(sample) == 100
    assert len(set(sample.index)) == 100
    assert_allclose(X[sample.index], sample.rows)
    assert sample.index.min() < 70 < 430 < sample.index.max()


def test_weights_go_with_their_rows():
    X = rows(300)
    w = np.random.default_rng(1).integers(0, 3, 300).astype(float)
    w[:70] = 0  # a whole block that does not count
    found, expected = Summary.of(lazy(X), w), Summary.of(X, w)
    assert found.n == expected.n
    assert_allclose(found.scatter_about(), expected.scatter_about(), atol=1e-9)
    lazily = Summary.of(lazy(X), da.from_array(w, chunks=50))
    assert_allclose(lazily.mean, expected.mean)


def test_blocks_of_columns_are_brought_together():
    X = rows(200)
    found = Summary.of(da.from_array(X, chunks=(50, 5)))
    assert_allclose(found.mean, X.mean(axis=0))


SETTINGS = {
    "everything chosen": {},
    "no shrinkage": {"shrinkage": 0},
    "own units": {"shrinkage": 0.01, "units": "own"},
    "pooled": {"shrinkage": 0.01, "pooling": 0.3},
    "linear": {"span": "linear", "shrinkage": 0.01},
    "the paper's": {"preset": "paper"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_frames_and_angles_equal_those_in_memory(settings):
    A, B, Z = rows(400), rows(350, seed=1, shift=0.5), rows(150, seed=2)
    expected = JointFrame.fit(A, B, **settings)
    found = JointFrame.fit(lazy(A), lazy(B), **settings)
    for name in ("span", "units", "shrinkage", "pooling", "dof"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.gain == pytest.approx(expected.gain, rel=1e-6)
    scored = found.align(lazy(Z))
    assert isinstance(scored.theta, da.Array)
    theta, degrees, relational = dask.compute(scored.theta, scored.degrees, scored.relational)
    assert_allclose(theta, expected.align(Z).theta, atol=1e-8)
    assert_allclose(degrees, expected.align(Z).degrees, atol=1e-6)
    assert relational.dtype == bool


def test_what_is_sent_is_small():
    """A frame to score with is some d × d numbers."""
    A, B = rows(300, d=50), rows(280, d=50, seed=1)
    frame = JointFrame.fit(A, B, shrinkage=0.1)
    frame.left_out(A[:1], "A")  # what it keeps for itself is not sent along
    assert len(pickle.dumps(_for_workers(frame))) < 2.5 * 8 * 50 * 50


def test_dataframes_keep_their_names_and_are_checked():

    X = rows(120, d=3)
    table = pd.DataFrame(X, columns=["x", "y", "z"])
    collection = dd.from_pandas(table, npartitions=3)
    summary = Summary.of(collection)
    assert summary.feature_names == ("x", "y", "z")
    assert_allclose(summary.mean, X.mean(axis=0))
    frame = JointFrame.from_summaries(summary, Summary.of(table + 1), shrinkage=0.1)
    assert_allclose(frame.align(collection).theta.compute(), frame.align(table).theta, atol=1e-12)
    with pytest.raises(InputError, match="another order"):
        frame.align(collection[["y", "x", "z"]])


def test_errors_say_what_is_wrong():
    frame = JointFrame.fit(rows(100), rows(100, seed=1))
    with pytest.raises(InputError, match="two dimensions"):
        Summary.of(da.zeros(10))
    with pytest.raises(InputError, match="12 features"):
        frame.align(da.zeros((10, 5)))
    with pytest.raises(InputError, match="B is a Dask collection; compute"):
        frame.left_out(lazy(rows(10)), "B")
    with pytest.raises(InputError, match="no rows"):
        Summary.of(da.zeros((0, 4)))
    bad = rows(100)
    bad[73, 2] = np.nan
    with pytest.raises(InputError, match="NaN"):
        Summary.of(lazy(bad))


@needs_cluster
def test_the_loss_of_a_worker_is_survived(tmp_path):
    distributed = importlib.import_module("distributed")
    X = rows(2000)
    marker = tmp_path / "begun"
    path = str(marker)

    def slow_block(block):
        """A block that takes a while, and says that its worker has begun."""
        # Inside the test, so that it travels whole: workers need not find this file.
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(0.1)
        return block

    settings = {"distributed.scheduler.allowed-failures": 10, "distributed.admin.tick.limit": "60s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        dask.config.set(scheduler="distributed"),
    ):
        slow = lazy(X, 50).map_blocks(slow_block, meta=np.empty((0, 0)))
        found = []
        work = threading.Thread(target=lambda: found.append(Summary.of(slow)))
        work.start()
        while not marker.exists() or len(marker.read_text().split()) < 10:
            assert work.is_alive(), "the work ended before ten blocks had begun"
            time.sleep(0.02)
        victim = int(marker.read_text().split()[-1])
        os.kill(victim, signal.SIGKILL)
        work.join(timeout=60)
        begun = marker.read_text().split()
    assert len(found) == 1
    assert_allclose(found[0].scatter_about(), Summary.of(X).scatter_about(), atol=1e-8)
    assert len(begun) > 40, "the dead worker's blocks were not computed again"


def test_compare_takes_collections():

    A, B = rows(400), rows(350, seed=1, shift=0.5)
    found = compare(lazy(A), lazy(B), n_permutations=19)
    expected = compare(A, B, n_permutations=19)
    assert found.frame.shrinkage == expected.frame.shrinkage
    assert found.groups[0].n == 400
    assert_allclose(found.frame.angles, expected.frame.angles, atol=1e-8)
    order = np.argsort(found.groups[0].ids)
    assert_allclose(
        found.groups[0].alignment.theta[order], expected.groups[0].alignment.theta, atol=1e-8
    )


def test_sources_read_collections_block_by_block():
    from cospan.data import open_source

    X = rows(100)
    source = open_source(lazy(X, 30))
    assert (source.n_rows, source.n_features) == (100, 12)
    assert_allclose(source.read().rows, X)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        open_source(lazy(X)[lazy(X)[:, 0] > 0])


def test_alignments_of_unknown_length_have_posteriors_and_say_so():
    A, B = rows(120, d=4, seed=1), rows(100, d=4, seed=2)
    frame = JointFrame.fit(A, B, shrinkage=0.1)
    keep = da.from_array(np.arange(120) % 3 > 0, chunks=50)
    lazy = frame.align(da.from_array(A, chunks=(50, 4))[keep])
    expected = frame.align(A[np.arange(120) % 3 > 0])
    assert_allclose(lazy.posterior.compute(), expected.posterior, rtol=0, atol=1e-15)
    assert repr(lazy) == "Alignment(lazy, 'cost')"
    with pytest.raises(InputError, match="not known before"):
        len(lazy)


def test_a_bad_value_is_found_in_its_block():
    X = rows(100, d=3)
    X[70, 1] = np.nan
    with pytest.raises(InputError, match=r"block 2 of 4, from 0\).*row 10, column 1"):
        Summary.of(da.from_array(X, chunks=(30, 3)))
    frame = JointFrame.fit(rows(50, d=3, seed=1), rows(50, d=3, seed=2), shrinkage=0.1)
    with pytest.raises(InputError, match=r"^Block 2 \(from 0\): Z contains NaN at row 10"):
        frame.align(da.from_array(X, chunks=(30, 3))).theta.compute()


def mixed_rows(seed=0, rows=90):
    rng = np.random.default_rng(seed)
    values = {f"x{j}": rng.normal(size=rows) + j * seed for j in range(3)}
    return pd.DataFrame(
        {
            "key": [f"row {i}" for i in range(rows)],
            **values,
            "count": rng.integers(0, 9, rows),
            "kind": np.array(["cat", "dog", "cow"])[np.arange(rows) % 3],
        }
    )


def test_identifiers_and_labels_come_with_the_rows():
    dd = importlib.import_module("dask.dataframe")
    with importlib.import_module("dask").config.set(scheduler="synchronous"):
        frame = dd.from_pandas(mixed_rows(), npartitions=3)
        (source,) = encode([open_source(frame, label="kind", id_column="key")])
        chunk = source.read()
    assert chunk.ids.tolist() == mixed_rows()["key"].tolist()
    assert chunk.labels.tolist() == mixed_rows()["kind"].tolist()
    assert source.feature_names == ("x0", "x1", "x2", "count")


def test_bad_columns_are_said():
    dd = importlib.import_module("dask.dataframe")
    frame = dd.from_pandas(mixed_rows(), npartitions=2)
    with pytest.raises(InputError, match=r"no column is called 'nothing' \(asked for by columns="):
        encode([open_source(frame, columns=["nothing"])])
