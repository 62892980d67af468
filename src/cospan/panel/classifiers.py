"""Classifiers that try to tell the sets apart: two-sample tests and the proxy A-distance.

Half of the rows train, the other half is tested. The test rows played no part in the training,
so the rank test of their scores is valid whatever the classifier does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from cospan.base.types import Floats
from cospan.panel.distances import Tested


class HeldOut(NamedTuple):
    """What a classifier reaches on rows it has not seen."""

    auc: Tested  # the held-out AUC and its Mann-Whitney p-value
    error: float  # the held-out error, both sets counted equally

    @property
    def proxy_a_distance(self) -> float:
        """2 (1 - 2 error): 0 for guessing, 2 for a perfect classifier (Ben-David and others)."""
        return max(0.0, 2 * (1 - 2 * self.error))


def logistic() -> Any:
    """Logistic regression on standardised features, both sets counted equally."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )


def boosting() -> Any:
    """Gradient-boosted trees, both sets counted equally."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(class_weight="balanced", random_state=0)


def held_out(model: Any, A: Floats, B: Floats, *, random_state: int = 0) -> HeldOut:
    """Train on a random half of each set, test on the others.

    >>> rng = np.random.default_rng(0)
    >>> found = held_out(logistic(), rng.normal(size=(200, 3)), rng.normal(1, size=(200, 3)))
    >>> round(found.auc.value, 2), found.auc.p_value < 1e-6, round(found.proxy_a_distance, 1)
    (0.87, True, 1.1)
    """
    rng = np.random.default_rng(random_state)
    halves = [np.array_split(rows[rng.permutation(len(rows))], 2) for rows in (A, B)]
    train, test = (np.vstack([half[i] for half in halves]) for i in (0, 1))
    is_b = [np.repeat([0, 1], [len(half[i]) for half in halves]) for i in (0, 1)]
    model.fit(train, is_b[0])
    scores = model.predict_proba(test)[:, 1]
    in_a, in_b = scores[is_b[1] == 0], scores[is_b[1] == 1]
    ranks = scipy.stats.mannwhitneyu(in_b, in_a, alternative="greater", method="asymptotic")
    auc = float(ranks.statistic) / (len(in_a) * len(in_b))
    error = 0.5 * (float(np.mean(in_a > 0.5)) + float(np.mean(in_b <= 0.5)))
    # Scores that are all equal have no ranks to test.
    p_value = float(ranks.pvalue) if np.ptp(scores) else 1.0
    return HeldOut(Tested(auc, p_value), error)
