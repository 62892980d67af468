"""Values that are the same but written differently in two sets: read alike, and said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cospan import compare
from cospan.data import EncodingPlan, encode, open_source
from cospan.errors import CospanWarning
from cospan.wording.findings import sentence
from opened import encoded

N = 300


def table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "weight": np.round(rng.normal(7, 1, N), 2),
            "cut": rng.choice(["Ideal", "Good", "Fair"], N),
            "afam": rng.choice(["no", "yes"], N, p=[0.8, 0.2]),
            "day": pd.Timestamp("2014-01-01") + pd.to_timedelta(rng.integers(0, 700, N), "D"),
        }
    )


def pair() -> tuple[pd.DataFrame, pd.DataFrame]:
    return table(0), table(1)


def remarks(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    found = compare(open_source(a, name="A"), open_source(b, name="B"), n_permutations=19)
    written = [note for note in found.verdict.quality if note.kind == "writing"]
    said = [sentence(note, ("A", "B")) for note in written]
    assert set(said) <= set(found.verdict.sentences)
    return said


def written(table: pd.DataFrame, how: str) -> pd.DataFrame:
    return table.assign(day=table["day"].dt.strftime(how))


ISO, SLASH, DOTS, US = "%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%Y"


@pytest.mark.parametrize(("how_a", "how_b"), [(ISO, SLASH), (DOTS, ISO)])
def test_dates_are_read_in_the_order_of_each_set(how_a: str, how_b: str) -> None:
    a, b = pair()
    sources = encode(
        [open_source(written(a, how_a), name="A"), open_source(written(b, how_b), name="B")]
    )
    plain = encode([open_source(a, name="A"), open_source(b, name="B")])
    for source, expected in zip(sources, plain, strict=True):
        np.testing.assert_array_equal(source.read().rows, expected.read().rows)
    plan = sources[0].plan
    assert plan is not None
    assert plan["day"].kind == "date"
    assert EncodingPlan.from_dict(plan.to_dict()) == plan
    sets = [(x["day"].dt.strftime(how)[0], how) for x, how in ((a, how_a), (b, how_b))]
    one, other = (text if how != ISO else "plain dates" for text, how in sets)
    assert remarks(written(a, how_a), written(b, how_b)) == [
        f"day is written as {one} in A and as {other} in B."
    ]


def test_orders_that_can_be_mixed_up_are_not_guessed() -> None:
    a, b = pair()
    for other in (US, DOTS):
        with pytest.warns(CospanWarning, match="can be read in several ways"):
            encoded([open_source(written(a, SLASH)), open_source(written(b, other))])


def test_decimal_comma_is_said() -> None:
    a, b = pair()
    comma = b.assign(weight=[f"{x:.2f}".replace(".", ",") for x in b["weight"]])
    text = f"weight is written as plain numbers in A and as {comma['weight'][0]} in B."
    assert remarks(a, comma) == [text]
    assert remarks(a, b.assign(weight=[f"{x:.2f}" for x in b["weight"]])) == []
