"""Figures of angles, directions and samples, drawn with matplotlib.

Each function takes what the library returns (a `Comparison`, an `Alignment`, a `JointFrame`, …)
and an optional `ax`, and returns the axes it drew on. A is blue and solid, B orange and hatched,
so that a figure reads the same for every eye and in black and white.

    features.py    plot_features, plot_feature_distributions, plot_parts
    angles.py      plot_angles, plot_posterior, plot_costs, plot_map
    directions.py  plot_spectrum, plot_directions
    samples.py     plot_samples, plot_attribution
    tables.py      plot_sensitivity, plot_pair_matrix
    many.py        plot_ternary, plot_dendrogram
"""

from .angles import plot_angles, plot_costs, plot_map, plot_posterior
from .directions import plot_directions, plot_spectrum
from .features import plot_feature_distributions, plot_features, plot_parts
from .many import plot_dendrogram, plot_ternary
from .samples import plot_attribution, plot_samples
from .tables import plot_pair_matrix, plot_sensitivity

__all__ = [
    "plot_angles",
    "plot_attribution",
    "plot_costs",
    "plot_dendrogram",
    "plot_directions",
    "plot_feature_distributions",
    "plot_features",
    "plot_map",
    "plot_pair_matrix",
    "plot_parts",
    "plot_posterior",
    "plot_samples",
    "plot_sensitivity",
    "plot_spectrum",
    "plot_ternary",
]
