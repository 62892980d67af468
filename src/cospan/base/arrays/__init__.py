"""Array namespaces and devices: the only module that knows of backends.

The numerical modules are written once. They ask this module for a namespace (`namespace`), and
for the few products and factorizations they need. Each of those is "the native call if there is
one, else the generic one": for NumPy arrays BLAS and LAPACK (`lapack`), for every other
namespace its ``linalg`` extension and, for tall matrices, Cholesky factors (`cholesky_qr`); a QR
keeps its orthogonal factor as an operator (`householder`).

To add a backend, see CONTRIBUTING; as a rule nothing is needed beyond array-api-compat.
"""

from cospan.base.arrays.factors import (
    cholesky,
    eigh,
    merged_triangles,
    orthonormal_columns,
    solve_triangular_transposed,
    svd,
    triangular_factor,
)
from cospan.base.arrays.householder import (
    Orthogonal,
    complement,
    explicit,
    over_triangle,
    qr,
    stacked_qr,
    times_triangle,
)
from cospan.base.arrays.namespaces import (
    adjoint,
    any_nonzero_columns,
    columns,
    copied,
    eps,
    identity,
    is_array,
    is_complex,
    is_lazy,
    is_numpy,
    like,
    namespace,
    on_accelerator,
    pick,
    real_zeros,
    squared_sizes,
    to_numpy,
    zeros,
)
from cospan.base.arrays.process import host_threads, in_threads, one_blas_thread, one_thread
from cospan.base.arrays.products import (
    add_gram,
    full_precision,
    gram,
    grand_total,
    matmul,
    mirrored,
    shifted_blocks,
    shifted_gram,
    stacked,
    sum_of_squares,
    summing_to,
)
from cospan.base.arrays.types import Array, Namespace

__all__ = [
    "Array",
    "Namespace",
    "Orthogonal",
    "add_gram",
    "adjoint",
    "any_nonzero_columns",
    "cholesky",
    "columns",
    "complement",
    "copied",
    "eigh",
    "eps",
    "explicit",
    "full_precision",
    "gram",
    "grand_total",
    "host_threads",
    "identity",
    "in_threads",
    "is_array",
    "is_complex",
    "is_lazy",
    "is_numpy",
    "like",
    "matmul",
    "merged_triangles",
    "mirrored",
    "namespace",
    "on_accelerator",
    "one_blas_thread",
    "one_thread",
    "orthonormal_columns",
    "over_triangle",
    "pick",
    "qr",
    "real_zeros",
    "shifted_blocks",
    "shifted_gram",
    "solve_triangular_transposed",
    "squared_sizes",
    "stacked",
    "stacked_qr",
    "sum_of_squares",
    "summing_to",
    "svd",
    "times_triangle",
    "to_numpy",
    "triangular_factor",
    "zeros",
]
