// Calls functions of the reading room's engine: one {part, name, arguments} a line, one answer a line.

import { createInterface } from "node:readline";

const folder = new URL("../../course_kit/reading_room/engine/", import.meta.url);

function revived(_, value) {
  if (value?.vector) return Float32Array.from(value.vector);
  if (Array.isArray(value?.set)) return new Set(value.set);
  if (Array.isArray(value?.map)) return new Map(value.map);
  if (!value?.matrix) return value;
  const data = Float32Array.from(value.matrix.flat());
  return { rows: value.matrix.length, columns: value.matrix[0]?.length ?? 0, data };
}

const told = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);

async function answered(line) {
  try {
    const { part, name, arguments: given } = JSON.parse(line, revived);
    const found = (await import(new URL(`${part}.js`, folder)))[name];
    return { result: await found(...given) };
  } catch (error) {
    return { error: String(error.stack) };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(JSON.stringify(await answered(line), told) + "\n");
