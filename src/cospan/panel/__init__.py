"""What other measures say about the same two sets, beside the angle.

- `distances`: Fréchet, kernel (MMD), energy and sliced Wasserstein distances, per-column tests;
  CKA and principal angles
- `classifiers`: classifier two-sample tests and the proxy A-distance
- `panel`: all of them on the same bounded samples, each with its meaning, time and p-value
- `synthetic`: real against synthetic rows: precision, recall, density, coverage, near-copies;
  `levels` finds rows whose levels do not go with the rest of them

Nothing here is ours but the arrangement: the formulas are the published ones, computed by SciPy,
scikit-learn and POT.
"""

from cospan.panel.distances import (
    covariance_cka,
    energy_distance,
    frechet_distance,
    largest_column_distance,
    linear_cka,
    mmd,
    principal_angles,
    sliced_wasserstein,
)
from cospan.panel.panel import Measure, Panel, measure_panel
from cospan.panel.synthetic import Fidelity, fidelity

__all__ = [
    "Fidelity",
    "Measure",
    "Panel",
    "covariance_cka",
    "energy_distance",
    "fidelity",
    "frechet_distance",
    "largest_column_distance",
    "linear_cka",
    "measure_panel",
    "mmd",
    "principal_angles",
    "sliced_wasserstein",
]
