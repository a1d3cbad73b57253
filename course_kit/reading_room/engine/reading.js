import { agt } from "./agt.js";
import { han } from "./han.js";
import { agtWords, hanWords, iramWords, pooledRollout } from "./importance.js";
import { iram } from "./iram.js";
import { softmax } from "./layers.js";
import { sanet } from "./sanet.js";
import { tokenise } from "./sentences.js";
import { clean } from "./tokens.js";

// A text as the networks read it, and what each of them makes of it.

/**
 * What a family of networks sees in a document: its logits, its attention by name, and one weight
 * per word. Weights are over the words it reads, in order, or over all its sentences; `labels` name
 * rows, null stands for the words themselves.
 */
const FAMILIES = {
  han(model, sentences, uniform) {
    const { logits, words, sentences: beta } = han(model.weights, model.config, sentences, uniform);
    return {
      logits,
      attention: {
        words: { labels: [""], weights: [words.flat()], extra: [], of: "words" },
        sentences: { labels: [""], weights: [beta], extra: [], of: "sentences" },
      },
      word: hanWords(words, beta),
    };
  },
  sanet(model, [words], uniform) {
    const { logits, blocks, pooled } = sanet(model.weights, model.config, words, uniform);
    const named = blocks.map((weights, i) => [
      `block ${i + 1}`,
      { labels: null, weights, extra: [], of: "words" },
    ]);
    const shares = { labels: [""], weights: [pooled], extra: [], of: "words" };
    return {
      logits,
      attention: { ...Object.fromEntries(named), pooled: shares },
      word: pooledRollout(blocks, pooled),
    };
  },
  iram(model, [words], uniform) {
    const { logits, steps } = iram(model.weights, model.config, words, uniform);
    const labels = steps.map((_, i) => `step ${i + 1}`);
    const extra = steps.slice(1).map((_, i) => `summary ${i + 1}`);
    return {
      logits,
      attention: { steps: { labels, weights: steps, extra, of: "words" } },
      word: iramWords(steps, words.length),
    };
  },
  agt(model, [words], uniform) {
    const { logits, d, gates } = agt(model.weights, model.config, words, uniform);
    const labels = d.map((_, l) => `layer ${l}`);
    return {
      logits,
      attention: { layers: { labels, weights: d, extra: [], of: "words" } },
      word: agtWords(d, gates, model.config.hidden),
    };
  },
};

/** Sentences of tokens as typed: cleaned, split by Punkt, then into words. */
export function documentOf(text, punkt) {
  return tokenise(clean(text), punkt);
}

/** Whether a model reads each token, sentence by sentence: false beyond its cut. */
export function within(cut, sentences) {
  let before = 0;
  return sentences.map((tokens, i) =>
    tokens.map((_, j) => {
      before += 1;
      if (cut.sentences) return i < (cut.maxSentences || Infinity) && j < (cut.maxWords || Infinity);
      return before <= (cut.maxTokens || Infinity);
    }),
  );
}

/** One row of weights over what was read, spread over all places there are; 0 elsewhere. */
function spread(weights, places, count, extra) {
  const row = new Array(count + extra).fill(0);
  places.forEach((place, i) => (row[place] = weights[i]));
  for (let i = 0; i < extra; i++) row[count + i] = weights[places.length + i];
  return row;
}

/** The vectors that a model reads, sentence by sentence, and the flat places of their words. */
function inputs(model, sentences, read, erased, removal) {
  const places = [];
  let flat = 0;
  const vectors = sentences.map((tokens, i) => {
    const kept = [];
    tokens.forEach((token, j) => {
      const place = flat++;
      const gone = erased.has(place);
      if (!read[i][j] || (gone && removal === "delete")) return;
      kept.push(gone ? model.unknown : model.embed(token));
      places.push(place);
    });
    return kept;
  });
  return { vectors: model.cut.sentences ? vectors : [vectors.flat()], places };
}

/** What a model makes of a document, over the words that it reads and their `places`. */
export function answer(model, sentences, { erased, removal, uniform }) {
  const read = within(model.cut, sentences);
  const { vectors, places } = inputs(model, sentences, read, erased, removal);
  const seen = FAMILIES[model.system](model, vectors, uniform);
  return { ...seen, probabilities: softmax(seen.logits), places, read };
}

/**
 * A document read by one model: {tokens, known, read, logits, probabilities, attention, word}.
 * Every weight is in the place of its token among all tokens of the text.
 */
export function reading(model, sentences, options) {
  const { logits, probabilities, attention, word, places, read } = answer(model, sentences, options);
  const flat = sentences.flat();
  const count = { words: flat.length, sentences: sentences.length };
  const named = Object.entries(attention).map(([name, { labels, weights, extra, of }]) => {
    const at = of === "words" ? places : sentences.map((_, i) => i);
    const rows = labels ?? places.map((place) => flat[place]);
    const spreadRows = weights.map((row) => spread(row, at, count[of], extra.length));
    return [name, { rows, weights: spreadRows, extra, of, at: labels ? null : places }];
  });
  return {
    tokens: sentences,
    known: sentences.map((tokens) => tokens.map(model.known)),
    read,
    logits: Array.from(logits),
    probabilities,
    attention: Object.fromEntries(named),
    word: spread(word, places, count.words, 0),
  };
}
