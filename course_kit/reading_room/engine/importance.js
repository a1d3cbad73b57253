// Attention of each family reduced to one importance per word, as faithfulness/word_attention.py derives
// it. What a document's words get sums to 1.

/** HAN's β_i α_it, sentence after sentence. */
export function hanWords(words, sentences) {
  return words.flatMap((alpha, i) => alpha.map((weight) => sentences[i] * weight));
}

/** SANet's rollout from the places that max pooling took: Σ_i m_i (Ā_B ⋯ Ā_1)_ij, Ā = ½ (α + I). */
export function pooledRollout(blocks, pooled) {
  return blocks.reduceRight((shares, alpha) => {
    const below = shares.map((share) => share / 2);
    shares.forEach((share, i) => {
      if (share) alpha[i].forEach((weight, j) => (below[j] += (share * weight) / 2));
    });
    return below;
  }, pooled);
}

/** IRAM's steps with the summaries unrolled to words: u_t = a_t(words) + Σ_{r<t} a_t,r u_r. */
export function unrolled(steps, length) {
  const all = [];
  for (const a of steps) {
    const own = a.slice(0, length);
    all.forEach((u, r) => u.forEach((weight, j) => (own[j] += a[length + r] * weight)));
    all.push(own);
  }
  return all;
}

/** The last of them, which the classifier reads. */
export const iramWords = (steps, length) => unrolled(steps, length).at(-1);

/** How much of AGT's last y comes from each layer's selection, the mean over the dimensions. */
export function agtShares(gates, selecting, hidden) {
  const shares = Array.from({ length: selecting }, (_, l) => new Array(hidden).fill(l ? 0 : 1));
  const mean = (values) => values.reduce((a, b) => a + b, 0) / hidden;
  gates.forEach((gate, i) => {
    const fresh = shares.map((share, l) => {
      if (i + 1 >= selecting) return mean(share); // f reads y alone
      return l === i + 1 ? 1 : 0;
    });
    shares.forEach((share, l) =>
      share.forEach((old, k) => (share[k] = gate[k] * fresh[l] + (1 - gate[k]) * old)),
    );
  });
  return shares.map(mean);
}

/** AGT's Σ_l c_l d_l: each layer's attention weighted by its share of the last y. */
export function agtWords(d, gates, hidden) {
  const shares = agtShares(gates, d.length, hidden);
  return d[0].map((_, n) => shares.reduce((sum, share, l) => sum + share * d[l][n], 0));
}

/** What each of the first `count` places receives from all places of one block; their sum is 1. */
export function receivedWords(alpha, count) {
  const sums = Array.from({ length: count }, (_, j) => alpha.reduce((sum, row) => sum + row[j], 0));
  const total = sums.reduce((a, b) => a + b, 0);
  return sums.map((sum) => sum / total);
}

/** How much of place j arrives in each place i above all blocks: Ā_B ⋯ Ā_1, Ā = ½ (α + I). */
export function rollout(blocks) {
  return blocks[0].map((_, i) =>
    pooledRollout(blocks, Array.from(blocks[0], (_, j) => (i === j ? 1 : 0))));
}
