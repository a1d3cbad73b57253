import {
  attend,
  bidirectionalLSTM,
  dot,
  givenAt,
  gruStep,
  highway,
  highwayParts,
  linear,
  maxout,
  partOf,
  timesMatrix,
  weightedSum,
} from "./layers.js";

// Iterative recursive attention model (Tutek and Šnajder 2018), as models/iram.py states it in
// PyTorch.

const CLASSIFIER = 200; // the width of the classifier's maxout layers

/** States of layer `context_layers`, and the last cell of the top one. */
function encoder(w, config, x) {
  let [states, h, cell] = [x, null, null];
  for (let layer = 1; layer <= config.context_layers + config.query_layers; layer++) {
    ({ h: states, cell } = bidirectionalLSTM(partOf(w, `layers.${layer - 1}`), states));
    if (layer === config.context_layers) h = states;
  }
  return { h, cell };
}

/** T steps over the states and the summaries of earlier steps, each with all it computes. */
function recursiveAttention(w, config, h, q, given) {
  const [bilinear, refine] = [w["attend.weight"], partOf(w, "refine")];
  const names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"];
  const controller = names.map((name) => w[`controller.${name}`]);
  const nothing = h.length === 0; // then there is no summary to attend to, either
  const steps = [];
  for (let step = 0; step < config.steps; step++) {
    const query = timesMatrix(q, bilinear);
    const scores = () => h.map((state) => dot(query, state));
    const { alpha, scores: found } = attend(givenAt(given, step), h.length, scores); // (1)
    const pooled = weightedSum(alpha, h, config.hidden); // (2): ŝ = Σ a_i h_i
    const { y: s, g } = highwayParts(refine, pooled); // (3): s = Highway(ŝ)
    steps.push({ q, query, scores: found, alpha, h, pooled, g, s });
    if (step + 1 === config.steps) break;
    if (!nothing) h = [...h, s]; // (4)
    q = gruStep(controller, s, q); // q ← GRUCell(s, q)
  }
  return steps;
}

/**
 * Logits of a sequence of word vectors, and each step's attention: the words, then summaries; with all
 * that the steps compute in `turns`. `given` attention has a row for each step, of what it can see.
 */
export function iram(w, config, words, given) {
  const x = words.map((word) => highway(partOf(w, "highway"), word));
  const { h, cell } = encoder(partOf(w, "encoder"), config, x);
  const q = highway(partOf(w, "refine_query"), cell);
  const turns = recursiveAttention(partOf(w, "steps"), config, h, q, given);
  const columns = words.length + config.steps - 1;
  const rows = turns.map(({ alpha }) => [...alpha, ...new Array(columns - alpha.length).fill(0)]);
  const { s } = turns.at(-1);
  const layer = (i) => [w[`classifier.${i}.linear.weight`], w[`classifier.${i}.linear.bias`]];
  const hidden = maxout(...layer(3), maxout(...layer(1), s, CLASSIFIER), CLASSIFIER);
  const logits = linear(w["classifier.5.weight"], w["classifier.5.bias"], hidden);
  return { logits, steps: rows, turns, words, states: h };
}
