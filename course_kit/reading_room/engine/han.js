import {
  attend,
  bidirectionalGRU,
  dot,
  givenAt,
  linear,
  partOf,
  tanh,
  weightedSum,
} from "./layers.js";

// Hierarchical attention network (Yang et al. 2016), as models/han.py states it in PyTorch.

/** α_i = softmax_i(u_i · c) with u_i = tanh(W h_i + b), the mean over the context vectors c. */
function attentionPooling(w, h, given) {
  const { rows, columns: size, data } = w.contexts;
  const u = h.map((state) => tanh(linear(w["projection.weight"], w["projection.bias"], state))); // (5)
  const hops = Array.from({ length: rows }, (_, hop) => {
    const c = data.subarray(hop * size, (hop + 1) * size);
    return { c, ...attend(given, h.length, () => u.map((each) => dot(each, c))) }; // (6)
  });
  const alpha = h.map((_, i) => hops.reduce((sum, hop) => sum + hop.alpha[i], 0) / rows);
  return { u, hops, alpha };
}

/** Bidirectional GRU and attention pooling: one level of the hierarchy, with all it computes. */
function attentiveEncoder(w, x, given) {
  const h = bidirectionalGRU(partOf(w, "gru"), x); // (1)–(4): h_it = [→h_it; ←h_it]
  const pooling = attentionPooling(partOf(w, "pooling"), h, given);
  const pooled = weightedSum(pooling.alpha, h, w["pooling.projection.weight"].columns); // (7)
  return { x, h, ...pooling, pooled };
}

/**
 * Logits of a document, the attention to the words of each sentence, and that to the sentences; with
 * the two `levels` that they come from. `sentences` holds sequences of word vectors; one without words
 * gets no attention. `given` attention is {words, sentences}, of the sentences that have words.
 */
export function han(w, config, sentences, given) {
  const [ofWords, ofSentences] = [partOf(w, "words"), partOf(w, "sentences")];
  const real = [...sentences.keys()].filter((i) => sentences[i].length);
  const encoded = real.map((i, n) =>
    attentiveEncoder(ofWords, sentences[i], givenAt(given, "words", n)));
  const s = encoded.map(({ pooled }) => pooled);
  const document = attentiveEncoder(ofSentences, s, givenAt(given, "sentences")); // (8)–(10)
  const logits = linear(w["classifier.weight"], w["classifier.bias"], document.pooled); // (11)
  const words = sentences.map(() => []); // α_it
  const beta = sentences.map(() => 0); // α_i
  real.forEach((i, n) => ([words[i], beta[i]] = [encoded[n].alpha, document.alpha[n]]));
  return { logits, words, sentences: beta, levels: { words: encoded, sentences: document, real } };
}
