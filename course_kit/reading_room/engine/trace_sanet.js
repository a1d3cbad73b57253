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
      { lesson: SANET_LESSON, exercise: "sanet" }, [
        valued("e_j", "vector of the word", words[at]),
        valued("x_j", number ? "after the blocks below" : "with its position, mapped", key),
      ]),
    traceStep("score", "The score", `${who} asks every word its own question. The score is the sum of the products, times s.`,
      { ...BLOCK, equation: "\\mathrm{SelfAtt}(X) = \\mathrm{softmax}(s \\cdot X W_{QK} X^{T})\\, X W_V" }, [
        valued("x_i W_{QK}", `what ${who} asks`, query), valued("x_j", "the word", key),
        valued("s", "scale", layer.scale),
        valued("s \\, x_i W_{QK} \\circ x_j", "products", products(query, key, layer.scale)),
        valued("s \\, x_i W_{QK} x_j^{T}", "score, their sum", scores[at]),
      ]),
    shareStep("The share", `This is the row of ${who}: how it shares its attention out.`, names, scores, alpha, at),
    traceStep("sum", "The weighted sum", `${who} takes a mixture of what the words hand over.`,
      { ...BLOCK, equation: "\\mathrm{SelfAtt}(X) = \\mathrm{softmax}(s \\cdot X W_{QK} X^{T})\\, X W_V" }, [
        valued("\\alpha_{ij}", "share", alpha[at]), valued("x_j W_V", "what the word hands over", value),
        valued("\\alpha_{ij} \\, x_j W_V", "what it adds", addedBy(alpha[at], value)),
        valued("\\sum_j", "sum over all words", layer.mixed[asking]),
      ]),
    traceStep("block", "The rest of the block", `${who} keeps what it was and adds what it found.`,
      { ...BLOCK, equation: "X \\leftarrow \\mathrm{LayerNorm}(X + \\mathrm{SelfAtt}(X))" }, [
        valued("x_i", `${who} below`, layer.below[asking]),
        valued("x_i", "after the attention", layer.attended[asking]),
        valued("x_i", "above the block", layer.above[asking]),
      ]),
    traceStep("maximum", "The largest values", "In each dimension the classifier reads the largest value that any word has. A word’s share is the part of the dimensions that come from it.",
      { lesson: SANET_LESSON, exercise: "sanet" }, [valued("m_j", "share of this word", pooled[at])],
      tableOf("Share of the dimensions", names, { share: pooled }, 0, at)),
    tintStep("Each word above brings half of itself and half of what it attended to. The tint adds up how much of this word arrives in the largest values.",
      [valued("\\sum", "weight of the word", found.word[found.places[at]])], names, parts, "words"),
    answerStep("A linear layer turns the largest values into a logit for each class, and a softmax into probabilities.",
      { lesson: SANET_LESSON, exercise: "sanet" }, [valued("\\max_i x_i", "largest values", maximum)],
      { logits, probabilities: found.probabilities }),
  ];
  return { steps, row: { path: [number, asking], names, chosen: at, unit: "words" } };
}
