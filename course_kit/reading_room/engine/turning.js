import { answer } from "./reading.js";
import { even } from "./layers.js";

// A network's answer with other weights than its own.

/** The same nested arrays and objects, each of their rows of numbers replaced by `run(row, path)`. */
export function eachRow(weights, run, path = []) {
  if (Array.isArray(weights) && weights.every((one) => typeof one === "number"))
    return weights.length ? run(weights, path) : weights;
  if (Array.isArray(weights)) return weights.map((part, i) => eachRow(part, run, [...path, i]));
  const parts = Object.entries(weights);
  return Object.fromEntries(parts.map(([name, part]) => [name, eachRow(part, run, [...path, name])]));
}

/** A row whose weights are multiplied by the `factors` of their places and sum to 1 again; where all
 *  become 0, as it was. */
export function multiplied(row, factors) {
  const products = row.map((weight, i) => weight * (factors[i] ?? 1));
  const total = products.reduce((a, b) => a + b, 0);
  return total ? products.map((product) => product / total) : row;
}

/** Numbers from 0 to 1 by a small generator (mulberry32): the same for the same seed. */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The row in another order (Fisher and Yates). */
function shuffled(row, random) {
  const other = [...row];
  for (let i = other.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [other[i], other[j]] = [other[j], other[i]];
  }
  return other;
}

/**
 * What a model answers when rows of its weights are turned: `turned.answers(change)` with a `change`
 * of one row. The rows are the one at `path`, or with `everywhere` all that have the same places.
 */
export function turnable(model, sentences, options, { path, everywhere }) {
  const own = answer(model, sentences, options);
  const here = String(path);
  const meant = (at) => everywhere || String(at) === here;
  const answers = (change) => {
    const given = eachRow(own.weights, (row, at) => (meant(at) ? change(row) : row));
    return answer(model, sentences, { ...options, given }).probabilities;
  };
  return { own: own.probabilities, answers };
}

export const byFactors = (factors) => (row) => multiplied(row, factors);
export const equally = (row) => even(row.length);
export function inAnyOrder(seed) {
  const random = randomNumbers(seed);
  return (row) => shuffled(row, random);
}
