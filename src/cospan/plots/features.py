"""Figures of what changed: columns, their distributions, and what the difference consists of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import share_text
from cospan.errors import InputError
from cospan.evidence import Column, columns_of, having, plan_from

from ._style import BLUE, DARK, GREY, ORANGE, PART_COLOURS, axes, label, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cospan.comparison import Comparison
    from cospan.evidence import FeatureChange

BINS = 24
TAILS = 0.005  # beyond these quantiles values are counted in the first and the last bin
SHOWN_LEVELS = 6


def plot_features(comparison: Comparison, *, n: int = 10, ax: Axes | None = None) -> Axes:
    """The columns in the order of the table, with their part of the difference.

    Columns that changed are dark, with the kind of change beside them; others are grey.

    Parameters
    ----------
    comparison : Comparison
    n : int
        Columns drawn, changed ones first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare, plots
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> ax = plots.plot_features(compare(X[y == 0], X[y == 1]), n=3)
    >>> len(ax.get_yticklabels())
    3
    """
    rows = _table(comparison)[:n]
    ax = axes(ax, (6.4, 0.9 + 0.36 * len(rows)))
    share = np.nan_to_num([100 * row.share for row in rows])
    place = np.arange(len(rows))
    ax.barh(place, share, color=[DARK if row.changed else "#C9C9C9" for row in rows], height=0.62)
    for at, row, width in zip(place, rows, share, strict=True):
        word = row.change if row.changed else "no change"
        ax.annotate(
            f" {word}", (width, at), va="center", fontsize=9, color=DARK if row.changed else GREY
        )
    ax.set_yticks(place, [label(row.name, 28) for row in rows])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.25 * max(float(share.max(initial=0.0)), 1e-9))
    ax.set_xlabel("part of the difference in %; the surest change first")
    ax.tick_params(axis="y", length=0)
    return tidy(ax)


def plot_feature_distributions(
    comparison: Comparison,
    columns: Sequence[str] | None = None,
    *,
    n: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """Values of single columns in A and in B, one panel each: histograms, or bars of levels.

    Parameters
    ----------
    comparison : Comparison
    columns : sequence of str, optional
        Names of columns; by default the first `n` of the table, changed ones first.
    n : int
    ax : Axes, optional
        Where to draw: the panels divide it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare, plots
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = compare(X[y == 0], X[y == 1])
    >>> ax = plots.plot_feature_distributions(found, ["alcohol", "hue"])
    >>> [panel.get_title() for panel in ax.child_axes]
    ['alcohol', 'hue']
    """
    table = _table(comparison)
    rows = [_row(comparison, name) for name in columns] if columns is not None else table[:n]
    if not rows:
        raise InputError("There is no column to draw; name at least one.")
    wide = min(3, len(rows))
    high = -(-len(rows) // wide)
    ax = axes(ax, (2.9 * wide + 0.3, 2.0 * high + 0.5))
    ax.set_axis_off()
    plan = plan_from(comparison.frame.geometry.encoding)
    known = {column.name: column for column in columns_of(plan, comparison.feature_names)}
    for i, row in enumerate(rows):
        left, bottom = (i % wide) / wide, 1 - (i // wide + 1) / high
        panel = ax.inset_axes((left + 0.03, bottom + 0.2 / high, 0.92 / wide - 0.04, 0.6 / high))
        panel.set_title(label(row.name, 30), fontsize=10)
        if row.kind in ("category", "boolean"):
            _draw_levels(panel, row)
        else:
            _draw_values(panel, comparison, known[row.name])
        panel.set_yticks([])
        panel.spines[["top", "right", "left"]].set_visible(False)
    _legend(ax, comparison)
    return ax


def plot_parts(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """What the difference consists of: location, scale, shape, levels and missing values.

    Parameters
    ----------
    comparison : Comparison
        Of two sets in the affine span; the linear one has no parts.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare, plots
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> ax = plots.plot_parts(compare(X[y == 0], X[y == 1]))
    >>> ax.get_legend().get_texts()[0].get_text()[:8]
    'location'
    """
    _table(comparison)  # the linear span has no parts
    assert comparison.verdict is not None
    shares = sorted(comparison.verdict.shares.items(), key=lambda item: -item[1])
    ax = axes(ax, (6.4, 1.5))
    left = 0.0
    for name, share in shares:
        if share > 0:
            ax.barh(
                0, 100 * share, left=left, color=PART_COLOURS.get(name, GREY), height=0.6,
                label=f"{name} {share_text(share)}",
            )  # fmt: skip
            left += 100 * share
    if not left:
        ax.text(50, 0, "no evidence of a difference", ha="center", va="center", color=GREY)
    else:
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    ax.set(xlim=(0, 100), xlabel="% of the difference", yticks=[])
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _table(comparison: Comparison) -> tuple[FeatureChange, ...]:
    features = getattr(comparison, "features", None)
    if features is None:
        raise InputError(
            'This comparison has no table of columns: compare two sets with span="affine".'
        )
    return tuple(features.rows)


def _row(comparison: Comparison, name: str) -> FeatureChange:
    for row in _table(comparison):
        if row.name == name:
            return row
    known = ", ".join(repr(row.name) for row in _table(comparison)[:5])
    raise InputError(f"There is no column {name!r}; the columns are {known}, …")


def _draw_values(ax: Axes, comparison: Comparison, column: Column) -> None:
    values = [_values(group.rows, column) for group in (comparison.group_a, comparison.group_b)]
    both = np.concatenate(values)
    if not len(both):
        ax.text(0.5, 0.5, "no values", ha="center", transform=ax.transAxes, color=GREY)
        return
    low, high = np.quantile(both, [TAILS, 1 - TAILS])
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    for own, colour, hatch in zip(values, (BLUE, ORANGE), (None, "///"), strict=True):
        counts, _ = np.histogram(np.clip(own, edges[0], edges[-1]), bins=edges)
        shares = counts / max(1, len(own))
        ax.stairs(shares, edges, fill=True, facecolor=colour, alpha=0.35, hatch=hatch, linewidth=0)
        ax.stairs(shares, edges, color=colour, linewidth=1.3)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(axis="x", labelsize=8)
    if column.kind == "date":
        dates = [np.datetime64(int(day), "D") for day in ax.get_xticks()]
        ax.set_xticks(ax.get_xticks(), [str(date) for date in dates], fontsize=7)
        ax.set_xlim(edges[0], edges[-1])


def _values(rows: Any, column: Column) -> NDArray[np.float64]:
    """The values present, in the sample of rows that the comparison keeps."""
    if rows is None:
        return np.zeros(0)
    known = having(np.asarray(rows, dtype=np.float64), column)
    return np.asarray(known[:, list(column.features)].ravel())


def _draw_levels(ax: Axes, row: FeatureChange) -> None:
    if row.kind == "boolean":
        shares = [{"yes": held.mean, "no": 1 - held.mean} for held in (row.a, row.b)]
    else:
        shares = [dict(held.levels) for held in (row.a, row.b)]
    levels = sorted(shares[0] | shares[1], key=lambda x: -max(s.get(x, 0.0) for s in shares))
    levels = levels[:SHOWN_LEVELS]
    place = np.arange(len(levels))
    for own, colour, hatch, step in zip(
        shares, (BLUE, ORANGE), (None, "///"), (-0.2, 0.2), strict=True
    ):
        height = [own.get(level, 0.0) for level in levels]
        ax.bar(place + step, height, 0.4, color=colour, alpha=0.75, hatch=hatch, edgecolor="white")
    ax.set_xticks(place, [label(level, 8) for level in levels], fontsize=8)
    ax.tick_params(axis="x", length=0)


def _legend(ax: Axes, comparison: Comparison) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=BLUE, alpha=0.5, label=label(comparison.name_a)),
        Patch(facecolor=ORANGE, alpha=0.5, hatch="///", label=label(comparison.name_b)),
    ]
    ax.legend(
        handles=handles, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=2
    )
