"""How likely a window's deviations are by the sampling of its rows alone."""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy import stats

from cospan._types import Floats
from cospan.changes.twosample import log_fisher
from cospan.monitoring.profile import Profile
from cospan.monitoring.records import Record


def p_value(record: Record, values: Floats, noise: Floats, profile: Profile) -> float:
    """The smallest p-value of the channels of columns and relations, times their number.

    Shares by Fisher's exact test of the counts; all others are means of bounded functions, close
    to normal. What is beyond the range, and what repeats, is left out: both are larger in few rows
    than in many. So are numbers given the others and whole rows, whose geometry was fitted to the
    profile's rows and so fits others less well; and the share of levels without a feature of their
    own, since those with one were chosen for being frequent in the profile's rows.
    """
    channels, n = profile.channels, profile.summary.n
    error = np.sqrt(noise[:-1] + channels.variance / min(n, profile.ranked_rows))
    z = (values[:-1] - profile.center[:-1]) / error
    log_p = math.log(2) + stats.norm.logsf(np.abs(z))
    here = np.round(channels.share_values(record.means) * record.rows)
    there = np.round(channels.share_values(np.asarray(profile.summary.mean)) * n)
    start = channels.ranked
    log_p[start : start + channels.shared] = log_fisher(here, record.rows, there, n)
    columns = () if profile.plan is None else profile.plan.used
    chosen = [column.features[-1] for column in columns if column.other]
    log_p[start + np.flatnonzero(np.isin(np.array(channels.names)[channels.shares], chosen))] = 0.0
    log_p = log_p[: channels.odd.start]
    smallest = float(log_p.min()) + math.log(len(log_p))
    return math.exp(min(0.0, max(smallest, math.log(sys.float_info.min))))
