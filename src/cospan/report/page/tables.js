// Sortable tables, and the search in the table of columns.

const cellValue = (row, index) => {
  const cell = row.cells[index];
  const own = cell.dataset.v;
  return own === undefined ? cell.textContent.trim() : Number(own);
};

const compareValues = (one, other) =>
  typeof one === "number" && typeof other === "number"
    ? one - other
    : String(one).localeCompare(String(other), "en", { numeric: true });

function sortBy(table, index, button) {
  const head = button.closest("th");
  const rising = head.getAttribute("aria-sort") === "descending";
  all("th", table.tHead).forEach((th) => th.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compareValues(cellValue(a, index), cellValue(b, index)) * (rising ? 1 : -1));
  table.tBodies[0].append(...rows);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, index) => {
    if (head.classList.contains("still")) return;
    const button = element("button", { type: "button", text: head.textContent });
    head.dataset.name = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      sortBy(table, index, button);
      if (table.id === "features") showFeatures();
    });
  });
}

const FIRST = content.pictures.length ? 6 : 12; // columns shown before the reader asks for more
let allShown = false;

// Columns that the page was not drawn with: they are in the content in a few words each.
function addFeatures(table) {
  const number = (value, digits) => (typeof value === "number" ? value.toFixed(digits) : "");
  for (const [name, change, a, b, difference, p, share] of content.more_features) {
    const cells = [
      [change === "none" ? "no change" : change], [""], [a], [b],
      [number(difference, 2), Math.abs(difference ?? 0)],
      [typeof p === "number" ? p.toPrecision(2) : "", p ?? 1],
      [typeof share === "number" ? `${(100 * share).toFixed(1)} %` : "", share ?? 0],
    ].map(([text, value], i) => {
      const cell = element("td", { text, className: i > 3 ? "right" : "held" });
      if (value !== undefined) cell.dataset.v = value;
      return cell;
    });
    const head = element("th", { scope: "row", children: [nameOf(name)] });
    const className = change === "none" ? "" : "changed";
    table.tBodies[0].append(element("tr", { children: [head, ...cells], className }));
  }
}

const nFeatures = content.features.length + content.more_features.length;

function showFeatures() {
  const table = byId("features");
  const wanted = byId("find").value.trim().toLowerCase();
  const changed = byId("only-changed").checked;
  if ((allShown || wanted) && table.tBodies[0].rows.length < nFeatures) {
    addFeatures(table);
  }
  let found = 0;
  for (const row of table.tBodies[0].rows) {
    const fits = row.cells[0].querySelector(".name").textContent.toLowerCase().includes(wanted)
      && (!changed || row.classList.contains("changed"));
    if (fits) found += 1;
    row.hidden = !fits || (!allShown && !wanted && found > FIRST);
  }
  byId("found").textContent = wanted || changed ? `${whole(found)} found` : "";
  byId("more-features").hidden = allShown || Boolean(wanted) || found <= FIRST;
  byId("feature-note").hidden = true;
}

function startTables() {
  all("table.sortable").forEach(makeSortable);
  if (!byId("features")) return;
  show("feature-controls");
  byId("find").addEventListener("input", showFeatures);
  byId("only-changed").addEventListener("change", showFeatures);
  byId("more-features").textContent = `Show all ${whole(nFeatures)} columns`;
  byId("more-features").addEventListener("click", () => { allShown = true; showFeatures(); });
  showFeatures();
  byId("features").classList.add("folded");
}
