"""Another language: whatever a comparison says comes from the catalogue, word for word.

Under a pseudo-language that has every text of the code in other letters, no English word may be
left but names from the data and options.
"""

import importlib.util
import itertools
import math
import re
import string
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cospan import compare, compare_many
from cospan._language import either, say, speaking
from cospan._warnings import heard
from cospan.changes import FeatureChange, feature_sentence, pair_sentence
from cospan.changes.given import GivenOthers
from cospan.changes.measuring import Held
from cospan.changes.pairs import PairChange
from cospan.changes.repeats import Frequency
from cospan.changes.scatter import Scattered
from cospan.comparison.scored_rows import scored_beside
from cospan.comparison.timelines import sentences

TEXTS = Path(__file__).parents[1] / "benchmarks" / "texts.py"
#: How options are given, and what the data and its features are called.
NAMES = re.compile(
    r"XGAP is missing|\b(?:[XQ][A-Z]+|DAY|YES|NO|CAT|RED|BLUE|GREEN|NEW|red|blue|UTF|"
    r"numeric|categorical|drop|score_all=True|labels|columns)\b"
)


def pseudo_texts():
    spec = importlib.util.spec_from_file_location("texts", TEXTS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.texts()


def _other_letters(text):
    """Every letter outside of braces as its full-width twin: a language that nobody speaks."""
    wide = {ord(c): ord(c) + 0xFEE0 for c in string.ascii_letters}
    parts = re.split(r"(\{[^{}]*\})", text)
    return "".join(part if "{" in part else part.translate(wide) for part in parts)


PSEUDO = {text: _other_letters(text) for text in pseudo_texts()}


def english(texts):
    """The texts with a word of English, which there should be none of."""
    return [text for text in map(str, texts) if re.search("[A-Za-z]{2}", NAMES.sub("", text))]


def table(seed, n=300, *, other=False):
    """Numbers, categories, dates and gaps; `other`: with every kind of change planted."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    days = np.sort(rng.integers(0, 300, n))
    found = pd.DataFrame(x[:, :4], columns=["XSHIFT", "XSPREAD", "XSPIKE", "XROUND"])
    found["XGAP"] = x[:, 4] + 5
    found["XBROKEN"] = x[:, 0] + 0.05 * x[:, 5]
    found["XSAME"] = 7.0
    found["XUNIT"] = 20 + 3 * rng.normal(size=n)
    found["XCOMMA"] = rng.normal(size=n)
    found["XID"] = [f"k{seed}{i:04d}" for i in range(n)]
    found["DAY"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D")
    found["YES"] = rng.random(n) < 0.5
    found["NO"] = rng.choice(["RED", "BLUE"], n)
    found["CAT"] = rng.choice(["RED", "BLUE", "GREEN"], n, p=[0.5, 0.3, 0.2])
    if other:
        found["XSHIFT"] += 2.0 * (days > 150)
        found["XSPREAD"] *= 3
        found.loc[rng.random(n) < 0.2, "XSPIKE"] = -99
        found["XROUND"] = found["XROUND"].round(1)
        found.loc[rng.random(n) < 0.3, "XGAP"] = np.nan
        found["XBROKEN"] = rng.permutation(found["XBROKEN"])
        found["XUNIT"] *= 1000
        found["XCOMMA"] = [f"{value:.2f}".replace(".", ",") for value in found["XCOMMA"]]
        found["YES"] = rng.random(n) < 0.8
        found["NO"] = found["NO"].str.lower()
        found["CAT"] = rng.choice(["RED", "BLUE", "NEW"], n, p=[0.2, 0.5, 0.3])
        found.iloc[-20:] = found.iloc[:20].to_numpy()
    return found


@pytest.fixture(scope="module")
def sets():
    return table(0), table(1, other=True), table(2, 20)


@pytest.fixture(scope="module")
def two(sets):
    Z = sets[1].iloc[::3].assign(XOTHER=1.0)
    Z.iloc[::5, Z.columns.get_loc("XUNIT")] = np.nan
    Z.iloc[::7, Z.columns.get_loc("CAT")] = "QNEVER"
    labels = ["QB", "QA"] * (len(Z) // 2)
    names = {"name_a": "QA", "name_b": "QB", "name_z": "QZ"}
    with speaking(PSEUDO), heard():
        return compare(*sets[:2], Z, labels=labels, n_permutations=19, n_bootstrap=20, **names)


def test_every_text_keeps_its_values():
    for text, other in PSEUDO.items():
        assert re.findall(r"\{[^{}]*\}", text) == re.findall(r"\{[^{}]*\}", other)
    assert len(PSEUDO) > 200


def test_what_the_list_of_texts_does_not_know_is_seen():
    with speaking(PSEUDO):
        assert english([say("not in the list: {n:,}", n=3)]) == ["not in the list: 3"]
        assert not english([say("{names} and {n:,} more", names="RED", n=3)])
    assert either(np.True_, "one", "two") == "one"


def test_whatever_a_column_did_is_in_another_language():
    held = [
        Held(gap, mean, sd, 0.0, 9.0, {"RED": mean / 4, "NEW": gap, "other levels": 0.1 - gap})
        for gap, mean, sd in ((0.0, 1.0, 0.0), (0.1, 3.0, 2.0), (0.0, 2.0, 3.0))
    ]
    shares = ((0.0, 0.5, True), (0.3, 1.0, False), (1.0, 0.0, True), (0.001, 0.2, True))
    often = [Frequency(10.0, a, b, (sure, sure), True) for a, b, sure in shares]
    pairs = [
        PairChange("RED", "NEW", "RED", "NEW", a, b, 1.0, 0.0, 0.0, True)
        for a, b in itertools.permutations((-0.5, 0.01, 0.02, 0.6, 0.9), 2)
    ]
    said = []
    with speaking(PSEUDO):
        for kind, (a, b), of in itertools.product(
            ("number", "date", "duration", "boolean", "category", "vector"),
            itertools.permutations(held, 2),
            often,
        ):
            for ways in (("mean", "rounding"), ("value", "mean", "spread"), ("shape", "missing"),
                         ("relation", "levels")):  # fmt: skip
                one = FeatureChange("RED", kind, ways, True, 0, 0, of.a or math.nan, 0.1, a, b, 0.1,
                                    level="RED" if kind != "boolean" else "", pair=pairs[0],
                                    farthest=(a.mean if of.b < 1 else math.nan, 0.1, 0.9),
                                    spike=of, grain=of, others=(a, b))  # fmt: skip
                said += [feature_sentence(one, ("QA", "QB")), feature_sentence(one, ("QA", "'NO'"))]
        said += [pair_sentence(pair, ("QA", "QB")) for pair in pairs]
        for x in (2.0, -3000.0):
            said.append(GivenOthers("RED", "NEW", x, x).sentence(("QA", "QB")))
            said.append(Scattered("RED", "NEW", 1.0, 2.0, x > 0, -9.0).sentence(("QA", "QB")))
    assert len(set(said)) > 300
    assert not english(said)


def test_two_sets_in_another_language(two):
    changed, quality = two.features.changed, two.changes.quality
    assert {way for one in changed for way in one.ways} >= {"mean", "spread", "levels", "rounding"}
    assert {one.code for one in quality} >= {"missing", "new levels", "scale", "writing"}
    assert {one.code for one in two.warnings} >= {"encoding", "copies", "rows elsewhere"}
    assert two.timelines
    assert not english(two.verdict.sentences)
    assert not english(two.warnings)
    assert not english(note.text for note in quality)
    names = {"A": "QA", "B": "QB", "Z": "QZ"}
    with speaking(PSEUDO):
        assert not english(feature_sentence(one, ("QA", "QB")) for one in changed)
        assert not english(said for line in two.timelines for said in sentences(line, names))
        assert not english(window for line in two.timelines for window in line.windows)
        assert not english(scored_beside(two))


def test_three_sets_in_another_language(sets):
    named = dict(zip(("QA", "QB", "QC"), sets, strict=True))
    with speaking(PSEUDO), heard():
        found = compare_many(named, sets[1][:50], name_z="QZ", n_bootstrap=20)
        assert {one.code for one in found.warnings} >= {"few rows", "missing values"}
        assert not english([*found.sentences, *found.warnings, *scored_beside(found)])
        for pair in itertools.combinations(range(3), 2):
            assert not english([found.pair_changes.in_short(*pair)])
            assert not english(found.pair_changes.between(*pair).changes.verdict.sentences)
