import assert from "node:assert/strict";
import { test } from "node:test";

const folder = new URL("../../course_kit/reading_room/page/js/", import.meta.url);
const { ofExample, question, readAddress, sameQuestion, withWord, writeAddress } = await import(new URL("state.js", folder));

const USUAL = { asked: question("usual"), tint: "attention", readers: ["a"], pinned: null, traced: null };
const KNOWN = ["a", "b", "c"];
const EXAMPLES = [{ name: "order", texts: ["one two", "two one"], readers: ["b"] }];
const read = (fragment) => readAddress(fragment, USUAL, KNOWN, EXAMPLES);

test("an address brings back the state that it was written from", () => {
  for (const text of ["a b", "", "é & = # % + 100 %\n\"<b>\"", "שלום 👩‍👩‍👧‍👦", "text=x&out=1&pin=y"]) {
    const state = {
      asked: question(text, [0, 3, 12], "mask", true), tint: "drops", readers: ["b", "c"],
      pinned: question(text, [1], "delete", true), traced: { reader: "c", word: 12 },
    };
    assert.deepEqual(read(`#${writeAddress(state)}`), state);
  }
});

test("what an address leaves out, or nobody knows, is as usual", () => {
  assert.deepEqual(read(""), USUAL);
  assert.deepEqual(read("#unknown=1"), USUAL);
  const { asked, readers, tint } = read("#text=x&readers=z.%3Cb%3E&tint=red&by=fire&out=-1.x.1e3.99999999");
  assert.deepEqual([asked, readers, tint], [question("x"), ["a"], "attention"]);
});

test("a reader's name may hold dots, as that of a run on one's own file does", () => {
  const known = ["a", "a.csv_1", "b"];
  const state = { ...USUAL, readers: ["b", "a.csv_1"], traced: { reader: "a.csv_1", word: 2 } };
  assert.deepEqual(readAddress(`#${writeAddress(state)}`, USUAL, known, EXAMPLES), state);
  assert.deepEqual(readAddress("#text=x&readers=.z.a.a.csv_1..b.", USUAL, known, EXAMPLES).readers, ["a", "a.csv_1", "b"]);
});

test("a traced word is a known reader's, by its number, or the heaviest", () => {
  const traced = (text) => read(`#text=x&trace=${text}`).traced;
  assert.deepEqual(traced("b.3"), { reader: "b", word: 3 });
  assert.deepEqual(traced("b"), { reader: "b", word: null });
  for (const text of ["", "z.1", "b.x", "b.1234567", "__proto__", "b.-1"]) assert.equal(traced(text), null);
  assert.deepEqual(read("#example=order&trace=c").traced, { reader: "c", word: null });
});

test("readers and erased words are there once", () => {
  const state = read("#text=x&readers=b.b.a&out=3.1.3");
  assert.deepEqual([state.readers, state.asked.erased], [["b", "a"], [1, 3]]);
});

test("an example is known by its own name alone", () => {
  assert.deepEqual(read("#example=order"), ofExample(EXAMPLES[0]));
  assert.deepEqual(read("#example=order").pinned, question("two one"));
  for (const name of ["__proto__", "constructor", "Order"]) assert.deepEqual(read(`#example=${name}`), USUAL);
});

test("a word is taken out, and put back by the same call", () => {
  const asked = question("a b c", [2]);
  const less = withWord(asked, 0);
  assert.deepEqual(less.erased, [0, 2]);
  assert.ok(sameQuestion(withWord(less, 0), asked) && !sameQuestion(less, asked));
});
