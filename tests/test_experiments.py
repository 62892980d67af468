"""The reproduction: it runs, writes what it promises, and its measures are right."""

import gzip
import json
import os
from html.parser import HTMLParser

import numpy as np
import pytest

from cospan.errors import InputError, SourceError
from cospan.experiments import images, load_images, protocol, reproduce

FIGURES = ["samples", "angles", "posteriors"]


@pytest.fixture(autouse=True, scope="module")
def one_process():
    """Tests run in parallel themselves; processes started from here would only crowd them."""
    import joblib

    with joblib.parallel_config(backend="sequential"):
        yield


class References(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href")]


def check_results(folder, text, names):
    page = (folder / "reproduction.html").read_text()
    parser = References()
    parser.feed(page)
    assert parser.found
    assert all(reference.startswith("data:image/png") for reference in parser.found)
    markdown = (folder / "reproduction.md").read_text()
    for picture in folder.glob("*.png"):
        assert picture.name in markdown
    for name in names:
        for kind in FIGURES:
            assert list(folder.glob(f"{kind}-{name}*.png"))
    assert text.endswith(f"Page: {folder / 'reproduction.html'}")
    tables = json.loads((folder / "reproduction.json").read_text())["tables"]
    assert len(tables) == 3 * len(names)
    return {table["title"]: table for table in tables}


def test_the_quick_reproduction_on_the_embedded_digits(tmp_path):
    seen = []
    text = reproduce("digits", tmp_path / "out", 2, True, lambda *step: seen.append(step))
    tables = check_results(tmp_path / "out", text, ["digits"])
    assert (tmp_path / "out" / "extremes-digits.png").exists()
    assert seen[0][2] == 8  # four pairs, two draws
    means = next(table for title, table in tables.items() if "pairs of classes" in title)
    accuracy = {row[0]: float(row[1]) for row in means["rows"]}
    assert accuracy[protocol.DEFAULTS] > 0.98
    assert accuracy[protocol.DEFAULTS] > accuracy[protocol.COST]


def test_the_quick_reproduction_on_the_real_files(tmp_path, mnist, fashion):
    text = reproduce(os.environ["COSPAN_DATA"], tmp_path, 10, True)
    tables = check_results(tmp_path, text, ["mnist", "fashion-mnist"])
    table = next(table for title, table in tables.items() if title.startswith("MNIST: Fisher"))
    assert [row[1] for row in table["rows"]] == ["2.732", "2.773", "2.337", "2.666"]
    distance = {row[0]: float(row[2].split(" ")[0]) for row in table["rows"]}
    assert distance["0, 7"] > distance["1, 5"] > distance["3, 9"] > distance["4, 9"]
    for pair, printed in (("0, 7", 2.773), ("1, 5", 2.732), ("3, 9", 2.666), ("4, 9", 2.337)):
        assert abs(distance[pair] - printed) < 0.15  # two draws; their sd is about 0.05


def test_cka_is_invariant_and_bounded():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((20, 50)), rng.standard_normal((30, 50))
    value = protocol.linear_cka(A.T, B.T)
    assert 0 < value < 1
    rotation = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    assert protocol.linear_cka((3 * rotation @ A).T, B.T) == pytest.approx(value)
    assert protocol.linear_cka(B.T, A.T) == pytest.approx(value)


def test_draws_are_repeatable_and_differ():
    digits = load_images("digits")
    first, again, other = (digits.draw(3, 50, draw) for draw in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(digits.draw(3, 10**6, 0)) == 2 * (digits.train_y == 3).sum() // 3


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.asarray(array.shape, ">i4").tobytes()
    return head + array.astype(np.uint8).tobytes()


def make_files(folder):
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for stem in images._FILES:
        shape = (20, 4, 4) if "images" in stem else (20,)
        data = idx(rng.integers(0, 10, shape))
        (folder / f"{stem}.gz").write_bytes(gzip.compress(data))
    return folder


def test_files_are_read_from_the_folder_given_and_from_the_environment(tmp_path, monkeypatch):
    make_files(tmp_path / "mnist")
    found = load_images("mnist", tmp_path)
    assert found.train_x.shape == (20, 16)
    assert found.image_shape == (4, 4)
    monkeypatch.setenv("COSPAN_DATA", str(tmp_path))
    np.testing.assert_array_equal(load_images("mnist").test_x, found.test_x)


def test_missing_and_damaged_files_are_told(tmp_path):
    with pytest.raises(SourceError, match=r"has no file train-images.*--data"):
        load_images("mnist", tmp_path)
    folder = make_files(tmp_path / "mnist")
    whole = (folder / "t10k-images-idx3-ubyte.gz").read_bytes()
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match="t10k-images"):
        load_images("mnist", tmp_path)


def test_a_download_that_is_something_else_is_refused(tmp_path, monkeypatch):
    import pooch

    monkeypatch.delenv("COSPAN_DATA", raising=False)
    wrong = tmp_path / "wrong"

    def retrieve(url, **_):
        wrong.write_bytes(b"not the digits")
        return str(wrong)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(SourceError, match="is not MNIST"):
        load_images("mnist")
    assert not wrong.exists()

    def offline(url, **_):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", offline)
    with pytest.raises(SourceError, match=r"could not be downloaded.*--data"):
        load_images("mnist")


def test_impossible_requests_are_told(tmp_path):
    with pytest.raises(InputError, match="at least 2"):
        reproduce("digits", tmp_path, draws=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        reproduce("digits", tmp_path / "file" / "out")
