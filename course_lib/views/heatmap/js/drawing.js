import { bandBorders, framed, pixelOf, runs, spaced, visible } from "./axes.js";
import { cellOf } from "./cells.js";
import { fillPixels } from "./colours.js";
import { FONT } from "./style.js";

/** The matrix, one pixel a cell, as it is drawn: transposed if asked. */
export function paint(view) {
  const { matrix, spec, model, picture } = view;
  const context = picture.getContext("2d");
  const image = context.createImageData(picture.width, picture.height);
  fillPixels(new Uint32Array(image.data.buffer), spec, matrix, {
    sqrt: model.get("scale") === "sqrt",
    normalise: model.get("normalise"),
    most: model.get("most"),
  });
  context.putImageData(image, 0, 0);
}

/** A colour of what stands around the map, by its name in the theme. */
export function pageColour(view, name) {
  return getComputedStyle(view.plot).getPropertyValue(`--${name}`);
}

export function drawBase(view) {
  const context = view.base.getContext("2d");
  context.fillStyle = pageColour(view, "paper");
  context.fillRect(0, 0, view.width, view.height);
  drawLabels(view, context);
  inPlot(view, context, () => {
    drawCells(view, context);
    drawGrid(view, context);
    drawOutlines(view, context);
    drawBand(view, context);
  });
  drawFrame(view, context);
}

/** Draws with the origin at the first cell, and nothing outside the picture. */
export function inPlot(view, context, draw) {
  context.save();
  context.translate(view.left, view.top);
  context.beginPath();
  context.rect(0, 0, view.across.length, view.down.length);
  context.clip();
  draw();
  context.restore();
}

function drawCells(view, context) {
  const { down, across, picture } = view;
  const small = Math.min(down.cell, across.cell) * devicePixelRatio < 1;
  context.imageSmoothingEnabled = small; // below a pixel, cells are averaged instead of dropped
  context.imageSmoothingQuality = "high";
  for (const [top, bottom] of runs(down))
    for (const [left, right] of runs(across)) {
      const [width, height] = [right - left, bottom - top];
      const [x, y] = [pixelOf(across, left), pixelOf(down, top)];
      const size = [width * across.cell, height * down.cell];
      context.drawImage(picture, left, top, width, height, x, y, ...size);
    }
}

function drawGrid(view, context) {
  const { down, across } = view;
  if (Math.min(down.cell, across.cell) < 11) return;
  context.strokeStyle = "rgba(29, 36, 51, 0.10)";
  context.lineWidth = 1;
  context.beginPath();
  for (const [top, bottom] of runs(down))
    for (const [left, right] of runs(across)) {
      const [x0, x1] = [pixelOf(across, left), pixelOf(across, right - 1) + across.cell];
      const [y0, y1] = [pixelOf(down, top), pixelOf(down, bottom - 1) + down.cell];
      for (let row = top + 1; row < bottom; row++) line(context, x0, pixelOf(down, row), x1);
      for (let column = left + 1; column < right; column++)
        line(context, pixelOf(across, column), y0, null, y1);
    }
  context.stroke();
}

function line(context, x, y, toX, toY) {
  context.moveTo(Math.round(x) + (toX === null ? 0.5 : 0), Math.round(y) + (toX === null ? 0 : 0.5));
  context.lineTo(toX ?? Math.round(x) + 0.5, toY ?? Math.round(y) + 0.5);
}

function drawFrame(view, context) {
  context.strokeStyle = pageColour(view, "muted");
  context.lineWidth = 1;
  for (const [top, bottom] of framed(view.down))
    for (const [left, right] of framed(view.across))
      context.strokeRect(
        view.left + left - 0.5, view.top + top - 0.5, right - left + 1, bottom - top + 1,
      );
}

function drawOutlines(view, context) {
  const { spec, down, across, matrix, model } = view;
  if (spec.outline === null || Math.min(down.cell, across.cell) < 4) return;
  const value = model.get("normalise") ? matrix.shareOfRow : matrix.weight;
  const [top, bottom] = visible(down);
  const [left, right] = visible(across);
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++)
      if (value(...cellOf(view, y, x)) > spec.outline) outline(view, context, y, x, spec.theme.ink, 2);
}

/** A frame within a cell, with a light line inside it, to be seen on every shade. */
export function outline(view, context, y, x, colour, width) {
  const { down, across } = view;
  const [left, top] = [pixelOf(across, x), pixelOf(down, y)];
  const inset = (by) => [left + by, top + by, across.cell - 2 * by, down.cell - 2 * by];
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.strokeRect(...inset(width / 2));
  if (Math.min(across.cell, down.cell) < 4 * width) return;
  context.lineWidth = 1;
  context.strokeStyle = view.spec.theme.paper;
  context.strokeRect(...inset(width + 0.5));
}

/** Both borders of |row − column| ≤ band, in steps where cells are large enough to see them. */
function drawBand(view, context) {
  const band = view.model.get("band");
  if (band === null || !view.square) return;
  const { down, across } = view;
  const { theme } = view.spec;
  const corner = ([row, column]) => [pixelOf(across, column), pixelOf(down, row)];
  const strokes = [[[], theme.paper, 4], [[6, 3], theme.accent, 2]];
  if (down.cell < 6) Object.assign(strokes, [[[], theme.paper, 2.5], [[], theme.accent, 1.5]]);
  for (const [dash, colour, width] of strokes) {
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const border of bandBorders(band, ...visible(down)))
      border.forEach((place, i) => context[i ? "lineTo" : "moveTo"](...corner(place)));
    context.stroke();
  }
  context.setLineDash([]);
}

function drawLabels(view, context) {
  context.fillStyle = pageColour(view, "muted");
  for (const axis of [view.down, view.across]) {
    const { font, places } = spaced(axis);
    context.font = `${font}px ${FONT}`;
    for (const [place, middle] of places) drawLabel(view, context, axis, place, middle);
  }
}

export function drawLabel(view, context, axis, place, middle) {
  context.save();
  context.textBaseline = "middle";
  const text = axis.tokens[place];
  if (axis === view.down) {
    context.textAlign = "right";
    context.fillText(fitted(context, text, view.left - 8), view.left - 6, view.top + middle);
  } else if (view.upright) {
    context.textAlign = "center";
    context.fillText(text, view.left + middle, view.top - 10);
  } else {
    context.translate(view.left + middle, view.top - 6);
    context.rotate(-Math.PI / 2);
    context.fillText(fitted(context, text, view.top - 8), 0, 0);
  }
  context.restore();
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const characters = Array.from(text);
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const part = characters.slice(0, middle).join("") + "…";
    if (context.measureText(part).width <= width) low = middle;
    else high = middle - 1;
  }
  return characters.slice(0, low).join("") + "…";
}
