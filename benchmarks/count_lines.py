"""Lines of Python in src, by room; and those that do what 0.1 did, beside 0.1's own count.

    python benchmarks/count_lines.py

Everything counts: code, docstrings, comments, blank lines. A module is left out of the second sum
only if it does something that 0.1 could not do at all; `NEW` says what. Modules that do better what
0.1 did (calibrated angles, the page of the report, the shift test's views) are counted in full, and
so is what a new feature added inside an old module.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "cospan"
#: Lines at the last commit of 0.1, 85f2bf8: `git archive 85f2bf8 src | tar -x`, then `wc -l`.
FIRST_VERSION = 22_321

#: What 0.1 did not have, by rooms and modules.
NEW = {
    "which columns, relations and kinds of change are behind a difference": [
        "changes", "frame/differences.py", "plots/features.py", "report/_changed.py",
        "significance/parts.py",
    ],
    "monitoring over time, profiles": [
        "monitoring", "cli/watching.py",
        "report/monitoring.py",
    ],
    "other measures, and synthetic rows": ["panel"],
    "embeddings of texts and pictures, and experiments with them": [
        "embedding", "sources/embedded.py", "experiments/embeddings.py", "experiments/learned.py",
        "experiments/pictures.py", "experiments/two_models.py",
    ],
    "curved features": ["curves", "sets/curved.py", "sets/curving.py", "model_file/curves.py"],
    "typicality: rows like neither set": ["typicality.py", "_tails.py"],
    "tables with categories, dates, gaps": ["sources/encoding"],
    "prototypes": ["frame/extremes.py"],
    "GSVD: stacks, sparse pairs, other forms, least squares, Tikhonov": [
        "decomposition/forms.py", "decomposition/partial.py", "decomposition/regularization.py",
        "decomposition/stacks.py", "decomposition/tangent.py", "decomposition/whitening.py",
    ],
    "gates for machines, options from files, doctor": [
        "cli/config.py", "cli/doctor.py", "cli/gate_files.py",
    ],
    "files that claim more than they hold": [
        "sources/arrow_claims.py", "sources/budget.py", "sources/zarr_stores.py",
    ],
    "model files of 0.1": ["model_file/first_format.py"],
}  # fmt: skip


def main() -> None:
    """Print the three tables."""
    lines = {
        path.relative_to(SOURCE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCE.rglob("*.py")
    }
    rooms: Counter[str] = Counter()
    for path, n in lines.items():
        rooms[path.split("/")[0]] += n
    print(f"{'room':<24}{'lines':>8}")
    for room, n in rooms.most_common():
        print(f"{room:<24}{n:>8,}")
    print(f"{'all':<24}{sum(lines.values()):>8,}\n\nnew since 0.1")
    new = 0
    for reason, names in NEW.items():
        own = sum(n for path, n in lines.items() for name in names if _is_in(path, name))
        new += own
        print(f"{own:>8,}  {reason}: {', '.join(names)}")
    rest = sum(lines.values()) - new
    print(f"{new:>8,}  in all\n\n{rest:,} lines do what {FIRST_VERSION:,} did in 0.1, ", end="")
    print(f"{abs(rest - FIRST_VERSION):,} {'more' if rest > FIRST_VERSION else 'fewer'}.")


def _is_in(path: str, name: str) -> bool:
    if not (SOURCE / name).exists():
        raise SystemExit(f"{name} is gone; correct NEW.")
    return path == name or path.startswith(f"{name}/")


if __name__ == "__main__":
    main()
