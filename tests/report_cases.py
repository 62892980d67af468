"""Comparisons for the tests of pictures and reports, made directly, without computing one."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits

from cospan.alignment import Alignment
from cospan.comparison import Comparison, compare
from cospan.comparison.scoring import ScoredGroup
from cospan.sets import Calibration

HOSTILE = {
    "html": '<b>bold</b><img src=x onerror="window.hacked=1">',
    "script": "</script><script>window.hacked=1</script>",
    "template": "{{ 7 * 7 }}{% raw %}${window.hacked=1}",
    "markdown": "|x|`y`[link](http://evil.example)*z*\n# heading",
    "long": "long" * 2_000,
    "emoji": "👩🏽‍🔬🧪 mélange \u200d",
    "rtl": "קובץ العربية \u202etxt.exe",
    "control": "tab\tbell\x07null\x00line\u2028end\ud800",
}


def estimate(value, spread=0.05):
    return SimpleNamespace(value=value, low=value - spread, high=value + spread, confidence=0.95)


def angles(n, centre, rng, width=9.0):
    return np.radians(np.clip(rng.normal(centre, width, n), 0.01, 89.99))


def group(name, theta, d, rng, *, ids=None, shown=2_000, scale=1, keep_rows=True):
    """A scored group; with `scale` each kept row stands for that many rows."""
    n = len(theta)
    a, b = np.sin(theta), np.cos(theta)
    raw = {"weighting": "cost", "calibration": Calibration()}
    alignment = Alignment.from_costs(a**2, b**2, shares=None, outside=None, **raw)
    counts, _ = np.histogram(np.degrees(alignment.theta), bins=900, range=(0, 90))
    index = np.sort(rng.permutation(n)[: min(n, shown)])
    rows = rng.gamma(2.0, 1.0, (len(index), d))
    pull = rng.normal(0, 1, (len(index), d))
    return ScoredGroup(
        name=name,
        n=n * scale,
        counts=counts.astype(np.int64) * scale,
        alignment=alignment,
        ids=np.arange(n) if ids is None else np.asarray(ids, dtype=object),
        rows=rows if keep_rows else None,
        row_index=index if keep_rows else np.arange(0),
        attribution=pull / np.abs(pull).sum(axis=1, keepdims=True) if keep_rows else None,
        leave_one_out=True,
        sampled=False,
    )


def frame(d, m=None, blocks=None, seed=0):
    m = m or d
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.05, np.pi / 2 - 0.05, m))
    blocks = blocks or (0, m, 0)
    t[: blocks[0]] = 0
    t[m - blocks[2] :] = np.pi / 2
    H = rng.normal(size=(m, d))
    return SimpleNamespace(
        c=np.cos(t),
        s=np.sin(t),
        H=H,
        angles=t,
        blocks=blocks,
        rank=m,
        shrinkage=0.1,
        balance=True,
        gain=1.0,
    )


def audit_of(a, b, name_a, name_b):
    """The rows on the wrong side of 45° by more than 5°, as `audit_labels` would flag them."""
    theta = np.degrees(np.concatenate([a.alignment.theta, b.alignment.theta]))
    of_b = np.repeat([False, True], [len(a.ids), len(b.ids)])
    wrong = np.where(of_b, 45 - theta, theta - 45)
    labels = np.where(of_b, name_b, name_a).astype(object)
    return SimpleNamespace(
        suspicion=np.clip(wrong / 90 + 0.5, 0, 1),
        suggested=np.where(theta > 45, name_b, name_a).astype(object),
        flagged=wrong > 5,
        labels=labels,
        theta=np.radians(theta),
    )


def comparison(
    n_a=400,
    n_b=300,
    d=12,
    *,
    n_z=0,
    image_shape=None,
    names=("left", "right"),
    feature_names=None,
    scale=1,
    seed=0,
    ids=None,
    blocks=None,
    warnings=(),
    **changes,
):
    """A comparison with invented but consistent numbers."""
    rng = np.random.default_rng(seed)
    a = group(names[0], angles(n_a, 30, rng), d, rng, scale=scale, ids=ids)
    b = group(names[1], angles(n_b, 62, rng), d, rng, scale=scale, ids=ids)
    z = group("new rows", angles(n_z, 50, rng, 15), d, rng, scale=scale) if n_z else None
    fields = {
        "name_a": names[0],
        "name_b": names[1],
        "frame": frame(d, min(d, 500), blocks),
        "group_a": a,
        "group_b": b,
        "group_z": z,
        "separation": SimpleNamespace(
            fisher_rao=estimate(2.4),
            hellinger=estimate(0.8),
            auc=estimate(0.95, 0.02),
            overlap=estimate(0.1),
            n_a=n_a,
            n_b=n_b,
            bins=30,
        ),
        "shift": SimpleNamespace(statistic=2.4, pvalue=0.001, n_permutations=999),
        "audit": audit_of(a, b, *names),
        "effect_a": rng.normal(-0.05, 0.1, d),
        "effect_b": rng.normal(0.05, 0.1, d),
        "feature_names": tuple(feature_names or (f"x{i}" for i in range(d))),
        "image_shape": image_shape,
        "settings": {"center": "pooled", "shrinkage": "auto", "balance": True},
        "warnings": tuple(warnings),
        "version": "0.1.0",
        "seconds": 1.25,
    }
    return Comparison(**{**fields, **changes})


def digits_comparison(**changes):
    """A real one: scikit-learn's digits 4 and 9, three labels of each wrong, 7 to be scored."""
    X, y = load_digits(return_X_y=True)
    four, nine = X[y == 4], X[y == 9]
    A, B = np.vstack([four[3:], nine[:3]]), np.vstack([nine[3:], four[:3]])
    options = {"name_a": "digit 4", "name_b": "digit 9", "image_shape": (8, 8)}
    return compare(A, B, X[y == 7], n_permutations=99, **{**options, **changes})


def hostile_comparison(**changes):
    """Every name from the data is hostile: sets, columns, row identifiers, settings, warnings."""
    nasty = list(HOSTILE.values())
    ids = [f"{nasty[i % len(nasty)]}" for i in range(60)]
    case = comparison(
        60,
        60,
        len(nasty),
        names=(HOSTILE["script"], HOSTILE["rtl"]),
        feature_names=nasty,
        ids=ids,
        warnings=(HOSTILE["html"],),
        settings={HOSTILE["html"]: HOSTILE["script"], "label": HOSTILE["long"]},
        **changes,
    )
    return flag_first_rows(case)


def flag_first_rows(case):
    """The same comparison, with the first eight rows of A flagged and no others."""
    case.audit.flagged[:] = np.arange(len(case.audit.flagged)) < 8
    return case
