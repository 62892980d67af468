"""Typicality: uniform for new rows of a set, whatever its distribution; small for strangers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from cospan import AlignmentAngleClassifier, JointFrame, Summary, compare
from cospan.base.rows import tail_p_values
from cospan.errors import InputError
from cospan.model import Alignment, Typicality, below_rate


def pair(seed=0, n=200, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) * 1.5 + 1


def test_it_is_the_rank_among_left_out_costs():
    A, B = pair()
    frame = JointFrame.fit(A, B, shrinkage=0.1)
    left = frame.leave_one_out(A, B)
    Z = np.random.default_rng(1).normal(size=(50, 4)) * 2
    scored = frame.align(Z)
    for own, cost, found in (
        (left.a.cost_a, scored.cost_a, scored.typicality_a),
        (left.b.cost_b, scored.cost_b, scored.typicality_b),
    ):
        expected = [(1 + np.sum(own >= one)) / (1 + len(own)) for one in cost]
        assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["normal", "t3", "skew", "few rows"])
def test_new_rows_of_a_set_have_uniform_typicality(kind):
    """Over draws of the sets and of new rows; 8,000 p-values, whose own distance is 0.01."""
    n, d = (40, 60) if kind == "few rows" else (400, 5)
    draw = {
        "t3": lambda rng, m: rng.standard_t(3, size=(m, d)),
        "skew": lambda rng, m: rng.exponential(size=(m, d)),
    }.get(kind, lambda rng, m: rng.normal(size=(m, d)))
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        frame = JointFrame.fit(draw(rng, n), draw(rng, n) + 0.5, shrinkage=0.2, dof=1, pooling=0)
        # They are ranks among n rows: uniform once each is spread over its step of 1/(n + 1).
        ranks = frame.align(draw(rng, 200)).typicality_a
        found.append(ranks - rng.random(len(ranks)) / (n + 1))
    assert kstest(np.concatenate(found), "uniform").statistic < 0.03


def test_a_row_far_from_both_is_neither():
    A, B = pair()
    frame = JointFrame.fit(A, B)
    inside = frame.align(np.concatenate([A[:20], B[:20]]))
    far = frame.align(A[:20] + np.array([10.0, -10, 0, 0]))
    assert np.all(far.typicality_a < 0.01)
    assert np.all(far.typicality_b < 0.01)
    both = Alignment.concatenate([inside, far])
    assert_array_equal(both.neither, np.arange(60) >= 40)
    assert not inside.neither.any()


def test_one_far_row_among_few_is_neither():
    """10 sd away from 30 + 30 rows, as a further row and as one of A's own."""
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 1
    new = np.concatenate([[[10.0, -10, 10, -10]], rng.normal(size=(29, 4))])
    found = compare(A, B, new)
    assert_array_equal(np.flatnonzero(found.further.neither), [0])
    assert_array_equal(JointFrame.fit(A, B).align(new).neither, np.arange(30) == 0)
    A[7] = [10.0, -10, 10, -10]
    found = compare(A, B)
    assert [row.id for row in found.rows if row.kind == "like no set"] == [7]
    many = compare({"a": A, "b": B, "c": rng.normal(size=(30, 4)) - 1})
    assert [row.id for row in many.rows if row.kind == "like no set"] == [7]


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("kind", ["normal", "t3", "lognormal", "cauchy"])
def test_no_row_of_a_set_is_called_neither_more_often_than_stated(kind, n):
    """400 sets, each with a batch of 50 new rows: at 5 %, and 3 standard errors of that."""
    rng = np.random.default_rng(5)
    draw = {
        "normal": lambda m: rng.normal(size=(m, 3)),
        "t3": lambda m: rng.standard_t(3, size=(m, 3)),
        "lognormal": lambda m: np.exp(rng.normal(size=(m, 3))),
        "cauchy": lambda m: rng.standard_cauchy(size=(m, 3)),
    }[kind]
    called = 0
    for _ in range(400):
        own, new = draw(n), draw(50)
        away, mean = own - own.mean(axis=0), own.mean(axis=0)
        inverse = np.linalg.inv(away.T @ away / n)
        h = (n - 1) / n * np.einsum("ij,jk,ik->i", away, inverse, away)
        left = 1 + (n / (n - 1)) ** 2 * h / (1 - n / (n - 1) ** 2 * h)
        squared = 1 + np.einsum("ij,jk,ik->i", new - mean, inverse, new - mean)
        usual = Typicality.of(left[:, None], np.zeros(n, dtype=int), np.ones(n))
        called += below_rate(usual.strange(squared[:, None]), 0.05).any()
    assert called / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_the_tail_goes_on_where_the_ranks_end():
    """Exact on average for a power law, whatever its exponent; never rising."""
    rng = np.random.default_rng(0)
    for exponent in (0.5, 1.0, 3.0):
        found = [
            tail_p_values(rng.random(200) ** -exponent, rng.random(120) ** -exponent)
            for _ in range(200)
        ]
        for level in (0.05, 0.005, 0.001):
            assert np.mean(np.concatenate(found) <= level) <= 1.15 * level
    p = tail_p_values(np.linspace(0, 1e3, 400), np.abs(rng.normal(size=40)))
    assert np.all(np.diff(p) <= 1e-12)


def test_false_alarms_stay_at_the_stated_rate():
    """Half of the rows belong to neither: of those named, at most the rate are wrong on average."""
    shares = []
    for seed in range(30):
        A, B = pair(seed)
        rng = np.random.default_rng([seed, 1])
        new = rng.normal(size=(100, 4))
        odd = rng.normal(size=(100, 4)) + np.array([6.0, -6, 0, 0])
        frame = JointFrame.fit(A, B)
        squared = frame.squared_costs(np.concatenate([new, odd]))
        named = below_rate(frame.typicality.strange(squared), 0.1)
        assert named[100:].mean() > 0.9
        shares.append(named[:100].sum() / max(named.sum(), 1))
    assert np.mean(shares) < 0.1


def test_a_weight_of_two_counts_like_two_rows():
    A, B = pair(n=60)
    weight = np.random.default_rng(0).integers(1, 3, 60)
    options = {"shrinkage": 0.1, "dof": 1, "pooling": 0}
    weighted = JointFrame.fit(A, B, sample_weight_a=weight, **options)
    repeated = JointFrame.fit(np.repeat(A, weight, axis=0), B, **options)
    Z = np.random.default_rng(1).normal(size=(40, 4))
    assert_allclose(weighted.align(Z).typicality_a, repeated.align(Z).typicality_a, atol=1e-12)


def test_what_has_no_rows_to_compare_with_has_none():
    A, B = pair()
    bare = JointFrame.from_summaries(
        Summary.of(A, sample_size=0), Summary.of(B, sample_size=0), shrinkage=0.1
    )
    linear = JointFrame.fit(A, B, span="linear")
    for found in (
        bare.align(A),
        JointFrame.fit(A, B).truncate(n=2).align(A),
        linear.align(A, weighting="frame"),
    ):
        assert found.typicality_a is None
        with pytest.raises(InputError, match="has no typicality"):
            found.neither  # noqa: B018
    assert linear.align(A).typicality_a is not None


def test_infinite_costs_alone_compare_with_nothing():
    assert Typicality.of(np.full((4, 2), np.inf), np.array([0, 0, 1, 1]), np.ones(4)) is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_estimator_gives_one_for_every_class(n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 150)
    X = rng.normal(size=(len(y), 3)) + 3 * y[:, None]
    model = AlignmentAngleClassifier().fit(X, y)
    found = model.typicality(np.array([[0.0, 0, 0], [3, 3, 3], [0, 60, -60]]))
    assert found.shape == (3, n_classes)
    assert found[0, 0] > 0.1
    assert found[1, 1] > 0.1
    assert np.all(found[2] < 0.01)


def test_torch_and_dask_agree_with_numpy():
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    A, B = pair()
    frame = JointFrame.fit(A, B)
    expected = frame.align(A).typicality_b
    assert_allclose(frame.align(torch.asarray(A)).typicality_b.numpy(), expected)
    lazy = frame.align(da.from_array(A, chunks=(70, 4))).typicality_b
    assert_allclose(lazy.compute(), expected)
