import { roundTicks } from "./numbers.js";
import { side } from "./cells.js";
import { change, labelled, make, ramp } from "./elements.js";
import { KEYS, TOUCH, eitherPointer, zoomBy } from "./cursor.js";

export function scaleControl(view) {
  const select = make("select", { "aria-label": "Colour scale" });
  select.append(new Option("linear", "linear"), new Option("square root", "sqrt"));
  select.addEventListener("change", () => change(view.model, "scale", select.value));
  view.updates.push(() => (select.value = view.model.get("scale")));
  return labelled("Colours", select);
}

export function normaliseControl(view) {
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => change(view.model, "normalise", box.checked));
  view.updates.push(() => (box.checked = view.model.get("normalise")));
  return labelled(box, `each ${side(view.spec)} ÷ its maximum`);
}

export function bandControl(view) {
  if (!view.square) return [];
  const { model, matrix } = view;
  const input = make("input", {
    type: "number", min: 0, max: matrix.rows - 1, placeholder: "none",
    "aria-label": "Band: largest distance between row and column",
  });
  const share = make("span", { class: "muted" });
  input.addEventListener("input", () => {
    const band = input.value === "" ? null : Math.round(Number(input.value));
    if (band === null || (band >= 0 && band < matrix.rows)) change(model, "band", band);
  });
  view.updates.push(() => {
    const band = model.get("band");
    const text = band === null ? "" : String(band);
    if (input.value !== text) input.value = text;
    const percent = () => (100 * matrix.bandShare(band)).toFixed(1);
    share.textContent = band === null ? "" : `holds ${percent()} % of the ${view.spec.quantity}`;
  });
  return [labelled("Band |i − j| ≤", input, share)];
}

export function zoomControls(view) {
  const button = (text, name, action) => {
    const made = make("button", { type: "button", textContent: text, "aria-label": name });
    made.addEventListener("click", action);
    return made;
  };
  const middle = () => [view.across.length / 2, view.down.length / 2];
  return make(
    "span", {},
    button("−", "Zoom out", () => zoomBy(view, 1 / 1.5, ...middle())), " ",
    button("+", "Zoom in", () => zoomBy(view, 1.5, ...middle())), " ",
    button("all", "Show all", () => zoomBy(view, 1 / view.zoom, ...middle())),
  );
}

/** The help, folded: a page may hold many heatmaps. */
export function helpBox() {
  const sign = make("summary", { textContent: "?", "aria-label": "How to use this heatmap" });
  return make("details", { class: "help" }, sign, ...eitherPointer(KEYS, TOUCH));
}

export function legend(view) {
  const box = make("div", { class: "legend" });
  view.updates.push(() => {
    const { spec, model } = view;
    const normalised = model.get("normalise");
    const sqrt = model.get("scale") === "sqrt";
    const most = normalised ? 1 : model.get("most");
    const name = spec.quantity + (normalised ? ` ÷ largest of its ${side(spec)}` : "");
    const ticks = roundTicks(most, sqrt);
    box.replaceChildren(...ramp(spec.colours, ticks), name + (sqrt ? ", square-root scale" : ""));
  });
  return box;
}
