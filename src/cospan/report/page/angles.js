// The threshold: how many rows of each set fall on which side. Counts are of all rows scored,
// in bins of a tenth of a degree, and the slider moves by one bin, so that the numbers are exact.

function sidesAt(group, step) {
  let below = 0;
  for (let i = 0; i < step; i += 1) below += group.counts[i];
  return { a: below, b: group.scored - below };
}

function showThreshold(step) {
  const a = sidesAt(groups.A, step);
  const b = sidesAt(groups.B, step);
  const shown = {
    "threshold-value": degrees(step / 10),
    "a-as-a": whole(a.a), "a-as-b": whole(a.b), "b-as-a": whole(b.a), "b-as-b": whole(b.b),
    "recall-a": percent(a.a / (a.a + a.b)),
    "recall-b": percent(b.b / (b.a + b.b)),
    "precision-a": percent(a.a / (a.a + b.a)),
    "precision-b": percent(b.b / (a.b + b.b)),
    accuracy: percent((a.a + b.b) / (a.a + a.b + b.a + b.b)),
  };
  if (groups.Z) {
    const z = sidesAt(groups.Z, step);
    Object.assign(shown, { "z-as-a": whole(z.a), "z-as-b": whole(z.b) });
  }
  for (const [id, text] of Object.entries(shown)) byId(id).textContent = text;
  setSignal("chart-angles", "threshold", step / 10);
}

function startThreshold() {
  const slider = byId("threshold");
  slider.addEventListener("input", () => showThreshold(Number(slider.value)));
  for (const button of document.querySelectorAll("[data-threshold]")) {
    button.addEventListener("click", () => {
      slider.value = button.dataset.threshold;
      showThreshold(Number(slider.value));
    });
  }
  showThreshold(Number(slider.value));
}
