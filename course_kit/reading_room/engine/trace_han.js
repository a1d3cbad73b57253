import { addedBy, answerStep, products, shareStep, tintStep, traceStep, valued } from "./steps.js";

// HAN's weight of a word, as lesson 03 computes it.

const HAN_LESSON = "03_han_imdb";
const LEVEL = { lesson: HAN_LESSON, exercise: "level" };

/** The steps of one level for its place `t`: state, u, score, share and sum; `it` says what the place
 *  is, `hop` which of the level's context vectors asks. */
function levelSteps({ h, u, hops, alpha, pooled }, t, hop, { it, whole, names, unit }) {
  const half = h[t].length / 2;
  const { c, scores } = hops[hop];
  const several = hops.length > 1 ? ` The weight is the mean over ${hops.length} context vectors.` : "";
  return [
    traceStep("state", `The state of ${it}`,
      `Two GRUs read ${whole}, one from each end. Side by side, their states describe ${it} together with its neighbours.`,
      { ...LEVEL, equation: "h_t = [\\overrightarrow{h}_t;\\, \\overleftarrow{h}_t]" }, [
        valued("\\overrightarrow{h}_t", "read from the left", h[t].subarray(0, half)),
        valued("\\overleftarrow{h}_t", "read from the right", h[t].subarray(half)),
      ]),
    traceStep("layer", "One layer before the score", "A linear layer and tanh turn the state into a vector u. The next step compares it with the context vector.",
      { ...LEVEL, equation: "u_t = \\tanh(W h_t + b)" },
      [valued("h_t", "state", h[t]), valued("u_t", "after the layer", u[t])]),
    traceStep("score", `The score of ${it}`,
      `u and the context vector c are multiplied number by number. The sum of the products is the score e. c is the same for every ${unit.slice(0, -1)}. The next step is the softmax of the scores.${several}`,
      { ...LEVEL, equation: "\\alpha_t = \\mathrm{softmax}_t(u_t \\cdot c)" }, [
        valued("u_t", "after the layer", u[t]), valued("c", "context vector, learned", c),
        valued("u_t \\circ c", "products", products(u[t], c)),
        valued("e_t = u_t \\cdot c", "score, their sum", scores[t]),
      ]),
    shareStep(`The share of ${it}`, "exp makes every score positive. Divided by their sum, they are shares.",
      names, scores, hops[hop].alpha, t, unit),
    traceStep("sum", "The weighted sum", `Each state is multiplied by its share, and all are added. The network keeps only this sum of ${whole}.`,
      { ...LEVEL, equation: "s = \\sum_t \\alpha_t h_t" }, [
        valued("\\alpha_t", "share", alpha[t]), valued("h_t", "state", h[t]),
        valued("\\alpha_t h_t", `what ${it} adds`, addedBy(alpha[t], h[t])),
        valued("s", "sum over all", pooled),
      ]),
  ];
}

/** A word of HAN through both levels. */
export function traceHan({ found, at, names, choose }) {
  const { levels, logits } = found.seen;
  let [n, t] = [0, at]; // the sentence, and the word in it
  while (t >= levels.words[n].h.length) t -= levels.words[n++].h.length;
  const [ofWords, ofSentences] = [levels.words[n], levels.sentences];
  const own = names.slice(at - t, at - t + ofWords.h.length);
  const sentences = levels.real.map((i) => `sentence ${i + 1}`);
  const level = choose("level", "Change the weights of", ["the words of its sentence", "the sentences"], 0);
  const hop = choose("hop", "Context vector", ofWords.hops.map((_, i) => `c ${i + 1}`), 0);
  const word = { it: "the word", whole: "the sentence", names: own, unit: "words" };
  const sentence = { it: "its sentence", whole: "the text", names: sentences, unit: "sentences" };
  const [alpha, beta] = [ofWords.alpha[t], ofSentences.alpha[n]];
  const upper = levelSteps(ofSentences, n, hop, sentence)
    .map((step) => ({ ...step, short: `${step.short} 2`, title: `${step.title}, second level` }));
  const steps = [
    traceStep("word", "The word", "The network knows the word as a vector, which was trained on many texts.",
      LEVEL, [valued("x_t", "vector of the word", ofWords.x[t])]),
    ...levelSteps(ofWords, t, hop, word), ...upper,
    answerStep("The second sum stands for the whole text. A linear layer turns it into a logit for each class, and a softmax into probabilities.",
      { lesson: HAN_LESSON, exercise: "han" }, [valued("v", "the text", ofSentences.pooled)],
      { logits, probabilities: found.probabilities }),
    tintStep("The tint’s weight is the word’s share times its sentence’s share.", [
      valued("\\alpha", "share in its sentence", alpha), valued("\\beta", "share of its sentence", beta),
      valued("\\beta \\alpha", "weight of the word", beta * alpha),
    ]),
  ];
  const row = level === 0
    ? { path: ["words", n], names: own, chosen: t, unit: "words", of: `the words of ${sentences[n]}` }
    : { path: ["sentences"], names: sentences, chosen: n, unit: "sentences", of: "the sentences" };
  return { steps, row: { ...row, alone: true } };
}
