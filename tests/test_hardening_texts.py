"""Long texts: a few bytes of a file that stand for a gigabyte of text take neither memory nor time.

Each case runs in a process of its own whose peak memory is measured.
"""

import hashlib
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cospan.embedding import load_text_model
from cospan.errors import CospanError
from cospan.sources import open_source
from cospan.sources.encoding import sketches
from cospan.sources.long_texts import MOST_BYTES, cut_texts
from peak_memory import assert_takes_little, needs_proc


def shared(path, length, rows):
    """Many rows that refer to one text: neither the file nor its metadata grow with them."""
    text = pa.array(["a" * length])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), text)
    table = pa.table({"s": column, "x": np.arange(float(rows))})
    pq.write_table(
        table, path, compression="zstd", store_schema=False, dictionary_pagesize_limit=2**30
    )


def written(path, texts):
    pq.write_table(pa.table({"s": texts}), path, compression="zstd")


CASES = {
    "one long text": lambda path: written(path, ["a" * 200_000_000]),
    "two texts": lambda path: written(path, ["a" * 20_000_000, "b" * 20_000_000]),
    "200 texts": lambda path: written(path, ["a" * 300_000 + str(i) for i in range(200)]),
    "a shared text": lambda path: shared(path, 20_000_000, 90),
    "a shared shorter text": lambda path: shared(path, 900_000, 20_000),
}


@needs_proc
@pytest.mark.parametrize("case", CASES)
def test_a_small_file_of_long_texts_takes_little(case, tmp_path):
    path = tmp_path / "s.parquet"
    CASES[case](path)
    assert path.stat().st_size < 100_000
    assert_takes_little(path)


def test_texts_that_differ_far_behind_stay_different(tmp_path):
    front = "ä" * 5000
    texts = [front + "x", front + "y", front + "x", "short"] * 10
    written(tmp_path / "s.parquet", texts)
    source = open_source(str(tmp_path / "s.parquet"), missing="error")
    names = source.feature_names
    assert len(names) == 3
    rows = source.read().rows
    np.testing.assert_array_equal(rows[0], rows[2])
    assert (rows[0] != rows[1]).any()


def test_a_cut_text_is_its_front_and_the_digest_of_the_whole():
    long = "é" * 3000
    plain = pa.record_batch({"s": ["a", None, long], "n": [1, 2, 3]})
    found = cut_texts(plain)
    first, gap, cut = found.column("s").to_pylist()
    assert (first, gap) == ("a", None)
    assert cut.startswith("é" * (MOST_BYTES // 2) + "… (6,000 bytes, ")
    assert hashlib.sha256(long.encode()).hexdigest()[:16] in cut
    assert found.column("n") == plain.column("n")
    packed = pa.record_batch({"s": plain.column("s").dictionary_encode()})
    assert cut_texts(packed).column("s").to_pylist() == [first, gap, cut]
    wide = pa.record_batch({"s": plain.column("s").cast(pa.large_string())})
    assert cut_texts(wide.slice(1)).column("s").to_pylist() == [gap, cut]
    short = pa.record_batch({"s": ["a" * MOST_BYTES]})
    assert cut_texts(short) is short


def test_texts_of_a_dictionary_are_read_as_texts(tmp_path):
    """Few words in many rows: what is read does not depend on how the file keeps it."""
    rng = np.random.default_rng(0)
    words = rng.choice(["red", "green", "blue", None], 5000)
    table = pa.table({"s": words, "x": rng.normal(size=5000)})
    read = []
    for name, how in (("a.parquet", True), ("b.parquet", False)):
        pq.write_table(table, tmp_path / name, use_dictionary=how, row_group_size=700)
        read.append(open_source(str(tmp_path / name)).read().rows)
    np.testing.assert_array_equal(*read)


def test_hashes_do_not_depend_on_how_many_are_made_at_once(monkeypatch):
    texts = pa.array([f"text {i} {'x' * (i % 50)}" for i in range(500)])
    whole = sketches.text_hashes(texts)
    monkeypatch.setattr(sketches, "HASHED_BYTES", 30)
    np.testing.assert_array_equal(sketches.text_hashes(texts), whole)
    np.testing.assert_array_equal(sketches.text_hashes(texts.slice(7, 90)), whole[7:97])


def test_a_model_sees_the_front_of_a_book():
    try:
        model = load_text_model(None)
    except CospanError as error:
        pytest.skip(str(error))
    story = " ".join(f"word{i}" for i in range(100_000))
    (book,) = model([story * 40])
    (front,) = model([story[:40_000]])
    np.testing.assert_allclose(book, front, atol=1e-6)
    both = model(["a short text", story])
    np.testing.assert_allclose(both[0], model(["a short text"])[0], atol=1e-5)
    assert re.fullmatch(r"\d+ \d+", "{} {}".format(*model.lengths(["one", "one two three"])))
