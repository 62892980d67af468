"""The errors and warnings a user can meet.

Every message is one sentence or two: what is wrong, where, and what to do about it.
All errors share the base :class:`CospanError`, so ``except cospan.errors.CospanError`` catches
what this library says on purpose and nothing else.
"""

__all__ = [
    "CospanError",
    "CospanWarning",
    "InputError",
    "MissingDependencyError",
    "ModelFileError",
    "SourceError",
]


class CospanError(Exception):
    """Base of every error that cospan raises on purpose."""


class InputError(CospanError, ValueError):
    """An argument does not make sense: wrong shape, not finite, unknown option."""


class SourceError(CospanError):
    """A file, folder or stream cannot be read as rows of numbers."""


class ModelFileError(CospanError):
    """A model file is damaged, truncated, from a newer version, or not a model file."""


class MissingDependencyError(CospanError, ImportError):
    """An optional package is needed for this and is not installed."""


class CospanWarning(UserWarning):
    """Category of every warning that cospan gives."""
