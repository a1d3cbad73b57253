// Attention drawn in a browser: a heatmap on a canvas, and text with tinted words.
//
// One module, two ways in. anywidget calls `render({ model, el })` with the model of a live
// notebook; the static form appends a call of `renderStatic` to this text. Whatever comes from data
// (tokens, titles, names) reaches the page through `textContent` or a canvas only, never as HTML.
// "Cell" is always [row, column] of the array; "place" counts along an axis as it is drawn.

const STYLE = `
:host, .static { color-scheme: light; display: block; }
figure { margin: 0; padding: 10px 12px; background: var(--paper); color: var(--ink); border-radius: 4px;
  font: 13px/1.45 system-ui, "Segoe UI", "Noto Sans", sans-serif; box-sizing: border-box;
  max-width: 100%; position: relative; overflow: hidden; }
figcaption { font-weight: 650; margin-bottom: 4px; overflow-wrap: anywhere; }
.bar { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; min-height: 28px; }
.bar label { display: inline-flex; gap: 6px; align-items: center; color: var(--muted); }
.bar .name { color: var(--ink); font-weight: 600; max-width: 40em; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
button, select, input { font: inherit; color: inherit; accent-color: var(--accent); margin: 0; }
button, select, input[type=number] { background: var(--paper); border: 1px solid var(--muted);
  border-radius: 5px; min-height: 24px; padding: 0 7px; box-sizing: border-box; color: var(--ink); }
button { min-width: 26px; cursor: pointer; }
button:hover, select:hover { border-color: var(--ink); }
input[type=number] { width: 5.2em; padding-right: 2px; }
input[type=range] { width: 170px; }
.plot { position: relative; margin: 4px 0; width: fit-content; touch-action: pan-y;
  cursor: crosshair; user-select: none; }
.plot canvas { display: block; }
.plot canvas + canvas { position: absolute; inset: 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.foot { display: flex; flex-wrap: wrap; gap: 4px 20px; justify-content: space-between;
  align-items: flex-start; }
.readout { flex: 1 1 20em; min-height: 2.9em; min-width: 0; overflow-wrap: anywhere; }
.readout b { font-weight: 650; }
.muted, .tick { color: var(--muted); }
.legend { flex: 0 0 auto; font-size: 12px; }
.ramp { width: 250px; height: 11px; border: 1px solid var(--muted); box-sizing: border-box; }
.ticks { position: relative; height: 1.5em; width: 250px; white-space: nowrap; font-variant-numeric: tabular-nums; }
.ticks span { position: absolute; transform: translateX(-50%); }
.ticks span:first-child { transform: none; }
.ticks span:last-child { transform: translateX(-100%); }
.sentence { display: grid; grid-template-columns: auto 1fr; gap: 0 10px; padding: 3px 0; }
.sentence > .side { display: flex; gap: 8px; }
.label { color: var(--muted); width: 7em; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; text-align: right; }
.chip { width: 62px; height: 22px; position: relative; text-align: right; padding: 1px 6px 0 0;
  box-sizing: border-box; font-variant-numeric: tabular-nums; font-size: 12px;
  border-radius: 3px; overflow: hidden;
  background: color-mix(in srgb, var(--muted) 9%, var(--paper)); }
.chip i { position: absolute; left: 0; bottom: 0; height: 4px; background: var(--accent); }
.sentence { max-width: 64em; }
.words { line-height: 1.75; font-size: 14px; overflow-wrap: anywhere; min-width: 0; }
.word { padding: 1px 3px; border-radius: 3px; cursor: default; unicode-bidi: isolate; }
.word:hover, .word:focus { outline: 2px solid var(--ink); outline-offset: 0; }
.word[aria-selected=true] { box-shadow: inset 0 -3px var(--accent); }
.tip { position: absolute; z-index: 1; background: var(--ink); color: var(--paper); padding: 2px 8px;
  border-radius: 4px; font-size: 12px; pointer-events: none; max-width: 90%;
  overflow-wrap: anywhere; }
.tip:empty { display: none; }
.static figure { padding: 8px 4px; }
`;

const FONT = 'system-ui, "Segoe UI", "Noto Sans", sans-serif';
const PLOT = 760; // the longest side of the picture in CSS pixels
const LARGEST = { width: 34, height: 26 }; // of a cell that is not zoomed
const GAP = 9; // between words and the summaries set apart from them
const CHARACTERS = 60; // shown of a token, at most

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Codes from all their high parts followed by all their low parts, of so many bits. */
function join(lowBits, buffer) {
  const parts = new Uint8Array(buffer);
  const count = parts.length / 2;
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i++) codes[i] = (parts[i] << lowBits) | parts[count + i];
  return codes;
}

/** Codes from what `encoding.deflate` packs: the number of low bits, then the parts. */
async function unpack(view) {
  if (view.byteLength === 0) return null;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return join(bytes[0], await inflate(bytes.subarray(1)));
}

/** What the other parts ask of the weights; `step` picks the matrix. */
function readMatrix(spec, codes) {
  const [, rows, columns] = spec.shape;
  const start = (step) => step * rows * columns;
  const maxima = new Map();

  function rowMaxima(step) {
    if (!maxima.has(step)) maxima.set(step, findRowMaxima(step));
    return maxima.get(step);
  }
  function findRowMaxima(step) {
    const found = new Uint16Array(rows);
    let at = start(step);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++, at++)
        if (codes[at] > found[row]) found[row] = codes[at];
    return found;
  }
  const code = (step, row, column) => codes[start(step) + row * columns + column];
  const weight = (step, row, column) => (code(step, row, column) / spec.levels) * spec.peak;
  function shareOfRow(step, row, column) {
    const largest = rowMaxima(step)[row];
    return largest ? code(step, row, column) / largest : 0;
  }
  function rank(step, row, column) {
    const own = code(step, row, column);
    let higher = 0;
    const at = start(step) + row * columns;
    for (let i = at; i < at + columns; i++) if (codes[i] > own) higher++;
    return higher + 1;
  }
  /** Share of a step's weight with |row − column| ≤ band. */
  function bandShare(step, band) {
    let inside = 0;
    let all = 0;
    let at = start(step);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++, at++) {
        all += codes[at];
        if (Math.abs(row - column) <= band) inside += codes[at];
      }
    return all ? inside / all : 0;
  }
  return { rows, columns, codes, start, rowMaxima, weight, shareOfRow, rank, bandShare };
}

/** As many decimals as round by at most a hundred-thousandth of the largest weight. */
function decimals(peak) {
  return peak > 0 ? Math.min(12, Math.max(0, Math.ceil(4.7 - Math.log10(peak)))) : 1;
}

/** A token as one line that can be seen: no line breaks, nothing endless, never nothing. */
function shown(token, limit = CHARACTERS) {
  if (token === "") return "(empty)";
  if (/^\s+$/.test(token)) return "(space)";
  const characters = Array.from(token.slice(0, 2 * limit + 2).replace(/\s/g, " "));
  const whole = characters.length <= limit && token.length <= 2 * limit + 2;
  return whole ? characters.join("") : characters.slice(0, limit - 1).join("") + "…";
}

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

function labelled(text, ...controls) {
  return make("label", {}, text, ...controls);
}

function ramp(colours, ticks) {
  const gradient = colours.filter((_, place) => place % 15 === 0 || place === colours.length - 1);
  const strip = make("div", { class: "ramp" });
  strip.style.background = `linear-gradient(to right, ${gradient.join(",")})`;
  const numbers = ticks.map((tick) => make("span", { class: "tick", textContent: tick }));
  numbers.forEach((number, i) => (number.style.left = `${(100 * i) / (ticks.length - 1)}%`));
  return [strip, make("div", { class: "ticks" }, ...numbers)];
}

/** Changes a trait here, in whatever is linked to it, and in the kernel if there is one. */
function change(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/** One side of the picture; `apart` of its last places lie beyond a gap. */
function makeAxis(tokens, apart) {
  const count = tokens.length;
  return { tokens, count, edge: count - apart, gap: apart ? GAP : 0, base: 1, cell: 1, first: 0 };
}

function pixelOf(axis, place) {
  return (place - axis.first) * axis.cell + (place >= axis.edge ? axis.gap : 0);
}

/** The place under a pixel as a fraction; within the gap, its edge. */
function placeAt(axis, pixel) {
  const place = axis.first + pixel / axis.cell;
  return place < axis.edge ? place : Math.max(axis.edge, place - axis.gap / axis.cell);
}

function indexAt(axis, pixel) {
  if (pixel < 0 || pixel >= axis.length) return null;
  const edge = (axis.edge - axis.first) * axis.cell;
  if (axis.gap && pixel >= edge && pixel < edge + axis.gap) return null;
  const index = Math.floor(placeAt(axis, pixel));
  return index >= 0 && index < axis.count ? index : null;
}

function moveAxis(axis, first) {
  const last = axis.count - (axis.length - axis.gap) / axis.cell;
  axis.first = Math.min(Math.max(0, first), Math.max(0, last));
}

/** Zooms an axis so that what lies under `pixel` stays there. */
function zoomAxis(axis, zoom, pixel) {
  const anchor = placeAt(axis, pixel);
  axis.cell = axis.base * zoom;
  const gap = anchor > axis.edge ? axis.gap : 0;
  moveAxis(axis, anchor - (pixel - gap) / axis.cell);
}

function bringIntoView(axis, place) {
  const pixel = pixelOf(axis, place);
  if (pixel < 0) moveAxis(axis, place);
  else if (pixel + axis.cell > axis.length)
    moveAxis(axis, place + 1 - (axis.length - (place >= axis.edge ? axis.gap : 0)) / axis.cell);
}

function visible(axis) {
  const from = Math.max(0, Math.floor(axis.first));
  return [from, Math.min(axis.count, Math.ceil(placeAt(axis, axis.length)))];
}

/** Cell sizes for a width: square cells for a square matrix, flat enough cells for a table. */
function fitCells(view, width) {
  const { down, across } = view;
  const fit = (axis, length) => (length - axis.gap) / axis.count;
  let cellWidth = Math.min(LARGEST.width, fit(across, width));
  let cellHeight = Math.min(LARGEST.height, fit(down, PLOT));
  if (down.count === across.count) cellWidth = cellHeight = Math.min(cellWidth, cellHeight);
  across.base = wholePixels(cellWidth);
  down.base = wholePixels(cellHeight);
}

function wholePixels(size) {
  return size >= 3 ? Math.floor(size * devicePixelRatio) / devicePixelRatio : size;
}

function fontFor(cell) {
  return Math.max(9, Math.min(12, Math.floor(cell * 0.95)));
}

function widest(context, tokens, font) {
  context.font = `${font}px ${FONT}`;
  let width = 0;
  for (const token of tokens) width = Math.max(width, context.measureText(token).width);
  return Math.ceil(width);
}

/** Everything that depends on the width of the page. */
function layOut(view) {
  const { down, across, base } = view;
  const context = base.getContext("2d");
  const room = Math.max(160, view.plot.parentElement.clientWidth - 24);
  const limit = Math.min(150, room * 0.3);
  view.left = Math.min(limit, widest(context, down.tokens, 12)) + 10;
  fitCells(view, Math.min(PLOT, room - view.left - 6));
  const columnWidth = widest(context, across.tokens, fontFor(across.base));
  view.upright = columnWidth <= across.base - 4;
  view.top = view.upright ? 20 : Math.min(120, columnWidth) + 10;
  for (const axis of [down, across]) {
    axis.cell = axis.base;
    axis.first = 0;
    axis.length = axis.count * axis.base + axis.gap;
  }
  const cell = Math.min(across.base, down.base);
  view.largestZoom = Math.max(4, 32 / cell);
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

/** A table from code to pixel, little-endian RGBA. */
function makeShades(spec, sqrt) {
  const pixels = spec.colours.map((hex) => {
    const number = parseInt(hex.slice(1), 16);
    const [red, green, blue] = [number >> 16, (number >> 8) & 255, number & 255];
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
  const last = pixels.length - 1;
  return Uint32Array.from({ length: spec.levels + 1 }, (_, code) => {
    const share = code / spec.levels;
    return pixels[Math.round((sqrt ? Math.sqrt(share) : share) * last)];
  });
}

/** The current step, one pixel a cell, as it is drawn: transposed if asked. */
function paint(view) {
  const { matrix, spec, model, picture } = view;
  const { rows, columns, codes } = matrix;
  const step = currentStep(view);
  const shades = makeShades(spec, model.get("scale") === "sqrt");
  const maxima = model.get("normalise") ? matrix.rowMaxima(step) : null;
  const context = picture.getContext("2d");
  const image = context.createImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  const [rowStride, columnStride] = spec.transpose ? [1, rows] : [columns, 1];
  let at = matrix.start(step);
  for (let row = 0; row < rows; row++) {
    const factor = maxima ? spec.levels / Math.max(1, maxima[row]) : 1;
    let to = row * rowStride;
    for (let column = 0; column < columns; column++, at++, to += columnStride)
      pixels[to] = shades[maxima ? Math.round(codes[at] * factor) : codes[at]];
  }
  context.putImageData(image, 0, 0);
}

/** Runs of places that lie together: the words, and beyond the gap the summaries. */
function runs(axis) {
  const [from, to] = visible(axis);
  return [
    [from, Math.min(to, axis.edge)],
    [Math.max(from, axis.edge), to],
  ].filter(([start, end]) => start < end);
}

function drawBase(view) {
  const context = view.base.getContext("2d");
  context.fillStyle = view.spec.theme.paper;
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
function inPlot(view, context, draw) {
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
  context.strokeStyle = view.spec.theme.muted;
  context.lineWidth = 1;
  const ends = (axis) => {
    if (!axis.gap) return [[0, axis.length]];
    const edge = Math.min(axis.length, (axis.edge - axis.first) * axis.cell);
    const parts = [[0, edge], [edge + axis.gap, axis.length]];
    return parts.filter(([from, to]) => to - from > 1);
  };
  for (const [top, bottom] of ends(view.down))
    for (const [left, right] of ends(view.across))
      context.strokeRect(
        view.left + left - 0.5, view.top + top - 0.5, right - left + 1, bottom - top + 1,
      );
}

function drawOutlines(view, context) {
  const { spec, down, across, matrix, model } = view;
  if (spec.outline === null || Math.min(down.cell, across.cell) < 4) return;
  const step = currentStep(view);
  const value = model.get("normalise") ? matrix.shareOfRow : matrix.weight;
  const [top, bottom] = visible(down);
  const [left, right] = visible(across);
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++)
      if (value(step, ...cellOf(view, y, x)) > spec.outline) outline(view, context, y, x, spec.theme.ink, 2);
}

/** A frame within a cell, with a light line inside it, to be seen on every shade. */
function outline(view, context, y, x, colour, width) {
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
  const corner = (row, column) => [pixelOf(across, column), pixelOf(down, row)];
  const strokes = [[[], theme.paper, 4], [[6, 3], theme.accent, 2]];
  if (down.cell < 6) Object.assign(strokes, [[[], theme.paper, 2.5], [[], theme.accent, 1.5]]);
  for (const [dash, colour, width] of strokes) {
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    const [from, to] = visible(down);
    for (let row = from; row < to; row++) {
      const right = row + band + 1;
      if (row === from) context.moveTo(...corner(row, right));
      context.lineTo(...corner(row, right));
      context.lineTo(...corner(row + 1, right));
    }
    for (let row = from; row < to; row++) {
      const left = row - band;
      if (row === from) context.moveTo(...corner(row, left));
      context.lineTo(...corner(row, left));
      context.lineTo(...corner(row + 1, left));
    }
    context.stroke();
  }
  context.setLineDash([]);
}

/** Labels of an axis that have room, the others left out evenly. */
function spaced(axis) {
  const font = fontFor(axis.cell);
  const every = Math.max(1, Math.ceil((axis.cell < 9 ? font + 2 : font) / axis.cell - 1e-6));
  const [from, to] = visible(axis);
  const places = [];
  for (let place = from; place < to; place++) {
    const middle = pixelOf(axis, place) + axis.cell / 2;
    if (place % every === 0 && middle >= 0 && middle <= axis.length) places.push([place, middle]);
  }
  return { font, places };
}

function drawLabels(view, context) {
  context.fillStyle = view.spec.theme.muted;
  for (const axis of [view.down, view.across]) {
    const { font, places } = spaced(axis);
    context.font = `${font}px ${FONT}`;
    for (const [place, middle] of places) drawLabel(view, context, axis, place, middle);
  }
}

function drawLabel(view, context, axis, place, middle) {
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

/** Crosshair, pinned cell and their labels: all that changes with the pointer. */
function drawOverlay(view) {
  const context = view.overlay.getContext("2d");
  context.clearRect(0, 0, view.width, view.height);
  const { theme } = view.spec;
  const pinned = validCell(view, view.model.get("selected"));
  for (const [cell, colour] of [[pinned, theme.accent], [view.cursor, theme.ink]]) {
    if (!cell) continue;
    const [y, x] = placesOf(view, cell);
    inPlot(view, context, () => {
      if (cell === view.cursor) drawCross(view, context, y, x);
      outline(view, context, y, x, colour, cell === pinned ? 3 : 2);
    });
    emphasise(view, context, view.down, y, colour);
    emphasise(view, context, view.across, x, colour);
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
  const middle = pixelOf(axis, place) + axis.cell / 2;
  if (middle < 0 || middle > axis.length) return;
  const half = Math.max(8, Math.min(axis.cell, 18) / 2);
  context.fillStyle = colour;
  if (axis === view.down) context.fillRect(0, view.top + middle - half, view.left - 2, 2 * half);
  else if (view.upright)
    context.fillRect(view.left + middle - axis.cell / 2, 0, axis.cell, view.top - 2);
  else context.fillRect(view.left + middle - half, 0, 2 * half, view.top - 2);
  context.fillStyle = view.spec.theme.paper;
  context.font = `${Math.max(11, fontFor(axis.cell))}px ${FONT}`;
  drawLabel(view, context, axis, place, middle);
}

function currentStep(view) {
  return Math.min(Math.max(0, Math.round(view.model.get("step"))), view.spec.shape[0] - 1);
}

function cellOf(view, y, x) {
  return view.spec.transpose ? [x, y] : [y, x];
}

function placesOf(view, cell) {
  return cellOf(view, ...cell); // transposing twice changes nothing
}

function validCell(view, cell) {
  const inside = (value, count) => Number.isInteger(value) && value >= 0 && value < count;
  const { rows, columns } = view.matrix;
  return cell && inside(cell[0], rows) && inside(cell[1], columns) ? cell : null;
}

const KEYS =
  "Arrow keys move, Enter or a click pins a cell, + and − zoom, 0 shows all; " +
  "wheel zooms, dragging moves.";

function token(text) {
  return make("b", { dir: "auto", textContent: shown(text) });
}

function describe(view) {
  const cell = view.cursor ?? validCell(view, view.model.get("selected"));
  if (!cell) return [make("span", { class: "muted", textContent: KEYS })];
  const { spec, matrix, model } = view;
  const [row, column] = cell;
  const step = currentStep(view);
  const weight = matrix.weight(step, row, column).toFixed(decimals(spec.peak));
  const parts = [
    token(spec.rows[row]), ` [${row}] → `, token(spec.columns[column]), ` [${column}]`,
    make("br"), `${spec.quantity} `, make("b", { class: "weight", textContent: weight }),
    `, rank ${matrix.rank(step, row, column)} of ${matrix.columns} in its ${side(spec)}`,
  ];
  if (model.get("normalise")) {
    const share = 100 * matrix.shareOfRow(step, row, column);
    parts.push(`, ${share.toFixed(1)} % of the ${side(spec)}’s maximum`);
  }
  const same = model.get("selected");
  if (same && same[0] === row && same[1] === column) parts.push(", pinned");
  return parts;
}

function updateReadout(view) {
  view.readout.replaceChildren(...describe(view));
}

function moveCursor(view, cell) {
  const [old, now] = [view.cursor, cell];
  if (old === now || (old && now && old[0] === now[0] && old[1] === now[1])) return;
  view.cursor = cell;
  drawOverlay(view);
  updateReadout(view);
}

function pin(view, cell) {
  const old = view.model.get("selected");
  const same = old && cell && old[0] === cell[0] && old[1] === cell[1];
  change(view.model, "selected", same ? null : cell);
}

function setZoom(view, zoom, x = view.across.length / 2, y = view.down.length / 2) {
  view.zoom = Math.min(Math.max(1, zoom), view.largestZoom);
  zoomAxis(view.across, view.zoom, x);
  zoomAxis(view.down, view.zoom, y);
}

function zoomBy(view, factor, x, y) {
  setZoom(view, view.zoom * factor, x, y);
  view.cursor = null;
  view.model.set("zoom", view.zoom);
  clearTimeout(view.saving); // one message to the kernel for a turn of the wheel, not one per notch
  view.saving = setTimeout(() => view.model.save_changes(), 120);
  redraw(view);
}

function redraw(view) {
  drawBase(view);
  drawOverlay(view);
  updateReadout(view);
}

function repaint(view) {
  paint(view);
  redraw(view);
}

function pointerPlace(view, event) {
  const box = view.overlay.getBoundingClientRect();
  return [event.clientX - box.left - view.left, event.clientY - box.top - view.top];
}

function cellUnder(view, event) {
  const [x, y] = pointerPlace(view, event);
  const places = [indexAt(view.down, y), indexAt(view.across, x)];
  return places.includes(null) ? null : cellOf(view, ...places);
}

function listenToPointer(view) {
  const { plot } = view;
  let drag = null;
  let moved = -Infinity; // when the reader last moved the pointer, not the page under it
  plot.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, far: false };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (event.movementX || event.movementY) moved = event.timeStamp;
    if (drag) dragTo(view, drag, event);
    if (!drag?.far) moveCursor(view, cellUnder(view, event));
  });
  plot.addEventListener("pointerup", (event) => {
    const cell = cellUnder(view, event);
    if (drag && !drag.far && cell) pin(view, cell);
    drag = null;
  });
  plot.addEventListener("pointercancel", () => (drag = null));
  plot.addEventListener("pointerleave", () => moveCursor(view, null));
  plot.addEventListener("wheel", (event) => {
    // A page that scrolls past under a resting pointer goes on scrolling.
    const meant = event.ctrlKey || hasFocus(plot) || event.timeStamp - moved < 1500;
    const useful = event.deltaY < 0 ? view.zoom < view.largestZoom : view.zoom > 1;
    if (!meant || !useful) return;
    event.preventDefault();
    moved = event.timeStamp;
    zoomBy(view, Math.exp(-Math.sign(event.deltaY) * 0.2), ...pointerPlace(view, event));
  }, { passive: false });
}

function hasFocus(element) {
  return element.getRootNode().activeElement === element;
}

function dragTo(view, drag, event) {
  const [right, below] = [event.clientX - drag.x, event.clientY - drag.y];
  if (!drag.far && Math.hypot(right, below) < 4) return;
  Object.assign(drag, { x: event.clientX, y: event.clientY, far: true });
  moveAxis(view.across, view.across.first - right / view.across.cell);
  moveAxis(view.down, view.down.first - below / view.down.cell);
  redraw(view);
}

function keyMoves(view, [y, x]) {
  const { down, across } = view;
  return {
    ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
    Home: [y, 0], End: [y, across.count - 1], PageUp: [0, x], PageDown: [down.count - 1, x],
  };
}

function listenToKeys(view) {
  const { plot, down, across } = view;
  const middle = () => [across.length / 2, down.length / 2];
  const actions = {
    "+": () => zoomBy(view, 1.25, ...zoomCentre()),
    "=": () => zoomBy(view, 1.25, ...zoomCentre()),
    "-": () => zoomBy(view, 0.8, ...zoomCentre()),
    0: () => zoomBy(view, 1 / view.zoom, ...middle()),
    Enter: () => pin(view, current()),
    " ": () => pin(view, current()),
    Escape: () => change(view.model, "selected", null),
  };
  const current = () => view.cursor ?? validCell(view, view.model.get("selected")) ?? view.resting;

  function zoomCentre() {
    const [y, x] = placesOf(view, current());
    const centre = [pixelOf(across, x) + across.cell / 2, pixelOf(down, y) + down.cell / 2];
    return centre.every((pixel, i) => pixel >= 0 && pixel <= [across, down][i].length)
      ? centre : middle();
  }
  function goTo([y, x]) {
    const clamp = (value, count) => Math.min(Math.max(0, value), count - 1);
    const places = [clamp(y, down.count), clamp(x, across.count)];
    bringIntoView(down, places[0]);
    bringIntoView(across, places[1]);
    view.resting = cellOf(view, ...places);
    view.cursor = view.resting;
    redraw(view);
  }
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = keyMoves(view, placesOf(view, current()))[event.key];
    const action = actions[event.key];
    if (!move && !action) return;
    event.preventDefault();
    event.stopPropagation();
    const keep = view.cursor ?? view.resting;
    if (move) goTo(move);
    else {
      action();
      moveCursor(view, keep);
    }
  });
  plot.addEventListener("focus", () => {
    if (plot.matches(":focus-visible")) moveCursor(view, current());
  });
  plot.addEventListener("blur", () => moveCursor(view, null));
}

function stepControl(view) {
  const { spec, model } = view;
  if (spec.steps === null) return [];
  const slider = make("input", {
    type: "range", min: 0, max: spec.steps.length - 1, step: 1, "aria-label": "Show",
  });
  const name = make("span", { class: "name" });
  slider.addEventListener("input", () => change(model, "step", Number(slider.value)));
  view.updates.push(() => {
    const step = currentStep(view);
    slider.value = step;
    name.textContent = shown(spec.steps[step]);
    slider.setAttribute("aria-valuetext", shown(spec.steps[step]));
  });
  return [make("label", {}, "Show", slider, name)];
}

function scaleControl(view) {
  const select = make("select", { "aria-label": "Colour scale" });
  select.append(new Option("linear", "linear"), new Option("square root", "sqrt"));
  select.addEventListener("change", () => change(view.model, "scale", select.value));
  view.updates.push(() => (select.value = view.model.get("scale")));
  return labelled("Colours", select);
}

/** How a row of the weights is drawn. */
const side = (spec) => (spec.transpose ? "column" : "row");

function normaliseControl(view) {
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => change(view.model, "normalise", box.checked));
  view.updates.push(() => (box.checked = view.model.get("normalise")));
  return labelled(box, `each ${side(view.spec)} ÷ its maximum`);
}

function bandControl(view) {
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
    const percent = () => (100 * matrix.bandShare(currentStep(view), band)).toFixed(1);
    share.textContent = band === null ? "" : `holds ${percent()} % of the weight`;
  });
  return [labelled("Band |i − j| ≤", input, share)];
}

function zoomControls(view) {
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

function legend(view) {
  const box = make("div", { class: "legend" });
  view.updates.push(() => {
    const { spec, model } = view;
    const normalised = model.get("normalise");
    const sqrt = model.get("scale") === "sqrt";
    const peak = normalised ? 1 : spec.peak;
    const tick = (share) => Number((peak * (sqrt ? share * share : share)).toPrecision(3));
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => String(tick(share)));
    const name = spec.quantity + (normalised ? ` ÷ largest of its ${side(spec)}` : "");
    box.replaceChildren(...ramp(spec.colours, ticks), name + (sqrt ? ", square-root scale" : ""));
    if (spec.precision) box.append(make("br"), spec.precision);
  });
  return box;
}

function buildHeatmap(root, model, codes) {
  const spec = model.get("spec");
  const matrix = readMatrix(spec, codes);
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
  view.foot = make("div", { class: "foot" }, view.readout, legend(view));
  view.plot = make("div", {
    class: "plot", tabIndex: 0, role: "application", "aria-roledescription": "heatmap",
    "aria-label": `${spec.title || "Attention"}: ${down.count} rows by ${across.count} columns. ${KEYS}`,
  }, view.base, view.overlay);
  const controls = [scaleControl(view), normaliseControl(view), ...bandControl(view)];
  root.append(
    make("figure", { role: "group", "aria-label": spec.title || "Attention heatmap" },
      ...(spec.title ? [make("figcaption", { dir: "auto", textContent: spec.title })] : []),
      make("div", { class: "bar" }, ...stepControl(view), ...controls, zoomControls(view)),
      view.plot, view.foot,
    ),
  );
  return view;
}

function mountHeatmap(root, model, codes, listen) {
  const view = buildHeatmap(root, model, codes);
  const update = () => view.updates.forEach((run) => run());
  listenToPointer(view);
  listenToKeys(view);
  for (const name of ["step", "scale", "normalise"])
    listen(`change:${name}`, () => (update(), repaint(view)));
  listen("change:band", () => (update(), redraw(view)));
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

/** Calls `draw` now and whenever the width changes; returns what ends that. */
function watchWidth(element, draw) {
  let width = null;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === 0 || element.clientWidth === width) return;
    width = element.clientWidth;
    draw();
  });
  observer.observe(element);
  return () => observer.disconnect();
}

function tint(spec, times) {
  const last = spec.tints.length - 1;
  return spec.tints[Math.round((Math.min(times, spec.clip) / spec.clip) * last)];
}

function wordOption(view, sentence, place) {
  const { spec } = view;
  const words = spec.sentences[sentence];
  const weight = spec.weights[sentence][place];
  const times = weight * words.length;
  const text = shown(words[place], 80);
  const fact = `weight ${Number(weight.toPrecision(5))}, ${times.toFixed(2)}× uniform`;
  const option = make("span", {
    class: "word", role: "option", tabIndex: -1, "aria-label": `${text}: ${fact}`,
    "aria-selected": "false", dir: "auto", textContent: text,
  });
  option.style.background = tint(spec, times);
  view.options.push({ option, sentence, place, fact });
  return option;
}

function sentenceRow(view, sentence) {
  const { spec } = view;
  const side = make("div", { class: "side" });
  if (spec.labels) {
    const text = shown(spec.labels[sentence]);
    side.append(make("span", { class: "label", textContent: text, title: text }));
  }
  if (spec.shares) {
    const [share, largest] = [spec.shares[sentence], Math.max(...spec.shares, 1e-9)];
    const bar = make("i");
    bar.style.width = `${(100 * share) / largest}%`;
    side.append(make("span", { class: "chip" }, `${(100 * share).toFixed(1)}%`, bar));
  }
  const words = make("div", { class: "words", role: "group", "aria-label": `Sentence ${sentence + 1}` });
  spec.sentences[sentence].forEach((_, place) => words.append(wordOption(view, sentence, place), " "));
  return make("div", { class: "sentence", role: "presentation" }, side, words);
}

function showTip(view, entry) {
  const { tip, figure } = view;
  tip.textContent = entry ? entry.fact : "";
  if (!entry) return;
  const [frame, word] = [figure.getBoundingClientRect(), entry.option.getClientRects()[0]];
  const left = Math.min(word.left - frame.left, frame.width - tip.offsetWidth - 6);
  const above = word.top - frame.top - tip.offsetHeight - 3;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${above >= 0 ? above : word.bottom - frame.top + 3}px`;
}

/** One tab stop: the word that has it takes the focus. */
function giveTabStop(view, index, focus) {
  const { options } = view;
  options[view.stop].option.tabIndex = -1;
  view.stop = Math.min(Math.max(0, index), options.length - 1);
  options[view.stop].option.tabIndex = 0;
  if (focus) options[view.stop].option.focus();
}

/** The word nearest to this one on the line above (−1) or below (1). */
function onNextLine(view, index, direction) {
  const boxes = view.options.map(({ option }) => option.getClientRects()[0]);
  const from = boxes[index];
  const beyond = (box) => direction * (box.top - from.top) > from.height / 2;
  const distance = (box) => Math.abs(box.top - from.top) * 1000 + Math.abs(box.left - from.left);
  let best = index;
  boxes.forEach((box, i) => {
    if (beyond(box) && (best === index || distance(box) < distance(boxes[best]))) best = i;
  });
  return best;
}

function textKeys(view, index) {
  return {
    ArrowLeft: () => index - 1, ArrowRight: () => index + 1,
    ArrowUp: () => onNextLine(view, index, -1), ArrowDown: () => onNextLine(view, index, 1),
    Home: () => 0, End: () => view.options.length - 1,
  };
}

function listenToWords(view, list, model) {
  const indexOf = (event) => view.options.findIndex(({ option }) => option === event.target);
  const pinWord = (index) => {
    const { sentence, place } = view.options[index];
    const old = model.get("selected");
    const same = old && old[0] === sentence && old[1] === place;
    change(model, "selected", same ? null : [sentence, place]);
  };
  list.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = textKeys(view, index)[event.key];
    if (!move && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (move) giveTabStop(view, move(), true);
    else pinWord(index);
  });
  list.addEventListener("focusin", (event) => {
    const index = indexOf(event);
    if (index >= 0) giveTabStop(view, index, false);
    showTip(view, view.options[index]);
  });
  list.addEventListener("focusout", () => showTip(view, null));
  list.addEventListener("pointerover", (event) => showTip(view, view.options[indexOf(event)]));
  list.addEventListener("pointerleave", () => showTip(view, null));
  list.addEventListener("click", (event) => indexOf(event) >= 0 && pinWord(indexOf(event)));
}

function textLegend(spec) {
  const ticks = [0, 1, 2, 3].map(String).concat(`≥ ${spec.clip}`);
  const name = "times the weight of uniform attention in the sentence";
  return make("div", { class: "legend" }, ...ramp(spec.tints, ticks), name);
}

function mountText(root, model, listen) {
  const spec = model.get("spec");
  const view = { spec, options: [], stop: 0 };
  view.tip = make("div", { class: "tip", role: "status", "aria-live": "polite" });
  const list = make("div", { role: "listbox", "aria-label": `${spec.title || "Text"}: words by weight` });
  list.append(...spec.sentences.map((_, sentence) => sentenceRow(view, sentence)));
  view.figure = make("figure", { role: "group", "aria-label": spec.title || "Attention over text" },
    ...(spec.title ? [make("figcaption", { dir: "auto", textContent: spec.title })] : []),
    list, textLegend(spec), view.tip);
  root.append(view.figure);
  const select = () => {
    const [row, column] = model.get("selected") ?? [];
    for (const { option, sentence, place } of view.options)
      option.setAttribute("aria-selected", String(sentence === row && place === column));
  };
  listen("change:selected", select);
  listenToWords(view, list, model);
  giveTabStop(view, 0, false);
  select();
}

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
