"""Models in files that are safe to pass on: save, load.

A model file is a safetensors file: named arrays, and a header with text. `container` writes, reads
and checks such files, `models` takes models apart by one table and puts them together again.
Reading a model file executes nothing and unpickles nothing, and it holds no rows of the data: what
a frame needs are positions and directions, and for "neither" what its own rows cost, one number for
each of up to 2,000 rows in the order of their size. (Of rows with a single column that number tells
the distance from the mean; pass on models of one column as you would its values.)
"""

from cospan.model_file.container import (
    PROFILE,
    PROFILE_VERSION,
    Parts,
    Reader,
    is_file_of,
    packed,
    profile_rows,
    read_parts,
    row_tensors,
    rows_in,
    unpacked,
    write_parts,
)
from cospan.model_file.models import MODEL, load, save

__all__ = [
    "MODEL", "PROFILE", "PROFILE_VERSION", "Parts", "Reader", "is_file_of", "load", "packed",
    "profile_rows", "read_parts", "row_tensors", "rows_in", "save", "unpacked", "write_parts",
]  # fmt: skip
