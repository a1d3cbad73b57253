import { clamp } from "./numbers.js";
import { PLOT, fitCells, fontFor, largestZoom, labelRoom, zoomAxis } from "./axes.js";
import { FONT } from "./style.js";

const TALLEST = 180; // pixels of the columns' labels where they stand upright

function widest(context, tokens, font) {
  context.font = `${font}px ${FONT}`;
  let width = 0;
  for (const token of tokens) width = Math.max(width, context.measureText(token).width);
  return Math.ceil(width);
}

/** Everything that depends on the width of the page. */
export function layOut(view) {
  const { down, across, base } = view;
  const context = base.getContext("2d");
  const room = Math.max(160, view.plot.parentElement.clientWidth - 24);
  view.left = Math.min(labelRoom(down, across, room), widest(context, down.tokens, 12)) + 10;
  fitCells(down, across, Math.min(PLOT, room - view.left - 6), devicePixelRatio);
  const columnWidth = widest(context, across.tokens, fontFor(across.base));
  view.upright = columnWidth <= across.base - 4;
  view.top = view.upright ? 20 : Math.min(TALLEST, columnWidth) + 10;
  view.largestZoom = largestZoom(down, across);
  view.width = Math.ceil(view.left + across.length + 6);
  view.height = Math.ceil(view.top + down.length + 2);
  for (const canvas of [base, view.overlay]) {
    canvas.width = Math.round(view.width * devicePixelRatio);
    canvas.height = Math.round(view.height * devicePixelRatio);
    canvas.style.width = `${view.width}px`;
    canvas.style.height = `${view.height}px`;
    canvas.getContext("2d").setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  }
  view.foot.style.maxWidth = `${Math.max(view.width, 640)}px`;
  view.zoom = 1;
  if (view.model.get("zoom") !== 1) setZoom(view, view.model.get("zoom"));
}

export function setZoom(view, zoom, x = view.across.length / 2, y = view.down.length / 2) {
  view.zoom = clamp(zoom, 1, view.largestZoom);
  view.plot.style.touchAction = view.zoom > 1 ? "none" : ""; // a finger moves what does not fit
  zoomAxis(view.across, view.zoom, x);
  zoomAxis(view.down, view.zoom, y);
}
