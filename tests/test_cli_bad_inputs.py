"""Bad inputs on the command line: the right exit code, one sentence, nothing half-written.

Each case is a function that puts files into a folder and returns the arguments; its decorator
says how the command must end and what the sentence must contain. An odd column or value is a
finding: the command ends well, and what it says contains the sentence.
"""

import errno
import io
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from cospan import cli
from cospan.comparison import compare

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(30, 3))
CASES = {}


def case(code, *needles):
    """Register a bad input."""

    def register(function):
        CASES[function.__name__] = (function, code, needles)
        return function

    return register


def csv(path, rows=ROWS, header="x,y,z"):
    np.savetxt(path, rows, "%.9g", ",", header=header, comments="")
    return path


def good(folder, name="good.csv"):
    return csv(folder / name)


def invoke(arguments, **options):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], **options)


def listing(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if not path.is_symlink()}


# ---- values that no data can meet, kinds that do not fit ---------------------------------------


@case(2, "makes no sense", "between 0 and 1")
def gate_in_percent(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--fail-on", "auc>65"


@case(2, "makes no sense")
def gate_that_never_fires(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--fail-on", "p<-1"


@case(1, "from 1 to 4,000")
def curve_without_end(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--curve", "200000"


@case(1, "no column is left", "x is a number in good and a date in dates")
def dates_against_numbers(folder):
    path = folder / "dates.csv"
    path.write_text("x,y,z\n" + "2020-01-01,1,2\n" * 30)
    return "compare", good(folder), path, "--columns", "x"


@case(0, "Cannot judge yet", "x cannot be read any more")
def dates_watched_as_numbers(folder):
    path = folder / "dates.parquet"
    days = pa.array(np.arange(30), pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"x": days, "y": ROWS[:, 1], "z": ROWS[:, 2]}), path)
    return "monitor", good(folder), path, "--every", "10-rows"


@case(1, "is not the length of a window")
def window_without_end(folder):
    return "monitor", good(folder), good(folder, "b.csv"), "--every", "9" * 20 + "-rows"


@case(1, "no address of a Dask scheduler")
def scheduler_without_port(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--scheduler", "nowhere"


# ---- files that are not there, or hold nothing -------------------------------------------------


@case(1, "missing.csv")
def missing_file(folder):
    return "compare", folder / "missing.csv", good(folder)


@case(1, "empty.csv", "empty")
def empty_csv(folder):
    (folder / "empty.csv").write_text("")
    return "compare", folder / "empty.csv", good(folder)


@case(1, "empty.npy")
def empty_npy(folder):
    (folder / "empty.npy").write_bytes(b"")
    return "compare", folder / "empty.npy", good(folder)


@case(1, "header.csv", "no rows")
def only_a_header(folder):
    (folder / "header.csv").write_text("x,y,z\n")
    return "compare", folder / "header.csv", good(folder)


@case(1, "nothing")
def empty_folder(folder):
    (folder / "nothing").mkdir()
    return "compare", folder / "nothing", good(folder)


@case(1, "one.csv", "one row")
def one_row(folder):
    return "compare", csv(folder / "one.csv", ROWS[:1]), good(folder)


@case(1, "no rows|no such|does not exist|empty")
def empty_standard_input(folder):
    return "compare", "-", good(folder)


@case(1, "nothing to compare|equal|constant")
def every_row_the_same(folder):
    flat = csv(folder / "flat.csv", np.ones((9, 3)))
    return "compare", flat, csv(folder / "flat2.csv", np.ones((9, 3)))


@case(1, "null character")
def a_null_character_in_a_name(folder):
    return "compare", "a\0b.csv", good(folder)


@case(1, "local files", "download")
def a_web_address(folder):
    return "compare", "https://example.org/rows.csv", good(folder)


@case(1, "local files", "download")
def a_cloud_address(folder):
    return "compare", good(folder), "s3://bucket/rows.parquet"


@case(1, "neither a file nor a folder")
def a_device(folder):
    return "compare", "/dev/null", good(folder)


@case(1, "not a cospan model file")
def a_table_for_a_model(folder):
    return "score", good(folder), good(folder, "b.csv")


@case(1, "xxx", "too long")
def a_name_too_long(folder):
    return "compare", "x" * 5000, good(folder)


# ---- columns -----------------------------------------------------------------------------------


@case(1, "no column in common", "text has 'name', 'town'; good has 'x', 'y', 'z'")
def no_common_column(folder):
    (folder / "text.csv").write_text("name,town\nAda,London\nEmmy,Erlangen\n")
    return "compare", folder / "text.csv", good(folder)


@case(0, "z is called w in other")
def unlike_features(folder):
    return "compare", good(folder), csv(folder / "other.csv", header="x,y,w")


@case(1, "3", "2")
def fewer_features(folder):
    np.save(folder / "a.npy", ROWS)
    np.save(folder / "b.npy", ROWS[:, :2])
    return "compare", folder / "a.npy", folder / "b.npy"


@case(1, "'town'", "strict|numeric")
def text_column_with_strict(folder):
    (folder / "mixed.csv").write_text("x,town\n1,London\n2,Erlangen\n3,Paris\n")
    return "compare", folder / "mixed.csv", folder / "mixed.csv", "--strict"


@case(1, "'q'")
def unknown_column(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--columns", "x,q"


@case(1, "'who'")
def unknown_id_column(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--id", "who"


@case(0, "z is called <script> in b")
def a_column_called_script(folder):
    return "compare", good(folder), csv(folder / "b.csv", header="x,y,<script>")


@case(1, "'y' twice|twice")
def a_column_asked_for_twice(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--columns", "x,y,y"


@case(1, "more than one column is called 'x'")
def two_columns_of_one_name(folder):
    return "compare", csv(folder / "dup.csv", header="x,x,z"), good(folder)


@case(0, "y is text in odd and a number in good, so it is not compared")
def text_for_numbers(folder):
    (folder / "odd.csv").write_text("x,y,z\n1,about 5,3\n4,5,6\n7,about 9,8\n")
    return "compare", folder / "odd.csv", good(folder)


@case(1, "UTF-8")
def a_csv_in_latin_1(folder):
    (folder / "l.csv").write_bytes("x,y,größe\n1,2,3\n2,3,5\n".encode("latin-1"))
    return "compare", folder / "l.csv", good(folder)


# ---- values ------------------------------------------------------------------------------------


@case(1, "'y'", "missing", "drop")
def nan(folder):
    rows = ROWS.copy()
    rows[4, 1] = np.nan
    return "compare", csv(folder / "nan.csv", rows), good(folder), "--missing", "error"


@case(1, "'town'", "categorical=", "Did you mean 'x'|columns are")
def an_unknown_category(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--categorical", "town"


@case(0, "1 is infinite, beyond 1e100 or too small to be exact in 1 row of inf")
def infinity(folder):
    rows = ROWS.copy()
    rows[4, 1] = np.inf
    np.save(folder / "inf.npy", rows)
    np.save(folder / "b.npy", ROWS)
    return "compare", folder / "inf.npy", folder / "b.npy"


@case(1, "[Ii]nf")
def infinity_to_score(folder):
    rows = ROWS.copy()
    rows[4, 1] = -np.inf
    return (
        "compare",
        good(folder),
        csv(folder / "b.csv", ROWS * 2),
        "--score",
        csv(folder / "z.csv", rows),
        "--missing",
        "error",
        "--scores",
        folder / "scores.parquet",
        "--save",
        folder / "model.cospan",
    )


@case(1, "no rows|every row|all")
def every_row_dropped(folder):
    rows = ROWS.copy()
    rows[np.arange(30), np.arange(30) % 3] = np.nan
    return "compare", csv(folder / "n.csv", rows), good(folder), "--missing", "drop"


@case(0, "hv.csv: values that are .*beyond 1e100 .*: 30 in 'x'", "x is missing in 100% of hv.csv")
def values_beyond_squaring(folder):
    return "compare", csv(folder / "hv.csv", ROWS * 1e300), good(folder)


@case(1, "complex")
def complex_numbers(folder):
    np.save(folder / "c.npy", ROWS + 1j)
    return "compare", folder / "c.npy", folder / "c.npy"


@case(1, "dimension")
def three_dimensional_text(folder):
    np.save(folder / "t.npy", np.array(3.0))
    return "compare", folder / "t.npy", good(folder)


# ---- damaged and hostile files -----------------------------------------------------------------


@case(1, "cut.parquet")
def truncated_parquet(folder):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(dict(zip("xyz", ROWS.T, strict=True))), folder / "cut.parquet")
    data = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(data[: len(data) // 2])
    return "compare", folder / "cut.parquet", good(folder)


@case(1, "cut.npy")
def truncated_npy(folder):
    np.save(folder / "cut.npy", ROWS)
    data = (folder / "cut.npy").read_bytes()
    (folder / "cut.npy").write_bytes(data[:-100])
    return "compare", folder / "cut.npy", good(folder)


@case(1, "ragged.csv")
def ragged_csv(folder):
    (folder / "ragged.csv").write_text("x,y,z\n1,2,3\n4,5\n6,7,8,9\n")
    return "compare", folder / "ragged.csv", good(folder)


@case(1, "bytes.csv")
def binary_called_csv(folder):
    (folder / "bytes.csv").write_bytes(bytes(range(256)) * 10)
    return "compare", folder / "bytes.csv", good(folder)


@case(1, "pickle|object")
def pickled_npy(folder):
    np.save(folder / "p.npy", np.array([[os.system, 1]], dtype=object), allow_pickle=True)
    return "compare", folder / "p.npy", good(folder)


@case(1, "bomb.npz")
def zip_bomb_npz(folder):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10)}
    )
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.npy", head.getvalue() + bytes(2**22))
    return "compare", folder / "bomb.npz", good(folder)


@case(1, "notes.npz")
def not_a_zip_file(folder):
    (folder / "notes.npz").write_text("just text")
    return "compare", folder / "notes.npz", good(folder)


@case(1, "bomb.png|pixels")
def decompression_bomb_image(folder):
    """A PNG header that promises 60,000 x 60,000 pixels."""
    (folder / "images").mkdir()
    body = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    data = chunk(b"IHDR", body) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    (folder / "images" / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    return "compare", folder / "images", folder / "images"


@case(1, "size")
def images_of_unlike_sizes(folder):
    from PIL import Image

    (folder / "images").mkdir()
    for side in (4, 5):
        Image.new("L", (side, side)).save(folder / "images" / f"{side}.png")
    return "compare", folder / "images", folder / "images"


@case(1, "image_size|image-size", "1,048,576")
def images_made_too_large(folder):
    from PIL import Image

    (folder / "images").mkdir()
    Image.new("L", (4, 4)).save(folder / "images" / "a.png")
    return "compare", folder / "images", folder / "images", "--image-size", "9999x9999"


@case(1, "loop")
def symlink_loop(folder):
    (folder / "loop").symlink_to(folder / "pool")
    (folder / "pool").symlink_to(folder / "loop")
    return "compare", folder / "loop", good(folder)


@case(1, "data.xyz")
def unknown_kind_of_file(folder):
    (folder / "data.xyz").write_text("?")
    return "compare", folder / "data.xyz", good(folder)


@case(1, "rows.xlsx: is a spreadsheet", "CSV")
def a_spreadsheet(folder):
    with zipfile.ZipFile(folder / "rows.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return "compare", folder / "rows.xlsx", good(folder)


@case(1, "model.pt", "run code", "save it as NPY")
def a_checkpoint(folder):
    with zipfile.ZipFile(folder / "model.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02.")
    return "compare", folder / "model.pt", good(folder)


@case(1, "rows.json: is JSON", "CSV")
def json_rows(folder):
    (folder / "rows.json").write_text('[{"x": 1}]')
    return "compare", folder / "rows.json", good(folder)


@case(1, "rows.safetensors: is read by its own library", "pass the array")
def safetensors(folder):
    (folder / "rows.safetensors").write_bytes(b"\xff" * 64)
    return "compare", folder / "rows.safetensors", good(folder)


@case(1, "x.h5: is read by its own library", "pass the array")
def hdf5(folder):
    (folder / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    return "compare", folder / "x.h5", good(folder)


@case(1, "imgs-idx3-ubyte")
def damaged_idx(folder):
    (folder / "imgs-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 9]))
    return "compare", folder / "imgs-idx3-ubyte", good(folder)


@case(1, "nobody")
def unknown_part_of_a_container(folder):
    np.savez(folder / "two.npz", a=ROWS, b=ROWS)
    return "compare", f"{folder / 'two.npz'}::nobody", good(folder)


# ---- classes -----------------------------------------------------------------------------------


def pets(folder):
    lines = [f"{x:.3f},{y:.3f},{'cat' if i % 2 else 'dog'}" for i, (x, y, _) in enumerate(ROWS)]
    (folder / "pets.csv").write_text("x,y,kind\n" + "\n".join(lines))
    return folder / "pets.csv"


@case(1, "'horse'")
def a_class_that_does_not_exist(folder):
    return "compare", pets(folder), "--label", "kind", "--a", "cat", "--b", "horse"


@case(1, "'species'")
def a_label_column_that_does_not_exist(folder):
    return "compare", pets(folder), "--label", "species", "--a", "cat", "--b", "dog"


@case(1, "both sets are class 'cat'")
def the_same_class_twice(folder):
    return "compare", pets(folder), "--label", "kind", "--a", "cat", "--b", "cat"


@case(1, "classes", "a= and b=")
def too_many_classes(folder):
    return "compare", csv(folder / "n.csv", np.c_[ROWS[:, :2], np.arange(30)]), "--label", "z"


@case(1, "second|--label")
def one_set_only(folder):
    return "compare", good(folder)


@case(1, "label")
def a_class_without_a_label(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--a", "cat"


@case(1, "labels")
def labels_without_rows_to_score(folder):
    return "compare", good(folder), good(folder, "b.csv"), "--labels", "kind"


@case(1, "two|2|class")
def an_audit_of_one_class(folder):
    (folder / "one.csv").write_text("x,kind\n1,cat\n2,cat\n3,cat\n")
    return "audit", folder / "one.csv", "--label", "kind"


# ---- models ------------------------------------------------------------------------------------


@case(1, "missing.cospan")
def missing_model(folder):
    return "score", folder / "missing.cospan", good(folder)


@case(1, "junk.cospan")
def damaged_model(folder):
    (folder / "junk.cospan").write_bytes(b"junk" * 100)
    return "score", folder / "junk.cospan", good(folder), "-o", folder / "scores.csv"


def saved(folder):
    from cospan.model_file import save

    save(folder / "m.cospan", compare(ROWS, ROWS * [1, 2, 3], n_permutations=19).frame)
    return folder / "m.cospan"


@case(1, "2 features", "3")
def a_model_of_other_features(folder):
    np.save(folder / "z.npy", ROWS[:, :2])
    return "score", saved(folder), folder / "z.npy", "-o", folder / "scores.csv"


@case(0, "z is not in b; it counts as missing there", "w is in b only")
def a_model_of_another_column(folder):
    from cospan.model_file import save

    save(folder / "m.cospan", compare(good(folder), good(folder), n_permutations=19).frame)
    return "score", folder / "m.cospan", csv(folder / "b.csv", header="x,y,w")


@case(1, "holds a SetCosts without a joint frame")
def a_model_without_names_of_its_sets(folder):
    from cospan import AlignmentAngleClassifier, save

    fitted = AlignmentAngleClassifier().fit(ROWS, np.arange(len(ROWS)) % 3)
    save(folder / "m.cospan", fitted.costs_)
    return "score", folder / "m.cospan", good(folder)


# ---- outputs -----------------------------------------------------------------------------------


def outputs(folder):
    return "compare", good(folder), csv(folder / "b.csv", ROWS * 2)


@case(1, "nowhere", "does not exist")
def output_folder_that_does_not_exist(folder):
    return *outputs(folder), "-o", folder / "nowhere" / "report.html"


@case(1, "good.csv", "not a folder")
def output_folder_that_is_a_file(folder):
    return *outputs(folder), "-o", folder / "good.csv" / "report.html"


@case(1, "is a folder")
def output_that_is_a_folder(folder):
    (folder / "out.html").mkdir()
    return *outputs(folder), "-o", folder / "out.html"


@case(1, "good.csv: it is an input")
def output_over_an_input(folder):
    return *outputs(folder), "--scores", folder / "good.csv"


@case(1, "another output goes there")
def two_outputs_of_one_name(folder):
    return *outputs(folder), "--save", folder / "r.csv", "--scores", folder / "r.csv"


@case(1, "report.pdf", "'.pdf' is not known", ".html")
def a_report_as_pdf(folder):
    return *outputs(folder), "-o", folder / "report.pdf"


@case(1, "demo.docx", "'.docx' is not known")
def a_demo_as_a_text_document(folder):
    return "demo", "-o", folder / "demo.docx"


@case(1, "not to standard output")
def a_report_to_standard_output(folder):
    return *outputs(folder), "-o", "-"


@case(1, "good.csv: it is an input")
def scores_over_the_rows_scored(folder):
    return "score", saved(folder), good(folder), "-o", folder / "good.csv"


@case(1, "pets.csv: it is an input")
def an_audit_over_its_data(folder):
    return "audit", pets(folder), "--label", "kind", "-o", folder / "pets.csv"


@case(1, "two.npz: it is an input")
def a_model_over_a_container(folder):
    np.savez(folder / "two.npz", a=ROWS, b=2 * ROWS)
    file = folder / "two.npz"
    return "compare", f"{file}::a", f"{file}::b", "--save", file


@case(1, "name the file", "-o")
def a_format_without_a_report(folder):
    return *outputs(folder), "--format", "md"


@case(1, "scores.xlsx", ".parquet")
def unknown_kind_of_scores(folder):
    return *outputs(folder), "--scores", folder / "scores.xlsx"


@case(2, "19")
def too_few_permutations(folder):
    return *outputs(folder), "--permutations", "0"


@case(1, "2x2 has 4 values")
def image_shape_of_another_size(folder):
    return *outputs(folder), "--image-shape", "2x2"


# ---- usage -------------------------------------------------------------------------------------


@case(2, "Missing argument|required")
def no_sets(folder):
    return ("compare",)


@case(2, "--a", "two sets only")
def three_sets_with_an_option_of_two(folder):
    sets = (good(folder), good(folder, "b.csv"), good(folder, "c.csv"))
    return "compare", *sets, "--a", "x"


@case(2, "No such option")
def unknown_option(folder):
    return *outputs(folder), "--colour"


@case(2, "No such command")
def unknown_command(folder):
    return ("contrast",)


@case(2, "neither 'auto' nor a number")
def shrinkage_of_two(folder):
    return *outputs(folder), "--shrinkage", "2"


@case(2, "center", "pooled")
def unknown_center(folder):
    return *outputs(folder), "--center", "left"


@case(2, "'fisher-rao>1'")
def threshold_that_is_none(folder):
    return *outputs(folder), "--fail-on", "auc<0.9"


@case(2, "'fisher-rao>1'")
def threshold_that_is_not_a_number(folder):
    return *outputs(folder), "--fail-on", "p<small"


@case(2, "chunk-rows")
def chunks_of_no_rows(folder):
    return *outputs(folder), "--chunk-rows", "0"


@case(2, "image size")
def image_size_in_words(folder):
    return *outputs(folder), "--image-size", "large"


@case(2, "label")
def an_audit_without_labels(folder):
    return "audit", good(folder)


# ---- the tests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, tmp_path):
    make, code, needles = CASES[name]
    arguments = make(tmp_path)
    before = listing(tmp_path)
    result = invoke(arguments, input="")
    assert result.exit_code == code, (result.output, result.stderr)
    assert isinstance(
        result.exception, SystemExit if code else type(None)
    )  # nothing unforeseen came through
    said = result.stderr if code else result.stderr + result.stdout
    message = " ".join(re.sub("[│╭╮╰╯─]", " ", said).split())
    assert "Traceback" not in message
    assert "bug in cospan" not in message
    for needle in needles:
        assert re.search(needle, message), message
    if code == 1:
        assert result.stdout == ""
        errors = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert len(errors) == 1
        assert errors[0].startswith("error: ")
        assert errors[0].endswith((".", "!", "?", ")"))
    assert listing(tmp_path) == before


def test_there_are_enough_cases():
    assert len(CASES) >= 80


def test_no_permission_to_write(tmp_path, monkeypatch):
    arguments = outputs(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir()
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and real(path, mode))
    result = invoke([*arguments, "-o", closed / "report.html"])
    assert result.exit_code == 1
    assert "no permission" in result.stderr
    assert list(closed.iterdir()) == []


def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "target", ["-o r.html", "-o r.json", "--scores s.parquet", "--scores s.csv"]
)
@pytest.mark.parametrize("old", [False, True])
def test_a_full_disk(target, old, tmp_path, monkeypatch):
    """The file system takes the first bytes and refuses the rest; an older file stays."""
    arguments = outputs(tmp_path)
    option, name = target.split()
    if old:
        (tmp_path / name).write_text("old")
    before = listing(tmp_path)
    if option == "-o":
        monkeypatch.setattr(Path, "write_text", full_disk)
    else:
        monkeypatch.setattr("cospan.comparison.score_files._open_writer", full_disk)
    result = invoke([*arguments, option, tmp_path / name])
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr
    assert listing(tmp_path) == before


@pytest.mark.parametrize("name", ["s.parquet", "s.csv", "s.arrow"])
def test_a_disk_that_fills_up_at_the_end(name, tmp_path, monkeypatch):
    arguments = outputs(tmp_path)
    before = listing(tmp_path)
    monkeypatch.setattr(os, "fsync", full_disk)
    result = invoke([*arguments, "--scores", tmp_path / name])
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert listing(tmp_path) == before


def test_a_real_full_device(tmp_path):
    """/dev/full takes no byte; on systems that have it the message is the system's own."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "report.html").symlink_to("/dev/full")
    result = invoke([*outputs(tmp_path), "-o", tmp_path / "report.html"])
    # the rename replaces the link itself, so the report appears and the device is left alone
    assert result.exit_code == 0
    assert (tmp_path / "report.html").is_file()


def test_interrupted_in_the_middle(tmp_path, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    arguments = outputs(tmp_path)
    before = listing(tmp_path)
    monkeypatch.setattr("cospan.comparison.pipeline.separate_pairs", interrupt)
    result = invoke([*arguments, "--scores", tmp_path / "s.parquet", "-o", tmp_path / "r.html"])
    assert result.exit_code == 130
    assert listing(tmp_path) == before


def test_a_programming_error_is_told_without_a_traceback(tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("half a bit was lost")

    monkeypatch.setattr("cospan.cli.comparing.compare_sets", broken)
    result = invoke(outputs(tmp_path))
    assert result.exit_code == 1
    assert "half a bit was lost" in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_memory_is_said(tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr("cospan.cli.comparing.compare_sets", broken)
    result = invoke(outputs(tmp_path))
    assert result.exit_code == 1
    assert "not enough memory" in result.stderr


def test_a_threshold_on_a_p_value_that_is_not_there_is_told(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.standard_normal((2, 3)))
    np.save(tmp_path / "b.npy", rng.standard_normal((5, 3)))
    files = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    done = CliRunner().invoke(cli.app, ["compare", *files, "--fail-on", "p<0.01"])
    assert done.exit_code == 1
    assert "there is no p-value here. It takes more rows." in " ".join(done.stderr.split())
