"""The frame of K sets: reconstruction, planted directions, what is common and what is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from cospan import JointFrame, Summary
from cospan.errors import InputError
from cospan.model import ManyFrame, SetCosts


def frame_of(sets, **settings):
    """The directions of sets, given by name or in order."""
    named = dict(sets) if isinstance(sets, dict) else dict(enumerate(sets))
    summaries = [X if isinstance(X, Summary) else Summary.of(X) for X in named.values()]
    costs = SetCosts.from_summaries(summaries, curve=None, **settings)
    return ManyFrame.of_costs(summaries, costs, [str(name) for name in named])


def planted(noise, n=300, d=50, seed=0):
    """Five sets with ten common dimensions and five of their own each."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(10, d))
    owns = [rng.normal(size=(5, d)) for _ in range(5)]
    sets = [
        rng.normal(size=(n, 10)) @ common
        + rng.normal(size=(n, 5)) @ own
        + noise * rng.normal(size=(n, d))
        for own in owns
    ]
    return sets, common, owns


def largest_angle(found, space):
    return np.degrees(subspace_angles(found.T, space.T).max())


def common_ones(frame):
    return np.flatnonzero(frame.kind == "common")


def owners_of(frame, j):
    return "".join(name for name, has in zip(frame.names, frame.present[:, j], strict=True) if has)


def test_planted_directions_are_found_exactly_where_nothing_blurs_them():
    sets, common, owns = planted(noise=0)
    frame = frame_of(sets, span="linear", center="none", shrinkage=0)
    assert (len(common_ones(frame)), frame.rank) == (10, 35)
    assert largest_angle(frame.directions[common_ones(frame)], common) < 1e-6
    for k, own in enumerate(owns):
        mine = np.flatnonzero((frame.kind == "isolated") & frame.present[k])
        assert len(mine) == 5
        assert_allclose(frame.sigma[k, mine], 1, atol=1e-9)
        # What a set has to itself is known up to what all have: together they are its span.
        both = np.vstack([frame.directions[mine], frame.directions[common_ones(frame)]])
        assert largest_angle(both, np.vstack([own, common])) < 1e-6


@pytest.mark.parametrize(("noise", "shrinkage"), [(0, "auto"), (0.1, 0.0), (0.3, "auto")])
def test_planted_common_directions_are_within_five_degrees(noise, shrinkage):
    for seed in range(3):
        sets, common, _ = planted(noise, seed=seed)
        frame = frame_of(sets, shrinkage=shrinkage)
        assert largest_angle(frame.directions[common_ones(frame)[:10]], common) < 5


def test_directions_of_some_sets_are_partial_and_say_whose():
    """Dimensions of {a, b}, {c, d}, {a, c} have equal eigenvalues; they must not mix."""
    rng = np.random.default_rng(3)
    owners = {0: "abcd", 1: "ab", 2: "cd", 3: "ac", 4: "d"}
    sets = {}
    for name in "abcd":
        Q, _ = np.linalg.qr(rng.normal(size=(40, 5)))
        sets[name] = Q * [name in owners[j] for j in range(5)]
    frame = frame_of(sets, span="linear", center="none", balance=False, shrinkage=0)
    assert frame.kind.tolist() == ["common", "partial", "partial", "partial", "isolated"]
    for j in range(5):
        feature = int(np.abs(frame.directions[j]).argmax())
        assert owners_of(frame, j) == owners[feature]
        assert_allclose(np.delete(frame.directions[j], feature), 0, atol=1e-12)


def test_every_set_is_its_strengths_times_the_directions():
    """A_i = U_i diag(σ_i) H with unit columns of U_i, and Σ σ_i² = 1."""
    rng = np.random.default_rng(5)
    sets = [rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) for n in (20, 30, 25)]
    frame = frame_of(sets, span="linear", center="none", balance=False, shrinkage=0)
    assert_allclose((frame.sigma**2).sum(axis=0), 1, atol=1e-12)
    for k, A in enumerate(sets):
        U = A @ np.linalg.inv(frame.directions) / frame.sigma[k]
        assert_allclose(np.linalg.norm(U, axis=0), 1, atol=1e-10)


def test_two_sets_have_the_frame_of_their_pair():
    rng = np.random.default_rng(7)
    A, B = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 5], rng.normal(size=(30, 5))
    many, pair = frame_of([A, B], shrinkage=0.1), JointFrame.fit(A, B, shrinkage=0.1)
    order = np.argsort(-many.sigma[0])
    assert_allclose(many.sigma[:, order], [pair.c, pair.s], atol=1e-12)
    H = many.directions[order]
    assert_allclose(np.abs((H * pair.H).sum(axis=1)), (H * H).sum(axis=1), rtol=1e-9)


def test_moments_are_taken_about_each_sets_own_mean():
    """Where the sets are has no part in their directions; in the linear span it has."""
    rng = np.random.default_rng(8)
    sets = [rng.normal(size=(40, 6)) * rng.uniform(0.3, 3, 6) for _ in range(3)]
    moved = [X + 10 * rng.normal(size=6) for X in sets]
    plain, shifted = (frame_of(parts, shrinkage=0.1, units="own") for parts in (sets, moved))
    assert_allclose(shifted.sigma, plain.sigma, atol=1e-10)
    assert_allclose(shifted.directions, plain.directions, atol=1e-9)
    linear = frame_of(moved, shrinkage=0.1, span="linear")
    assert np.abs(linear.sigma - plain.sigma).max() > 0.1


def test_the_centre_and_the_choices_of_the_costs_are_kept():
    rng = np.random.default_rng(10)
    sets = [rng.normal(size=(30, 4)) * rng.uniform(0.3, 3, 4) for _ in range(3)]
    summaries = [Summary.of(X) for X in sets]
    costs = SetCosts.from_summaries(summaries, span="linear", shrinkage=0.2)
    center = costs.geometry.center
    found = ManyFrame.of_costs(summaries, costs, "xyz")
    direct = frame_of([X - center for X in sets], span="linear", center="none", shrinkage=0.2)
    assert found.names == ("x", "y", "z")
    assert_allclose(found.sigma, direct.sigma, atol=1e-12)


def test_few_rows_of_many_features_have_their_frame_in_the_span():
    sets, common, _ = planted(noise=0, n=20, d=400)
    frame = frame_of(sets, span="linear", center="none", shrinkage=0)
    assert frame.directions.shape == (35, 400)
    assert largest_angle(frame.directions[common_ones(frame)], common) < 1e-6
    own = frame_of(sets, shrinkage=0)  # about their own means: the common ones again
    assert largest_angle(own.directions[common_ones(own)], common) < 1e-6
    fast = [Summary.of(X, exact=False) for X in planted(noise=0.1)[0]]
    assert frame_of(fast, shrinkage=0.01).rank == 50


def test_kinds_strengths_and_bad_names():
    sets, _, _ = planted(noise=0.01)
    frame = frame_of(dict(zip("abcde", sets, strict=True)))
    assert (frame.present.sum(axis=0)[frame.kind == "isolated"] == 1).all()
    for kind in ("common", "isolated"):
        assert (np.diff(frame.strength[frame.kind == kind]) <= 1e-9).all()
    assert repr(frame).startswith("ManyFrame(5 sets, 50 features, 50 directions")
    with pytest.raises(InputError, match="at least two"):
        frame_of([sets[0]])


@pytest.mark.parametrize("oblique", [False, True])
@pytest.mark.parametrize(
    "owned",
    [
        ("abc", "abc", "a", "ab", "bc", "c"),
        ("ae", "ab", "abc", "bcd", "cde", "de"),
        ("ac", "a", "a", "bc"),
    ],
)
def test_directions_of_some_sets_are_told_apart_in_drawn_rows(owned, oblique):
    """Drawn rows set equal eigenvalues slightly apart: the eigenvectors alone would be mixtures."""
    rng = np.random.default_rng(11)
    shape = rng.normal(size=(len(owned), 12)) if oblique else np.eye(len(owned), 12)
    names = sorted(set("".join(owned)))
    sets = {}
    for name in names:
        mine = [name in owners for owners in owned]
        sets[name] = rng.normal(size=(300, sum(mine))) @ shape[mine]
    frame = frame_of(sets, span="linear", center="none", shrinkage=0)
    assert sorted(owners_of(frame, j) for j in range(frame.rank)) == sorted(owned)
    for k, A in enumerate(sets.values()):
        scaled_u = A / np.sqrt(len(A)) @ np.linalg.pinv(frame.directions)
        assert_allclose(scaled_u @ frame.directions, A / np.sqrt(len(A)), atol=1e-12)
        assert_allclose(np.linalg.norm(scaled_u, axis=0), frame.sigma[k], atol=1e-12)
