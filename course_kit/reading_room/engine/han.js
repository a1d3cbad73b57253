import { bidirectionalGRU, dot, even, linear, partOf, softmax, tanh, weightedSum } from "./layers.js";

// Hierarchical attention network (Yang et al. 2016), as models/han.py states it in PyTorch.

/** α_i = softmax_i(u_i · c) with u_i = tanh(W h_i + b), the mean over the context vectors c. */
function attentionPooling(w, h, uniform) {
  const { rows: hops, columns: size, data } = w.contexts;
  const u = h.map((state) => tanh(linear(w["projection.weight"], w["projection.bias"], state))); // (5)
  const perHop = Array.from({ length: hops }, (_, hop) => {
    const c = data.subarray(hop * size, (hop + 1) * size);
    return uniform ? even(h.length) : softmax(u.map((each) => dot(each, c))); // (6)
  });
  return h.map((_, i) => perHop.reduce((sum, alpha) => sum + alpha[i], 0) / hops);
}

/** Bidirectional GRU and attention pooling: one level of the hierarchy. */
function attentiveEncoder(w, x, uniform) {
  const h = bidirectionalGRU(partOf(w, "gru"), x); // (1)–(4): h_it = [→h_it; ←h_it]
  const alpha = attentionPooling(partOf(w, "pooling"), h, uniform);
  return { pooled: weightedSum(alpha, h, w["pooling.projection.weight"].columns), alpha }; // (7)
}

/**
 * Logits of a document, the attention to the words of each sentence, and that to the sentences.
 * `sentences` holds sequences of word vectors; one without words gets no attention.
 */
export function han(w, config, sentences, uniform) {
  const [ofWords, ofSentences] = [partOf(w, "words"), partOf(w, "sentences")];
  const real = sentences.filter((words) => words.length);
  const encoded = real.map((words) => attentiveEncoder(ofWords, words, uniform));
  const s = encoded.map(({ pooled }) => pooled);
  const document = attentiveEncoder(ofSentences, s, uniform); // (8)–(10)
  const logits = linear(w["classifier.weight"], w["classifier.bias"], document.pooled); // (11)
  const found = encoded.map(({ alpha }, i) => ({ alpha, beta: document.alpha[i] }));
  const each = sentences.map((words) => (words.length ? found.shift() : { alpha: [], beta: 0 }));
  return {
    logits,
    words: each.map(({ alpha }) => alpha), // α_it
    sentences: each.map(({ beta }) => beta), // α_i
  };
}
