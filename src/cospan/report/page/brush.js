// The cut between the sets, and brushing: a range of angles or a part of the map marks the rows in
// the other chart and filters the lists.

const selection = { angles: null, box: null };

function countsAt(step) {
  for (const row of all("#counts tbody tr")) {
    const counts = content.angles.counts[row.dataset.key];
    const total = counts.reduce((sum, n) => sum + n, 0);
    const below = counts.slice(0, step).reduce((sum, n) => sum + n, 0);
    const own = row.dataset.key === "A" ? below : total - below;
    row.cells[1].textContent = whole(below);
    row.cells[2].textContent = whole(total - below);
    if (row.dataset.key !== "Z" && total) row.cells[3].textContent = `${((100 * own) / total).toFixed(1)} %`;
  }
}

function moveCut() {
  const step = Number(byId("cut").value);
  byId("cut-value").textContent = `${(step / 10).toFixed(1)}°`;
  const { left, right } = byId("angle-chart").dataset;
  const x = Number(left) + ((Number(right) - Number(left)) * step) / 900;
  const line = byId("cut-line");
  line.setAttribute("d", line.getAttribute("d").replace(/^M[\d.]+/, `M${x.toFixed(1)}`));
  countsAt(step);
}

// Where an event is, in the units of a chart.
function placeIn(chart, event) {
  const box = chart.getBoundingClientRect();
  const { width, height } = chart.viewBox.baseVal;
  return [
    clamp(((event.clientX - box.left) / box.width) * width, 0, width),
    clamp(((event.clientY - box.top) / box.height) * height, 0, height),
  ];
}

function whileDragging(chart, moved) {
  chart.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    chart.setPointerCapture(event.pointerId);
    const start = placeIn(chart, event);
    const move = (next) => moved(start, placeIn(chart, next));
    chart.addEventListener("pointermove", move);
    chart.addEventListener("pointerup", (last) => {
      chart.removeEventListener("pointermove", move);
      const end = placeIn(chart, last);
      if (Math.abs(end[0] - start[0]) < 3 && Math.abs(end[1] - start[1]) < 3) clicked(chart, last);
    }, { once: true });
  });
}

// A click on a dot opens its row; any other click clears the selection.
function clicked(chart, event) {
  const dot = document.elementFromPoint(event.clientX, event.clientY);
  select(null, null);
  if (dot && dot.dataset.row !== undefined) openRow(Number(dot.dataset.row));
}

const inside = ([x0, y0, x1, y1], x, y) => x >= x0 && x <= x1 && y >= y0 && y <= y1;

function fits(theta, x, y) {
  const { angles, box } = selection;
  return (!angles || (theta >= angles[0] && theta <= angles[1])) && (!box || inside(box, x, y));
}

function drawBrush(rect, x, y, width, height) {
  for (const [name, value] of Object.entries({ x, y, width, height })) rect.setAttribute(name, value.toFixed(1));
}

function angleAt(x) {
  const { left, right } = byId("angle-chart").dataset;
  return clamp((90 * (x - left)) / (right - left), 0, 90);
}

function xOf(angle) {
  const { left, right } = byId("angle-chart").dataset;
  return Number(left) + ((right - left) * angle) / 90;
}

function drawSelection() {
  const [from, to] = selection.angles || [0, 0];
  const rect = byId("angle-brush");
  rect.setAttribute("x", xOf(from).toFixed(1));
  rect.setAttribute("width", (xOf(to) - xOf(from)).toFixed(1));
  const [x0, y0, x1, y1] = selection.box || [0, 0, 0, 0];
  drawBrush(byId("map-brush"), x0, y0, x1 - x0, y1 - y0);
  byId("from").value = selection.angles ? Math.round(from) : 0;
  byId("to").value = selection.angles ? Math.round(to) : 90;
}

function select(angles, box) {
  selection.angles = angles;
  selection.box = box;
  drawSelection();
  const active = Boolean(angles || box);
  const marks = byId("angle-marks");
  marks.replaceChildren();
  let dots = 0;
  for (const dot of all("#cost-map circle[data-t]")) {
    const theta = Number(dot.dataset.t);
    const fit = fits(theta, dot.cx.baseVal.value, dot.cy.baseVal.value);
    dot.classList.toggle("dim", active && !fit);
    if (!fit) continue;
    dots += 1;
    if (box) {
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "path");
      mark.setAttribute("d", `M${xOf(theta).toFixed(1)} 190v-9`);
      marks.append(mark);
    }
  }
  let rows = 0;
  for (const line of all(".rows-table tbody tr")) {
    const fit = fits(Number(line.dataset.t), Number(line.dataset.x), Number(line.dataset.y));
    line.hidden = active && !fit;
    if (fit && !line.closest(".panel").hidden) rows += 1;
  }
  byId("selected").textContent = active
    ? `${whole(dots)} rows on the map, ${whole(rows)} in the open list below` : "";
}

function startBrush() {
  if (!content.angles) return;
  show("cut-controls");
  show("brush-controls");
  byId("cut").addEventListener("input", moveCut);
  byId("cut-reset").addEventListener("click", () => { byId("cut").value = 450; moveCut(); });
  whileDragging(byId("angle-chart"), (start, end) => {
    const angles = [angleAt(start[0]), angleAt(end[0])].sort((a, b) => a - b);
    select(angles, null);
  });
  whileDragging(byId("cost-map"), (start, end) => {
    const [xs, ys] = [0, 1].map((i) => [start[i], end[i]].sort((a, b) => a - b));
    select(null, [xs[0], ys[0], xs[1], ys[1]]);
  });
  for (const id of ["from", "to"]) {
    byId(id).addEventListener("change", () => {
      const ends = [Number(byId("from").value), Number(byId("to").value)].sort((a, b) => a - b);
      select(ends[0] <= 0 && ends[1] >= 90 ? null : ends, null);
    });
  }
  byId("clear").addEventListener("click", () => select(null, null));
}
