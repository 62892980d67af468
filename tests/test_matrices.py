"""The helpers of the tests do what they say."""

import numpy as np

from matrices import ULP, acceptance_ratios


def test_acceptance_ratios_see_a_wrong_digit_in_each_factor():
    class Result:
        blocks = (0, 2, 0)
        c, s = np.full(2, 0.6), np.full(2, 0.8)
        U = V = H = np.eye(2)

    A, B = 0.6 * np.eye(2), 0.8 * np.eye(2)
    assert max(acceptance_ratios(A, B, Result)) == 0.0
    assert acceptance_ratios(A * (1 + 100 * ULP), B, Result).A > 10
    assert acceptance_ratios(A, B * (1 + 100 * ULP), Result).B > 10
    Result.U = np.eye(2) * (1 + 100 * ULP)
    assert acceptance_ratios(A, B, Result).U > 10
    assert acceptance_ratios(A, B, Result).V == 0.0
