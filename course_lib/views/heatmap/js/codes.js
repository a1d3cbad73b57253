// What a browser is sent, unpacked into weights again. Needs no page.

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Codes from all their high parts followed by all their low parts, of so many bits. */
export function join(lowBits, buffer) {
  const parts = new Uint8Array(buffer);
  const count = parts.length / 2;
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i++) codes[i] = (parts[i] << lowBits) | parts[count + i];
  return codes;
}

/** Codes from what `encoding.deflate` packs: the number of low bits, then the parts. */
export async function unpack(view) {
  if (view.byteLength === 0) return null;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return join(bytes[0], await inflate(bytes.subarray(1)));
}

/** What the other parts ask of the weights; `step` picks the matrix. */
export function readMatrix(spec, codes) {
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
