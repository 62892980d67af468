"""The joint frame of two sets: fitted, looked at, and scoring samples.

`joint` holds the class, on top of `properties` (what a frame is made of) and `aligning` (the angles
of samples and of training rows left out). `fitting` decomposes two summaries, `scoring` turns rows
into costs in one matrix product and one pass, `truncation` keeps some of the directions,
`directions` looks at single ones, `differences` says what the sets differ in, and `extremes` finds
the most A-like and most B-like points there are. `lazy` scores Dask collections where they are.
`many` is the frame of K sets, decomposed by `higher_order`.
"""

from cospan.frame.aligning import LeaveOneOut
from cospan.frame.directions import Directions, extreme_directions, shared_directions
from cospan.frame.extremes import Prototypes, prototypes
from cospan.frame.joint import JointFrame
from cospan.frame.many import ManyFrame

__all__ = [
    "Directions",
    "JointFrame",
    "LeaveOneOut",
    "ManyFrame",
    "Prototypes",
    "extreme_directions",
    "prototypes",
    "shared_directions",
]
