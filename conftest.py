"""What the examples in docstrings may take for granted: NumPy as ``np``, as numpydoc has it."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _numpy(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    if request.path.suffix == ".py":
        doctest_namespace["np"] = np
