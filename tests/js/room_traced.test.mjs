import assert from "node:assert/strict";
import { test } from "node:test";

const folder = new URL("../../course_kit/reading_room/page/js/", import.meta.url);
const { changedSentence, factorsOf, rangeText, rowText, rowsShown, shortNumber, shownChange, stripCells, stripText, turnText, withWeight } =
  await import(new URL("traced.js", folder));
const { parsed } = await import(new URL("equation.js", folder));

const flat = ([tag, content]) =>
  typeof content === "string" ? content : `${tag}(${content.map(flat).join(" ")})`;
const near = (one, other) => one.forEach((value, i) => assert.ok(Math.abs(value - other[i]) < 1e-9, String(one)));

test("an equation keeps its scripts, fractions, roots and signs", () => {
  assert.equal(flat(parsed("u_t = \\tanh(W h_t + b)")), "mrow(msub(u t) = tanh ( W msub(h t) + b ))");
  assert.equal(flat(parsed("\\alpha_{ij} = \\frac{q_i \\cdot k_j}{\\sqrt{d}}")),
    "mrow(msub(α mrow(i j)) = mfrac(mrow(msub(q i) · msub(k j)) msqrt(d)))");
  assert.equal(flat(parsed("W^f_l [\\overrightarrow{h}; \\hat{s}]")), "mrow(msubsup(W l f) [ mover(h →) ; mover(s ^) ])");
  assert.equal(flat(parsed("\\mathrm{softmax}_t \\left(x\\right)")), "mrow(msub(softmax t) ( x ))");
  assert.throws(() => parsed("\\unheard{x}"), /unheard is unknown/);
});

test("a strip's middle colour is zero and its ends are the largest size", () => {
  assert.deepEqual(stripCells([-2, 0, 1, 2], 61), { cells: [0, 30, 45, 60], most: 2 });
  assert.deepEqual(stripCells([0, 0], 61), { cells: [30, 30], most: 0 });
  assert.equal(stripText([-0.5, 2, 1]), "3 numbers from −0.50 to 2.00");
  assert.deepEqual([[-0.5, 2], [0.57, 0.7], [-2, -1]].map(rangeText),
    ["2 numbers, up to ±2.00", "2 numbers, up to 0.70", "2 numbers, down to −2.00"]);
});

test("numbers are short, and small ones keep a digit", () => {
  assert.deepEqual([0, 0.123, -4.567, -0.0042, 1e-5, 123456.7].map(shortNumber),
    ["0.00", "0.12", "−4.57", "−0.004", "< 0.001", "123457"]);
  assert.deepEqual([0.0047, 0.044, -1e-5].map(shortNumber), ["0.005", "0.04", "> −0.001"]);
});

test("of a long table the largest bars are drawn, and the chosen row", () => {
  const rows = [0.1, 0.5, 0.05, 0.3].map((value) => ({ values: [value] }));
  assert.deepEqual(rowsShown({ rows, bar: 0, chosen: 2 }, 3), { places: [1, 2, 3], left: 1 });
  assert.deepEqual(rowsShown({ rows, bar: 0, chosen: 0 }, 9), { places: [0, 1, 2, 3], left: 0 });
});

test("the other weights share the rest as before, and come back from nothing", () => {
  const own = [0.5, 0.3, 0.2];
  near(withWeight(own, own, 0, 0), [0, 0.6, 0.4]);
  const all = withWeight(own, own, 0, 1);
  near(all, [1, 0, 0]);
  near(withWeight(all, own, 0, 0.5), own);
  near(factorsOf([0.25, 0.45, 0.3], own), [0.5, 1.5, 1.5]);
});

test("what was done to a weight is said in words", () => {
  const said = [[0.3, 0.6], [0.3, 0.15], [0.3, 0], [0.3, 1], [0.3, 0.5], [0.02, 0.9], [1e-6, 0.5]]
    .map(([before, after]) => turnText(before, after));
  assert.deepEqual(said, ["Twice the weight", "Half the weight", "No weight", "All the weight",
    "1.7 times the weight", "45 times the weight", "Far more weight"]);
});

test("a change is the difference of the numbers that are shown", () => {
  near([shownChange(0.8849, 0.9451), shownChange(0.9051, 0.7949)], [0.07, -0.12]);
});

test("whose weights a row holds is said, and where the tint shows another weight", () => {
  const row = { of: "step 3", names: ["not", "bad"], chosen: 0, weights: [0.21, 0.79] };
  assert.equal(rowText(row, "not", 0.2101), "These are the weights of step 3.");
  assert.equal(rowText(row, "not", 0.541), "These are the weights of step 3. “not” has 0.21 here. "
    + "The tint of “not” stands for 0.54; the step “tint” shows how that is made up.");
});

test("one sentence says what was seen, beside equal and shuffled weights", () => {
  const seen = {
    moved: [{ name: "dull", before: 0.2, after: 0.4 }], classes: ["negative", "positive"],
    own: [0.91, 0.09], now: [0.9, 0.1], equal: [0.83, 0.17], shuffled: [[0.7, 0.3], [0.9, 0.1], [0.99, 0.01]],
  };
  const beside = " With equal weights “negative” has 0.83, with shuffled ones 0.90 (the median of 3 shuffles).";
  assert.equal(changedSentence(seen), "Twice the weight on “dull”: the answer stays “negative” and goes from 0.91 to 0.90, by 0.01." + beside);
  assert.equal(changedSentence({ ...seen, now: seen.own, equal: null }), "Twice the weight on “dull”: the answer stays “negative” with 0.91.");
  assert.match(changedSentence({ ...seen, now: [0.4, 0.6], equal: null }),
    /the answer changes from “negative” \(0.91\) to “positive” \(0.60\).$/);
  assert.match(changedSentence({ ...seen, moved: [seen.moved[0], seen.moved[0]] }), /^With these weights the answer stays /);
  const capped = { name: "bad", before: 0.59, after: 1, capped: true };
  assert.match(changedSentence({ ...seen, moved: [capped] }), /^All the weight on “bad”, because twice its weight is more than 1: /);
  assert.equal(changedSentence({ ...seen, moved: [] }), "The answer is “negative” with 0.91." + beside);
});
