"""Comparisons for the tests of pictures and reports."""

from dataclasses import replace

import numpy as np
import pandas as pd

from cospan.comparison import compare
from cospan.errors import Note

HOSTILE = {
    "html": '<b>bold</b><img src=x onerror="window.hacked=1">',
    "script": "</script><script>window.hacked=1</script>",
    "template": "{{ 7 * 7 }}{% raw %}${window.hacked=1}",
    "markdown": "|x|`y`[link](http://evil.example)*z*\n# heading",
    "long": "long" * 2_000,
    "emoji": "👩🏽‍🔬🧪 mélange \u200d",
    "rtl": "קובץ العربية \u202etxt.exe",
    "control": "tab\tbell\x07null\x00line\u2028end",
}


def comparison(
    n_a=200, n_b=150, d=12, *, n_z=0, image_shape=None, names=("left", "right"),
    feature_names=None, ids=None, seed=0, warnings=None, settings=None, **changes,
):  # fmt: skip
    """Two sets: the first column shifted, the second wider, two rows of each astray."""
    rng = np.random.default_rng(seed)
    A, B = rng.gamma(2.0, 1.0, (n_a, d)), rng.gamma(2.0, 1.0, (n_b, d))
    B[:, 0] += 3
    B[:, 1] *= 2
    A[:2], B[:2] = B[:2].copy(), A[:2].copy()
    Z = np.vstack([A[: n_z // 2], B[: n_z - n_z // 2]]) if n_z else None
    named = dict(zip(("name_a", "name_b"), names, strict=True))
    columns = list(feature_names or (f"x{i}" for i in range(d)))
    tables = [None if X is None else _table(X, columns, ids, image_shape) for X in (A, B, Z)]
    if ids is not None:
        named["id_column"] = "who"
    found = compare(*tables, image_shape=image_shape, n_permutations=49, **named)
    if warnings is not None:
        changes["warnings"] = tuple(warnings)
    if settings is not None:
        changes["settings"] = settings
    return replace(found, **changes)


def _table(X, columns, ids, image_shape):
    if image_shape is not None:
        return X
    table = pd.DataFrame(X, columns=columns)
    if ids is not None:
        table["who"] = [ids[i % len(ids)] for i in range(len(X))]
    return table


def mixed_table(n=400, seed=0):
    """Numbers, a category with a new level, a boolean, a date, missing values, a relation."""
    rng = np.random.default_rng(seed)

    def rows(later):
        age = rng.normal(42, 11, n).round()
        income = 1000 * age * (1 - later) + 42_000 * later + rng.normal(0, 9_000, n)
        plan = rng.choice(["basic", "plus"], n)
        if later:
            plan = np.where(rng.random(n) < 0.3, "trial", plan)
            income[rng.random(n) < 0.2] = np.nan
        days = pd.to_timedelta(rng.integers(0, 300, n), "D")
        return pd.DataFrame(
            {
                "customer": [f"C{later}{i:04d}" for i in range(n)],
                "age": age,
                "income": income,
                "plan": plan,
                "paperless": rng.random(n) < 0.6,
                "tenure": rng.normal(32 + 9 * later, 18, n),
                "first order": pd.Timestamp("2024-01-01") + days,
            }
        )

    return compare(
        rows(0), rows(1), name_a="train", name_b="live", id_column="customer", n_permutations=49
    )


def hostile_comparison(**changes):
    """Every name from the data is hostile: sets, columns, row identifiers, settings, warnings."""
    nasty = list(HOSTILE.values())
    return comparison(
        60,
        60,
        len(nasty),
        names=(HOSTILE["script"], HOSTILE["rtl"]),
        feature_names=nasty,
        ids=[f"{name} {i}" for i, name in enumerate(nasty)],
        warnings=(Note("note", HOSTILE["html"]),),
        settings={HOSTILE["html"]: HOSTILE["script"], "label": HOSTILE["long"]},
        **changes,
    )


def calm_comparison():
    """The hostile one with harmless names: the same numbers, so the same page."""
    n = len(HOSTILE)
    return comparison(
        60, 60, n,
        feature_names=[f"column {i}" for i in range(n)],
        ids=[f"row {i}" for i in range(n)],
        warnings=(Note("note", "calm"),),
        settings={"one": "two", "label": "three"},
    )  # fmt: skip
