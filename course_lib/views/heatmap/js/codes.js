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

/** What the other parts ask of the weights. */
export function readMatrix(spec, codes) {
  const [rows, columns] = spec.shape;
  let maxima = null;

  function rowMaxima() {
    maxima ??= Uint16Array.from({ length: rows }, (_, row) =>
      codes.subarray(row * columns, (row + 1) * columns).reduce((most, code) => Math.max(most, code), 0));
    return maxima;
  }
  const code = (row, column) => codes[row * columns + column];
  const weight = (row, column) => (code(row, column) / spec.levels) * spec.peak;
  function shareOfRow(row, column) {
    const largest = rowMaxima()[row];
    return largest ? code(row, column) / largest : 0;
  }
  function rank(row, column) {
    const own = code(row, column);
    let higher = 0;
    const at = row * columns;
    for (let i = at; i < at + columns; i++) if (codes[i] > own) higher++;
    return higher + 1;
  }
  /** Share of the weight with |row − column| ≤ band. */
  function bandShare(band) {
    let inside = 0;
    let all = 0;
    let at = 0;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++, at++) {
        all += codes[at];
        if (Math.abs(row - column) <= band) inside += codes[at];
      }
    return all ? inside / all : 0;
  }
  return { rows, columns, codes, rowMaxima, weight, shareOfRow, rank, bandShare };
}
