import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { readMatrix } = await load("codes");
const { fillPixels, makeShades, tint } = await load("colours");
const colours = ["#ffffff", "#808000", "#400000", "#0000ff", "#010203"]; // at 0, ¼, ½, ¾ and 1
const pixels = [0xffffffff, 0xff008080, 0xff000040, 0xffff0000, 0xff030201];
const linear = { sqrt: false, normalise: false, most: 1 };

test("shades run over the map, and the square root reaches a colour at the share squared", () => {
  const shades = makeShades({ colours, levels: 16 }, false, 1);
  assert.equal(shades.length, 17);
  assert.deepEqual([0, 4, 8, 12, 16].map((code) => shades[code]), pixels);
  const roots = makeShades({ colours, levels: 16 }, true, 1);
  assert.deepEqual([0, 1, 4, 9, 16].map((code) => roots[code]), pixels);
  const half = makeShades({ colours, levels: 16 }, false, 0.5);
  assert.deepEqual([0, 8, 16].map((code) => half[code]), pixels.slice(0, 3));
});

function painted(spec, codes, options) {
  const whole = { colours, levels: 4, peak: 1, transpose: false, ...spec };
  const drawn = new Uint32Array(whole.shape[0] * whole.shape[1]);
  fillPixels(drawn, whole, readMatrix(whole, Uint16Array.from(codes)), options);
  return [...drawn].map((pixel) => pixels.indexOf(pixel));
}

test("a matrix is painted row by row, transposed column by column", () => {
  const codes = [0, 1, 2, 3, 4, 0];
  assert.deepEqual(painted({ shape: [2, 3] }, codes, linear), [0, 1, 2, 3, 4, 0]);
  const turned = painted({ shape: [2, 3], transpose: true }, codes, linear);
  assert.deepEqual(turned, [0, 3, 1, 4, 2, 0]);
});

test("a scale beyond the largest weight keeps the darker colours for others", () => {
  const wide = painted({ shape: [1, 3], peak: 0.5 }, [0, 2, 4], { ...linear, most: 1 });
  assert.deepEqual(wide, [0, 1, 2]);
  const each = { sqrt: false, normalise: true, most: 1 };
  assert.deepEqual(painted({ shape: [1, 3], peak: 0.5 }, [0, 2, 4], each), [0, 2, 4]);
});

test("normalised, each row of the weights reaches the darkest colour, and zeros stay paper", () => {
  const codes = [0, 1, 2, 0, 4, 3, 0, 0, 0];
  const normalised = { sqrt: false, normalise: true };
  const wanted = [0, 2, 4, 0, 4, 3, 0, 0, 0];
  assert.deepEqual(painted({ shape: [3, 3] }, codes, normalised), wanted);
  const turned = painted({ shape: [3, 3], transpose: true }, codes, normalised);
  assert.deepEqual(turned, [0, 0, 0, 2, 4, 0, 4, 3, 0]);
});

test("tints grow with the weight and end where it is clipped", () => {
  const spec = { tints: ["0", "1", "2", "3", "4"], clip: 4 };
  assert.deepEqual([0, 1, 1.4, 2.6, 4, 40].map((times) => tint(spec, times)),
    ["0", "1", "1", "3", "4", "4"]);
});
