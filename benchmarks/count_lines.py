"""Lines and modules of Python in src by room, with budgets; and the files that a fit enters.

python benchmarks/count_lines.py
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np

import cospan

SOURCE = Path(cospan.__file__).resolve().parent
# Lines at most; rooms that are not listed share what is left of the sum.
BUDGETS = {
    "base": 1600, "decomposition": 1700, "data": 3000, "summary": 900, "model": 3600,
    "evidence": 2700, "comparison": 1700, "monitoring": 1300, "wording": 600, "report": 2100,
    "plots": 700, "cli": 1200, "estimator": 450, "model_file": 500, "measures": 700,
    "procrustes": 250, "studies": 250, "distributed": 400,
}  # fmt: skip
ALL = 23_700


def counted() -> tuple[Counter[str], Counter[str]]:
    """Lines and modules of every room."""
    lines: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
        modules[room] += 1
    return lines, modules


def entered() -> set[str]:
    """Files that `JointFrame.fit` and `align` enter for two sets of numbers."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 13)), rng.normal(size=(70, 13)) + 0.5
    fit = cospan.JointFrame.fit  # looked up, and so imported, before anything is counted
    found: set[str] = set()

    def enter(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            found.add(frame.f_code.co_filename.removeprefix(f"{SOURCE}/"))

    sys.setprofile(enter)
    fit(A, B).align(A)
    sys.setprofile(None)
    return found


def main() -> None:
    """Print both."""
    lines, modules = counted()
    print(f"{'room':<16}{'lines':>8}{'budget':>8}{'modules':>9}")
    for room, n in lines.most_common():
        budget = f"{BUDGETS[room]:,}" if room in BUDGETS else ""
        print(f"{room:<16}{n:>8,}{budget:>8}{modules[room]:>9}")
    print(f"{'all':<16}{lines.total():>8,}{ALL:>8,}{modules.total():>9}")
    files = sorted(entered())
    print(f"\nJointFrame.fit and align enter {len(files)} files: {', '.join(files)}")


if __name__ == "__main__":
    main()
