"""Lines and modules of Python in src, by room: code, docstrings, comments and blank lines.

python benchmarks/count_lines.py
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "cospan"


def main() -> None:
    """Print the table."""
    lines: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0]
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
        modules[room] += 1
    print(f"{'room':<24}{'lines':>8}{'modules':>9}")
    for room, n in lines.most_common():
        print(f"{room:<24}{n:>8,}{modules[room]:>9}")
    print(f"{'all':<24}{lines.total():>8,}{modules.total():>9}")


if __name__ == "__main__":
    main()
