"""Labels as users write them, and their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError


def classes_in(labels: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted."""
    try:
        return np.unique(labels)
    except TypeError:
        raise InputError(
            "y mixes labels that have no order, such as text and None; use numbers only, or text "
            "only, and leave out rows without a label."
        ) from None


def class_numbers(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The place of every label among the sorted classes."""
    own = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    known = np.asarray(classes[own] == labels)
    if not known.all():
        raise InputError(f"y holds {shown(labels[~known][0])}, which is not among the classes.")
    return own


def shown(label: Any) -> str:
    """A label as its user wrote it, not as NumPy holds it."""
    return repr(label.item() if isinstance(label, np.generic) else label)
