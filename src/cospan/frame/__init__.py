"""The joint frame of two sets: fitted, looked at, and scoring samples.

`joint` holds the class, `fitting` makes it from two summaries, `scoring` turns rows into costs in
one matrix product and one pass, `truncation` keeps some of its directions, `differences` says
what the sets differ in, and `prototypes` finds the most A-like and most B-like points there are.
`many` is the frame of K sets, decomposed by `higher_order` and `joint_diagonal`.
"""

from cospan.frame.joint import JointFrame, LeaveOneOut
from cospan.frame.many import ManyFrame
from cospan.frame.prototypes import Prototypes, prototypes

__all__ = ["JointFrame", "LeaveOneOut", "ManyFrame", "Prototypes", "prototypes"]
