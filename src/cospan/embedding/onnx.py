"""Models in ONNX files, run by onnxruntime; and texts as numbers of tokens, for any model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan._text import first_line
from cospan.embedding.models import running
from cospan.errors import InputError

#: A text is cut after this many characters for each token that the model takes, before it is split
#: into all of its tokens: a book would take minutes, and gigabytes, for the few that are kept.
CHARACTERS_PER_TOKEN = 128
LETTERS_AT_A_TIME = 100_000


class Tokens:
    """Reads a ``tokenizer.json``; a text longer than `limit` tokens is cut there."""

    def __init__(self, path: Path, limit: int) -> None:
        with needed("A text model"):
            from tokenizers import Tokenizer
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises a bare Exception
            raise InputError(f"{path}: is not a tokenizer ({error}).") from error
        self._most = CHARACTERS_PER_TOKEN * limit
        self._tokenizer.enable_truncation(limit)
        self._tokenizer.no_padding()

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Token numbers and the mask of those that are text, each (n, longest)."""
        found = list(self._numbers(texts))
        lengths = np.array([len(one) for one in found])
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        ids = np.zeros(mask.shape, dtype=np.int64)
        ids[mask] = np.concatenate(found) if found else []
        return ids, mask.astype(np.int64)

    def lengths(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """How many tokens each text has, not counting padding."""
        return np.array([len(one) for one in self._numbers(texts)], dtype=np.intp)

    def _numbers(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """The tokens of each text, of so many texts at a time as have some 100,000 letters."""
        waiting: list[str] = []
        letters = 0
        for text in texts:
            waiting.append(text[: self._most])
            letters += len(waiting[-1])
            if letters > LETTERS_AT_A_TIME:
                yield from (one.ids for one in self._tokenizer.encode_batch(waiting))
                waiting, letters = [], 0
        if waiting:
            yield from (one.ids for one in self._tokenizer.encode_batch(waiting))


# Mean and spread of ImageNet's pixels in red, green and blue, which its models were trained with.
_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
_SPREAD = np.array([0.229, 0.224, 0.225], dtype=np.float32)


def _session(path: Path) -> Any:
    with needed("An ONNX file"):
        import onnxruntime
    # What is wrong we say; its own log would print names from the file as they are.
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises its own, without a common base
        reason = first_line(error)
        raise InputError(f"{path}: cannot be read as an ONNX model ({reason}).") from error


class OnnxTextModel:
    """A text model: tokens in, states of tokens or one row for each text out."""

    def __init__(self, path: Path, tokenizer: Path, limit: int, key: str) -> None:
        self.key = key
        self._path = path
        self._tokens = Tokens(tokenizer, limit)
        self._session = _session(path)
        self._inputs = {one.name for one in self._session.get_inputs()}
        if "input_ids" not in self._inputs:
            raise InputError(f"{path}: has no input called input_ids; it is not a text model.")

    def lengths(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """How many tokens each text has: texts of one length make the best batch."""
        with running(self._path):
            return self._tokens.lengths(texts)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with running(self._path):
            return self._rows(texts)

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        ids, mask = self._tokens(texts)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        found = self._session.run(None, {k: v for k, v in given.items() if k in self._inputs})
        rows = next((one for one in found if np.ndim(one) == 2), None)
        if rows is None:  # states of tokens: their mean
            weight = mask[:, :, None].astype(np.float32)
            rows = (found[0] * weight).sum(axis=1) / weight.sum(axis=1).clip(min=1)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(length > 0, length, 1), dtype=np.float32)


class OnnxImageModel:
    """An image model: (n, 3, height, width) in, one row for each image out."""

    def __init__(self, path: Path, key: str) -> None:
        self.key = key
        self._path = path
        self._session = _session(path)
        first = self._session.get_inputs()[0]
        if len(first.shape) != 4 or first.shape[1] != 3:
            raise InputError(
                f"{path}: its input has the shape {first.shape}; an image model takes "
                "(n, 3, height, width)."
            )
        self._name = first.name
        #: (height, width), or None where the model takes any.
        self.size = (
            tuple(first.shape[2:]) if all(isinstance(n, int) for n in first.shape[2:]) else None
        )

    def __call__(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        scaled = (images.astype(np.float32) / 255 - _MEAN) / _SPREAD
        with running(self._path):
            found = self._session.run(None, {self._name: scaled.transpose(0, 3, 1, 2)})
            return np.asarray(found[0], dtype=np.float32).reshape(len(images), -1)
