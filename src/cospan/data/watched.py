"""What can be watched of texts that have no place in the geometry: how they are written.

Identifiers and free text become no features, but a text that was cut, padded, re-encoded or written
in capitals shows in its length and in how many characters of each sort it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .readings import MISSING_TEXTS, as_texts
from .values import family, storage, text_bytes

if TYPE_CHECKING:
    import pyarrow as pa

#: What is counted in a text; capitals are letters, too.
PARTS = ("length", "digits", "letters", "capitals", "blanks", "other characters")


def text_parts(array: pa.Array) -> NDArray[np.float64]:
    """How many characters of each sort every text has (n, len(PARTS)); NaN where it is missing.

    >>> import pyarrow as pa
    >>> text_parts(pa.array(["AB-12 x", None])).tolist()[0]
    [7.0, 2.0, 3.0, 2.0, 1.0, 1.0]
    """
    import pyarrow as pa

    array = storage(array)
    if family(array.type) in ("other", "vector", "nothing"):
        return np.full((len(array), len(PARTS)), np.nan)
    if not pa.types.is_dictionary(array.type):
        return _counted(as_texts(array))
    each = np.vstack([_counted(as_texts(array.dictionary)), np.full(len(PARTS), np.nan)])
    return np.asarray(each[array.indices.fill_null(len(each) - 1).to_numpy()])


def _counted(texts: pa.Array) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.invert(pc.is_in(texts, value_set=pa.array([None, *MISSING_TEXTS], texts.type)))
    strips = [_characters(*strip) for strip in text_bytes(texts.fill_null(""))]
    digits, others, capitals, blanks, further = np.concatenate(
        [np.empty((0, 5)), *strips], dtype=np.float64
    ).T
    letters = others + capitals
    found = np.column_stack(
        [digits + letters + blanks + further, digits, letters, capitals, blanks, further]
    )
    found[~np.asarray(known.to_numpy(zero_copy_only=False))] = np.nan
    return found


def _characters(content: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.intp]:
    """For each text its digits, small letters, capitals, blanks and other characters."""
    characters = np.frombuffer(str(content, "utf-8").encode("utf-32-le"), np.uint32)
    seen = np.bincount(characters)
    sorts = np.zeros(len(seen), dtype=np.intp)
    for code in np.flatnonzero(seen).tolist():
        sorts[code] = _sort(chr(code))
    rows = np.repeat(5 * np.arange(len(ends) - 1), np.diff(ends))
    begins = (content & 0xC0) != 0x80  # else the byte goes on with a character
    return np.bincount(rows[begins] + sorts[characters], minlength=5 * len(ends) - 5).reshape(-1, 5)


def _sort(character: str) -> int:
    tests = (str.isdigit, lambda c: c.isalpha() and not c.isupper(), str.isalpha, str.isspace)
    return next((k for k, test in enumerate(tests) if test(character)), 4)
