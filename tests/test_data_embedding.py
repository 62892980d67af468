"""Texts and images become rows by any function, or by the name of a model."""

import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from cospan.data import open_source
from cospan.errors import InputError, MissingDependencyError

TEXTS = pd.DataFrame({"review": ["good", "very bad", None, "good"] * 10, "stars": range(40)})


def lengths(texts):
    return [[len(text), text.count(" "), text.count("o")] for text in texts]


def test_a_function_makes_rows_of_texts_and_sees_each_text_once():
    seen = []

    def embed(texts):
        seen.extend(texts)
        return lengths(texts)

    source = open_source(TEXTS, text="review", embed=embed)
    for _ in range(2):
        np.testing.assert_array_equal(source.read().rows[:2], [[4, 0, 2], [8, 1, 0]])
    assert sorted(seen) == ["", "good", "very bad"]
    assert any("10 missing texts" in note.text for note in source.notes)


def test_a_function_makes_rows_of_images(tmp_path):
    for k in range(4):
        Image.fromarray(np.full((6, 5), 10 * k, dtype=np.uint8)).save(tmp_path / f"{k}.png")
    source = open_source(tmp_path, embed=lambda images: images.mean(axis=(1, 2)), image_size=(4, 4))
    np.testing.assert_allclose(source.read().rows[:, 0], [0, 10, 20, 30])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"embed": lengths}, "nothing to embed"),
        ({"text": "stars", "embed": lengths}, "holds numbers, not texts"),
        ({"text": "review"}, "need a model"),
        ({"text": "review", "embed": lambda texts: [1.0]}, "one row of numbers for each"),
        ({"text": "review", "embed": lambda texts: ["x"] * len(texts)}, "gave no numbers"),
    ],
)
def test_what_cannot_be_embedded_is_one_sentence(options, match):
    with pytest.raises(InputError, match=match):
        open_source(TEXTS, **options)


def test_a_name_needs_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cospan\[embed\]'"):
        open_source(TEXTS, text="review", embed="all-MiniLM-L6-v2")
