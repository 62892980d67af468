// Runs in the head, before anything is drawn: light or dark, as the reader's system says.
(() => {
  "use strict";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { root.dataset.theme = dark.matches ? "dark" : "light"; };
  follow();
  dark.addEventListener("change", follow);
})();
