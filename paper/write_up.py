"""Write the kept results into `angle.md`: its tables and figures, between the marks.

    python paper/write_up.py

Nothing is run: `benchmark.py` and `audit.py` keep results in `results/`, and this page shows them.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import audit
import benchmark

HERE = Path(__file__).parent
PAGE = HERE / "angle.md"
FIGURES = HERE / "figures"
OURS, OTHER = "angle, curved", "boosting"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def means(results: pd.DataFrame, half: str) -> str:
    """Every model's means over tables, and the curved angle beside it."""
    found = benchmark.summary(results, half).sort_values("loss")
    rows = []
    for model, row in found.iterrows():
        cells = [model] + [f"{row[name]:.4f}" for name in benchmark.MEASURES[:-1]]
        cells.append(f"{row['seconds']:.1f}")
        for name, sign in (("auc", -1), ("loss", 1), ("calibration", 1)):
            if model == OURS:
                cells += ["", ""]
                continue
            cells.append(f"{sign * row[f'{name} gap']:+.4f} ± {row[f'{name} error']:.4f}")
            cells.append(f"{row[f'{name} wins']:.0f} : {row[f'{name} losses']:.0f}")
        rows.append(cells)
    head = ["", "AUC", "accuracy", "log-loss", "calibration error", "seconds"]
    for name in ("AUC", "log-loss", "calibration"):
        head += [f"Δ {name}", "won : lost"]
    return markdown(head, rows)


def section(results: pd.DataFrame, half: str) -> str:
    """A half's text: what was run, means, figure, and every pair."""
    here = results[results["half"] == half]
    models = here["model"].nunique()
    whole = here.groupby("pair").filter(lambda part: len(part) == models)
    if whole.empty:
        return "Not run yet."
    of_pairs = [pair for pair in benchmark.pairs(half) if pair.name in set(whole["pair"])]
    of_half = list(benchmark.pairs(half))
    text = (
        f"{len(of_pairs)} pairs of {len({pair.table for pair in of_pairs})} tables"
        + (f" (of {len(of_half)}; the others are not run yet)" if of_pairs != of_half else "")
        + ". Means over tables; Δ is the curved angle less this model, ± its standard error, with "
        "the tables that the curved angle won and lost. Smaller is better for log-loss and "
        "calibration error.\n\n"
    )
    text += means(results, half)
    text += f"\n\n![The curved angle beside boosting.](figures/{half}.png)\n\n*Each dot is a pair.*"
    draw(whole, half)
    rows = []
    for name, part in whole.groupby("pair", sort=True):
        of = part.set_index("model")
        others = of.drop(index=[OURS, "angle, plain"])
        rows.append(
            [
                name,
                f"{of['rows_a'].iloc[0]} + {of['rows_b'].iloc[0]}",
                str(of["features"].iloc[0]),
                *(f"{of.loc[m, k]:.3f}" for k in ("auc", "loss") for m in (OURS, OTHER)),
                f"{others['loss'].idxmin()} {others['loss'].min():.3f}",
            ]
        )
    head = ["pair", "rows", "features", "AUC", "boosting", "log-loss", "boosting", "best other"]
    return (
        f"{text}\n\n<details><summary>Every pair</summary>\n\n{markdown(head, rows)}\n\n</details>"
    )


def draw(whole: pd.DataFrame, half: str) -> None:
    """The curved angle against boosting: AUC, log-loss, calibration error."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    for place, (name, title) in enumerate(
        (("auc", "AUC"), ("loss", "log-loss"), ("calibration", "calibration error")), 1
    ):
        ax = figure.add_subplot(1, 3, place)
        x = whole[whole["model"] == OTHER].set_index("pair")[name]
        y = whole[whole["model"] == OURS].set_index("pair")[name].reindex(x.index)
        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        ax.plot([low, high], [low, high], color="0.6", linewidth=1)
        ax.scatter(x, y, s=14, color="#1f6fb4", alpha=0.7, linewidths=0)
        side = "above" if name == "auc" else "below"
        ax.set(xlabel="boosting", ylabel="curved angle", title=f"{title} (better: {side})")
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{half}.png", dpi=110)


def audited() -> str:
    results = audit.kept()
    if not results:
        return "Not run yet."
    found = audit.table(results)
    rows = [[name, *(f"{x:.3f}" for x in row)] for name, row in found.iterrows()]
    rows.append(["**mean**", *(f"**{x:.3f}**" for x in found.mean())])
    flagged = audit.flags(results)
    lines = [[f"{at:.0%}", *map(shown, row)] for at, row in flagged.iterrows()]
    return (
        "Average precision, the mean of three draws:\n\n"
        + markdown(["", *found.columns], rows)
        + "\n\nWhat is flagged:\n\n"
        + markdown(["stated precision", *flagged.columns], lines)
    )


def shown(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float | np.floating) else str(value)


def renewed(page: str, mark: str, text: str) -> str:
    """The page with new text between a mark and the next end."""
    found, count = re.subn(
        rf"<!-- {mark} -->.*?<!-- end -->",
        lambda _: f"<!-- {mark} -->\n{text}\n<!-- end -->",
        page,
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"{PAGE.name} has {count} places for {mark}; there must be one.")
    return found


def main() -> None:
    page, results = PAGE.read_text("utf-8"), benchmark.kept()
    for half in ("design", "evaluation"):
        page = renewed(page, half, section(results, half))
    page = renewed(page, "audit", audited())
    PAGE.write_text(page, "utf-8")
    print(f"{PAGE.name} is up to date.")


if __name__ == "__main__":
    main()
