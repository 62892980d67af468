// What every part of the page uses: the content, elements, colours, small pictures.
// Text from the data reaches the page through textContent only.

const { content, charts } = JSON.parse(document.getElementById("payload").textContent);
const groups = Object.fromEntries(content.groups.map((group) => [group.key, group]));
const byId = (id) => document.getElementById(id);

function element(tag, { className = "", text = null, children = [] } = {}) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
}

const nameOf = (text, className = "name") => element("bdi", { className, text });
const whole = (n) => n.toLocaleString("en-US");
const degrees = (value, digits = 1) => `${value.toFixed(digits)}°`;
const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "none");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function signed(value) {
  const size = Math.abs(value);
  if (size < 0.0005) return "0";
  return `${value < 0 ? "−" : "+"}${size.toFixed(size < 0.0995 ? 3 : 2)}`;
}

// The style sheet's colour, whatever the theme is at this moment.
const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

// A colour for each byte of a signed picture: 1 … 127 towards one end, 128 the middle.
function divergingMap(low, middle, high) {
  const [from, centre, to] = [low, middle, high].map((name) => rgb(colour(name)));
  return Array.from({ length: 256 }, (_, byte) => {
    const t = clamp((byte - 128) / 127, -1, 1);
    const end = t < 0 ? from : to;
    return centre.map((c, i) => Math.round(c + (end[i] - c) * Math.abs(t)));
  });
}

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

// Draw `bytes` (one or three per pixel) on a canvas of height × width pixels.
function pixels(bytes, height, width, label, map = null) {
  const canvas = element("canvas", { className: "pixels" });
  canvas.width = width;
  canvas.height = height;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const image = new ImageData(width, height);
  const channels = bytes.length / (height * width);
  for (let i = 0; i < height * width; i += 1) {
    const value = bytes[i * channels];
    const shades = channels === 3 ? bytes.subarray(i * 3, i * 3 + 3) : [value, value, value];
    const [red, green, blue] = map ? map[value] : shades;
    image.data.set([red, green, blue, 255], i * 4);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// Rows of name, bar from the middle to the left or right, number.
function barList(rows, kind) {
  const largest = Math.max(...rows.map((row) => Math.abs(row.size)), 1e-300);
  const list = element("div", { className: `bars ${kind}` });
  for (const row of rows) {
    const name = element("span", { className: "name", text: row.name });
    if (row.value !== undefined) {
      name.append(" ", element("span", { className: "feature-value", text: `= ${row.value}` }));
    }
    const track = element("span", { className: "track" });
    track.append(bar(row.size / largest));
    list.append(name, track, element("span", { className: "number-cell", text: signed(row.size) }));
  }
  return list;
}

function bar(share) {
  const made = element("i", { className: share < 0 ? "minus" : "plus" });
  made.style.width = `${50 * Math.abs(share)}%`;
  return made;
}

// Parts of the page that hold canvases or charts draw themselves anew when the theme changes.
const redraws = [];
function drawn(redraw) {
  redraws.push(redraw);
  redraw();
}
