import { tint } from "../../../../course_lib/views/heatmap/js/colours.js";
import { shown, timesUniform, wordFact } from "../../../../course_lib/views/heatmap/js/numbers.js";

// A reading as the course's views draw it: words with a colour each, and a matrix. Needs no page.

const LEVELS = 65_535;
const MOST_SIDE = 400; // words of a heatmap
export const MOST_DROP = 0.5; // of probability: the strongest colour for a word left out
const NOT_YET = "not yet left out";
const STRONGEST = 3; // words that a line names
const LEAST = 0.005; // that two decimals show

/** A reading's words in one list, with what is known of each. */
export function wordsOf(reading) {
  return {
    tokens: reading.tokens.flat(), known: reading.known.flat(), read: reading.read.flat(),
  };
}

export function mostLikely(probabilities) {
  return probabilities.indexOf(Math.max(...probabilities));
}

export function signed(number) {
  if (Math.abs(number) < 0.005) return "0.00";
  return `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;
}

/** Who says what, such as "negative 0.91". */
export function answerOf(model, reading) {
  const best = mostLikely(reading.probabilities);
  return `${model.classes[best]} ${reading.probabilities[best].toFixed(2)}`;
}

function dropFact(drop) {
  if (drop === undefined) return NOT_YET;
  return `the answer ${drop < 0 ? "gains" : "loses"} ${Math.abs(drop).toFixed(2)} without it`;
}

function dropColour(colours, drop) {
  const share = Math.max(-1, Math.min(1, (drop ?? 0) / MOST_DROP));
  return colours.signed[Math.round(((share + 1) / 2) * (colours.signed.length - 1))];
}

/** Fact, colour and marks of every word, sentence by sentence; a reading's drops may have holes. */
export function renderTokens({ reading, asked }, kind, { colours, clip }) {
  const { known, read } = wordsOf(reading);
  const erased = new Set(asked.erased);
  const counted = read.filter((one, i) => one && !(asked.removal === "delete" && erased.has(i)));
  const shades = { tints: colours.tints, clip };
  let at = 0;
  const one = () => {
    const index = at++;
    const marks = [
      erased.has(index) && "erased", !known[index] && "unknown", !read[index] && "unread",
    ].filter(Boolean);
    const gone = !read[index] || (erased.has(index) && asked.removal === "delete");
    if (gone) return { fact: "", colour: "", marks };
    if (kind === "drops") {
      const drop = reading.drops?.[index];
      return { fact: dropFact(drop), colour: dropColour(colours, drop), marks };
    }
    const weight = reading.word[index];
    const colour = tint(shades, timesUniform(weight, counted.length));
    return { fact: wordFact(weight, counted.length), colour, marks };
  };
  return reading.tokens.map((sentence) => sentence.map(one));
}

/** A dress in which a word that was erased tells what it had before. */
export function keepFacts(dress, before) {
  return dress.map((sentence, i) => sentence.map((one, place) => {
    const { fact } = before[i][place];
    if (one.fact || !one.marks.includes("erased") || fact === NOT_YET) return one;
    return { ...one, fact: fact.replace(/^weight/, "had weight") };
  }));
}

/** The words of a reading with the strongest tints and what these stand for, in a line for those who
 *  cannot point at a word; nothing where there are none. */
export function strongestText({ reading }, kind) {
  const drops = kind === "drops";
  const [{ tokens }, values] = [wordsOf(reading), (drops ? reading.drops : reading.word) ?? []];
  const strongest = [...tokens.keys()].filter((i) => values[i] >= LEAST).sort((a, b) => values[b] - values[a]);
  const told = strongest.slice(0, STRONGEST).map((i) =>
    `“\u2068${shown(tokens[i], 20)}\u2069”\u00a0${values[i].toFixed(2)}`);
  return told.length ? `${drops ? "The answer loses most without" : "Largest weights"}: ${told.join(", ")}` : "";
}

/** Kendall's τ-b of pairs; null where one of the two is constant. */
export function kendall(pairs) {
  let [agree, untiedFirst, untiedSecond] = [0, 0, 0];
  pairs.forEach(([first, second], i) => {
    for (const [a, b] of pairs.slice(0, i)) {
      const [x, y] = [Math.sign(first - a), Math.sign(second - b)];
      agree += x * y;
      untiedFirst += Math.abs(x);
      untiedSecond += Math.abs(y);
    }
  });
  const all = Math.sqrt(untiedFirst) * Math.sqrt(untiedSecond);
  return all ? agree / all : null;
}

/** How far attention and leave-one-out agree over the words that were left out so far: `tau`, which
 *  is null without an order, `done` and `all`. */
export function agreement({ reading, asked }) {
  const [{ read }, drops] = [wordsOf(reading), reading.drops ?? []];
  const places = [...read.keys()].filter((i) => read[i] && !asked.erased.includes(i));
  const left = places.filter((i) => drops[i] !== undefined);
  const tau = kendall(left.map((i) => [reading.word[i], drops[i]]));
  return { tau, done: left.length, all: places.length };
}

/** What `mountHeatmap` takes for one attention of a reading: [spec, codes]. */
export function matrixOf(reading, name, colours) {
  const attention = reading.attention[name];
  const { rows, weights, extra } = attention;
  const columns = attention.of === "sentences"
    ? reading.tokens.map((_, i) => `sentence ${i + 1}`) : wordsOf(reading).tokens;
  const places = [...columns.keys()].slice(0, MOST_SIDE)
    .concat(extra.map((_, i) => columns.length + i));
  const shown = weights.slice(0, MOST_SIDE).map((row) => places.map((place) => row[place]));
  const cut = Math.max(rows.length, columns.length) > MOST_SIDE;
  const peak = Math.max(...shown.map((row) => Math.max(...row)), 1e-9);
  const names = [...columns, ...extra];
  const spec = {
    kind: "heatmap", theme: colours.theme, dark: colours.dark,
    title: cut ? `the first ${MOST_SIDE} of ${columns.length} words` : "",
    rows: rows.slice(0, MOST_SIDE).map((row) => row || name), columns: places.map((i) => names[i]),
    shape: [shown.length, places.length], levels: LEVELS, peak,
    extra: extra.length, outline: null, transpose: false, quantity: "weight",
    heading: "Attention heatmap", colours: colours.weights, precision: "",
  };
  return [spec, Uint16Array.from(shown.flat(), (weight) => Math.round((weight / peak) * LEVELS))];
}
