// The matrix of pairs, the triangle of three sets, and the rows with their weights.

const sets = content.groups.slice(0, content.order.length); // without further rows
const farthest = Math.max(...content.distance.flat());
const nearest = Math.min(...content.distance.flatMap((row, i) => row.filter((_, j) => i !== j)));

// Closer pairs are darker; the text stays readable on every shade.
function shadeMatrix() {
  const [from, to] = [rgb(colour("raised")), rgb(colour("a"))];
  for (const button of document.querySelectorAll(".matrix button")) {
    const distance = content.distance[button.dataset.first][button.dataset.second];
    const close = farthest > nearest ? (farthest - distance) / (farthest - nearest) : 0;
    const mixed = from.map((c, i) => Math.round(c + (to[i] - c) * 0.45 * close));
    button.style.backgroundColor = `rgb(${mixed.join(" ")})`;
  }
}

const pair = { first: 0, second: 1 };

// A step needs an end: the last bin's height once more, at 90°.
function steps(group, counts) {
  const total = Math.max(counts.reduce((sum, n) => sum + n, 0), 1);
  const width = 90 / content.bins;
  return [...counts, counts.at(-1)].map((n, i) => ({ group, x: i * width, share: n / total }));
}

function pairValues(first, second) {
  // Angles of the second set's rows are counted from the second set on.
  const mirrored = [...content.counts[second][first]].reverse();
  return [...steps("A", content.counts[first][second]), ...steps("B", mirrored)];
}

function showPair() {
  const { first, second } = pair;
  const at = (matrix) => matrix[first][second].toFixed(3);
  byId("pair-title").replaceChildren(nameOf(sets[first].name), " and ", nameOf(sets[second].name));
  byId("pair-note").textContent =
    `Fisher-Rao distance ${at(content.distance)} ` +
    `(${Math.round(100 * content.confidence)} %: ${at(content.low)} to ${at(content.high)})`;
  for (const [id, k] of [["pair-first", first], ["pair-second", second]]) {
    const rows = element("small", { text: ` ${whole(sets[k].scored)} rows` });
    byId(id).replaceChildren(nameOf(sets[k].name), rows);
  }
  for (const button of document.querySelectorAll(".matrix button")) {
    const chosen = Number(button.dataset.first) === first && Number(button.dataset.second) === second;
    button.setAttribute("aria-pressed", String(chosen));
  }
  charts["chart-pair"].datasets = { pair: pairValues(first, second) };
  return drawChart("chart-pair");
}

function startMatrix() {
  for (const button of document.querySelectorAll(".matrix button")) {
    const [first, second] = [Number(button.dataset.first), Number(button.dataset.second)];
    const label = `${sets[first].name} and ${sets[second].name}: ${button.textContent}`;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => {
      Object.assign(pair, { first, second });
      showPair();
    });
    if (content.distance[first][second] < content.distance[pair.first][pair.second]) {
      Object.assign(pair, { first, second });
    }
  }
  drawn(shadeMatrix);
}

const order = { by: "entropy", falling: true };

function listedRows() {
  const only = byId("only").value;
  const rows = content.samples
    .filter((sample) => only === "" || sample.group === Number(only))
    .filter((sample) => sample.misplaced || !byId("misplaced").checked)
    .map((sample) => ({
      sample, id: sample.id, theta: sample.theta, entropy: sample.entropy,
      of: content.groups[sample.group].name,
      nearest: sets[sample.nearest].name, second: sets[sample.second].name,
    }));
  const compare = (one, other) =>
    typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true });
  rows.sort((one, other) => compare(one[order.by], other[order.by]) * (order.falling ? -1 : 1));
  return rows;
}

function weightBars(sample) {
  const bars = element("div", { className: "shares-bars" });
  const largest = Math.max(...sample.weights);
  for (const k of content.order) {
    const made = element("i", { className: k === sample.group ? "own" : "" });
    made.style.height = `${Math.max((100 * sample.weights[k]) / largest, 2)}%`;
    bars.append(made);
  }
  return bars;
}

function rowOf({ sample, id, of, nearest: near, second, theta, entropy }) {
  const open = element("button", { className: "open", children: [nameOf(id)] });
  const share = (k) => element("small", { text: ` ${percent(sample.weights[k])}` });
  const row = element("tr", {
    children: [
      element("td", { children: [open] }),
      element("td", { children: [nameOf(of)] }),
      element("td", { children: [nameOf(near), share(sample.nearest)] }),
      element("td", { children: [nameOf(second), share(sample.second)] }),
      element("td", { className: "right", text: degrees(theta) }),
      element("td", { className: "right", text: entropy.toFixed(3) }),
      element("td", { children: [weightBars(sample)] }),
    ],
  });
  row.addEventListener("click", () => {
    const parts = content.order.map((k) => `${sets[k].name} ${percent(sample.weights[k])}`);
    byId("row-note").textContent = `${sample.id}: ${parts.join(", ")}`;
    for (const other of byId("weights").querySelectorAll("tr")) other.classList.remove("chosen");
    row.classList.add("chosen");
  });
  return row;
}

function showRows() {
  byId("weights").querySelector("tbody").replaceChildren(...listedRows().map(rowOf));
  for (const button of byId("weights").querySelectorAll("th button")) {
    const heading = button.closest("th");
    heading.removeAttribute("aria-sort");
    if (button.dataset.sort === order.by) {
      heading.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
    }
  }
}

function startRows() {
  for (const button of byId("weights").querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const by = button.dataset.sort;
      order.falling = order.by === by ? !order.falling : by === "entropy" || by === "theta";
      order.by = by;
      showRows();
    });
  }
  byId("only").addEventListener("change", showRows);
  byId("misplaced").addEventListener("change", showRows);
  showRows();
}

startTheme();
startMatrix();
startRows();
drawn(() => {
  const all = [showPair()];
  if (charts["chart-ternary"]) all.push(drawChart("chart-ternary"));
  Promise.all(all).then(() => { document.documentElement.dataset.ready = "yes"; });
});
