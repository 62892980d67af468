"""Every pair of sets: how far apart their rows are, what changed, and all of them on a map."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from cospan.base.rows import text_keys
from cospan.base.tolerance import TIED_DIGITS
from cospan.base.types import Floats
from cospan.comparison.reading import joined_keys
from cospan.comparison.scoring import Group, Scored
from cospan.data import Chunk, EncodingPlan, SchemaChange, SetProfile
from cospan.evidence import Finding, Fold, Size, Verdict, find_changes, size_of
from cospan.model import JointFrame, log_odds_of

#: Sizes as the map of sets takes them: nothing is at no distance, nor infinitely far.
PLACED = (0.501, 0.9999)


def sizes_of(groups: Sequence[Group], copies: bool) -> dict[tuple[int, int], Size]:
    """The size of the difference of each pair of sets; without `copies` each row counts once."""
    return {
        (i, j): size_between(groups[i].kept, groups[j].kept, i, j, copies=copies)
        for i, j in itertools.combinations(range(len(groups)), 2)
    }


def size_between(one: Scored, other: Scored, i: int, j: int, *, copies: bool = True) -> Size:
    """The size of the difference between sets i and j, from scored rows of both."""
    sides = []
    for kept in (one, other):
        assert kept.squared is not None  # a set's own rows have all three
        assert kept.dealt is not None
        assert kept.keys is not None
        rows = np.arange(len(kept.ids)) if copies else np.unique(kept.keys, return_index=True)[1]
        log_odds = log_odds_of(kept.squared[rows][:, [i, j]])
        groups = None if kept.groups is None else text_keys(kept.groups[rows])
        score = np.round(log_odds[:, 1] - log_odds[:, 0], TIED_DIGITS)
        sides.append((kept.dealt[rows], score, groups))
    folds = []
    for fold in range(1 + int(max(dealt.max() for dealt, _, _ in sides))):
        (a, mine), (b, others) = (
            (score[dealt == fold], None if groups is None else groups[dealt == fold])
            for dealt, score, groups in sides
        )
        folds.append(Fold(a, b, mine, others))
    return size_of(folds)


def place_sets(sizes: Floats) -> Floats:
    """(K, 2) places of K sets, the first one left of the last.

    Two normal sets of one spread that are d deviations apart have an AUC of Φ(d/√2): distances
    are those d, so that sets which differ in one thing lie on a line (classical scaling).
    """
    K = len(sizes)
    distance = np.sqrt(2) * ndtri(np.clip(sizes, *PLACED))
    np.fill_diagonal(distance, 0.0)
    centre = np.eye(K) - 1 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    if places[0, 0] > places[-1, 0]:
        places[:, 0] *= -1
    return np.asarray(places)


# ---- what changed --------------------------------------------------------------------------------


def study_pair(
    frame: JointFrame,
    chunks: tuple[Chunk, Chunk],
    *,
    names: tuple[str, str],
    features: Sequence[str],
    plan: EncodingPlan | None,
    size: Size,
    schema: Sequence[SchemaChange],
    permutations: int,
    seed: int = 0,
    profiles: tuple[SetProfile, SetProfile] | None = None,
) -> Verdict:
    """Test two sets and find which columns and relations changed.

    `profiles` are known of all rows, where `chunks` are samples of them.
    """
    a, b = chunks
    groups = [None if one.groups is None else text_keys(one.groups) for one in chunks]
    found = find_changes(
        frame,
        a.rows,
        b.rows,
        names=features,
        plan=plan,
        profiles=profiles,
        auc=size,
        set_names=names,
        keys=joined_keys([a.merged, b.merged]),
        groups=joined_keys(groups),
        watched=(a.watched, b.watched),
        permutations=permutations,
        seed=seed,
    )
    ahead = (Finding(one.kind, one.column, one.second, str(one).rstrip(".")) for one in schema)
    return replace(found, findings=(*ahead, *found.findings))  # what only one set has comes first
