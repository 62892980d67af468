"""Reads a file in a process of its own, and says how much memory that took at its peak."""

import subprocess
import sys
from pathlib import Path

import pytest

GIGABYTE = 2**30

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc"
)

READ = """
import re, sys, warnings
warnings.simplefilter("ignore")
from cospan import compare  # what a comparison loads counts, too
from cospan.errors import CospanError
from cospan.sources import open_source
said = "read"
try:
    label = sys.argv[2] if len(sys.argv) > 2 else None
    for chunk in open_source(sys.argv[1], label=label).chunks():
        pass
except CospanError as error:
    said = str(error)
# not ru_maxrss, which a child takes over from the process that started it
status = open("/proc/self/status").read()
print(1024 * int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]))
print(said)
"""


def assert_takes_little(path, label=None):
    """Reading the file, or refusing it in one sentence, takes less than a gigabyte and a minute."""
    command = [sys.executable, "-c", READ, str(path), *([] if label is None else [label])]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stderr
    peak, said = found.stdout.splitlines()
    assert int(peak) < GIGABYTE, said
    assert said == "read" or said.endswith(".")
