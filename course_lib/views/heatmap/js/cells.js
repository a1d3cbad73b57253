import { clamp } from "./numbers.js";

// Which cell is meant. A cell is [row, column] of the array, a place counts along an axis as it is
// drawn. Needs no browser.

/** The cell at a place down and a place across. */
export function cellOf({ spec }, y, x) {
  return spec.transpose ? [x, y] : [y, x];
}

export function placesOf(view, cell) {
  return cellOf(view, ...cell); // transposing twice changes nothing
}

/** The cell, `null` unless the matrix has it. */
export function validCell({ matrix }, cell) {
  const inside = (value, count) => Number.isInteger(value) && value >= 0 && value < count;
  return cell && inside(cell[0], matrix.rows) && inside(cell[1], matrix.columns) ? cell : null;
}

export function sameCell(one, other) {
  return one === other || Boolean(one && other && one[0] === other[0] && one[1] === other[1]);
}

/** Where a key moves the cursor from a place down and a place across; `undefined` for others. */
export function moveByKey({ down, across }, key, [y, x]) {
  const moves = {
    ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
    Home: [y, 0], End: [y, across.count - 1], PageUp: [0, x], PageDown: [down.count - 1, x],
  };
  const move = moves[key];
  return move && [clamp(move[0], 0, down.count - 1), clamp(move[1], 0, across.count - 1)];
}

/** How a row of the weights is drawn. */
export function side(spec) {
  return spec.transpose ? "column" : "row";
}
