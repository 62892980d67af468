"""What a gate found, for machines that run it: JUnit XML, and Markdown for a step summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from cospan._files import check_output, write_text
from cospan._text import printable
from cospan.errors import InputError


class Case(NamedTuple):
    """One gate judged once: its condition, what it was judged on, and why it failed, if it did."""

    gate: str
    on: str
    failure: str = ""


def write_junit(path: Path, suite: str, cases: Sequence[Case], details: str = "") -> None:
    """Write a JUnit file: a test case for each gate and window.

    A run without gates is one case that passes.
    """
    cases = cases or [Case("comparison", suite)]
    failures = sum(bool(case.failure) for case in cases)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(cases)}" failures="{failures}">',
        f'  <testsuite name={_attribute(suite)} tests="{len(cases)}" failures="{failures}">',
    ]
    for case in cases:
        of = _attribute(f"cospan {case.on}")
        name = f"    <testcase classname={of} name={_attribute(case.gate)}"
        if case.failure:
            lines += [
                f"{name}>",
                f"      <failure message={_attribute(case.failure)}>{_text(details)}</failure>",
                "    </testcase>",
            ]
        else:
            lines.append(f"{name}/>")
    lines += ["  </testsuite>", "</testsuites>"]
    write_text(path, "\n".join(lines) + "\n")


def add_summary(path: Path, title: str, text: str, cases: Sequence[Case]) -> None:
    """Add a few lines of Markdown to a file, such as the one GITHUB_STEP_SUMMARY names."""
    failed = [case for case in cases if case.failure]
    mark = "✅" if not failed else "❌"
    lines = [f"### {mark} {_plain(title)}", "", _plain(text), ""]
    if cases:
        lines += ["| gate | on | result |", "|---|---|---|"]
        shown = failed or list(cases)
        for case in shown[:50]:
            result = _plain(case.failure) if case.failure else "passed"
            lines.append(f"| `{_plain(case.gate)}` | {_plain(case.on)} | {result} |")
        lines.append("")
    check_output(path)
    try:
        with open(os.fspath(path), "a", encoding="utf-8") as stream:
            stream.write("\n".join(lines))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from error


def _attribute(text: str) -> str:
    return quoteattr(printable(text, 500))


def _text(text: str) -> str:
    return escape("\n".join(printable(line) for line in text.split("\n")))


def _plain(text: str) -> str:
    """Names come from data: nothing of them may become markup, or end a cell of the table."""
    line = printable(text, 2000)
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "'"), ("[", "\\[")):
        line = line.replace(mark, safe)
    return line
