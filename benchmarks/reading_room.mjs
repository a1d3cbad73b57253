// The reading room's engine on many texts: one JSON a line in, one a line out.
// node benchmarks/reading_room.mjs BUNDLE < questions > answers

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { answering } from "./reading_room_answers.js";

const answer = await answering(readFileSync(process.argv[2], "utf8"));
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
