"""More features than rows: exactly in the row space."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cospan import JointFrame, Summary
from cospan.model import PreparedSets, SetCosts, WorkingSets


def wide(p, d, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((p, d)) * np.geomspace(3, 0.1, d) + shift


def direct_costs(A, B, Z, shrinkage, units):
    """a² and b² of the affine span by solving with the d x d matrices, as the definition has it."""
    S = [(X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) / len(X) for X in (A, B)]
    variance = (np.diag(S[0]) + np.diag(S[1])) / 2
    target = np.diag(variance if units == "own" else np.full(len(variance), variance.mean()))
    costs = []
    for X, s in zip((A, B), S, strict=True):
        z = Z - X.mean(axis=0)
        solved = np.linalg.solve((1 - shrinkage) * s + shrinkage * target, z.T)
        costs.append(1 + np.einsum("ij,ji->i", z, solved))
    return costs


def linear_costs(A, B, Z, shrinkage):
    """a² and b² of the linear span about the midpoint of the means."""
    center = (A.mean(axis=0) + B.mean(axis=0)) / 2
    S = [(X - center).T @ (X - center) / len(X) for X in (A, B)]
    d = A.shape[1]
    ridge = shrinkage * (np.trace(S[0]) + np.trace(S[1])) / (2 * d) * np.eye(d)
    z = Z - center
    return [np.einsum("ij,ji->i", z, np.linalg.solve((1 - shrinkage) * s + ridge, z.T)) for s in S]


@pytest.mark.parametrize("shrinkage", [0.001, 0.1, 0.7])
@pytest.mark.parametrize("units", ["own", "common", "linear"])
def test_few_rows_give_what_the_full_matrices_give(shrinkage, units):
    A, B, Z = wide(15, 120), wide(12, 120, 1, 0.2), wide(30, 120, 2)
    if units == "linear":
        frame = JointFrame.fit(A, B, shrinkage=shrinkage, span="linear")
        a, b = linear_costs(A, B, Z, shrinkage)
    else:
        frame = JointFrame.fit(A, B, shrinkage=shrinkage, units=units, dof=1, pooling=0)
        a, b = direct_costs(A, B, Z, shrinkage, units)
    assert frame.basis is not None
    assert frame.rank < 30
    scored = frame.align(Z)
    assert_allclose(scored.cost_a**2, a, rtol=1e-8)
    assert_allclose(scored.cost_b**2, b, rtol=1e-8)


def as_matrix(X):
    """The fast summary of X with its scatter as a matrix, few as the rows may be."""
    few = Summary.of(X, exact=False)
    scatter = few.scatter_about()
    moments = few.moments._replace(scatter=scatter, factored=False)
    return replace(few, moments=moments, _holds_rows=False)


@pytest.mark.parametrize("units", ["own", "common"])
@pytest.mark.parametrize("pooling", [0, 0.4])
def test_few_rows_give_what_the_same_rows_give_without_a_span(units, pooling):
    """A full matrix, as a fast summary of many rows has it, leaves no span to work in."""
    A, B, Z = wide(15, 60), wide(12, 60, 1, 0.2), wide(30, 60, 2)
    settings = {"shrinkage": 0.1, "units": units, "pooling": pooling, "dof": 3}
    few = JointFrame.fit(A, B, **settings)
    full = JointFrame.from_summaries(*(as_matrix(X) for X in (A, B)), **settings)
    assert few.basis is not None
    assert full.basis is None
    assert few.gain == pytest.approx(full.gain, rel=1e-6)
    assert few.parts.total == pytest.approx(full.parts.total, rel=1e-8)
    assert_allclose(few.align(Z).theta, full.align(Z).theta, atol=1e-8)
    for side, X in (("A", A), ("B", B)):
        assert_allclose(few.left_out(X, side).theta, full.left_out(X, side).theta, atol=1e-8)
    costs = SetCosts.from_summaries([Summary.of(X) for X in (A, B)], **settings)
    assert_allclose(costs.weights(Z), few.align(Z).posterior, atol=1e-8)


def test_the_automatic_shrinkage_sees_the_rows_it_holds():
    """Few rows are tried out of the factor that holds them; a sample of all of them agrees."""
    A, B = wide(25, 300), wide(20, 300, 1, 0.2)
    held = JointFrame.fit(A, B).shrinkage
    summaries = [Summary.of(X) for X in (A, B)]
    assert all(summary._holds_rows for summary in summaries)
    assert JointFrame.from_summaries(*summaries).shrinkage == held
    sampled = [Summary.of(X[:10]) + Summary.of(X[10:]) for X in (A, B)]
    assert not any(summary._holds_rows for summary in sampled)
    assert JointFrame.from_summaries(*sampled).shrinkage == held


def test_wide_rows_never_need_memory_of_the_features_squared():
    A, B = wide(30, 20_000), wide(20, 20_000, 1)
    rows = A.nbytes + B.nbytes
    tracemalloc.start()
    JointFrame.fit(A, B)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.2 * rows, f"{peak / rows:.1f} times the rows"


def chunks_of(X, size):
    return (X[i : i + size] for i in range(0, len(X), size))


def test_a_stream_of_few_rows_needs_no_matrix_either():
    """How many rows will come is not known beforehand, so a fast summary waits for the matrix."""
    A, B = wide(30, 20_000), wide(20, 20_000, 1)
    rows = A.nbytes + B.nbytes
    tracemalloc.start()
    pair = [Summary.of_chunks(chunks_of(X, 7), exact=False) for X in (A, B)]
    stream = JointFrame.from_summaries(*pair)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * rows, f"{peak / rows:.1f} times the rows"
    assert all(summary._holds_rows and not summary.exact for summary in pair)
    whole = JointFrame.fit(A, B)
    assert stream.shrinkage == whole.shrinkage
    assert_allclose(stream.align(A).theta, whole.align(A).theta, atol=1e-9)


@pytest.mark.parametrize("rows", [39, 40, 41, 95])
def test_a_fast_summary_is_a_matrix_from_as_many_rows_as_features_on(rows):
    X = wide(rows, 40)
    found = Summary.of_chunks(chunks_of(X, 3), exact=False)
    assert found.moments.factored == (rows < 40)
    assert repr(found) == f"Summary({rows} rows, 40 features, fast)"
    exact = Summary.of(X)
    assert_allclose(found.scatter_about(), exact.scatter_about(), rtol=1e-9, atol=1e-9)
    assert found.moments.trace == pytest.approx(exact.moments.trace)


def test_fast_summaries_merge_in_whatever_form_they_are():
    """Few rows with few, few with many, until a factor would be larger than the matrix."""
    X = wide(120, 40)
    parts = [Summary.of(part, exact=False) for part in np.split(X, [10, 20, 35, 90, 100])]
    total, forms = parts[0], []
    for part in parts[1:]:
        total = total + part
        forms.append(total.moments.factored)
    assert forms == [True, True, False, False, False]
    exact = Summary.of(X)
    assert_allclose(total.scatter_about(), exact.scatter_about(), rtol=1e-9, atol=1e-9)
    assert total.moments.trace == pytest.approx(exact.moments.trace)


def test_fast_sets_of_few_rows_that_together_are_many_work_in_matrices():
    A, B, Z = wide(30, 40), wide(25, 40, 1, 0.2), wide(10, 40, 2)
    pair = [Summary.of(X, exact=False) for X in (A, B)]
    found = JointFrame.from_summaries(*pair, shrinkage=0.1)
    assert not WorkingSets(PreparedSets(pair), "own").factored
    assert_allclose(found.align(Z).theta, JointFrame.fit(A, B, shrinkage=0.1).align(Z).theta)
