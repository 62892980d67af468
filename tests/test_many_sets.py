"""compare: identities with pairs, invariance, passes over the data, what it accepts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import cospan
from cospan import (
    AlignmentAngleClassifier,
    Summary,
    compare,
    separation,
)
from cospan.data import Source, open_source
from cospan.errors import CospanWarning, InputError
from cospan.model import Calibration, angles_of, calibrated_weights

HOSTILE = "<script>alert('x')</script>\x1b[31m\n| $a$"


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
    return compare(four, Z=sets_of((30,), 6, seed=9)[0])


# ---- identities --------------------------------------------------------------------------------


def test_an_extra_column_of_rows_to_score_is_left_out_by_both(four):
    tables = {name: pd.DataFrame(X, columns=list("uvwxyz")) for name, X in four.items()}
    Z = tables["s"].head(9).assign(more=1.0)
    with pytest.warns(CospanWarning, match="more is in Z only"):
        pair = compare(tables["p"], tables["q"], Z, n_permutations=19)
    with pytest.warns(CospanWarning, match="more is in Z only"):
        many = compare({name: tables[name] for name in "pqr"}, Z=Z)
    plain = compare({name: tables[name] for name in "pqr"}, Z=tables["s"].head(9))
    assert_array_equal(many.weights, plain.weights)
    for found in (pair, many):
        assert any("more is in Z only" in note.text for note in found.warnings), found.warnings


def test_weights_of_two_sets_among_many_are_those_of_the_pair(four, found):
    """log(w_i / w_j) is gain·log(cost_j²/cost_i²) less the difference of the offsets."""
    Z = sets_of((30,), 6, seed=9)[0]
    w = found.further.kept.weights
    g = found.fitted.geometry
    assert (g.units, g.pooling) == ("common", 0.0)
    squared = {}
    for name, X in four.items():
        away = Z - X.mean(axis=0)
        squared[name] = g.dof + np.sum(away @ np.linalg.inv(shrunk(X, four, g.shrinkage)) * away, 1)
    for a, b in ("pq", "ps", "rs"):
        i, j = "pqrs".index(a), "pqrs".index(b)
        pair = Calibration(g.calibration.gain, tuple(g.calibration.offsets[k] for k in (i, j)))
        theta = angles_of(squared[a], squared[b], pair)
        assert_allclose(w[:, i] / (w[:, i] + w[:, j]), np.cos(theta) ** 2, atol=1e-12)
        assert_allclose(found.pair_theta(a, b)[found.group == 4], theta, atol=1e-9)


def shrunk(X, sets, alpha):
    """(1-α) Σ + α λ I, λ the mean variance over features and sets."""
    lam = np.mean([Y.var(axis=0) for Y in sets.values()])
    return (1 - alpha) * np.cov(X.T, bias=True) + alpha * lam * np.eye(X.shape[1])


def test_the_matrix_holds_the_distances_of_the_pairs_own_rows(found):
    """Of the pair's angle with a gain of its own: the others must not sharpen or blur it."""
    i, j = 0, 2
    own = [found.weights[found.group == k][:, [i, j]] for k in (i, j)]
    log_ratio = np.concatenate([np.log(w[:, 1] / w[:, 0]) for w in own])
    theta, expected = calibrated_by_hand(log_ratio, len(own[0]))
    assert found.pairs.matrix()[i, j] == pytest.approx(expected, abs=1e-5)
    assert separation(*theta).fisher_rao == pytest.approx(expected, abs=1e-9)
    assert_array_equal(found.pairs.matrix(), found.pairs.matrix().T)
    assert (np.diagonal(found.pairs.matrix()) == 0).all()
    assert found.pair_counts[i, j].sum() == found.rows[i]
    a = found.pair_theta(i, j)[found.group == i]
    assert_array_equal(
        found.pair_counts[i, j], np.histogram(np.degrees(a), bins=90, range=(0, 90))[0]
    )
    assert found.closest(1)[0] == min(
        ((x, y) for x in "pqrs" for y in "pqrs" if x < y),
        key=lambda pair: found.distance(*pair),
    )


def calibrated_by_hand(log_ratio, n_a):
    """θ of two groups by a balanced logistic fit with smoothed targets, and 2 arccos E[sin 2θ]."""
    from scipy.optimize import minimize

    of_b = np.arange(len(log_ratio)) >= n_a
    n = np.where(of_b, len(log_ratio) - n_a, n_a)
    target, weight = np.where(of_b, (n + 1) / (n + 2), 1 / (n + 2)), 0.5 / n

    def loss(x):
        score = x[0] * log_ratio + x[1]
        return weight @ (np.logaddexp(0, score) - target * score)

    gain, bias = minimize(loss, [1.0, 0.0], tol=1e-12).x
    theta = np.arctan(np.exp((gain * log_ratio + bias) / 2))
    groups = theta[~of_b], theta[of_b]
    mean = sum(np.mean(np.sin(2 * part)) for part in groups) / 2
    return groups, 2 * np.arccos(mean)


def test_own_rows_are_left_out_of_their_set(four, found):
    """Refitted without the row, its target T held, and calibrated as the whole is."""
    g = found.fitted.geometry
    row = four["q"][7]
    squared = []
    lam = np.mean([Y.var(axis=0) for Y in four.values()])
    for name, X in four.items():
        kept = np.delete(X, 7, axis=0) if name == "q" else X
        S = (1 - g.shrinkage) * np.cov(kept.T, bias=True) + g.shrinkage * lam * np.eye(6)
        away = row - kept.mean(axis=0)
        squared.append(g.dof + away @ np.linalg.solve(S, away))
    expected = calibrated_weights(np.array([squared]), g.calibration)[0]
    assert_allclose(found.weights[60 + 7], expected, atol=1e-12)


# ---- names and order ---------------------------------------------------------------------------


def test_another_order_of_the_sets_permutes_the_results_and_nothing_else(four, found):
    names = ("s", "p", "r", "q")
    turned = compare({name: four[name] for name in names}, Z=sets_of((30,), 6, seed=9)[0])
    places = ["pqrs".index(name) for name in names]
    pairs = np.ix_(places, places)
    assert turned.shrinkage == found.shrinkage
    for field in ("fisher_rao", "confusion", "pair_counts"):
        assert_array_equal(getattr(turned, field), getattr(found, field)[pairs], err_msg=field)
    assert_array_equal(turned.directions.directions, found.directions.directions)
    assert_array_equal(turned.directions.sigma, found.directions.sigma[places])
    for k, name in enumerate(names):
        own = turned.weights[turned.group == k]
        before = found.weights[found.group == "pqrs".index(name)]
        assert_allclose(own, before[:, places], atol=1e-15)
    assert [turned.names[k] for k in turned.order] == [found.names[k] for k in found.order]
    assert_array_equal(turned.linkage[:, 2:], found.linkage[:, 2:])


def test_swapping_names_swaps_names_and_nothing_else(four, found):
    swapped = compare(dict(zip("rqps", four.values(), strict=True)))
    again = compare(four)
    assert swapped.names == ("r", "q", "p", "s")
    for field in ("weights", "fisher_rao", "linkage", "order"):
        assert_array_equal(getattr(swapped, field), getattr(again, field), err_msg=field)
    assert_array_equal(again.fisher_rao, found.pairs.matrix())


def test_close_sets_join_first():
    rng = np.random.default_rng(2)
    base, far = np.array([1, 1, 4, 4.0]), np.array([4, 4, 1, 1.0])
    scales = {"a": base, "x": far, "a'": base * [1, 1.1, 1, 1], "x'": far * [1, 1.1, 1, 1]}
    found = compare({name: rng.normal(size=(300, 4)) * s for name, s in scales.items()})
    assert {frozenset(pair) for pair in found.closest(2)} == {
        frozenset({"a", "a'"}),
        frozenset({"x", "x'"}),
    }
    joined = [{int(k) for k in row[:2]} for row in found.linkage[:2]]
    assert {0, 2} in joined
    assert {1, 3} in joined
    assert abs(list(found.order).index(0) - list(found.order).index(2)) == 1


# ---- reading -----------------------------------------------------------------------------------


def test_the_data_is_read_at_most_twice_however_many_sets(monkeypatch):
    read = []
    chunks = Source.chunks

    def counted(self):
        for chunk in chunks(self):
            read.append((self.name, len(chunk.rows)))
            yield chunk

    monkeypatch.setattr(Source, "chunks", counted)
    eigh = cospan.base.factorizations.eigh
    calls = []
    monkeypatch.setattr("cospan.base.factorizations.eigh", lambda x: (calls.append(1), eigh(x))[1])
    sets = dict(zip("abcdef", sets_of((40,) * 6, 5), strict=True))
    compare(sets)
    assert sum(n for _, n in read) == 240  # kept whole: one pass is enough
    assert len(calls) <= 7 * 6  # so many for each set, whatever the number of pairs
    monkeypatch.setattr("cospan.summary.sample.FEWEST_ROWS", 10)
    monkeypatch.setattr("cospan.comparison.reading.SAMPLE_ROWS", 10)
    read.clear()
    whole = compare(sets)
    assert sum(n for _, n in read) == 480
    assert whole.scored == (40,) * 6
    read.clear()
    sampled = compare(sets, score_all=False)
    assert sum(n for _, n in read) == 240
    assert sampled.scored == (10,) * 6
    assert "uniform sample of 10 rows" in sampled.warnings[0].text


def test_a_table_with_labels_is_read_as_its_classes(monkeypatch, four):
    rows = np.vstack(list(four.values()))
    labels = np.repeat(list("pqrs"), [60, 45, 50, 70])
    order = np.random.default_rng(0).permutation(len(rows))
    table = pd.DataFrame(rows, columns=list("uvwxyz")).assign(kind=labels).iloc[order]
    read = []
    chunks = Source.chunks
    monkeypatch.setattr(Source, "chunks", lambda self: (read.append(1), chunks(self))[1])
    found = compare(table, label="kind", chunk_rows=16)
    assert len(read) == 1
    assert found.names == ("p", "q", "r", "s")
    assert found.rows == (60, 45, 50, 70)
    assert found.feature_names == tuple("uvwxyz")
    plain = compare(four, shrinkage=found.shrinkage, units="own")  # as for named columns
    for k, name in enumerate("pqrs"):
        own = found.group == k
        place = np.argsort(found.ids[own])
        before = plain.weights[plain.group == k]
        start = labels.tolist().index(name)
        assert_array_equal(found.ids[own][place], np.arange(start, start + len(before)))
        assert_allclose(found.weights[own][place], before, atol=1e-12)


def test_further_rows_may_have_the_column_of_the_classes(four):
    rows = np.vstack(list(four.values()))
    table = pd.DataFrame(rows, columns=list("uvwxyz")).assign(kind=np.repeat([1, 2], [105, 120]))
    found = compare(table, table.head(20), label="kind")
    assert found.names == ("1", "2")
    named = [pd.DataFrame(part, columns=list("uvwxyz")) for part in (rows[:105], rows[105:])]
    plain = compare(named, Z=named[0].head(20))
    assert_allclose(found.weights, plain.weights, atol=1e-12)


def test_classes_too_large_to_keep_are_scored_in_a_second_pass(monkeypatch, four):
    rows = np.vstack(list(four.values()))
    labels = np.repeat([1.0, 2.0, 10.0, 3.0], [60, 45, 50, 70])
    # Nothing is left to the sample of rows, which is made small below.
    given = {"shrinkage": 0.3, "units": "own", "pooling": 0, "dof": 1, "calibrate": False}
    whole = compare(rows, label=labels, **given)
    assert whole.names == ("1", "2", "3", "10")
    monkeypatch.setattr("cospan.summary.sample.FEWEST_ROWS", 10)
    monkeypatch.setattr("cospan.comparison.reading.SAMPLE_ROWS", 10)
    again = compare(rows, label=labels, **given)
    assert again.scored == whole.scored == (60, 45, 70, 50)
    assert_allclose(again.weights, whole.weights, atol=1e-9)


def test_summaries_and_dask_collections_are_sets_too(four):
    import dask.array as da

    plain = compare(four)
    summaries = compare({name: Summary.of(X) for name, X in four.items()})
    lazy = compare({name: da.from_array(X, chunks=(20, 6)) for name, X in four.items()})
    for other in (summaries, lazy):
        assert other.shrinkage == plain.shrinkage
        assert_allclose(other.weights, plain.weights, atol=1e-9)
    with pytest.raises(InputError, match="sample_size > 0"):
        compare([Summary.of(X, sample_size=0) for X in four.values()])


def test_columns_come_into_the_order_of_the_first_set(four):
    frames = [pd.DataFrame(X, columns=list("uvwxyz")) for X in four.values()]
    frames[2] = frames[2][list("zyxwvu")]
    found = compare(frames)
    assert found.names == ("set 1", "set 2", "set 3", "set 4")
    assert_allclose(found.weights, compare(four, units="own").weights, atol=1e-12)


def test_files_give_their_names(tmp_path, four):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    paths = [tmp_path / "p.npy", tmp_path / "x/q.npy", tmp_path / "y/q.npy"]
    for path, X in zip(paths, four.values(), strict=False):
        np.save(path, X)
    found = compare([str(path) for path in paths], open_source(four["s"]))
    assert found.names == ("p.npy", "q.npy (2)", "q.npy (3)")
    assert found.rows_z == 70


def test_sets_with_the_same_rows_do_not_differ(four):
    found = compare({"one": four["p"], "copy": four["p"], "other": four["q"]})
    assert found.distance("one", "copy") == 0
    assert found.distance("one", "other") > 1
    assert ("one", "copy") in found.audit.inseparable
    pairs = zip(found.audit.labels[found.audit.flagged], found.audit.suggested, strict=False)
    assert not any({"one", "copy"} == set(pair) for pair in pairs)


def test_units_of_columns_do_not_matter(four):
    scale = np.array([1, 10, 100, 1e-3, 1, 5.0])
    scaled = {name: X * scale for name, X in four.items()}
    plain, found = (compare(sets, units="own") for sets in (four, scaled))
    assert_allclose(found.weights, plain.weights, atol=1e-9)
    more = found.fitted.weights(scaled["p"][:5])
    assert_allclose(more, plain.fitted.weights(four["p"][:5]), atol=1e-9)


# ---- showing -----------------------------------------------------------------------------------


def test_the_comparison_is_a_classifier_that_can_be_saved(four, tmp_path):
    found = compare({name: four[name] for name in "rps"}, Z=four["q"])
    model = cospan.load(cospan.save(tmp_path / "model.safetensors", found.classifier()))
    assert list(model.classes_) == ["p", "r", "s"]
    weights = found.weights[found.group == 3]
    assert_allclose(model.predict_proba(four["q"]), weights[:, [1, 0, 2]], atol=1e-12)
    assert_array_equal(model.predict(four["q"]), np.array(list("rps"))[weights.argmax(axis=1)])
    two = compare([four["p"], four["q"]], four["r"])
    weights = two.weights[two.group == 2]
    assert_allclose(two.classifier().predict_proba(four["r"]), weights, atol=1e-12)


def test_figures_show_the_sets(four):
    from cospan.plots import plot_dendrogram, plot_pair_matrix, plot_ternary

    found = compare({HOSTILE: four["p"], "q": four["q"], "r": four["r"]}, Z=four["s"])
    drawn = plot_ternary(found)
    assert [len(dots.get_offsets()) for dots in drawn.collections] == [60, 45, 50, 70]
    w = found.weights[found.group == 1][0]
    assert_allclose(drawn.collections[1].get_offsets()[0], [w[1] + w[2] / 2, w[2] * 3**0.5 / 2])
    tree = plot_dendrogram(found)
    assert len(tree.lines) == 6
    for ax in (drawn, tree, plot_pair_matrix(found.names, found.pairs.matrix())):
        ax.figure.canvas.draw()
    with pytest.raises(InputError, match="three corners"):
        plot_ternary(compare(four))


def test_bad_sets_are_refused_with_a_reason(four):
    with pytest.raises(InputError, match="one set to compare"):
        compare({"x": four["p"]})
    with pytest.raises(InputError, match="a mapping of names"):
        compare(four["p"])
    with pytest.raises(InputError, match="6 features and"):
        compare([four["p"], four["q"][:, :3]])
    with pytest.raises(InputError, match="no set 'x'"):
        compare(four).distance("x", "p")
    with pytest.raises(InputError, match="hold 1 class"):
        compare(four["p"], label=np.zeros(60))
    with pytest.raises(InputError, match="more than 100 sets"):
        compare(np.zeros((300, 2)), label=np.arange(300))
    with pytest.raises(InputError, match="of 2 classes 'b' has one row"):
        compare(four["p"], label=np.array(["a"] * 59 + ["b"]))
    with pytest.raises(InputError, match="the same name"):
        compare({1: four["p"], "1": four["q"]})
    with pytest.raises(InputError, match="instead of a mapping"):
        compare(four, label="x")
    with pytest.raises(InputError, match="image_shape 2x2"):
        compare(four, image_shape=(2, 2))


# ---- digits ------------------------------------------------------------------------------------


def test_digits_are_told_apart_as_by_the_estimator():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(X)) % 3 > 0
    found = compare({str(k): X[train & (y == k)] for k in range(10)}, Z=X[~train])
    model = AlignmentAngleClassifier().fit(X[train], y[train])
    guess = found.weights[found.group == 10].argmax(axis=1)
    assert_array_equal(guess, model.predict(X[~train]))
    assert np.mean(guess == y[~train]) > 0.97


def test_the_closest_digits_of_mnist_are_those_people_confuse(mnist):
    sets = {str(k): mnist.draw(k, 600, seed=0) for k in range(10)}
    found = compare(sets)
    confused = {frozenset(pair) for pair in ("49", "35", "79", "38", "58")}
    assert {frozenset(pair) for pair in found.closest(3)} <= confused


# ---- what a review found -------------------------------------------------------------------------


def test_rows_to_score_may_have_the_column_of_the_classes(four):
    """Text or number, it is no feature there, and nobody is warned about it."""
    rows = np.vstack(list(four.values()))
    for names in (list("pqrs"), [1, 2, 3, 4]):
        labels = np.repeat(names, [len(X) for X in four.values()])
        table = pd.DataFrame(rows, columns=list("uvwxyz")).assign(kind=labels)
        found = compare(table, table.head(9), label="kind")
        assert found.rows_z == 9
        assert found.warnings == ()
        bare = compare(table, table.head(9).drop(columns="kind"), label="kind")
        assert_array_equal(bare.weights, found.weights)


def test_rows_to_score_are_told_from_a_set_of_their_name(four):
    found = compare({"Z": four["p"], "b": four["q"], "c": four["r"]}, Z=four["s"])
    assert found.further.name == "Z (scored)"
    assert set(found.to_frame("pandas")["set"]) == {"Z", "b", "c", "Z (scored)"}


def test_sets_are_found_by_numpy_integers_and_no_others(found):
    assert_array_equal(found.pair_theta(np.int64(0), 1), found.pair_theta(0, 1))
    assert_array_equal(found.directions.isolated(np.int64(0)), found.directions.isolated("p"))
    for number in (-1, 4):
        with pytest.raises(InputError, match=f"no set {number}"):
            found.directions.isolated(number)
        with pytest.raises(InputError, match=f"no set {number}"):
            found.pair_theta(number, 0)


def test_another_order_changes_no_bit_of_further_rows(four):
    Z = sets_of((500,), 6, seed=9)[0]
    for settings in ({}, {"span": "linear", "weighting": "frame"}):
        names = list("rpsq")
        places = ["pqrs".index(name) for name in names]
        one = compare(four, Z=Z, shrinkage=0.1, **settings)
        other = compare({name: four[name] for name in names}, Z=Z, shrinkage=0.1, **settings)
        assert_array_equal(other.weights[other.group == 4], one.weights[one.group == 4][:, places])


def test_one_set_alone_has_no_ambiguity_and_no_minus_sign():
    from cospan.comparison.score_files import ambiguity

    assert str(ambiguity(np.eye(3))[0]) == "0.0"


def test_rows_of_a_weighted_summary_leave_with_their_weight(four):
    """A weight of ¼ each, and as many copies more, is the same set; so are the weights of rows."""
    p = four["p"]
    weighted = Summary.of(np.repeat(p, 4, axis=0), np.full(4 * len(p), 0.25))
    others = {name: Summary.of(four[name]) for name in "qr"}
    one = compare({"p": weighted, **others}, shrinkage=0.1)
    costs = one.costs
    taken = np.full(4 * len(p), 0.25)
    rows, own = np.repeat(p, 4, axis=0), np.zeros(4 * len(p), dtype=int)
    squared = costs.left_out_costs(rows, own, sample_weight=taken)
    expected = calibrated_weights(squared, costs.geometry.calibration)
    assert_allclose(one.weights[one.group == 0], expected, atol=1e-12)


def test_every_row_of_a_dask_collection_is_scored_where_asked_for():
    import dask.array as da

    rows = np.random.default_rng(4).normal(size=(30_000, 2))
    sets = {"a": rows, "b": rows[:40] * [1, 3], "c": rows[:50] + 1}
    lazy = {**sets, "a": da.from_array(rows, chunks=(7_000, 2))}
    found, other = (
        # calibrated on a sample of the rows, and Dask draws another one
        compare(s, shrinkage=0.1, calibrate=False, pooling=0, dof=1)
        for s in (sets, lazy)
    )
    assert found.scored == other.scored == (30_000, 40, 50)
    assert_array_equal(found.CONFUSION, other.CONFUSION)
    with pytest.raises(InputError, match="with Dask itself"):
        compare(lazy, columns=["0"])
