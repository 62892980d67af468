"""What other measures say about the same two sets, and how well synthetic rows stand for real ones.

- `distances`: Fréchet, kernel (MMD), energy and sliced Wasserstein distances, columns, subspaces
- `panel`: these and classifier two-sample tests on the same bounded samples of rows
- `synthetic`: precision, recall, density, coverage, impossible rows, near-copies

Nothing here is ours but the arrangement: the formulas are the published ones, computed by SciPy,
scikit-learn and POT.
"""

from cospan.measures.distances import (
    covariance_cka,
    energy_distance,
    frechet_distance,
    largest_column_distance,
    mmd,
    principal_angles,
    sliced_wasserstein,
)
from cospan.measures.panel import Measure, Panel, measure_panel
from cospan.measures.synthetic import Fidelity, fidelity

__all__ = [
    "Fidelity",
    "Measure",
    "Panel",
    "covariance_cka",
    "energy_distance",
    "fidelity",
    "frechet_distance",
    "largest_column_distance",
    "measure_panel",
    "mmd",
    "principal_angles",
    "sliced_wasserstein",
]
