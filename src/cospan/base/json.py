"""Results as plain types, and as JSON, which has no NaN and no infinity: both become None."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import PurePath
from typing import Any

import numpy as np

from cospan.base.text import json_harmless

__all__ = ["json_text", "plain"]


def plain(value: Any) -> Any:
    """Any result as types that JSON knows.

    >>> plain({"theta": np.array([1.5, np.nan]), "n": np.int64(3), "name": ("a", None)})
    {'theta': [1.5, None], 'n': 3, 'name': ['a', None]}
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, PurePath):
        return str(value)
    return str(value)


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Any result as strict JSON; without an indent in one line, as short as it can be.

    >>> json_text({"θ": [0.5, float("inf")]}, indent=None)
    '{"θ":[0.5,null]}'
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(
        plain(value), ensure_ascii=False, indent=indent, separators=separators, allow_nan=False
    )
    return json_harmless(text)
