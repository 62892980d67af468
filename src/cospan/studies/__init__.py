"""How much the angles depend on the choices behind them.

The paper recommends to report how θ reacts to preprocessing, rank, regularisation and noise, and
leaves the study to future work. :func:`sensitivity` makes it for any pair of sets: one choice at
a time is changed, everything else stays as in the reference, and the angles of the same samples
are compared. `study` says what is changed and runs it, `result` holds and prints it.
"""

from cospan.studies.result import Sensitivity, SettingChange
from cospan.studies.study import STUDY, sensitivity

__all__ = ["STUDY", "Sensitivity", "SettingChange", "sensitivity"]
