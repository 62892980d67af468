// The table of rows that look like the other set.

const order = { by: "suspicion", falling: true };

function conflictRows() {
  const rows = content.conflicts.map((conflict) => {
    const sample = content.samples[conflict.sample];
    return { ...conflict, id: sample.id, theta: sample.theta, shown: sample };
  });
  const compare = (one, other) =>
    typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true });
  rows.sort((one, other) => compare(one[order.by], other[order.by]) * (order.falling ? -1 : 1));
  return rows;
}

function showConflicts() {
  const body = byId("conflict-table").querySelector("tbody");
  body.replaceChildren(...conflictRows().map(conflictRow));
  for (const button of byId("conflict-table").querySelectorAll("th button")) {
    const heading = button.closest("th");
    heading.removeAttribute("aria-sort");
    if (button.dataset.sort === order.by) {
      heading.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
    }
  }
  markOpened();
}

function conflictRow(conflict) {
  const cells = [];
  if (content.pictures) {
    const picture = conflict.shown.picture === null ? [] : [pictureOf(conflict.shown)];
    cells.push(element("td", { children: picture }));
  }
  const open = element("button", { className: "open", children: [nameOf(conflict.id)] });
  cells.push(
    element("td", { children: [open] }),
    element("td", { children: [nameOf(conflict.label)] }),
    element("td", { children: [nameOf(conflict.suggested)] }),
    element("td", { className: "right", text: degrees(conflict.theta) }),
    element("td", { className: "right", text: conflict.suspicion.toFixed(3) }),
  );
  const row = element("tr", { children: cells });
  row.dataset.sample = conflict.sample;
  row.addEventListener("click", () => {
    order.open = conflict.shown;
    markOpened();
    showOpened();
  });
  return row;
}

function markOpened() {
  const chosen = String(content.samples.indexOf(order.open));
  for (const row of byId("conflict-table").querySelectorAll("tbody tr")) {
    row.classList.toggle("chosen", row.dataset.sample === chosen);
  }
}

function showOpened() {
  if (order.open) byId("conflict-sample").replaceChildren(cardOf(order.open));
}

function startConflicts() {
  if (!byId("conflict-table")) return;
  for (const button of byId("conflict-table").querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const by = button.dataset.sort;
      order.falling = order.by === by ? !order.falling : by === "suspicion" || by === "theta";
      order.by = by;
      showConflicts();
    });
  }
  drawn(showConflicts);
  drawn(showOpened);
}
