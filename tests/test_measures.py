"""Other measures: each against a closed form or brute force, and valid where it gives a p-value."""

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.stats
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import average_precision_score

from cospan.errors import InputError
from cospan.measures import fidelity, measure_panel
from cospan.measures.panel import frechet_distance, mmd


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(4, 4))
    return rng.normal(size=(70, 4)) @ mix, rng.normal(0.3, 1.2, size=(50, 4))


def test_frechet_is_the_formula_with_a_matrix_root(pair):
    A, B = pair
    S, T = np.cov(A, rowvar=False), np.cov(B, rowvar=False)
    step = A.mean(axis=0) - B.mean(axis=0)
    root = scipy.linalg.sqrtm(S @ T).real
    assert_allclose(frechet_distance(A, B), step @ step + np.trace(S + T - 2 * root), rtol=1e-10)


def test_frechet_of_fewer_rows_than_features():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(6, 20)), rng.normal(size=(8, 20))
    S, T = np.cov(A, rowvar=False), np.cov(B, rowvar=False)
    step = A.mean(axis=0) - B.mean(axis=0)
    # The root of S T has the eigenvalues of the root of S^½ T S^½, which is symmetric.
    values, vectors = np.linalg.eigh(S)
    half = vectors * np.sqrt(values.clip(0) * (values > 1e-10)) @ vectors.T
    values = np.sort(np.linalg.eigvalsh(half @ T @ half))[-5:]  # the rank of S
    wanted = step @ step + np.trace(S + T) - 2 * np.sqrt(values).sum()
    assert_allclose(frechet_distance(A, B), wanted, rtol=1e-6)


def test_mmd_is_the_unbiased_sum_over_pairs(pair):
    A, B = pair
    both = np.vstack([A, B])
    width = np.median([np.linalg.norm(x - y) for i, x in enumerate(both) for y in both[:i]])

    def mean(X, Y, same):
        values = [
            np.exp(-((np.linalg.norm(x - y) / width) ** 2) / 2)
            for i, x in enumerate(X)
            for j, y in enumerate(Y)
            if not (same and i == j)
        ]
        return np.mean(values)

    wanted = mean(A, A, True) + mean(B, B, True) - 2 * mean(A, B, False)
    assert_allclose(mmd(A, B)[0], wanted, rtol=1e-10)


def test_permutation_p_values_are_those_of_a_loop(pair):
    A, B = pair
    both = np.vstack([A, B])
    value, p_value = mmd(A, B, 3, permutations=19)
    rng = np.random.default_rng(3)
    values = [value]
    for _ in range(19):
        order = rng.permutation(len(both))
        index = np.zeros(len(both), dtype=bool)
        index[order[: len(A)]] = True
        values.append(mmd(both[index], both[~index], permutations=1)[0])
    assert p_value == np.mean(np.array(values) >= values[0] - 1e-12)


def test_permutation_p_values_keep_their_level():
    rng = np.random.default_rng(5)
    p = [mmd(*rng.standard_cauchy(size=(2, 25, 3)), i, permutations=39)[1] for i in range(200)]
    assert np.mean(np.array(p) <= 0.05) <= scipy.stats.binom.ppf(0.999, 200, 0.05) / 200


def test_the_panel_runs_every_measure_on_a_mixed_table():
    rng = np.random.default_rng(0)
    A = pd.DataFrame({"x": rng.normal(size=90), "kind": rng.choice(list("abc"), 90)})
    B = pd.DataFrame({"x": rng.normal(2, size=80), "kind": rng.choice(list("ab"), 80)})
    panel = measure_panel(A, B)
    assert (panel.n_a, panel.n_b, panel.sampled) == (90, 80, False)
    assert all(np.isfinite(one.value) for one in panel.measures)
    assert panel["MMD"].p_value == 1 / 200
    assert panel["C2ST, logistic"].value > 0.9
    assert set(panel.to_frame("pandas")["name"]) == {one.name for one in panel.measures}
    assert "MMD" in repr(panel)
    with pytest.raises(KeyError):
        panel["none"]


def test_units_do_not_matter_by_default_and_do_when_raw():
    X, y = load_iris(return_X_y=True)
    A, B = X[y == 0], X[y == 1]
    scale = np.array([1e3, 1, 1, 1e-3])
    own, other = measure_panel(A, B), measure_panel(A * scale, B * scale)
    for one, two in zip(own.measures, other.measures, strict=True):
        assert_allclose(one.value, two.value, rtol=1e-6)
    raw = measure_panel(A * scale, B * scale, units="raw")
    assert raw["Fréchet distance"].value > 1e3 * own["Fréchet distance"].value


def test_a_constant_column_and_identical_sets_give_no_warning():
    X = load_breast_cancer().data[:60].copy()
    X[:, 3] = 1.0
    panel = measure_panel(X, X)
    assert panel["Fréchet distance"].value < 1e-10
    assert panel["MMD"].p_value > 0.5


def test_the_panel_is_sampled_and_says_so():
    rng = np.random.default_rng(0)
    panel = measure_panel(*rng.normal(size=(2, 300, 2)), rows=100)
    assert (panel.n_a, panel.n_b, panel.sampled) == (100, 100, True)
    assert repr(panel).startswith("random samples of 100 and 100 rows")


@pytest.mark.parametrize(
    ("A", "B", "words"),
    [
        (np.zeros((5, 2)), np.zeros((50, 2)), "A has 5 rows"),
        (np.zeros((50, 2)), np.zeros((50, 3)), "2 features and B has 3"),
    ],
)
def test_bad_rows_get_one_sentence(A, B, words):
    with pytest.raises(InputError, match=words):
        measure_panel(A, B)


# ---- synthetic rows ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made():
    """Real rows, a Gaussian copy of them, five near-copies and five impossible rows."""
    rng = np.random.default_rng(0)
    real = load_breast_cancer().data[:, :8]
    latent = scipy.stats.norm.ppf((scipy.stats.rankdata(real, axis=0) - 0.5) / len(real))
    drawn = rng.multivariate_normal(np.zeros(8), np.corrcoef(latent, rowvar=False), len(real))
    synthetic = np.column_stack(
        [np.quantile(r, scipy.stats.norm.cdf(d)) for r, d in zip(real.T, drawn.T, strict=True)]
    )
    sd = real.std(axis=0)
    synthetic[:5] = real[:5] + 0.01 * sd * rng.normal(size=(5, 8))
    synthetic[5:10] = real[5:10] + 6 * sd * rng.choice([-1, 1], size=(5, 8))
    return real, synthetic, fidelity(real, synthetic)


def test_the_four_shares_are_their_definitions(made):
    real, synthetic, found = made
    unit = real.std(axis=0)
    R, S = real / unit, synthetic / unit
    radius = [np.sort(cdist(X, X), axis=1)[:, 5] for X in (R, S)]
    between = cdist(R, S)
    in_real = between <= radius[0][:, None]
    assert_allclose(found.precision, in_real.any(axis=0).mean())
    assert_allclose(found.recall, (between <= radius[1][None, :]).any(axis=1).mean())
    assert_allclose(found.density, in_real.sum() / (5 * len(S)))
    assert_allclose(found.coverage, in_real.any(axis=1).mean())


def test_usual_precision_is_that_of_each_real_row_left_out(made):
    real, synthetic, _ = made
    real, synthetic = real[:150], synthetic[:150]
    found = fidelity(real, synthetic)
    distance = cdist(real / real.std(axis=0), real / real.std(axis=0))
    near = []
    for i in range(len(real)):
        others = np.arange(len(real)) != i
        radius = np.sort(distance[np.ix_(others, others)], axis=1)[:, 5]
        near.append((distance[i, others] <= radius).any())
    assert_allclose(found.usual_precision, np.mean(near))


def test_planted_copies_and_impossible_rows_are_found(made):
    _, synthetic, found = made
    number = np.arange(len(synthetic))
    assert average_precision_score(number < 5, -found.copying) >= 0.95
    assert average_precision_score((number >= 5) & (number < 10), found.distance) >= 0.95
    assert set(range(5)) <= set(found.copies.tolist())
    assert len(found.copies) <= 8
    assert set(range(5, 10)) <= set(found.impossible.tolist())


def test_fresh_real_rows_are_neither_copies_nor_impossible():
    rng = np.random.default_rng(0)
    listed = []
    for _ in range(20):
        real, fresh = rng.standard_t(4, size=(2, 300, 5))
        found = fidelity(real, fresh)
        listed.append(len(found.copies) + len(found.impossible))
        assert abs(found.density - 1) < 0.2
    assert np.mean(np.array(listed) > 0) <= 0.25  # two lists at 5 %, twenty draws


def test_twins_among_the_real_rows_make_no_copies():
    rng = np.random.default_rng(0)
    real, fresh = rng.integers(0, 3, size=(2, 200, 3)).astype(float)
    assert len(fidelity(real, fresh).copies) == 0


def test_fidelity_refuses_more_neighbours_than_rows():
    with pytest.raises(InputError, match="fewer neighbours"):
        fidelity(np.zeros((12, 2)), np.zeros((12, 2)), neighbours=11)


def test_rows_never_produced_are_named():
    rng = np.random.default_rng(0)
    real = np.vstack([rng.normal(size=(200, 2)), rng.normal(30, size=(10, 2))])
    found = fidelity(real, rng.normal(size=(200, 2)))
    assert set(range(200, 210)) <= set(found.never_produced.tolist())
    assert found.recall < 0.97
    assert "real rows are where no synthetic row is" in repr(found)
    assert f"(real rows among themselves: {found.usual_precision:.3f})" in repr(found)
    assert found.to_dict()["n_real"] == 210


def test_impossible_values_of_one_column_do_not_stretch_its_unit():
    rng = np.random.default_rng(0)
    real, synthetic = rng.normal(size=(2, 300, 5))
    synthetic[:4, 2] = 1e6
    assert sorted(fidelity(real, synthetic).impossible.tolist()) == [0, 1, 2, 3]


def test_equal_rows_are_counted_where_real_rows_repeat():
    rng = np.random.default_rng(0)
    real = rng.integers(0, 3, size=(200, 2)).astype(float)
    found = fidelity(real, real)
    assert (found.exact, len(found.copies)) == (200, 0)
    assert found.repeated == 1
    assert "200 of 200 synthetic rows equal a real row in every value" in repr(found)


def test_rows_that_break_a_relation_are_impossible():
    """Each column by itself is right, and neighbours are near: only relations show it."""
    rng = np.random.default_rng(2)
    real = rng.normal(size=(1000, 8))
    real[:, 1] = real[:, 0] + 0.05 * rng.normal(size=1000)
    mixed = real[500:].copy()
    mixed[:, 1] = rng.permutation(mixed[:, 1])
    assert len(fidelity(real[:500], mixed).impossible) > 400
    assert len(fidelity(real[:500], real[500:]).impossible) == 0


@pytest.fixture
def with_rare_levels():
    """Two tables with names that hardly repeat, which share a feature, and gaps."""
    rng = np.random.default_rng(0)

    def table(letter):
        names = [f"{letter}{i}" for i in rng.integers(0, 400, 600)]
        some = rng.choice(["u", "v"], 600).astype(object)
        some[rng.random(600) < 0.2] = None
        return pd.DataFrame({"name": names, "some": some, "k": rng.integers(0, 3, 600)})

    real, made = table("r"), table("m")
    made.iloc[:30] = real.iloc[:30].to_numpy()
    real.iloc[590:] = real.iloc[:10].to_numpy()
    return real, made


def test_equal_rows_are_counted_as_they_were_read(with_rare_levels):
    """Rare levels share a feature: rows that differ in these are not equal."""
    real, made = with_rare_levels
    rows = [list(map(tuple, one.astype(str).to_numpy())) for one in with_rare_levels]
    exact = sum(row in set(rows[0]) for row in rows[1])
    found = fidelity(real, made)
    assert found.exact == exact
    assert found.repeated == pytest.approx(real.duplicated(keep=False).mean())


def test_fresh_and_repeated_rows_with_levels_are_not_impossible():
    rng = np.random.default_rng(1)

    def births(n):
        weeks = np.round(38.6 + 2.5 * rng.standard_t(5, n))
        early = np.where(weeks < 37, "premie", "full term")
        return pd.DataFrame({"weeks": weeks, "early": early, "sex": rng.choice(["f", "m"], n)})

    real = births(600)
    for made in (births(600), real.sample(600, replace=True, random_state=1)):
        assert len(fidelity(real, made).impossible) <= 2
