"""cospan: compare datasets by their geometry.

How the data flows, in order:

1. `sources` read anything as rows in chunks, with names; tables of mixed columns by an encoding
   plan learned from all sets.
2. `Summary` turns the rows of a set into a small thing (count, mean, triangular factor) that
   merges with others.
3. `model` brings K summaries into common units, chooses what is left to the data by exact
   leave-one-out, and says what a sample costs each set.
4. `JointFrame` decomposes two of them together, by the `gsvd`: directions that only A has, those
   both share, those only B has, and how far the means are apart along each.
5. `frame.align(Z)` gives every sample its `Alignment`: the angle θ, 0° for A, 90° for B.
6. `evidence` says whether two sets differ, how much and in what; `distribution` and `sensitivity`
   what the angles of two groups amount to; `directions`, `attribution` and `procrustes` what they
   are made of; `audit` whose label looks wrong.
7. `compare` runs the whole pipeline in one call, and `compare_many` for more than two sets;
   `AlignmentAngleClassifier` brings it to scikit-learn, `report` and `plots` show it, and `cli`
   is the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cospan._version import VERSION

if TYPE_CHECKING:  # `as` says that a name is meant for others, too
    from cospan.audit import ImportanceWeights as ImportanceWeights
    from cospan.audit import LabelAudit as LabelAudit
    from cospan.audit import audit_labels as audit_labels
    from cospan.audit import importance_weights as importance_weights
    from cospan.comparison import Comparison as Comparison
    from cospan.comparison import LikeNeither as LikeNeither
    from cospan.comparison import ManyComparison as ManyComparison
    from cospan.comparison import ScoredGroup as ScoredGroup
    from cospan.comparison import compare as compare
    from cospan.comparison import compare_many as compare_many
    from cospan.decomposition import GSVD as GSVD
    from cospan.decomposition import Blocks as Blocks
    from cospan.decomposition import JuliaForm as JuliaForm
    from cospan.decomposition import LapackForm as LapackForm
    from cospan.decomposition import MatlabForm as MatlabForm
    from cospan.decomposition import PartialGSVD as PartialGSVD
    from cospan.decomposition import gsvd as gsvd
    from cospan.decomposition import gsvds as gsvds
    from cospan.decomposition import gsvdvals as gsvdvals
    from cospan.distribution import angle_histogram as angle_histogram
    from cospan.distribution import bhattacharyya as bhattacharyya
    from cospan.distribution import bin_posterior as bin_posterior
    from cospan.distribution import fisher_rao as fisher_rao
    from cospan.distribution import hellinger as hellinger
    from cospan.distribution import posterior_ambiguity as posterior_ambiguity
    from cospan.estimator import AlignmentAngleClassifier as AlignmentAngleClassifier
    from cospan.evidence import separation as separation
    from cospan.evidence import shift_test as shift_test
    from cospan.model import Alignment as Alignment
    from cospan.model import Attribution as Attribution
    from cospan.model import Directions as Directions
    from cospan.model import JointFrame as JointFrame
    from cospan.model import LeaveOneOut as LeaveOneOut
    from cospan.model import ManyFrame as ManyFrame
    from cospan.model import Prototypes as Prototypes
    from cospan.model import attribute as attribute
    from cospan.model import extreme_directions as extreme_directions
    from cospan.model import neither as neither
    from cospan.model import prototypes as prototypes
    from cospan.model import shared_directions as shared_directions
    from cospan.model_file import load as load
    from cospan.model_file import save as save
    from cospan.monitoring import Episode as Episode
    from cospan.monitoring import Monitoring as Monitoring
    from cospan.monitoring import Profile as Profile
    from cospan.monitoring import Window as Window
    from cospan.monitoring import monitor as monitor
    from cospan.panel import Fidelity as Fidelity
    from cospan.panel import Measure as Measure
    from cospan.panel import Panel as Panel
    from cospan.panel import fidelity as fidelity
    from cospan.panel import measure_panel as measure_panel
    from cospan.procrustes import RelativeProcrustes as RelativeProcrustes
    from cospan.procrustes import SpanView as SpanView
    from cospan.procrustes import relative_procrustes as relative_procrustes
    from cospan.procrustes import span_view as span_view
    from cospan.studies import Sensitivity as Sensitivity
    from cospan.studies import SettingChange as SettingChange
    from cospan.studies import sensitivity as sensitivity
    from cospan.summary import RowSample as RowSample
    from cospan.summary import Summary as Summary

__version__ = VERSION

# Public names and the modules they live in. They are imported on first use, so that `import
# cospan` and `cospan --help` answer at once. (Keep the block for type checkers above in step.)
_NAMES = {
    "audit": "ImportanceWeights LabelAudit audit_labels importance_weights",
    "comparison": "Comparison LikeNeither ManyComparison ScoredGroup compare compare_many",
    "decomposition": "Blocks GSVD JuliaForm LapackForm MatlabForm PartialGSVD gsvd gsvds gsvdvals",
    "distribution": "angle_histogram bhattacharyya bin_posterior fisher_rao hellinger "
    "posterior_ambiguity",
    "estimator": "AlignmentAngleClassifier",
    "evidence": "separation shift_test",
    "model": "Alignment Attribution Directions JointFrame LeaveOneOut ManyFrame Prototypes "
    "attribute extreme_directions neither prototypes shared_directions",
    "model_file": "load save",
    "monitoring": "Episode Monitoring Profile Window monitor",
    "panel": "Fidelity Measure Panel fidelity measure_panel",
    "procrustes": "RelativeProcrustes SpanView relative_procrustes span_view",
    "studies": "Sensitivity SettingChange sensitivity",
    "summary": "RowSample Summary",
}
_PUBLIC = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'cospan' has no attribute {name!r}")
    value = getattr(import_module(f"cospan.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
