"""The rows a reader will ask about keep their values, however many rows the set has."""

import numpy as np
import pytest

from cospan import JointFrame, compare
from cospan.comparison.scoring import NotableRows


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6_000, 3)), rng.normal(size=(5_000, 3)) + np.array([1.5, 0, 0])
    A[:5] = [40, -40, 0]
    return A, B


def test_the_rows_most_like_the_other_set_have_values(sets):
    found = compare(*sets, n_permutations=19)
    for group, sign in ((found.groups[0], -1), (found.groups[1], 1)):
        theta = np.asarray(group.alignment.theta)
        first = np.argsort(sign * theta, kind="stable")[:100]
        border = np.argsort(np.abs(theta - np.pi / 4), kind="stable")[:100]
        assert set(group.notable.row_index) >= set(first) | set(border)
    values = found.groups[0].notable
    np.testing.assert_array_equal(values.rows, sets[0][values.row_index])
    assert set(range(5)) <= set(values.row_index)  # the rows that neither set finds usual


def test_chunks_give_the_same_rows_as_the_whole(sets):
    frame = JointFrame.fit(*sets)
    A, labels = sets[0], np.arange(6_000) % 2
    whole, parts = NotableRows(20), NotableRows(20)
    theta = np.asarray(frame.align(A).theta)
    ranks = np.column_stack([theta, np.where(labels, -theta, np.nan)])
    whole.add(ranks, A)
    for start in range(0, 6_000, 700):
        part = slice(start, start + 700)
        parts.add(ranks[part], A[part])
    every = np.arange(6_000)
    np.testing.assert_array_equal(whole.among(every).row_index, parts.among(every).row_index)
    rows, place = parts.among(np.arange(0, 6_000, 2))
    np.testing.assert_array_equal(rows, A[2 * place])


def test_of_more_sets_too():
    rng = np.random.default_rng(0)
    sets = {name: rng.normal(k, 1, (3_000, 2)) for k, name in enumerate("xyz")}
    Z = rng.normal(1, 1, (500, 2))
    found = compare(sets, Z=Z, n_permutations=19)
    for group, rows in zip(found.every_group, (*sets.values(), Z), strict=True):
        np.testing.assert_array_equal(group.notable.rows, rows[group.notable.row_index])
    known = {i + 3_000 * k for k, one in enumerate(found.groups) for i in one.notable.row_index}
    flagged = np.flatnonzero(found.audit.flagged)
    worst = flagged[np.argsort(-np.asarray(found.audit.suspicion)[flagged], kind="stable")[:20]]
    assert len(worst) == 20
    assert set(worst) <= known
    assert all(row.values is not None for row in found.rows[:20])
