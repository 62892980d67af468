"""Model files: what is saved comes back, damage never passes, nothing is unpickled."""

import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors
from sklearn.datasets import load_digits

import cospan
from cospan import AlignmentAngleClassifier, JointFrame, Summary, load, save
from cospan.errors import InputError, ModelFileError
from cospan.model import Geometry, SetCosts, Typicality
from cospan.model_file import MODEL, Parts, packed, unpacked

FORMAT_VERSION = MODEL[1]


def to_bytes(model):
    with tempfile.TemporaryDirectory() as folder:
        return save(f"{folder}/model", model).read_bytes()


def from_bytes(data):
    with tempfile.NamedTemporaryFile() as stream:
        Path(stream.name).write_bytes(data)
        return load(stream.name)


def load_of(model):
    return from_bytes(to_bytes(model))


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def small():
    """Few features and a small file, for going through every byte of it."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 3)) * [2, 1, 1], rng.normal(size=(20, 3)) * [1, 1, 2]
    return JointFrame.fit(A, B, shrinkage=0.1)


FRAMES = {
    "everything chosen": {},
    "no shrinkage": {"shrinkage": 0},
    "own units, pooled, Gaussian": {"units": "own", "pooling": 0.4, "dof": 100, "shrinkage": 0.1},
    "raw": {"calibrate": False},
    "linear": {"span": "linear", "shrinkage": 0.1},
    "linear and calibrated": {"span": "linear", "shrinkage": 0.1, "calibrate": True},
    "the paper's": {"preset": "paper"},
    "each centre, tolerance": {"span": "linear", "center": "each", "tol": 1e-8},
}


@pytest.mark.parametrize("options", FRAMES.values(), ids=FRAMES)
def test_a_frame_scores_as_before(digits, tmp_path, options):
    X, y = digits
    frame = JointFrame.fit(X[y == 4], X[y == 9], **options)
    path = save(tmp_path / "frame.safetensors", frame)
    again = load(path)
    for weighting in ("cost", "frame") if frame.span == "linear" else ("cost",):
        a, b = frame.align(X, weighting=weighting), again.align(X, weighting=weighting)
        for name in ("theta", "cost_a", "cost_b", "shares", "outside", "relational"):
            assert_allclose(getattr(a, name), getattr(b, name), atol=1e-12)
        for name in ("typicality_a", "typicality_b"):
            before, after = getattr(a, name), getattr(b, name)
            assert (before is None) == (after is None)
            assert before is None or np.array_equal(before, after)
    a, b = (one.left_out(X[y == 4], "A") for one in (frame, again))
    assert_allclose(a.theta, b.theta, atol=1e-12)
    assert repr(again) == repr(frame)
    assert again.blocks == frame.blocks
    assert_array_equal(again.H, frame.H)
    if frame.span == "affine":
        assert_allclose(again.parts, frame.parts, rtol=1e-12)
    same_geometry(again.geometry, frame.geometry)


def same_geometry(found, expected):
    """Every field of the geometry, so that a new one cannot be forgotten."""
    for one in fields(Geometry):
        a, b = getattr(found, one.name), getattr(expected, one.name)
        if isinstance(b, np.ndarray):
            assert_array_equal(a, b)
        else:
            assert a == b, one.name


def test_a_frame_of_few_rows_and_a_truncated_one_come_back(digits, tmp_path):
    X, y = digits
    few = JointFrame.fit(X[y == 4][:9], X[y == 9][:9], shrinkage=0.1)
    assert few.basis is not None
    cut = JointFrame.fit(X[y == 4], X[y == 9], shrinkage=0.1).truncate(n=20)
    for frame in (few, cut):
        again = load(save(tmp_path / "frame.safetensors", frame))
        assert_allclose(again.align(X).theta, frame.align(X).theta, atol=1e-12)
        assert repr(again) == repr(frame)


def test_feature_names_come_back(digits, tmp_path):
    X, y = digits
    table = pd.DataFrame(X, columns=[f"pixel “{i}”" for i in range(64)])
    frame = JointFrame.fit(table[y == 4], table[y == 9], shrinkage=0.1)
    again = load(save(tmp_path / "frame.safetensors", frame))
    assert again.feature_names == tuple(table.columns)
    with pytest.raises(InputError, match="another order"):
        again.align(table[table.columns[::-1]])


LABELS = {
    "numbers": lambda y: y,
    "text": lambda y: np.array(["zero", "one", "two"])[y],
    "objects": lambda y: np.array(["zero", "one", "two"], dtype=object)[y],
    "small numbers": lambda y: y.astype(np.uint8),
    "real numbers": lambda y: 1.0 * y,
    "truth values": lambda y: y > 0,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_an_estimator_answers_as_before(digits, tmp_path, labels):
    X, y = digits
    X, y = X[y < 3], labels(y[y < 3])
    model = AlignmentAngleClassifier(shrinkage=0.1).fit(X, y)
    again = load(save(tmp_path / "model.safetensors", model))
    assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    assert_array_equal(again.predict(X), model.predict(X))
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert_allclose(again.transform(X), model.transform(X), atol=1e-12)
    assert_array_equal(again.typicality(X), model.typicality(X))
    assert again.get_params() == model.get_params()
    assert again.score(X, y) == model.score(X, y)


def test_a_table_trained_estimator_with_everything_chosen_comes_back(digits, tmp_path):
    X, y = digits
    table = pd.DataFrame(X[y < 2]).rename(columns=str)
    model = AlignmentAngleClassifier(span="linear", center="none", threshold=0.6)
    model.fit(table, y[y < 2])
    again = load(save(tmp_path / "model.safetensors", model))
    assert_allclose(again.predict_proba(table), model.predict_proba(table), atol=1e-12)
    assert_array_equal(again.predict(table), model.predict(table))
    assert again.center == "none"
    assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table[table.columns[::-1]])
    with pytest.raises(InputError, match="loaded from a model file"):
        again.partial_fit(table, y[y < 2])


SETS = {
    "everything chosen": {},
    "own units, pooled": {"units": "own", "pooling": 0.4, "shrinkage": 0.1},
    "no shrinkage": {"shrinkage": 0},
    "linear": {"span": "linear", "shrinkage": 0.1},
}


@pytest.mark.parametrize("rows", [200, 9], ids=["many rows", "few rows"])
@pytest.mark.parametrize("options", SETS.values(), ids=SETS)
def test_costs_to_several_sets_come_back(digits, tmp_path, options, rows):
    X, y = digits
    sets = [X[y == k][:rows] for k in range(3)]
    costs = SetCosts.from_summaries([Summary.of(part) for part in sets], **options)
    again = load(save(tmp_path / "costs.safetensors", costs))
    assert (again.basis is None) == (rows == 200)
    same_geometry(again.geometry, costs.geometry)
    assert_allclose(again.weights(X), costs.weights(X), atol=1e-12)
    own = np.repeat([0, 1, 2], [len(part) for part in sets])
    left_out = [one.left_out_costs(np.concatenate(sets), own) for one in (again, costs)]
    assert_allclose(*left_out, rtol=1e-10)


def test_arrays_of_another_library_are_written_as_numbers(digits):
    X, y = digits
    frame = JointFrame.fit(torch.asarray(X[y == 4]), torch.asarray(X[y == 9]), shrinkage=0.1)
    assert_allclose(
        load_of(frame).align(X).theta, frame.align(torch.asarray(X)).theta.numpy(), atol=1e-12
    )


# ---- the same bytes ---------------------------------------------------------------------------

SAVED_ELSEWHERE = """
import sys, tempfile
import numpy as np
from cospan import AlignmentAngleClassifier, save
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
with tempfile.TemporaryDirectory() as folder:
    path = save(f"{folder}/model", AlignmentAngleClassifier(shrinkage=0.1).fit(X, y))
    data = path.read_bytes()
"""


def test_a_model_saved_twice_gives_the_same_bytes(small):
    assert len({to_bytes(small) for _ in range(20)}) == 1
    assert to_bytes(load_of(small)) == to_bytes(small)


def test_another_process_writes_the_same_bytes():
    here = {}
    exec(SAVED_ELSEWHERE, here)
    there = subprocess.run(
        [sys.executable, "-c", f"{SAVED_ELSEWHERE}sys.stdout.buffer.write(data)"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    assert there.stdout == here["data"]


def test_any_safetensors_library_reads_the_arrays(small):
    tensors = read_tensors(to_bytes(small))
    assert_array_equal(tensors["core"], small.core)
    length = int.from_bytes(to_bytes(small)[:8], "little")
    assert length % 8 == 0  # the arrays begin where memory can be mapped


# ---- no data inside ---------------------------------------------------------------------------


def test_no_rows_of_the_data_are_inside():
    """Rows are marked by numbers of their own; none of their bytes may appear in the files."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.repeat([0, 1], 200)
    model = AlignmentAngleClassifier(shrinkage=0).fit(X, y)
    frame = JointFrame.fit(X[:200], X[200:], shrinkage=0, keep_uv=True)
    assert frame.U is not None
    for one in (model, frame):
        data = to_bytes(one)
        assert not any(value.tobytes() in data for value in X.ravel())
        # 400 rows of 6 numbers would take 19,200 bytes; the costs of 400 rows, and their ranks,
        # are 6,400 of these.
        assert len(data) < 10_500
    assert load_of(frame).U is None


def test_rows_of_infinite_cost_count_as_before():
    own = Typicality.of(np.array([[1.0], [np.inf], [4.0]]), np.zeros(3, dtype=int), np.ones(3))
    assert_array_equal(own.costs[0], [1, 2])
    at = np.array([0.5, 1.5, 3.0, np.inf])
    assert_allclose(own.p_value(at, 0), [1, 0.75, 0.5, 0.5])


# ---- damage -----------------------------------------------------------------------------------


def test_truncation_anywhere_is_noticed(small):
    data = to_bytes(small)
    for length in range(0, len(data), 3):
        with pytest.raises(ModelFileError):
            from_bytes(data[:length])
    with pytest.raises(ModelFileError):
        from_bytes(data + b"\0")


def test_random_mutations_are_noticed(small):
    """5,000 files: bytes changed, bits flipped, pieces removed, doubled, moved or zeroed."""
    data = np.frombuffer(to_bytes(small), dtype=np.uint8)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(5_000):
        try:
            assert to_bytes(from_bytes(mutate(data, rng))) == data.tobytes()  # nothing was changed
        except ModelFileError:
            refused += 1
    assert refused > 4_500


def mutate(data, rng):
    kind = rng.integers(6)
    start = int(rng.integers(len(data)))
    end = min(len(data), start + int(rng.integers(1, 40)))
    out = data.copy()
    if kind == 0:
        out[start] = rng.integers(256)
    elif kind == 1:
        out[start] ^= np.uint8(1) << np.uint8(rng.integers(8))
    elif kind == 2:
        out = np.delete(out, slice(start, end))
    elif kind == 3:
        out = np.insert(out, start, out[start:end])
    elif kind == 4:
        out[start:end] = 0
    else:
        where = rng.choice(len(data), rng.integers(1, 10))
        out[where] = rng.integers(0, 256, len(where))
    return out.tobytes()


def rewritten(model, change):
    """A file whose digest is right although `change` has been at its settings and tensors."""
    settings, tensors = unpacked(to_bytes(model), *MODEL)
    change(settings, tensors)
    return packed(Parts(settings, tensors), *MODEL)


FORGERIES = {
    "a missing array": lambda s, t: t.pop("core"),
    "a short array": lambda s, t: t.update(c=t["c"][:-1]),
    "an array of integers": lambda s, t: t.update(c=np.ones(3, dtype=np.int64)),
    "an array that is not finite": lambda s, t: t.update({"geometry.center": np.full(3, np.nan)}),
    "a missing part": lambda s, t: s.pop("geometry"),
    "a missing setting": lambda s, t: s["geometry"]["calibration"].pop("gain"),
    "a setting of the wrong kind": lambda s, t: s["geometry"].update(balance="yes"),
    "an integer beyond all floats": lambda s, t: s["geometry"].update(dof=10**400),
    "an unknown span": lambda s, t: s["geometry"].update(span="curved"),
    "wrong blocks": lambda s, t: s.update(blocks=[1, 1, 7]),
    "blocks that are no counts": lambda s, t: s.update(blocks=[-1, 1, "3"]),
    "names of other features": lambda s, t: s["geometry"].update(feature_names=["a"]),
    "names that are no text": lambda s, t: s["geometry"].update(feature_names=[1, 2, 3]),
    "another kind of object": lambda s, t: s.update(kind="os.system"),
    "no kind": lambda s, t: s.pop("kind"),
    "a third set": lambda s, t: t.update({"geometry.sizes": np.ones(3)}),
    "means of other features": lambda s, t: t.update({"geometry.means": np.ones((2, 4))}),
    "offsets of three sets": lambda s, t: s["geometry"]["calibration"].update(offsets=[0.0] * 3),
    "a share of a direction dropped": lambda s, t: s.update(dropped=0.5),
    "costs of one set only": lambda s, t: t.pop("typicality.costs.1"),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_well_formed_nonsense_is_refused(small, change):
    from_bytes(rewritten(small, lambda s, t: None))
    with pytest.raises(ModelFileError):
        from_bytes(rewritten(small, change))


CLASSIFIER_FORGERIES = {
    "classes too few": lambda s, t: s.update(classes=[0, 1]),
    "classes that are lists": lambda s, t: s.update(classes=[[0], [1], [2]]),
    "a class twice": lambda s, t: s.update(classes=[0, 1, 1]),
    "no classes": lambda s, t: s.pop("classes"),
    "classes of no dtype": lambda s, t: s.update(dtype="classes"),
    "an unknown parameter": lambda s, t: s["parameters"].update(hook="x"),
    "an estimator inside": lambda s, t: s["model"].update(kind="classifier"),
    "no model": lambda s, t: s.update(model=3),
    "a map of another size": lambda s, t: t.update({"model.maps.1": np.ones((2, 3))}),
}


def test_a_nonsensical_estimator_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    model = AlignmentAngleClassifier(shrinkage=0.1, curve=None).fit(X, y)
    from_bytes(rewritten(model, lambda s, t: None))
    for change in CLASSIFIER_FORGERIES.values():
        with pytest.raises(ModelFileError):
            from_bytes(rewritten(model, change))


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
def test_a_file_of_another_format_version_says_so(small, version):
    parts = unpacked(to_bytes(small), *MODEL)
    told = f"format version {version} and this cospan reads version {FORMAT_VERSION}; make the file"
    with pytest.raises(ModelFileError, match=told):
        from_bytes(packed(parts, "cospan model", version))
    with pytest.raises(ModelFileError, match="a cospan profile file, not a cospan model file"):
        from_bytes(packed(parts, "cospan profile", version))


def test_other_files_are_recognised(tmp_path):
    path = tmp_path / "x.safetensors"
    for data in (b"", b"PK", b"{}", b"\x80\x04K\x01.", os.urandom(200), b"[" * 100_000):
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match="not a cospan model file"):
            load(path)
    path.write_bytes(write_tensors({"weight": np.ones(3)}, {"format": "pt"}))
    with pytest.raises(ModelFileError, match="not written by cospan"):
        load(path)
    with pytest.raises(ModelFileError, match="No such file"):
        load(tmp_path / "nothing.safetensors")
    with pytest.raises(ModelFileError, match="Cannot read"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="Cannot read"):
        load("frame\0.safetensors")


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(InputError, match="A dict cannot be saved"):
        save(tmp_path / "x.safetensors", {})
    with pytest.raises(ValueError, match="not fitted"):
        save(tmp_path / "x.safetensors", AlignmentAngleClassifier())
    with pytest.raises(InputError, match="does not exist"):
        save(tmp_path / "no" / "x.safetensors", {})
    assert list(tmp_path.iterdir()) == []


# ---- nothing is executed, nothing half written ------------------------------------------------


def test_loading_unpickles_nothing(small, digits, tmp_path, monkeypatch):
    X, y = digits
    model = AlignmentAngleClassifier(shrinkage=0.1).fit(X[y < 3], y[y < 3])
    paths = [save(tmp_path / f"{i}.safetensors", one) for i, one in enumerate((small, model))]

    def refuse(*arguments, **options):
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler", "_Unpickler", "_load", "_loads"):
        monkeypatch.setattr(pickle, name, refuse)
    for path in paths:
        assert load(path) is not None
    source = (Path(cospan.__file__).parent / "model_file.py").read_text()
    assert "safetensors" in source
    for word in ("import pickle", "joblib", "np.load", "eval(", "exec("):
        assert word not in source


KILLS = """
import os, signal, sys, time
import numpy as np
from cospan import JointFrame, load, save

rng = np.random.default_rng(0)
frames = [
    JointFrame.fit(rng.normal(size=(200, 100)) * scale, rng.normal(size=(200, 100)), shrinkage=0.1)
    for scale in (2, 3)
]
path = sys.argv[1]
save(path, frames[0])
gains = {frame.gain for frame in frames}
seen = set()
for _ in range(15):
    before = os.stat(path).st_ino
    child = os.fork()
    if child == 0:
        while True:
            for frame in frames:
                save(path, frame)
    while os.stat(path).st_ino == before:  # on a busy machine it takes a while to begin
        time.sleep(0.001)
    time.sleep(rng.uniform(0.001, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen.add(load(path).gain)
print(seen == gains and len(gains) == 2)
"""


def test_kill_during_saving_leaves_the_old_file_whole(tmp_path):
    """15 processes are killed at random moments while they save: the file can always be read."""
    path = tmp_path / "frame.safetensors"
    done = subprocess.run([sys.executable, "-c", KILLS, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True"  # and children did get to save in between
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == [path.name]
