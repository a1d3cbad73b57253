// What is drawn of a trace, and what a turned weight says. Needs no page.

/** A number as a reader takes it in: two decimals, three where it is small, none where it is large. */
export function shortNumber(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return value > 0 ? "< 0.001" : "> −0.001";
  const decimals = size > 0 && size < 0.01 ? 3 : size < 1000 ? 2 : 0;
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

/** What the strongest colour of a strip stands for. */
export function rangeText(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const strongest = shortNumber(Math.max(-least, most));
  if (least >= 0) return `${values.length} numbers, up to ${strongest}`;
  return most > 0 ? `${values.length} numbers, up to ±${strongest}` : `${values.length} numbers, down to ${shortNumber(least)}`;
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

/** A probability as it is shown, a number of two decimals. */
export const rounded = (probability) => Math.round(100 * probability) / 100;

/** The difference of two probabilities as they are shown: whoever checks it finds it right. */
export const shownChange = (before, after) => rounded(rounded(after) - rounded(before));

const two = (number) => number.toFixed(2);

/** What an answer became: another class, or the same with another probability. */
function becameText(classes, own, now) {
  const [before, after] = [own, now].map((all) => all.indexOf(Math.max(...all)));
  if (before !== after)
    return `the answer changes from “${classes[before]}” (${two(own[before])}) to “${classes[after]}” (${two(now[after])})`;
  const by = Math.abs(shownChange(own[before], now[before]));
  if (!by) return `the answer stays “${classes[before]}” with ${two(own[before])}`;
  return `the answer stays “${classes[before]}” and goes from ${two(own[before])} to ${two(now[before])}, by ${two(by)}`;
}

/**
 * What was seen when weights were changed, in a sentence or two. `moved` names the words whose weights
 * were, with their weight before and after, and `capped` where twice the weight would be more than 1;
 * `own`, `now`, `equal` and each of `shuffled` are probabilities of all `classes`, `equal` null while it
 * is not known.
 */
export function changedSentence({ moved, classes, own, now, equal, shuffled }) {
  const best = own.indexOf(Math.max(...own));
  const middle = (all) => two(median(all.map((one) => one[best])));
  const beside = equal === null ? ""
    : ` With equal weights “${classes[best]}” has ${two(equal[best])}, with shuffled ones ${
      middle(shuffled)} (the median of ${shuffled.length} shuffles).`;
  if (!moved.length) return `The answer is “${classes[best]}” with ${two(own[best])}.${beside}`;
  const [{ name, before, after, capped }] = moved;
  const why = capped ? ", because twice its weight is more than 1" : "";
  const what = moved.length > 1 ? "With these weights"
    : `${turnText(before, after)} on “${name}”${why}:`;
  return `${what} ${becameText(classes, own, now)}.${beside}`;
}

/** Whose weights a row holds, and where one of them is not the weight that the word's tint shows. */
export function rowText({ of, names, chosen, weights }, word, tint) {
  const whose = `These are the weights of ${of}.`;
  const [here, there] = [weights[chosen], tint].map(shortNumber);
  if (here === there) return whose;
  return `${whose} “${names[chosen]}” has ${here} here. The tint of “${word}” stands for ${there}; the step “tint” shows how that is made up.`;
}
