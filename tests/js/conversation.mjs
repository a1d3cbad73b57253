// What the reading room's worker posts: node conversation.mjs SCRIPT BUNDLE < messages, one JSON a
// line, each answered before the next is sent; a line that is a list is sent at once.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { runInNewContext } from "node:vm";

const [script, bundle] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
class WorkerGlobalScope {}
const posted = [];
const self = Object.assign(new WorkerGlobalScope(), { postMessage: (one) => posted.push(one) });
const web = { atob, Blob, DecompressionStream, performance, Response, setTimeout, TextDecoder };
runInNewContext(script, { self, WorkerGlobalScope, ...web });

for await (const line of createInterface({ input: process.stdin })) {
  const messages = [JSON.parse(line)].flat();
  const filled = messages.map((each) => (each.type === "load" ? { bundle, ...each } : each));
  await Promise.all(filled.map((data) => self.onmessage({ data })));
}
process.stdout.write(JSON.stringify(posted));
