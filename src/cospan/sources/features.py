"""Two sources can be compared only when they describe samples by the same features."""

from __future__ import annotations

from cospan._surface import option
from cospan.errors import InputError

from .base import listing
from .source import Source

__all__ = ["check_same_features"]


def check_same_features(a: Source, b: Source) -> Source:
    """Make sure that two sources have the same features; give `b` in the order of `a`.

    Where one of them has no names, or neither, the number of features and the image shape decide.

    Returns
    -------
    Source
        `b` itself, or `b` with its columns in the order of `a` when both name the same features
        in another order.

    Raises
    ------
    InputError
        When the features differ; the message lists those only in `a` and only in `b`.

    Examples
    --------
    >>> import pandas as pd
    >>> from cospan.sources import open_source
    >>> a = open_source(pd.DataFrame({"x": [1.0], "y": [2.0]}))
    >>> b = open_source(pd.DataFrame({"y": [4.0], "x": [3.0]}))
    >>> check_same_features(a, b).read().rows
    array([[3., 4.]])
    """
    if a.feature_names is not None and b.feature_names is not None:
        return _by_name(a, b)
    if a.n_features != b.n_features:
        raise InputError(
            f"{a.name} has {a.n_features:,} features{_shape(a)} and {b.name} has "
            f"{b.n_features:,}{_shape(b)}; both must describe their rows by the same features."
        )
    if a.image_shape and b.image_shape and a.image_shape != b.image_shape:
        raise InputError(
            f"The images of {a.name} are {_by(a.image_shape)} and those of {b.name} are "
            f"{_by(b.image_shape)}; bring them to one shape first."
        )
    return b


def _by_name(a: Source, b: Source) -> Source:
    names_a, names_b = a.feature_names or (), b.feature_names or ()
    if names_a == names_b:
        return b
    in_a, in_b = set(names_a), set(names_b)
    only_a = [name for name in names_a if name not in in_b]
    only_b = [name for name in names_b if name not in in_a]
    if not only_a and not only_b:
        return b.reordered(names_a)
    parts = [
        f"only {source.name} has {listing(names)}"
        for source, names in ((a, only_a), (b, only_b))
        if names
    ]
    raise InputError(
        f"{a.name} and {b.name} have different features: {'; '.join(parts)}. "
        f"Name the common ones with {option('columns')}."
    )


def _shape(source: Source) -> str:
    return f" ({_by(source.image_shape)})" if source.image_shape else ""


def _by(shape: tuple[int, ...]) -> str:
    return "×".join(str(length) for length in shape)
