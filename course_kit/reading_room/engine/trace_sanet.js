import { rollout } from "./importance.js";
import { addedBy, answerStep, largestAt, products, shareStep, tableOf, tintStep, traceStep, valued } from "./steps.js";

// SANet's weight of a word, as lesson 04 computes it: a word asks, and this word is one of those asked.

const SANET_LESSON = "04_sanet_zhang";
const BLOCK = { lesson: SANET_LESSON, exercise: "block" };

export function traceSanet({ found, at, names, choose }) {
  const { layers, blocks, pooled, words, maximum, logits } = found.seen;
  const arrives = rollout(blocks); // [i][j]: how much of word j is in place i above all blocks
  const parts = pooled.map((share, i) => share * arrives[i][at]);
  const number = choose("block", "Block", layers.map((_, i) => `${i + 1}`), 0);
  const asking = choose("from", "Asking word", names.map((name, i) => `${i + 1} ${name}`), largestAt(parts));
  const layer = layers[number];
  const { scores, alpha } = layer.rows[asking];
  const [query, key, value] = [layer.queries[asking], layer.below[at], layer.values[at]];
  const who = `“${names[asking]}”`;
  const steps = [
    traceStep("word", "The word", "The word’s vector and that of its position are added, and mapped to the network’s width.",
      { lesson: SANET_LESSON }, [
        valued("e_j", "vector of the word", words[at]),
        valued("x_j", number ? "after the blocks below" : "with its position, mapped", key),
      ]),
    traceStep("score", "The score", `${who} is compared with every word. The score e is the sum of the products, times s. The next step is the softmax of the scores.`,
      { ...BLOCK, equation: "\\mathrm{SelfAtt}(X) = \\mathrm{softmax}(s \\cdot X W_{QK} X^{T})\\, X W_V" }, [
        valued("x_i W_{QK}", `what ${who} asks`, query), valued("x_j", "the word", key),
        valued("s", "scale", layer.scale),
        valued("s \\, x_i W_{QK} \\circ x_j", "products", products(query, key, layer.scale)),
        valued("e_j = s \\, x_i W_{QK} x_j^{T}", "score, their sum", scores[at]),
      ]),
    shareStep("The share", `This is the row of ${who}: how its attention is divided among the words.`, names, scores, alpha, at),
    traceStep("sum", "The weighted sum", `${who} receives the weighted sum of the words’ values.`,
      { ...BLOCK, equation: "\\mathrm{SelfAtt}(X) = \\mathrm{softmax}(s \\cdot X W_{QK} X^{T})\\, X W_V" }, [
        valued("\\alpha_{ij}", "share", alpha[at]), valued("x_j W_V", "value of the word", value),
        valued("\\alpha_{ij} \\, x_j W_V", "what it adds", addedBy(alpha[at], value)),
        valued("\\sum_j", "sum over all words", layer.mixed[asking]),
      ]),
    traceStep("block", "The rest of the block", `The sum is added to the vector of ${who} and normalised. A feed-forward layer follows.`,
      { ...BLOCK, equation: "X \\leftarrow \\mathrm{LayerNorm}(X + \\mathrm{SelfAtt}(X))" }, [
        valued("x_i", `${who} below`, layer.below[asking]),
        valued("x_i", "after the attention", layer.attended[asking]),
        valued("x_i", "above the block", layer.above[asking]),
      ]),
    traceStep("maximum", "The largest values", "In each dimension the classifier reads the largest value that any word has. A word’s share is the fraction of the dimensions in which its value is the largest.",
      { lesson: SANET_LESSON }, [valued("m_j", "share of this word", pooled[at])],
      tableOf("Share of the dimensions", names, { share: pooled }, 0, at)),
    answerStep("A linear layer turns the largest values into a logit for each class, and a softmax into probabilities.",
      { lesson: SANET_LESSON }, [valued("\\max_i x_i", "largest values", maximum)],
      { logits, probabilities: found.probabilities }),
    tintStep("The tint is no plain attention weight. For every word whose values the classifier reads, we follow the attention down to this word: in each block half of a vector counts as the word itself, half as what it attends to. That times the word’s share in the largest values is one part of the tint.",
      [valued("\\sum", "weight of the word", found.word[found.places[at]])], names, parts, "words"),
  ];
  return { steps, row: { path: [number, asking], names, chosen: at, unit: "words", of: `${who} in block ${number + 1}` } };
}
