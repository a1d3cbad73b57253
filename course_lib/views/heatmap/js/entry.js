import { join, unpack } from "./codes.js";
import { STYLE } from "./style.js";
import { make } from "./elements.js";
import { mountHeatmap } from "./heatmap.js";
import { mountText } from "./text.js";

// Attention drawn in a browser: a heatmap on a canvas, and text with tinted words.
//
// One module of several parts, two ways in. anywidget calls `render({ model, el })` with the model of
// a live notebook; the static form appends a call of `renderStatic` to the module. What comes from
// data (tokens, titles, names) reaches the page through `textContent` or a canvas only, never as HTML.

/** Draws into `root`, in the colours that the element around it wears. */
export function mount(root, model, codes, listen) {
  root.append(make("style", { textContent: STYLE }));
  if (model.get("spec").kind === "text") return mountText(root, model, listen);
  return mountHeatmap(root, model, codes, listen);
}

/** Sets a theme's colours on an element; what lies on the map of weights keeps the light ones. */
export function wear(element, { theme, dark }, isDark) {
  for (const [name, colour] of Object.entries(isDark ? dark : theme))
    element.style.setProperty(`--${name}`, colour);
  for (const [name, colour] of Object.entries(theme))
    element.style.setProperty(`--map-${name}`, colour);
}

/** Live: within a shadow root, out of reach of the front end's own styles and shortcuts. */
async function render({ model, el }) {
  const host = make("div", { "data-lm-suppress-shortcuts": "true" });
  el.append(host);
  const heard = [];
  const listen = (event, run) => {
    model.on(event, run);
    heard.push([event, run]);
  };
  const root = host.attachShadow({ mode: "open" });
  wear(host, model.get("spec"), false);
  const end = mount(root, model, await unpack(model.get("data")), listen);
  return () => {
    end?.();
    heard.forEach(([event, run]) => model.off(event, run));
  };
}

/** A model without a kernel: the same four calls over a plain object. */
function staticModel(state) {
  const heard = {};
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      (heard[`change:${name}`] ?? []).forEach((run) => run());
    },
    save_changes() {},
    on: (event, run) => (heard[event] ??= []).push(run),
  };
}

/** Static: in the body of a frame, which tells the page around it how tall it is, and is dark where
 *  the reader prefers that. */
async function renderStatic(state, lowBits, parts) {
  document.body.className = "static";
  const pause = () => new Promise((done) => setTimeout(done, 20));
  while (innerWidth === 0) await pause(); // a frame out of view hears of no later width
  const model = staticModel(state);
  const tell = () =>
    parent.postMessage({ courseHeight: document.documentElement.offsetHeight }, "*");
  addEventListener("message", tell);
  new ResizeObserver(tell).observe(document.documentElement);
  const night = matchMedia("(prefers-color-scheme: dark)");
  const dress = () => wear(document.body, state.spec, night.matches);
  night.addEventListener("change", () => (dress(), model.set("dark", night.matches)));
  dress();
  mount(document.body, model, parts && join(lowBits, await parts), model.on);
  tell(); // the observer waits until the frame comes into view
}

export default { render };
