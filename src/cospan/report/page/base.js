// What every part of the page uses. The page is complete without scripts; they sort, search, mark
// and open. Text from the data reaches the page through textContent only.

const byId = (id) => document.getElementById(id);
const content = JSON.parse(byId("payload").textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const names = Object.fromEntries(content.sets.map((set) => [set.key, set.name]));
const whole = (n) => n.toLocaleString("en-US");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function element(tag, { className = "", text = null, children = [], ...attributes } = {}) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Names break after a sign between words rather than in the middle of one.
const nameOf = (text) => {
  const parts = String(text).split(/(?<=[_./-])/).flatMap((part) => [part, element("wbr")]);
  return element("bdi", { className: "name", children: parts.slice(0, -1) });
};
const show = (id) => { const found = byId(id); if (found) found.hidden = false; return found; };

function keyOf(key) {
  return element("span", { className: `key key-${key.toLowerCase()}`, text: key });
}

function pictureOf(png, title) {
  const image = element("img", { alt: title });
  image.src = `data:image/png;base64,${png}`;
  return element("figure", { children: [image, element("figcaption", { text: title })] });
}

function announce(text) {
  byId("said").textContent = text;
}

// Quotes where a spreadsheet needs them; a leading = + - @ would be run as a formula.
function csvCell(value) {
  let text = value === null || value === undefined ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csv = (rows) => `${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;

function download(name, text, type) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  URL.revokeObjectURL(link.href);
  announce(`Saved ${name}.`);
}
