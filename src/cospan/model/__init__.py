"""One model of K ≥ 2 sets: it scores samples; for two sets a joint frame shows what is behind.

`settings` lists what a fit takes; `prepared` brings K summaries into common units; `choice` settles
what was left to the data, by `leave_one_out` costs; `calibration` turns costs into probabilities
and angles. `set_model` is the model and `scoring` its scorer, with `typicality` for "neither", and
`curved` a model of rows mapped by `curves`. `frame` is the view of two sets, which scores rows into
an `alignment`; `directions` and `attribution` say what it is made of. `many` has K sets' frame.
"""

from cospan.model.alignment import Alignment, LeaveOneOut
from cospan.model.attribution import Attribution, attribute
from cospan.model.calibration import (
    Calibration,
    angles_of,
    calibrated_weights,
    fit_calibration,
    log_odds_of,
)
from cospan.model.choice import tried_rows
from cospan.model.curved import Again, CurvedSets, RowsAgain, mapped_summary
from cospan.model.curves import LandmarkMap, RowMap, ScoreMap, landmark_map, score_map
from cospan.model.directions import (
    Directions,
    Parts,
    Prototypes,
    extreme_directions,
    prototypes,
    shared_directions,
)
from cospan.model.frame import JointFrame
from cospan.model.many import ManyFrame
from cospan.model.prepared import Geometry, PreparedSets, WorkingSets, in_feature_units
from cospan.model.set_model import SetCosts
from cospan.model.settings import DEFAULTS, Given, Settings, settled
from cospan.model.typicality import SetRows, Typicality, UsualRows, below_rate

__all__ = [
    "DEFAULTS", "Again", "Alignment", "Attribution", "Calibration", "CurvedSets", "Directions",
    "Geometry", "Given", "JointFrame", "LandmarkMap", "LeaveOneOut", "ManyFrame", "Parts",
    "PreparedSets", "Prototypes", "RowMap", "RowsAgain", "ScoreMap", "SetCosts", "SetRows",
    "Settings", "Typicality", "UsualRows", "WorkingSets", "angles_of", "attribute",
    "below_rate", "calibrated_weights", "extreme_directions", "fit_calibration",
    "in_feature_units", "landmark_map", "log_odds_of", "mapped_summary", "prototypes",
    "score_map", "settled", "shared_directions", "tried_rows",
]  # fmt: skip
