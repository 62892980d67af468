"""The experiments with embeddings run on small samples, with a model made for the test."""

import numpy as np
import pytest

from cospan.experiments.embeddings import compare_texts, two_models
from cospan.experiments.texts import CORPORA, docstring_sentences


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


def test_two_models_of_the_same_texts_share_more_than_of_shuffled_ones():
    corpus = CORPORA["topics"](200)
    found = two_models([*corpus.a, *corpus.b], words, dimensions=10)
    assert found["linear CKA"] > 3 * found["linear CKA, texts in another order"]
    name = "relative Procrustes residual"
    assert found[name] < found[f"{name}, texts in another order"]
