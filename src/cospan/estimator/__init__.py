"""The method in scikit-learn's grammar: fit, predict, transform.

`classifier` is the estimator itself; `fitted` holds what it keeps of labelled sets and reads its
answers from: a joint frame for two classes, costs to each for more.
"""

from cospan.estimator.classifier import AlignmentAngleClassifier
from cospan.estimator.fitted import FittedClasses

__all__ = ["AlignmentAngleClassifier", "FittedClasses"]
