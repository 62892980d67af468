// Single rows as cards, and the rows of the bin that was clicked.

const FIRST_CARDS = 6;
let pictureBytes = null;
let attributionBytes = null;

function pictureOf(sample) {
  const { height, width, channels, data } = content.pictures;
  pictureBytes ??= bytesOf(data);
  const size = height * width * channels;
  const bytes = pictureBytes.subarray(sample.picture * size, (sample.picture + 1) * size);
  return pixels(bytes, height, width, `picture of row ${sample.id}`);
}

function attributionOf(sample) {
  const { height, width, attribution } = content.pictures;
  attributionBytes ??= bytesOf(attribution);
  const size = height * width;
  const bytes = attributionBytes.subarray(sample.picture * size, (sample.picture + 1) * size);
  const map = divergingMap("a", "middle", "b");
  return pixels(bytes, height, width, `pull of each pixel of row ${sample.id}`, map);
}

function captioned(canvas, text) {
  return element("figure", { children: [canvas, element("figcaption", { text })] });
}

function cardOf(sample) {
  const chip = element("span", { className: `key key-${sample.group.toLowerCase()}`, text: sample.group });
  const theta = element("span", { className: "theta-value", text: degrees(sample.theta) });
  const head = element("div", { className: "card-head", children: [chip, nameOf(sample.id), theta] });
  const mark = element("i");
  mark.style.left = `${(100 * sample.theta) / 90}%`;
  const card = element("article", { className: `card of-${sample.group.toLowerCase()}` });
  card.append(head, element("div", { className: "gauge", children: [mark] }), sharesOf(sample));
  if (sample.picture !== null) {
    const figures = [captioned(pictureOf(sample), "the row")];
    if (content.pictures.attribution) {
      figures.push(captioned(attributionOf(sample), "pull on θ"));
    }
    card.append(element("div", { className: "pair", children: figures }));
  }
  if (sample.features.length) {
    const rows = sample.features.map((f) => ({
      name: content.features[f.feature], value: f.value, size: f.pull,
    }));
    card.append(barList(rows, "pulls"));
  }
  card.dataset.bin = sample.bin;
  return card;
}

// Where the row's squared length lies; parts of 0 % are left out.
function sharesOf(sample) {
  const [a, shared, b] = sample.shares;
  const parts = [["A-only", a], ["shared", shared], ["B-only", b], ["outside both", sample.outside]];
  const there = parts.filter(([, share]) => share >= 0.005);
  const text = there.map(([name, share]) => `${name} ${Math.round(100 * share)} %`).join(" · ");
  return element("div", { className: "shares", text });
}

const bin = { index: 0, all: false };

function rowsInBin(group, index) {
  const size = group.counts.length / content.bins;
  return group.counts.slice(index * size, (index + 1) * size).reduce((sum, n) => sum + n, 0);
}

function showBin() {
  const width = 90 / content.bins;
  const here = content.samples.filter((sample) => sample.bin === bin.index);
  const mixed = interleaved(here);
  const shown = bin.all ? mixed : mixed.slice(0, FIRST_CARDS);
  byId("bin-title").textContent = `Rows from ${+(bin.index * width).toFixed(2)}° to ${+((bin.index + 1) * width).toFixed(2)}°`;
  const found = content.groups.map((g) => `${whole(rowsInBin(g, bin.index))} of ${g.key}`).join(", ");
  const kept = here.length ? ` ${whole(shown.length)} of the ${whole(here.length)} in this file are shown.` : "";
  byId("bin-note").textContent = `Rows in this bin: ${found}.${kept}`;
  byId("bin-samples").replaceChildren(...shown.map(cardOf));
  byId("bin-more").hidden = shown.length === mixed.length;
  byId("bin-before").disabled = bin.index === 0;
  byId("bin-after").disabled = bin.index === content.bins - 1;
  setSignal("chart-angles", "chosen", bin.index);
}

// One of each group in turn, so that the first cards show every group that is there.
function interleaved(samples) {
  const queues = content.groups.map((g) => samples.filter((sample) => sample.group === g.key));
  const longest = Math.max(...queues.map((queue) => queue.length), 0);
  const turns = Array.from({ length: longest }, (_, i) => queues.map((queue) => queue[i]));
  return turns.flat().filter(Boolean);
}

function chooseBin(index) {
  bin.index = clamp(index, 0, content.bins - 1);
  bin.all = false;
  showBin();
}

function startBins() {
  byId("bin-before").addEventListener("click", () => chooseBin(bin.index - 1));
  byId("bin-after").addEventListener("click", () => chooseBin(bin.index + 1));
  byId("bin-more").addEventListener("click", () => { bin.all = true; showBin(); });
  // Begin where it is least clear: the bin nearest to 45° that has rows to show.
  const centre = (content.bins - 1) / 2;
  const filled = [...new Set(content.samples.map((sample) => sample.bin))];
  filled.sort((one, other) => Math.abs(one - centre) - Math.abs(other - centre));
  bin.index = filled[0] ?? Math.floor(centre);
  drawn(showBin);
}
