import { agt } from "./agt.js";
import { han } from "./han.js";
import {
  agtWords,
  hanWords,
  iramWords,
  pooledRollout,
  receivedWords,
  rollout,
} from "./importance.js";
import { iram } from "./iram.js";
import { softmax } from "./layers.js";
import { bertWords } from "./pieces.js";
import { sanet } from "./sanet.js";
import { tokenise } from "./sentences.js";
import { normalised } from "./tokens.js";
import { bert, transformer } from "./transformer.js";

// A text as the networks read it, and what each of them makes of it.

/**
 * What a family of networks sees in a document: its logits, its attention by name, and one weight
 * per word. Weights are over the words it reads, in order, or over all its sentences; `labels` name
 * rows, null stands for the words themselves. `seen` is all that the network computed, and `weights`
 * are its distributions in the form in which it takes `given` ones (true: uniform ones; null: its own).
 */
const FAMILIES = {
  han(model, sentences, given) {
    const seen = han(model.weights, model.config, sentences, given);
    const { logits, words, sentences: beta } = seen;
    return {
      seen,
      weights: {
        words: seen.levels.words.map(({ alpha }) => alpha), sentences: seen.levels.sentences.alpha,
      },
      logits,
      attention: {
        words: { labels: [""], weights: [words.flat()], extra: [], of: "words" },
        sentences: { labels: [""], weights: [beta], extra: [], of: "sentences" },
      },
      word: hanWords(words, beta),
    };
  },
  sanet(model, [words], given) {
    const seen = sanet(model.weights, model.config, words, given);
    const { logits, blocks, pooled } = seen;
    const named = blocks.map((weights, i) => [
      `block ${i + 1}`,
      { labels: null, weights, extra: [], of: "words" },
    ]);
    const shares = { labels: [""], weights: [pooled], extra: [], of: "words" };
    return {
      seen,
      weights: blocks,
      logits,
      attention: { ...Object.fromEntries(named), pooled: shares },
      word: pooledRollout(blocks, pooled),
    };
  },
  iram(model, [words], given) {
    const seen = iram(model.weights, model.config, words, given);
    const { logits, steps, turns } = seen;
    const labels = steps.map((_, i) => `step ${i + 1}`);
    const extra = steps.slice(1).map((_, i) => `summary ${i + 1}`);
    return {
      seen,
      weights: turns.map(({ alpha }) => alpha),
      logits,
      attention: { steps: { labels, weights: steps, extra, of: "words" } },
      word: iramWords(steps, words.length),
    };
  },
  agt(model, [words], given) {
    const seen = agt(model.weights, model.config, words, given);
    const { logits, d, gates } = seen;
    const labels = d.map((_, l) => `layer ${l}`);
    return {
      seen,
      weights: d,
      logits,
      attention: { layers: { labels, weights: d, extra: [], of: "words" } },
      word: agtWords(d, gates, model.config.hidden),
    };
  },
  transformer(model, [words = []], given) {
    return ofHeads(transformer(model.weights, model.config, words, given), words.length, []);
  },
  minilm(model, [pieces = []], given) {
    const extra = pieces.length ? ["[CLS]", "[SEP]"] : [];
    const special = extra.map(model.embed);
    return ofHeads(bert(model.weights, model.config, pieces, given, special), pieces.length, extra);
  },
};

/** What a Transformer's heads see: rollout, each layer's mean and each head, over `count` places and
 *  the `extra` ones behind them; and what a word receives in the top layer. */
function ofHeads(seen, count, extra) {
  const { logits, attention } = seen;
  const means = attention.map((heads) => heads[0].map((row, i) =>
    row.map((_, j) => heads.reduce((sum, alpha) => sum + alpha[i][j], 0) / heads.length)));
  const named = [["rollout", rollout(means)]];
  means.forEach((mean, l) => named.push([`layer ${l + 1}`, mean]));
  attention.forEach((heads, l) => heads.forEach((alpha, h) =>
    named.push([`layer ${l + 1} · head ${h + 1}`, alpha])));
  const views = named.map(([name, weights]) => [name, { labels: null, weights, extra, of: "words" }]);
  const word = receivedWords(means.at(-1), count);
  return { seen, weights: attention, logits, attention: Object.fromEntries(views), word };
}

/** Sentences of tokens as typed: cleaned, split by Punkt, then into words; or all words of a text
 *  for a model that cuts them into pieces. */
export function documentOf(model, text, punkt) {
  if (!model.reads_pieces) return tokenise(normalised(text), punkt);
  const words = bertWords(normalised(text), model);
  return words.length ? [words] : [];
}

/** How many pieces a model reads of each token, sentence by sentence: 0 beyond its cut. */
function within({ cut, pieces }, sentences) {
  let left = cut.maxTokens || Infinity;
  return sentences.map((tokens, i) =>
    tokens.map((token, j) => {
      if (cut.sentences)
        return Number(i < (cut.maxSentences || Infinity) && j < (cut.maxWords || Infinity));
      const found = Math.min(left, pieces(token).length);
      left -= found;
      return found;
    }),
  );
}

/** One row of weights over what was read, spread over all places there are; 0 elsewhere. */
function spread(weights, places, count, extra) {
  const row = new Array(count + extra).fill(0);
  places.forEach((place, i) => (row[place] += weights[i])); // a word gets what its pieces get
  for (let i = 0; i < extra; i++) row[count + i] = weights[places.length + i];
  return row;
}

/** The rows of a word's pieces as one, their mean; the rows behind those of words stay. */
function ofWords(rows, places) {
  const behind = rows.slice(places.length);
  const found = [...new Set(places)].map((place) => {
    const own = rows.filter((_, i) => places[i] === place);
    return own[0].map((_, j) => own.reduce((sum, row) => sum + row[j], 0) / own.length);
  });
  return [...found, ...behind];
}

/** The vectors that a model reads, sentence by sentence, the flat places of their words, and the
 *  names of their pieces. */
function inputs(model, sentences, read, erased, removal) {
  const [places, names] = [[], []];
  let flat = 0;
  const vectors = sentences.map((tokens, i) => {
    const kept = [];
    tokens.forEach((token, j) => {
      const place = flat++;
      const gone = erased.has(place);
      if (gone && removal === "delete") return;
      for (const piece of model.pieces(token).slice(0, read[i][j])) {
        kept.push(gone ? model.unknown : model.embed(piece));
        places.push(place);
        names.push(piece);
      }
    });
    return kept;
  });
  return { vectors: model.cut.sentences ? vectors : [vectors.flat()], places, names };
}

/** What a model makes of a document: `attention` is over what it reads, whose words are at `places`
 *  and have these `names`, and `word` over all words. */
export function answer(model, sentences, { erased, removal, given }) {
  const read = within(model, sentences);
  const { vectors, places, names } = inputs(model, sentences, read, erased, removal);
  const found = FAMILIES[model.system](model, vectors, given);
  const word = spread(found.word, places, sentences.flat().length, 0);
  return { ...found, word, probabilities: softmax(found.logits), places, names, read };
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
    const spreadRows = weights.map((row) => spread(row, at, count[of], extra.length));
    if (labels) return [name, { rows: labels, weights: spreadRows, extra, of, at: null }];
    const own = [...new Set(places)];
    const rows = [...own.map((place) => flat[place]), ...extra];
    return [name, { rows, weights: ofWords(spreadRows, places), extra, of, at: own }];
  });
  return {
    tokens: sentences,
    known: sentences.map((tokens) => tokens.map(model.known)),
    read: read.map((tokens) => tokens.map(Boolean)),
    logits: Array.from(logits),
    probabilities,
    attention: Object.fromEntries(named),
    word,
  };
}
