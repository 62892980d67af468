"""A comparison as plain types, ready for JSON: numbers, texts, lists and dictionaries.

JSON has no NaN and no infinity, so both become None; arrays become lists. `schema.json` in this
folder says what there is; :data:`SCHEMA` counts its versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan.base.tables import json_text, plain
from cospan.comparison.auditing import worst_rows
from cospan.comparison.scoring import Size

if TYPE_CHECKING:
    from cospan.audit import LabelAudit
    from cospan.comparison.many import ManyComparison
    from cospan.comparison.pair import Comparison
    from cospan.comparison.scoring import ScoredGroup
    from cospan.model import Geometry
    from cospan.panel import Panel

SCHEMA = 1  # raised whenever something that was there is gone or means something else
COARSE_BINS = 90  # one degree each
LISTED_ROWS = 100


def pair_dict(c: Comparison) -> dict[str, object]:
    """Everything in a comparison of two sets but the values of its rows."""
    r, k, t = c.frame.blocks
    groups = [_group(group) for group in c.groups]
    return {
        **_common(c, "pair", groups),
        "a": groups[0],
        "b": groups[1],
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
            **_geometry(c),
            "zero": plain(float(c.frame.zero)),
            "parts": _parts(c),
            "angles_degrees": plain(np.degrees(np.asarray(c.frame.angles))),
        },
        "changes": plain(c.changes.to_dict()),
        "separation": plain(c.separation.to_dict()),
        "audit": _pair_audit(c),
    }


def many_dict(c: ManyComparison) -> dict[str, object]:
    """Everything in a comparison of K sets but the values of its rows."""
    return {
        **_common(c, "sets", [_one_of_many(c, k) for k in range(len(c.sizes))]),
        **{measure: plain(c.pairs.matrix(measure)) for measure in ("auc", "fisher_rao")},
        "pairs": plain(c.pair_changes.to_dict()),
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
        **_geometry(c),
        "misplaced": _listed(
            c.audit,
            lambda i: {
                "id": plain(c.ids[i]),
                "set": str(c.audit.labels[i]),
                "nearest": str(c.audit.suggested[i]),
                "weights": plain(c.weights[i].round(6)),
            },
        ),
    }


def json_of(c: Comparison | ManyComparison, panel: Panel | None = None) -> str:
    """A comparison as JSON, with what other measures say where they were asked."""
    more = {} if panel is None else {"panel": panel.to_dict()}
    return json_text({**c.to_dict(), **more})


def _common(
    c: Comparison | ManyComparison, kind: str, groups: list[dict[str, object]]
) -> dict[str, object]:
    n = len(c.names)
    return {
        "schema": SCHEMA,
        "cospan": c.version,
        "kind": kind,
        "sets": groups[:n],
        "scored": groups[n] if len(groups) > n else None,
        "neither": _neither(c),
        "image_shape": plain(c.image_shape),
        "schema_changes": [change.to_dict() for change in c.schema_changes],
        "settings": plain(c.settings),
        "warnings": [note.to_dict() for note in c.warnings],
        "seconds": c.seconds,
    }


def _geometry(c: Comparison | ManyComparison) -> dict[str, object]:
    g, curve = c.fitted.geometry, c.fitted.curve
    used = None
    if curve is not None:  # the curved features that rows are scored with, what was chosen for them
        used = {"words": curve.map.words, "features": curve.map.n_features}
        used |= _chosen(curve.costs.geometry)
    gain = plain(float(g.calibration.gain))
    return {"span": g.span, **_chosen(g), "gain": gain, "curve": used}


def _chosen(g: Geometry) -> dict[str, object]:
    chosen = {name: float(getattr(g, name)) for name in ("shrinkage", "pooling", "dof")}
    return {"units": g.units, **chosen}


def _parts(c: Comparison) -> dict[str, object] | None:
    if not c.frame.geometry.affine:
        return None
    parts = c.frame.parts
    more = {"spread_ratio": parts.spread_ratio, "total": parts.total}
    return {name: plain(value) for name, value in (parts._asdict() | more).items()}


def _group(group: ScoredGroup) -> dict[str, object]:
    theta = np.asarray(group.alignment.degrees)
    quantiles = np.quantile(theta, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        **_counts(Size(group.name, group.total, group.n), group.out_of_fold, group.neither),
        "theta_degrees": {
            "mean": float(theta.mean()),
            **{f"q{q}": float(v) for q, v in zip((5, 25, 50, 75, 95), quantiles, strict=True)},
        },
        "counts_per_degree": plain(group.counts.reshape(COARSE_BINS, -1).sum(axis=1)),
        "relational_share": float(np.mean(np.asarray(group.alignment.relational))),
    }


def _one_of_many(c: ManyComparison, k: int) -> dict[str, object]:
    mine, own = c.group == k, k < len(c.names)
    return {
        **_counts(c.sizes[k], own, c.neither[mine]),
        "mean_weights": plain(c.weights[mine].mean(axis=0)),
        "recall": float(c.confusion[k, k] / max(c.confusion[k].sum(), 1)) if own else None,
    }


def _counts(size: Size, leave_one_out: bool, neither: NDArray[np.bool_]) -> dict[str, object]:
    """How many rows a group has, and how they were scored."""
    return {
        "name": size.name,
        "rows": size.rows,
        "rows_scored": size.scored,
        "sampled": size.sampled,
        "leave_one_out": leave_one_out,
        "like_neither": int(neither.sum()),
    }


def _pair_audit(c: Comparison) -> dict[str, object] | None:
    """How many rows are in conflict, and those where it is worst."""
    audit = c.audit
    if audit is None:
        return None
    ids, degrees = c.audit_ids, c.audit_degrees
    return {
        "of": c.audit_of,
        **_listed(
            audit,
            lambda i: {
                "id": plain(ids[i]),
                "label": plain(audit.labels[i]),
                "suggested": plain(audit.suggested[i]),
                "theta_degrees": float(degrees[i]),
            },
        ),
    }


def _listed(audit: LabelAudit, row: Callable[[int], dict[str, object]]) -> dict[str, object]:
    """The flagged rows of an audit, the clearest ones first."""
    suspicion = np.asarray(audit.suspicion)
    return {
        "flagged": int(np.sum(np.asarray(audit.flagged))),
        "rows": [
            {**row(i), "suspicion": float(suspicion[i])}
            for i in worst_rows(audit, LISTED_ROWS).tolist()
        ],
    }


def _neither(c: Comparison | ManyComparison) -> dict[str, object]:
    """The rows that are like no set, the least usual ones first."""
    found = c.rows_like_neither
    rows = zip(found.sets, found.ids, found.typicality, strict=True)
    return {
        "count": len(found.ids),
        "rows": [
            {"id": plain(name), "set": str(group), "typicality": plain(usual)}
            for group, name, usual in list(rows)[:LISTED_ROWS]
        ],
    }
