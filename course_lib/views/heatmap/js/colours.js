// From weights to colours. Needs no browser.

/** A table from code to pixel, little-endian RGBA; the largest code lies at a share `reach` of the
 *  colour scale. */
export function makeShades(spec, sqrt, reach) {
  const pixels = spec.colours.map((hex) => {
    const number = parseInt(hex.slice(1), 16);
    const [red, green, blue] = [number >> 16, (number >> 8) & 255, number & 255];
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
  const last = pixels.length - 1;
  return Uint32Array.from({ length: spec.levels + 1 }, (_, code) => {
    const share = (reach * code) / spec.levels;
    return pixels[Math.round((sqrt ? Math.sqrt(share) : share) * last)];
  });
}

/** Fills `pixels`, one a cell, with the matrix as it is drawn: transposed if asked. */
export function fillPixels(pixels, spec, matrix, { sqrt, normalise, most }) {
  const { rows, columns, codes } = matrix;
  const shades = makeShades(spec, sqrt, normalise || !most ? 1 : spec.peak / most);
  const maxima = normalise ? matrix.rowMaxima() : null;
  const [rowStride, columnStride] = spec.transpose ? [1, rows] : [columns, 1];
  let at = 0;
  for (let row = 0; row < rows; row++) {
    const factor = maxima ? spec.levels / Math.max(1, maxima[row]) : 1;
    let to = row * rowStride;
    for (let column = 0; column < columns; column++, at++, to += columnStride)
      pixels[to] = shades[maxima ? Math.round(codes[at] * factor) : codes[at]];
  }
}

/** The tint of a word that holds so many times the weight of uniform attention. */
export function tint(spec, times) {
  const last = spec.tints.length - 1;
  return spec.tints[Math.round((Math.min(times, spec.clip) / spec.clip) * last)];
}
