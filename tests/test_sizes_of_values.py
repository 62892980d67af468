"""The unit that a table is written in changes nothing, from 1e-130 to 1e90."""

import numpy as np
import pandas as pd
import pytest

import cospan
from cospan import AlignmentAngleClassifier, JointFrame, Summary, audit_labels, compare
from cospan.errors import InputError
from cospan.model import SetCosts

SIZES = [1e-130, 1e90]  # below 1e-140 a column counts as constant, beyond 1e100 as missing


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 3)), rng.normal(size=(80, 3)) * [1, 1, 1.5] + 1


def unit(size, which):
    """One unit for all columns, or another for one of them."""
    return np.where(np.arange(3) == 1, size, 1.0) if which == "one column" else np.full(3, size)


@pytest.mark.parametrize("which", ["all columns", "one column"])
@pytest.mark.parametrize("size", SIZES)
def test_a_comparison_is_the_same_in_every_unit(size, which):
    A, B = (pd.DataFrame(x, columns=["a", "b", "c"]) for x in pair())
    scale = unit(size, which)
    plain, found = (compare(A * x, B * x, n_permutations=50, seed=0) for x in (1.0, scale))
    assert found.size == pytest.approx(plain.size, abs=1e-12)
    assert found.frame.parts.total == pytest.approx(plain.frame.parts.total, rel=1e-9)
    assert [x.change for x in found.features] == [x.change for x in plain.features]
    for x, y in zip(found.features, plain.features, strict=True):
        assert x.difference == pytest.approx(y.difference, rel=1e-9)
        assert x.p_adjusted == pytest.approx(y.p_adjusted, rel=1e-6)


@pytest.mark.parametrize("which", ["all columns", "one column"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_fast_summaries_merge_in_every_unit(size, which, library):
    """Gram matrices of such values vanish: they are held as factors."""
    xp = pytest.importorskip(library)
    scale = unit(size, which)

    def frame_of(scale):
        parts = [
            Summary.of(xp.asarray(x[:30] * scale), exact=False)
            + Summary.of(xp.asarray(x[30:] * scale), exact=False)
            for x in pair()
        ]
        return JointFrame.from_summaries(*parts, units="own")

    A, B = pair()
    whole = JointFrame.fit(A, B, units="own")
    theta = np.asarray(frame_of(scale).align(xp.asarray(B * scale)).theta)
    np.testing.assert_allclose(theta, whole.align(B).theta, atol=1e-9)


@pytest.mark.parametrize("which", ["all columns", "one column"])
@pytest.mark.parametrize("size", SIZES)
def test_estimator_audit_and_many_sets_are_the_same_in_every_unit(size, which):
    A, B = pair()
    X, y = np.concatenate([A, B]), np.repeat([0, 1], 80)
    scale = unit(size, which)
    # Curved features are computed in single precision, and there are some hundred of them.
    for curve, tolerance in ((None, 1e-7), ("auto", 100 * float(np.finfo(np.float32).eps))):
        found = []
        for x in (1.0, scale):
            given = {"units": "own", "curve": curve}
            model = AlignmentAngleClassifier(**given).fit(X * x, y)
            sets = [Summary.of(part * x, exact=False) for part in (A, B, A - 1)]
            many = SetCosts.from_summaries(sets, **given).weights(X * x)
            audit = audit_labels(X * x, y, **given).suspicion
            found.append(np.column_stack([model.predict_proba(X * x), many, audit]))
        np.testing.assert_allclose(found[1], found[0], atol=tolerance)
    sets = {"A": A * scale, "B": B * scale, "C": A * scale}
    assert cospan.compare(sets, n_permutations=19).names == ("A", "B", "C")


def test_a_column_whose_squares_have_no_digits_counts_as_constant():
    A, B = (x * unit(1e-160, "one column") for x in pair())
    assert JointFrame.fit(A, B).constant_features.tolist() == [1]


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_beyond_the_squares_of_float64_one_sentence_says_so(size):
    A, B = pair()
    with pytest.raises(InputError, match=r"squares and sums are beyond float64; rescale"):
        JointFrame.fit(A * size, B * size)
