import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { clamp, decimals, roundTicks, shown, timesUniform, wordFact } = await load("numbers");

test("clamp keeps what lies between and moves the rest to the nearer end", () => {
  assert.deepEqual([-1, 0, 2, 5, 6].map((value) => clamp(value, 0, 5)), [0, 0, 2, 5, 5]);
});

test("decimals round by at most a hundred-thousandth of the largest weight, and are few", () => {
  for (const peak of [1, 0.999, 0.5, 0.02, 0.0013, 1e-6, 3, 700]) {
    const worst = 0.5 * 10 ** -decimals(peak);
    assert.ok(worst <= 1.01e-5 * peak, `${peak}: ${worst}`);
    assert.ok(decimals(peak) === 0 || worst > 0.9e-6 * peak, `${peak}: more than needed`);
  }
  assert.equal(decimals(0), 1);
  assert.equal(decimals(1e-30), 12);
  assert.equal(decimals(1e9), 0);
});

const texts = (...scale) => roundTicks(...scale).map(([text]) => text);

test("ticks are round numbers in steps of 1, 2 or 5", () => {
  assert.deepEqual(texts(1, false), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
  assert.deepEqual(texts(0.644, false), ["0", "0.2", "0.4", "0.6"]);
  assert.deepEqual(texts(0.161, false), ["0", "0.05", "0.1", "0.15"]);
  assert.deepEqual(texts(0.3, false), ["0", "0.1", "0.2", "0.3"]);
  assert.deepEqual(texts(700, false), ["0", "200", "400", "600"]);
  assert.deepEqual(texts(1, true), ["0", "0.05", "0.2", "0.5", "1"]);
  assert.deepEqual(texts(0, false), ["0"]);
});

test("a tick stands where its colour is, apart from the others and on the scale", () => {
  for (let most = 0.02; most < 2000; most *= 1.13)
    for (const sqrt of [false, true]) {
      const ticks = roundTicks(most, sqrt);
      assert.ok(ticks.length >= 3 && ticks.length <= 8, `${most}: ${ticks.length} ticks`);
      ticks.forEach(([text, share], i) => {
        const wanted = Number(text) / most;
        assert.ok(Math.abs(share - (sqrt ? Math.sqrt(wanted) : wanted)) < 1e-9);
        assert.ok(share <= 1 + 1e-9 && text.length <= 6, `${most}: ${text} at ${share}`);
        if (i) assert.ok(share - ticks[i - 1][1] > 0.12, `${most}: ${text} is too near`);
      });
    }
});

test("a word tells its weight and how it compares with uniform attention", () => {
  assert.equal(timesUniform(0.25, 4), 1);
  assert.equal(wordFact(0.75, 2), "weight 0.75, 1.50× uniform");
  assert.equal(wordFact(1 / 3, 3), "weight 0.333, 1.00× uniform");
});

test("a token becomes one line that can be seen", () => {
  assert.equal(shown(""), "(empty)");
  assert.equal(shown(" \n\t"), "(space)");
  assert.equal(shown("two\nlines\tand more"), "two lines and more");
  assert.equal(shown("x".repeat(60)), "x".repeat(60));
  assert.equal(shown("x".repeat(61)), "x".repeat(59) + "…");
  assert.equal(shown("abcdef", 4), "abc…");
});

test("a token is cut between characters, never within one", () => {
  assert.equal(shown("🎬".repeat(60)), "🎬".repeat(60));
  assert.equal(shown("🎬".repeat(10_000), 3), "🎬🎬…");
});
