"""Prints the oldest version of every dependency that pyproject.toml allows, for pip.

``make lower`` installs these into an environment of their own and runs the tests there.
"""

import re
import tomllib
from pathlib import Path

#: Not ours, but newer than what they are combined with here, and deprecating parts of it.
OF_THEIR_TIME = ("pyparsing<3.3",)

#: What the tests need; sites, linters and benchmarks take the newest there is.
EXTRAS = ("app", "demo", "dask", "files", "torch", "test")


def oldest(requirement):
    """``"dask[array]>=2025.1"`` as ``"dask[array]==2025.1"``; None for our own extras.

    >>> oldest("rich>=13.7")
    'rich==13.7'
    """
    if requirement.startswith("cospan["):
        return None
    return re.sub(r">=([^,]+).*", r"==\1", requirement)


def main():
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in EXTRAS)]
    pins = {oldest(requirement) for group in groups for requirement in group} - {None}
    # torch is named twice: what the tests are pinned to is what is installed
    exact = {pin for group in groups for pin in group if "==" in pin}
    names = {pin.partition("==")[0] for pin in exact}
    pins = {pin for pin in pins if pin.partition("==")[0] not in names} | exact
    print("\n".join([*sorted(pins), *OF_THEIR_TIME]))


if __name__ == "__main__":
    main()
