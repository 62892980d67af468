// The button for light and dark; all that is drawn is drawn anew when it changes.

function startTheme() {
  const root = document.documentElement;
  const button = byId("theme");
  const label = () => { button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
  new MutationObserver(() => {
    label();
    for (const redraw of redraws) redraw();
  }).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  label();
}
