"""What can be watched of texts that have no place in the geometry: how they are written.

Identifiers and free text become no features, but a text that was cut, padded, re-encoded or written
in capitals shows in its length and in how many characters of each sort it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .readings import MISSING_TEXTS, as_texts
from .values import family, storage

if TYPE_CHECKING:
    import pyarrow as pa

#: What is counted in a text; capitals are letters, too.
PARTS = ("length", "digits", "letters", "capitals", "blanks", "other characters")
#: Characters that are counted at a time: each takes some 30 bytes meanwhile.
STRIP = 2**20


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
    texts = texts.fill_null("")
    longest = pc.max(pc.binary_length(texts)).as_py() or 1
    rows = max(1, STRIP // longest)
    strips = [_characters(texts.slice(start, rows)) for start in range(0, len(texts), rows)]
    digits, others, capitals, blanks, further = np.concatenate(
        [np.empty((0, 5)), *strips], dtype=np.float64
    ).T
    letters = others + capitals
    found = np.column_stack(
        [digits + letters + blanks + further, digits, letters, capitals, blanks, further]
    )
    found[~np.asarray(known.to_numpy(zero_copy_only=False))] = np.nan
    return found


def _characters(texts: pa.Array) -> NDArray[np.intp]:
    """For each text its digits, small letters, capitals, blanks and other characters."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = pc.cast(texts, pa.large_string())
    ends = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset : wide.offset + len(wide) + 1]
    if ends[0] == ends[-1]:
        return np.zeros((len(texts), 5), dtype=np.intp)
    content = memoryview(wide.buffers()[2])[ends[0] : ends[-1]]
    characters = np.frombuffer(str(content, "utf-8").encode("utf-32-le"), np.uint32)
    sorts = np.zeros(int(characters.max()) + 1, dtype=np.intp)
    for code in np.flatnonzero(np.bincount(characters)).tolist():
        sorts[code] = _sort(chr(code))
    lengths = pc.utf8_length(wide).to_numpy()
    places = np.repeat(5 * np.arange(len(texts)), lengths) + sorts[characters]
    return np.bincount(places, minlength=5 * len(texts)).reshape(-1, 5)


def _sort(character: str) -> int:
    tests = (str.isdigit, lambda c: c.isalpha() and not c.isupper(), str.isalpha, str.isspace)
    return next((k for k, test in enumerate(tests) if test(character)), 4)
