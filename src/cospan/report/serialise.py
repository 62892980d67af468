"""Report content → JSON, as a file of its own or inside a page."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol

__all__ = ["json_for_script", "json_text"]


class Content(Protocol):
    """What can be written: the content of a report of two sets, or of more."""

    def to_dict(self) -> dict[str, Any]: ...


# Characters with a meaning to an HTML parser or, in older engines, to a script's line counting.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def json_text(content: Content, *, indent: int | None = None) -> str:
    """The content as strict JSON: numbers that are not finite become null."""
    return json.dumps(
        _finite(content.to_dict()), ensure_ascii=False, indent=indent, allow_nan=False
    )


def json_for_script(value: Any) -> str:
    r"""JSON that may stand inside a ``<script type="application/json">`` element.

    >>> json_for_script({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
