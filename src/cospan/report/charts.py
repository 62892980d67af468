"""The page's charts as Vega-Lite specifications, made with Altair.

No colour and no name from the data stands in a specification: the page's script sets colours from
the style sheet, so that charts follow light and dark, and names are text of the page. What moves
(threshold, chosen bin, chosen direction) is a parameter that the script sets.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .content import Group, ReportContent

__all__ = ["drawn_counts", "drawn_shares", "javascript", "specifications"]

# Stand-ins for colours; the script puts the style sheet's in (`painted` in page/charts.js).
A, B, Z, INK, SHADE = "@a", "@b", "@z", "@ink", "@shade"
SHARED, A_SOFT, B_SOFT = "@shared", "@a-soft", "@b-soft"
DEGREES = [0, 15, 30, 45, 60, 75, 90]


def specifications(content: ReportContent) -> dict[str, dict[str, Any]]:
    """Specifications by the id of the element they are drawn in."""
    return {
        "chart-angles": _finished(angles(content), height=280),
        "chart-posterior": _finished(membership(content), height=200),
        "chart-spectrum": _finished(spectrum(content), height=240),
    }


@lru_cache(maxsize=1)
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, in the version Altair writes for."""
    import altair
    import vl_convert

    major, minor, *_ = altair.SCHEMA_VERSION.split(".")
    entry = "window.vegaEmbed = vegaEmbed;"
    bundle: str = vl_convert.javascript_bundle(entry, vl_version=f"{major}.{minor}")
    return bundle.replace("</script", "<\\/script")


def drawn_counts(group: Group, bins: int) -> NDArray[np.int64]:
    """Counts of a group in the bins drawn, summed from the finer ones."""
    counts: NDArray[np.int64] = np.asarray(group.counts).reshape(bins, -1).sum(axis=1)
    return counts


def drawn_shares(group: Group, bins: int) -> NDArray[np.float64]:
    """The same as shares of the group's rows."""
    counts = drawn_counts(group, bins)
    return counts / max(int(counts.sum()), 1)


def _finished(chart: Any, height: int) -> dict[str, Any]:
    specification: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    specification.pop("$schema")  # an address; the page knows its version
    specification.pop("config", None)  # comes from the style sheet
    return specification


def _degrees(field: str, title: str | None) -> Any:
    import altair as alt

    axis = alt.Axis(values=DEGREES, labelExpr="datum.value + '°'", grid=False, title=title)
    return alt.X(field, type="quantitative", scale=alt.Scale(domain=[0, 90]), axis=axis)


def angles(content: ReportContent) -> Any:
    """Histograms of θ, the threshold, the chosen bin, and a target to click in every bin."""
    import altair as alt

    width = 90 / content.bins
    steps = [
        {"group": group.key, "x": i * width, "share": round(float(share), 5)}
        for group in content.groups
        for shares in [drawn_shares(group, content.bins)]
        # a step needs an end: the last bin's height once more, at 90°
        for i, share in enumerate([*shares, shares[-1]])
    ]
    base = alt.Chart(alt.InlineData(values=steps)).encode(
        x=_degrees("x", "angle θ"),
        y=alt.Y(
            "share:Q",
            stack=None,
            axis=alt.Axis(format="%", tickCount=4, title="share of the group's rows"),
        ),
    )
    layers = [
        base.transform_filter(f"datum.group === '{key}'").mark_area(
            interpolate="step-after",
            color=colour,
            fillOpacity=0.42,
            line={"color": colour, "strokeWidth": 1.8, "strokeDash": dash},
        )
        for key, colour, dash in (("A", A, [1, 0]), ("B", B, [6, 2]))
    ]
    if any(group.key == "Z" for group in content.groups):
        scored = base.transform_filter("datum.group === 'Z'")
        layers.append(scored.mark_line(interpolate="step-after", color=Z, strokeWidth=2))
    return alt.layer(_chosen_bin(content), *layers, _threshold(), _targets(content))


def _chosen_bin(content: ReportContent) -> Any:
    """The band behind the chosen bin."""
    import altair as alt

    width = 90 / content.bins
    values = [{"bin": i, "from": i * width, "to": (i + 1) * width} for i in range(content.bins)]
    chosen = alt.param(name="chosen", value=-1)
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_rect(color=SHADE)
        .encode(x=_degrees("from", "angle θ"), x2="to:Q")
        .transform_filter("datum.bin === chosen")
        .add_params(chosen)
    )


def _threshold() -> Any:
    import altair as alt

    threshold = alt.param(name="threshold", value=45)
    return (
        alt.Chart(alt.InlineData(values=[{"at": 0}]))
        .transform_calculate(at="threshold")
        .mark_rule(color=INK, strokeWidth=1.6, strokeDash=[3, 3])
        .encode(x=_degrees("at", "angle θ"))
        .add_params(threshold)
    )


def _targets(content: ReportContent) -> Any:
    """Invisible columns, one for each bin: easier to hit than a short bar."""
    import altair as alt

    width = 90 / content.bins
    values: list[dict[str, Any]] = [
        {
            "bin": i,
            "from": i * width,
            "to": (i + 1) * width,
            "θ": f"{i * width:g}° to {(i + 1) * width:g}°",
            **{
                f"rows of {group.key}": int(drawn_counts(group, content.bins)[i])
                for group in content.groups
            },
        }
        for i in range(content.bins)
    ]
    tooltip = ["θ:N", *(alt.Tooltip(f"rows of {g.key}:Q", format=",") for g in content.groups)]
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_rect(opacity=0, cursor="pointer")
        .encode(x=_degrees("from", "angle θ"), x2="to:Q", tooltip=tooltip)
    )


def membership(content: ReportContent) -> Any:
    """The share of A and of B among the rows in each bin, sets of equal size assumed."""
    import altair as alt

    width = 90 / content.bins
    values = []
    for i, posterior in enumerate(content.posterior):
        empty = posterior is None
        # no row in the bin: what the angle alone says, drawn translucent
        of_a = math.cos(math.radians((i + 0.5) * width)) ** 2 if posterior is None else posterior
        edges = {"from": i * width, "to": (i + 1) * width, "empty": empty}
        note = "no rows here: cos²θ instead" if empty else f"{of_a:.1%}"
        values.append({**edges, "low": 0.0, "high": of_a, "group": "A", "share of A": note})
        values.append({**edges, "low": of_a, "high": 1.0, "group": "B", "share of A": note})
    bars = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(stroke=SHADE, strokeWidth=0.5)
        .encode(
            x=_degrees("from", "angle θ"),
            x2="to:Q",
            y=alt.Y("low:Q", axis=alt.Axis(format="%", tickCount=3, title="share of A and of B")),
            y2="high:Q",
            color=alt.Color(
                "group:N", scale=alt.Scale(domain=["A", "B"], range=[A, B]), legend=None
            ),
            opacity=alt.condition("datum.empty", alt.value(0.18), alt.value(0.85)),
            tooltip=["share of A:N"],
        )
    )
    return alt.layer(bars, _even_line())


def _even_line() -> Any:
    import altair as alt

    return (
        alt.Chart(alt.InlineData(values=[{"low": 0.5}]))
        .mark_rule(color=INK, strokeDash=[3, 3], opacity=0.7)
        .encode(y="low:Q")
    )


def spectrum(content: ReportContent) -> Any:
    """The angle of every direction, in order, coloured by the side it leans to."""
    import altair as alt

    found = content.spectrum
    axis = alt.Axis(values=DEGREES, labelExpr="datum.value + '°'", title="angle")
    y = alt.Y("angle:Q", scale=alt.Scale(domain=[0, 90]), axis=axis)
    scale = alt.Scale(domain=[0, 45, 90], range=[A, SHARED, B], interpolate="rgb")
    colour = alt.Color("angle:Q", scale=scale, legend=None)
    values = [
        {"direction": i + 1, "angle": angle, "from": min(angle, 45.0), "to": max(angle, 45.0)}
        for i, angle in found.angles
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(x=_places(content))
    stems = base.mark_rule(opacity=0.35).encode(y=alt.Y("from:Q"), y2="to:Q", color=colour)
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(y=y, color=colour)
    return alt.layer(_blocks(content), _walker(), stems, dots, _direction_targets(content))


def _places(content: ReportContent, field: str = "direction") -> Any:
    import altair as alt

    scale = alt.Scale(domain=[0.5, content.spectrum.size + 0.5], nice=False)
    axis = alt.Axis(grid=False, tickMinStep=1, title="direction, from A's to B's")
    return alt.X(field, type="quantitative", scale=scale, axis=axis)


def _direction_targets(content: ReportContent) -> Any:
    """Invisible columns, each half way to the next dot: a click need not hit the dot."""
    import altair as alt

    found = content.spectrum
    places = [i + 1 for i, _ in found.angles]
    middles = [(one + other) / 2 for one, other in pairwise(places)]
    edges = [0.5, *middles, found.size + 0.5]
    values = [
        {"direction": i + 1, "angle": angle, "start": start, "end": end}
        for (i, angle), (start, end) in zip(found.angles, pairwise(edges), strict=True)
    ]
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_rect(opacity=0, cursor="pointer")
        .encode(
            x=_places(content, "start"),
            x2="end:Q",
            tooltip=["direction:Q", alt.Tooltip("angle:Q", format=".1f", title="angle in °")],
        )
    )


def _blocks(content: ReportContent) -> Any:
    """Shaded grounds under the directions that only A and that only B has."""
    import altair as alt

    r, _, t = content.spectrum.blocks
    end = content.spectrum.size + 0.5
    values = [
        {"direction": 0.5, "end": r + 0.5, "block": "A-only"},
        {"direction": end - t, "end": end, "block": "B-only"},
    ]
    scale = alt.Scale(domain=["A-only", "B-only"], range=[A_SOFT, B_SOFT])
    return (
        alt.Chart(alt.InlineData(values=[v for v, n in zip(values, (r, t), strict=True) if n]))
        .mark_rect(opacity=0.8)
        .encode(x=_places(content), x2="end:Q", fill=alt.Fill("block:N", scale=scale, legend=None))
    )


def _walker() -> Any:
    """The line at the direction that the slider has come to."""
    import altair as alt

    return (
        alt.Chart(alt.InlineData(values=[{"at": 0}]))
        .transform_calculate(at="direction")
        .mark_rule(color=INK, strokeWidth=1.6, strokeDash=[3, 3])
        .encode(x="at:Q")
        .add_params(alt.param(name="direction", value=1))
    )
