// Runs in the head, before anything is drawn: the theme chosen last, else the system's.
(() => {
  "use strict";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("cospan-theme"); } catch { /* a browser that keeps nothing */ }
  const follow = () => { root.dataset.theme = chosen || (dark.matches ? "dark" : "light"); };
  follow();
  dark.addEventListener("change", follow);
  root.classList.add("scripted");
})();
