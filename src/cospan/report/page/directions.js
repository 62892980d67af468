// The walk along the directions, from A's own through the shared ones to B's own.

const walk = { place: 0, bytes: null };

function leaning(direction) {
  if (direction.block === "A-only") return "only A varies this way";
  if (direction.block === "B-only") return "only B varies this way";
  if (direction.angle < 30) return "shared, leans to A";
  if (direction.angle > 60) return "shared, leans to B";
  return "shared by both";
}

function directionPicture(place) {
  const { spectrum } = content;
  walk.bytes ??= bytesOf(spectrum.data);
  const size = spectrum.height * spectrum.width;
  const bytes = walk.bytes.subarray(place * size, (place + 1) * size);
  const label = `direction ${spectrum.directions[place].index + 1}`;
  return pixels(bytes, spectrum.height, spectrum.width, label, divergingMap("low", "middle", "high"));
}

function showDirection() {
  const { spectrum } = content;
  const direction = spectrum.directions[walk.place];
  byId("direction-title").textContent = `Direction ${whole(direction.index + 1)} of ${whole(spectrum.size)}`;
  byId("direction-note").textContent = `${degrees(direction.angle)} · ${leaning(direction)}`;
  if (spectrum.data) {
    byId("direction-picture").replaceChildren(directionPicture(walk.place));
    const buttons = [...byId("direction-features").querySelectorAll("button")];
    buttons.forEach((button, place) => button.setAttribute("aria-current", place === walk.place));
  } else {
    const rows = direction.features.map((f) => ({ name: f.feature, size: f.weight }));
    byId("direction-features").replaceChildren(barList(rows, "signs"));
  }
  byId("walk").value = String(walk.place);
  setSignal("chart-spectrum", "direction", direction.index + 1);
}

// All directions shown, small, in order: a click goes there.
function showSheet() {
  const buttons = content.spectrum.directions.map((direction, place) => {
    const button = element("button", { children: [directionPicture(place)] });
    button.type = "button";
    button.title = `${direction.index + 1}: ${degrees(direction.angle)}`;
    button.addEventListener("click", () => walkTo(place));
    return button;
  });
  const sheet = element("div", { className: "sheet", children: buttons });
  byId("direction-features").replaceChildren(sheet);
}

function walkTo(place) {
  walk.place = clamp(place, 0, content.spectrum.directions.length - 1);
  showDirection();
}

// The direction shown that is nearest to the one clicked.
function walkToIndex(index) {
  const away = content.spectrum.directions.map((direction) => Math.abs(direction.index - index));
  walkTo(away.indexOf(Math.min(...away)));
}

function startDirections() {
  if (!content.spectrum.directions.length) return;
  byId("walk").addEventListener("input", () => walkTo(Number(byId("walk").value)));
  byId("walk-before").addEventListener("click", () => walkTo(walk.place - 1));
  byId("walk-after").addEventListener("click", () => walkTo(walk.place + 1));
  if (content.spectrum.data) drawn(showSheet);
  drawn(showDirection);
}

// Features: two pictures, or two bars each.
function showEffects() {
  const place = byId("effects");
  const pictures = content.effect_pictures;
  if (pictures) {
    const bytes = bytesOf(pictures.data);
    const size = pictures.height * pictures.width;
    const map = divergingMap("a", "middle", "b");
    const figures = ["A", "B"].map((key, i) => {
      const part = bytes.subarray(i * size, (i + 1) * size);
      const canvas = pixels(part, pictures.height, pictures.width, `mean pull in rows of ${key}`, map);
      return captioned(canvas, `mean pull over the rows of ${key}`);
    });
    place.replaceChildren(element("div", { className: "effect-pictures", children: figures }), ramp());
    return;
  }
  const largest = Math.max(...content.effects.flatMap((f) => [Math.abs(f.in_a), Math.abs(f.in_b)]), 1e-300);
  const list = element("div", { className: "bars pulls wide" });
  for (const effect of content.effects) {
    const bars = [bar(effect.in_a / largest), bar(effect.in_b / largest)];
    const track = element("span", { className: "track double", children: bars });
    const text = `${signed(effect.in_a)} / ${signed(effect.in_b)}`;
    list.append(nameOf(effect.feature), track, element("span", { className: "number-cell", text }));
  }
  const caption = element("p", { className: "muted", text: "Upper bar and first number: rows of A. Lower bar and second number: rows of B." });
  place.replaceChildren(list, caption);
}

function ramp() {
  const parts = [element("span", { text: "to A" }), element("i"), element("span", { text: "to B" })];
  return element("div", { className: "ramp", children: parts });
}
