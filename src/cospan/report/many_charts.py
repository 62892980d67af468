"""Charts of a report of K sets as Vega-Lite specifications: a pair's histograms, a triangle.

As in `charts`, no colour and no name from the data stands in a specification.
"""

from __future__ import annotations

from typing import Any

from .charts import INK, SHARED, A, B, Z, _degrees, _finished
from .many import ManyContent

__all__ = ["many_specifications"]

HEIGHT = 3**0.5 / 2  # of a triangle with sides of 1
COLOURS = (A, B, "@high", Z)  # of three sets, and of further rows
SHAPES = ("circle", "triangle-up", "square", "cross")


def many_specifications(content: ManyContent) -> dict[str, dict[str, Any]]:
    """Specifications by the id of the element they are drawn in."""
    found = {"chart-pair": _finished(pair(), height=240)}
    if content.corners:
        found["chart-ternary"] = _finished(triangle(content), height=380)
    return found


def pair() -> Any:
    """Two histograms; the page's script puts in the counts of the pair that was chosen."""
    import altair as alt

    base = alt.Chart(alt.NamedData(name="pair")).encode(
        x=_degrees("x", "angle θ between the two sets"),
        y=alt.Y(
            "share:Q",
            stack=None,
            axis=alt.Axis(format="%", tickCount=4, title="share of the set's rows"),
        ),
    )
    return alt.layer(
        *(
            base.transform_filter(f"datum.group === '{key}'").mark_area(
                interpolate="step-after",
                color=colour,
                fillOpacity=0.42,
                line={"color": colour, "strokeWidth": 1.8, "strokeDash": dash},
            )
            for key, colour, dash in (("A", A, [1, 0]), ("B", B, [6, 2]))
        )
    )


def triangle(content: ManyContent) -> Any:
    """Rows of three sets in a triangle: a corner for each set, the middle for all alike."""
    import altair as alt

    points: list[dict[str, Any]] = [
        {"x": round(second + third / 2, 4), "y": round(third * HEIGHT, 4), "group": str(group)}
        for second, third, group in content.corners
    ]
    keys = sorted({point["group"] for point in points})

    def looks(values: tuple[str, ...]) -> Any:
        return alt.Scale(domain=keys, range=[values[int(key)] for key in keys])

    dots = (
        _placed(points)
        .mark_point(filled=True, size=26, opacity=0.6)
        .encode(
            color=alt.Color("group:N", legend=None, scale=looks(COLOURS)),
            shape=alt.Shape("group:N", legend=None, scale=looks(SHAPES)),
        )
    )
    edge = [(0, 0), (1, 0), (0.5, HEIGHT), (0, 0)]
    outline = _placed([{"x": x, "y": y, "step": i} for i, (x, y) in enumerate(edge)])
    # From the middle to the middle of each side: where the nearest set changes.
    ends = [(0.5, 0), (0.75, HEIGHT / 2), (0.25, HEIGHT / 2)]
    borders = _placed(
        [
            {"x": x, "y": y, "line": i}
            for i, end in enumerate(ends)
            for x, y in ((0.5, HEIGHT / 3), end)
        ]
    )
    return alt.layer(
        borders.mark_line(color=SHARED, strokeDash=[4, 4], strokeWidth=1).encode(detail="line:N"),
        outline.mark_line(color=INK, strokeWidth=1).encode(order="step:O"),
        dots,
    )


def _placed(values: list[dict[str, Any]]) -> Any:
    """A chart of these points without axes, with room for marks at the corners."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("x:Q", scale=alt.Scale(domain=[-0.04, 1.04]), axis=None),
        y=alt.Y("y:Q", scale=alt.Scale(domain=[-0.08, 0.95]), axis=None),
    )
