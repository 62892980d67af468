"""Texts and images to rows: in batches, with progress, remembered on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from cospan._types import Index
from cospan._validate import as_count
from cospan.embedding.cache import EmbeddingCache
from cospan.embedding.models import ImageModel, TextModel, load_image_model, load_text_model
from cospan.errors import InputError

Rows = NDArray[np.float32]
Progress = Callable[[int, int], None]

BATCH = 32  # what a batch makes of its tokens stays in the cache of a core


class Batches(TypedDict, total=False):
    """How rows are made: see :func:`embed_texts`."""

    batch: int
    cache: EmbeddingCache | bool
    progress: Progress | None


def embed_texts(
    texts: Sequence[str],
    model: TextModel | Callable[[list[str]], Any] | str | os.PathLike[str] | None = None,
    *,
    batch: int = BATCH,
    cache: EmbeddingCache | bool = True,
    progress: Progress | None = None,
) -> Rows:
    """One row of numbers, (n, d) in float32, for each text.

    Parameters
    ----------
    texts : sequence of str
    model : callable, path or str, optional
        Any function of a list of texts; a folder or a package that holds a model (see
        :func:`load_text_model`); by default the model that is installed.
    batch : int
        How many texts the model sees at once.
    cache : EmbeddingCache or bool
        Where rows are remembered. A function of yours is not cached, since nothing says when it
        changes.
    progress : callable, optional
        Called with how many texts are done, and how many there are.

    Examples
    --------
    >>> from cospan.embedding import embed_texts
    >>> embed_texts(["one", "two words"], lambda texts: [[len(t), t.count(" ")] for t in texts])
    array([[3., 0.],
           [9., 1.]], dtype=float32)
    """
    texts = list(texts)
    wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        kind = type(texts[wrong]).__name__
        raise InputError(f"Text {wrong} is of type {kind}; pass strings, one for each row.")
    run = model if callable(model) else load_text_model(model)
    items = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = getattr(run, "lengths", lambda some: [len(text) for text in some])

    def by_length(index: Index) -> Index:
        # Texts of one length share a batch: padding is work. A formula has many more tokens than
        # a sentence of as many characters, so that a model that can counts its own tokens.
        return index[np.argsort(lengths([texts[i] for i in index]), kind="stable")]

    return _embedded(
        lambda index: run([texts[i] for i in index]),
        getattr(run, "key", None), items, by_length, batch=batch, cache=cache, progress=progress,
    )  # fmt: skip


def embed_images(
    images: NDArray[np.uint8],
    model: ImageModel | Callable[[NDArray[np.uint8]], Any] | str | os.PathLike[str],
    **batches: Unpack[Batches],
) -> Rows:
    """One row of numbers, (n, d) in float32, for each image.

    Parameters
    ----------
    images : ndarray of shape (n, height, width, 3), uint8
    model : callable or path
        Any function of such images, or an ONNX file (see :func:`load_image_model`).
    **batches
        batch, cache and progress, as in :func:`embed_texts`.

    Examples
    --------
    >>> from cospan.embedding import embed_images
    >>> images = np.full((2, 4, 4, 3), 255, dtype=np.uint8)
    >>> embed_images(images, lambda some: some.mean(axis=(1, 2)))
    array([[255., 255., 255.],
           [255., 255., 255.]], dtype=float32)
    """
    images = np.asarray(images)
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        raise InputError(
            f"The images have shape {images.shape} and dtype {images.dtype}; pass uint8 of shape "
            "(n, height, width, 3)."
        )
    run = model if callable(model) else load_image_model(model)
    items = [image.tobytes() + repr(image.shape).encode() for image in images]
    return _embedded(
        lambda index: run(images[index]),
        getattr(run, "key", None), items, lambda index: index, **batches,
    )  # fmt: skip


def _embedded(
    run: Callable[[Index], Any],
    key: str | None,
    items: list[bytes],
    ordered: Callable[[Index], Index],
    **batches: Unpack[Batches],
) -> Rows:
    """Rows for all items: from the cache, and what it lacks from the model, `ordered`."""
    size = as_count(batches.get("batch", BATCH), "batch")
    cache, progress = batches.get("cache", True), batches.get("progress")
    store = EmbeddingCache() if cache is True else (cache or None)
    if key is None:
        store = None
    rows: list[Any] = [None] * len(items)
    if store is not None and key is not None:
        rows = list(store.get(key, items))
    todo = np.array([i for i, row in enumerate(rows) if row is None], dtype=np.intp)
    done = len(items) - len(todo)
    todo = ordered(todo) if len(todo) else todo
    for start in range(0, len(todo), size):
        index = todo[start : start + size]
        made = np.asarray(run(index), dtype=np.float32)
        if made.ndim != 2 or len(made) != len(index):
            raise InputError(
                f"The model made an array of shape {made.shape} of {len(index)} items; "
                "it must make one row for each."
            )
        if store is not None and key is not None:
            store.put(key, [items[i] for i in index], made)
        for i, row in zip(index, made, strict=True):
            rows[i] = row
        done += len(index)
        if progress is not None:
            progress(done, len(items))
    if not rows:
        raise InputError("There is nothing to embed; pass at least one item.")
    if len({len(row) for row in rows}) > 1:
        if store is None:
            raise InputError("The model makes rows of different lengths.")
        batches["cache"] = False  # it is damaged
        return _embedded(run, key, items, ordered, **batches)
    return np.stack(rows)
