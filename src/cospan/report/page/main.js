// Start every part; draw all of it anew when the theme changes.

function startTheme() {
  const root = document.documentElement;
  const button = byId("theme");
  const label = () => { button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
  new MutationObserver(() => {
    label();
    for (const redraw of redraws) redraw();
  }).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  label();
}

startTheme();
startThreshold();
startBins();
startDirections();
drawn(showEffects);
startConflicts();
drawn(() => {
  const all = [
    drawChart("chart-angles", (datum) => datum.bin !== undefined && chooseBin(datum.bin)),
    drawChart("chart-posterior"),
    drawChart("chart-spectrum", (datum) => datum.direction && walkToIndex(datum.direction - 1)),
  ];
  Promise.all(all).then(() => { document.documentElement.dataset.ready = "yes"; });
});
