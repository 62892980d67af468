"""Two sets are K = 2: what holds for more holds for them, in Python and on the command line."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from cospan import Comparison, Summary, cli, compare
from cospan.data import Source
from cospan.errors import CospanWarning, InputError

NAMES = ("red", "green", "blue")
COLUMNS = list("vwxyz")


@pytest.fixture(params=[2, 3], ids=["two sets", "three sets"])
def K(request):
    return request.param


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    scales = ([1, 2, 3, 1, 1], [3, 2, 1, 1, 1], [1, 1, 1, 3, 2])
    return [rng.normal(size=(n, 5)) * s for n, s in zip((120, 90, 100), scales, strict=True)]


@pytest.fixture
def sets(rows, K):
    return dict(zip(NAMES[:K], rows, strict=False))


@pytest.fixture
def tables(sets):
    return {name: pd.DataFrame(part, columns=COLUMNS) for name, part in sets.items()}


@pytest.fixture
def files(tables, tmp_path):
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False, float_format="%.17g")
    return [tmp_path / f"{name}.csv" for name in tables]


def run(*arguments, code=0):
    done = CliRunner().invoke(cli.app, ["compare", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.stderr)
    return done


def scores(found):
    return found.to_frame("pandas")


def angles_of(found, name):
    table = scores(found)
    return table["theta"][table["set"] == name].to_numpy()


# ---- one pipeline --------------------------------------------------------------------------------


def test_a_mapping_of_any_number_of_sets_is_compared(sets, K):
    found = compare(sets, n_permutations=19)
    assert isinstance(found, Comparison)
    assert found.names == NAMES[:K]
    one = found.pair("green", "red") if K > 2 else found
    assert isinstance(one, Comparison)
    assert len(one.names) == 2
    assert found.size > 0.5


def test_sets_that_are_copies_pass_every_gate(rows, tmp_path, K):
    """Identical files do not differ, and no threshold is crossed, however many they are."""
    paths = [tmp_path / f"{name}.npy" for name in NAMES[:K]]
    for path in paths:
        np.save(path, rows[0])
    done = run(*paths, "--fail-on", "size>0.5", "--json")
    assert {pair["size"]["value"] for pair in json.loads(done.stdout)["pairs"]} == {0.5}


def test_sets_that_differ_fail_the_gate(files):
    done = run(*files, "--fail-on", "size>0.6", code=3)
    assert "the size is 0." in done.stderr


def test_a_pair_of_three_sets_is_judged_by_as_many_rows_as_two_sets_are():
    draw = np.random.default_rng(4)
    a, b, c = draw.normal(size=(3, 8_000, 3))
    b[:, 1] += 0.12  # seven standard errors
    three = compare({"a": a, "b": b, "c": c})
    for found in (compare({"a": a, "b": b}), three.pair("a", "b")):
        assert found.p <= 0.002
        assert [one.column for one in found.findings] == ["x1"]
    assert three.pair("a", "c").p > 0.05


def test_a_further_column_of_rows_to_score_is_left_out(tables):
    Z = tables["red"].head(9)
    with pytest.warns(CospanWarning, match="more is in Z only"):
        found = compare(tables, Z=Z.assign(more=1.0), n_permutations=19)
    assert [one.code for one in found.warnings if one.code == "schema"] == ["schema"]
    plain = compare(tables, Z=Z, n_permutations=19)
    assert_array_equal(angles_of(found, "Z"), angles_of(plain, "Z"))


def test_a_column_that_one_set_lacks_is_named(tables):
    tables["green"] = tables["green"].drop(columns="x")
    found = compare(tables, n_permutations=19)
    assert [change.column for change in found.schema_changes] == ["x"]
    assert "x" not in found.feature_names
    for pair in itertools.combinations(tables, 2):  # only of those with green
        changes = [one.column for one in found.pair(*pair).findings if one.kind == "only in"]
        assert changes == ["x"] * ("green" in pair)


def test_rows_to_score_never_have_the_name_of_a_set(rows):
    found = compare({"Z": rows[0], "red": rows[1]}, Z=rows[0][:4], n_permutations=19)
    assert set(scores(found)["set"]) == {"Z", "red", "Z (scored)"}


def test_the_column_of_the_classes_is_no_feature_of_rows_to_score(tables, K):
    """Text or number, and nobody is warned about it."""
    for values in (NAMES, (1, 2, 3)):
        parts = zip(tables.values(), values, strict=False)
        table = pd.concat([part.assign(kind=value) for part, value in parts])
        found = compare(table, Z=table.head(9), label="kind", n_permutations=19)
        assert not any("left out" in one.text for one in found.warnings)
        bare = compare(table, Z=table.head(9)[COLUMNS], label="kind", n_permutations=19)
        assert_array_equal(angles_of(found, "Z"), angles_of(bare, "Z"))


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr("cospan.summary.sample.FEWEST_ROWS", 20)
    monkeypatch.setattr("cospan.comparison.reading.SAMPLE_ROWS", 20)
    monkeypatch.setattr("cospan.comparison.reading.STUDIED_ROWS", 20)


def test_each_set_is_read_once_and_what_is_sampled_is_said(sets, monkeypatch, small_samples):
    read = []
    chunks = Source.chunks
    monkeypatch.setattr(Source, "chunks", lambda self: (read.append(self.name), chunks(self))[1])
    found = compare(sets, n_permutations=19)
    assert sorted(read) == sorted(sets)
    said = [str(one) for one in found.warnings if one.code == "sampled"]
    assert said[0] == "Of red a uniform sample of 20 rows was scored, not all 120."
    assert len(said) == len(sets)


def test_the_order_of_the_sets_decides_no_sample(sets, small_samples):
    turned = dict(reversed(sets.items()))
    one, other = (compare(s, n_permutations=19) for s in (sets, turned))
    ids = [scores(found).groupby("set")["id"].apply(list) for found in (one, other)]
    assert ids[0].to_dict() == ids[1].to_dict()


def test_a_summary_is_no_set(sets):
    with pytest.raises(InputError, match="is a summary, and a comparison needs rows"):
        compare({name: Summary.of(X) for name, X in sets.items()})


def test_the_same_seed_gives_the_same_bits(sets):
    one, two = (compare(sets, seed=5, n_permutations=19) for _ in range(2))
    pd.testing.assert_frame_equal(scores(one), scores(two))
    one, two = (found.to_dict() for found in (one, two))
    for data in (one, two):
        data.pop("seconds")
    assert one == two


# ---- what is said --------------------------------------------------------------------------------


def test_rows_like_no_set_are_counted_and_listed(rows, sets, K):
    far = [[90, -90, 0, 0, 90.0]] * 3
    found = compare(sets, Z=np.vstack([rows[0][1:6], far]), n_permutations=19)
    odd = [row for row in found.rows if row.kind == "like no set"]
    assert sorted(row.id for row in odd) == [5, 6, 7]
    assert {row.set for row in odd} == {"Z"}
    assert found.to_dict()["scored"]["like_no_set"] == 3
    table = scores(found)
    columns = (
        ["typicality_a", "typicality_b"] if K == 2 else [f"typicality {name}" for name in sets]
    )
    assert (table[columns].iloc[-3:] < 0.02).all(axis=None)
    assert ((table[columns] > 0) & (table[columns] <= 1)).all(axis=None)


def test_typicality_is_uniform_for_rows_of_the_set_it_is_named_after(sets, K):
    table = scores(compare(sets, n_permutations=19))
    for k, name in enumerate(sets):
        column = f"typicality_{'ab'[k]}" if K == 2 else f"typicality {name}"
        own = table[column][table["set"] == name]
        assert abs(own.mean() - 0.5) < 0.03
        assert abs((own <= 0.1).mean() - 0.1) < 0.02


def test_errors_name_the_option_that_mends_them(sets):
    with pytest.raises(InputError, match='center belongs to span="linear"'):
        compare(sets, center="each")


def test_names_that_look_like_options_stay_names(sets, tmp_path):
    """A folder of a partitioned table is called label=dog, and that is no option."""
    paths = []
    for name, part in sets.items():
        path = tmp_path / f"label={name}" / "missing='drop'.csv"
        path.parent.mkdir()
        pd.DataFrame(part, columns=COLUMNS).to_csv(path, index=False)
        paths.append(path)
    paths[-1].write_text("v,w,x,y,z\n1,2,3,4,5\n")
    assert f"missing='drop'.csv ({'B' if len(sets) == 2 else 3}) has one row" in " ".join(
        run(*paths, code=1).stderr.split()
    )


def test_constant_columns_are_named(tables):
    tables = {name: table.assign(w=7.0) for name, table in tables.items()}
    found = compare(tables, n_permutations=19)
    notes = [str(one) for one in found.warnings if one.code == "constant columns"]
    assert notes == ["w never varies: it is not compared."]


def test_few_rows_are_remarked(sets):
    found = compare({name: X[:12] for name, X in sets.items()}, n_permutations=19)
    few = [str(one) for one in found.warnings if one.code == "few rows"]
    assert few == [f"{name} has only 12 rows: expect wide intervals." for name in sets]


# ---- files ---------------------------------------------------------------------------------------


def test_the_scores_in_a_file_are_those_of_the_table(files, tables, tmp_path):
    path = tmp_path / "scores.csv"
    run(*files, "--score", files[0], "--scores", path)
    written = pd.read_csv(path)
    table = scores(compare(tables, Z=tables["red"], n_permutations=19))
    table["set"] = table["set"].replace("Z", "red.csv")
    assert list(written) == list(table)
    own = [name for name in written if name != "id"]
    same = {"check_exact": False, "check_dtype": False, "atol": 1e-9}
    pd.testing.assert_frame_equal(written[own], table[own], **same)
    assert written["suspicion"].isna().sum() == len(tables["red"])


def test_saved_models_score_as_the_comparison_does(files, tmp_path):
    model, path = tmp_path / "model.cospan", tmp_path / "scores.csv"
    run(*files, "--score", files[0], "--scores", path, "--save", model)
    done = CliRunner().invoke(
        cli.app, ["score", str(model), str(files[0]), "-o", str(path) + ".csv"]
    )
    assert done.exit_code == 0, done.stderr
    before = pd.read_csv(path).query("set == 'red.csv'").reset_index(drop=True)
    again = pd.read_csv(str(path) + ".csv")
    columns = [name for name in again if name.startswith(("theta", "weight", "cost"))]
    assert len(columns) > 2
    pd.testing.assert_frame_equal(
        again[columns], before[columns], check_exact=False, atol=2e-3, rtol=0
    )


def test_the_classes_of_a_table_are_as_many_as_there_are(tables):
    table = pd.concat([part.assign(kind=name) for name, part in tables.items()])
    found = compare(table, label="kind", n_permutations=19)
    assert found.names == tuple(sorted(tables))


def test_names_may_be_numbers_and_counts_may_not_be_flags(rows):
    """Groups are often called 1 and 2; `seed=True` is a slip."""
    A, B, Z = rows
    found = compare(A, B, Z, name_a=1, name_b=2, n_permutations=19)
    assert found.names == ("1", "2")
    assert set(found.to_frame("pandas")["set"]) == {"1", "2", "Z"}
    for name in ("seed", "n_permutations"):
        with pytest.raises(InputError, match=f"{name} must be a whole number of at least"):
            compare(A, B, **{name: True})
