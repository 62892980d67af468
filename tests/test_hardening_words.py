"""Odd inputs: what is said of them names the file, the column and the cause; or they just work."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from cospan import compare
from cospan.base.tables import without_formulas
from cospan.base.text import harmless
from cospan.cli import app
from cospan.data import encode, open_source
from cospan.data import tables as data_tables
from cospan.errors import InputError, SourceError

rng = np.random.default_rng(0)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def encoded(source, **options):
    return encode([open_source(source, **options)])[0]


def rows(source, **options):
    return encoded(source, **options).read().rows


def table(path, n=40, words=None, seed=0):
    made = np.random.default_rng(seed)
    second = made.choice(words, n) if words else made.random(n)
    pd.DataFrame({"a": made.random(n), "b": second}).to_csv(path, index=False)
    return path


# ---- text files ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [None, ["x", "y"]])
def test_a_file_that_is_not_utf8_is_told_by_column_and_line(words, tmp_path):
    (tmp_path / "lat.csv").write_bytes(b"a,b\n1,ok\n" + b"2,caf\xe9\n" * 20)
    other = table(tmp_path / "g.csv", words=words)
    for command in (
        ("compare", tmp_path / "lat.csv", other),
        ("compare", other, tmp_path / "lat.csv"),
        ("monitor", other, tmp_path / "lat.csv", "--every", "5-rows"),
    ):
        found = invoke(*command)
        assert found.exit_code == 1
        said = " ".join(found.stderr.split())
        assert "column 'b' holds text in line 3 that is not UTF-8; save the file as UTF-8" in said
    assert rows(str(tmp_path / "lat.csv"), drop=["b"]).shape == (21, 1)


def test_a_quotation_mark_inside_a_value_is_part_of_it(tmp_path):
    path = tmp_path / "pipes.csv"
    path.write_text("a,b\n" + '1,5" pipe\n2,rod\n3,rod\n' * 5)
    assert encoded(str(path)).feature_names == ("a", "b = rod", 'b = 5" pipe')


def test_lines_are_counted_where_values_have_several(tmp_path):
    path = tmp_path / "notes.csv"
    start = b"a,b\n\n" + b'1,"x\ny"\n' * 10
    path.write_bytes(start + b"1,caf\xe9\n")
    with pytest.raises(SourceError, match="'b' holds text in line 23 that is not UTF-8"):
        rows(str(path))
    path.write_bytes(start + b"1,caf\xe9,2\n")
    with pytest.raises(SourceError, match="line 23 has 3 fields where the first has 2"):
        rows(str(path))


def test_an_endless_line_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(data_tables, "BLOCK_BYTES", 2**14)
    monkeypatch.setattr(data_tables, "MAX_LINE_BYTES", 2**18)
    said = r"has a line of more than 262,144 bytes; see whether a quotation mark is never closed\.$"
    endless = (b"a,b\n1," + b"7" * 2**20, b"a,b\n" + b"1,2\n" * 9 + b"1" * 2**20)
    for number, content in enumerate(endless):
        path = tmp_path / f"{number}.csv.gz"
        path.write_bytes(gzip.compress(content + b"\n"))
        with pytest.raises(SourceError, match=said):
            rows(str(path))
    (tmp_path / "name.csv").write_text("a" * 300_000 + ",b\n1,2\n3,4\n")
    with pytest.raises(SourceError, match=r"field larger than field limit \(131072\)"):
        rows(str(tmp_path / "name.csv"))


# ---- what is written -------------------------------------------------------------------------

NASTY = "\x1b[31m\x9b2J\u202egpj\u2066.\x7f\r\x07"


def test_no_cell_of_a_csv_file_is_a_formula_or_moves_a_terminal():
    wide = [chr(0xFEE0 + ord(sign)) + "1+1" for sign in "=+-@"]  # in full width
    formulas = ["=1", " =1", "\u00a0+1+1", "\t=1", *wide]
    kept = ["-2.5", " -2.5", "a\tb\nc", "a=b"]
    found = without_formulas({"id": [*formulas, *kept, NASTY]})["id"]
    assert all(text.startswith("'") for text in found[: len(formulas)])
    assert found[len(formulas) : -1] == kept
    assert found[-1] == r"\x1b[31m\x9b2J\u202egpj\u2066.\x7f\r\x07"
    assert harmless("שלום, Ünïcödé\n\t") == "שלום, Ünïcödé\n\t"


# ---- what is said ----------------------------------------------------------------------------


def test_labels_of_two_dimensions_are_told_by_their_shape():
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    with pytest.raises(InputError, match=r"label= has the shape \(60, 1\) for 60 rows"):
        rows(frame, label=[[1]] * 60)


# ---- pandas ----------------------------------------------------------------------------------


def test_sparse_columns_and_intervals_are_read():
    values = rng.normal(size=60).round(1)
    plain = pd.DataFrame({"a": values, "s": np.where(values > 0, values, 0.0)})
    sparse = plain.assign(s=pd.arrays.SparseArray(plain["s"], fill_value=0.0))
    np.testing.assert_array_equal(rows(sparse), rows(plain))
    cut = pd.cut(plain["a"], [-9, -1, 0, 1, 9])
    interval = pd.Series(pd.arrays.IntervalArray(cut.tolist()))
    for column in (cut, interval):
        source = encoded(plain.assign(c=column))
        assert "c = (-1, 0]" in " ".join(source.feature_names)
    packed = pa.DictionaryArray.from_arrays([0, 1] * 30, pa.array([{"l": 1}, {"l": 2}]))
    (note,) = encoded(pa.table({"a": values, "c": packed})).notes
    assert "Left out: 'c' (it holds dictionary<values=struct" in note.text
    gap = cut.copy()
    gap[3] = None
    compare(plain.assign(c=gap), plain.assign(c=cut))


def test_numbers_beyond_64_bits_are_read_or_told_by_their_column():
    big = [10**40 * k for k in range(1, 31)]
    frame = pd.DataFrame({"a": rng.normal(size=30), "n": pd.Series(big, dtype=object)})
    np.testing.assert_allclose(rows(frame)[:, 1], np.array(big, dtype=float))
    later = pd.DataFrame({"n": pd.Series([1] * 1200 + big, dtype=object)})
    np.testing.assert_allclose(rows(later)[1200:, 0], np.array(big, dtype=float))
    with pytest.raises(InputError, match=r"The dict is not a table"):
        rows({"a": [1.0] * 30, "n": big})
    huge = pd.DataFrame({"n": pd.Series([10**5000] * 30, dtype=object)})
    with pytest.raises(InputError, match="infinite, beyond 1e100 or"):
        rows(huge)
    one = pd.DataFrame({"n": pd.Series([*range(29), -(10**5000)], dtype=object)})
    found = encoded(one)
    assert found.feature_names == ("n", "n is missing")
    assert found.read().rows[-1].tolist() == [14, 1]
