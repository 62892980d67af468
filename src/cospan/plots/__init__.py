"""Figures of angles, directions and samples, drawn with matplotlib.

Each function takes what the library returns (a `Comparison`, an `Alignment`, a `JointFrame`, …)
and an optional `ax`, and returns the axes it drew on. A is blue and solid, B orange and hatched,
so that a figure reads the same for every eye and in black and white.
"""

from .angles import plot_angles, plot_ternary
from .strips import plot_directions, plot_samples

__all__ = ["plot_angles", "plot_directions", "plot_samples", "plot_ternary"]
