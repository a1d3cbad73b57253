import { unrolled } from "./importance.js";
import { addedBy, answerStep, products, shareStep, tintStep, traceStep, valued } from "./steps.js";

// IRAM's weight of a word, as lesson 05 computes it: step by step, each with a query of its own.

const IRAM_LESSON = "05_iram_regularization";
const LOOP = { lesson: IRAM_LESSON, exercise: "steps" };

export function traceIram({ found, at, names, choose }) {
  const { turns, steps: rows, words, states, logits } = found.seen;
  const last = turns.length - 1;
  const number = choose("step", "Step", turns.map((_, i) => `${i + 1}`), last);
  const { q, query, scores, alpha, h, pooled, g, s } = turns[number];
  const summaries = turns.slice(0, last).map((_, i) => `summary ${i + 1}`);
  const seen = [...names, ...summaries.slice(0, number)];
  const ofSteps = unrolled(rows, names.length);
  const through = summaries.map((_, r) => rows[last][names.length + r] * ofSteps[r][at]);
  const steps = [
    traceStep("word", "The word", "The network knows the word as a vector, which was trained on many texts.",
      LOOP, [valued("x_i", "vector of the word", words[at])]),
    traceStep("state", "Its state", "An LSTM reads from both ends, so the state knows the neighbours.",
      LOOP, [valued("h_i", "state", states[at])]),
    traceStep("query", `The query of step ${number + 1}`, number
      ? "A GRU computes the next query from the last summary and the last query."
      : "The first query is the last state of the LSTM.",
      { ...LOOP, equation: number ? "q \\leftarrow \\mathrm{GRU}(s, q)" : "" }, [
        ...(number ? [valued("s", `summary ${number}`, turns[number - 1].s),
          valued("q", `query of step ${number}`, turns[number - 1].q)] : []),
        valued("q", `query of step ${number + 1}`, q),
      ]),
    traceStep("score", "The score", "The query is multiplied by a learned matrix W, then by the state. The sum of the products is the score e. The next step is the softmax of the scores.",
      { ...LOOP, equation: "a = \\mathrm{softmax}(q\\, W H^{T})" }, [
        valued("q \\, W", "query times W", query), valued("h_i", "state", h[at]),
        valued("q \\, W \\circ h_i", "products", products(query, h[at])),
        valued("e_i = q \\, W h_i^{T}", "score, their sum", scores[at]),
      ]),
    shareStep("The share", number
      ? "The softmax divides the step’s attention among the words and the summaries of earlier steps."
      : "The softmax divides the first step’s attention among the words.", seen, scores, alpha, at),
    traceStep("summary", "The summary", "The weighted sum goes through a highway, whose gate g says how much of each number stays.",
      { ...LOOP, equation: "s = \\mathrm{Highway}(\\hat{s})" }, [
        valued("a_i h_i", "what the word adds", addedBy(alpha[at], h[at])),
        valued("\\hat{s} = \\sum_i a_i h_i", "weighted sum", pooled), valued("g", "gate", g),
        valued("s", `summary ${number + 1}`, s),
      ]),
    answerStep("Two maxout layers and a linear one turn the last summary into a logit for each class, and a softmax into probabilities.",
      LOOP, [valued("s", "last summary", turns[last].s)],
      { logits, probabilities: found.probabilities }),
    tintStep("The answer reads the last summary. The tint adds up what the last step takes from the word itself, and what it takes through the summaries of earlier steps.",
      [
        valued(`a_{${last + 1}}`, "share in the last step", rows[last][at]),
        valued("\\sum", "weight of the word", found.word[found.places[at]]),
      ], ["from the word itself", ...summaries.map((name) => `through ${name}`)],
      [rows[last][at], ...through], "parts"),
  ];
  return { steps, row: { path: [number], names: seen, chosen: at, unit: "words", of: `step ${number + 1}` } };
}
