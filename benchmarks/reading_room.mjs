// The reading room's engine on many texts: one JSON a line in, one a line out.
// node benchmarks/reading_room.mjs BUNDLE < questions > answers

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { answer } from "../course_lib/reading_room/engine/reading.js";
import { sentences } from "../course_lib/reading_room/engine/sentences.js";
import { words } from "../course_lib/reading_room/engine/tokens.js";
import { unpack } from "../course_lib/reading_room/engine/weights.js";

const engine = await unpack(readFileSync(process.argv[2], "utf8"));
const models = new Map(engine.models.map((model) => [model.id, model]));
const options = { erased: new Set(), removal: "delete", uniform: false };

function split({ text, given }) {
  return { sentences: sentences(text, engine.punkt), words: given.map(words) };
}

function read({ model, tokens, whole }) {
  const { logits, attention, word } = answer(models.get(model), tokens, options);
  if (!whole) return { logits: Array.from(logits) };
  const weights = Object.entries(attention).map(([name, { weights }]) => [name, weights]);
  return { logits: Array.from(logits), word, attention: Object.fromEntries(weights) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  process.stdout.write(JSON.stringify("text" in question ? split(question) : read(question)) + "\n");
}
