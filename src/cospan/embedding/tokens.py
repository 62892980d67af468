"""Texts as numbers of tokens, padded to one length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan.errors import InputError

#: A text is cut after this many characters for each token that the model takes, before it is split
#: into all of its tokens: a book would take minutes, and gigabytes, for the few that are kept.
CHARACTERS_PER_TOKEN = 128
LETTERS_AT_A_TIME = 100_000


class Tokens:
    """Reads a ``tokenizer.json``; a text longer than `limit` tokens is cut there."""

    def __init__(self, path: Path, limit: int) -> None:
        with needed("A text model", "cospan[embed]"):
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
