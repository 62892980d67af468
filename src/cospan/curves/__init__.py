"""Curved features: a fixed map of every row to more columns, before anything is summarised.

Means and covariances cannot see a ring inside a blob. Those of curved features can: every row x
becomes [x, √2 cos(Wx + b)], in standardised coordinates, and nothing after that changes. Summaries
of mapped rows merge, stream and run on Dask and on a GPU like any others. The distance of their
means is a kernel two-sample distance, and their angle a calibrated kernel discriminant whose
leave-one-out is exact.

`map` is the map and how it is chosen from what is known of the columns; `bits` draws its numbers,
the same on every machine and in every version; `paths` says what each column adds to an answer.
"""

from cospan.curves.map import CurveMap, curve_map
from cospan.curves.paths import integrated

__all__ = ["CurveMap", "curve_map", "integrated"]
