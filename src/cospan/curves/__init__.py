"""Curved features: a fixed map of every row to more columns, before anything is summarised.

Means and covariances cannot see a ring inside a blob. Those of curved features can: every row x
becomes [x, f(x)], in standardised coordinates, and nothing after that changes. Summaries of mapped
rows merge, stream and run on Dask and on a GPU like any others. The distance of their means is a
kernel two-sample distance, and their angle a calibrated kernel discriminant whose leave-one-out is
exact.

`rows` is what maps have in common. `map` takes cosines of columns, `landmarks` serves where columns
are many; each chooses its map from what is known of the columns. `paths` says what
each column adds to an answer.
"""

from cospan.curves.landmarks import LandmarkMap, landmark_map
from cospan.curves.map import MOST_COLUMNS, CurveMap, curve_map
from cospan.curves.paths import integrated
from cospan.curves.rows import RowMap

__all__ = [
    "MOST_COLUMNS",
    "CurveMap",
    "LandmarkMap",
    "RowMap",
    "curve_map",
    "integrated",
    "landmark_map",
]
