"""The table of pairs: relations between two columns that changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cospan._tables import make_dataframe
from cospan._types import Floats

from .scatter import Scattered


@dataclass(frozen=True)
class PairChange:
    """One pair of columns: its rank correlation in A and in B.

    `first` and `second` are features (of a category: the level whose relation changed most
    surely); `first_column` and `second_column` the user's columns.
    """

    first: str
    second: str
    first_column: str
    second_column: str
    r_a: float
    r_b: float
    z: float
    p: float
    p_adjusted: float
    changed: bool


@dataclass(frozen=True)
class PairTable:
    """Pairs of columns by how surely their relation changed.

    `tried` is the number of pairs compared, `total` that of all pairs there are; `n_changed` that
    of changed ones, of which the surest are in `rows`.

    >>> from cospan import compare
    >>> A, B = np.random.default_rng(0).normal(size=(2, 200, 2))
    >>> B[:, 1] += B[:, 0]
    >>> pairs = compare(A, B, n_permutations=99).feature_pairs
    >>> pairs.n_changed, pairs[0].first, pairs[0].second, round(pairs[0].r_b, 1)
    (1, 'x0', 'x1', 0.7)
    """

    rows: tuple[PairChange, ...]
    tried: int
    total: int
    n_changed: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> PairChange:
        return self.rows[i]

    @property
    def changed(self) -> tuple[PairChange, ...]:
        return tuple(row for row in self.rows if row.changed)

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        return [asdict(row) for row in self.rows]

    def to_frame(self, backend: str | None = None) -> Any:
        """A dataframe of the library that is installed, or of the one named."""
        names = PairChange.__dataclass_fields__
        return make_dataframe({n: [getattr(r, n) for r in self.rows] for n in names}, backend)


class Relations(NamedTuple):
    """The pairs, and for each column the log p-value of its relations and its leading pair.

    `broken` are the columns that scatter more widely about what the others predict, in one set.

    A column gets the credit (`leads`) for its changed pairs if that explains more of them than
    crediting their other columns would; `log_p` is that of the first of these, adjusted over the
    pairs of the column, and 0 where there is none.
    """

    pairs: PairTable
    log_p: Floats
    leads: dict[int, PairChange]
    broken: Mapping[int, Scattered] = {}
