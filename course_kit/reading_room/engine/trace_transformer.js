import { addedBy, answerStep, largestAt, products, shareStep, tintStep, traceStep, valued } from "./steps.js";

// A Transformer's weight of a word, as lessons 02 and 10 compute it: in one head, one word asks.

const TRANSFORMER_LESSON = "10_to_transformers";
const ONE_HEAD = { lesson: "02_attention", exercise: "self_attention" };

export function traceTransformer({ found, at, own, names, count, choose }) {
  const { layers, tokens, pooled, logits } = found.seen;
  const top = layers.length - 1;
  const number = choose("layer", "Layer", layers.map((_, i) => `${i + 1}`), top);
  const layer = layers[number];
  const given = ({ rows }) => rows.reduce((sum, { alpha }) => sum + alpha[at], 0);
  const which = choose("head", "Head", layer.heads.map((_, i) => `${i + 1}`), largestAt(layer.heads.map(given)));
  const head = layer.heads[which];
  const asking = choose("from", "Asking word", names.map((name, i) => `${i + 1} ${name}`), largestAt(head.rows.map(({ alpha }) => alpha[at])));
  const [query, key, value] = [head.queries[asking], head.keys[at], head.values[at]];
  const { scores, alpha, found: sum } = head.rows[asking];
  const root = Math.sqrt(query.length);
  const meanOf = (i, j) =>
    layers[top].heads.reduce((all, { rows }) => all + rows[i].alpha[j], 0) / layers[top].heads.length;
  let total = 0; // of what the words receive, [CLS] and [SEP] left out
  for (let j = 0; j < count; j++) names.forEach((_, i) => (total += meanOf(i, j)));
  const parts = names.map((_, i) => own.reduce((sum, j) => sum + meanOf(i, j), 0) / total);
  const who = `“${names[asking]}”`;
  const steps = [
    traceStep("word", "The word", number
      ? "The word’s vector and that of its position are added. The layers below have changed it since."
      : "The word’s vector and that of its position are added.",
      { lesson: TRANSFORMER_LESSON, exercise: "block" }, [
        valued("e_j", "vector of the word", tokens[at]),
        valued("x_j", `what layer ${number + 1} reads`, layer.below[at]),
      ]),
    traceStep("query, key", "Query and key", `${who} asks with its query. The word is found by its key.`,
      { ...ONE_HEAD, equation: "q_i = W_Q x_i \\qquad k_j = W_K x_j" }, [
        valued("q_i", `query of ${who}`, query), valued("k_j", "key of the word", key),
      ]),
    traceStep("score", "The score", "The score e is the sum of the products, divided by the root of the head’s width. The next step is the softmax of the scores.",
      { ...ONE_HEAD, equation: "\\alpha_{ij} = \\mathrm{softmax}_j\\left(\\frac{q_i \\cdot k_j}{\\sqrt{d}}\\right)" }, [
        valued("q_i \\circ k_j", "products", products(query, key)),
        valued("q_i \\cdot k_j", "their sum", scores[at] * root), valued("\\sqrt{d}", "root of the width", root),
        valued("e_j = \\frac{q_i \\cdot k_j}{\\sqrt{d}}", "score", scores[at]),
      ]),
    shareStep("The share", `This is the row of ${who} in the head: how its attention is divided among the words.`, names, scores, alpha, at),
    traceStep("sum", "The weighted sum", `${who} receives the weighted sum of the values.`,
      { ...ONE_HEAD, equation: "o_i = \\sum_j \\alpha_{ij} v_j" }, [
        valued("v_j", "value of the word", value),
        valued("\\alpha_{ij} v_j", "what the word adds", addedBy(alpha[at], value)),
        valued("o_i", "sum over all words", sum),
      ]),
    traceStep("heads", "All heads together", `Each head adds a vector to ${who}.`,
      { lesson: TRANSFORMER_LESSON, exercise: "heads", equation: "\\mathrm{MultiHead}(x) = b_O + \\sum_h \\alpha^h\\, v^h\\, W_O^h" }, [
        valued("\\mathrm{MultiHead}(x)_i", "what the heads add", layer.added[asking]),
        valued("x_i", `${who} below`, layer.below[asking]),
      ]),
    traceStep("block", "The rest of the block", "What the heads add is added to what was there, and normalised. A feed-forward layer follows.",
      { lesson: TRANSFORMER_LESSON, exercise: "block", equation: "x \\leftarrow \\mathrm{Norm}\\left(x + \\mathrm{MultiHead}(x)\\right)" }, [
        valued("x_i", "after the attention", layer.attended[asking]),
        valued("x_i", "above the block", layer.above[asking]),
      ]),
    answerStep("The classifier reads one vector for the text. A linear layer turns it into a logit for each class, and a softmax into probabilities.",
      { lesson: TRANSFORMER_LESSON }, [valued("\\bar{x}", "the text", pooled)],
      { logits, probabilities: found.probabilities }),
    tintStep(`The tint shows what the word receives in layer ${top + 1}: the mean over its heads, from every asking word, divided by what all words receive.`,
      [valued("\\sum", "weight of the word", parts.reduce((a, b) => a + b, 0))], names, parts, "words"),
  ];
  return { steps, row: { path: [number, which, asking], names, chosen: at, unit: "words",
    of: `${who} in head ${which + 1} of layer ${number + 1}` } };
}
