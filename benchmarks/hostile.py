"""Hostile files: models for embeddings, caches, profiles, pipes, endless texts.

Groups of cases for bench_bad_inputs.py. Each case writes what it needs and gives the arguments of
one command.
"""

import hashlib
import itertools
import json
import os
import shutil
import sqlite3

import numpy as np

from cospan.model_file import container


def text_file(folder):
    path = folder / "texts.txt"
    path.write_text("".join(f"a sentence about the number {i} and more\n" for i in range(20)))
    return path


SPECIAL = {
    "a pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}


# ---- models for embeddings, and their cache ----------------------------------------------------


TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {
        "type": "WordLevel",
        "vocab": {"[UNK]": 0, "[PAD]": 1, **{str(i): 2 + i for i in range(20)}},
        "unk_token": "[UNK]",
    },
}
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "num_hidden_layers": 0,
    "num_attention_heads": 1,
}


def weights(width=4, **other):
    rng = np.random.default_rng(0)
    found = {
        "embeddings.word_embeddings.weight": rng.normal(size=(30, width)).astype(np.float32),
        "embeddings.position_embeddings.weight": rng.normal(size=(300, width)).astype(np.float32),
        "embeddings.token_type_embeddings.weight": np.ones((1, width), np.float32),
        "embeddings.LayerNorm.weight": np.ones(width, np.float32),
        "embeddings.LayerNorm.bias": np.ones(width, np.float32),
    }
    return {**found, **other}


def model_folder(place, tokenizer=TOKENIZER, config=CONFIG, tensors=None, limit=None):
    from safetensors.numpy import save_file

    place.mkdir(exist_ok=True)
    (place / "tokenizer.json").write_text(
        tokenizer if isinstance(tokenizer, str) else json.dumps(tokenizer)
    )
    (place / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    save_file(weights() if tensors is None else tensors, place / "model.safetensors")
    if limit is not None:
        (place / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": limit}))
    return place


def embeddings(written):
    """--text with models whose files are damaged, hostile or not files."""
    word = dict(weights())
    word["embeddings.word_embeddings.weight"] = np.ones((1, 4), np.float32)
    folders = {
        "good": {},
        "no vocabulary": {"tokenizer": {**TOKENIZER, "model": {"type": "WordLevel"}}},
        "tokenizer of nothing": {"tokenizer": "{}"},
        "tokenizer is deep": {"tokenizer": "[" * 100_000},
        "tokens beyond the table": {"tensors": word},
        "huge token number": {
            "tokenizer": {
                **TOKENIZER,
                "model": {**TOKENIZER["model"], "vocab": {"[UNK]": 2**32 - 1}},
            }
        },
        "config is deep": {"config": "[" * 100_000},
        "config is a list": {"config": "[]"},
        "no heads": {"config": {**CONFIG, "num_attention_heads": 0, "num_hidden_layers": 1}},
        "layers that are not there": {"config": {**CONFIG, "num_hidden_layers": 2}},
        "endless layers": {"config": {**CONFIG, "num_hidden_layers": 10**18}},
        "no layers named": {"config": {"model_type": "bert", "hidden_act": "gelu"}},
        "layers as text": {"config": {**CONFIG, "num_hidden_layers": "many"}},
        "negative limit": {"limit": -5},
        "limit as text": {"limit": "x"},
        "huge limit": {"limit": 10**30},
        "weights missing": {"tensors": {"x": np.ones(3, np.float32)}},
        "weights of other widths": {
            "tensors": weights(**{"embeddings.LayerNorm.weight": np.ones(7, np.float32)})
        },
        "weights of whole numbers": {
            "tensors": {name: value.astype(np.int64) for name, value in weights().items()}
        },
        "weights not finite": {"tensors": {k: v * np.nan for k, v in weights().items()}},
    }
    for name, given in folders.items():

        def make(folder, given=given, name=name):
            place = model_folder(folder / f"model {name}", **given)
            texts = text_file(folder)
            return [texts, texts, "--embed", place]

        yield f"text model: {name}", make
    for part in ("config.json", "tokenizer.json", "model.safetensors", "model.onnx"):
        for name, special in SPECIAL.items():

            def make(folder, part=part, name=name, special=special):
                place = model_folder(folder / f"{part} {name}")
                (place / part).unlink(missing_ok=True)
                special(place / part)
                texts = text_file(folder)
                return [texts, texts, "--embed", place]

            yield f"text model: {part} is {name}", make
    for name, graph in GRAPHS.items():

        def make(folder, name=name, graph=graph):
            place = model_folder(folder / f"onnx {name.replace('/', ' ')}")
            graph(place / "model.onnx")
            texts = text_file(folder)
            return [texts, texts, "--embed", place]

        yield f"ONNX: {name}", make
    for name, spoil in CACHES.items():

        def make(folder, name=name, spoil=spoil):
            cache = folder / f"cache {name}"
            cache.mkdir()
            os.environ["COSPAN_CACHE"] = str(cache)
            place = model_folder(folder / "plain model")
            spoil(cache / "embeddings.sqlite", place)
            texts = text_file(folder)
            return [texts, texts, "--embed", place]

        yield f"cache: {name}", make


def onnx_file(path, nodes, constants=(), output_type=1, external=None):
    """A text model of these nodes, which make "y" of "input_ids"."""
    from onnx import TensorProto, helper

    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])
    out = helper.make_tensor_value_info("y", output_type, None)
    made = [
        helper.make_tensor(name, kind, shape, values) for name, kind, shape, values in constants
    ]
    if external is not None:
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in external.items():
            tensor.external_data.add(key=key, value=value)
        made.append(tensor)
    graph = helper.make_graph(nodes, "g", [ids], [out], made)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(model.SerializeToString())


def _outside(location):
    def write(path):
        from onnx import helper

        add = helper.make_node("Identity", ["w"], ["y"])
        onnx_file(path, [add], external={"location": location, "length": "16"})

    return write


def _of_shape(*shape):
    def write(path):
        from onnx import TensorProto, helper

        fill = helper.make_node("ConstantOfShape", ["shape"], ["y"])
        onnx_file(path, [fill], [("shape", TensorProto.INT64, [len(shape)], list(shape))])

    return write


def _unknown_operator(path):
    from onnx import helper

    onnx_file(path, [helper.make_node("Exec", ["input_ids"], ["y"], domain="evil")])


def _failing(path):
    from onnx import TensorProto, helper

    shape = helper.make_node("Reshape", ["input_ids", "shape"], ["y"])
    constants = [("shape", TensorProto.INT64, [2], [7, 1000])]
    onnx_file(path, [shape], constants, output_type=7)


def _strings(path):
    from onnx import TensorProto, helper

    cast = helper.make_node("Cast", ["input_ids"], ["y"], to=TensorProto.STRING)
    onnx_file(path, [cast], output_type=8)


GRAPHS = {
    "weights from /etc/passwd": _outside("/etc/passwd"),
    "weights from above": _outside("../../../../../../etc/passwd"),
    "weights from a pipe": lambda path: (
        os.mkfifo(path.parent / "w.bin"),
        _outside("w.bin")(path),
    ),
    "unknown operator": _unknown_operator,
    "fails when run": _failing,
    "output of texts": _strings,
    "output of one number": _of_shape(),
    "output of other rows": _of_shape(3, 5),
    "output without columns": _of_shape(20, 0),
    "output of terabytes": _of_shape(10**6, 10**7),
    "cut short": lambda path: (_of_shape(1, 2)(path), path.write_bytes(path.read_bytes()[:40])),
    "nothing": lambda path: path.write_bytes(b""),
}


def _cached(path, place, row):
    """A cache in which every text of the model has this row."""
    from cospan.embedding.cache import _digest, _opened
    from cospan.embedding.models import load_text_model

    key = load_text_model(place).key
    lines = [f"a sentence about the number {i} and more" for i in range(20)]
    with _opened(path) as base:
        for line in ["", *lines]:
            base.execute("INSERT INTO rows VALUES (?, ?)", (_digest(key, line.encode()), row))
        base.commit()


def _hostile_view(path, place):
    base = sqlite3.connect(path)
    base.execute(
        "CREATE VIEW rows AS WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n) "
        "SELECT key, key AS row FROM n"
    )
    base.commit()
    base.close()


CACHES = {
    "a row of three bytes": lambda path, place: _cached(path, place, b"abc"),
    "a row of text": lambda path, place: _cached(path, place, "text"),
    "a row of nothing": lambda path, place: _cached(path, place, None),
    "an empty row": lambda path, place: _cached(path, place, b""),
    "rows of NaN": lambda path, place: _cached(path, place, b"\xff" * 16),
    "an endless view": _hostile_view,
    **{name: lambda path, _, special=special: special(path) for name, special in SPECIAL.items()},
}


# ---- profiles ----------------------------------------------------------------------------------


def profile_bytes():
    from cospan import Profile

    rows = np.random.default_rng(0).normal(size=(200, 3))
    return Profile.of(rows, every="50-rows")


def resealed(data, change):
    """A file of ours with its settings changed and its digest right."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    settings = json.loads(header["__metadata__"]["settings"])
    change(settings, header)
    header["__metadata__"]["settings"] = json.dumps(settings)
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header, separators=(",", ":")).encode()
    blank = len(text).to_bytes(8, "little") + text + data[8 + length :]
    digest = hashlib.sha256(blank).hexdigest()
    return blank.replace(container._digest_entry("0" * 64), container._digest_entry(digest), 1)


ODD = (None, -1, 10**30, "x", "\x1b[31m", [], {}, [[]], True, 1e308, "../../etc/passwd")


def watching(written):
    """cospan monitor with profiles whose settings lie, with a right digest, and other things."""
    import tempfile
    from pathlib import Path

    from cospan.monitoring.files import save_profile

    with tempfile.TemporaryDirectory() as place:
        data = save_profile(Path(place) / "p.cospan", profile_bytes()).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    names = sorted(json.loads(header["__metadata__"]["settings"]))
    for name in names:
        for odd in ODD:

            def make(folder, name=name, odd=odd):
                bad = folder / "bad.cospan"

                def change(settings, _):
                    settings[name] = odd

                bad.write_bytes(resealed(data, change))
                return ["monitor", bad, written(folder, "npy")]

            yield f"profile: {name} is {odd!a}", make
    for name, special in SPECIAL.items():

        def make(folder, name=name, special=special):
            special(folder / f"profile {name}.cospan")
            return ["monitor", folder / f"profile {name}.cospan", written(folder, "npy")]

        yield f"profile: {name}", make


# ---- folders -----------------------------------------------------------------------------------


def folders(written):
    """Data in folders, with a pipe or a device in the place of each file in turn."""
    for kind in ("zarr", "zarr_2", "saved_dataset", "images"):
        for number, (name, special) in itertools.product(range(4), SPECIAL.items()):

            def make(folder, kind=kind, number=number, name=name, special=special):
                bad = folder / f"{kind} {number} {name}.{kind.partition('_')[0]}"
                shutil.copytree(written(folder, kind), bad)
                files = sorted(file for file in bad.rglob("*") if file.is_file())
                file = files[number % len(files)]
                file.unlink()
                special(file)
                return [bad, bad, *(["--image-size", "8"] if kind == "images" else [])]

            yield f"{kind}: file {number} is {name}", make


# ---- small files of much text --------------------------------------------------------------------


def packed_texts(path, texts, places=None):
    """Texts in Parquet; with `places`, rows that refer to them, as many as one likes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pa.array(texts)
    if places is not None:
        column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), column)
    table = pa.table({"s": column, "x": np.arange(float(len(column)))})
    pq.write_table(
        table, path, compression="zstd", store_schema=False, dictionary_pagesize_limit=2**30
    )


def gzipped(path, front, letter, millions, end):
    import gzip

    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(front)
        for _ in range(millions):
            stream.write(letter * 10**6)
        stream.write(end)


def wide_table(path, columns, rows=50):
    values = np.random.default_rng(0).normal(size=(rows, columns))
    np.savetxt(
        path, values, "%.3f", ",", header=",".join(f"c{j}" for j in range(columns)), comments=""
    )


TEXTS = {
    "one long text.parquet": lambda path: packed_texts(path, ["a" * 200_000_000]),
    "two texts.parquet": lambda path: packed_texts(path, ["a" * 20_000_000, "b" * 20_000_000]),
    "many texts.parquet": lambda path: packed_texts(
        path, ["a" * 10**6 + str(i) for i in range(200)]
    ),
    "words.parquet": lambda path: packed_texts(path, ["a " * 25_000_000, *["b"] * 99]),
    "shared text.parquet": lambda path: packed_texts(path, ["a" * 20_000_000], [0] * 200),
    "shared shorter text.parquet": lambda path: packed_texts(path, ["a" * 900_000], [0] * 20_000),
    "latin.csv": lambda path: path.write_bytes(b"a,b,c\n" + b"1,2,caf\xe9\n" * 20),
    "open quote.csv": lambda path: path.write_text(
        "a,b\n" + "1,2\n" * 9 + '1,"2\n' + "1,2\n" * 10**6
    ),
    "long line.csv.gz": lambda path: gzipped(path, b"a,b\n1,", b"7", 1000, b"\n"),
    "long name.csv.gz": lambda path: gzipped(path, b"", b"a", 1000, b",b\n1,2\n"),
    "wide.csv": lambda path: wide_table(path, 1400),
    "wider.csv": lambda path: wide_table(path, 6000, 2),
}


def elsewhere(write, path):
    """Write in another process: memory of this one would count as the command's."""
    child = os.fork()
    if child == 0:
        write(path)
        os._exit(0)
    os.waitpid(child, 0)


def texts(written):
    """Texts of gigabytes in kilobytes, lines without end, tables of thousands of columns."""
    for name, write in TEXTS.items():
        for command in ("compare", "profile", "compare --text s"):
            if command.endswith("s") and not name.endswith("parquet"):
                continue

            def make(folder, name=name, write=write, command=command):
                elsewhere(write, folder / name)
                first, *more = command.split()
                others = [folder / name] if first == "compare" else []
                more += ["-o", folder / "made.cospan"] if first == "profile" else []
                before = [] if first == "compare" else [first]
                return [*before, folder / name, *others, *more]

            yield f"{command}: {name}", make
    for option in ("--scores", "--save"):

        def make(folder, option=option):
            shutil.copy(written(folder, "csv"), folder / "own.csv")
            (folder / "hard.csv").unlink(missing_ok=True)
            os.link(folder / "own.csv", folder / "hard.csv")
            return [
                folder / "own.csv",
                written(folder, "csv"),
                option,
                folder / "hard.csv",
            ]

        yield f"{option} is a hard link to an input", make


GROUPS = (embeddings, watching, folders, texts)
