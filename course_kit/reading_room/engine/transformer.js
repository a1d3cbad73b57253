import {
  add,
  attend,
  dot,
  even,
  gelu,
  givenAt,
  layerNorm,
  linearEach,
  partOf,
  relu,
  weightedSum,
} from "./layers.js";

// A Transformer's encoder (Vaswani et al. 2017), as models/transformer.py states it in PyTorch, with
// the numbers that it gives the equations; and BERT's, which reads [CLS] and [SEP] behind the text.

const layer = (w, name, x) => linearEach(w[`${name}.weight`], w[`${name}.bias`], x);

/** What every head attends to, row by row, from its queries, keys and values; and W_O of what they
 *  found. */
function multiHeadAttention(w, heads, x, given) {
  const width = w["output.weight"].columns / heads;
  const part = (y, h) => y.map((row) => row.subarray(h * width, (h + 1) * width));
  const [q, k, v] = ["query", "key", "value"].map((name) => layer(w, name, x));
  const mixed = x.map(() => new Float32Array(heads * width));
  const each = Array.from({ length: heads }, (_, h) => {
    const [queries, keys, values] = [q, k, v].map((all) => part(all, h));
    const rows = queries.map((query, i) => {
      const scores = () => keys.map((key) => dot(query, key) / Math.sqrt(width));
      const row = attend(givenAt(given, h, i), x.length, scores); // (1)
      const found = weightedSum(row.alpha, values, width);
      mixed[i].set(found, h * width);
      return { ...row, found };
    });
    return { queries, keys, values, rows };
  });
  return { heads: each, added: layer(w, "output", mixed) }; // (2)
}

/**
 * Logits of token vectors at their `places`, and the attention of each head, [layer][head][i][j]; with
 * the `layers` that it comes from. `given` attention has the form of `attention`.
 */
export function transformer(w, config, tokens, given, places = tokens.map((_, i) => i)) {
  const norm = (part, name) => (row) =>
    layerNorm(part[`${name}.weight`], part[`${name}.bias`], row, config.norm_epsilon);
  const activation = config.activation === "gelu" ? gelu : relu;
  const positions = w["positions.weight"];
  const placed = (row, i) => {
    const start = places[i] * row.length;
    return add(row, positions.data.subarray(start, start + row.length));
  };
  let x = positions ? tokens.map(placed) : tokens;
  if (config.normalised_input) x = x.map(norm(w, "norm"));
  const layers = [];
  for (let i = 0; i < config.layers; i++) {
    const block = partOf(w, `blocks.${i}`);
    const below = x;
    const found =
      multiHeadAttention(partOf(block, "attention"), config.heads, below, givenAt(given, i));
    const attended = below.map((row, j) => add(row, found.added[j])).map(norm(block, "norms.0")); // (3)
    const change = layer(block, "w_2", layer(block, "w_1", attended).map(activation));
    x = attended.map((row, j) => add(row, change[j])).map(norm(block, "norms.1")); // (4)
    layers.push({ below, ...found, attended, above: x });
  }
  const first = config.pooling === "first" ? x.map((_, i) => Number(i === 0)) : even(x.length);
  const pooled = weightedSum(first, x, w["classifier.weight"].columns);
  const attention = layers.map(({ heads }) =>
    heads.map(({ rows }) => rows.map(({ alpha }) => alpha)));
  return { logits: layer(w, "classifier", [pooled])[0], attention, layers, tokens, pooled };
}

/** The same of BERT, which reads [CLS], the pieces of a text and [SEP]: `special` are the vectors of
 *  those two, which stand behind the pieces in all that is returned. */
export function bert(w, config, pieces, given, special) {
  if (!pieces.length) return transformer(w, config, [], given);
  const places = [...pieces.map((_, i) => i + 1), 0, pieces.length + 1];
  return transformer(w, config, [...pieces, ...special], given, places);
}
