"""What other measures say about the same two sets, and how well synthetic rows stand for real ones.

Nothing here is ours but the arrangement: the formulas are the published ones, computed by SciPy,
scikit-learn and POT. `panel` reads two sets and has the measures, `synthetic` the precision,
recall, density and coverage of synthetic rows, impossible ones and near-copies.
"""

from cospan.measures.panel import Panel, measure_panel
from cospan.measures.synthetic import Fidelity, fidelity

__all__ = ["Fidelity", "Panel", "fidelity", "measure_panel"]
