import { agtShares } from "./importance.js";
import { addedBy, answerStep, largestAt, products, shareStep, tintStep, traceStep, valued } from "./steps.js";

// AGT's weight of a word, as lesson 06 computes it: each layer weighs the words anew, gates mix.

const AGT_LESSON = "06_agt_compositionality";
const NETWORK = { lesson: AGT_LESSON, exercise: "agt" };

export function traceAgt({ model, found, at, names, choose }) {
  const { each, d, s, y, gates, vectors, logits } = found.seen;
  const shares = agtShares(gates, d.length, model.config.hidden);
  const parts = shares.map((share, l) => share * d[l][at]);
  const layer = choose("layer", "Layer", d.map((_, l) => `${l}`), largestAt(parts));
  const { x, b, inner } = each[at];
  const scores = each.map(({ m }) => m[layer]);
  const alpha = d[layer];
  const gated = layer === 0
    ? traceStep("gate", "The first state", "Layer 0 has no gate: the stack begins with its selection.",
      { ...NETWORK, equation: "y_0 = s_0" }, [valued("y_0", "state", y[0])])
    : traceStep("gate", "The gate", "The gate reads the selection and says what part of each number is replaced. The rest stays as it was.",
      { lesson: AGT_LESSON, exercise: "gate", equation: "y_l = \\tanh(W^f_l [y_{l-1}; s_l]) \\circ T_l + y_{l-1} \\circ (1 - T_l)" }, [
        valued("y_{l-1}", "state below", y[layer - 1]), valued("T_l", "gate", gates[layer - 1]),
        valued("y_l", "state above", y[layer]),
      ]);
  const steps = [
    traceStep("word", "The word", "The network knows the word as a vector. It does not know where the word stands.",
      NETWORK, [valued("x_n", "vector of the word", x)]),
    traceStep("projection", "The word, projected", "All layers read the same projection.",
      { ...NETWORK, equation: "B_n = \\tanh(W x_n + b)" }, [valued("B_n", "projected word", b)]),
    traceStep("score", `The score in layer ${layer}`, "Each layer has a matrix and a vector of its own. The score is the sum of the products; the next step is the softmax of the scores.",
      { ...NETWORK, equation: "m_{l,n} = w_l \\cdot \\tanh(W_l B_n)" }, [
        valued("\\tanh(W_l B_n)", "after the layer’s matrix", inner[layer]),
        valued("w_l", "vector, learned", vectors[layer]),
        valued("w_l \\circ \\tanh(W_l B_n)", "products", products(vectors[layer], inner[layer])),
        valued("m_{l,n}", "score, their sum", scores[at]),
      ]),
    shareStep("The share", "The softmax divides the layer’s attention among the words.", names, scores, alpha, at),
    traceStep("selection", "The selection", "The layer’s selection is the weighted sum of the words.",
      { ...NETWORK, equation: "s_l = \\sum_n d_{l,n} B_n" }, [
        valued("d_{l,n}", "share", alpha[at]),
        valued("d_{l,n} B_n", "what the word adds", addedBy(alpha[at], b)),
        valued("s_l", "selection", s[layer]),
      ]),
    gated,
    answerStep("Two linear layers turn the last state into a logit for each class, and a softmax into probabilities.",
      NETWORK, [valued("y", "last state", y.at(-1))], { logits, probabilities: found.probabilities }),
    tintStep("The gates say how much of the last state comes from each layer. The tint adds up the word’s share in every layer, times that layer’s part.",
      [
        valued("c_l", `part of layer ${layer} in the last state`, shares[layer]),
        valued("c_l d_{l,n}", "what this layer gives to the tint", parts[layer]),
        valued("\\sum_l c_l d_{l,n}", "weight of the word", found.word[found.places[at]]),
      ], d.map((_, l) => `layer ${l}`), parts, "layers"),
  ];
  return { steps, row: { path: [layer], names, chosen: at, unit: "words", of: `layer ${layer}` } };
}
