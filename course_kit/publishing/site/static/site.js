// What folds a part of the sidebar is named after it.
addEventListener("DOMContentLoaded", () => document.querySelectorAll("nav li > details > summary").forEach(
  (fold) => fold.setAttribute("aria-label", "Pages of " + fold.closest("li").querySelector("a").textContent.trim())
));

// The title, which leads home, is the banner; the theme's own is empty.
addEventListener("DOMContentLoaded", () => {
  document.querySelector("#pst-header").setAttribute("role", "presentation");
  document.querySelector(".sidebar-primary-item:has(.navbar-brand)").setAttribute("role", "banner");
});

// A formula that scrolls sideways can be reached by keyboard, as the theme has it for outputs.
(() => {
  const look = () => document.querySelectorAll("math[display=block]").forEach((formula) => {
    formula.removeAttribute("tabindex");
    if (formula.scrollWidth > formula.clientWidth) formula.setAttribute("tabindex", "0");
  });
  ["load", "resize"].forEach((event) => addEventListener(event, look));
})();

// On paper everything is light and unfolded, but solutions and plumbing; afterwards all is as it was.
(() => {
  let [unfolded, theme] = [[], ""];
  const page = document.documentElement.dataset;
  addEventListener("beforeprint", () => {
    [theme, page.theme] = [page.theme, "light"];
    unfolded = [...document.querySelectorAll("details:not([open])")].filter(
      (part) => !/^(Solution|Settings|Imports)\b/.test(part.querySelector("summary")?.textContent.trim())
    );
    unfolded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => {
    page.theme = theme;
    unfolded.forEach((part) => { part.open = false; });
  });
})();
