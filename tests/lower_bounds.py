"""Prints the oldest version of every dependency that pyproject.toml allows, for pip.

``make lower`` installs these into an environment of their own and runs the tests there.
"""

import re
import tomllib
from pathlib import Path

#: Not ours, but newer than what they are combined with here, and deprecating parts of it.
OF_THEIR_TIME = ("pyparsing<3.3",)

#: What users install. The tools of the tests are any version that fits beside it; sites, linters
#: and benchmarks are not needed.
EXTRAS = ("app", "demo", "dask", "torch")


def oldest(requirement):
    """``"dask[array]>=2025.1"`` as ``"dask[array]==2025.1"``; None for our own extras.

    >>> oldest("rich>=13.8")
    'rich==13.8'
    """
    if requirement.startswith("cospan["):
        return None
    return re.sub(r">=([^,]+).*", r"==\1", requirement)


def pins(project):
    """What runs is as old as it may be; what only tests it is any version that fits."""
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in EXTRAS)]
    runs = {oldest(requirement) for group in groups for requirement in group} - {None}
    tests = {tool for tool in extras["test"] if not tool.startswith("cospan[")}
    # torch is named twice: what the tests are pinned to is what is installed
    exact = {tool.partition("==")[0] for tool in tests if "==" in tool}
    runs = {pin for pin in runs if pin.partition("==")[0] not in exact}
    return [*sorted(runs), *sorted(tests), *OF_THEIR_TIME]


def main():
    print("\n".join(pins(tomllib.loads(Path("pyproject.toml").read_text())["project"])))


if __name__ == "__main__":
    main()
