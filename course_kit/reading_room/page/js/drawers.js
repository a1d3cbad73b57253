import { make } from "../../../../course_lib/views/heatmap/js/elements.js";

// Drawers open below the row of a card, over the whole width: no card of the row changes its place.

/** A button that opens and closes a drawer named `title`; `changed(open)` is told. */
export function makeDrawer(id, text, title, changed, ...content) {
  const button = make("button", { type: "button", class: "fold", textContent: text,
    "aria-expanded": "false", "aria-controls": id });
  const close = make("button", { type: "button", class: "close", textContent: "Close" });
  const heading = make("h3", { textContent: title, tabIndex: -1 });
  const drawer = make("section", { id, class: "drawer", hidden: true, "aria-label": title },
    make("div", { class: "drawertop" }, heading, close), ...content);
  function open(wanted) {
    if (drawer.hidden !== wanted) return;
    drawer.hidden = !wanted;
    button.setAttribute("aria-expanded", String(wanted));
  }
  /** Brings the drawer into view, and the focus to its heading. */
  function arrive() {
    heading.focus({ preventScroll: true });
    drawer.scrollIntoView({ block: "nearest" });
  }
  function press(wanted) {
    open(wanted);
    changed(wanted);
    if (wanted) arrive();
    else button.focus();
  }
  button.addEventListener("click", () => press(drawer.hidden));
  close.addEventListener("click", () => press(false));
  drawer.addEventListener("keydown", (event) => event.key === "Escape" && press(false));
  return { button, drawer, heading, open, arrive };
}
