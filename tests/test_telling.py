"""The rows a reader will ask about keep their values, however many rows the set has."""

import numpy as np
import pytest

from cospan import JointFrame, compare
from cospan.comparison.telling import Telling


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6_000, 3)), rng.normal(size=(5_000, 3)) + np.array([1.5, 0, 0])
    A[:5] = [40, -40, 0]
    return A, B


def test_the_rows_most_like_the_other_set_have_values(sets):
    found = compare(*sets, n_permutations=0)
    for group, sign in ((found.group_a, -1), (found.group_b, 1)):
        theta = np.asarray(group.alignment.theta)
        first = np.argsort(sign * theta, kind="stable")[:100]
        border = np.argsort(np.abs(theta - np.pi / 4), kind="stable")[:100]
        assert set(group.telling.row_index) >= set(first) | set(border)
    values = found.group_a.telling
    np.testing.assert_array_equal(values.rows, sets[0][values.row_index])
    assert set(range(5)) <= set(values.row_index)  # the rows that neither set finds usual
    assert values.attribution.shape == values.rows.shape


def test_chunks_give_the_same_rows_as_the_whole(sets):
    frame = JointFrame.fit(*sets)
    A, labels = sets[0], np.arange(6_000) % 2
    whole, parts = Telling(None, 20), Telling(None, 20)
    whole.add(frame.align(A), A, labels)
    for start in range(0, 6_000, 700):
        part = slice(start, start + 700)
        parts.add(frame.align(A[part]), A[part], labels[part])
    np.testing.assert_array_equal(whole.positions, parts.positions)
    rows, place = parts.among(np.arange(0, 6_000, 2))
    np.testing.assert_array_equal(rows, A[2 * place])
