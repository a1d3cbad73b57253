import {
  add,
  attend,
  dot,
  givenAt,
  layerNorm,
  linear,
  partOf,
  position,
  relu,
  weightedSum,
} from "./layers.js";

// Self-attention network (Letarte et al. 2018, without equation numbers), as models/sanet.py states
// it in PyTorch.

/** softmax(s X W_QK Xᵀ) X W_V: what each word attends to, and the mixture of values it gets. */
function selfAttention(w, config, x, given) {
  const scale = config.scaled ? config.hidden ** -0.5 : 1;
  const values = x.map((word) => linear(w["w_v.weight"], null, word));
  const queries = x.map((word) => linear(w["w_qk.weight"], null, word));
  const rows = queries.map((query, i) =>
    attend(givenAt(given, i), x.length, () => x.map((key) => scale * dot(query, key))));
  const mixed = rows.map(({ alpha }) => weightedSum(alpha, values, config.hidden));
  return { scale, queries, values, rows, mixed };
}

/** max(0, x W_1 + b_1) W_2 + b_2 */
function feedForward(w, x) {
  const inner = relu(linear(w["w_1.weight"], w["w_1.bias"], x));
  return linear(w["w_2.weight"], w["w_2.bias"], inner);
}

/** x ← LayerNorm(x + SelfAtt(x)); x ← LayerNorm(x + FFN(x)): what went `below` in, and came `above`. */
function block(w, config, below, given) {
  const attention = selfAttention(partOf(w, "mixer"), config, below, given);
  const norm = (i, vector) => layerNorm(w[`norms.${i}.weight`], w[`norms.${i}.bias`], vector);
  const ffn = partOf(w, "feed_forward");
  const attended = below.map((word, i) => norm(0, add(word, attention.mixed[i])));
  const above = attended.map((word) => norm(1, add(word, feedForward(ffn, word))));
  return { below, ...attention, attended, above };
}

/** The largest value of each dimension over the words, and the word it comes from (−1: no word). */
function maximum(x, width) {
  const values = new Float32Array(width);
  const places = new Array(width).fill(-1);
  x.forEach((word, i) => {
    for (let k = 0; k < width; k++)
      if (places[k] < 0 || word[k] > values[k]) [values[k], places[k]] = [word[k], i];
  });
  return { values, places };
}

/**
 * Logits of a sequence of word vectors, each block's attention (row i: what word i attends to), and
 * the share of the pooled dimensions that comes from each word; with the `layers` of it all. `given`
 * attention has the form of `blocks`.
 */
export function sanet(w, config, words, given) {
  const placed = config.positions
    ? words.map((word, i) => add(word, position(i, word.length)))
    : words;
  let x = placed.map((word) => linear(w["projection.weight"], w["projection.bias"], word));
  const layers = [];
  for (let i = 0; i < config.blocks; i++) {
    layers.push(block(partOf(w, `blocks.${i}`), config, x, givenAt(given, i)));
    x = layers[i].above;
  }
  const { values, places } = maximum(x, config.hidden);
  const logits = linear(w["classifier.weight"], w["classifier.bias"], values);
  const shares = new Array(words.length).fill(0);
  for (const place of places) if (place >= 0) shares[place] += 1 / config.hidden;
  const blocks = layers.map(({ rows }) => rows.map(({ alpha }) => alpha));
  return { logits, blocks, pooled: shares, layers, words, placed, maximum: values };
}
