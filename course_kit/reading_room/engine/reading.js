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
  transformer(model, [words = []], uniform) {
    return ofHeads(transformer(model.weights, model.config, words, uniform), words.length, []);
  },
  minilm(model, [pieces = []], uniform) {
    const extra = pieces.length ? ["[CLS]", "[SEP]"] : [];
    const special = extra.map(model.embed);
    return ofHeads(bert(model.weights, model.config, pieces, uniform, special), pieces.length, extra);
  },
};

/** What a Transformer's heads see: rollout, each layer's mean and each head, over `count` places and
 *  the `extra` ones behind them; and what a word receives in the top layer. */
function ofHeads({ logits, attention }, count, extra) {
  const means = attention.map((heads) => heads[0].map((row, i) =>
    row.map((_, j) => heads.reduce((sum, alpha) => sum + alpha[i][j], 0) / heads.length)));
  const named = [["rollout", rollout(means)]];
  means.forEach((mean, l) => named.push([`layer ${l + 1}`, mean]));
  attention.forEach((heads, l) => heads.forEach((alpha, h) =>
    named.push([`layer ${l + 1} · head ${h + 1}`, alpha])));
  const views = named.map(([name, weights]) => [name, { labels: null, weights, extra, of: "words" }]);
  return { logits, attention: Object.fromEntries(views), word: receivedWords(means.at(-1), count) };
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

/** The vectors that a model reads, sentence by sentence, and the flat places of their words. */
function inputs(model, sentences, read, erased, removal) {
  const places = [];
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
      }
    });
    return kept;
  });
  return { vectors: model.cut.sentences ? vectors : [vectors.flat()], places };
}

/** What a model makes of a document: `attention` is over what it reads, whose words are at `places`,
 *  and `word` over all words. */
export function answer(model, sentences, { erased, removal, uniform }) {
  const read = within(model, sentences);
  const { vectors, places } = inputs(model, sentences, read, erased, removal);
  const seen = FAMILIES[model.system](model, vectors, uniform);
  const word = spread(seen.word, places, sentences.flat().length, 0);
  return { ...seen, word, probabilities: softmax(seen.logits), places, read };
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
