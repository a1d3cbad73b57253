import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { cellOf, moveByKey, placesOf, sameCell, side, validCell } = await load("cells");

test("a cell is the place, turned over where the picture is", () => {
  assert.deepEqual(cellOf({ spec: { transpose: false } }, 1, 4), [1, 4]);
  assert.deepEqual(cellOf({ spec: { transpose: true } }, 1, 4), [4, 1]);
  for (const transpose of [false, true]) {
    const view = { spec: { transpose } };
    assert.deepEqual(cellOf(view, ...placesOf(view, [2, 7])), [2, 7]);
  }
});

test("a row is called by what it is drawn as", () => {
  assert.equal(side({ transpose: false }), "row");
  assert.equal(side({ transpose: true }), "column");
});

test("a cell beyond the matrix, or none, is null", () => {
  const view = { matrix: { rows: 2, columns: 3 } };
  assert.deepEqual(validCell(view, [1, 2]), [1, 2]);
  for (const cell of [[2, 0], [0, 3], [-1, 0], [0, 0.5], [0, NaN]])
    assert.equal(validCell(view, cell), null);
  assert.equal(validCell(view, null) ?? null, null);
});

test("cells are the same by what they hold", () => {
  assert.ok(sameCell([1, 2], [1, 2]) && sameCell(null, null));
  for (const other of [[2, 1], [1, 3], [0, 2], null]) assert.equal(sameCell([1, 2], other), false);
  assert.equal(sameCell(undefined, [1, 2]), false);
});

test("keys move by one place, or to an end, and stop at the ends", () => {
  const view = { down: { count: 5 }, across: { count: 8 } };
  const wanted = {
    ArrowUp: [1, 3], ArrowDown: [3, 3], ArrowLeft: [2, 2], ArrowRight: [2, 4],
    Home: [2, 0], End: [2, 7], PageUp: [0, 3], PageDown: [4, 3],
  };
  for (const [key, places] of Object.entries(wanted))
    assert.deepEqual(moveByKey(view, key, [2, 3]), places, key);
  assert.deepEqual(moveByKey(view, "ArrowUp", [0, 0]), [0, 0]);
  assert.deepEqual(moveByKey(view, "ArrowLeft", [0, 0]), [0, 0]);
  assert.deepEqual(moveByKey(view, "ArrowDown", [4, 7]), [4, 7]);
  assert.deepEqual(moveByKey(view, "ArrowRight", [4, 7]), [4, 7]);
  assert.equal(moveByKey(view, "x", [0, 0]), undefined);
});
