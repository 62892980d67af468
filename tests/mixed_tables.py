"""A table with every kind of column, for tests of what is found in tables."""

import numpy as np
import pandas as pd


def rng(seed=0):
    return np.random.default_rng(seed)


def mixed(n, seed=0):
    """Numbers, one of them made of another, a category, a boolean and a date."""
    draw = rng(seed)
    age = draw.normal(40, 10, n)
    return pd.DataFrame(
        {
            "age": age,
            "pay": 100 * age + draw.normal(0, 300, n),
            "hours": draw.exponential(8, n),
            "town": draw.choice(["Rome", "Oslo", "Bonn"], n, p=[0.5, 0.3, 0.2]),
            "open": draw.random(n) < 0.3,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 900, n), "D"),
        }
    )
