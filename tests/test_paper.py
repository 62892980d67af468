"""The scripts of paper/ on small data: they run, and say what they promise."""

import gzip
import os

import joblib
import numpy as np
import pytest

import benchmark
import embeddings
import reproduce
import sensitivity
import write_up
from cospan.errors import SourceError
from images import load_images
from pages import table, write
from reproduce import DEFAULTS, FRAME
from tables import FEWEST, MOST, MOST_PAIRS, USED_BEFORE, pairs


@pytest.fixture(autouse=True)
def one_process():
    """Tests run in parallel themselves; processes started from here would only crowd them."""
    with joblib.parallel_config(backend="sequential"):
        yield


def test_the_reproduction_runs_on_the_embedded_digits(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("COSPAN_DATA", raising=False)
    text = write("page", "Reproduced", reproduce.page(2, True, folder=tmp_path), tmp_path)
    assert capsys.readouterr().out.startswith("COSPAN_DATA is not set: scikit-learn's digits")
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == text
    assert {path.stem for path in tmp_path.glob("*.png")} == {
        *("samples-digits", "extremes-digits", "posteriors-digits"),
        *(f"angles-digits-{rule}" for rule in ("frame", "cost", "defaults")),
    }
    for picture in tmp_path.glob("*.png"):
        assert f"]({picture.name})" in text
    assert "4 pairs, one draw" in text


def test_the_printed_distances_come_in_their_order_and_size(mnist):
    images = load_images("mnist")
    outcomes = {
        pair: [reproduce.run(*images.pair(*pair, draw)) for draw in range(2)]
        for pair in reproduce.PRINTED
    }
    found = [np.mean([one[FRAME].fisher_rao for one in draws]) for draws in outcomes.values()]
    assert found == sorted(found, reverse=True)
    # Two draws; the standard deviation of one is about 0.05.
    np.testing.assert_allclose(found, list(reproduce.PRINTED.values()), atol=0.15)
    assert min(one[DEFAULTS].accuracy for draws in outcomes.values() for one in draws) > 0.97
    assert "| 0, 7 | 2.773 " in reproduce.distances(images, outcomes)


def test_draws_are_repeatable_and_differ():
    digits = load_images("digits")
    first, again, other = (digits.draw(3, 50, draw) for draw in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(digits.draw(3, 10**6, 0)) == 2 * (digits.train_y == 3).sum() // 3


def test_files_are_read_from_the_folder_and_missing_ones_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("COSPAN_DATA", os.fspath(tmp_path))
    with pytest.raises(SourceError, match=r"train-images.*is not there.*COSPAN_DATA="):
        load_images("mnist")
    rng = np.random.default_rng(0)
    (tmp_path / "mnist").mkdir()
    for split in ("train", "t10k"):
        for kind, shape in (("images-idx3", (20, 4, 5)), ("labels-idx1", (20,))):
            head = bytes([0, 0, 8, len(shape)]) + np.asarray(shape, ">i4").tobytes()
            data = head + rng.integers(0, 10, shape).astype(np.uint8).tobytes()
            (tmp_path / "mnist" / f"{split}-{kind}-ubyte.gz").write_bytes(gzip.compress(data))
    found = load_images("mnist")
    assert (found.train_x.shape, found.test_y.shape) == ((20, 20), (20,))
    assert found.image_shape == (4, 5)


def test_angles_of_texts_tell_topics_apart(tmp_path):
    texts = embeddings.corpora(150)
    assert all(len(side) == 150 for pair in texts.values() for side in pair)
    topics = {pair: sides for pair, sides in texts.items() if "signals" in pair}
    tables, hardest, figure = embeddings.page(topics, tmp_path)
    angle, logistic = (float(cell) for cell in tables.splitlines()[-1].split("|")[3:5])
    assert angle > 0.9
    assert angle > logistic - 0.02
    assert len(hardest.splitlines()) == 4 + 3
    assert figure == "![Leave-one-out angles of texts.](angles-texts.png)"


def test_the_study_of_settings_has_a_table_for_each_reference(monkeypatch):
    monkeypatch.delenv("COSPAN_DATA", raising=False)
    few = {"the defaults": ({}, {"shrinkage": [0.1]}), "none": ({"shrinkage": 0}, {"rows": [0.5]})}
    monkeypatch.setattr(sensitivity, "REFERENCES", few)
    defaults, none = sensitivity.page()
    assert defaults.startswith("## Digits, 4 against 9; reference: the defaults\n")
    assert "\nshrinkage 0.1 " in defaults
    assert "\nrows 0.5 " in none


def test_a_table_is_markdown():
    assert table("T", ("a", "b"), [("1|2", "3")]).splitlines() == [
        "**T**", "", "| a    | b |", "| ---- | - |", "| 1\\|2 | 3 |",
    ]  # fmt: skip


def test_the_benchmark_has_enough_tables_and_every_one_in_a_single_half():
    every = list(pairs())
    assert len(every) >= 80
    assert len({pair.table for pair in every}) >= 40
    assert len({pair.name for pair in every}) == len(every)
    assert max(sum(pair.table == name for pair in every) for name in {p.table for p in every}) <= (
        MOST_PAIRS
    )
    evaluated = {pair.table for pair in pairs("evaluation")}
    assert evaluated
    assert not evaluated & {pair.table for pair in pairs("design")}
    assert not evaluated & USED_BEFORE


def test_a_pair_has_two_classes_and_none_of_the_columns_left_out():
    pair = next(pair for pair in pairs() if pair.unit is not None)
    X, y = pair.rows(most=100)
    assert [np.sum(y == k) for k in (0, 1)] == [100, 100]
    assert not {pair.label, *pair.left_out} & set(X.columns)
    assert FEWEST <= 100 <= MOST


def test_the_benchmarks_measures_weigh_both_classes_alike():
    y = np.array([0, 0, 0, 1])
    p = np.array([0.2, 0.2, 0.8, 0.9])
    found = benchmark.measured(y, p, [1.0], 0.0)
    np.testing.assert_allclose(found["accuracy"], (2 / 3 + 1) / 2)
    loss = -(np.log(0.8) * 2 + np.log(0.2)) / 3
    np.testing.assert_allclose(found["loss"], (loss - np.log(0.9)) / 2)
    assert benchmark.calibration_error(y, y.astype(float)) == 0


def test_what_was_kept_becomes_a_part_of_the_page_and_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "RESULTS", tmp_path / "kept.csv")
    monkeypatch.setattr(write_up, "FIGURES", tmp_path)
    pair = next(pair for pair in pairs("design") if pair.table == "MASS/crabs")
    monkeypatch.setattr(benchmark, "pairs", lambda half: [pair])
    models = ["angle, curved", "angle, plain", "LDA", "boosting"]
    monkeypatch.setattr(benchmark, "ITERATIONS", 5)
    for row in benchmark.run("design", models):
        benchmark.keep(row)
    kept = benchmark.kept()
    assert list(kept["model"]) == models
    assert kept["auc"].min() > 0.6
    assert not list(benchmark.run("design", models))
    text = write_up.section(kept, "design")
    assert "1 pairs of 1 tables" in text
    assert pair.name in text
    page = write_up.renewed("<!-- design -->old<!-- end -->", "design", text)
    assert text in page
    assert "old" not in page
