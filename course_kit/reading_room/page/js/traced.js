// What is drawn of a trace, and what a turned weight says. Needs no page.

/** A number as a reader takes it in: two decimals, three where it is small, none where it is large. */
export function shortNumber(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return "≈ 0";
  const decimals = size > 0 && size < 0.05 ? 3 : size < 1000 ? 2 : 0;
  return value.toFixed(decimals).replace("-", "−");
}

/** The cells of a strip: for each number its place among `count` colours from negative to positive;
 *  the strongest is the largest size in it. */
export function stripCells(values, count) {
  const most = values.reduce((all, value) => Math.max(all, Math.abs(value)), 0);
  const middle = (count - 1) / 2;
  const cells = values.map((value) => (most ? Math.round(middle * (1 + value / most)) : middle));
  return { cells, most };
}

/** What a strip shows, in words. */
export function stripText(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(shortNumber);
  return `${values.length} numbers from ${least} to ${most}`;
}

/** The rows of a table that are drawn: all, or the `most` with the largest bars, the chosen one among
 *  them, and how many are left out. */
export function rowsShown({ rows, bar, chosen }, most) {
  const order = [...rows.keys()].sort((a, b) =>
    (b === chosen) - (a === chosen) || rows[b].values[bar] - rows[a].values[bar]);
  const kept = new Set(order.slice(0, most));
  return { places: [...rows.keys()].filter((i) => kept.has(i)), left: rows.length - kept.size };
}

/** A row of weights with this one at `place`; the others share the rest as they did, or as in `own`
 *  where they had nothing. */
export function withWeight(row, own, place, weight) {
  const rest = (all) => all.reduce((sum, one, i) => sum + (i === place ? 0 : one), 0);
  const from = rest(row) > 1e-9 ? row : own;
  const left = rest(from);
  return from.map((one, i) => (i === place ? weight : left ? (one * (1 - weight)) / left : 0));
}

/** What the weights of a row were multiplied by, up to a common factor. */
export const factorsOf = (row, own) => row.map((weight, i) => weight / Math.max(own[i], 1e-12));

/** The middle one of some numbers, or the mean of the two. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const TIMES = { 0.5: "Half", 2: "Twice", 3: "Three times", 4: "Four times" };

/** "Twice the weight", "No weight": what was done to a weight. */
export function turnText(before, after) {
  if (after < 0.0005) return "No weight";
  if (after > 0.9995) return "All the weight";
  const times = after / Math.max(before, 1e-12);
  const named = Object.keys(TIMES).find((one) => Math.abs(times / one - 1) < 0.015);
  if (named) return `${TIMES[named]} the weight`;
  return times > 100 ? "Far more weight" : `${Number(times.toPrecision(2))} times the weight`;
}

/** How much probability moves between the classes (total variation), from 0 to 1. */
export function changeBetween(before, after) {
  return before.reduce((sum, share, i) => sum + Math.abs(share - after[i]), 0) / 2;
}

const two = (number) => number.toFixed(2);

/** What an answer became: another class, or the same with another probability. */
function becameText(classes, own, now) {
  const [before, after] = [own, now].map((all) => all.indexOf(Math.max(...all)));
  if (before !== after)
    return `it was “${classes[before]}” with ${two(own[before])} and is “${classes[after]}” with ${two(now[after])}`;
  return `“${classes[before]}” goes from ${two(own[before])} to ${two(now[before])}`;
}

/**
 * What was seen when weights were turned, in a sentence or two. `moved` names the words that were,
 * with their weight before and after; `own`, `now`, `equal` and each of `shuffled` are probabilities
 * of all `classes`, `equal` null while it is not known.
 */
export function turnedSentence({ moved, classes, own, now, equal, shuffled }) {
  const by = (other) => two(changeBetween(own, other));
  const beside = equal === null ? ""
    : ` Equal weights ${moved.length ? "change" : "would change"} it by ${by(equal)}, shuffled ones by ${
      two(median(shuffled.map((one) => changeBetween(own, one))))} (the median of ${shuffled.length}).`;
  if (!moved.length) {
    const best = own.indexOf(Math.max(...own));
    return `The answer is “${classes[best]}” with ${two(own[best])}.${beside}`;
  }
  const [{ name, before, after }] = moved;
  const what = moved.length > 1 ? "These weights change"
    : `${turnText(before, after)} on “${name}” changes`;
  return `${what} the answer by ${by(now)}: ${becameText(classes, own, now)}.${beside}`;
}
