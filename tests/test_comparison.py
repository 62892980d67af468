"""compare(): every source the same angles, honest scores, one pass over large data."""

import importlib
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import cospan.comparison.reading
from cospan import JointFrame, compare
from cospan.data import open_source
from cospan.errors import CospanWarning, InputError

SIDE = 6  # images of 6 x 6 pixels


def angles(found):
    """What the joint frame of two sets says about the rows of each group."""
    return list(found.every_group)


@pytest.fixture(scope="module")
def pixels():
    """Two sets of small images whose numbers every format can hold: 0 to 255."""
    rng = np.random.default_rng(7)
    mix = rng.normal(size=(2, SIDE * SIDE, SIDE * SIDE)) * 20
    sets = [rng.normal(size=(n, SIDE * SIDE)) @ m for n, m in zip((90, 70), mix, strict=True)]
    return [np.clip(np.rint(rows + 128), 0, 255) for rows in sets]


@pytest.fixture(scope="module")
def reference(pixels):
    return compare(*pixels, units="common")


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(400, 5)) * [1, 2, 3, 1, 1]
    B = rng.normal(size=(300, 5)) * [3, 2, 1, 1, 1] + [1, 0, 0, 0, 0]
    return A, B


def names(rows):
    return [f"pixel{j}" for j in range(rows.shape[1])]


# ---- every source gives the same angles --------------------------------------------------------


def _pandas(rows, path):
    return importlib.import_module("pandas").DataFrame(rows, columns=names(rows))


def _arrow(rows):
    import pyarrow as pa

    return pa.table(dict(zip(names(rows), rows.T, strict=True)))


def _npy(rows, path):
    np.save(path / "rows.npy", rows)
    return path / "rows.npy"


#: That every source gives the same rows is tested where sources are.
FORMATS = {
    "array": lambda rows, path: rows,
    "fortran order": lambda rows, path: np.asfortranarray(rows),
    "integers": lambda rows, path: rows.astype(np.int16),
    "torch": lambda rows, path: importlib.import_module("torch").asarray(rows),
    "pandas": _pandas,
    "npy": _npy,
    "source": lambda rows, path: open_source(rows, chunk_rows=11),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_source_gives_the_same_angles(kind, pixels, reference, tmp_path):
    things = []
    for letter, rows in zip("AB", pixels, strict=True):
        folder = tmp_path / letter
        folder.mkdir()
        things.append(FORMATS[kind](rows, folder))
    found = compare(*things, n_permutations=19, units="common")
    assert found.frame.shrinkage == reference.frame.shrinkage
    for mine, group in zip(angles(found), angles(reference), strict=True):
        np.testing.assert_allclose(mine.alignment.theta, group.alignment.theta, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(mine.rows, group.rows)


def test_two_classes_of_one_table_are_two_sets(pixels, reference, tmp_path):
    pa = importlib.import_module("pyarrow")
    rows = np.concatenate(pixels)
    kind = ["cat"] * len(pixels[0]) + ["dog"] * len(pixels[1])
    order = np.random.default_rng(0).permutation(len(rows))
    table = _arrow(rows[order]).append_column("kind", pa.array(kind).take(pa.array(order)))
    pa.parquet = importlib.import_module("pyarrow.parquet")
    pa.parquet.write_table(table, tmp_path / "pets.parquet")
    for classes in ({"a": "cat", "b": "dog"}, {}):
        options = {"units": "common", "n_permutations": 19, **classes}
        found = compare(tmp_path / "pets.parquet", label="kind", **options)
        assert (found.names[0], found.names[1]) == ("cat", "dog")
        theta, expected = (one.frame.align(rows).theta for one in (found, reference))
        np.testing.assert_allclose(theta, expected, atol=1e-11)


def test_columns_in_another_order_are_matched_by_name(blobs):
    pandas = importlib.import_module("pandas")
    A, B = (pandas.DataFrame(rows, columns=list("vwxyz")) for rows in blobs)
    straight, mixed = compare(A, B, n_permutations=19), compare(A, B[list("zyxwv")])
    np.testing.assert_allclose(
        mixed.groups[1].alignment.theta, straight.groups[1].alignment.theta, atol=1e-12
    )
    assert mixed.feature_names == tuple("vwxyz")


# ---- what the scores are -----------------------------------------------------------------------


def test_further_rows_are_scored_by_the_frame_and_own_ones_out_of_fold(blobs):
    A, B = blobs
    found = compare(A, B, A[:7])
    frame = JointFrame.fit(A, B)
    assert found.frame.shrinkage == frame.shrinkage
    np.testing.assert_allclose(found.further.alignment.theta, frame.align(A[:7]).theta, atol=1e-10)


def test_swapping_the_sets_turns_every_angle(blobs):
    A, B = blobs
    there, back = compare(A, B, n_permutations=19), compare(B, A, n_permutations=19)
    np.testing.assert_allclose(
        there.groups[0].alignment.theta, math.pi / 2 - back.groups[1].alignment.theta, atol=1e-10
    )


@pytest.mark.parametrize("settings", [{}, {"preset": "paper"}])
def test_chunks_do_not_matter(blobs, settings):
    A, B = blobs
    whole = compare(A, B, n_permutations=19, **settings)
    parts = compare(A, B, n_permutations=19, chunk_rows=13, **settings)
    np.testing.assert_allclose(
        parts.groups[0].alignment.theta, whole.groups[0].alignment.theta, atol=1e-9
    )
    np.testing.assert_array_equal(parts.groups[1].rows, whole.groups[1].rows)


# ---- units -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"shrinkage": 0.3}, {"shrinkage": 0}])
def test_units_of_columns_do_not_matter(blobs, settings):
    """With units of their own, 1 km and 1,000 m are the same row; so are p-value and features."""
    pandas = importlib.import_module("pandas")
    scale = np.array([1, 1e3, 1e-3, 1, 5])
    tables, scaled = (
        [pandas.DataFrame(rows * unit, columns=list("vwxyz")) for rows in blobs]
        for unit in (1.0, scale)
    )
    settings = {"units": "own", "n_permutations": 99, **settings}
    plain = compare(*tables, tables[0][:5], **settings)
    found = compare(*scaled, scaled[0][:5], **settings)
    assert found.frame.shrinkage == plain.frame.shrinkage
    assert found.p == plain.p
    for mine, other in zip(angles(found), angles(plain), strict=True):
        np.testing.assert_allclose(mine.alignment.theta, other.alignment.theta, atol=1e-9)
    # the frame itself takes rows in the features' own units, so it can be saved and used later
    np.testing.assert_allclose(
        found.frame.align(scaled[0][:5]).theta, found.further.alignment.theta, atol=1e-12
    )


# ---- large data --------------------------------------------------------------------------------


class Watched:
    """Counts how often a source is read."""

    def __init__(self, rows):
        self.source = open_source(rows, chunk_rows=100)
        self.passes = 0
        chunks = self.source.chunks

        def counted():
            self.passes += 1
            return chunks()

        self.source.chunks = counted


def test_large_sets_are_read_once_and_sampled(monkeypatch, blobs):
    monkeypatch.setattr(cospan.comparison.reading, "STUDIED_ROWS", 150)
    full = compare(*blobs, n_permutations=19)
    monkeypatch.setattr(cospan.comparison.reading, "SAMPLE_ROWS", 150)
    a, b, z = (Watched(rows) for rows in (*blobs, blobs[0]))
    found = compare(a.source, b.source, z.source, n_permutations=19)
    assert (a.passes, b.passes, z.passes) == (1, 1, 1)
    assert (found.further.n, found.further.total) == (150, 400)
    assert found.groups[0].sampled
    assert (found.groups[0].n, found.groups[0].total) == (150, 400)
    place = found.groups[0].ids
    assert len(set(place)) == 150
    np.testing.assert_array_equal(found.groups[0].rows, blobs[0][place])
    np.testing.assert_allclose(
        found.groups[0].alignment.theta, full.groups[0].alignment.theta[place], atol=1e-9
    )
    assert sum("uniform sample of 150 rows" in note.text for note in found.warnings) == 3


def test_small_sets_are_read_once_and_scored_in_full(blobs):
    a, b = (Watched(rows) for rows in blobs)
    found = compare(a.source, b.source, n_permutations=19)
    assert (a.passes, b.passes) == (1, 1)
    assert len(found.groups[0].ids) == found.groups[0].n == 400


def test_progress_is_told(blobs):
    told = []
    compare(*blobs, blobs[0], chunk_rows=100, progress=lambda *word: told.append(word))
    assert ("reading A", 400, 400) in told
    assert ("reading Z", 400, 400) in told


# ---- the result --------------------------------------------------------------------------------


def test_results_are_frozen(reference):
    with pytest.raises(AttributeError):
        reference.names = ("other",)
    with pytest.raises(AttributeError):
        reference.groups[0].n = 3


def test_one_row_per_sample(blobs):
    pandas = importlib.import_module("pandas")
    A, B = blobs
    table = compare(A, B, A[:3], n_permutations=19).to_frame("pandas")
    assert isinstance(table, pandas.DataFrame)
    assert table["set"].tolist() == ["A"] * 400 + ["B"] * 300 + ["Z"] * 3
    columns = "set id theta cost_a cost_b share_a share_shared share_b outside relational"
    assert " ".join(table.columns) == f"{columns} typicality_a typicality_b suspicion"
    frame = compare(A, B, n_permutations=19).frame
    log_ratio = np.log(table["cost_a"] ** 2 / table["cost_b"] ** 2)
    odds = np.exp(frame.gain * (log_ratio - frame.zero))  # tan²θ
    expected = np.degrees(np.arctan(np.sqrt(odds)))
    np.testing.assert_allclose(table["theta"][700:], expected[700:])  # own rows: a gain a fold
    assert table["suspicion"].notna().tolist() == [True] * 700 + [False] * 3


# ---- names --------------------------------------------------------------------------


def test_sets_of_one_name_are_told_apart(tmp_path, blobs):
    files = []
    for folder, rows in zip(("monday", "tuesday"), blobs, strict=True):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "data.npy", rows)
        files.append(tmp_path / folder / "data.npy")
    found = compare(*files, n_permutations=19)
    assert (found.names[0], found.names[1]) == ("data.npy (A)", "data.npy (B)")


def test_columns_left_out_are_warned_of_and_remembered(blobs):
    pandas = importlib.import_module("pandas")
    A, B = (pandas.DataFrame(rows, columns=list("vwxyz")) for rows in blobs)
    A["note"], B["note"] = ([f"note {i}" for i in range(len(rows))] for rows in blobs)
    with pytest.warns(CospanWarning, match="note") as caught:
        found = compare(A, B, n_permutations=19)
    assert all(warning.filename == __file__ for warning in caught)
    assert any("'note'" in note.text for note in found.warnings)


def test_nothing_shared_is_said(blobs):
    A, B = np.zeros((2, 12, 4))
    A[:, :2], B[:, 2:] = np.random.default_rng(0).normal(size=(2, 12, 2))
    settings = {"span": "linear", "center": "none", "shrinkage": 0.0, "n_permutations": 19}
    with pytest.warns(CospanWarning, match="share no direction"):
        found = compare(A, B, **settings)
    assert any("share no direction" in note.text for note in found.warnings)
    assert any("only 12 rows" in note.text for note in found.warnings)


# ---- what cannot be compared -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"B": None}, "only one set is given"),
        ({"a": "x"}, "label= must say where"),
        ({"shrinkage": 1.5}, "shrinkage is 1.5"),
        ({"center": "each"}, 'center belongs to span="linear"'),
        ({"balance": False}, 'balance belongs to span="linear"'),
        ({"span": "linear", "center": "left"}, "center is 'left'"),
        ({"preset": "book"}, "preset is 'book'"),
        ({"units": "metres"}, "units is 'metres'"),
        ({"image_shape": (2, 2)}, "image_shape 2x2 has 4 values where a row has 5"),
        ({"n_permutations": -1}, "whole number of at least 19, not -1"),
        ({"n_permutations": 19.5}, "n_permutations must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"A": {"x": [1.0, 2.0], "y": [1.0]}}, "columns of one length"),
        ({"columns": [0, 0]}, "each feature to take, and each once"),
        ({"B": np.ones((4, 3))}, "5"),
        ({"B": np.ones((1, 5))}, "B has one row"),
        ({"B": np.full((4, 5), np.nan)}, "missing"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_arguments_get_one_sentence(blobs, arguments, message):
    with pytest.raises((InputError, ValueError), match=message):
        compare(**{"A": blobs[0], "B": blobs[1], **arguments})


def test_the_same_class_twice_is_refused(blobs):
    rows = np.column_stack([blobs[0], np.arange(400) % 2])
    with pytest.raises(InputError, match="both sets are class '1'"):
        compare(rows, label=5, a=1, b=1)


def test_one_of_more_than_two_classes_needs_another(blobs):
    rows = np.column_stack([blobs[0], np.arange(400) % 3])
    with pytest.raises(InputError, match="name two classes"):
        compare(rows, label=5, a=1)
    assert compare(rows, label=5).names == ("0", "1", "2")


def test_few_rows_are_compared_without_a_p_value():
    A, B = np.random.default_rng(0).normal(size=(2, 3, 2))
    found = compare(A, B)
    assert math.isnan(found.p)
    assert any("no p-value" in note.text for note in found.warnings)


@pytest.mark.parametrize("d", [5, 40])
def test_a_set_compared_with_itself_does_not_differ(d):
    """Left out of A, a row is still in B: that must not count as a difference."""
    A = np.random.default_rng(0).standard_normal((200, d))
    found = compare(A, A.copy(), n_permutations=99)
    assert found.p > 0.05
    for group in angles(found):
        np.testing.assert_array_equal(group.alignment.theta, math.pi / 4)
    assert found.size == 0.5
    assert not any(row.kind == "like another set" for row in found.rows)


def test_a_mapping_names_its_sets(blobs):
    A, B = blobs
    found = compare({"old": A, "new": B}, Z=A[:4], shrinkage=0.2, n_permutations=19)
    expected = compare(A, B, A[:4], shrinkage=0.2, n_permutations=19)
    assert (found.names[0], found.names[1]) == ("old", "new")
    np.testing.assert_array_equal(found.further.alignment.theta, expected.further.alignment.theta)
    with pytest.raises(InputError, match="name_a= is for two sets"):
        compare({"old": A, "new": B}, name_a="older")


def test_a_mapping_of_more_sets_keeps_the_settings(blobs):
    A, B = blobs
    sets = {"one": A, "two": B, "three": A + 1}
    found = compare(sets, Z=A[:4], shrinkage=0.2, units="own", seed=3)
    expected = compare(sets, Z=A[:4], shrinkage=0.2, units="own", seed=3)
    assert found.fitted.geometry.shrinkage == 0.2
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_rows_to_score_may_hold_more_columns(blobs):
    import pandas as pd

    a, b = (pd.DataFrame(rows, columns=list("vwxyz")) for rows in blobs)
    z = b[:20][list("zyxwv")].assign(more=1.0, text="t")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CospanWarning)
        found = compare(a, b, z, n_permutations=19)
    plain = compare(a, b, b[:20], n_permutations=19)
    assert np.array_equal(found.further.alignment.theta, plain.further.alignment.theta)


@pytest.mark.parametrize("columns", [1, 2])
def test_equal_rows_of_both_sets_are_ordered_neither_way(columns):
    """Categories: leaving a row out must not order equal rows wrongly; the AUC is the rates'."""
    rng = np.random.default_rng(0)
    A, B = (
        pd.DataFrame({f"c{j}": np.where(rng.random(500) < p, "yes", "no") for j in range(columns)})
        for p in (0.2, 0.7)
    )
    found = compare(A, B)
    if columns == 1:
        a, b = ((one.c0 == "yes").mean() for one in (A, B))
        assert abs(found.size - (1 + b - a) / 2) < 1e-12
    assert found.p <= 0.002


def test_an_argument_that_does_not_exist_is_named():
    with pytest.raises(TypeError, match=r"no argument shrinkag=; help\(cospan.compare\)"):
        compare(np.eye(3), np.eye(3), shrinkag=1)
