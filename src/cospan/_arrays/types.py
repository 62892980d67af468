"""What the numerical modules mean by an array, for readers and for the type checker."""

from __future__ import annotations

from typing import Any

# An array of any namespace. The standard has no static type for it yet.
Array = Any
Namespace = Any
