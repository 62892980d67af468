"""Small pairs."""

from typing import Any


def decompose(A: Any, B: Any, tolerances: Any, wanted: Any) -> Any:
    return None
