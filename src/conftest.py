"""What the examples in docstrings may take for granted: NumPy as ``np``, as numpydoc has it."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _numpy(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["np"] = np
