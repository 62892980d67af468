"""A comparison as plain types, ready for JSON: numbers, texts, lists and dictionaries.

JSON has no NaN and no infinity, so both become None; arrays become lists.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cospan.comparison import Comparison
    from cospan.comparison.scoring import ScoredGroup

__all__ = ["comparison_dict", "plain"]

COARSE_BINS = 90  # one degree each
LISTED_ROWS = 100


def plain(value: Any) -> Any:
    """Any result as types that JSON knows.

    Examples
    --------
    >>> plain({"theta": np.array([1.5, np.nan]), "n": np.int64(3), "name": ("a", None)})
    {'theta': [1.5, None], 'n': 3, 'name': ['a', None]}
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, PurePath):
        return str(value)
    return str(value)


def comparison_dict(c: Comparison) -> dict[str, object]:
    """Everything in a comparison but the values of its rows."""
    r, k, t = c.frame.blocks
    return {
        "cospan": c.version,
        "a": _group(c.group_a),
        "b": _group(c.group_b),
        "scored": None if c.group_z is None else _group(c.group_z),
        "features": {
            "names": list(c.feature_names),
            "effect_a": plain(c.effect_a),
            "effect_b": plain(c.effect_b),
            "top": {
                side: [c.feature_names[j] for j in index]
                for side, index in c.top_features()._asdict().items()
            },
        },
        "frame": {
            "rank": int(c.frame.rank),
            "blocks": {"a_only": int(r), "shared": int(k), "b_only": int(t)},
            "span": c.frame.span,
            "units": c.frame.units,
            "shrinkage": float(c.frame.shrinkage),
            "pooling": float(c.frame.pooling),
            "dof": float(c.frame.dof),
            "gain": plain(float(c.frame.gain)),
            "zero": plain(float(c.frame.zero)),
            "parts": _parts(c),
            "angles_degrees": plain(np.degrees(np.asarray(c.frame.angles))),
        },
        "changes": None if c.changes is None else plain(c.changes.to_dict()),
        "separation": plain(c.separation),
        "shift_test": _shift(c),
        "audit": _audit(c),
        "image_shape": plain(c.image_shape),
        "settings": plain(c.settings),
        "warnings": list(c.warnings),
        "seconds": c.seconds,
    }


def _parts(c: Comparison) -> dict[str, object] | None:
    if not c.frame.geometry.affine:
        return None
    parts = c.frame.parts
    return {**plain(parts._asdict()), "total": plain(parts.total)}


def _group(group: ScoredGroup) -> dict[str, object]:
    theta = np.asarray(group.alignment.degrees)
    quantiles = np.quantile(theta, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        "name": group.name,
        "rows": group.total,
        "rows_scored": group.n,
        "sampled": group.sampled,
        "leave_one_out": group.leave_one_out,
        "theta_degrees": {
            "mean": float(theta.mean()),
            **{f"q{q}": float(v) for q, v in zip((5, 25, 50, 75, 95), quantiles, strict=True)},
        },
        "counts_per_degree": plain(group.counts.reshape(COARSE_BINS, -1).sum(axis=1)),
        "relational_share": float(np.mean(np.asarray(group.alignment.relational))),
    }


def _shift(c: Comparison) -> dict[str, object] | None:
    if c.shift is None:
        return None
    return {
        "statistic": plain(float(c.shift.statistic)),
        "pvalue": float(c.shift.pvalue),
        "n_permutations": int(c.shift.n_permutations),
    }


def _audit(c: Comparison) -> dict[str, object] | None:
    """How many labels are in conflict, and the rows where it is worst."""
    if c.audit is None:
        return None
    flagged = np.asarray(c.audit.flagged)
    suspicion = np.asarray(c.audit.suspicion)
    order = np.argsort(-suspicion, kind="stable")
    order = order[flagged[order]][:LISTED_ROWS]
    ids, degrees = c.audit_ids, c.audit_degrees
    return {
        "of": c.audit_of,
        "flagged": int(flagged.sum()),
        "rows": [
            {
                "id": plain(ids[i]),
                "label": plain(c.audit.labels[i]),
                "suggested": plain(c.audit.suggested[i]),
                "suspicion": plain(float(suspicion[i])),
                "theta_degrees": float(degrees[i]),
            }
            for i in order
        ],
    }
