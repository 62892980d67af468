"""A comparison of K sets as plain types, ready for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cospan.comparison.plain import LISTED_ROWS, plain

if TYPE_CHECKING:
    from cospan.multiway import ManyComparison

__all__ = ["many_dict"]


def many_dict(c: ManyComparison) -> dict[str, object]:
    """Everything in a comparison of K sets but the values of its rows."""
    return {
        "cospan": c.version,
        "sets": [_one_set(c, k) for k in range(len(c.names))],
        "scored": None if c.name_z is None else {"name": c.name_z, "rows": c.rows_z},
        "fisher_rao": {
            "value": plain(c.fisher_rao),
            "low": plain(c.fisher_rao_low),
            "high": plain(c.fisher_rao_high),
            "confidence": c.confidence,
        },
        "order": [c.names[k] for k in c.order],
        "linkage": plain(c.linkage),
        "confusion": plain(c.confusion),
        "accuracy": c.accuracy,
        "frame": {
            "rank": c.frame.rank,
            "common": len(c.frame.common),
            "partial": len(c.frame.partial),
            "isolated": {name: len(c.frame.isolated(k)) for k, name in enumerate(c.names)},
            "sigma": plain(c.frame.sigma),
            "strength": plain(c.frame.strength),
        },
        "shrinkage": c.shrinkage,
        "units": c.costs.geometry.units,
        "pooling": plain(c.costs.geometry.pooling),
        "dof": plain(c.costs.geometry.dof),
        "gain": plain(c.costs.geometry.calibration.gain),
        "misplaced": _misplaced(c),
        "image_shape": plain(c.image_shape),
        "settings": plain(c.settings),
        "warnings": list(c.warnings),
        "seconds": c.seconds,
    }


def _one_set(c: ManyComparison, k: int) -> dict[str, object]:
    mine = c.weights[c.group == k]
    return {
        "name": c.names[k],
        "rows": c.rows[k],
        "rows_scored": c.scored[k],
        "mean_weights": plain(mine.mean(axis=0)),
        "recall": float(c.confusion[k, k] / max(c.confusion[k].sum(), 1)),
    }


def _misplaced(c: ManyComparison) -> dict[str, object]:
    """Rows that another set explains better than their own, the clearest ones first."""
    flagged, suspicion = np.asarray(c.audit.flagged), np.asarray(c.audit.suspicion)
    order = np.argsort(-suspicion, kind="stable")
    order = order[flagged[order]][:LISTED_ROWS]
    return {
        "flagged": int(flagged.sum()),
        "rows": [
            {
                "id": plain(c.ids[i]),
                "set": str(c.audit.labels[i]),
                "nearest": str(c.audit.suggested[i]),
                "suspicion": float(suspicion[i]),
                "weights": plain(c.weights[i].round(6)),
            }
            for i in order
        ],
    }
