const root = document.documentElement, asked = location.search.slice(1), theme = document.getElementById("theme");
if (asked === "dark" || asked === "light") root.dataset.theme = asked;
theme.hidden = false;
theme.onclick = () => { root.dataset.theme = getComputedStyle(root).colorScheme === "dark" ? "light" : "dark"; };
const unfold = () => { const place = location.hash && document.getElementById(location.hash.slice(1)); if (place && place.tagName === "DETAILS") place.open = true; };
addEventListener("hashchange", unfold); unfold();
document.querySelectorAll("th[data-sort]").forEach(head => { const button = document.createElement("button"); button.textContent = head.textContent; head.replaceChildren(button); button.onclick = () => {
  const falling = head.ariaSort !== "descending", body = head.closest("table").tBodies[0], value = row => +row.cells[head.cellIndex].dataset.v;
  head.parentNode.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort")); head.ariaSort = falling ? "descending" : "ascending";
  [...body.rows].sort((x, y) => falling ? value(y) - value(x) : value(x) - value(y)).forEach(row => body.append(row)); }; });
