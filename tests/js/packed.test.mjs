// What Python packed, unpacked here: the file named by COURSE_PACKED holds views with their weights.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { readMatrix, unpack } = await load("codes");

for (const { name, spec, data, weights } of JSON.parse(readFileSync(process.env.COURSE_PACKED)))
  test(name, async () => {
    const bytes = Buffer.from(data, "base64");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const matrix = readMatrix(spec, await unpack(view));
    const raw = Buffer.from(weights, "base64");
    const [rows, columns] = spec.shape;
    const half = 0.51 * (spec.peak / spec.levels); // Python rounds in float32
    assert.equal(raw.length, 4 * rows * columns);
    for (let row = 0, at = 0; row < rows; row++)
      for (let column = 0; column < columns; column++, at += 4) {
        const difference = matrix.weight(row, column) - raw.readFloatLE(at);
        if (Math.abs(difference) > half) assert.fail(`[${row}, ${column}]: ${difference}`);
      }
  });
