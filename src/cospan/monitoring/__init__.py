"""Data over time against a reference: profiles, windows, alarms.

Bottom up: ``timing`` says which window a row belongs to, ``reading`` gives rows with their times,
``windows`` makes a summary and a sample of each in one pass, by the workers where the rows are
Dask's (``moments`` takes summaries apart).
``ranks`` and ``channels`` are what is watched: means of bounded functions that the reference fixes
(``choosing``). ``records`` are windows as they are measured and kept, ``profile`` is a reference
with its own windows, ``levels`` the alarm levels that follow from them. ``judging``, ``reasons``
and ``episodes`` say what is unusual, and since when; ``result`` holds the whole, ``files`` keeps
it, ``api`` makes it.
"""

from cospan.monitoring.api import monitor
from cospan.monitoring.episodes import Episode
from cospan.monitoring.judging import WindowResult
from cospan.monitoring.levels import Levels
from cospan.monitoring.profile import Profile
from cospan.monitoring.reasons import Reason
from cospan.monitoring.result import Monitoring

__all__ = [
    "Episode",
    "Levels",
    "Monitoring",
    "Profile",
    "Reason",
    "WindowResult",
    "monitor",
]
