import { decimals, shown } from "./numbers.js";
import { fontFor, middleOf, pixelOf } from "./axes.js";
import { placesOf, sameCell, side, validCell } from "./cells.js";
import { FONT } from "./style.js";
import { make } from "./elements.js";
import { setZoom } from "./layout.js";
import { drawBase, drawLabel, inPlot, outline, pageColour, paint } from "./drawing.js";

/** Crosshair, pinned cell and their labels: all that changes with the pointer. */
export function drawOverlay(view) {
  const context = view.overlay.getContext("2d");
  context.clearRect(0, 0, view.width, view.height);
  const { theme } = view.spec;
  const pinned = validCell(view, view.model.get("selected"));
  for (const [cell, name] of [[pinned, "accent"], [view.cursor, "ink"]]) {
    if (!cell) continue;
    const [y, x] = placesOf(view, cell);
    inPlot(view, context, () => {
      if (cell === view.cursor) drawCross(view, context, y, x);
      outline(view, context, y, x, theme[name], cell === pinned ? 3 : 2);
    });
    emphasise(view, context, view.down, y, pageColour(view, name));
    emphasise(view, context, view.across, x, pageColour(view, name));
  }
}

function drawCross(view, context, y, x) {
  const { down, across } = view;
  const [left, top] = [pixelOf(across, x), pixelOf(down, y)];
  context.strokeStyle = view.spec.theme.accent;
  context.lineWidth = 1;
  context.strokeRect(-1, top, across.length + 2, down.cell);
  context.strokeRect(left, -1, across.cell, down.length + 2);
}

/** The label of one place in bold, over whatever other labels stand there. */
function emphasise(view, context, axis, place, colour) {
  const middle = middleOf(axis, place);
  if (middle < 0 || middle > axis.length) return;
  const half = Math.max(8, Math.min(axis.cell, 18) / 2);
  context.fillStyle = colour;
  if (axis === view.down) context.fillRect(0, view.top + middle - half, view.left - 2, 2 * half);
  else if (view.upright)
    context.fillRect(view.left + middle - axis.cell / 2, 0, axis.cell, view.top - 2);
  else context.fillRect(view.left + middle - half, 0, 2 * half, view.top - 2);
  context.fillStyle = pageColour(view, "paper");
  context.font = `${Math.max(11, fontFor(axis.cell))}px ${FONT}`;
  drawLabel(view, context, axis, place, middle);
}

export const KEYS =
  "Arrow keys move, Enter or a click pins a cell, + and − zoom, 0 shows all; " +
  "the wheel zooms, dragging moves.";
export const TOUCH =
  "Tap a cell to pin it, tap it again to let it go. The buttons + and − zoom; then drag to move.";

/** Two texts, of which the style sheet shows the one for what the reader points with. */
export function eitherPointer(mouse, finger) {
  return [
    make("span", { class: "mouse", textContent: mouse }),
    make("span", { class: "finger", textContent: finger }),
  ];
}

function bold(text) {
  return make("b", { dir: "auto", textContent: shown(text) });
}

function describe(view) {
  const cell = view.cursor ?? validCell(view, view.model.get("selected"));
  const { spec, matrix, model } = view;
  if (!cell) {
    const hint = `a cell for its ${spec.quantity}.`;
    return [make("span", { class: "muted" }, ...eitherPointer(`Point at ${hint}`, `Tap ${hint}`))];
  }
  const [row, column] = cell;
  const weight = matrix.weight(row, column).toFixed(decimals(spec.peak));
  const parts = [
    bold(spec.rows[row]), ` [${row}] → `, bold(spec.columns[column]), ` [${column}]`,
    make("br"), `${spec.quantity} `, make("b", { class: "weight", textContent: weight }),
    `, rank ${matrix.rank(row, column)} of ${matrix.columns} in its ${side(spec)}`,
  ];
  if (model.get("normalise")) {
    const share = 100 * matrix.shareOfRow(row, column);
    parts.push(`, ${share.toFixed(1)} % of the ${side(spec)}’s maximum`);
  }
  if (sameCell(model.get("selected"), cell)) parts.push(", pinned");
  return parts;
}

export function updateReadout(view) {
  view.readout.replaceChildren(...describe(view));
}

export function moveCursor(view, cell) {
  if (sameCell(view.cursor, cell)) return;
  view.cursor = cell;
  drawOverlay(view);
  updateReadout(view);
}

export function zoomBy(view, factor, x, y) {
  setZoom(view, view.zoom * factor, x, y);
  view.cursor = null;
  view.model.set("zoom", view.zoom);
  clearTimeout(view.saving); // one message to the kernel for a turn of the wheel, not one per notch
  view.saving = setTimeout(() => view.model.save_changes(), 120);
  redraw(view);
}

export function redraw(view) {
  drawBase(view);
  drawOverlay(view);
  updateReadout(view);
}

export function repaint(view) {
  paint(view);
  redraw(view);
}
