"""Commands about saved frames and about files: load, directions, info."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._json import json_text
from cospan._text import printable
from cospan.cli.terminal import Terminal
from cospan.comparison.scorer import Scorer
from cospan.comparison.text import NAME_WIDTH
from cospan.errors import InputError, ModelFileError
from cospan.model import CurvedSets, Geometry, JointFrame, SetCosts
from cospan.sources import open_source

LISTED_NAMES = 20


def load_scorer(path: Path, weighting: str = "cost") -> tuple[Scorer, tuple[str, ...]]:
    """Whatever a model file holds that can score rows, and the names of more than two sets."""
    found = _loaded(path)
    costs = getattr(found, "costs_", None)
    if isinstance(costs, SetCosts):
        return Scorer(costs, costs.weighting), tuple(map(str, found.classes_))
    return Scorer(_frame_of(found, path), weighting), ()


def _loaded(path: Path) -> Any:
    from cospan.model_file import load

    if not path.exists():
        raise InputError(f"{path} does not exist; save a frame with cospan compare A B --save.")
    return load(path)


def _frame_of(found: Any, path: Path) -> JointFrame:
    """The frame in a model file, also where an estimator was saved."""
    frame = getattr(found, "frame_", found)
    if not isinstance(frame, JointFrame):
        raise ModelFileError(
            f"{path} holds a {type(found).__name__} without a joint frame of two sets; "
            "save one with cospan compare A B --save."
        )
    return frame


def directions(terminal: Terminal, model: Path, n: int, n_features: int, as_json: bool) -> None:
    """Directions at both ends and in the middle of the spectrum, with their features."""
    frame = _frame_of(_loaded(model), model)
    names = _feature_names(frame)
    angles = np.degrees(np.asarray(frame.angles))
    middle = np.sort(np.argsort(np.abs(angles - 45), kind="stable")[:n])
    parts = {
        "most A-like": np.arange(min(n, frame.rank)),
        "most shared": middle,
        "most B-like": np.arange(frame.rank)[::-1][:n],
    }
    H = np.asarray(frame.H)
    # As in the report: a feature's part in a direction, of its parts in all of them. In the
    # features' own units the one with the largest numbers would lead every line.
    spread = np.sqrt((H * H).sum(axis=0))
    parts_of = np.divide(H, spread, out=np.zeros_like(H), where=spread > 0)
    table = {
        title: [_direction(parts_of[i], float(angles[i]), int(i), names, n_features) for i in index]
        for title, index in parts.items()
    }
    if as_json:
        terminal.result(json_text(table))
        return
    for title, rows in table.items():
        terminal.lines([("head", title)])
        for row in rows:
            pairs = row["features"].items()
            weights = ", ".join(f"{printable(name, NAME_WIDTH)} {w:+.2f}" for name, w in pairs)
            place = f"{row['direction']:>5}  {row['degrees']:5.1f}°"
            terminal.lines([("plain", f"  {place}  {weights}")])


def _direction(
    h: NDArray[Any], degrees: float, index: int, names: tuple[str, ...], n: int
) -> dict[str, Any]:
    largest = np.argsort(-np.abs(h), kind="stable")[:n]
    return {
        "direction": index,
        "degrees": degrees,
        "features": {names[j]: float(h[j]) for j in largest},
    }


def _feature_names(frame: JointFrame) -> tuple[str, ...]:
    return frame.feature_names or tuple(f"x{j}" for j in range(frame.n_features))


def info(terminal: Terminal, file: str, as_json: bool) -> None:
    """What a saved frame or a data file holds."""
    facts = _watching_facts(file)
    if facts is None:
        facts = _model_facts(Path(file)) if _looks_like_model(file) else _source_facts(file)
    if as_json:
        terminal.result(json_text(facts))
        return
    width = max(len(key) for key in facts)
    for key, value in facts.items():
        shown = str(value)
        if isinstance(value, list):
            shown = ", ".join(map(str, value[:LISTED_NAMES]))
            shown += f", … ({len(value):,} in all)" if len(value) > LISTED_NAMES else ""
        terminal.lines([("plain", f"{key:<{width}}  {printable(shown)}")])


def _watching_facts(file: str) -> dict[str, Any] | None:
    """What a profile or a monitoring holds; None where the file is neither."""
    from cospan.monitoring.files import is_monitoring_file, is_profile_file

    if not (is_profile_file(file) or is_monitoring_file(file)):
        return None
    from cospan.monitoring import Monitoring, Profile

    found = Monitoring.load(file) if is_monitoring_file(file) else None
    profile = Profile.load(file) if found is None else found.profile
    facts = {
        "file": file,
        "kind": "profile of a reference" if found is None else "monitoring with its reference",
        "reference": profile.name,
        "rows": profile.summary.count,
        "rows kept": len(profile.summary.sample),
        "windows of the reference": len(profile.windows),
        "every": "" if profile.every is None else str(profile.every),
        "columns": sorted(set(profile.channels.owners)),
    }
    if found is not None:
        facts |= {"windows": len(found.windows), "alarms": len(found.alarms)}
        facts["verdict"] = found.verdict
    return facts


def _looks_like_model(file: str) -> bool:
    """Model files are safetensors files with our mark, whatever they are called."""
    path = Path(file)
    if path.suffix == ".cospan":
        return True
    if path.suffix not in ("", ".safetensors") or not path.is_file():
        return False
    from cospan.model_file import is_model_file

    return is_model_file(path)


def _model_facts(path: Path) -> dict[str, Any]:
    scorer, names = load_scorer(path)
    if isinstance(scorer.model, SetCosts):
        return _costs_facts(path, scorer.model, names)
    return _frame_facts(path, scorer.model)


def _costs_facts(path: Path, costs: SetCosts, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "file": str(path),
        "kind": f"costs to {len(names)} sets",
        "sets": list(names),
        "rows": [int(n) for n in costs.geometry.sizes],
        "features": costs.n_features,
        **_settings(costs.geometry, costs.curve),
        "weighting": costs.weighting,
        "names": list(costs.feature_names or (f"x{j}" for j in range(costs.n_features))),
    }


def _frame_facts(path: Path, frame: JointFrame) -> dict[str, Any]:
    r, k, t = frame.blocks
    degrees = np.degrees(np.asarray(frame.angles))
    return {
        "file": str(path),
        "kind": "joint frame",
        "rows of A": int(frame.n_a),
        "rows of B": int(frame.n_b),
        "features": frame.n_features,
        "rank": frame.rank,
        "only in A": int(r),
        "shared": int(k),
        "only in B": int(t),
        "angles": f"{degrees.min():.1f}° to {degrees.max():.1f}°" if len(degrees) else "none",
        **_settings(frame.geometry, frame.curve),
        "names": list(_feature_names(frame)),
    }


def _settings(geometry: Geometry, curve: CurvedSets | None) -> dict[str, Any]:
    found: dict[str, Any] = {"span": geometry.span, "shrinkage": float(geometry.shrinkage)}
    if geometry.affine:
        more = {"units": geometry.units, "pooling": geometry.pooling, "dof": geometry.dof}
    else:
        more = {"center": geometry.center_mode, "balance": geometry.balance}
    return {**found, **more, **({} if curve is None else {"curved": curve.map.words})}


def _source_facts(file: str) -> dict[str, Any]:
    source = open_source(file)
    rows = source.n_rows
    if rows is None:
        rows = sum(len(chunk.rows) for chunk in source.chunks())
    facts: dict[str, Any] = {
        "file": file,
        "kind": "data",
        "rows": rows,
        "features": source.n_features,
        "type": str(source.dtype),
    }
    if source.image_shape is not None:
        facts["image shape"] = "x".join(map(str, source.image_shape))
    if source.feature_names is not None:
        facts["names"] = list(source.feature_names)
    if source.notes:
        facts["notes"] = list(source.notes)
    return facts
