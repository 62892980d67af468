"""Texts as numbers of tokens, padded to one length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan.errors import InputError


class Tokens:
    """Reads a ``tokenizer.json``; a text longer than `limit` tokens is cut there."""

    def __init__(self, path: Path, limit: int) -> None:
        with needed("A text model", "cospan[embed]"):
            from tokenizers import Tokenizer
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises a bare Exception
            raise InputError(f"{path}: is not a tokenizer ({error}).") from error
        self._tokenizer.enable_truncation(limit)
        self._tokenizer.enable_padding()

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Token numbers and the mask of those that are text, each (n, longest)."""
        found = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in found], dtype=np.int64)
        return ids, np.array([one.attention_mask for one in found], dtype=np.int64)

    def lengths(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """How many tokens each text has, not counting padding."""
        found = self._tokenizer.encode_batch(list(texts))
        return np.array([sum(one.attention_mask) for one in found], dtype=np.intp)
