import assert from "node:assert/strict";
import { test } from "node:test";

const folder = new URL("../../course_kit/reading_room/page/js/", import.meta.url);
const { changeBetween, factorsOf, rowsShown, shortNumber, stripCells, stripText, turnText, turnedSentence, withWeight } =
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
});

test("numbers are short, and small ones keep a digit", () => {
  assert.deepEqual([0, 0.123, -4.567, -0.0042, 1e-5, 123456.7].map(shortNumber),
    ["0.00", "0.12", "−4.57", "−0.004", "≈ 0", "123457"]);
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

test("the change of an answer is the probability that moves between its classes", () => {
  near([changeBetween([0.2, 0.3, 0.5], [0.4, 0.3, 0.3]), changeBetween([1, 0], [0, 1])], [0.2, 1]);
});

test("one sentence says what was seen, beside equal and shuffled weights", () => {
  const seen = {
    moved: [{ name: "dull", before: 0.2, after: 0.4 }], classes: ["negative", "positive"],
    own: [0.91, 0.09], now: [0.9, 0.1], equal: [0.83, 0.17], shuffled: [[0.7, 0.3], [0.9, 0.1], [0.99, 0.01]],
  };
  assert.equal(turnedSentence(seen), "Twice the weight on “dull” changes the answer by 0.01: “negative” goes from 0.91 to 0.90."
    + " Equal weights change it by 0.08, shuffled ones by 0.08 (the median of 3).");
  assert.match(turnedSentence({ ...seen, now: [0.4, 0.6], equal: null }),
    /by 0.51: it was “negative” with 0.91 and is “positive” with 0.60.$/);
  assert.match(turnedSentence({ ...seen, moved: [seen.moved[0], seen.moved[0]] }), /^These weights change the answer by 0.01: /);
  assert.equal(turnedSentence({ ...seen, moved: [] }),
    "The answer is “negative” with 0.91. Equal weights would change it by 0.08, shuffled ones by 0.08 (the median of 3).");
});
