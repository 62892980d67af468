"""More than two sets: identities with pairs, invariance, what is accepted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from cospan import AlignmentAngleClassifier, Comparison, compare
from cospan.errors import InputError
from matrices import sets_of

FEW = {"n_permutations": 19}


@pytest.fixture(scope="module")
def four():
    return dict(zip("pqrs", sets_of((60, 45, 50, 70), 6), strict=True))


@pytest.fixture(scope="module")
def found(four):
    return compare(four, Z=sets_of((30,), 6, seed=9)[0], **FEW)


def test_weights_are_probabilities_of_every_row_scored(four, found):
    assert found.weights.shape == (225 + 30, 4)
    assert_allclose(found.weights.sum(axis=1), 1)
    assert len(found.ids) == len(found.weights)


def test_a_pair_is_a_comparison_with_the_size_of_the_matrix(found):
    for i, j in found.by_size:
        pair = found.pair(i, j)
        assert isinstance(pair, Comparison)
        assert pair.names == (found.names[i], found.names[j])
        assert pair.size == found.sizes[i, j]
        assert pair.weights.shape[1] == 2
        assert pair is found.pair(*pair.names)
    assert found.size == max(found.sizes[pair] for pair in found.by_size)
    assert found.p == found.pair(*found.farthest).p
    assert found.verdict.sets == found.farthest
    with pytest.raises(InputError, match="Both sets are 'p'"):
        found.pair("p", "p")


def test_another_order_of_the_sets_permutes_the_results_and_nothing_else(four, found):
    turned = compare(dict(reversed(four.items())), Z=sets_of((30,), 6, seed=9)[0], **FEW)
    assert_allclose(turned.weights[-30:, ::-1], found.weights[-30:], atol=1e-9)
    assert_allclose(turned.size_matrix[::-1, ::-1], found.size_matrix, atol=1e-9)


def test_swapping_names_swaps_names_and_nothing_else(four, found):
    renamed = compare(dict(zip("abcd", four.values(), strict=True)), **FEW)
    assert_array_equal(renamed.weights, found.weights[:-30])
    assert renamed.farthest == tuple("abcd"["pqrs".index(name)] for name in found.farthest)


def test_the_comparison_is_a_classifier(four, found):
    model = found.model
    assert isinstance(model, AlignmentAngleClassifier)
    assert model.predict(four["q"][:9]).tolist().count("q") >= 7


def test_digits_are_told_apart():
    X, y = load_digits(return_X_y=True)
    found = compare({str(k): X[y == k] for k in range(5)}, **FEW)
    own = np.concatenate([np.full(len(g.ids), k) for k, g in enumerate(found.groups)])
    assert np.mean(found.weights.argmax(axis=1) == own) > 0.97
    assert found.differing is not None


def test_bad_sets_are_refused_with_a_reason(four):
    with pytest.raises(InputError, match="There is one set"):
        compare({"only": four["p"]})
    with pytest.raises(InputError, match="rows to score are Z="):
        compare(four, four["p"])
    with pytest.raises(InputError, match="no joint frame"):
        _ = compare(four, **FEW).frame
