// Start every part; draw all of it anew when the theme changes.

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
