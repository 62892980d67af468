"""From angles and rows to a verdict on a pair: how far apart, how sure, and could it be chance.

:func:`separation` measures how far two groups of angles are apart, with intervals: an effect
size, which does not grow with the number of rows. :func:`shift_test` asks of two sets of rows
whether they come from one distribution, with an exact permutation p-value, which is never 0, and
whether location, scale or shape differ.

Where things are: `angles` holds :func:`separation` (and :func:`pair_separation`, which every
comparison calls), `bootstrap` its intervals, and `reliability`
:func:`fit_reliability`, the fit's part in them for leave-one-out angles; `shift` holds
:func:`shift_test`, which settles identical rows (`copies`), learns features from the pooled rows
(`views`, and `residuals` for relations between columns), permutes the labels, makes one p-value of
several views (`combining`) and one for each of location, scale and shape (`parts`), and measures
the AUC on held-out rows (`effect`).
"""

from cospan.significance.angles import MEASURES, RAW_BINS, Separation, pair_separation, separation
from cospan.significance.bootstrap import Estimate
from cospan.significance.reliability import fit_reliabilities, fit_reliability
from cospan.significance.shift import ShiftTest, shift_test

__all__ = [
    "MEASURES",
    "RAW_BINS",
    "Estimate",
    "Separation",
    "ShiftTest",
    "fit_reliabilities",
    "fit_reliability",
    "pair_separation",
    "separation",
    "shift_test",
]
