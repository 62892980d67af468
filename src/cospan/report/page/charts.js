// Vega-Lite charts in the colours of the style sheet, and the moving parts' values.

const views = {};
window.cospanViews = views; // for the curious, and for the tests
const signals = {};

// "@a" in a specification stands for the style sheet's --a.
function painted(value) {
  if (typeof value === "string" && value.startsWith("@")) return colour(value.slice(1));
  if (Array.isArray(value)) return value.map(painted);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, painted(item)]));
  }
  return value;
}

function chartConfig() {
  const [ink, muted, line] = ["ink", "muted", "line"].map(colour);
  const font = getComputedStyle(document.body).fontFamily;
  return {
    background: "transparent",
    font,
    view: { stroke: null },
    axis: {
      labelColor: muted, titleColor: muted, titleFontWeight: "normal", titleFontSize: 12,
      labelFontSize: 12, domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.6,
    },
    axisX: { domainColor: ink },
  };
}

async function drawChart(id, onClick) {
  if (views[id]) views[id].finalize();
  const made = await window.vegaEmbed(byId(id), painted(charts[id]), {
    mode: "vega-lite",
    ast: true, // expressions are interpreted: the page's policy forbids eval
    expressionFunctions: {},
    renderer: "canvas",
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    config: chartConfig(),
  });
  views[id] = made.view;
  for (const [name, value] of Object.entries(signals[id] ?? {})) made.view.signal(name, value);
  if (onClick) made.view.addEventListener("click", (_, item) => item?.datum && onClick(item.datum));
  await made.view.runAsync();
}

function setSignal(id, name, value) {
  signals[id] = { ...signals[id], [name]: value };
  if (views[id]) views[id].signal(name, value).runAsync();
}
