// Buttons, pairs, the theme; then everything starts. Columns of saved files are called the same in
// every language: programs read them.

function rowsCsv() {
  const heads = content.columns.map(([name]) => name);
  const lines = content.rows.map((row) => {
    const values = new Map(row.values.map((value) => [value.column, value.text]));
    const kinds = content.tabs.filter((tab) => tab.rows.includes(content.rows.indexOf(row)));
    return [
      names[row.group], row.id, row.theta, row.looks in names ? names[row.looks] : row.looks,
      kinds.map((tab) => tab.title).join("; "), row.label, row.words,
      row.nearest ? row.nearest.id : "", ...row.weights, ...heads.map((_, i) => values.get(i)),
    ];
  });
  const weights = content.rows.some((row) => row.weights.length)
    ? content.sets.filter((set) => set.key !== "Z").map((set) => `weight of ${set.name}`) : [];
  const head = ["set", "row", "angle", "looks like", "why listed", "label", "pull", "nearest row"];
  return csv([[...head, ...weights, ...heads], ...lines]);
}

function featuresCsv() {
  const numbers = Object.keys(content.features[0].numbers);
  const lines = content.features.map((one) => [
    one.name, one.kind, one.change, one.changed, one.a, one.b, one.sentence,
    ...numbers.map((name) => one.numbers[name]),
  ]);
  const more = content.more_features.map(([name, change, a, b, difference, p, share]) => {
    const known = { difference, p_adjusted: p, share };
    return [name, "", change, change !== "none", a, b, "", ...numbers.map((key) => known[key])];
  });
  return csv([["column", "kind", "change", "changed", "A", "B", "in words", ...numbers], ...lines, ...more]);
}

function summaryText() {
  const tiles = content.tiles.map((tile) => `${tile.label}: ${tile.value} (${tile.note})`);
  const lines = [...content.verdict, ...content.findings.map((text) => `- ${text}`), "", ...tiles];
  if (content.warning) lines.push("", content.warning);
  return `${[content.title, "", ...lines].join("\n")}\n`;
}

// Pages opened from a disk may not use the clipboard; then the old way, from a hidden field.
async function copySummary() {
  const text = summaryText();
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", { text, className: "aside", "aria-hidden": "true" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  announce("Copied the summary.");
}

function startButtons() {
  show("actions");
  byId("rows-csv").addEventListener("click", () => download("rows.csv", rowsCsv(), "text/csv"));
  byId("features-csv")?.addEventListener("click", () => download("columns.csv", featuresCsv(), "text/csv"));
  byId("json").addEventListener("click", () => download("report.json", JSON.stringify(content, null, 1), "application/json"));
  byId("copy").addEventListener("click", copySummary);
  byId("print").addEventListener("click", () => window.print());
}

function startTheme() {
  const root = document.documentElement;
  const button = show("theme");
  const label = () => { button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("cospan-theme", root.dataset.theme); } catch { /* not kept, then */ }
    label();
  });
  new MutationObserver(label).observe(root, { attributeFilter: ["data-theme"] });
  label();
}

function choosePair(pair) {
  for (const one of all(".pair")) one.hidden = one.dataset.pair !== pair;
  for (const cell of all(".matrix button")) cell.setAttribute("aria-pressed", cell.parentElement.dataset.pair === pair ? "true" : "false");
}

// Without scripts all pairs are there, one after the other; with them, the one that is chosen.
function startPairs() {
  const pairs = new Set(all(".pair").map((one) => one.dataset.pair));
  if (!pairs.size) return;
  for (const cell of all(".matrix td[data-pair]")) {
    if (!pairs.has(cell.dataset.pair)) {
      cell.firstElementChild.href = "#more-pairs";
      cell.firstElementChild.addEventListener("click", () => { byId("more-pairs").open = true; });
      continue;
    }
    const [first, second] = cell.dataset.pair.split("-").map((k) => content.sets[k].name);
    const both = `${first} and ${second}`;
    const button = element("button", { type: "button", text: cell.textContent, "aria-label": `${both}: ${cell.textContent}` });
    button.addEventListener("click", () => choosePair(cell.dataset.pair));
    cell.replaceChildren(button);
  }
  choosePair([...pairs][0]);
}

// Everything that is folded or filtered is on paper.
window.addEventListener("beforeprint", () => all("details").forEach((one) => { one.open = true; }));

startTheme();
startTables();
startRows();
startBrush();
startPairs();
startButtons();
document.documentElement.dataset.ready = "yes";
