"""How to compare: every setting of a comparison, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches

from cospan.base.checks import as_count, as_option, as_shrinkage
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Option, Record
from cospan.errors import InputError
from cospan.evidence import FEWEST_LABELLINGS
from cospan.model import DEFAULTS, Given, settled
from cospan.model import Settings as SetSettings

Progress = Callable[[str, int, int | None], None]  # what is being done, rows done, rows in all
SourceOptions = Record  # of :func:`cospan.data.open_source`


class Options(Given, total=False):
    """Settings of a comparison, and options of its sources: what may be left out of a call."""

    weighting: str
    seed: int
    n_permutations: int
    score_all: bool | None
    exact: bool | None
    groups: object
    columns: Sequence[str | int] | None
    id_column: str | None
    chunk_rows: int | None
    categorical: Sequence[str] | None
    numeric: Sequence[str] | None
    drop: Sequence[str] | None
    keep: Sequence[str] | None
    image_size: int | tuple[int, int] | None
    image_mode: str
    text: str | None
    embed: object


@dataclass(frozen=True)
class Settings(SetSettings):
    """How to compare; see :func:`cospan.compare` for each."""

    preset: str | None = None
    weighting: str = "cost"
    seed: int = 0
    n_permutations: int = 999
    score_all: bool | None = None
    exact: bool | None = None

    @classmethod
    def of(cls, **given: Option) -> Settings:
        """Settings as :func:`cospan.compare` takes them, the preset resolved."""
        asked = {name: given[name] for name in (*DEFAULTS, "preset") if name in given}
        return cls(**{**given, **settled(asked, DEFAULTS)})

    def __post_init__(self) -> None:
        weighting = as_option(self.weighting, "weighting", ("cost", "frame"))
        if weighting == "frame" and self.span == "affine":
            raise InputError(
                'weighting="frame" belongs to the linear span; give span="linear" with it.'
            )
        as_shrinkage(self.shrinkage)
        as_count(self.n_permutations, "n_permutations", least=FEWEST_LABELLINGS)
        as_count(self.seed, "seed", least=0)

    def as_dict(self) -> dict[str, object]:
        """The settings as plain values."""
        center = self.center if isinstance(self.center, str) else "given"
        return {**asdict(replace(self, center=None)), "center": center}

    def settled(self, n_rows: int | None, n_features: int) -> Settings:
        """The settings with `exact` decided by what is to be compared."""
        if self.exact is not None:
            return self
        alpha = 0.0 if self.preset == "paper" else self.shrinkage
        weak = alpha != "auto" and float(alpha) < FAST_SHRINKAGE
        # With fewer rows than features, factors are smaller than matrices, and as fast to make.
        wide = n_rows is not None and n_rows < n_features
        return replace(self, exact=weak or wide)


def split_options(given: Options) -> tuple[Settings, SourceOptions]:
    """The settings of a comparison among what was given, and the options of its sources."""
    for name in given.keys() - Options.__annotations__.keys():
        close = get_close_matches(name, Options.__annotations__, 1)
        meant = f"; did you mean {close[0]}=?" if close else "; help(cospan.compare) lists them."
        raise TypeError(f"A comparison has no argument {name}={meant}")
    known = {field.name for field in fields(Settings)}
    settings = {name: value for name, value in given.items() if name in known}
    reading = {name: value for name, value in given.items() if name not in known}
    return Settings.of(**settings), reading
