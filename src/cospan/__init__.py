"""cospan: compare datasets by their geometry.

How the data flows, in order:

1. `sources` read anything as rows in chunks, with names; tables of mixed columns by an encoding
   plan learned from all sets.
2. `Summary` turns the rows of a set into a small thing (count, mean, triangular factor) that
   merges with others.
3. `sets` brings K summaries into common units, chooses what is left to the data by exact
   leave-one-out, and says what a sample costs each set.
4. `JointFrame` decomposes two of them together, by the `gsvd`: directions that only A has, those
   both share, those only B has, and how far the means are apart along each.
5. `frame.align(Z)` gives every sample its `Alignment`: the angle θ, 0° for A, 90° for B.
6. `distribution`, `significance` and `sensitivity` say what the angles of two groups amount to;
   `directions`, `attribution`, `changes` and `procrustes` what they are made of; `audit` whose
   label looks wrong.
7. `compare` runs the whole pipeline in one call, and `compare_many` for more than two sets;
   `AlignmentAngleClassifier` brings it to scikit-learn, `report` and `plots` show it, and `cli`
   is the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cospan.alignment import Alignment
    from cospan.attribution import Attribution, attribute
    from cospan.audit import ImportanceWeights, LabelAudit, audit_labels, importance_weights
    from cospan.comparison import Comparison, ManyComparison, ScoredGroup, compare, compare_many
    from cospan.decomposition import GSVD, Blocks, GSVDStack, PartialGSVD, gsvd, gsvds, gsvdvals
    from cospan.directions import Directions, extreme_directions, shared_directions
    from cospan.distribution import (
        angle_histogram,
        bhattacharyya,
        bin_posterior,
        fisher_rao,
        hellinger,
        posterior_ambiguity,
    )
    from cospan.embedding import embed_images, embed_texts
    from cospan.estimator import AlignmentAngleClassifier
    from cospan.frame import JointFrame, LeaveOneOut, ManyFrame, Prototypes, prototypes
    from cospan.model_file import load, save
    from cospan.monitoring import Monitoring, Profile, monitor
    from cospan.panel import Fidelity, Measure, Panel, fidelity, measure_panel
    from cospan.procrustes import RelativeProcrustes, SpanView, relative_procrustes, span_view
    from cospan.significance import Estimate, Separation, ShiftTest, separation, shift_test
    from cospan.studies import Sensitivity, SettingChange, sensitivity
    from cospan.summary import RowSample, Summary
    from cospan.typicality import neither

__version__ = "0.2.0.dev0"

# Public names and the modules they live in. They are imported on first use, so that `import
# cospan` and `cospan --help` answer at once. (Keep the block for type checkers above in step.)
_PUBLIC = {
    "Alignment": "alignment",
    "AlignmentAngleClassifier": "estimator",
    "Attribution": "attribution",
    "Blocks": "decomposition",
    "Comparison": "comparison",
    "Directions": "directions",
    "Estimate": "significance",
    "Fidelity": "panel",
    "GSVD": "decomposition",
    "GSVDStack": "decomposition",
    "ImportanceWeights": "audit",
    "JointFrame": "frame",
    "LabelAudit": "audit",
    "LeaveOneOut": "frame",
    "ManyComparison": "comparison",
    "ManyFrame": "frame",
    "Measure": "panel",
    "Panel": "panel",
    "Prototypes": "frame",
    "Monitoring": "monitoring",
    "PartialGSVD": "decomposition",
    "Profile": "monitoring",
    "RelativeProcrustes": "procrustes",
    "RowSample": "summary",
    "ScoredGroup": "comparison",
    "Sensitivity": "studies",
    "Separation": "significance",
    "SettingChange": "studies",
    "ShiftTest": "significance",
    "SpanView": "procrustes",
    "Summary": "summary",
    "angle_histogram": "distribution",
    "attribute": "attribution",
    "audit_labels": "audit",
    "bhattacharyya": "distribution",
    "bin_posterior": "distribution",
    "compare": "comparison",
    "compare_many": "comparison",
    "embed_images": "embedding",
    "embed_texts": "embedding",
    "extreme_directions": "directions",
    "fidelity": "panel",
    "fisher_rao": "distribution",
    "gsvd": "decomposition",
    "gsvds": "decomposition",
    "gsvdvals": "decomposition",
    "hellinger": "distribution",
    "importance_weights": "audit",
    "load": "model_file",
    "measure_panel": "panel",
    "monitor": "monitoring",
    "neither": "typicality",
    "posterior_ambiguity": "distribution",
    "prototypes": "frame",
    "relative_procrustes": "procrustes",
    "save": "model_file",
    "sensitivity": "studies",
    "separation": "significance",
    "shared_directions": "directions",
    "shift_test": "significance",
    "span_view": "procrustes",
}

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'cospan' has no attribute {name!r}")
    value = getattr(import_module(f"cospan.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
