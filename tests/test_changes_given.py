"""Columns that moved given the others: what is said equals an ordinary regression."""

from __future__ import annotations

import numpy as np
import pytest

from cospan import JointFrame
from cospan.changes import find_changes


def _trips(rng, n, minutes, slope=0.125):
    miles = rng.uniform(100, 900, n)
    passengers = rng.normal(150, 20, n)
    return np.column_stack([miles, slope * miles + minutes + rng.normal(0, 4, n), passengers])


def _given(A, B, names=("miles", "minutes", "passengers")):
    found = find_changes(JointFrame.fit(A, B), A, B, names=list(names))
    return [one for one in found.verdict.sentences if one.startswith("Given")], found


def test_the_amount_is_the_coefficient_of_the_set_in_a_regression():
    rng = np.random.default_rng(0)
    A, B = _trips(rng, 600, 20), _trips(rng, 400, 30)
    sentences, _ = _given(A, B)
    both = np.concatenate([A, B])
    design = np.column_stack([np.ones(1000), both[:, [0, 2]], np.repeat([0, 1], [600, 400])])
    coefficients, rest, *_ = np.linalg.lstsq(design, both[:, 1], rcond=None)
    sd = np.sqrt(rest[0] / (1000 - 4))
    assert sentences == [
        "Given the other columns, miles above all, minutes is higher in B than in A: by "
        f"{coefficients[3]:.3g} on average, {coefficients[3] / sd:.2g} sd of what they leave open."
    ]


def test_it_does_not_depend_on_units_and_turns_with_the_sets():
    rng = np.random.default_rng(1)
    A, B = _trips(rng, 500, 20), _trips(rng, 500, 30)
    (there,), _ = _given(A, B)
    (back,), _ = _given(B, A)
    assert back == there.replace("higher", "lower")
    units = np.array([1609.344, 60.0, 1.0])
    (scaled,), _ = _given(A * units, B * units)
    assert scaled.split(" sd")[0].split(", ")[-1] == there.split(" sd")[0].split(", ")[-1]


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_said_of_sets_that_do_not_differ(seed):
    rng = np.random.default_rng(seed)
    assert _given(_trips(rng, 300, 20), _trips(rng, 300, 20))[0] == []


def test_nothing_is_said_where_a_column_moved_by_itself():
    rng = np.random.default_rng(2)
    A, B = _trips(rng, 500, 20), _trips(rng, 500, 20)
    B[:, 2] += 40
    sentences, found = _given(A, B)
    assert sentences == []
    assert found.verdict.features[0] == "passengers"


def test_a_column_that_is_a_copy_of_another_says_nothing():
    rng = np.random.default_rng(3)
    A, B = (np.repeat(rng.normal(size=(200, 1)), 2, axis=1) for _ in range(2))
    B[:, 1] += 1e-3
    for sentence in _given(A, B, ("x", "copy"))[0]:
        assert "nan" not in sentence
        assert "inf" not in sentence
