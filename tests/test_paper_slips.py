"""Statements of the paper that need a correction (docs/paper.md lists them), as numbers.

Two more are shown where their subject is tested: x_min in test_directions.py, and the angle of a
sample that one set cannot represent in test_frame.py.
"""

import numpy as np
import pytest

from cospan import JointFrame, gsvd
from matrices import pair_with_angles


@pytest.fixture(scope="module")
def pair():
    theta = [0.0, 0.2, 0.6, 1.0, 1.3, np.pi / 2]
    return pair_with_angles(np.random.default_rng(0), theta, 9, 7, 6)


def padded(values, columns):
    """The paper's rectangular C or S: one row a direction, one column a sample."""
    rectangular = np.zeros((len(values), columns))
    nonzero = np.flatnonzero(values)
    rectangular[nonzero, np.arange(len(nonzero))] = values[nonzero]
    return rectangular


def test_slip_1_the_squares_add_up_on_the_side_of_the_directions(pair):
    A, B, _ = pair
    result = gsvd(A, B)
    C, S = padded(result.c, len(A)), padded(result.s, len(B))
    assert np.allclose(C @ C.T + S @ S.T, np.eye(result.rank), atol=1e-14)
    # the printed CᵀC + SᵀS adds a 9 x 9 to a 7 x 7 matrix
    assert (C.T @ C).shape != (S.T @ S).shape


def test_slip_2_the_blocks_add_up_to_the_rank_not_to_the_number_of_features(pair):
    A, B, _ = pair
    dead = np.zeros((len(A), 3)), np.zeros((len(B), 3))
    result = gsvd(np.hstack([A, dead[0]]), np.hstack([B, dead[1]]))
    assert sum(result.blocks) == result.rank == 6 < 9


def test_slip_4_the_extreme_angle_takes_the_ratio_and_not_its_square(pair):
    A, B, theta = pair
    result = gsvd(A, B)
    frame = JointFrame.fit(A, B, span="linear", center="none", balance=False, shrinkage=0.0)
    r, k, _ = result.blocks
    last = r + k - 1
    ratio = result.s[last] / result.c[last]
    attained = frame.align(result.H[[last]]).theta[0]
    assert attained == pytest.approx(np.arctan(ratio), abs=1e-12)
    assert attained == pytest.approx(theta[last], abs=1e-12)
    # the square has the same maximiser but is another number
    assert abs(np.arctan(ratio**2) - attained) > 0.1
