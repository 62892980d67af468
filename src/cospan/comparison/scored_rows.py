"""What became of the rows that were only scored: a sentence for the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan._text import plural
from cospan.changes.wording import quoted, set_name

if TYPE_CHECKING:
    from cospan.comparison.many import ManyComparison
    from cospan.comparison.pair import Comparison


def scored_beside(c: Comparison | ManyComparison) -> Iterator[str]:
    """The sentence, where there are rows to say it of."""
    z = c.further
    if z is not None:
        yield where_they_go(z.name, c.names, z.kept.nearest[:, 0], z.neither, z.total)


def where_they_go(
    name: str,
    names: Sequence[str],
    nearest: NDArray[np.intp],
    neither: NDArray[np.bool_],
    total: int,
) -> str:
    """How many of the scored rows look like which set, most of them first.

    `nearest` and `neither` are about the rows kept, all of the `total` or a random sample.

    >>> nearest, neither = np.array([0, 1, 1, 1]), np.array([False, False, False, True])
    >>> where_they_go("june", ("april", "may"), nearest, neither, 4)
    'Of the 4 rows of june, 2 look like may, 1 like april, 1 like neither.'
    >>> where_they_go("june", ("april", "may"), nearest[:1], neither[:1], 1)
    'The 1 row of june looks like april.'
    """
    counts = np.bincount(nearest[~neither], minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    parts = [(int(counts[k]), set_name(quoted(names[k]))) for k in order if counts[k]]
    if neither.any():
        parts.append((int(neither.sum()), ("neither" if len(names) == 2 else "no set")))
    rows, whole, called = plural(len(nearest), "row"), len(nearest) == total, set_name(quoted(name))
    if len(parts) == 1:
        which = rows if whole else f"sample of {rows}"
        text = "The {which} of {name} look like {set}."
        if len(nearest) == 1:
            text = "The {which} of {name} looks like {set}."
        return text.format(which=which, name=called, set=parts[0][1])
    (n, one), *others = parts
    first = ("{n:,} looks like {set}" if n == 1 else "{n:,} look like {set}").format(n=n, set=one)
    said = ", ".join([first, *(f"{n:,} like {x}" for n, x in others)])
    which = ("the {rows}" if whole else "a sample of {rows}").format(rows=rows)
    return f"Of {which} of {called}, {said}."
