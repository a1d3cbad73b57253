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

/** Draws into `root`; the theme's colours are set on the element around it, `host`. */
function mount(root, host, model, codes, listen) {
  root.append(make("style", { textContent: STYLE }));
  const { kind, theme } = model.get("spec");
  for (const [name, colour] of Object.entries(theme)) host.style.setProperty(`--${name}`, colour);
  if (kind === "text") return mountText(root, model, listen);
  return mountHeatmap(root, model, codes, listen);
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
  const end = mount(root, host, model, await unpack(model.get("data")), listen);
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

/** Static: in the body of a frame, which tells the page around it how tall it is. */
async function renderStatic(state, lowBits, parts) {
  document.body.className = "static";
  const model = staticModel(state);
  const tell = () =>
    parent.postMessage({ courseHeight: document.documentElement.offsetHeight }, "*");
  addEventListener("message", tell);
  new ResizeObserver(tell).observe(document.documentElement);
  const codes = parts && join(lowBits, await parts);
  mount(document.body, document.body, model, codes, model.on);
}

export default { render };
