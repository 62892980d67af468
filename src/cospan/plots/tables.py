"""Figures of tables: a study of settings, and a matrix of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.errors import InputError

from ._style import BLUE, GREY, ORANGE, axes, label, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERED = 16  # larger matrices have no room for numbers


def plot_pair_matrix(
    names: Sequence[str],
    matrix: Any,
    *,
    title: str = "",
    form: str = ".2f",
    cmap: Any = "cividis",
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A heat map of one number for each pair of sets.

    Parameters
    ----------
    names : sequence of str
        Names of the sets.
    matrix : array of shape (K, K)
        A number for each pair; NaN stays empty.
    title : str
        What the numbers are.
    form : str
        Format of the numbers.
    cmap : str or Colormap
        Colours; the default reads the same for every eye and in grey.
    limits : (float, float), optional
        Numbers at the two ends of the colours; by default the range of the matrix.

    Examples
    --------
    >>> from cospan.plots import plot_pair_matrix
    >>> ax = plot_pair_matrix(["x", "y"], [[0, 1.5], [1.5, 0]], title="Fisher-Rao")
    >>> [text.get_text() for text in ax.texts]
    ['0.00', '1.50', '1.50', '0.00']
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (len(names), len(names)):
        raise InputError(
            f"the matrix has shape {values.shape} and there are {len(names)} names; "
            "give one row and one column for each name."
        )
    side = 1.6 + 0.48 * len(names)
    ax = axes(ax, (side + 0.6, side))
    low, high = limits or (float(np.nanmin(values)), float(np.nanmax(values)))
    image = ax.imshow(values, cmap=cmap, vmin=low, vmax=high)
    if len(names) <= MOST_NUMBERED:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                light = value - low > 0.55 * (high - low)
                ax.text(
                    j, i, format(value, form), ha="center", va="center", fontsize=8,
                    color="black" if light else "white",
                )  # fmt: skip
    short = [label(name, 18) for name in names]
    steep = max(map(len, short), default=0) > 3
    ax.set_xticks(
        range(len(names)), short, rotation=45 if steep else 0, ha="right" if steep else "center"
    )
    ax.set_yticks(range(len(names)), short)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure = ax.get_figure()
    if figure is not None:
        figure.colorbar(image, ax=ax, fraction=0.046, label=title)
    return ax


def plot_sensitivity(study: Any, *, ax: Axes | None = None) -> Axes:
    """How far angles move when one setting is changed: mean, 95 % quantile, changes of side.

    Parameters
    ----------
    study : Sensitivity
        What :func:`cospan.sensitivity` returned.

    Examples
    --------
    >>> from cospan import sensitivity, plots
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(40, 3)), rng.normal(size=(50, 3)) * [1, 1, 4]
    >>> study = sensitivity(A, B, np.vstack([A, B]), over={"shrinkage": [0.1, 0.5]})
    >>> ax = plots.plot_sensitivity(study)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['shrinkage 0.1', 'shrinkage 0.5']
    """
    rows = list(study.rows)[1:]  # the first is the reference itself
    if not rows:
        raise InputError("this study changed no setting, so there is nothing to draw.")
    ax = axes(ax, (6.4, 1.1 + 0.27 * len(rows)))
    places, place = [], 0.0
    for before, row in zip([None, *rows], rows, strict=False):
        place += 1.0 if before is None or before.parameter == row.parameter else 1.6
        places.append(place)
    mean, most = [r.mean_degrees for r in rows], [r.q95_degrees for r in rows]
    ax.hlines(places, mean, most, color=GREY, linewidth=2, zorder=1)
    ax.plot(mean, places, "o", color=BLUE, label="mean")
    ax.plot(most, places, "^", color=ORANGE, label="95 % of the samples move less")
    for place, row in zip(places, rows, strict=True):
        ax.annotate(
            f"{row.flips:.1%}", (1.02, place), xycoords=("axes fraction", "data"), va="center",
            fontsize=8,
        )  # fmt: skip
    ax.annotate("change side", (1.02, 1.01), xycoords="axes fraction", fontsize=8, va="bottom")
    ax.set_yticks(places, [label(f"{row.parameter} {row.value}") for row in rows])
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("change of θ in degrees")
    ax.grid(axis="x", color="#E5E5E5")
    ax.set_axisbelow(True)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    return tidy(ax)
