// What the reading room's worker posts: node conversation.mjs BUNDLE < messages, one JSON a line,
// each answered before the next is sent; a line that is a list is sent at once.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const engine = new URL("../../course_kit/reading_room/engine/worker.js", import.meta.url);
const { conversation } = await import(engine);
const posted = [];
const handle = conversation((message) => posted.push(message));
const bundle = readFileSync(process.argv[2], "utf8");

for await (const line of createInterface({ input: process.stdin })) {
  const messages = [JSON.parse(line)].flat();
  const filled = messages.map((each) => (each.type === "load" ? { bundle, ...each } : each));
  await Promise.all(filled.map(handle));
}
process.stdout.write(JSON.stringify(posted));
