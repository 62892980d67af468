// Rows to check: one tab at a time, and the chosen row beside the table.

function chooseTab(panel, focus = false) {
  for (const other of all("#tabs > .panel")) other.hidden = other !== panel;
  for (const tab of all("#tablist [role=tab]")) {
    const own = tab.getAttribute("aria-controls") === panel.id;
    tab.setAttribute("aria-selected", own ? "true" : "false");
    tab.tabIndex = own ? 0 : -1;
    if (own && focus) tab.focus();
  }
}

function tabOf(panel) {
  const tab = element("button", {
    type: "button", role: "tab", id: `${panel.id}-tab`, "aria-controls": panel.id,
    children: [nameOf(panel.dataset.title), " ",
      element("span", { className: "muted", text: whole(Number(panel.dataset.total)) })],
  });
  tab.addEventListener("click", () => chooseTab(panel));
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", tab.id);
  return tab;
}

function moveTab(event) {
  const tabs = all("#tablist [role=tab]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = tabs[(tabs.indexOf(event.target.closest("[role=tab]")) + step + tabs.length) % tabs.length];
  chooseTab(byId(next.getAttribute("aria-controls")), true);
}

// Percentiles of numbers; of levels and yes or no, how many rows of the set have the same.
function standing(value, kind) {
  if (value === null) return "";
  return `${kind === "category" || kind === "boolean" ? "= " : ""}${value} %`;
}

function valuesTable(row) {
  const most = Math.max(...row.values.map((value) => Math.abs(value.pull)), 1e-300);
  const heads = ["Column", "Value", ...(content.order.length ? [] : ["In A", "In B", "Pull"])];
  if (row.nearest) heads.push(content.order.length ? `Mean of ${names[row.nearest.group]}` : "Nearest row");
  const head = element("tr", { children: heads.map((text) => element("th", { scope: "col", text })) });
  const lines = row.values.map((value, i) => {
    const [name, kind] = content.columns[value.column];
    const share = Math.abs(value.pull) / most;
    const side = value.pull < 0 ? "a" : "b";
    const set = side.toUpperCase();
    const word = share > 0.5 ? `strongly to ${set}` : `to ${set}`;
    const cells = [element("td", { text: value.text })];
    if (!content.order.length) {
      cells.push(...[value.a, value.b].map((at) => element("td", { text: standing(at, kind) })));
      cells.push(element("td", { text: share < 0.05 ? "" : word, className: `word pull-${side}` }));
    }
    if (row.nearest) cells.push(element("td", { text: row.nearest.values[i] }));
    return element("tr", {
      children: [element("th", { scope: "row", children: [nameOf(name)] }), ...cells],
    });
  });
  const table = element("table", { className: "values" });
  table.append(element("thead", { children: [head] }), element("tbody", { children: lines }));
  const box = element("div", {
    className: "scroll", role: "region", "aria-label": "Values of the row", tabindex: "0",
    children: [table],
  });
  const meaning = "In A, in B: the share of rows below the value; with =, the share that has it.";
  const more = content.order.length ? [] : [element("p", { className: "muted", text: meaning })];
  return element("div", { children: [box, ...more] });
}

function looksLike(row) {
  if (row.weights.length) return row.words;
  const b = Math.sin((row.theta * Math.PI) / 180) ** 2;
  const sure = Math.max(b, 1 - b);
  const name = names[b >= 0.5 ? "B" : "A"];
  const like = sure >= 0.995 ? `over 99 % ${name}` : `${(100 * sure).toFixed(0)} % ${name}`;
  if (!row.typical) return like;
  const [a, other] = row.typical.map((p) => `${(100 * p).toFixed(p < 0.01 ? 1 : 0)} %`);
  return `${like}. As unusual as this or more: ${a} of A's rows, ${other} of B's.`;
}

function openRow(place, detail = byId("detail")) {
  const row = content.rows[place];
  const near = { name: names[row.nearest?.group], id: row.nearest?.id };
  detail.hidden = false;
  const parts = [
    element("h3", { children: [keyOf(row.group), nameOf(row.id)] }),
    element("p", { text: `${row.theta.toFixed(1)}°: ${looksLike(row)}` }),
  ];
  if (row.label) parts.push(element("p", { text: `Labelled ${row.label}.` }));
  if (row.picture) {
    const pictures = [pictureOf(row.picture, "the row")];
    if (row.pull) pictures.push(pictureOf(row.pull, "pulls to A (blue), to B (orange)"));
    if (row.nearest && row.weights.length) pictures.push(pictureOf(row.nearest.picture, `mean of ${near.name}`));
    else if (row.nearest) pictures.push(pictureOf(row.nearest.picture, `nearest of ${near.name}: ${near.id}`));
    parts.push(element("div", { className: "pictures small", children: pictures }));
  } else if (!row.weights.length) {
    parts.push(element("p", { text: row.words }));
  }
  if (row.nearest && !row.picture && !row.weights.length) {
    parts.push(element("p", { className: "muted", children: [`Nearest row of ${near.name}:`, " ", nameOf(near.id)] }));
  }
  if (row.values.length) parts.push(valuesTable(row));
  if (row.weights.length) {
    const order = row.weights.map((w, k) => [w, k]).sort((one, other) => other[0] - one[0]).slice(0, 10);
    parts.push(element("ul", {
      children: order.map(([w, k]) => element("li", { children: [nameOf(content.sets[k].name), ` ${(100 * w).toFixed(1)} %`] })),
    }));
  }
  detail.replaceChildren(...parts);
  for (const line of all(".rows-table tr[data-row]")) {
    line.classList.toggle("chosen", Number(line.dataset.row) === place);
  }
  for (const dot of all("#cost-map circle.chosen")) dot.classList.remove("chosen");
  const dot = document.querySelector(`#cost-map circle[data-row="${place}"]`);
  if (dot) dot.classList.add("chosen");
}

function startRows() {
  const panels = all("#tabs > .panel");
  if (!panels.length) return;
  const list = element("div", {
    id: "tablist", role: "tablist", "aria-label": "Kinds of rows", children: panels.map(tabOf),
  });
  list.addEventListener("keydown", moveTab);
  byId("tabs").prepend(list);
  for (const line of all(".rows-table tbody tr")) {
    const place = Number(line.dataset.row);
    const name = line.querySelector("th bdi");
    const button = element("button", { type: "button", className: "open", children: [nameOf(name.textContent)] });
    name.replaceWith(button);
    line.addEventListener("click", () => openRow(place));
  }
  for (const item of all(".row-list [data-row]")) {
    const button = element("button", { type: "button", className: "open", children: [nameOf(item.firstElementChild.textContent)] });
    item.firstElementChild.replaceWith(button);
    button.addEventListener("click", () => openRow(Number(item.dataset.row), item.closest(".pair").querySelector(".pair-detail")));
  }
  show("detail");
  chooseTab(panels.find((panel) => panel.querySelector("table")) || panels[0]);
}
