"""Arrow record batches to C-contiguous float rows, at about the speed of memory.

Arrow keeps columns, the linear algebra wants rows. Arrow's own tensor conversion does the
transposition; it is fastest when source and target of one step fit the processor's cache, so it
runs over strips of rows (784 float32 columns, one core: 5 GB/s in strips of 6 MB, 1.6 GB/s for
120 MB at once, 1.3 GB/s with NumPy column by column). A fixed-size list already lies in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

#: Whole numbers up to here are float64s.
EXACT = 2**53
STRIP_BYTES = 7 * 2**20


def is_numeric(type_: pa.DataType) -> bool:
    """Whether a column of this type gives one or several numbers a row."""
    from pyarrow import types

    leaf = _leaf(type_)
    return bool(
        types.is_integer(leaf)
        or types.is_floating(leaf)
        or types.is_boolean(leaf)
        or types.is_decimal(leaf)
    )


def is_list(type_: pa.DataType) -> bool:
    from pyarrow import types

    type_ = _storage(type_)
    return bool(
        types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)
    )


def common_float(column_types: Sequence[pa.DataType]) -> np.dtype[Any]:
    """float32 when every column is float32 or float16, else float64."""
    from pyarrow import types

    small = all(
        types.is_float32(leaf) or types.is_float16(leaf) for leaf in map(_leaf, column_types)
    )
    return np.dtype(np.float32 if small else np.float64)


def ends_of(column: pa.Array) -> tuple[int, ...]:
    """The least and the largest of whole numbers of 64 bits; nothing of other columns."""
    import pyarrow.compute as pc
    from pyarrow import types

    wide = types.is_int64(column.type) or types.is_uint64(column.type)
    if not wide or column.null_count == len(column):
        return ()
    return tuple(pc.min_max(column).as_py().values())


def is_huge(column: pa.Array) -> bool:
    """Whether whole numbers go beyond those that are float64s."""
    return max(map(abs, ends_of(column)), default=0) > EXACT


def has_gaps(batch: pa.RecordBatch) -> bool:
    """Whether a value of these number columns is null, NaN, infinite, or too large to be exact."""
    from pyarrow import types

    for column in batch.columns:
        column = _plain(column)
        if column.null_count:
            return True
        if is_huge(column):
            return True
        if types.is_floating(column.type) and len(column):
            values = column.to_numpy(zero_copy_only=False)
            # The sum of all is several times cheaper than a mask; it is finite if every one is.
            with np.errstate(over="ignore", invalid="ignore"):
                doubtful = not np.isfinite(values.sum())
            if doubtful and not np.isfinite(values).all():
                return True
    return False


def list_shape(array: pa.Array) -> tuple[int, ...] | None:
    """Lengths of the (nested) lists in a column, from its first filled row."""
    shape: list[int] = []
    array = _plain(array)
    while is_list(array.type):
        filled = array.drop_null()
        if len(filled) == 0 or not filled[0].values or not len(filled[0].values):
            return None
        array = _plain(filled[0].values)
        shape.append(len(array))
    return tuple(shape)


def to_rows(
    batch: pa.RecordBatch,
    shapes: Sequence[tuple[int, ...]],
    dtype: np.dtype[Any],
    *,
    where: tuple[str, int],
) -> NDArray[Any]:
    """All columns of `batch` side by side; missing values become NaN.

    `where` is the source's name and the number of the batch's first row, for messages.
    """
    if not any(shapes):
        return _scalar_rows(batch, dtype)
    parts = []
    start = 0
    for stop in range(1, len(shapes) + 1):
        # One run of plain columns, or one list column, at a time.
        if shapes[stop - 1]:
            column = batch.column(stop - 1)
            parts.append(
                _list_rows(column, shapes[stop - 1], dtype, batch.column_names[start], where)
            )
        elif stop < len(shapes) and not shapes[stop]:
            continue
        else:
            parts.append(_scalar_rows(batch.select(list(range(start, stop))), dtype))
        start = stop
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def to_values(array: pa.Array) -> NDArray[Any]:
    """A label or identifier column as NumPy values; with gaps, as objects with None."""
    from pyarrow import types

    array = _plain(array)
    if array.null_count:
        values = np.empty(len(array), dtype=object)
        values[:] = array.to_pylist()
        return values
    if types.is_integer(array.type) or types.is_floating(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if types.is_boolean(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)
    return np.array([str(value) for value in array.to_pylist()], dtype=np.str_)


def _scalar_rows(batch: pa.RecordBatch, dtype: np.dtype[Any]) -> NDArray[Any]:
    import pyarrow as pa

    if set(batch.schema.types) != {pa.from_numpy_dtype(dtype)}:
        columns = [_floats(column, dtype) for column in batch.columns]
        batch = pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])
    n, d = batch.num_rows, batch.num_columns
    if d == 1:
        return np.asarray(batch.column(0).to_numpy(zero_copy_only=False)).reshape(-1, 1)
    strip = max(64, STRIP_BYTES // (d * dtype.itemsize))
    if n <= strip:
        return _transposed(batch)
    rows = np.empty((n, d), dtype=dtype)
    for start in range(0, n, strip):
        rows[start : start + strip] = _transposed(batch.slice(start, strip))
    return rows


def _transposed(batch: pa.RecordBatch) -> NDArray[Any]:
    return np.asarray(batch.to_tensor(null_to_nan=True, row_major=True).to_numpy())


def select(batch: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
    """These columns in this order; most batches have them already, and asking is cheaper."""
    return batch if batch.schema.names == columns else batch.select(columns)


def _list_rows(
    array: pa.Array,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    column: str,
    where: tuple[str, int],
) -> NDArray[Any]:
    """A column of lists as an array (n, product of shape)."""
    array = _plain(array)
    width = int(np.prod(shape, dtype=int))
    present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    values = array.drop_null() if array.null_count else array
    for depth, length in enumerate(shape):
        _refuse_uneven(values, length, column, where, depth, present)
        values = _plain(values.flatten())
    numbers = np.asarray(_floats(values, dtype).to_numpy(zero_copy_only=False)).reshape(-1, width)
    if present.all():
        return numbers
    rows = np.full((len(array), width), np.nan, dtype=dtype)
    rows[present] = numbers
    return rows


def _refuse_uneven(
    values: pa.Array,
    length: int,
    column: str,
    where: tuple[str, int],
    depth: int,
    present: NDArray[np.bool_],
) -> None:
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(values), -1)
    odd = np.flatnonzero(lengths.to_numpy(zero_copy_only=False) != length)
    if len(odd):
        name, start = where
        inner = len(values) // max(1, int(present.sum())) if depth else 1
        row = start + int(np.flatnonzero(present)[odd[0] // max(1, inner)])
        found = lengths[int(odd[0])].as_py()
        raise InputError(
            f"{name}: column {column!r} has a list of {max(found, 0)} numbers in row {row}, where "
            f"the first row has {length}; all lists of a column must be equally long."
        )


def _floats(array: pa.Array, dtype: np.dtype[Any]) -> pa.Array:
    """A plain column of the wanted float type; unsafe casts only round, as float64 must."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _plain(array)
    target = pa.from_numpy_dtype(dtype)
    if array.type == target:
        return array
    return pc.cast(array, target, safe=False)


def _storage(type_: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _leaf(type_: pa.DataType) -> pa.DataType:
    type_ = _storage(type_)
    while is_list(type_):
        type_ = _storage(type_.value_type)
    return type_


def storage(array: pa.Array) -> pa.Array:
    """Without chunks and extension wrappers."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def _plain(array: pa.Array) -> pa.Array:
    """Without dictionary wrappers as well."""
    from pyarrow import types

    array = storage(array)
    return array.dictionary_decode() if types.is_dictionary(array.type) else array
