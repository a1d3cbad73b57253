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

// A dark theme as JupyterLab, VS Code and Colab mark it on their pages.
const DARK = ['body[data-jp-theme-light="false"]', 'body[data-vscode-theme-kind="vscode-dark"]',
  'body[data-vscode-theme-kind="vscode-high-contrast"]', 'html[theme="dark"]'].join();
const MARKS = ["data-jp-theme-light", "data-vscode-theme-kind", "theme"];

/** Calls `dress` with whether the front end's theme is dark, now and when that changes; returns what
 *  ends it. What the system prefers does not count: a front end may be light all the same. */
function followTheme(dress) {
  const isDark = () => document.querySelector(DARK) !== null;
  const observer = new MutationObserver(() => dress(isDark()));
  for (const part of [document.documentElement, document.body])
    observer.observe(part, { attributeFilter: MARKS });
  dress(isDark());
  return () => observer.disconnect();
}

/** Live: within a shadow root, out of reach of the front end's own styles and shortcuts, in the
 *  colours of its theme. */
async function render({ model, el }) {
  const host = make("div", { "data-lm-suppress-shortcuts": "true" });
  el.append(host);
  const heard = [];
  const listen = (event, run) => {
    model.on(event, run);
    heard.push([event, run]);
  };
  const root = host.attachShadow({ mode: "open" });
  const endTheme = followTheme((isDark) => {
    wear(host, model.get("spec"), isDark);
    host.style.colorScheme = isDark ? "dark" : "light";
    heard.forEach(([event, run]) => event === "change:dark" && run());
  });
  const end = mount(root, model, await unpack(model.get("data")), listen);
  return () => {
    endTheme();
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
