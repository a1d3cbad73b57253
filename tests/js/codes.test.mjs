import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { join, readMatrix, unpack } = await load("codes");
const spec = { shape: [3, 3], levels: 100, peak: 0.5 };
const matrix = readMatrix(spec, Uint16Array.from([0, 50, 100, 0, 0, 0, 20, 40, 20]));

test("codes are their high parts shifted by the low bits, plus their low parts", () => {
  const parts = Uint8Array.from([0, 1, 255, 7, 0, 31]);
  assert.deepEqual([...join(5, parts.buffer)], [7, 32, 255 * 32 + 31]);
  assert.deepEqual([...join(8, parts.buffer)], [7, 256, 255 * 256 + 31]);
});

test("no data is no codes", async () => {
  assert.equal(await unpack(new DataView(new ArrayBuffer(0))), null);
});

test("a weight is its code's share of the levels, of the peak", () => {
  assert.equal(matrix.weight(0, 1), 0.25);
  assert.equal(matrix.weight(0, 2), 0.5);
  assert.equal(matrix.weight(2, 1), 0.2);
});

test("a row's maximum is its own, and a row of zeros stays zero", () => {
  assert.deepEqual([...matrix.rowMaxima()], [100, 0, 40]);
  assert.equal(matrix.shareOfRow(2, 0), 0.5);
  assert.equal(matrix.shareOfRow(0, 1), 0.5);
  assert.equal(matrix.shareOfRow(1, 1), 0);
});

test("ranks count what is larger in the row; equals share a rank", () => {
  assert.deepEqual([0, 1, 2].map((column) => matrix.rank(0, column)), [3, 2, 1]);
  assert.deepEqual([0, 1, 2].map((column) => matrix.rank(2, column)), [2, 1, 2]);
  assert.deepEqual([0, 1, 2].map((column) => matrix.rank(1, column)), [1, 1, 1]);
});

test("a band holds the share of the weight within its distance", () => {
  const square = (codes) => readMatrix({ shape: [3, 3], levels: 10, peak: 1 }, Uint16Array.from(codes));
  const heavy = square([8, 1, 1, 1, 8, 1, 1, 1, 8]);
  assert.deepEqual([0, 1, 2].map(heavy.bandShare), [24 / 30, 28 / 30, 1]);
  assert.equal(square([0, 0, 0, 0, 0, 0, 0, 0, 0]).bandShare(2), 0);
});
