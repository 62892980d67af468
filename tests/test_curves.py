"""Curved frames: the map, what it sees, when it is chosen, and everything that follows from it."""

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

import cospan
from cospan import AlignmentAngleClassifier, JointFrame, Summary, audit_labels, compare
from cospan.base.tolerance import LANDMARKS_APART
from cospan.errors import InputError, ModelFileError
from cospan.model import LandmarkMap, RowsAgain, SetCosts, landmark_map, score_map
from cospan.report import document_of, render


def ring_in_a_blob(n, d=3, seed=0):
    """Equal means and covariances; B's first two columns lie on a ring."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, n, d))
    turn = rng.uniform(0, 2 * np.pi, n)
    ring = np.sqrt(1.98) * np.column_stack([np.cos(turn), np.sin(turn)])
    B[:, :2] = ring + 0.1 * rng.normal(size=(n, 2))
    return A, B


def exact(mapping):
    """The map in float64."""
    return lambda rows: mapping(rows, fine=True)


@pytest.fixture(scope="module")
def ring():
    return ring_in_a_blob(300)


@pytest.fixture(scope="module")
def curved(ring):
    frame = JointFrame.fit(*ring, curve="auto")
    assert frame.curve is not None
    return frame


# ---- the map ----------------------------------------------------------------------------------


def test_a_place_is_the_scores_of_columns():
    """Normal scores of mid-ranks, whatever the column is; 0 and 1 where there are two values."""
    x = np.arange(40.0)
    rows = np.stack([x, np.exp(x), 3.0 + 2 * (x > 30), np.ones(40), x // 10], axis=1)
    mapping = score_map([rows[:25], rows[25:]])
    y = mapping.places(rows, fine=True)
    np.testing.assert_allclose(y[:, 0], ndtri((x + 0.5) / 40))
    np.testing.assert_allclose(y[:, 1], y[:, 0])
    np.testing.assert_array_equal(y[:, 2], x > 30)
    np.testing.assert_array_equal(y[:, 3], 0)
    np.testing.assert_allclose(y[:, 4], ndtri((5 + x // 10 * 10) / 40))
    assert np.isfinite(mapping(rows)).all()


def test_scores_go_on_beyond_the_ends():
    rows = np.arange(1000.0)[:, None]
    mapping = score_map([rows])
    y = mapping.places(np.array([[999.0], [999.0 + rows.std()], [1e9], [1e12]]), fine=True)[:, 0]
    assert y[1] - y[0] == pytest.approx(1)
    assert y[2] - y[0] == y[3] - y[0] == pytest.approx(20)


def test_nearness_is_by_the_sum_over_columns_and_varies_as_much_as_places(ring):
    rows = np.concatenate(ring)
    rows = np.concatenate([rows, rows[:, :1] > 0], axis=1)
    mapping = score_map([rows])
    y, mapped = mapping.places(rows, fine=True), exact(mapping)(rows)
    apart = np.abs(y[:, None] - mapping.landmarks).sum(axis=2)
    near = np.exp(-apart / mapping.width)
    np.testing.assert_allclose(mapped, np.concatenate([y, near @ mapping.mixing], axis=1))
    assert mapped[:, 4:].var(axis=0).sum() == pytest.approx(y.var(axis=0).sum())


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_offsets_and_units_do_not_matter(ring, offset):
    A, B = ring
    unit = np.array([1e-6, 1.0, 1e5])
    frame = JointFrame.fit(A, B, curve="auto")
    moved = JointFrame.fit(A * unit + offset * unit, B * unit + offset * unit, curve="auto")
    np.testing.assert_allclose(
        moved.align(A * unit + offset * unit).theta, frame.align(A).theta, atol=1e-4
    )


def test_samples_far_away_stay_numbers(curved):
    far = np.array([[1e300, -1e300, 0.0], [1e18, 0, 0], [0, 0, 1e5]])
    assert np.isfinite(curved.align(far).theta).all()


# ---- what it sees, and when it is chosen ------------------------------------------------------


def test_a_ring_in_a_blob_is_seen(ring, curved):
    A, B = ring_in_a_blob(1000, seed=1)
    label = np.repeat([0, 1], 1000)
    plain = curved.plain.align(np.concatenate([A, B])).theta
    assert roc_auc_score(label, plain) < 0.6
    assert roc_auc_score(label, curved.align(np.concatenate([A, B])).theta) > 0.85


@pytest.mark.parametrize("seed", range(6))
def test_sets_that_do_not_differ_stay_plain(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, (40, 150)[seed % 2], (3, 10)[seed // 2 % 2]))
    assert JointFrame.fit(A, B, curve="auto").curve is None


def test_sets_that_differ_in_means_alone_stay_plain():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 300, 5))
    assert JointFrame.fit(A, B + 0.5, curve="auto").curve is None


def test_the_plain_frame_is_the_one_without_a_curve(ring, curved):
    A, B = ring
    plain = JointFrame.fit(A, B, curve=None)
    for one in (curved.plain, curved.plain.plain):
        np.testing.assert_array_equal(one.align(A).theta, plain.align(A).theta)
        np.testing.assert_array_equal(one.align(A).typicality_a, plain.align(A).typicality_a)
    np.testing.assert_array_equal(curved.H, plain.H)
    assert curved.parts == plain.parts
    assert "curved" in repr(curved)
    assert "curved" not in repr(plain)


def test_angles_are_those_of_a_frame_of_mapped_rows(ring, curved):
    """Independent reference: map the rows, fit the plain costs to them in float64."""
    A, B = ring
    mapped = exact(curved.curve.map)
    g = curved.curve.costs.geometry
    reference = JointFrame.fit(
        mapped(A), mapped(B), units="common", shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof
    )
    Z = ring_in_a_blob(50, seed=5)[1]
    np.testing.assert_allclose(curved.align(Z).theta, reference.align(mapped(Z)).theta, atol=2e-4)
    np.testing.assert_allclose(
        curved.left_out(A, "A").theta, reference.left_out(mapped(A), "A").theta, atol=2e-4
    )


def test_leave_one_out_equals_refitting_with_the_same_map(ring, curved):
    A, B = ring
    g = curved.curve.costs.geometry
    left = curved.left_out(A, "A")
    mapped = exact(curved.curve.map)
    for i in (0, 17):
        fresh = SetCosts.from_summaries(
            [Summary.of(np.delete(mapped(A), i, axis=0)), Summary.of(mapped(B))],
            units="common",
            shrinkage=g.shrinkage,
            pooling=g.pooling,
            dof=g.dof,
            curve=None,
        )
        cost = np.sqrt(fresh.squared_costs(mapped(A[i : i + 1])))[0]
        # The target of the shrinkage is held in leaving, and remade in refitting.
        assert left.cost_a[i] == pytest.approx(cost[0], rel=2e-3)
        assert left.cost_b[i] == pytest.approx(cost[1], rel=2e-3)


@pytest.mark.parametrize("n", [2500, 9000])
def test_many_rows_are_read_again(n):
    """Above the sample's size the map is fitted to all rows, or to the sample, in one reading."""
    A, B = ring_in_a_blob(n, d=2)
    frame = JointFrame.fit(A, B, curve="auto")
    assert frame.curve.costs.geometry.sizes.tolist() == [n, n]
    a, b = Summary.of(A), Summary.of(B)
    once = JointFrame.from_summaries(a, b, curve="auto")
    assert once.curve.costs.geometry.sizes.tolist() == [len(a.sample), len(b.sample)]
    assert np.corrcoef(once.align(A).theta, frame.align(A).theta)[0, 1] > 0.99
    again = RowsAgain([(A, None), (B, None)])
    same = JointFrame.from_summaries(a, b, curve="auto", again=again)
    np.testing.assert_allclose(same.align(A).theta, frame.align(A).theta, atol=1e-5)


@pytest.mark.parametrize(
    ("n", "sample_size", "at_hand", "readings"),
    [
        (600, 600, True, 0),
        (600, 600, False, 0),
        (600, 200, True, 1),
        (600, 200, False, 0),
        (2000, 200, True, 0),
    ],
    ids=[
        "all are sampled",
        "all are sampled, the rest not in memory",
        "a few times as many",
        "not in memory",
        "many times as many",
    ],
)
def test_rows_are_read_again_for_a_trial_where_it_is_cheap(n, sample_size, at_hand, readings):
    """A plain model of all rows is to be compared with a curved one of all rows, if it can be.

    What is read may be asked for once more, by models of folds: rows in memory are read once.
    """
    A, B = np.random.default_rng(n).normal(size=(2, n, 3))
    calls = []

    class Again(RowsAgain):
        def __call__(self, mapping):
            calls.append(mapping)
            return super().__call__(mapping)

    again = Again([(A, None), (B, None)])
    a, b = (Summary.of(X, sample_size=sample_size) for X in (A, B))
    how = again if at_hand else lambda mapping: again(mapping)
    assert JointFrame.from_summaries(a, b, curve="auto", again=how).curve is None
    assert len(calls) == readings


def test_weights_count_like_copies(ring, curved):
    """Through the same map: which rows landmarks begin with is drawn anew from other rows."""
    A, B = ring
    again = RowsAgain([(A, np.repeat([1.0, 2.0], 150)), (B, None)])
    copies = RowsAgain([(np.concatenate([A, A[150:]]), None), (B, None)])
    one, two = (curved.curve.refitted(rows(curved.curve.map)) for rows in (again, copies))
    np.testing.assert_allclose(one.squared_costs(B), two.squared_costs(B), rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"), [({"curve": "yes"}, "'auto' or None"), ({"curve": 9}, "'auto' or None")]
)
def test_what_cannot_be_is_said(ring, options, words):
    with pytest.raises(InputError, match=words):
        JointFrame.fit(*ring, **options)


def test_summaries_without_their_rows_have_no_curve(ring):
    a, b = (Summary.of(X, sample_size=20) for X in ring)
    assert JointFrame.from_summaries(a, b, curve="auto").curve is None


def test_the_paper_has_no_curve(ring):
    assert JointFrame.fit(*ring, preset="paper").curve is None


# ---- many columns: landmarks ------------------------------------------------------------------


def ring_among_many_columns(n, seed):
    """A ring and a blob of two hidden columns, seen through 130."""
    hidden = ring_in_a_blob(n, 2, seed)
    rng = np.random.default_rng(99)
    turn = np.linalg.qr(rng.normal(size=(130, 2)))[0].T
    noise = np.random.default_rng([seed, 1]).normal(size=(2, n, 130))
    return [10 * X @ turn + 0.1 * e + 3 for X, e in zip(hidden, noise, strict=True)]


@pytest.fixture(scope="module")
def wide():
    return ring_among_many_columns(200, 0)


@pytest.fixture(scope="module")
def wide_frame(wide):
    frame = JointFrame.fit(*wide, curve="auto")
    assert isinstance(frame.curve.map, LandmarkMap)
    return frame


def test_a_ring_among_many_columns_is_seen(wide_frame):
    Z, label = np.concatenate(ring_among_many_columns(500, 1)), np.repeat([0, 1], 500)
    assert roc_auc_score(label, wide_frame.plain.align(Z).theta) < 0.6
    assert roc_auc_score(label, wide_frame.align(Z).theta) > 0.85


def test_features_of_landmarks_multiply_to_their_kernel(wide):
    """Nyström's features: at the landmarks, their products are the kernel, less what is weak."""
    d = wide[0].shape[1]
    mapping = landmark_map(wide[0].mean(axis=0), np.ones(d), wide)
    at = mapping.landmarks
    places = at @ mapping.axes.T + mapping.center
    phi = exact(mapping)(places)[:, mapping.axes.shape[1] :]
    distance = np.linalg.norm(at[:, None] - at[None], axis=2)
    kernel = np.exp(-(distance**2) / (2 * mapping.width**2))
    assert len(at) == 400 // 3
    y = (np.concatenate(wide) - mapping.center) @ mapping.axes
    products = phi @ phi.T / np.mean(np.sum(y**2, axis=1))
    values = np.linalg.eigvalsh(kernel)
    left_out = np.linalg.eigvalsh(kernel - products)
    assert left_out[0] > -1e-10
    assert left_out[-1] < LANDMARKS_APART * values[-1]
    assert phi.shape[1] == np.count_nonzero(values > LANDMARKS_APART * values[-1])


def test_no_landmark_is_a_row(wide):
    d = wide[0].shape[1]
    mapping = landmark_map(np.zeros(d), np.ones(d), wide)
    y = np.concatenate(wide) @ mapping.axes
    apart = np.linalg.norm(y[:, None] - mapping.landmarks[None], axis=2)
    assert apart.min() > 1e-3 * np.linalg.norm(y, axis=1).mean()


def test_landmarks_do_not_depend_on_the_order_of_rows_or_sets(wide, wide_frame):
    A, B = wide
    other = JointFrame.fit(B[::-1], A[::-1], curve="auto")
    theta = np.pi / 2 - other.align(A).theta
    np.testing.assert_allclose(theta, wide_frame.align(A).theta, atol=1e-3)


def test_landmarks_are_saved_and_scored_alike(wide, wide_frame, tmp_path):
    A, B = wide
    cospan.save(tmp_path / "wide.cospan", wide_frame)
    loaded = cospan.load(tmp_path / "wide.cospan")
    theta = wide_frame.align(A).theta
    np.testing.assert_allclose(loaded.align(A).theta, theta, atol=1e-6)
    np.testing.assert_allclose(wide_frame.align(A.astype(np.float32)).theta, theta, atol=1e-3)
    mapped, g = exact(wide_frame.curve.map), wide_frame.curve.costs.geometry
    settled = {"shrinkage": g.shrinkage, "pooling": g.pooling, "dof": g.dof}
    reference = JointFrame.fit(mapped(A), mapped(B), units="common", **settled)
    there = reference.align(mapped(B)).theta
    np.testing.assert_allclose(there, wide_frame.align(B).theta, atol=1e-3)
    assert np.isfinite(wide_frame.align(np.full((1, 130), 1e300)).theta).all()


def test_fewer_rows_than_columns_show_no_curve(wide):
    A, B = (X[:60] for X in wide)
    assert JointFrame.fit(A, B, curve="auto").curve is None


# ---- everywhere -------------------------------------------------------------------------------


def test_a_curve_is_looked_for_unless_it_is_declined(ring):
    """Of answers. A frame that somebody fits for its directions is plain unless they ask."""
    X, y = np.concatenate(ring), np.repeat([0, 1], 300)
    assert JointFrame.fit(*ring).curve is None
    assert JointFrame.fit(*ring, curve="auto").curve is not None
    for options, curved in (({}, True), ({"curve": None}, False)):
        found = [
            AlignmentAngleClassifier(**options).fit(X, y).model_,
            compare(*ring, n_permutations=19, **options).frame,
        ]
        assert [one.curve is not None for one in found] == [curved] * 2


def three_rings(n, seed):
    rng = np.random.default_rng(seed)
    turn = rng.uniform(0, 2 * np.pi, (3, n))
    radius = np.array([1.0, 2.0, 3.0])[:, None] + 0.1 * rng.normal(size=(3, n))
    X = np.stack([radius * np.cos(turn), radius * np.sin(turn), rng.normal(size=(3, n))], axis=2)
    return X.reshape(-1, 3), np.repeat([0, 1, 2], n)


def test_three_classes(tmp_path):
    X, y = three_rings(200, 0)
    model = AlignmentAngleClassifier(curve="auto").fit(X, y)
    assert model.model_.curve is not None
    Z, label = three_rings(200, 1)
    assert model.score(Z, label) > AlignmentAngleClassifier(curve=None).fit(X, y).score(Z, label)
    weights = model.predict_proba(Z)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    cospan.save(tmp_path / "m.cospan", model)
    loaded = cospan.load(tmp_path / "m.cospan")
    np.testing.assert_allclose(loaded.predict_proba(Z), weights, atol=1e-6)


def test_model_files_hold_the_map_and_no_rows(ring, curved, tmp_path):
    path = tmp_path / "ring.cospan"
    cospan.save(path, curved)
    frame = cospan.load(path)
    A, B = ring
    np.testing.assert_allclose(frame.align(A).theta, curved.align(A).theta, atol=1e-7)
    np.testing.assert_allclose(frame.plain.align(A).theta, curved.plain.align(A).theta, atol=1e-12)
    left = frame.left_out(B, "B").theta
    np.testing.assert_allclose(left, curved.left_out(B, "B").theta, atol=1e-6)
    content = path.read_bytes()
    exact = curved.curve.map(A, fine=True)
    for row in (*A[:50], *exact[:50], *exact[:50].astype(np.float32)):
        assert row[:2].tobytes() not in content


def test_a_curve_of_other_sets_is_refused(curved, tmp_path):
    from dataclasses import replace

    wrong = replace(curved.curve.map, mixing=curved.curve.map.mixing[:, :-1])
    broken = replace(curved, curve=replace(curved.curve, map=wrong))
    cospan.save(tmp_path / "broken.cospan", broken)
    with pytest.raises(ModelFileError, match="curve"):
        cospan.load(tmp_path / "broken.cospan")


def test_compare_uses_the_curve(ring):
    found = compare(*ring, n_permutations=19, curve="auto")
    assert found.frame.curve is not None
    plain = compare(*ring, n_permutations=19, curve=None)
    assert found.size > plain.size + 0.2
    assert found.fitted.curve.map.words == "nearness to 200 landmarks"
    assert plain.fitted.curve is None
    page = render(document_of(found), "html")
    assert "The difference is curved" in page


def test_the_audit_stays_plain_where_only_a_curve_separates(ring):
    """Blob rows on the ring are no flipped labels."""
    X, y = np.concatenate(ring), np.repeat([0, 1], 300)
    assert not audit_labels(X, y).flagged.any()
    assert audit_labels(X, y, curve="auto").suspicion.std() > 0.2  # the classes are told apart


def test_many_sets_choose_a_curve_and_say_so():
    X, y = three_rings(150, 0)
    sets = {f"ring {k}": X[y == k] for k in range(3)}
    found = cospan.compare(sets, n_permutations=19, curve="auto")
    plain = cospan.compare(sets, n_permutations=19, curve=None)
    assert found.fitted.curve is not None
    assert plain.fitted.curve is None
    assert any("curved" in note.text for note in found.warnings)
    Z, label = three_rings(150, 1)
    hits = [(one.fitted.weights(Z).argmax(axis=1) == label).mean() for one in (found, plain)]
    assert hits[0] > hits[1]


def test_dask_gives_the_same(ring):
    da = pytest.importorskip("dask.array")
    A, B = ring_in_a_blob(2500, d=2)
    lazy = [da.from_array(X, chunks=(700, 2)) for X in (A, B)]
    frame, there = JointFrame.fit(A, B, curve="auto"), JointFrame.fit(*lazy, curve="auto")
    assert there.curve is not None  # of the sampled rows: collections are read once
    np.testing.assert_allclose(
        there.align(lazy[0]).theta.compute(), there.align(A).theta, atol=2e-5
    )
    both = np.corrcoef(frame.align(A).theta, there.align(A).theta)[0, 1]
    assert both > 0.99


def test_torch_gives_the_same(ring, curved):
    torch = pytest.importorskip("torch")
    A, B = ring
    found = curved.align(torch.as_tensor(A))
    np.testing.assert_allclose(found.theta.numpy(), curved.align(A).theta, atol=1e-5)
    left = curved.left_out(torch.as_tensor(B), "B").theta.numpy()
    np.testing.assert_allclose(left, curved.left_out(B, "B").theta, atol=1e-5)
    frame = JointFrame.fit(torch.as_tensor(A), torch.as_tensor(B), curve="auto")
    np.testing.assert_allclose(frame.align(A).theta, curved.align(A).theta, atol=1e-4)


def test_float32_rows_give_the_same(ring, curved):
    A, _ = ring
    found = curved.align(A.astype(np.float32))
    assert found.theta.dtype == np.float32
    np.testing.assert_allclose(found.theta, curved.align(A).theta, atol=1e-4)
