"""A few extreme directions of large sparse matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from cospan import gsvd, gsvds
from cospan.decomposition import partial
from cospan.errors import InputError


def sparse_pair(seed=0, p=700, q=600, d=150, density=0.05, complex_entries=False):
    rng = np.random.default_rng(seed)

    def matrix(rows):
        X = sp.random_array((rows, d), density=density, rng=rng, format="csr")
        if complex_entries:
            X = X + 1j * sp.random_array((rows, d), density=density, rng=rng, format="csr")
        return X

    return matrix(p), matrix(q)


FORMS = {"csr": lambda X: X, "coo matrix": sp.coo_matrix, "dense": lambda X: X.toarray()}


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("which", ["A", "B", "both"])
def test_the_extremes_are_those_of_the_whole_gsvd(which, form, complex_entries):
    A, B = sparse_pair(complex_entries=complex_entries)
    found = gsvds(FORMS[form](A), FORMS[form](B), 4, which=which)
    full = gsvd(A.toarray(), B.toarray())
    rows = {"A": slice(0, 4), "B": slice(-4, None), "both": [0, 1, -2, -1]}[which]
    assert np.abs(found.c - full.c[rows]).max() < 1e-12
    assert np.abs(found.H - full.H[rows]).max() < 1e-8
    assert np.abs(found.X - full.X[:, rows]).max() < 1e-8
    assert found.residuals.max() < 1e-10
    assert np.abs(A @ found.X - found.U * found.c).max() < 1e-13
    assert np.abs(B @ found.X - found.V * found.s).max() < 1e-13
    assert np.abs(found.U.conj().T @ found.U - np.eye(4)).max() < 1e-9
    assert np.abs(found.c**2 + found.s**2 - 1).max() < 1e-15


def test_scales_of_the_two_do_not_matter():
    A, B = sparse_pair(1)
    found, scaled = gsvds(A, B, 3), gsvds(1e8 * A, B, 3)
    assert np.allclose(scaled.values, 1e8 * found.values, rtol=1e-10)


def test_small_tangents_keep_their_digits():
    """s = 1e-9 in one direction: its square would drown in rounding."""
    A, B = sparse_pair(2)
    d = A.shape[1]
    direction = np.random.default_rng(3).standard_normal(d)
    direction /= np.linalg.norm(direction)
    B = B.toarray()
    B = B - np.outer(B @ direction, direction) * (1 - 1e-9)
    found = gsvds(A, B, 2)
    full = gsvd(A.toarray(), B)
    assert found.s[0] == pytest.approx(full.s[0], rel=1e-5)
    assert found.s[0] < 1e-8


def test_dead_and_dependent_columns():
    A, B = sparse_pair(4)
    A, B = (sp.hstack([X, X[:, [0]], sp.csr_array((X.shape[0], 2))]).tocsr() for X in (A, B))
    found, full = gsvds(A, B, 3, which="both"), gsvd(A.toarray(), B.toarray())
    assert full.rank == 150
    assert np.abs(found.c - full.c[[0, 1, -1]]).max() < 1e-12
    assert found.H.shape == (3, 153)
    assert not found.H[:, 151:].any()
    assert found.residuals.max() < 1e-10


def test_directions_of_one_side_alone():
    A, B = sparse_pair(5, q=40)
    found = gsvds(A, B, 3)
    assert found.c.tolist() == [1.0] * 3
    assert found.s.tolist() == [0.0] * 3
    assert not found.V.any()
    assert found.residuals.max() < 1e-8


def test_more_columns_than_fit_are_refused(monkeypatch):
    monkeypatch.setattr(partial, "_MOST_COLUMNS", 10)
    with pytest.raises(InputError, match=r"A and B have 150 columns, more than 10"):
        gsvds(*sparse_pair(6), 3)


def test_the_same_seed_gives_the_same_bits():
    A, B = sparse_pair(7)
    first, second = gsvds(A, B, 3), gsvds(A, B, 3)
    assert np.array_equal(first.H, second.H)
    assert "3 directions" in repr(first)


def test_bad_input_gets_one_sentence():
    A, B = sparse_pair(9)
    spoiled = A.copy()
    spoiled.data[3] = np.nan
    cases = (
        (lambda: gsvds(A, B[:, :50]), "A has 150 columns and B has 50"),
        (lambda: gsvds(spoiled, B), "A contains NaN or Inf"),
        (lambda: gsvds(A, B, 149), "cospan.gsvd computes all"),
        (lambda: gsvds(A, B, 0), "k must be a whole number"),
        (lambda: gsvds(A, B, which="C"), "which is 'C'"),
        (lambda: gsvds(A, B, tol=-1), "tol is -1"),
        (lambda: gsvds(A, np.full((3, 150), "x")), "B has dtype"),
        (lambda: gsvds(0 * A, 0 * B), "A and B are zero"),
    )
    for call, words in cases:
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.parametrize("place", [0, 1])
def test_the_dense_gsvd_names_the_sparse_one(place):
    pair = [np.eye(3), np.eye(3)]
    pair[place] = sp.csr_array(pair[place])
    with pytest.raises(InputError, match=rf"{'AB'[place]} is a sparse matrix; cospan\.gsvds"):
        gsvd(*pair)
