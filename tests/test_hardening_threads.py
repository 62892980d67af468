"""Comparisons in many threads: what belongs to the process is left as it was, results are equal."""

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from PIL import Image
from threadpoolctl import ThreadpoolController

from cospan import compare
from cospan.base import arrays as _arrays
from cospan.data import open_source
from cospan.errors import CospanWarning


def blas_threads():
    pools = ThreadpoolController().select(user_api="blas").info()
    return sorted((pool["filepath"], pool["num_threads"]) for pool in pools)


def state():
    umask = os.umask(0o022)
    os.umask(umask)
    filters = list(warnings.filters)
    return warnings.showwarning, warnings._showwarnmsg_impl, filters, umask, blas_threads()


@pytest.fixture
def two_blas_threads():
    """As the user's process has it: set, and not held by a context that is still open."""
    limit = ThreadpoolController().limit(limits=2, user_api="blas")
    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    yield
    limit.restore_original_limits()


def frame(seed):
    rng = np.random.default_rng(seed)
    values = {f"x{j}": rng.normal(size=120) for j in range(4)}
    return pd.DataFrame({**values, "name": [f"row {k} of {seed}" for k in range(120)]})


def images(folder):
    folder.mkdir()
    rng = np.random.default_rng(1)
    for number in range(12):
        pixels = rng.integers(0, 255, (6, 6), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


@pytest.mark.usefixtures("two_blas_threads")
def test_forty_comparisons_in_eight_threads_leave_no_trace(tmp_path):
    a, b = frame(0), frame(1)
    folder = images(tmp_path / "images")
    with warnings.catch_warnings():
        warnings.simplefilter("always", CospanWarning)
        warnings.showwarning = lambda *args, **kwargs: None
        before = state()

        def work(number):
            if number % 10 == 0:
                return open_source(str(folder)).read().rows.sum(), ("images",)
            found = compare(a, b, n_permutations=19)
            theta = np.concatenate([group.alignment.theta for group in found.groups])
            return float(np.sum(theta)), found.warnings

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(work, range(40)))
        assert state() == before
    assert len(set(results)) == 2
    # every call heard its own warning, and once
    remarks = [w for _, w in results if w != ("images",)]
    assert all(sum("Left out: 'name'" in note.text for note in w) == 1 for w in remarks)


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_given_back_by_the_last_thread_that_limits_it():
    """First in, first out: the order that could leave BLAS with one thread."""
    before = blas_threads()
    second_in, first_out = threading.Event(), threading.Event()

    def first():
        with _arrays.one_blas_thread():
            second_in.wait(10)
        first_out.set()

    def second():
        with _arrays.one_blas_thread():
            second_in.set()
            first_out.wait(10)
            assert {n for _, n in blas_threads()} == {1}

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_each_comparison_has_its_own_warnings():
    names, gate = ("first", "second"), threading.Barrier(2)

    def work(column):
        tables = [frame(seed).rename(columns={"name": column}) for seed in (0, 1)]
        gate.wait(10)
        return " ".join(map(str, compare(*tables, n_permutations=19).warnings))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CospanWarning)
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(work, names))
    for text, own, other in zip(found, names, names[::-1], strict=True):
        assert text.count(f"Left out: '{own}'") == 1
        assert f"'{other}'" not in text
