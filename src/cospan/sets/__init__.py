"""K prepared sets: where each one lies, how it spreads, and what it costs to explain a sample.

`geometry` holds what is settled about the sets, `units` says how far their features spread,
`prepared` brings their summaries into common units, `settings` lists what a fit takes,
`choice` settles what was left to the data, `maps` makes the matrices that samples are multiplied
with, `leaving` takes single rows out again exactly, `calibration` turns costs into
probabilities, and `costs` scores samples against any number of sets. `curving` decides whether
mapped rows serve better than the rows themselves, and `curved` is what samples cost then. `model`
is the protocol that everything above is written against: two sets with a joint frame meet it, and
so do K sets without one.
"""

from cospan.sets.calibration import Calibration, fit_calibration, log_odds_of
from cospan.sets.choice import Asked, Choice, choose
from cospan.sets.costs import SetCosts
from cospan.sets.geometry import Geometry, common_names
from cospan.sets.leaving import LeavingRows
from cospan.sets.model import SetModel, angles_of, calibrated, calibrated_weights
from cospan.sets.prepared import PreparedSets, WorkingSets
from cospan.sets.settings import Settings

__all__ = [
    "Asked",
    "Calibration",
    "Choice",
    "Geometry",
    "LeavingRows",
    "PreparedSets",
    "SetCosts",
    "SetModel",
    "Settings",
    "WorkingSets",
    "angles_of",
    "calibrated",
    "calibrated_weights",
    "choose",
    "common_names",
    "fit_calibration",
    "log_odds_of",
]
