"""Write the outputs of doctest examples again, as the code prints them now.

    python docs/renew.py                                   every page and every docstring
    python docs/renew.py README.md docs/many.md src/cospan/audit
    python docs/renew.py --check docs                      only say what would change (exit code 1)

In Markdown the outputs of ``$ cospan …`` in console blocks are renewed, too, with files of such
names made as in tests/test_docs_commands.py. Examples run as in the tests: warnings are errors,
and what still matches (white space and `...` aside) is left as it is. An example that fails with
an error it does not show is reported and left alone, with the rest of its page. Read the
difference before you commit it: this script makes outputs current, not right.
"""

import argparse
import ast
import doctest
import importlib
import io
import os
import re
import sys
import textwrap
import traceback
import warnings
from contextlib import chdir
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("COLUMNS", "80")

ROOT = Path.cwd()  # run it in the root of the repository
SOURCES = ROOT / "src"
sys.path.insert(0, str(ROOT / "tests"))
PLACES = [*ROOT.glob("*.md"), ROOT / "docs", SOURCES]
SKIPPED = {"_build", "api", "gallery", "gallery_built", "images"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WIDTH = 100  # of a line in the sources; longer output is wrapped at blanks, which doctest ignores
TRACEBACK = "Traceback (most recent call last):\n"


class Runner(doctest.DocTestRunner):
    """Runs examples and keeps what those print that no longer print what they show."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS, verbose=False)
        self.changed: list[tuple[doctest.Example, str]] = []
        self.failed: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):
        if self.failed:  # what follows a failure only fails with it
            return
        if example.exc_msg is not None and got.startswith("Traceback"):
            got = f"{TRACEBACK}    ...\n{got.splitlines()[-1]}\n"
        self.changed.append((example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        if not self.failed:
            error = traceback.format_exception_only(*exc_info[:2])[-1].strip()
            self.failed.append((example, error))


def files_in(places):
    """The Markdown and Python files at these places."""
    for place in places:
        found = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in found:
            if path.suffix in {".md", ".py"} and not SKIPPED & set(path.parts):
                yield path


def tests_of(path):
    """The tests of a page (one) or of a module (one a docstring), with their first lines."""
    text = path.read_text(encoding="utf-8")
    parse = doctest.DocTestParser().get_doctest
    if path.suffix == ".md":
        return [parse(text, {"__name__": "__main__"}, path.name, str(path), 0)]
    if SOURCES not in path.parents or ">>>" not in text:
        return []
    dotted = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    names = vars(importlib.import_module(dotted))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return [
        parse(said, dict(names), dotted, str(path), node.body[0].lineno - 1)
        for node in found
        if (said := ast.get_docstring(node, clean=False))
    ]


def shown(got, indent):
    """What was printed, as the lines of an example."""
    lines = []
    for line in got.splitlines():
        room = WIDTH - indent
        wrapped = textwrap.wrap(line, room, break_long_words=False) if len(line) > room else [line]
        lines += [" " * indent + (piece.rstrip() or "<BLANKLINE>") for piece in wrapped]
    return lines


def renewed(lines, test, changed):
    """The lines of the file with new outputs; None where an example is not where it should be."""
    for example, got in reversed(changed):
        source = example.source.splitlines()
        first = test.lineno + example.lineno
        start = first + len(source)
        stop = start + len(example.want.splitlines())
        if source[0] not in lines[first]:
            return None
        lines[start:stop] = shown(got, example.indent)
    return lines


def renewed_console(text):
    """The text with new outputs of commands: blocks of one `$ cospan …` line and what it prints."""

    def with_output(block):
        from test_docs_commands import printed_by

        command, shown = block[1], block[2]
        return f"```console\n$ {command}\n{printed_by(command) if shown else ''}```"

    return re.sub(r"```console\n\$ (cospan [^\n]*)\n(.*?)```", with_output, text, flags=re.DOTALL)


def renew(path, check):
    """Renew one file; returns whether it changed and the errors of examples that could not run."""
    before = path.read_text(encoding="utf-8")
    lines, errors = before.splitlines(), []
    for test in sorted(tests_of(path), key=lambda test: -test.lineno):
        runner = Runner()
        with warnings.catch_warnings(), chdir(ROOT):
            warnings.simplefilter("error")
            runner.run(test, out=io.StringIO().write)
        place = path.relative_to(ROOT)
        for example, error in runner.failed:
            errors.append(f"{place}:{test.lineno + example.lineno + 1}: {error}")
        if not runner.changed:
            continue
        now = renewed(lines, test, runner.changed)
        if now is None:
            errors.append(f"{place}:{test.lineno + 1}: this docstring has to be renewed by hand")
        else:
            lines = now
    after = "\n".join(lines) + "\n"
    if path.suffix == ".md":
        after = renewed_console(after)
    if after != before and not check:
        path.write_text(after, encoding="utf-8")
    return after != before, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", type=Path, default=PLACES)
    parser.add_argument("--check", action="store_true", help="change nothing, exit with 1 instead")
    given = parser.parse_args()
    bad = False
    for path in files_in([place.resolve() for place in given.places]):
        changed, errors = renew(path, given.check)
        if changed:
            print(f"{'would change' if given.check else 'renewed'}: {path.relative_to(ROOT)}")
        for error in errors:
            print(error)
        bad = bad or bool(errors) or (changed and given.check)
    sys.exit(bad)


if __name__ == "__main__":
    main()
