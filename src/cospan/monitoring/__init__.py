"""Data over time against a reference: a comparison for every window, with memory.

- `windows`: how long a window is, and rows that become windows in one pass
- `functions`: what is watched in a window, fixed by the reference alone
- `alarm`: standardised values, sums, thresholds, episodes
- `profile`: a reference with its own windows, in little room
- `result`: every window, judged by all before it
- `api`: all of it in one call
"""

from .api import monitor
from .profile import Profile
from .result import Episode, Monitoring, Window
from .windows import Every

__all__ = ["Episode", "Every", "Monitoring", "Profile", "Window", "monitor"]
