"""The JSON of a comparison keeps to its published schema, whatever is compared and how."""

import copy
import json
from importlib import resources

import jsonschema
import numpy as np
import pytest
from cospan.comparison.plain import SCHEMA
from typer.testing import CliRunner

from cospan import cli, compare

NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def schema():
    text = resources.files("cospan.comparison").joinpath("schema.json").read_text("utf-8")
    return json.loads(text)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    scales = ([1, 2, 3], [3, 2, 1], [1, 1, 4])
    return [rng.normal(size=(n, 3)) * s for n, s in zip((300, 280, 320), scales, strict=True)]


def checked(text, schema):
    data = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    jsonschema.Draft202012Validator(schema).validate(data)
    return data


def test_the_schema_is_a_schema(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == SCHEMA
    assert schema["$id"] == f"urn:cospan:comparison:{SCHEMA}"


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("further", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"n_permutations": 19}, {"preset": "paper"}, {"score_all": False, "seed": 3}],
    ids=["default", "few relabellings", "paper", "sampled"],
)
def test_comparisons_keep_to_the_schema(rows, schema, K, further, settings):
    sets = dict(zip(NAMES, rows[:K], strict=False))
    Z = np.vstack([rows[0][:9], [[50, -50, 0]] * 3]) if further else None
    data = checked(compare(sets, Z=Z, **settings).to_json(), schema)
    assert [one["name"] for one in data["sets"]] == list(NAMES[:K])
    assert data["kind"] == ("pair" if K == 2 else "sets")
    assert (data["scored"] is None) != further
    if further and "preset" not in settings:
        assert data["neither"]["count"] == data["scored"]["like_neither"] == 3


def test_labels_and_remarks_keep_to_the_schema(rows, schema):
    labels = np.array(["one", "two"] * 5)
    found = compare(
        {"one": rows[0][:20], "two": rows[1]}, Z=rows[0][:10], labels=labels, n_permutations=19
    )
    data = checked(found.to_json(), schema)
    assert data["audit"]["of"] == "z"
    assert [one["code"] for one in data["warnings"]][:1] == ["few rows"]


def test_what_breaks_the_promise_is_seen(rows, schema):
    data = json.loads(compare(*rows[:2], n_permutations=19).to_json())
    validator = jsonschema.Draft202012Validator(schema)
    for path in (("schema",), ("a", "rows"), ("separation", "auc", "low"), ("changes", "verdict")):
        broken = copy.deepcopy(data)
        part = broken
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        assert not validator.is_valid(broken), path


@pytest.mark.parametrize("K", [2, 3])
def test_the_printed_json_is_the_written_one(rows, schema, tmp_path, K):
    files = [tmp_path / f"{name}.npy" for name in NAMES[:K]]
    for file, part in zip(files, rows, strict=False):
        np.save(file, part)
    arguments = ["compare", *map(str, files), "--json", "-o", str(tmp_path / "x.json")]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == (tmp_path / "x.json").read_text(encoding="utf-8")
    checked(done.stdout, schema)


@pytest.mark.parametrize("K", [2, 3])
def test_other_measures_are_in_the_json_or_refused_before_anything_is_written(
    rows, schema, tmp_path, K
):
    paths = [str(tmp_path / f"{name}.npy") for name in NAMES[:K]]
    for path, part in zip(paths, rows, strict=False):
        np.save(path, part)
    table = np.column_stack([np.vstack(rows[:K]), np.repeat(range(K), [len(r) for r in rows[:K]])])
    np.savetxt(tmp_path / "all.csv", table, "%.9g", ",", header="x,y,z,kind", comments="")
    before = sorted(tmp_path.iterdir())
    for given in (paths, [str(tmp_path / "all.csv"), "--label", "kind"]):
        asked = ["--panel", "--json", "-o", tmp_path / "r.json", "--scores", tmp_path / "s.csv"]
        done = CliRunner().invoke(cli.app, ["compare", *given, *map(str, asked)])
        if K == 3:
            assert done.exit_code == 2
            assert "for two sets only" in " ".join(done.stderr.replace("│", " ").split())
            assert sorted(tmp_path.iterdir()) == before
            continue
        assert done.exit_code == 0, done.stderr
        data = checked(done.stdout, schema)
        assert {"alignment angle", "MMD"} <= {one["name"] for one in data["panel"]["measures"]}
        written = checked((tmp_path / "r.json").read_text("utf-8"), schema)
        assert set(written) == set(data)
        assert "panel" not in json.loads(compare(*rows[:2], n_permutations=19).to_json())
