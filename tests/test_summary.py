"""Summaries: what they hold, that they merge, and that no chunking changes them."""

import importlib

import numpy as np
import pytest

from cospan import JointFrame, Summary
from cospan.errors import InputError


def rows(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) * np.geomspace(1, 1e-3, d) + rng.standard_normal(d)).astype(
        dtype
    )


def scatter(X, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    mean = weights @ X / weights.sum()
    return (weights[:, None] * (X - mean)).T @ (X - mean)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("shape", [(50, 8), (5, 8), (1, 8), (9000, 3)])
def test_it_holds_count_mean_and_scatter(shape, exact):
    X = rows(*shape)
    summary = Summary.of(X, exact=exact)
    assert summary.n == summary.count == shape[0]
    np.testing.assert_allclose(summary.mean, X.mean(0), rtol=1e-13)
    np.testing.assert_allclose(summary.R.T @ summary.R, scatter(X), atol=1e-12 * len(X))
    assert summary.moments.trace == pytest.approx(np.trace(scatter(X)), rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(np.tril(summary.R, -1), 0)


@pytest.mark.parametrize("exact", [True, False])
def test_a_weight_of_two_is_a_row_that_occurs_twice(exact):
    X = rows(40, 6)
    weights = np.arange(40) % 3
    weighted = Summary.of(X, weights, exact)
    repeated = Summary.of(np.repeat(X, weights, axis=0), exact=exact)
    assert weighted.n == repeated.n
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-12)
    np.testing.assert_allclose(
        weighted.scatter_about(np.ones(6)), repeated.scatter_about(np.ones(6)), rtol=1e-10
    )


@pytest.mark.parametrize("exact", [True, False])
def test_the_rows_about_any_centre_with_any_weight(exact):
    X, center = rows(30, 5), np.arange(5.0)
    expected = 0.25 * (X - center).T @ (X - center)
    summary = Summary.of(X, exact=exact)
    R = np.concatenate(summary.factor_parts(center))
    np.testing.assert_allclose(R.T @ R / 4, expected, rtol=1e-10)
    np.testing.assert_allclose(summary.scatter_about(center, 0.25), expected, rtol=1e-10)


def test_without_shrinkage_chunks_equal_batch_where_squaring_would_not():
    """The weakest directions are 1e-6 of the strongest: their squares are at float64's edge."""
    rng = np.random.default_rng(5)
    spread = np.geomspace(1, 1e-6, 20)
    A, B = rng.standard_normal((400, 20)) * spread, rng.standard_normal((300, 20)) * spread
    Z = rng.standard_normal((50, 20)) * spread
    batch = JointFrame.fit(A, B, shrinkage=0).align(Z).theta
    streamed = JointFrame.from_summaries(
        Summary.of_chunks(np.array_split(A, 13)),
        Summary.of_chunks(np.array_split(B, 7)),
        shrinkage=0,
    )
    np.testing.assert_allclose(streamed.align(Z).theta, batch, atol=1e-8)


class TestSample:
    def test_short_data_is_kept_whole(self):
        X = rows(100, 3)
        sample = Summary.of(X).sample
        np.testing.assert_array_equal(sample.rows[np.argsort(sample.index)], X)

    def test_it_does_not_depend_on_the_chunking(self):
        X = rows(3000, 2)
        whole = Summary.of(X, sample_size=50).sample
        parts = Summary.of_chunks(np.array_split(X, 17), sample_size=50).sample
        np.testing.assert_array_equal(whole.index, parts.index)
        np.testing.assert_array_equal(whole.rows, X[whole.index])

    def test_merging_is_fair_to_both_sides(self):
        """Each of 400 rows, made as 100 + 300, must be drawn about equally often."""
        drawn = np.zeros(400)
        for seed in range(300):
            X = np.random.default_rng(seed).standard_normal((400, 1))
            merged = Summary.of(X[:100], sample_size=40) + Summary.of(X[100:], sample_size=40)
            assert len(merged.sample) == 40
            np.testing.assert_array_equal(merged.sample.rows, X[merged.sample.index])
            drawn[merged.sample.index] += 1
        # 300 x 40 draws; the first 100 rows should get a quarter, sd sqrt(12000 * 3/16) = 47.
        assert abs(drawn[:100].sum() - 3000) < 4 * 47
        # Single rows: mean 30, sd 5.2.
        assert drawn.max() < 30 + 5 * 5.2
        assert drawn.min() > 30 - 5 * 5.2

    def test_samples_of_unlike_sizes_merge_fairly(self):
        """Zeros and ones, 2,000 each, the ones sampled far more densely."""
        means, lengths = [], []
        for seed in range(40):
            zeros, ones = np.zeros((2000, 1)), np.ones((2000, 1))
            merged = Summary.of(zeros, sample_size=20, seed=seed) + Summary.of(
                ones, sample_size=1000, seed=seed + 100
            )
            means.append(merged.sample.rows.mean())
            lengths.append(len(merged.sample))
        assert min(lengths) >= 20
        # 40 samples of about 40 rows: sd of the mean 0.5 / sqrt(1600) = 0.0125.
        assert abs(np.average(means, weights=lengths) - 0.5) < 5 * 0.0125

    def test_a_side_without_a_sample_leaves_none(self):
        with_rows, without = Summary.of(rows(50, 2)), Summary.of(rows(50, 2, 1), sample_size=0)
        assert len((without + with_rows).sample) == 0
        assert len((with_rows + without).sample) == 0

    def test_a_sample_with_room_takes_the_larger_size(self):
        X = rows(50, 2)
        for cut, sizes in ((5, (10, 50)), (45, (50, 10))):
            parts = (
                Summary.of(X[:cut], sample_size=sizes[0]),
                Summary.of(X[cut:], sample_size=sizes[1]),
            )
            sample = (parts[0] + parts[1]).sample
            np.testing.assert_array_equal(sample.rows[np.argsort(sample.index)], X)

    def test_the_index_counts_rows_of_weight_zero(self):
        X = rows(60, 2)
        weights = np.arange(60) % 3
        whole = Summary.of(X, weights).sample
        assert sorted(whole.index) == np.flatnonzero(weights).tolist()
        np.testing.assert_array_equal(whole.rows, X[whole.index])
        parts = (Summary.of(X[:31], weights[:31]) + Summary.of(X[31:], weights[31:])).sample
        np.testing.assert_array_equal(parts.rows, X[parts.index])

    def test_the_seed_draws_another_sample(self):
        X = rows(500, 2)
        first, second, again = (Summary.of(X, sample_size=20, seed=i).sample for i in (1, 2, 1))
        assert set(first.index) != set(second.index)
        np.testing.assert_array_equal(first.index, again.index)


def test_the_rows_own_eps_is_remembered():
    assert Summary.of(rows(9, 2, dtype=np.float32)).eps == np.finfo(np.float32).eps
    assert Summary.of(rows(9, 2)).eps == np.finfo(np.float64).eps
    assert Summary.of(rows(9, 2, dtype=np.float32)).mean.dtype == np.float64


@pytest.mark.parametrize("options", [{}, {"exact": False}])
def test_values_beyond_the_squares_of_float64_are_told(options):
    X = rows(40, 5)
    with pytest.raises(InputError, match=r"X has values up to .*e\+160.*rescale"):
        Summary.of(X * 1e160, **options)
    with pytest.raises(InputError, match=r"weights up to 1e\+308.*rescale"):
        Summary.of(X, np.full(40, 1e308), **options)
    with pytest.raises(InputError, match="rescale"):
        JointFrame.fit(X * 1e160, X)
    large = Summary.of(X * 1e153, **options)
    with pytest.raises(InputError, match="rescale"):
        large + Summary.of(X * 1e153 + 3e154, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Summary.of([[1.0, np.nan]]), "NaN at row 0, column 1"),
        (lambda: Summary.of_chunks([np.ones((3, 2)), np.array([[1, np.inf]])]), "Inf at row 3"),
        (lambda: Summary.of_chunks([]), "no rows"),
        (lambda: Summary.of_chunks([np.ones((3, 2)), np.ones((3, 4))]), "4 features where 2"),
        (lambda: Summary.of(np.ones((0, 3))), "no rows"),
        (lambda: Summary.of(np.ones((3, 3)), [1, 2]), "sample_weight has shape"),
        (lambda: Summary.of(np.ones((3, 3)), [1, 2, -1]), "row 2 is -1"),
        (lambda: Summary.of(np.ones((3, 3)), [0, 0, 0]), "zero for every row"),
        (lambda: Summary.of(np.ones((2, 3))) + Summary.of(np.ones((2, 4))), "3 and 4 features"),
        (
            lambda: Summary.of(np.ones((2, 3))) + Summary.of(np.ones((2, 3)), exact=False),
            "differ in `exact`",
        ),
        (lambda: Summary.of(np.ones((2, 3)), sample_size=-1), "sample_size must .*at least 0"),
        (lambda: Summary.of(np.ones((2, 3)), sample_size=2.5), "sample_size must .*not 2.5"),
        (lambda: Summary.of(np.ones((2, 3)), sample_size="a"), "sample_size must .*not 'a'"),
        (lambda: Summary.of(np.ones((2, 3)), seed=-1), "seed must .*not -1"),
        (lambda: Summary.of(np.ones((2, 3)), seed=None), "seed must .*not None"),
        (lambda: Summary.of(np.ones((2, 3)), exact="no"), "exact is 'no'"),
        (lambda: Summary.of_chunks(3), "X is of type int; of_chunks takes"),
        (lambda: Summary.of_chunks("rows.csv"), "X is of type str; of_chunks takes"),
        (lambda: Summary.of_chunks(np.ones((4, 2))), "one table of rows.*Summary.of"),
    ],
)
def test_bad_input_is_told(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_feature_names_travel():
    pd = importlib.import_module("pandas")
    frame = pd.DataFrame({"height": [1.0, 2.0], "width": [3.0, 5.0]})
    summary = Summary.of(frame)
    assert summary.feature_names == ("height", "width")
    assert (summary + Summary.of(frame)).feature_names == ("height", "width")
    with pytest.raises(InputError, match="feature names"):
        summary + Summary.of(frame[["width", "height"]])
