"""The sets of a comparison as the classes of an estimator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.comparison.fitting import arranged
from cospan.errors import InputError
from cospan.sets import Geometry

if TYPE_CHECKING:
    from cospan.comparison.many import ManyComparison
    from cospan.estimator import AlignmentAngleClassifier


def as_classifier(c: ManyComparison) -> AlignmentAngleClassifier:
    """A fitted estimator whose classes are the names of the sets."""
    from cospan.estimator import AlignmentAngleClassifier, FittedClasses

    if len(c.names) == 2:
        raise InputError("Two sets have a joint frame; take compare(A, B).frame.")
    order = sorted(range(len(c.names)), key=c.names.__getitem__)
    costs = arranged(c.costs, order)
    g = costs.geometry
    linear = {} if g.affine else {"center": _center(g), "balance": g.balance}
    affine = {"units": g.units, "pooling": g.pooling, "dof": g.dof} if g.affine else {}
    return AlignmentAngleClassifier.from_fitted(
        FittedClasses(costs, costs.weighting, math.pi / 4),
        np.array([c.names[k] for k in order]),
        costs.n_features,
        costs.feature_names,
        span=g.span,
        shrinkage=g.shrinkage,
        weighting=costs.weighting,
        tol=g.tol,
        **linear,
        **affine,
    )


def _center(geometry: Geometry) -> Any:
    return geometry.center if geometry.center_mode == "given" else geometry.center_mode
