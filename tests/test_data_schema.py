"""Columns are matched by name first: what changed in the schema is told, and the rest compared."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

import cospan
from cospan import compare
from cospan.__main__ import main
from cospan.data import encode, open_source
from cospan.errors import CospanWarning, InputError


def table(seed, n=120):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["Rome", "Oslo", "Bern"], n),
            "price": rng.gamma(2, 3, n),
        }
    )


A, B = table(0), table(1)
CASES = {
    "dropped": (B.drop(columns="price"), "price", "price is in A only."),
    "added": (B.assign(more=1.5), "more", "more is in B only."),
    "renamed": (
        B.rename(columns={"town": "city"}),
        "town",
        "town is called city in B: the same values under a new name.",
    ),
    "retyped": (
        B.assign(age=[f"about {age}" for age in B["age"]]),
        "age",
        "age is a number in A and text in B, so it is not compared.",
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_changed_column_is_the_first_finding_and_the_rest_is_compared(kind):
    other, column, sentence = CASES[kind]
    found = compare(A, other, n_permutations=19)
    rest = compare(A.drop(columns=column, errors="ignore"), B.drop(columns=column, errors="ignore"),
                   n_permutations=19)  # fmt: skip
    said = tuple(x.replace(" in the columns they share", "") for x in found.verdict.sentences)
    assert said[0] == sentence
    more = said[1 + len(rest.verdict.sentences) :]
    assert said == (sentence, *rest.verdict.sentences, *more)
    assert all(text.startswith("age holds text such as 'about ") for text in more)
    assert found.size == rest.size
    (change,) = found.schema_changes
    assert json.loads(found.to_json())["schema_changes"][0] == change.to_dict()
    assert sentence in str(found).replace("\n", " ")


def test_names_stay_as_they_are_and_many_changes_leave_room_for_the_rest():
    (first, *_) = compare(A.assign(**{"my town": 1.5}), B, n_permutations=19).verdict.sentences
    assert first == "'my town' is in A only."
    wide = B.assign(**{f"c{k}": 1.5 for k in range(20)})
    found = compare(A, wide, n_permutations=19).verdict.sentences
    assert found[7:9] == ("c7 is in B only.", "12 more columns are not the same in both.")
    same = compare(A, B, n_permutations=19).verdict.sentences
    assert found[10:] == same[1:]


def test_the_command_tells_it_too_and_ends_well(tmp_path, capsys, monkeypatch):
    A.to_csv(tmp_path / "a.csv", index=False)
    B.drop(columns="price").to_csv(tmp_path / "b.csv", index=False)
    where = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    monkeypatch.setattr("sys.argv", ["cospan", "compare", *where])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "price is in a only." in capsys.readouterr().out


def test_several_sets_say_which_have_a_column():
    found = compare({"a": A, "b": B.drop(columns="x"), "c": table(2)})
    assert str(found).splitlines()[0] == "x is in a and c only."


def test_rows_to_score_and_streams_may_lack_a_column():
    with pytest.warns(CospanWarning, match="price is not in Z; it counts as missing there"):
        found = compare(A, B, table(2).drop(columns="price"), n_permutations=19)
    assert found.further is not None
    with pytest.warns(CospanWarning, match="price is in synthetic only"):
        cospan.fidelity(A.drop(columns="price"), B)


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        (A[["x"]], B[["age"]], "no column in common"),
        (np.ones((20, 4)), np.ones((20, 3)), "4 features and B has 3"),
        (
            np.ones((20, 3)),
            B[["town"]],
            "columns without names, and B is a table with more than numbers",
        ),
    ],
)
def test_nothing_in_common_is_one_sentence(a, b, match):
    with pytest.raises(InputError, match=match):
        compare(a, b, n_permutations=19)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"year": 2023}, {"year": 2024}),
        ({"site": "north"}, {"site": "south"}),
        ({"count": np.arange(120)}, {"count": np.arange(120, 240)}),
        ({"day": pd.Timestamp("2023-01-01")}, {"day": pd.Timestamp("2024-01-01")}),
    ],
)
def test_what_gives_the_set_away_is_set_aside_unless_it_is_kept(a, b):
    (column,) = a
    one, two = A.assign(**a), B.assign(**b)
    plain, _ = encode([open_source(one), open_source(two)])
    assert plain.plan[column].kind in ("time", "set aside")
    assert any(note.code == "set aside" and "keep=" in note.remedy for note in plain.notes)
    kept, _ = encode([open_source(one, keep=column), open_source(two, keep=column)])
    assert kept.plan[column].used


def test_another_unit_or_an_offset_stays():
    for other in (B.assign(price=B["price"] * 1000), B.assign(price=B["price"] + 1e6)):
        found = compare(A, other, n_permutations=19)
        assert found.features[0].name == "price"


@pytest.mark.parametrize("absurd", [np.inf, -np.inf, 1e200, 5e-324])
def test_one_absurd_cell_counts_as_missing_and_is_told(absurd, tmp_path):
    other = B.copy()
    other.loc[3, "price"] = absurd
    other.to_csv(tmp_path / "b.csv", index=False)
    other.rename(columns={"x": "y"}).to_csv(tmp_path / "renamed.csv", index=False)
    for sets in ((A, other), (A, tmp_path / "b.csv")):
        found = compare(*sets, n_permutations=19)
        first = found.findings[0]
        assert (first.kind, first.column) == ("absurd", "price")
        assert "price is infinite, beyond 1e100 or too small" in found.verdict.sentences[0]
    found = compare(A, tmp_path / "renamed.csv", n_permutations=19)
    assert [one.kind for one in found.findings[:2]] == ["renamed", "absurd"]
    rows = np.array(A[["x", "price"]])
    rows[5, 1] = absurd
    found = compare(rows, np.array(B[["x", "price"]]), n_permutations=19)
    assert (found.findings[0].kind, found.findings[0].column) == ("absurd", "x1")


def test_a_retyped_column_is_said_once():
    found = compare(A, B.assign(price=["high" if p > 0 else "low" for p in B["price"]]), seed=0)
    assert sum("price" in line for line in found.verdict.sentences) == 1


def test_columns_of_nothing_but_odd_values_end_no_run(tmp_path):
    odd = {"inf": np.inf, "huge": 1e17, "tiny": 5e-324, "none": np.nan}
    with pytest.warns(CospanWarning):
        found = compare(A.assign(**odd), B.assign(**odd), n_permutations=19)
    found.save(tmp_path / "report.html")
    assert set(found.feature_names) >= {"x", "huge"}


@pytest.mark.parametrize("ending", ["gz", "bz2"])
def test_packed_text_is_the_same_table(ending, tmp_path):
    A.to_csv(tmp_path / "a.csv", index=False)
    A.to_csv(tmp_path / f"a.csv.{ending}", index=False)
    plain, packed = encode([open_source(tmp_path / "a.csv"),
                            open_source(tmp_path / f"a.csv.{ending}")])  # fmt: skip
    np.testing.assert_array_equal(plain.read().rows, packed.read().rows)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"a,b\n1,2\n3\n", "line 3 has 1 field where the first has 2"),
        (b"a,b\n1,x\n2,\xff\n", "column 'b' holds text in line 3 that is not UTF-8"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "line 3 opens a quotation mark in column .b. that is never"),
        (b",".join(b"c%d" % i for i in range(50_001)) + b"\n", "at most 50,000 are read"),
    ],
)
def test_faults_of_text_are_said_by_line_and_column(text, match, tmp_path):
    (tmp_path / "x.csv").write_bytes(text)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text))
    for name in ("x.csv", "x.csv.gz"):
        with pytest.raises(cospan.errors.SourceError, match=match):
            encode([open_source(tmp_path / name)])[0].read()


def test_compressed_arrays_larger_than_memory_are_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros((1000, 10)))
    monkeypatch.setattr("os.sysconf", lambda name: 16)
    with pytest.raises(cospan.errors.SourceError, match="unpacked it takes 80,128 bytes"):
        open_source(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("july.csv", "june.csv"), ("july", "june")),
        (("x/a.csv", "y/a.csv"), ("a.csv (A)", "a.csv (B)")),
        (("a.csv", "a.parquet"), ("a.csv", "a.parquet")),
    ],
)
def test_sets_are_called_after_their_files(files, names, tmp_path):
    for file, table in zip(files, (A, B), strict=True):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path)
    found = compare(*(tmp_path / file for file in files), n_permutations=19)
    assert tuple(found.names) == names


def test_infinite_values_of_both_sets_are_odd_and_no_change():
    draw = np.random.default_rng(0)
    a, b = (one.assign(ratio=np.where(draw.random(120) < 0.1, np.inf, one["x"])) for one in (A, B))
    found = compare(a, b, n_permutations=19)
    assert not found.findings
    assert [one.column for one in found.verdict.quality] == ["ratio", "ratio"]


def test_gaps_of_numbers_that_count_rows_are_seen_and_nothing_else_of_them():
    a, b = (one.assign(row_id=np.arange(n, n + 120) * 7) for one, n in ((A, 1), (B, 10**6)))
    gaps = b.assign(row_id=b["row_id"].astype("Int64").where(np.arange(120) % 3 > 0))
    with pytest.warns(CospanWarning, match="Left out"):
        whole, found = (compare(a, one, n_permutations=99).findings for one in (b, gaps))
    assert not whole
    (found,) = found
    assert (found.kind, found.column) == ("missing", "row_id")


def test_periods_are_dates():
    a, b = (
        one.assign(month=pd.period_range(start, periods=60, freq="M").repeat(2))
        for one, start in ((A, "2019-01"), (B, "2020-06"))
    )
    (found,) = compare(a, b, n_permutations=99).findings
    assert str(found).startswith("month moved from 2021-06-")
