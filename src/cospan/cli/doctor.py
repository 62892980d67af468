"""``cospan doctor``: what is installed here, and whether it works together."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from typing import Any

import numpy as np

from cospan._arrays.process import blas_threads
from cospan._json import json_text
from cospan._packages import EXTRAS
from cospan._tolerance import SELF_TEST
from cospan._version import VERSION
from cospan.cli.terminal import Terminal


def examine(terminal: Terminal, as_json: bool) -> bool:
    """Print versions, threads and the result of a short test of itself; True if all is well."""
    packages = {name: _version(name) for names in EXTRAS.values() for name in names}
    tested = _self_test()
    facts = {
        "cospan": VERSION,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": packages,
        "missing_extras": _missing(packages),
        "threads": blas_threads(),
        "self_test": tested,
    }
    if as_json:
        terminal.result(json_text(facts))
    else:
        terminal.lines(_lines(facts))
    return bool(tested["passed"])


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _missing(packages: dict[str, str | None]) -> list[str]:
    return [
        extra for extra, names in EXTRAS.items() if any(packages[name] is None for name in names)
    ]


def _self_test() -> dict[str, Any]:
    """Two sets with a known answer, through the whole pipeline; and a table written and read."""
    started = time.perf_counter()
    try:
        _check_known_angle()
        _check_comparison()
        problem = None
    except Exception as error:  # whatever it is, that is what the doctor is asked for
        problem = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - started
    return {"passed": problem is None, "problem": problem, "seconds": round(seconds, 2)}


def _check_known_angle() -> None:
    """A GSVD whose angles are known: A = C Q, B = S Q for an orthogonal Q."""
    from cospan.decomposition import gsvd

    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    angles = np.array([0.2, 0.6, 1.0, 1.4])
    found = gsvd(np.diag(np.cos(angles)) @ Q, np.diag(np.sin(angles)) @ Q)
    worst = float(np.abs(np.arctan2(np.asarray(found.s), np.asarray(found.c)) - angles).max())
    if not worst < SELF_TEST:
        raise ArithmeticError(f"the angles of a known pair are off by {worst:.1e}")


def _check_comparison() -> None:
    """A shift of two standard deviations is found."""
    from cospan.comparison import compare

    rng = np.random.default_rng(0)
    found = compare(
        rng.standard_normal((80, 3)), rng.standard_normal((80, 3)) * 3 + 2, n_permutations=99
    )
    if found.shift is None or found.shift.pvalue > 0.05:
        raise ArithmeticError("a clear difference between two sets is not found")


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [("title", f"cospan {facts['cospan']}, Python {facts['python']}, {facts['system']}")]
    for extra, names in EXTRAS.items():
        have = ", ".join(f"{name} {facts['packages'][name] or '(not installed)'}" for name in names)
        lines.append(("plain", f"{extra:<10} {have}"))
    for extra in facts["missing_extras"]:
        lines.append(("plain", f"           {extra} is incomplete: pip install 'cospan[{extra}]'"))
    lines.append(("plain", f"{'threads':<10} {facts['threads']} for linear algebra"))
    test = facts["self_test"]
    verdict = "passed" if test["passed"] else f"FAILED: {test['problem']}"
    style = "plain" if test["passed"] else "warn"
    lines.append((style, f"{'self-test':<10} {verdict} in {test['seconds']:.1f} s"))
    return lines
