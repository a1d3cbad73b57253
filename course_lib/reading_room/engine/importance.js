// Attention of each family reduced to one importance per word, as faithfulness/attention.py derives
// it. What a document's words get sums to 1.

/** HAN's β_i α_it, sentence after sentence. */
export function hanWords(words, sentences) {
  return words.flatMap((alpha, i) => alpha.map((weight) => sentences[i] * weight));
}
