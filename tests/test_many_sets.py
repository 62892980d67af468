"""More than two sets: identities with pairs, invariance, what is accepted."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from cospan import AlignmentAngleClassifier, Comparison, compare
from cospan.errors import InputError

FEW = {"n_permutations": 19}


def sets_of(sizes, d, seed=0):
    """Sets with different means and scales along their own oblique directions."""
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)) @ rng.normal(size=(d, d))
        + 0.3 * rng.normal(size=d)
        for n in sizes
    ]


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


def test_a_table_with_labels_is_read_as_its_classes(four):
    table = pd.concat([pd.DataFrame(X).assign(kind=name) for name, X in four.items()])
    table.columns = table.columns.astype(str)
    by_label = compare(table, label="kind", **FEW)
    named = {name: pd.DataFrame(X, columns=list("012345")) for name, X in four.items()}
    assert by_label.names == tuple(four)
    apart = compare(named, **FEW).size_matrix
    assert_allclose(by_label.size_matrix, apart, atol=0.06)


def test_sets_with_the_same_rows_do_not_differ(four):
    X = four["p"]
    found = compare({"a": X, "b": X.copy(), "c": X.copy()}, **FEW)
    assert found.differing == ()
    assert "None of the 3 pairs" in str(found)


def test_units_of_columns_do_not_matter(four):
    scaled = {name: X * [1, 10, 1e3, 1e-3, 1, 1] for name, X in four.items()}
    one, other = (compare(sets, units="own", **FEW) for sets in (four, scaled))
    assert_allclose(one.weights, other.weights, atol=1e-6)


def test_the_comparison_is_a_classifier(four, found):
    model = found.model
    assert isinstance(model, AlignmentAngleClassifier)
    assert model.predict(four["q"][:9]).tolist().count("q") >= 7


def test_digits_are_told_apart():
    X, y = load_digits(return_X_y=True)
    found = compare({str(k): X[y == k] for k in range(10)}, **FEW)
    own = np.concatenate([np.full(len(g.kept.ids), k) for k, g in enumerate(found.groups)])
    assert np.mean(found.weights.argmax(axis=1) == own) > 0.97
    assert found.differing is not None


def test_bad_sets_are_refused_with_a_reason(four):
    with pytest.raises(InputError, match="There is one set"):
        compare({"only": four["p"]})
    with pytest.raises(InputError, match="rows to score are Z="):
        compare(four, four["p"])
    with pytest.raises(InputError, match="no joint frame"):
        _ = compare(four, **FEW).frame
