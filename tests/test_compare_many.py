"""compare_many: identities with pairs, invariance, passes over the data, what it accepts."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import cospan
from cospan import (
    AlignmentAngleClassifier,
    JointFrame,
    Summary,
    compare,
    compare_many,
    separation,
)
from cospan.data import Source, open_source
from cospan.errors import CospanWarning, InputError
from cospan.model import Calibration, SetCosts, angles_of, calibrated_weights
from cospan.summary import dealt_by_number

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
    return compare_many(four, sets_of((30,), 6, seed=9)[0])


# ---- identities --------------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", ["auto", 0.0, 0.2])
@pytest.mark.parametrize(("span", "weighting"), [("affine", "cost"), ("linear", "frame")])
def test_two_sets_have_the_posterior_of_their_pair(span, weighting, shrinkage):
    A, B, Z = sets_of((60, 45, 30), 7)
    many = compare_many([A, B], Z, span=span, weighting=weighting, shrinkage=shrinkage)
    frame = JointFrame.fit(A, B, span=span, shrinkage=shrinkage)
    assert many.shrinkage == frame.shrinkage
    pair = compare(A, B, Z, span=span, weighting=weighting, shrinkage=shrinkage, n_permutations=19)
    expected = np.vstack([group.alignment.posterior for group in pair.groups])
    assert_allclose(many.weights, expected, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"shrinkage": 0.3, "seed": 4}, {"span": "linear"}])
def test_two_sets_agree_with_compare(settings):
    """The same pair and the same distance: two sets are K = 2."""
    A, B = sets_of((60, 45), 7)
    many = compare_many({"A": A, "B": B}, **settings)
    pair = compare(A, B, n_permutations=19, **settings)
    assert many.shrinkage == pair.frame.shrinkage
    assert many.distance("A", "B") == pytest.approx(pair.separation.fisher_rao, abs=1e-9)
    found, expected = many.separation("A", "B").auc, pair.size
    for end in ("low", "high"):
        assert getattr(found, end) == pytest.approx(getattr(expected, end), abs=1e-9)
    assert_array_equal(many.audit.flagged, pair.audit.flagged)
    assert_allclose(many.audit.suspicion, pair.audit.suspicion, atol=1e-9)


def test_an_extra_column_of_rows_to_score_is_left_out_by_both(four):
    tables = {name: pd.DataFrame(X, columns=list("uvwxyz")) for name, X in four.items()}
    Z = tables["s"].head(9).assign(more=1.0)
    with pytest.warns(CospanWarning, match="more is in Z only"):
        pair = compare(tables["p"], tables["q"], Z, n_permutations=19)
    with pytest.warns(CospanWarning, match="more is in Z only"):
        many = compare_many({name: tables[name] for name in "pqr"}, Z)
    plain = compare_many({name: tables[name] for name in "pqr"}, tables["s"].head(9))
    assert_array_equal(many.weights, plain.weights)
    for found in (pair, many):
        assert any("more is in Z only" in note.text for note in found.warnings), found.warnings


def test_weights_of_two_sets_among_many_are_those_of_the_pair(four, found):
    """log(w_i / w_j) is gain·log(cost_j²/cost_i²) less the difference of the offsets."""
    Z = sets_of((30,), 6, seed=9)[0]
    w = found.weights[found.group == 4]
    g = found.costs.geometry
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


def test_what_is_said_of_a_sample_follows_from_its_weights(found):
    w = found.weights
    assert_allclose(w.sum(axis=1), 1, atol=1e-14)
    rows = np.arange(len(w))
    first, second = found.nearest.T
    assert (w[rows, first] >= w[rows, second]).all()
    assert_allclose(np.cos(found.theta) ** 2, w[rows, first] / (w[rows, first] + w[rows, second]))
    assert (found.degrees <= 45 + 1e-9).all()
    assert ((found.entropy >= 0) & (found.entropy <= 1)).all()
    assert_allclose(found.entropy, -(w * np.log(w)).sum(axis=1) / np.log(4))


def test_the_matrix_holds_the_distances_of_the_pairs_own_rows(found):
    i, j = 0, 2
    theta = [found.pair_theta(i, j)[found.group == k] for k in (i, j)]
    assert found.fisher_rao[i, j] == pytest.approx(separation(*theta).fisher_rao, abs=1e-9)
    assert_array_equal(found.fisher_rao, found.fisher_rao.T)
    assert (np.diagonal(found.fisher_rao) == 0).all()
    assert found.pair_counts[i, j].sum() == found.rows[i]
    a = found.pair_theta(i, j)[found.group == i]
    assert_array_equal(
        found.pair_counts[i, j], np.histogram(np.degrees(a), bins=90, range=(0, 90))[0]
    )
    assert found.closest(1)[0] == min(
        ((x, y) for x in "pqrs" for y in "pqrs" if x < y),
        key=lambda pair: found.distance(*pair),
    )


def test_own_rows_are_scored_by_costs_of_the_other_folds(four):
    settled = {"units": "common", "shrinkage": 0.2, "pooling": 0.0, "dof": 2.0, "curve": None}
    found = compare_many(four, **settled)
    fold = dealt_by_number(np.arange(60), 5)[7]
    summaries = [
        Summary.of(X[dealt_by_number(np.arange(len(X)), 5) != fold]) for X in four.values()
    ]
    costs = SetCosts.from_summaries(summaries, **settled)
    place = list(four).index("q")
    start = sum(len(X) for X in list(four.values())[:place])
    assert_allclose(found.weights[start + 7], costs.weights(four["q"][7:8])[0], atol=1e-12)


# ---- names and order ---------------------------------------------------------------------------


def test_another_order_of_the_sets_permutes_the_results_and_nothing_else(four, found):
    names = ("s", "p", "r", "q")
    turned = compare_many({name: four[name] for name in names}, sets_of((30,), 6, seed=9)[0])
    places = ["pqrs".index(name) for name in names]
    pairs = np.ix_(places, places)
    assert turned.shrinkage == found.shrinkage
    for field in ("fisher_rao", "confusion", "pair_counts"):
        assert_array_equal(getattr(turned, field), getattr(found, field)[pairs], err_msg=field)
    assert_array_equal(turned.frame.directions, found.frame.directions)
    assert_array_equal(turned.frame.sigma, found.frame.sigma[places])
    for k, name in enumerate(names):
        own = turned.weights[turned.group == k]
        before = found.weights[found.group == "pqrs".index(name)]
        assert_allclose(own, before[:, places], atol=1e-15)
    assert [turned.names[k] for k in turned.order] == [found.names[k] for k in found.order]
    assert_array_equal(turned.linkage[:, 2:], found.linkage[:, 2:])


def test_swapping_names_swaps_names_and_nothing_else(four, found):
    swapped = compare_many(dict(zip("rqps", four.values(), strict=True)))
    again = compare_many(four)
    assert swapped.names == ("r", "q", "p", "s")
    for field in ("weights", "fisher_rao", "linkage", "order"):
        assert_array_equal(getattr(swapped, field), getattr(again, field), err_msg=field)
    assert_array_equal(again.fisher_rao, found.fisher_rao)


def test_close_sets_join_first():
    rng = np.random.default_rng(2)
    base, far = np.array([1, 1, 4, 4.0]), np.array([4, 4, 1, 1.0])
    scales = {"a": base, "x": far, "a'": base * [1, 1.1, 1, 1], "x'": far * [1, 1.1, 1, 1]}
    found = compare_many({name: rng.normal(size=(300, 4)) * s for name, s in scales.items()})
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
    compare_many(sets)
    assert sum(n for _, n in read) == 240  # kept whole: one pass is enough
    assert len(calls) <= 6 * 7 * 6  # so many for each set and fold, whatever the number of pairs
    monkeypatch.setattr("cospan.summary.sample.FEWEST_ROWS", 10)
    monkeypatch.setattr("cospan.comparison.reading.SAMPLE_ROWS", 10)
    read.clear()
    whole = compare_many(sets)
    assert sum(n for _, n in read) == 480
    assert whole.scored == (40,) * 6
    read.clear()
    sampled = compare_many(sets, score_all=False)
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
    found = compare_many(table, label="kind", chunk_rows=16)
    assert len(read) == 1
    assert found.names == ("p", "q", "r", "s")
    assert found.rows == (60, 45, 50, 70)
    assert found.feature_names == tuple("uvwxyz")
    plain = compare_many(four, shrinkage=found.shrinkage, units="own")  # as for named columns
    assert_array_equal(np.sort(found.ids), np.arange(len(rows)))
    assert_allclose(found.costs.weights(rows), plain.costs.weights(rows), atol=1e-12)


def test_further_rows_may_have_the_column_of_the_classes(four):
    rows = np.vstack(list(four.values()))
    table = pd.DataFrame(rows, columns=list("uvwxyz")).assign(kind=np.repeat([1, 2], [105, 120]))
    found = compare_many(table, table.head(20), label="kind")
    assert found.names == ("1", "2")
    named = [pd.DataFrame(part, columns=list("uvwxyz")) for part in (rows[:105], rows[105:])]
    plain = compare_many(named, named[0].head(20))
    assert_allclose(found.weights, plain.weights, atol=1e-12)


def test_classes_too_large_to_keep_are_scored_in_a_second_pass(monkeypatch, four):
    rows = np.vstack(list(four.values()))
    labels = np.repeat([1.0, 2.0, 10.0, 3.0], [60, 45, 50, 70])
    # Nothing is left to the sample of rows, which is made small below.
    given = {"shrinkage": 0.3, "units": "own", "pooling": 0, "dof": 1, "calibrate": False}
    whole = compare_many(rows, label=labels, **given)
    assert whole.names == ("1", "2", "3", "10")
    monkeypatch.setattr("cospan.summary.sample.FEWEST_ROWS", 10)
    monkeypatch.setattr("cospan.comparison.reading.SAMPLE_ROWS", 10)
    again = compare_many(rows, label=labels, **given)
    assert again.scored == whole.scored == (60, 45, 70, 50)
    assert_allclose(again.weights, whole.weights, atol=1e-9)


def test_summaries_and_dask_collections_are_sets_too(four):
    import dask.array as da

    plain = compare_many(four)
    summaries = compare_many({name: Summary.of(X) for name, X in four.items()})
    lazy = compare_many({name: da.from_array(X, chunks=(20, 6)) for name, X in four.items()})
    for other in (summaries, lazy):
        assert other.shrinkage == plain.shrinkage
        assert_allclose(other.weights, plain.weights, atol=1e-9)
    with pytest.raises(InputError, match="sample_size > 0"):
        compare_many([Summary.of(X, sample_size=0) for X in four.values()])


def test_columns_come_into_the_order_of_the_first_set(four):
    frames = [pd.DataFrame(X, columns=list("uvwxyz")) for X in four.values()]
    frames[2] = frames[2][list("zyxwvu")]
    found = compare_many(frames, units="own")
    assert found.names == ("set 1", "set 2", "set 3", "set 4")
    assert_allclose(found.weights, compare_many(four, units="own").weights, atol=1e-12)


def test_files_give_their_names(tmp_path, four):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    paths = [tmp_path / "p.npy", tmp_path / "x/q.npy", tmp_path / "y/q.npy"]
    for path, X in zip(paths, four.values(), strict=False):
        np.save(path, X)
    found = compare_many([str(path) for path in paths], open_source(four["s"]))
    assert found.names == ("p.npy", "q.npy (2)", "q.npy (3)")
    assert found.rows_z == 70


def test_sets_with_the_same_rows_do_not_differ(four):
    found = compare_many({"one": four["p"], "copy": four["p"], "other": four["q"]})
    assert found.distance("one", "copy") == pytest.approx(0, abs=1e-12)
    assert found.distance("one", "other") > 1
    assert ("one", "copy") in found.audit.inseparable
    pairs = zip(found.audit.labels[found.audit.flagged], found.audit.suggested, strict=False)
    assert not any({"one", "copy"} == set(pair) for pair in pairs)


def test_units_of_columns_do_not_matter(four):
    scale = np.array([1, 10, 100, 1e-3, 1, 5.0])
    scaled = {name: X * scale for name, X in four.items()}
    plain, found = (compare_many(sets, units="own") for sets in (four, scaled))
    assert_allclose(found.weights, plain.weights, atol=1e-9)
    more = found.costs.weights(scaled["p"][:5])
    assert_allclose(more, plain.costs.weights(four["p"][:5]), atol=1e-9)


# ---- showing -----------------------------------------------------------------------------------


def test_results_as_text_table_and_json(found):
    text = found.summary()
    assert "4 sets: p, q, r, s" in text
    assert "30 rows of Z to score" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    table = found.to_frame("pandas")
    assert list(table.columns[-4:]) == ["weight p", "weight q", "weight r", "weight s"]
    assert table["set"].value_counts().to_dict() == {"p": 60, "q": 45, "r": 50, "s": 70, "Z": 30}
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["fisher_rao"][0][1] == found.fisher_rao[0, 1]
    assert [one["rows"] for one in data["sets"]] == [60, 45, 50, 70]
    assert repr(found) == "<ManyComparison of 4 sets ('p', 'q', 'r', 's'), 225 rows, 30 scored>"
    with pytest.raises(AttributeError):
        found.names = ()


def test_hostile_names_stay_one_line_of_text(four):
    found = compare_many({HOSTILE: four["p"], "q": four["q"], "r": four["r"]})
    assert found.names[0] == HOSTILE
    assert not any(c != "\n" and not c.isprintable() for c in found.summary())
    json.dumps(found.to_dict())


def test_many_sets_are_shown_as_far_as_they_fit():
    sets = {f"a long name number {k}": X for k, X in enumerate(sets_of((25,) * 20, 3))}
    text = compare_many(sets).summary()
    assert "more sets" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_comparison_is_a_classifier_that_can_be_saved(four, tmp_path):
    found = compare_many({name: four[name] for name in "rps"}, four["q"])
    model = cospan.load(cospan.save(tmp_path / "model.safetensors", found.classifier()))
    assert list(model.classes_) == ["p", "r", "s"]
    weights = found.weights[found.group == 3]
    assert_allclose(model.predict_proba(four["q"]), weights[:, [1, 0, 2]], atol=1e-12)
    assert_array_equal(model.predict(four["q"]), np.array(list("rps"))[weights.argmax(axis=1)])
    two = compare_many([four["p"], four["q"]], four["r"])
    weights = two.weights[two.group == 2]
    assert_allclose(two.classifier().predict_proba(four["r"]), weights, atol=1e-12)


def test_figures_show_the_sets(four):
    from cospan.plots import plot_dendrogram, plot_pair_matrix, plot_ternary

    found = compare_many({HOSTILE: four["p"], "q": four["q"], "r": four["r"]}, four["s"])
    drawn = plot_ternary(found)
    assert [len(dots.get_offsets()) for dots in drawn.collections] == [60, 45, 50, 70]
    w = found.weights[found.group == 1][0]
    assert_allclose(drawn.collections[1].get_offsets()[0], [w[1] + w[2] / 2, w[2] * 3**0.5 / 2])
    tree = plot_dendrogram(found)
    assert len(tree.lines) == 6
    for ax in (drawn, tree, plot_pair_matrix(found.names, found.fisher_rao)):
        ax.figure.canvas.draw()
    with pytest.raises(InputError, match="three corners"):
        plot_ternary(compare_many(four))


def test_bad_sets_are_refused_with_a_reason(four):
    with pytest.raises(InputError, match="one set to compare"):
        compare_many({"x": four["p"]})
    with pytest.raises(InputError, match="a mapping of names"):
        compare_many(four["p"])
    with pytest.raises(InputError, match="6 features and"):
        compare_many([four["p"], four["q"][:, :3]])
    with pytest.raises(InputError, match="no set 'x'"):
        compare_many(four).distance("x", "p")
    with pytest.raises(InputError, match="hold 1 class"):
        compare_many(four["p"], label=np.zeros(60))
    with pytest.raises(InputError, match="more than 100 sets"):
        compare_many(np.zeros((300, 2)), label=np.arange(300))
    with pytest.raises(InputError, match="of 2 classes 'b' has one row"):
        compare_many(four["p"], label=np.array(["a"] * 59 + ["b"]))
    with pytest.raises(InputError, match="the same name"):
        compare_many({1: four["p"], "1": four["q"]})
    with pytest.raises(InputError, match="instead of a mapping"):
        compare_many(four, label="x")
    with pytest.raises(InputError, match="image_shape 2x2"):
        compare_many(four, image_shape=(2, 2))


# ---- digits ------------------------------------------------------------------------------------


def test_digits_are_told_apart_as_by_the_estimator():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(X)) % 3 > 0
    found = compare_many({str(k): X[train & (y == k)] for k in range(10)}, X[~train])
    model = AlignmentAngleClassifier().fit(X[train], y[train])
    guess = found.weights[found.group == 10].argmax(axis=1)
    assert_array_equal(guess, model.predict(X[~train]))
    assert np.mean(guess == y[~train]) > 0.97


def test_the_closest_digits_of_mnist_are_those_people_confuse(mnist):
    sets = {str(k): mnist.draw(k, 600, seed=0) for k in range(10)}
    found = compare_many(sets)
    confused = {frozenset(pair) for pair in ("49", "35", "79", "38", "58")}
    assert {frozenset(pair) for pair in found.closest(3)} <= confused


# ---- what a review found -------------------------------------------------------------------------


def test_rows_to_score_may_have_the_column_of_the_classes(four):
    """Text or number, it is no feature there, and nobody is warned about it."""
    rows = np.vstack(list(four.values()))
    for names in (list("pqrs"), [1, 2, 3, 4]):
        labels = np.repeat(names, [len(X) for X in four.values()])
        table = pd.DataFrame(rows, columns=list("uvwxyz")).assign(kind=labels)
        found = compare_many(table, table.head(9), label="kind")
        assert found.rows_z == 9
        assert found.warnings == ()
        bare = compare_many(table, table.head(9).drop(columns="kind"), label="kind")
        assert_array_equal(bare.weights, found.weights)


def test_rows_to_score_are_told_from_a_set_of_their_name(four):
    found = compare_many({"Z": four["p"], "b": four["q"], "c": four["r"]}, four["s"])
    assert found.name_z == "Z (scored)"
    assert set(found.to_frame("pandas")["set"]) == {"Z", "b", "c", "Z (scored)"}


def test_sets_are_found_by_numpy_integers_and_no_others(found):
    assert_array_equal(found.pair_theta(np.int64(0), 1), found.pair_theta(0, 1))
    assert_array_equal(found.frame.isolated(np.int64(0)), found.frame.isolated("p"))
    for number in (-1, 4):
        with pytest.raises(InputError, match=f"no set {number}"):
            found.frame.isolated(number)
        with pytest.raises(InputError, match=f"no set {number}"):
            found.pair_theta(number, 0)


def test_another_order_changes_no_bit_of_further_rows(four):
    Z = sets_of((500,), 6, seed=9)[0]
    for settings in ({}, {"span": "linear", "weighting": "frame"}):
        names = list("rpsq")
        places = ["pqrs".index(name) for name in names]
        one = compare_many(four, Z, shrinkage=0.1, **settings)
        other = compare_many({name: four[name] for name in names}, Z, shrinkage=0.1, **settings)
        assert_array_equal(other.weights[other.group == 4], one.weights[one.group == 4][:, places])


def test_one_set_alone_has_no_ambiguity_and_no_minus_sign():
    from cospan.comparison.score_files import ambiguity

    assert str(ambiguity(np.eye(3))[0]) == "0.0"


def test_rows_of_a_weighted_summary_leave_with_their_weight(four):
    """A weight of ¼ each, and as many copies more, is the same set; so are the weights of rows."""
    p = four["p"]
    weighted = Summary.of(np.repeat(p, 4, axis=0), np.full(4 * len(p), 0.25))
    others = {name: Summary.of(four[name]) for name in "qr"}
    one = compare_many({"p": weighted, **others}, shrinkage=0.1)
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
        compare_many(s, shrinkage=0.1, calibrate=False, pooling=0, dof=1)
        for s in (sets, lazy)
    )
    assert found.scored == other.scored == (30_000, 40, 50)
    assert_array_equal(found.confusion, other.confusion)
    with pytest.raises(InputError, match="with Dask itself"):
        compare_many(lazy, columns=["0"])
