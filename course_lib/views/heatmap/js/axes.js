import { clamp } from "./numbers.js";

// Sizes and places along the two sides of the picture, in CSS pixels. Needs no browser.

export const PLOT = 760; // the longest side of the picture
const LARGEST = { width: 34, height: 26 }; // of a cell that is not zoomed
const GAP = 9; // between words and the summaries set apart from them

/** One side of the picture; `apart` of its last places lie beyond a gap. */
export function makeAxis(tokens, apart) {
  const count = tokens.length;
  return { tokens, count, edge: count - apart, gap: apart ? GAP : 0, base: 1, cell: 1, first: 0 };
}

/** Cell sizes for a width: square cells for a square matrix, flat enough cells for a table.
 *  `dots` are the screen's pixels in a CSS pixel. */
export function fitCells(down, across, width, dots) {
  const fit = (axis, length) => (length - axis.gap) / axis.count;
  let cellWidth = Math.min(LARGEST.width, fit(across, width));
  let cellHeight = Math.min(LARGEST.height, fit(down, PLOT));
  if (down.count === across.count) cellWidth = cellHeight = Math.min(cellWidth, cellHeight);
  for (const [axis, size] of [[across, cellWidth], [down, cellHeight]]) {
    axis.base = axis.cell = wholePixels(size, dots);
    axis.first = 0;
    axis.length = axis.count * axis.base + axis.gap;
  }
}

/** Pixels that the rows' labels may take of `room`: a share of it, or more where cells leave it. */
export function labelRoom(down, across, room) {
  const cell = down.count === across.count ? LARGEST.height : LARGEST.width;
  const cells = Math.min(PLOT, across.count * cell + across.gap);
  return Math.max(Math.min(150, room * 0.3), Math.min(260, room - cells - 16));
}

function wholePixels(size, dots) {
  return size >= 3 ? Math.floor(size * dots) / dots : size;
}

/** The largest zoom: cells of 32 pixels, and at least four times. */
export function largestZoom(down, across) {
  return Math.max(4, 32 / Math.min(across.base, down.base));
}

export function fontFor(cell) {
  return clamp(Math.floor(cell * 0.95), 9, 12);
}

/** Where a place begins. */
export function pixelOf(axis, place) {
  return (place - axis.first) * axis.cell + (place >= axis.edge ? axis.gap : 0);
}

export function middleOf(axis, place) {
  return pixelOf(axis, place) + axis.cell / 2;
}

/** The place under a pixel as a fraction; within the gap, its edge. */
function placeAt(axis, pixel) {
  const place = axis.first + pixel / axis.cell;
  return place < axis.edge ? place : Math.max(axis.edge, place - axis.gap / axis.cell);
}

/** The place under a pixel, `null` outside the picture and within the gap. */
export function indexAt(axis, pixel) {
  if (pixel < 0 || pixel >= axis.length) return null;
  const edge = (axis.edge - axis.first) * axis.cell;
  if (axis.gap && pixel >= edge && pixel < edge + axis.gap) return null;
  const index = Math.floor(placeAt(axis, pixel));
  return index >= 0 && index < axis.count ? index : null;
}

/** Puts a place first, or as near to it as the ends allow. */
export function moveAxis(axis, first) {
  const last = axis.count - (axis.length - axis.gap) / axis.cell;
  axis.first = clamp(first, 0, Math.max(0, last));
}

/** Zooms an axis so that what lies under `pixel` stays there. */
export function zoomAxis(axis, zoom, pixel) {
  const anchor = placeAt(axis, pixel);
  axis.cell = axis.base * zoom;
  const gap = anchor > axis.edge ? axis.gap : 0;
  moveAxis(axis, anchor - (pixel - gap) / axis.cell);
}

export function bringIntoView(axis, place) {
  const pixel = pixelOf(axis, place);
  if (pixel < 0) moveAxis(axis, place);
  else if (pixel + axis.cell > axis.length)
    moveAxis(axis, place + 1 - (axis.length - (place >= axis.edge ? axis.gap : 0)) / axis.cell);
}

/** The first place in view, and the one after the last. */
export function visible(axis) {
  const from = Math.max(0, Math.floor(axis.first));
  return [from, Math.min(axis.count, Math.ceil(placeAt(axis, axis.length)))];
}

/** Runs of places that lie together: the words, and beyond the gap the summaries. */
export function runs(axis) {
  const [from, to] = visible(axis);
  return [
    [from, Math.min(to, axis.edge)],
    [Math.max(from, axis.edge), to],
  ].filter(([start, end]) => start < end);
}

/** From pixel to pixel, what a frame goes around: the words, and beyond the gap the summaries. */
export function framed(axis) {
  if (!axis.gap) return [[0, axis.length]];
  const edge = Math.min(axis.length, (axis.edge - axis.first) * axis.cell);
  return [[0, edge], [edge + axis.gap, axis.length]].filter(([from, to]) => to - from > 1);
}

/** Font size and [place, middle] of the labels that have room, the others left out evenly. */
export function spaced(axis) {
  const font = fontFor(axis.cell);
  const every = Math.max(1, Math.ceil((axis.cell < 9 ? font + 2 : font) / axis.cell - 1e-6));
  const [from, to] = visible(axis);
  const places = [];
  for (let place = from; place < to; place++) {
    const middle = middleOf(axis, place);
    if (place % every === 0 && middle >= 0 && middle <= axis.length) places.push([place, middle]);
  }
  return { font, places };
}

/** Both borders of |row − column| ≤ band along the rows in view, as corners [row, column]. */
export function bandBorders(band, from, to) {
  const steps = (column) => {
    const corners = [];
    for (let row = from; row < to; row++) corners.push([row, column(row)], [row + 1, column(row)]);
    return corners;
  };
  return [steps((row) => row + band + 1), steps((row) => row - band)];
}
