"""cospan: compare datasets by their geometry.

`data` reads anything as rows in chunks. `summary` turns the rows of a set into something small that
merges. `model` brings summaries of K sets into common units and says what a sample costs each set;
a `JointFrame` decomposes two of them by the `gsvd`, and gives every sample its angle. `evidence`
says whether sets differ, how much and in what. `compare` and `monitor` run all of it in one call;
`report`, `plots` and `cli` show it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cospan._version import VERSION

if TYPE_CHECKING:  # `as` says that a name is meant for others, too
    from cospan.comparison import Comparison as Comparison
    from cospan.comparison import audit_labels as audit_labels
    from cospan.comparison import compare as compare
    from cospan.comparison import importance_weights as importance_weights
    from cospan.decomposition import GSVD as GSVD
    from cospan.decomposition import gsvd as gsvd
    from cospan.decomposition import gsvds as gsvds
    from cospan.decomposition import gsvdvals as gsvdvals
    from cospan.errors import CospanError as CospanError
    from cospan.errors import CospanWarning as CospanWarning
    from cospan.errors import InputError as InputError
    from cospan.errors import MissingDependencyError as MissingDependencyError
    from cospan.errors import ModelFileError as ModelFileError
    from cospan.errors import SourceError as SourceError
    from cospan.estimator import AlignmentAngleClassifier as AlignmentAngleClassifier
    from cospan.evidence import angle_histogram as angle_histogram
    from cospan.evidence import bhattacharyya as bhattacharyya
    from cospan.evidence import bin_posterior as bin_posterior
    from cospan.evidence import fisher_rao as fisher_rao
    from cospan.evidence import hellinger as hellinger
    from cospan.evidence import posterior_ambiguity as posterior_ambiguity
    from cospan.evidence import separation as separation
    from cospan.evidence import shift_test as shift_test
    from cospan.measures import fidelity as fidelity
    from cospan.measures import measure_panel as measure_panel
    from cospan.model import Alignment as Alignment
    from cospan.model import JointFrame as JointFrame
    from cospan.model import attribute as attribute
    from cospan.model import extreme_directions as extreme_directions
    from cospan.model import prototypes as prototypes
    from cospan.model import shared_directions as shared_directions
    from cospan.model_file import load as load
    from cospan.model_file import save as save
    from cospan.monitoring import Monitoring as Monitoring
    from cospan.monitoring import Profile as Profile
    from cospan.monitoring import monitor as monitor
    from cospan.procrustes import relative_procrustes as relative_procrustes
    from cospan.procrustes import span_view as span_view
    from cospan.studies import sensitivity as sensitivity
    from cospan.summary import Summary as Summary

__version__ = VERSION

# Public names and the modules they live in. They are imported on first use, so that `import
# cospan` and `cospan --help` answer at once. (Keep the block for type checkers above in step.)
_NAMES = {
    "comparison": "Comparison audit_labels compare importance_weights",
    "decomposition": "GSVD gsvd gsvds gsvdvals",
    "errors": "CospanError CospanWarning InputError MissingDependencyError ModelFileError "
    "SourceError",
    "estimator": "AlignmentAngleClassifier",
    "evidence": "angle_histogram bhattacharyya bin_posterior fisher_rao hellinger "
    "posterior_ambiguity separation shift_test",
    "measures": "fidelity measure_panel",
    "model": "Alignment JointFrame attribute extreme_directions prototypes shared_directions",
    "model_file": "load save",
    "monitoring": "Monitoring Profile monitor",
    "procrustes": "relative_procrustes span_view",
    "studies": "sensitivity",
    "summary": "Summary",
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
