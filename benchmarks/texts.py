"""Every text of the report that another language needs, as a catalogue to fill in.

    python benchmarks/texts.py > src/cospan/languages/de.json

Texts are found where the code says them: the literals given to `say`, `later`, `several`,
`either`, `plural` and `translated` in Python, and to `say` in the page's templates and scripts.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "cospan"
SPEAKING = ("say", "later", "several", "either", "plural", "translated")
ON_THE_PAGE = re.compile(r"""\bsay\(\s*("(?:[^"\\]|\\.)*")""")


def texts() -> list[str]:
    """All texts, each once, in the order of the files."""
    found: dict[str, None] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        found.update(dict.fromkeys(_in_python(path.read_text(encoding="utf-8"))))
    for path in sorted((SOURCE / "report" / "page").iterdir()):
        for literal in ON_THE_PAGE.findall(path.read_text(encoding="utf-8")):
            found[ast.literal_eval(literal)] = None
    return list(found)


def _in_python(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name not in SPEAKING:
            continue
        for one in node.args:
            for text in _literals(one):
                yield text
                if name == "plural":
                    yield f"{text}s"


def _literals(node: ast.expr) -> Iterator[str]:
    """The text of an argument; both, of a choice between two."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)


if __name__ == "__main__":
    print(json.dumps(dict.fromkeys(texts(), ""), indent=2, ensure_ascii=False))
