"""The paper's identities on random histograms, and errors that say what is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.integrate import quad
from sklearn.metrics import roc_auc_score

from cospan.errors import InputError
from cospan.evidence.size import (
    angle_histogram,
    bhattacharyya,
    bin_posterior,
    fisher_rao,
    hellinger,
    overlap,
    posterior_ambiguity,
    rank_auc,
)

EPS = np.finfo(float).eps


@pytest.fixture(params=range(8))
def histograms(request):
    rng = np.random.default_rng(request.param)
    bins = int(rng.integers(2, 60))
    # Sparse ones too: a third of the bins of half the histograms are empty.
    P, Q = rng.dirichlet(np.full(bins, 0.7), 2)
    if request.param % 2:
        P[rng.random(bins) < 0.3] = 0
        P[0] += 0.1
    return P / P.sum(), Q


class TestIdentitiesOfThePaper:
    def test_squared_hellinger_is_one_minus_bhattacharyya(self, histograms):
        P, Q = histograms
        assert hellinger(P, Q) ** 2 == pytest.approx(1 - bhattacharyya(P, Q), abs=1e-12)

    def test_squared_hellinger_is_half_the_squared_chord(self, histograms):
        P, Q = histograms
        chord = np.sum((np.sqrt(P) - np.sqrt(Q)) ** 2)
        assert hellinger(P, Q) ** 2 == pytest.approx(chord / 2, abs=1e-12)

    def test_fisher_rao_is_twice_the_angle_of_the_square_roots(self, histograms):
        P, Q = histograms
        expected = 2 * math.acos(np.sum(np.sqrt(P * Q)))
        assert fisher_rao(P, Q) == pytest.approx(expected, abs=1e-12)

    def test_fisher_rao_and_hellinger_convert_into_each_other(self, histograms):
        P, Q = histograms
        distance, chord = fisher_rao(P, Q), hellinger(P, Q)
        assert distance == pytest.approx(2 * math.acos(1 - chord**2), abs=1e-12)
        assert chord**2 == pytest.approx(1 - math.cos(distance / 2), abs=1e-12)

    @pytest.mark.parametrize("prior", [0.5, 0.1, 0.93])
    def test_fisher_rao_from_the_expected_posterior_deviation(self, histograms, prior):
        P, Q = histograms
        ambiguity = posterior_ambiguity(P, Q, prior)
        expected = 2 * math.acos(min(1.0, ambiguity / math.sqrt(prior * (1 - prior))))
        assert fisher_rao(P, Q) == pytest.approx(expected, abs=1e-12)

    def test_the_posterior_times_the_mixture_gives_back_the_weighted_histogram(self, histograms):
        P, Q = histograms
        mixture = 0.3 * P + 0.7 * Q
        np.testing.assert_allclose(bin_posterior(P, Q, 0.3) * mixture, 0.3 * P, atol=4 * EPS)


def test_two_bins_equal_the_integral_of_the_fisher_metric():
    # On the simplex of two bins (p, 1 - p) the metric is dp² / (p(1 - p)).
    for start, end in [(0.2, 0.7), (0.5, 0.50001), (0.05, 0.95)]:
        length, _ = quad(lambda p: 1 / math.sqrt(p * (1 - p)), start, end, epsabs=1e-13)
        ours = fisher_rao([start, 1 - start], [end, 1 - end])
        assert ours == pytest.approx(length, abs=1e-12)


def test_posteriors_of_two_samples_are_twice_their_angles_apart():
    first, second = np.radians([12.0, 71.0])

    def posterior(theta):
        return [math.cos(theta) ** 2, math.sin(theta) ** 2]

    found = fisher_rao(posterior(first), posterior(second))
    assert found == pytest.approx(2 * (second - first), abs=1e-12)


def test_nearly_equal_histograms_keep_their_digits():
    shift = 1e-9
    P, Q = [0.5, 0.5], [0.5 + shift, 0.5 - shift]
    # ∫ dp / √(p(1 - p)) around 1/2 is 2·shift; 2 arccos(BC) would print 0 or 4e-8.
    assert fisher_rao(P, Q) == pytest.approx(2 * shift, rel=1e-6)


def test_extremes_of_the_distances():
    P, Q = [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]
    assert (bhattacharyya(P, P), hellinger(P, P), fisher_rao(P, P), overlap(P, P)) == (1, 0, 0, 1)
    assert (bhattacharyya(P, Q), overlap(P, Q)) == (0, 0)
    assert hellinger(P, Q) == pytest.approx(1, abs=2 * EPS)
    assert fisher_rao(P, Q) == pytest.approx(math.pi, abs=8 * EPS)


@settings(deadline=None)
@given(hnp.arrays(float, st.integers(2, 40), elements=st.floats(0.0, 1.0)), st.randoms())
def test_distances_are_symmetric_and_in_range(weights, random):
    P = (weights + 1e-3) / (weights + 1e-3).sum()
    Q = P[np.array(random.sample(range(P.size), P.size))]
    assert fisher_rao(P, Q) == fisher_rao(Q, P)
    assert 0 <= fisher_rao(P, Q) <= math.pi
    # Overlap and Hellinger bound each other (Le Cam): H² <= 1 - overlap <= H √(2 - H²).
    chord, apart = hellinger(P, Q), 1 - overlap(P, Q)
    assert chord**2 - 1e-12 <= apart <= chord * math.sqrt(2 - chord**2) + 1e-12


class TestHistogram:
    def test_sums_to_one_and_holds_both_ends(self):
        histogram = angle_histogram([0.0, math.pi / 2, math.pi / 4], bins=4)
        np.testing.assert_allclose(histogram, [1 / 3, 0, 1 / 3, 1 / 3])

    def test_float32_right_angles_are_in_range(self):
        right = np.float32(math.pi / 2)
        assert angle_histogram(np.array([right, right]), bins=30)[-1] == 1

    def test_bins_of_the_paper_are_three_degrees_wide(self):
        histogram = angle_histogram(np.radians([2.9, 3.1, 5.9]))
        assert histogram.shape == (30,)
        np.testing.assert_allclose(histogram[:2], [1 / 3, 2 / 3])


def test_empty_bins_are_marked_in_the_posterior():
    posterior = bin_posterior([0.5, 0, 0.5], [1, 0, 0])
    assert np.isnan(posterior[1])
    np.testing.assert_allclose(posterior[[0, 2]], [1 / 3, 1])


def test_auc_equals_scikit_learn_with_ties():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 60, 80) / 60, rng.integers(10, 90, 50) / 60
    labels = np.r_[np.zeros(80), np.ones(50)]
    assert rank_auc(a, b) == pytest.approx(roc_auc_score(labels, np.r_[a, b]), abs=1e-14)
    assert rank_auc(a, b) + rank_auc(b, a) == pytest.approx(1, abs=4 * EPS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: angle_histogram([]), "not empty"),
        (lambda: angle_histogram([0.1, math.nan]), "without NaN"),
        (lambda: angle_histogram([10.0, 80.0]), "radians"),
        (lambda: angle_histogram([-0.5, 0.5]), "radians"),
        (lambda: angle_histogram([[0.1], [0.2]]), "one row of angles"),
        (lambda: angle_histogram(["x"]), "one row of angles"),
        (lambda: angle_histogram([0.1], bins=0), "bins"),
        (lambda: angle_histogram([0.1], bins=2.5), "bins"),
        (lambda: angle_histogram([0.1], bins=True), "bins"),
        (lambda: fisher_rao([1.0], [0.5, 0.5]), "1 bins and Q has 2"),
        (lambda: fisher_rao([3, 5], [0.5, 0.5]), "P sums to 8"),
        (lambda: fisher_rao([0.5, 0.5], [1.5, -0.5]), "Q holds a negative"),
        (lambda: hellinger([], []), "P must be one row of probabilities"),
        (lambda: overlap([math.nan, 1], [0.5, 0.5]), "P must be one row"),
        (lambda: bin_posterior([1.0], [1.0], prior=1), "prior"),
        (lambda: posterior_ambiguity([1.0], [1.0], prior=0), "prior"),
        (lambda: posterior_ambiguity([1.0], [1.0], prior=math.nan), "prior"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
