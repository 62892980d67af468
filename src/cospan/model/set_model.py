"""One model of K ≥ 2 sets: what it costs each of them to explain a sample.

:class:`SetModel` is what every fitted model can do: costs and probabilities of samples, and those
of the sets' own rows, each left out. In :class:`SetCosts` each set is one matrix M_k with

    cost_k² = ν + ‖(z - μ_k) M_k‖²

in working coordinates, so that K sets cost K factorizations. Without shrinkage a set may lack
directions that others have: see `leave_one_out.maps_of`. `JointFrame` is a view of two sets, by one
frame for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_rows
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Array, Floats, Index
from cospan.errors import InputError, Note
from cospan.model.calibration import calibrated_weights, fit_calibration, log_odds_of, theoretical
from cospan.model.choice import AS_GOOD_AS_ONE, DEFAULT_SHRINKAGE, Chosen, choose, more_rows
from cospan.model.leave_one_out import (
    LeaveOneOutCosts,
    factors_of,
    maps_of,
    pooled_maps,
    removed_weights,
)
from cospan.model.prepared import Geometry, PreparedSets, TrialRows, WorkingSets, working_rows
from cospan.model.scoring import Scorer
from cospan.model.settings import Given, Settings
from cospan.model.typicality import Typicality
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.model.curved import Again, CurvedSets
    from cospan.model.curves import RowMap

Model = TypeVar("Model", bound="SetModel")
T = TypeVar("T")


class Derived(cached_property[T]):
    """What follows from a model: an attribute of its geometry, or a function of the model."""

    def __init__(self, read: str | Callable[[Any], T], doc: str) -> None:
        super().__init__(attrgetter(f"geometry.{read}") if isinstance(read, str) else read)
        self.__doc__ = doc


@dataclass(frozen=True, eq=False, kw_only=True)
class SetModel:
    """K sets that say what a sample costs each of them."""

    geometry: Geometry  # positions, units and settings
    #: (d, e): orthonormal basis of the rows' span where they are fewer than the features
    basis: Array | None = field(repr=False, default=None)
    #: What the sets' own rows cost, where there were rows to leave out
    typicality: Typicality | None = field(repr=False, default=None)
    #: Costs of curved features, where those answer: see `curve` in :meth:`cospan.JointFrame.fit`
    curve: CurvedSets | None = field(repr=False, default=None)
    #: What a reader should know of the fit
    notes: tuple[Note, ...] = field(repr=False, default=())

    span = Derived[str]("span", """``"affine"`` or ``"linear"``.""")
    units = Derived[str]("units", """``"own"`` or ``"common"``: whose variance shrinkage uses.""")
    shrinkage = Derived[float]("shrinkage", """The α in use, also when ``"auto"`` chose it.""")
    pooling = Derived[float]("pooling", "The γ in use.")
    dof = Derived[float]("dof", "The ν in use; 0 in the linear span.")
    gain = Derived[float](
        attrgetter("answering.geometry.calibration.gain"), "β: log tan²θ = β (ℓ - ℓ₀); 1 if raw."
    )
    zero = Derived[float](
        attrgetter("answering.geometry.calibration.zero"),
        "ℓ₀, the log ratio of squared costs at 45°.",
    )
    center = Derived[Array]("center", "The origin: between the means in the affine span.")
    n_features = Derived[int]("n_features", "The number of features.")
    feature_names = Derived[tuple[str, ...] | None]("feature_names", "What features are called.")
    constant_features = Derived[Index](
        "constant_features", "Numbers of the features that are constant in every set."
    )

    @property
    def plain(self) -> Self:
        """This model without its curve: what the features as they are say of a sample."""
        return self if self.curve is None else replace(self, curve=None)

    @property
    def answering(self) -> SetModel:
        """The model whose calibration and typicality count: the curve's, where there is one."""
        return self if self.curve is None else self.curve.costs

    @property
    def off_space_variance(self) -> float:
        """α, the variance of every set in directions off the span; 0 if there are none."""
        return self.shrinkage if self.basis is not None else 0.0

    def squared_costs(self, Z: object) -> Array:
        """Squared costs (n, K) of samples."""
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        if self.curve is not None:
            return self.curve.squared_costs(rows)
        return arrays.namespace(rows).stack(Scorer(self, rows).scores(rows).squared, axis=1)

    def weights(self, Z: object) -> Array:
        """(n, K): the probability of each set, every set being equally likely beforehand."""
        return calibrated_weights(self.squared_costs(Z), self.answering.geometry.calibration)

    def left_out_costs(self, X: object, own: object, *, sample_weight: object = None) -> Array:
        """Squared costs (n, K) of the sets' own rows, each as if it had never been there.

        Exact, without refitting: mean, covariance and divisor change (α, T, the calibration and a
        centre of all sets stay). `own` are the numbers of the rows' sets, `sample_weight` the
        weights used in fitting: a row of weight 2 loses one of its two occurrences.
        """
        rows = as_rows(X, "X", d=self.n_features, allow_empty=True)
        own = np.asarray(own, dtype=np.intp)
        removed = removed_weights(sample_weight, len(own))
        if self.curve is not None:
            return self.curve.left_out_costs(rows, own, removed)
        out = np.empty((len(own), self.geometry.n_sets))
        for o in np.unique(own).tolist():
            index = np.flatnonzero(own == o)
            found = self._left_out_of(o, arrays.pick(rows, index), removed[index])
            out[index] = arrays.to_numpy(found)
        xp = arrays.namespace(rows)
        # Without shrinkage weak directions count as much as strong ones: float32 is too coarse.
        fine = self.geometry.shrinkage < FAST_SHRINKAGE
        return arrays.like(out, xp.astype(rows[:0, :], xp.float64 if fine else rows.dtype))

    def trial_costs(self, trial: TrialRows | None) -> Floats | None:
        """(n, K): leave-one-out squared costs of sampled rows; None where there are none."""
        if trial is None or self.geometry.sizes.min() <= 1:
            return None
        with arrays.threads_for(self.geometry.n_features):
            return self.leave_one_out_costs.of_trial(trial)

    @cached_property
    def leave_one_out_costs(self) -> LeaveOneOutCosts:
        """Costs of the sets' own rows in working coordinates."""
        return LeaveOneOutCosts(self.geometry, self.scoring_maps, self._factors, self.basis)

    def _left_out_of(self, o: int, rows: Array, removed: Floats) -> Array:
        """Squared costs (n, K) of rows of one set, in float64."""
        g = self.geometry
        p, off = working_rows(rows, g.about(o), g, self.basis)
        return self.leave_one_out_costs.squared_costs(p, off, o, removed)

    # What every kind of model has its own way for

    def form(self, weighting: str = "cost") -> tuple[Array, Floats]:
        """What samples in working coordinates are multiplied with (e, m), and w (K, m)."""
        raise NotImplementedError

    @property
    def scoring_maps(self) -> Sequence[Array]:
        """M_k of every set, of the pooled covariances, with which samples are scored."""
        raise NotImplementedError

    def _factors(self) -> Sequence[Floats]:
        """R_k of every set as it is, Σ̃_k = R_kᵀR_k in working coordinates."""
        raise NotImplementedError

    def log_determinants(self) -> Floats:
        """(K,): log|Σ̃_k| of the pooled covariances, up to a common constant."""
        raise NotImplementedError


# ---- fitting ----------------------------------------------------------------------------------


def chosen_sets(
    summaries: Sequence[Summary],
    settings: Settings,
    labels: Sequence[str] | None = None,
    picture: bool = False,
    near: Geometry | None = None,
) -> Chosen:
    """Prepare the sets and settle what was left to the data, where asked near other choices."""
    s = settings
    prepared = PreparedSets(summaries, s.span, s.center, s.balance, s.tol, labels)
    fixed = settings.fixed()
    alpha = DEFAULT_SHRINKAGE if fixed.shrinkage is None else fixed.shrinkage
    if alpha < FAST_SHRINKAGE and not all(part.exact for part in summaries):
        raise InputError(
            f"A fast summary has too few digits for shrinkage {alpha:g}; use at least "
            f"{FAST_SHRINKAGE:g}, or make the summaries with exact=True."
        )
    spread = prepared.unit("common") if prepared.positions.affine else prepared.spreads
    if alpha > 0 and not spread.any():
        raise InputError(
            "All rows of all sets are equal, so there is nothing to compare; check that the "
            "features vary."
        )
    # Before any row is looked at: a table's columns have units of their own, pixels share one.
    table = prepared.positions.feature_names is not None and not picture
    with arrays.threads_for(prepared.positions.n_features):
        return choose(prepared, fixed, "own" if table else "common", near)


def notes_on_weights(summaries: Sequence[Summary]) -> tuple[Note, ...]:
    """Weights that say how much a row counts, where they are to say how often it occurs."""
    part = next((x for x in summaries if x.count > 1 and x.n <= AS_GOOD_AS_ONE), None)
    if part is None:
        return ()
    text = (
        f"The weights of {part.count:,} rows sum to {part.n:.3g}. A weight counts how "
        "often a row occurs, so all of them count as one row, and nothing can be learned "
        "from leaving rows out: neither the calibration of angles nor the settings."
    )
    remedy = "Multiply the weights so that they sum to the number of rows."
    return (Note("weights sum to one row", text, remedy, loud=True),)


def calibrated(
    model: Model, chosen: Chosen, settings: Settings, inner: Array | None = None
) -> tuple[Model, Chosen]:
    """A model with its typicality and its calibration, and the costs these come from.

    From leave-one-out costs of sampled rows, or by theory where there are none. `inner` is a basis
    of the model's own span inside the working coordinates.
    """
    working, g, trial, squared = chosen
    if trial is not None and inner is not None:
        trial = trial.inside(inner)
    squared = model.trial_costs(trial) if squared is None else squared
    if trial is not None and squared is not None:
        model = replace(model, typicality=Typicality.of(squared, trial.own, trial.counts))
    if settings.calibrates():
        rows, costs = trial, squared
        if most := more_rows(working.prepared.summaries):
            rows = working.trial(most)
            rows = rows if rows is None or inner is None else rows.inside(inner)
            costs = model.trial_costs(rows)
        if rows is None or costs is None:
            found = theoretical(g.dof, g.n_varying, model.log_determinants())
        else:
            found = fit_calibration(log_odds_of(costs), rows.own, rows.counts)
        model = replace(model, geometry=replace(g, calibration=found))
    return model, Chosen(working, model.geometry, trial, squared)


# ---- costs to K sets --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SetCosts(SetModel):
    """K sets, ready to say what a sample costs each of them.

    Make one with :meth:`from_summaries`.

    >>> from sklearn.datasets import load_iris
    >>> from cospan import Summary
    >>> X, y = load_iris(return_X_y=True)
    >>> costs = SetCosts.from_summaries([Summary.of(X[y == k]) for k in range(3)])
    >>> costs.weights(X[[0, 60, 120]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.03, 0.86, 0.11],
           [0.  , 0.03, 0.97]])
    """

    #: (e, m_k): M_k of the sets as they are, before pooling; inside `basis` where there is one
    maps: tuple[Array, ...] = field(repr=False)

    @classmethod
    def from_summaries(
        cls,
        summaries: Sequence[Summary],
        *,
        labels: Sequence[str] | None = None,
        picture: bool = False,
        again: Again | None = None,
        mapping: RowMap | None = None,
        near: Geometry | None = None,
        **given: Unpack[Given],
    ) -> SetCosts:
        """Prepare K ≥ 2 sets; as :meth:`cospan.JointFrame.from_summaries` does two.

        A part of the sets chooses `near` what was chosen for all of them.
        """
        from cospan.model.curved import with_curve  # made of these

        settings = Settings.of(**given)
        chosen = chosen_sets(summaries, settings, labels, picture, near)
        costs, tried = cls.of_chosen(chosen, settings)
        return with_curve(costs, tried, settings, again, mapping)

    @classmethod
    def of_chosen(cls, chosen: Chosen, settings: Settings) -> tuple[SetCosts, Chosen]:
        """Plain costs, and the rows they are tried on."""
        return calibrated(cls._bare(chosen.working, chosen.geometry), chosen, settings)

    @classmethod
    def settled(cls, geometry: Geometry, summaries: Sequence[Summary]) -> SetCosts:
        """Costs of these sets by the units, α, γ, ν and calibration of others."""
        g = geometry
        working = WorkingSets(PreparedSets.like(g, summaries), g.units)
        own = replace(working.geometry, shrinkage=g.shrinkage, pooling=g.pooling, dof=g.dof)
        return cls._bare(working, replace(own, calibration=g.calibration))

    @classmethod
    def _bare(cls, working: WorkingSets, geometry: Geometry) -> SetCosts:
        """Costs without a calibration."""
        maps = tuple(maps_of(working, geometry.shrinkage))
        notes = notes_on_weights(working.prepared.summaries)
        return cls(geometry=geometry, maps=maps, basis=working.basis, notes=notes)

    @cached_property
    def scoring_maps(self) -> Sequence[Array]:
        return pooled_maps(self.geometry, self.maps)

    def form(self, weighting: str = "cost") -> tuple[Array, Floats]:
        """All maps side by side, in an order of their own: that of the sets changes no bit."""
        g, means = self.geometry, arrays.to_numpy(self.geometry.means)
        if g.pooling == 1:  # one map serves all
            return self.scoring_maps[0], np.ones((g.n_sets, self.scoring_maps[0].shape[1]))
        order = sorted(range(g.n_sets), key=lambda k: (g.sizes[k], *means[k]))
        maps = [self.scoring_maps[k] for k in order]
        across = arrays.namespace(maps[0]).concat(maps, axis=1)
        return across, np.repeat(np.eye(g.n_sets)[:, order], [x.shape[1] for x in maps], axis=1)

    def _factors(self) -> Sequence[Floats]:
        return factors_of(self.maps)

    def log_determinants(self) -> Floats:
        """Minus twice that of the map."""
        values = [np.linalg.svd(arrays.to_numpy(x), compute_uv=False) for x in self.scoring_maps]
        return np.array([-2 * float(np.sum(np.log(x[x > 0]))) for x in values])
