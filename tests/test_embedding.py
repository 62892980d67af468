"""Texts and images as rows: the encoder against torch's own layers, caches, sources."""

import json
import os
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import onnx
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from onnx import TensorProto, helper
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

import cospan
from cospan.embedding import (
    EmbeddingCache,
    embed_images,
    embed_texts,
    load_image_model,
    load_text_model,
)
from cospan.errors import CospanWarning, InputError
from cospan.sources import open_source
from cospan.sources.embedded import is_prose

WORDS = ["[PAD]", "[UNK]", "the", "cat", "sat", "dog", "ran", "far", "away"]
HIDDEN, HEADS, INNER, LAYERS = 12, 3, 20, 2


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COSPAN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def reference():
    """Post-norm encoder layers of torch with random weights."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        HIDDEN, HEADS, INNER, dropout=0.0, activation="gelu", batch_first=True, layer_norm_eps=1e-12
    )
    return torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """The same weights under BERT's names, with a tokenizer of nine words."""
    where = tmp_path_factory.mktemp("model")
    torch.manual_seed(1)
    for i, layer in enumerate(reference.layers):  # layers start equal: make them differ
        torch.nn.init.normal_(layer.linear1.weight, std=0.3 + 0.1 * i)
    weights = {
        "embeddings.word_embeddings.weight": torch.randn(len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": torch.randn(8, HIDDEN),
        "embeddings.token_type_embeddings.weight": torch.randn(2, HIDDEN),
        "embeddings.LayerNorm.weight": torch.rand(HIDDEN) + 0.5,
        "embeddings.LayerNorm.bias": torch.randn(HIDDEN),
    }
    for i, layer in enumerate(reference.layers):
        name = f"encoder.layer.{i}"
        parts = layer.self_attn.in_proj_weight.chunk(3), layer.self_attn.in_proj_bias.chunk(3)
        for part, weight, bias in zip(("query", "key", "value"), *parts, strict=True):
            weights[f"{name}.attention.self.{part}.weight"] = weight
            weights[f"{name}.attention.self.{part}.bias"] = bias
        for theirs, ours in (
            (layer.self_attn.out_proj, "attention.output.dense"),
            (layer.norm1, "attention.output.LayerNorm"),
            (layer.linear1, "intermediate.dense"),
            (layer.linear2, "output.dense"),
            (layer.norm2, "output.LayerNorm"),
        ):
            weights[f"{name}.{ours}.weight"], weights[f"{name}.{ours}.bias"] = (
                theirs.weight,
                theirs.bias,
            )
    save_file(
        {k: v.detach().clone().contiguous() for k, v in weights.items()},
        where / "model.safetensors",
    )
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12,
    }
    (where / "config.json").write_text(json.dumps(config))
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(where / "tokenizer.json"))
    return where


def test_the_encoder_is_torchs_encoder_with_masked_mean_and_unit_length(folder, reference):
    texts = ["the cat sat", "dog", "the dog ran far away"]
    weights = load_text_model(folder)._weights
    found = embed_texts(texts, folder, cache=False)
    for text, row in zip(texts, found, strict=True):
        ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        scale = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
        x = torch.nn.functional.layer_norm(x, (HIDDEN,), *scale, 1e-12)
        with torch.no_grad():
            mean = reference(x).mean(dim=1)[0]
        assert_allclose(row, (mean / mean.norm()).numpy(), atol=2e-6)


def test_batches_and_order_do_not_matter(folder):
    texts = ["the cat sat", "dog", "the dog ran far away", "", "cat cat"]
    one = embed_texts(texts, folder, batch=1, cache=False)
    assert_allclose(one, embed_texts(texts, folder, batch=5, cache=False), atol=2e-6)
    assert_allclose(one[::-1], embed_texts(texts[::-1], folder, cache=False), atol=2e-6)


def test_texts_with_as_many_tokens_share_a_batch(folder):
    """Characters say little: six short words are more work than two long ones."""
    model = load_text_model(folder)
    texts = ["a b c d e f", "unquestionably unforgettable", "g h i j k l", "extraordinarily far"]
    assert model.lengths(texts).tolist() == [6, 2, 6, 2]
    seen = []

    class Spy:
        lengths = model.lengths

        def __call__(self, batch):
            seen.append(sorted(model.lengths(batch).tolist()))
            return model(batch)

    rows = embed_texts(texts, Spy(), batch=2)
    assert seen == [[2, 2], [6, 6]]
    assert_allclose(rows, model(texts), atol=2e-6)


def test_the_cache_gives_the_same_rows_without_the_model(folder, tmp_path):
    cache = EmbeddingCache(tmp_path / "deep" / "rows.sqlite")
    texts = ["the cat sat", "dog"]
    first = embed_texts(texts, folder, cache=cache)
    model = load_text_model(folder)

    class Broken:
        key = model.key

        def __call__(self, texts):
            raise AssertionError("the model must not be asked again")

    assert_array_equal(embed_texts(texts, Broken(), cache=cache), first)
    with pytest.raises(AssertionError):
        embed_texts(["never seen"], Broken(), cache=cache)


def test_another_tokenizer_is_another_model(folder, tmp_path):
    """The same weights, but "cat" and "dog" have changed places."""
    where = shutil.copytree(folder, tmp_path / "model")
    text = (where / "tokenizer.json").read_text()
    for word, other in (("cat", "?"), ("dog", "cat"), ("?", "dog")):
        text = text.replace(f'"{word}"', f'"{other}"')
    (where / "tokenizer.json").write_text(text)
    cache = EmbeddingCache(tmp_path / "rows.sqlite")
    cat, dog = (embed_texts([word], folder, cache=cache) for word in ("cat", "dog"))
    assert_array_equal(embed_texts(["cat"], where, cache=cache), dog)
    assert not np.allclose(cat, dog)


def test_the_cache_holds_no_text(folder, tmp_path):
    cache = EmbeddingCache(tmp_path / "rows.sqlite")
    embed_texts(["the secret cat"], folder, cache=cache)
    assert b"secret" not in cache.path.read_bytes()


def test_a_damaged_cache_is_no_reason_to_fail(folder, tmp_path):
    path = tmp_path / "rows.sqlite"
    path.write_bytes(b"this is not a database" * 100)
    with closing(sqlite3.connect(path)) as base, pytest.raises(sqlite3.Error):
        base.execute("SELECT * FROM rows")
    assert embed_texts(["cat"], folder, cache=EmbeddingCache(path)).shape == (1, HIDDEN)


@pytest.mark.parametrize("row", [b"abc", b"", "text", None, b"\xff" * 4 * HIDDEN, b"1234"])
def test_rows_that_do_not_fit_are_computed_again(row, folder, tmp_path):
    cache, texts = EmbeddingCache(tmp_path / "rows.sqlite"), ["cat", "dog ran"]
    expected = embed_texts(texts, folder, cache=cache)
    with sqlite3.connect(cache.path) as base:
        first = base.execute("SELECT key FROM rows LIMIT 1").fetchone()[0]
        base.execute("UPDATE rows SET row = ? WHERE key = ?", (row, first))
    base.close()
    assert_allclose(embed_texts(texts, folder, cache=cache), expected, rtol=1e-5)


def test_a_cache_that_is_a_program_or_a_pipe_is_not_used(folder, tmp_path):
    endless = "WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n)"
    with sqlite3.connect(tmp_path / "rows.sqlite") as base:
        base.execute(f"CREATE VIEW rows AS {endless} SELECT key, key AS row FROM n")
    base.close()
    os.mkfifo(tmp_path / "pipe.sqlite")
    for name in ("rows.sqlite", "pipe.sqlite"):
        cache = EmbeddingCache(tmp_path / name)
        assert embed_texts(["cat"], folder, cache=cache).shape == (1, HIDDEN)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("sentence_bert_config.json", '{"max_seq_length": -5}', "max_seq_length is '-5'"),
        ("sentence_bert_config.json", '{"max_seq_length": "x"}', "number of tokens"),
        ("sentence_bert_config.json", "[" * 100_000, "cannot be read as JSON"),
        ("config.json", '{"model_type": "bert", "hidden_act": "gelu"}', "layers and heads"),
        ("model.safetensors", "nothing", "cannot be read as safetensors"),
    ],
)
def test_hostile_files_of_a_model_get_one_sentence(file, content, words, folder, tmp_path):
    where = shutil.copytree(folder, tmp_path / "model")
    (where / file).write_text(content)
    with pytest.raises(InputError, match=words):
        load_text_model(where)
    (where / file).unlink()
    os.mkfifo(where / file)
    with pytest.raises(InputError, match=r"regular file|neither model\.onnx"):
        load_text_model(where)


def test_a_model_that_cannot_be_run_is_named(folder, tmp_path):
    where = shutil.copytree(folder, tmp_path / "model")
    config = json.loads((where / "config.json").read_text())
    (where / "config.json").write_text(json.dumps({**config, "num_hidden_layers": LAYERS + 1}))
    with pytest.raises(InputError, match=r"model\.safetensors: the model cannot be run"):
        embed_texts(["cat"], where, cache=False)


def test_half_a_character_is_no_text(folder):
    with pytest.raises(InputError, match="cannot be run"):
        embed_texts(["cat \ud800"], folder, cache=False)


def test_progress_counts_to_the_end(folder):
    seen = []
    embed_texts(["cat"] * 5, folder, batch=2, cache=False, progress=lambda *x: seen.append(x))
    assert seen == [(2, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: embed_texts([1, 2]), "Text 0 is of type int"),
        (lambda: embed_texts([], len), "nothing to embed"),
        (lambda: embed_texts(["a"], lambda texts: [1.0]), "one row for each"),
        (lambda: embed_texts(["a"], "no-such-package"), "neither a folder nor a package"),
        (lambda: embed_images(np.zeros((2, 3, 3)), len), "pass uint8"),
        (lambda: load_image_model("/no/such/model.onnx"), "is not there"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_folders_that_hold_no_model_say_what_is_missing(tmp_path, folder):
    with pytest.raises(InputError, match=r"no tokenizer\.json"):
        load_text_model(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"neither model\.onnx nor model\.safetensors"):
        load_text_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(InputError, match="describes a 'gpt2' model"):
        load_text_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        load_text_model(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(InputError, match="cannot be read as an ONNX model"):
        load_text_model(tmp_path)


# ---- ONNX -------------------------------------------------------------------------------------


def onnx_file(path, node, given, made):
    graph = helper.make_graph([node], "g", [given], [made])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path
    )
    return path


def test_an_onnx_text_model_is_run_on_its_tokens(folder, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    node = helper.make_node("OneHot", ["input_ids", "depth", "values"], ["states"])
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", "t", len(WORDS)])],
        [
            helper.make_tensor("depth", TensorProto.INT64, [1], [len(WORDS)]),
            helper.make_tensor("values", TensorProto.FLOAT, [2], [0.0, 1.0]),
        ],
    )
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "model.onnx")
    found = embed_texts(["cat cat dog", "far"], tmp_path, cache=False)
    wanted = np.zeros((2, len(WORDS)))
    wanted[0, WORDS.index("cat")], wanted[0, WORDS.index("dog")] = 2, 1
    wanted[1, WORDS.index("far")] = 1
    assert_allclose(found, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)


def test_an_onnx_image_model_gets_scaled_pixels(tmp_path):
    path = onnx_file(
        tmp_path / "model.onnx",
        helper.make_node("GlobalAveragePool", ["x"], ["y"]),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, 1, 1]),
    )
    images = np.full((2, 8, 8, 3), 255, dtype=np.uint8)
    wanted = (1 - np.array([0.485, 0.456, 0.406])) / [0.229, 0.224, 0.225]
    assert_allclose(embed_images(images, path, cache=False), [wanted, wanted], rtol=1e-5)
    assert load_image_model(tmp_path).size == (8, 8)


# ---- sources ----------------------------------------------------------------------------------


def letters(texts):
    """A model for tests: how often each of four letters is there."""
    return [[text.count(letter) for letter in "aeio"] for text in texts]


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("The cat sat on the mat.\nIt ran away, far away, at last.\nNobody saw it.\n", True),
        ("1.5\n2.5\n3.5\n", False),
        ("1 2 3\n4 5 6\n", False),
        ("a,b\n1,2\n3,4\n", False),
        ("name;kind\nx;y\nz;w\n", False),
        ("", False),
    ],
)
def test_prose_is_told_from_tables(text, prose, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert is_prose(path) == prose


def test_the_lines_of_a_text_file_are_rows(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("A quick brown fox.\n\nIt jumps, over dogs, and on.\nNo more\n")
    chunk = open_source(path, embed=letters).read()
    assert_array_equal(
        chunk.rows, letters(["A quick brown fox.", "It jumps, over dogs, and on.", "No more"])
    )
    assert chunk.ids.tolist() == [
        "0: A quick brown fox.",
        "1: It jumps, over dogs, and on.",
        "2: No more",
    ]


def test_lines_in_another_encoding_are_read_and_said(tmp_path):
    (tmp_path / "old.txt").write_bytes("eins\nGr\xf6\xdfe\nzwei drei\n".encode("latin-1"))
    with pytest.warns(CospanWarning, match=r"old.txt: 1 line with .* not UTF-8.*save the file"):
        rows = open_source(tmp_path / "old.txt", embed=letters).read().rows
    assert len(rows) == 3


def test_a_comparison_says_what_its_columns_are(tmp_path):
    for name, word in (("a", "apple"), ("b", "lion")):
        lines = [f"{word} {'e' * (i % 7)} {'i' * (i % 5)}" for i in range(60)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    files = (tmp_path / "a.txt", tmp_path / "b.txt")
    found = cospan.compare(*files, embed=letters, n_permutations=19)
    said = [text for text in found.warnings if "made of each text" in text]
    assert len(said) == 1


def test_a_text_column_is_embedded_with_ids_and_labels(tmp_path):
    table = pd.DataFrame(
        {"review": ["aa", "e", None, "io"], "stars": [1, 5, 1, 5], "key": list("wxyz")}
    )
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    for data in (table, path):
        chunk = open_source(data, text="review", embed=letters, id_column="key", label="stars")
        with pytest.warns(cospan.errors.CospanWarning, match="1 missing text, counted as empty"):
            rows = chunk.read()
        assert_array_equal(rows.rows, letters(["aa", "e", "", "io"]))
        assert rows.ids.tolist() == list("wxyz")
        assert rows.labels.tolist() == [1, 5, 1, 5]
    one = open_source(table, text="review", embed=letters, label="stars", label_value=5).read()
    assert_array_equal(one.rows, letters(["e", "io"]))
    with pytest.raises(InputError, match="rewiew"):
        open_source(table, text="rewiew", embed=letters)


def test_images_of_a_folder_are_embedded(tmp_path):
    for i in range(3):
        Image.new("RGB", (10, 10), (i, 2 * i, 0)).save(tmp_path / f"{i}.png")
    source = open_source(tmp_path, embed=lambda some: some.mean(axis=(1, 2)), image_size=4)
    assert source.image_shape is None
    assert_allclose(source.read().rows, [[0, 0, 0], [1, 2, 0], [2, 4, 0]])


def test_texts_of_two_sets_are_compared(tmp_path):
    rng = np.random.default_rng(0)
    for name, words in (("a", ["apple", "pear", "tree"]), ("b", ["iron", "lion", "tree"])):
        lines = [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(120)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\nand, here, one more\n")
    sources = [open_source(tmp_path / f"{name}.txt", embed=letters) for name in "ab"]
    frame = cospan.JointFrame.fit(*(source.read().rows.astype(float) for source in sources))
    rows = sources[0].read().rows
    assert np.mean(frame.align(rows).degrees < 45) > 0.9


@pytest.mark.parametrize("location", ["/etc/passwd", "../../../../../../../../etc/passwd"])
def test_an_onnx_model_cannot_read_files_elsewhere(location, folder, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "length": "16"}.items():
        weight.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="cannot be read as an ONNX model"):
        load_text_model(tmp_path)
