import assert from "node:assert/strict";
import { test } from "node:test";

const folder = new URL("../../course_kit/reading_room/page/js/", import.meta.url);
const { agreement, answerOf, keepFacts, renderTokens, matrixOf, signed, strongestText } = await import(new URL("render.js", folder));

const TOLD = {
  clip: 4,
  colours: { tints: ["white", "pale", "dark"], signed: ["blue", "white", "red"], weights: [] },
};
const READING = {
  tokens: [["a", "b"], ["c", "d"]], known: [[true, false], [true, true]],
  read: [[true, true], [true, false]], probabilities: [0.25, 0.75], word: [0.5, 0.25, 0.25, 0],
  attention: {
    steps: { rows: ["one", ""], weights: [[0.5, 0.25, 0.25, 0, 0], [0, 0, 0, 0, 0.8]], extra: ["sum"], of: "words" },
    sentences: { rows: [""], weights: [[0.4, 0.6]], extra: [], of: "sentences" },
  },
};
const asked = (erased, removal) => ({ erased, removal, text: "", uniform: false });
const after = (drops, ...erased) => ({ reading: { ...READING, drops }, asked: asked(erased, "delete") });
const dressed = (...rest) => renderTokens({ reading: READING, asked: asked(...rest) }, "attention", TOLD);

test("a tint tells how often a word holds the weight of uniform attention over what is read", () => {
  const [[a, b], [c, d]] = dressed([], "delete");
  assert.deepEqual([a.colour, a.fact], ["pale", "weight 0.5, 1.50× uniform"]);
  assert.deepEqual([b.marks, c.marks, d.marks], [["unknown"], [], ["unread"]]);
  assert.deepEqual([d.colour, d.fact], ["", ""]);
});

test("a deleted word has no weight, and does not count; a masked one does", () => {
  const [[gone], [left]] = dressed([0], "delete");
  assert.deepEqual([gone.marks, gone.fact, left.fact], [["erased"], "", "weight 0.25, 0.50× uniform"]);
  const [[masked]] = dressed([0], "mask");
  assert.deepEqual([masked.marks, masked.fact], [["erased"], "weight 0.5, 1.50× uniform"]);
});

test("a word left out is red where the answer loses, blue where it gains, and says so", () => {
  const [[a, b], [c]] = renderTokens(after([0.7, -0.5]), "drops", TOLD);
  assert.deepEqual([a.colour, b.colour, c.colour], ["red", "blue", "white"]);
  assert.deepEqual([a.fact, b.fact, c.fact], [
    "the answer loses 0.70 without it", "the answer gains 0.50 without it", "not yet left out",
  ]);
});

test("agreement counts the words that were left out so far", () => {
  assert.deepEqual(agreement(after(undefined)), { tau: null, done: 0, all: 3 });
  assert.deepEqual(agreement(after([0.7, 0.1])), { tau: 1, done: 2, all: 3 });
  assert.deepEqual(agreement(after([0, 0.1, 0.2])).tau.toFixed(4), "-0.8165");
  assert.equal(agreement(after([1, , 0.5], 1)).all, 2);
});

test("a matrix holds its summaries behind the words", () => {
  const [spec, codes] = matrixOf(READING, "steps", TOLD.colours);
  assert.deepEqual([spec.rows, spec.columns, spec.shape], [["one", "steps"], ["a", "b", "c", "d", "sum"], [2, 5]]);
  assert.deepEqual([spec.extra, spec.peak, codes.at(-1)], [1, 0.8, 65535]);
  assert.deepEqual(matrixOf(READING, "sentences", TOLD.colours)[0].columns, ["sentence 1", "sentence 2"]);
});

test("a long text is cut to what a heatmap shows, and its title says so", () => {
  const tokens = [Array.from({ length: 500 }, (_, i) => `w${i}`)];
  const weights = [tokens[0].map(() => 0.002)];
  const long = { tokens, known: [], read: [], attention: { words: { rows: [""], weights, extra: [], of: "words" } } };
  const [spec, codes] = matrixOf(long, "words", TOLD.colours);
  assert.deepEqual([spec.columns.length, codes.length, spec.title], [400, 400, "the first 400 of 500 words"]);
});

test("differences have a sign, and none where there is nothing to tell", () => {
  const told = [0.123, -0.5, 0.005, 0, -0.004].map(signed);
  assert.deepEqual(told, ["+0.12", "−0.50", "+0.01", "0.00", "0.00"]);
  assert.equal(answerOf({ classes: ["no", "yes"] }, READING), "yes 0.75");
});

test("an erased word keeps what was told of it, whichever words are erased later", () => {
  const before = dressed([], "delete");
  const once = keepFacts(dressed([0], "delete"), before);
  assert.deepEqual(once[0].map(({ fact }) => fact), ["had weight 0.5, 1.50× uniform", "weight 0.25, 0.50× uniform"]);
  const twice = keepFacts(dressed([0, 1], "delete"), once);
  assert.deepEqual(twice[0].map(({ fact }) => fact), ["had weight 0.5, 1.50× uniform", "had weight 0.25, 0.50× uniform"]);
  assert.deepEqual(keepFacts(before, twice), before);
  const [[open]] = renderTokens(after([]), "drops", TOLD);
  assert.equal(keepFacts(renderTokens(after([], 0), "drops", TOLD), [[open, open], [open, open]])[0][0].fact, "");
});

test("the strongest tints are told in numbers, and none that two decimals hide", () => {
  const told = (reading, tint) => strongestText({ reading: { ...READING, ...reading } }, tint).replace(/[\u2068\u2069]/g, "").replaceAll("\u00a0", " ");
  assert.equal(told({ word: [0.5, 0.004, 0.25, 0] }, "attention"), "Largest weights: “a” 0.50, “c” 0.25");
  assert.equal(told({ drops: [0.1, , -0.7, 0.2] }, "drops"), "The answer loses most without: “d” 0.20, “a” 0.10");
  assert.equal(told({}, "drops"), "");
});
