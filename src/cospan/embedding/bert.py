"""Encoders of the BERT family from a safetensors file: nothing is unpickled, nothing is trained.

Post-norm transformer: embeddings (word + position + type), then blocks of attention and a
two-layer perceptron, each added to its input and normalised. A text's row is the mean of its
tokens' last states, scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan.embedding.models import running
from cospan.embedding.onnx import Tokens
from cospan.errors import InputError


class BertTextModel:
    """A text model of the BERT family."""

    def __init__(
        self, weights: Path, config: dict[str, Any], tokenizer: Path, limit: int, key: str
    ) -> None:
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise InputError(
                f"{weights.parent}: its config.json describes a {config.get('model_type')!r} "
                "model; BERT with gelu is read from safetensors, others from model.onnx."
            )
        with needed("A text model", "cospan[embed]"):
            from safetensors.torch import load_file
        self.key = key
        self._path = weights
        self._tokens = Tokens(tokenizer, limit)
        try:
            self._weights = load_file(weights)
        except Exception as error:  # the library raises its own, without a common base
            raise InputError(f"{weights}: cannot be read as safetensors ({error}).") from error
        try:
            self._layers = int(config["num_hidden_layers"])
            self._heads = int(config["num_attention_heads"])
            self._eps = float(config.get("layer_norm_eps", 1e-12))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{weights.parent}: its config.json lacks the numbers of layers and heads."
            ) from error

    def lengths(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """How many tokens each text has: texts of one length make the best batch."""
        with running(self._path):
            return self._tokens.lengths(texts)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import torch

        with running(self._path), torch.inference_mode():
            ids, mask = self._tokens(texts)
            states = self._states(torch.from_numpy(ids), torch.from_numpy(mask) > 0)
            weight = torch.from_numpy(mask)[:, :, None].to(states.dtype)
            mean = (states * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1)
            rows: NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return rows

    def _states(self, ids: Any, mask: Any) -> Any:
        """(n, tokens, hidden): the last states of the tokens."""
        w = self._weights
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._normalised(x, "embeddings")
        for i in range(self._layers):
            layer = f"encoder.layer.{i}"
            x = self._normalised(x + self._attention(x, mask, layer), f"{layer}.attention.output")
            x = self._normalised(x + self._perceptron(x, layer), f"{layer}.output")
        return x

    def _attention(self, x: Any, mask: Any, layer: str) -> Any:
        from torch.nn.functional import scaled_dot_product_attention

        n, t, hidden = x.shape
        query, keys, values = (
            self._linear(x, f"{layer}.attention.self.{part}")
            .reshape(n, t, self._heads, hidden // self._heads)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = scaled_dot_product_attention(query, keys, values, attn_mask=mask[:, None, None, :])
        return self._linear(
            seen.transpose(1, 2).reshape(n, t, hidden), f"{layer}.attention.output.dense"
        )

    def _perceptron(self, x: Any, layer: str) -> Any:
        from torch.nn.functional import gelu

        return self._linear(
            gelu(self._linear(x, f"{layer}.intermediate.dense")), f"{layer}.output.dense"
        )

    def _linear(self, x: Any, name: str) -> Any:
        from torch.nn.functional import linear

        return linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normalised(self, x: Any, name: str) -> Any:
        from torch.nn.functional import layer_norm

        w = self._weights
        scale, shift = w[f"{name}.LayerNorm.weight"], w[f"{name}.LayerNorm.bias"]
        return layer_norm(x, (x.shape[-1],), scale, shift, self._eps)
