import { readMatrix } from "./codes.js";
import { shown } from "./numbers.js";
import { makeAxis } from "./axes.js";
import { make, saveControl, watchWidth } from "./elements.js";
import { layOut, setZoom } from "./layout.js";
import { paint } from "./drawing.js";
import { KEYS, TOUCH, drawOverlay, redraw, repaint, updateReadout } from "./cursor.js";
import { listenToKeys, listenToPointer } from "./pointing.js";
import {
  bandControl, helpBox, legend, normaliseControl, scaleControl, zoomControls,
} from "./controls.js";

function buildHeatmap(root, model, codes, listen) {
  const spec = model.get("spec");
  const matrix = readMatrix(spec, codes);
  const name = spec.title || spec.heading;
  const [rowNames, columnNames] = [spec.rows, spec.columns].map((all) => all.map((t) => shown(t)));
  const [down, across] = spec.transpose
    ? [makeAxis(columnNames, spec.extra), makeAxis(rowNames, 0)]
    : [makeAxis(rowNames, 0), makeAxis(columnNames, spec.extra)];
  const view = {
    spec, model, matrix, down, across, updates: [], cursor: null, resting: [0, 0],
    square: matrix.rows === matrix.columns, base: make("canvas"), overlay: make("canvas"),
    picture: make("canvas", { width: across.count, height: down.count }),
  };
  view.readout = make("div", { class: "readout", role: "status", "aria-live": "polite" });
  view.foot = make("div", { class: "foot" }, view.readout, helpBox(), legend(view));
  view.plot = make("div", {
    class: "plot", tabIndex: 0, role: "application", "aria-roledescription": "heatmap",
    "aria-label": `${name}: the ${spec.quantity} in ${down.count} rows by ${across.count} columns. ${matchMedia("(pointer: coarse)").matches ? TOUCH : KEYS}`,
  }, view.base, view.overlay);
  const controls = [scaleControl(view), normaliseControl(view), ...bandControl(view)];
  root.append(
    make("figure", { role: "group", "aria-label": name },
      ...(spec.title ? [make("figcaption", { dir: "auto", textContent: spec.title })] : []),
      make("div", { class: "bar" }, ...controls, zoomControls(view),
        ...saveControl(model, listen)),
      view.plot, view.foot,
    ),
  );
  return view;
}

export function mountHeatmap(root, model, codes, listen) {
  const view = buildHeatmap(root, model, codes, listen);
  const update = () => view.updates.forEach((run) => run());
  listenToPointer(view);
  listenToKeys(view);
  for (const name of ["scale", "most", "normalise"])
    listen(`change:${name}`, () => (update(), repaint(view)));
  listen("change:band", () => (update(), redraw(view)));
  listen("change:dark", () => redraw(view));
  listen("change:selected", () => (drawOverlay(view), updateReadout(view)));
  listen("change:zoom", () => {
    if (model.get("zoom") === view.zoom) return;
    setZoom(view, model.get("zoom"));
    redraw(view);
  });
  update();
  paint(view);
  return watchWidth(view.plot.parentElement, () => (layOut(view), redraw(view)));
}
