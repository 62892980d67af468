"""Model files on the disk: each appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from cospan._files import check_output, whole_file
from cospan.errors import ModelFileError
from cospan.model_file.container import file_bytes, from_bytes, to_bytes

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier
    from cospan.frame import JointFrame
    from cospan.sets import SetCosts

Model = TypeVar("Model", "JointFrame", "SetCosts", "AlignmentAngleClassifier")


def save(path: str | os.PathLike[str], model: Any) -> Path:
    """Write a frame, costs to several sets, or a fitted estimator to a file.

    The file appears whole or not at all: an older one of that name stays until then. Saving the
    same model twice gives the same bytes.

    Parameters
    ----------
    path : path
        ``.safetensors`` is the usual ending.
    model : JointFrame, SetCosts or AlignmentAngleClassifier
        U and V of a frame are left out, since they describe single rows, and so are the samples
        of rows that an estimator keeps for `partial_fit`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from cospan import JointFrame, load, save
    >>> X, y = load_digits(return_X_y=True)
    >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Path(folder) / "fours_nines.safetensors", frame)
    ...     again = load(path)
    >>> again
    JointFrame(181 rows against 180, 64 features, rank 58, shrinkage ...)
    >>> bool(abs(again.align(X).theta - frame.align(X).theta).max() < 1e-12)
    True
    """
    check_output(path)
    data = to_bytes(model)
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


@overload
def load(path: str | os.PathLike[str], kind: type[Model]) -> Model: ...
@overload
def load(path: str | os.PathLike[str], kind: None = None) -> Any: ...
def load(path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Read what :func:`save` wrote, also what that of cospan 0.1 wrote.

    Parameters
    ----------
    path : path
    kind : JointFrame, SetCosts or AlignmentAngleClassifier, optional
        What the file must hold: another model is refused, and type checkers know what comes back.

    Returns
    -------
    JointFrame, SetCosts or AlignmentAngleClassifier
        Scores as the saved one did, up to rounding. An estimator from a file can predict and
        transform; `partial_fit` needs the data's summaries and says so.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or truncated, comes from a newer version, or is
        something else.

    Examples
    --------
    >>> import tempfile
    >>> from cospan import JointFrame, load, save
    >>> frame = JointFrame.fit([[0.0], [1.0], [3.0]], [[5.0], [6.0], [8.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(f"{folder}/frame.safetensors", frame), JointFrame)
    >>> again.n_a, again.n_features
    (3.0, 1)
    """
    name = os.fspath(path)
    data = file_bytes(path)
    try:
        model = from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    if kind is not None and not isinstance(model, kind):
        raise ModelFileError(
            f"{name} holds {type(model).__name__} where {kind.__name__} is expected; "
            "load it without a kind, or pass another file."
        )
    return model
